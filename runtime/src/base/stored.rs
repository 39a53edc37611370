//! Serialization of the state of a search, for a run that continues it.
//!
//! The same binary writes and reads the state, and the supervisor keeps a digest of it,
//! so the format has neither a version nor a check. Input that is too short is
//! rejected.

use super::memory::{EngineMemory, EngineVec, engine_vec};
use super::rng::Rng;
use super::written::Written;

/// A value that can be serialized as bytes.
pub(crate) trait Stored: Sized {
    /// Appends the value to `out`.
    fn write(&self, out: &mut Written);

    /// Removes the value from the beginning of `input`; `None` if `input` does not
    /// begin with one.
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

/// Implements `Stored` for a structure, field by field.
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

/// Implements saving and loading for a strategy: the fields from which it continues
/// after an execution. All other fields are those of a new strategy, except those that
/// functions of its own write and read after these fields.
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
        // The memory is limited by the input, because the length may be wrong.
        let mut items = Vec::with_capacity_in(count.min(input.len()), EngineMemory);
        for _ in 0..count {
            items.push(T::read(input)?);
        }
        Some(items)
    }
}

/// A string that was read stays in the engine's memory until the process ends.
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
