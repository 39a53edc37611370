//! Writing down what a search knows, and reading it back in a run that goes on.
//!
//! The same binary reads what it has written, and the supervisor keeps a digest: there
//! is neither a version nor a check. What is too short is refused.

use super::memory::{EngineMemory, EngineVec, engine_vec};
use super::rng::Rng;
use super::written::Written;

/// What can be written down as bytes.
pub(crate) trait Stored: Sized {
    /// Appends it.
    fn write(&self, out: &mut Written);

    /// Takes it from the beginning of `input`.
    fn read(input: &mut &[u8]) -> Option<Self>;
}

macro_rules! numbers_are_stored {
    ($($number:ty),*) => {
        $(impl Stored for $number {
            #[inline]
            fn write(&self, out: &mut Written) {
                out.extend_from_slice(&self.to_le_bytes());
            }

            #[inline]
            fn read(input: &mut &[u8]) -> Option<Self> {
                let (bytes, rest) = input.split_first_chunk()?;
                *input = rest;
                Some(Self::from_le_bytes(*bytes))
            }
        })*
    };
}

numbers_are_stored!(u8, u32, u64, usize, f32, f64);

/// Lets a structure be written down field by field.
macro_rules! stored {
    ($name:ident { $($field:ident),* $(,)? }) => {
        impl $crate::base::stored::Stored for $name {
            fn write(&self, out: &mut $crate::base::written::Written) {
                $($crate::base::stored::Stored::write(&self.$field, out);)*
            }

            fn read(input: &mut &[u8]) -> Option<Self> {
                Some(Self {
                    $($field: $crate::base::stored::Stored::read(input)?,)*
                })
            }
        }
    };
}

/// For a strategy: the fields that it goes on from after an execution. All others are
/// as in a new one, but for what functions of its own write and read after these.
macro_rules! kept_between_executions {
    ($($field:ident),* $(,)? $(; $write_rest:ident, $read_rest:ident)?) => {
        fn save(&self, out: &mut $crate::base::written::Written) -> bool {
            $($crate::base::stored::Stored::write(&self.$field, out);)*
            $(self.$write_rest(out);)?
            true
        }

        fn load(&mut self, input: &mut &[u8]) -> bool {
            $(let Some($field) = $crate::base::stored::Stored::read(input) else {
                return false;
            };)*
            $(self.$field = $field;)*
            true $(&& self.$read_rest(input))?
        }
    };
}

pub(crate) use kept_between_executions;
pub(crate) use stored;

impl Stored for bool {
    fn write(&self, out: &mut Written) {
        u8::from(*self).write(out);
    }

    fn read(input: &mut &[u8]) -> Option<Self> {
        Some(u8::read(input)? != 0)
    }
}

impl<A: Stored, B: Stored> Stored for (A, B) {
    fn write(&self, out: &mut Written) {
        self.0.write(out);
        self.1.write(out);
    }

    fn read(input: &mut &[u8]) -> Option<Self> {
        Some((A::read(input)?, B::read(input)?))
    }
}

impl<T: Stored> Stored for Option<T> {
    fn write(&self, out: &mut Written) {
        self.is_some().write(out);
        if let Some(value) = self {
            value.write(out);
        }
    }

    fn read(input: &mut &[u8]) -> Option<Self> {
        Some(if bool::read(input)? {
            Some(T::read(input)?)
        } else {
            None
        })
    }
}

impl<T: Stored> Stored for EngineVec<T> {
    fn write(&self, out: &mut Written) {
        self.len().write(out);
        for item in self {
            item.write(out);
        }
    }

    fn read(input: &mut &[u8]) -> Option<Self> {
        let count = usize::read(input)?;
        // A length that cannot be true asks for no memory.
        let mut items = Vec::with_capacity_in(count.min(input.len()), EngineMemory);
        for _ in 0..count {
            items.push(T::read(input)?);
        }
        Some(items)
    }
}

/// Read, it stays in the engine's memory until the process ends.
impl Stored for &'static str {
    fn write(&self, out: &mut Written) {
        self.len().write(out);
        out.extend_from_slice(self.as_bytes());
    }

    fn read(input: &mut &[u8]) -> Option<Self> {
        let count = usize::read(input)?;
        let (bytes, rest) = input.split_at_checked(count)?;
        *input = rest;
        let mut text = engine_vec();
        text.extend_from_slice(bytes);
        str::from_utf8(text.leak()).ok()
    }
}

impl Stored for Rng {
    fn write(&self, out: &mut Written) {
        self.state().write(out);
    }

    fn read(input: &mut &[u8]) -> Option<Self> {
        u64::read(input).map(Self::new)
    }
}
