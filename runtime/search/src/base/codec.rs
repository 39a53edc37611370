//! Serialization of the state of a search, for a run that continues the search.
//!
//! The same binary writes and reads the state, so the format has no version. The supervisor keeps
//! a digest of the state, so the format has no check. Input that is too short is rejected.

use chess_vocabulary::{Op, OutsideEffect, Token as _};

use super::checkpoint::Checkpoint;
use super::memory::{EngineMemory, EngineVec, engine_vec};
use super::rng::Rng;

/// A value that can be serialized as bytes.
pub trait Codec: Sized {
    /// Appends the value to `out`.
    fn write(&self, out: &mut Checkpoint);

    /// Removes a value from the beginning of `input`. Returns `None` if `input` does not
    /// begin with a value of this type.
    fn read(input: &mut &[u8]) -> Option<Self>;
}

macro_rules! codecs_of_numbers {
    ($($number:ty),*) => {
        $(impl Codec for $number {
            #[inline]
            fn write(&self, out: &mut Checkpoint) {
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

codecs_of_numbers!(u8, u32, u64, usize, f32, f64);

macro_rules! codecs_of_tokens {
    ($($Type:ty),*) => {
        $(impl Codec for $Type {
            fn write(&self, out: &mut Checkpoint) {
                (*self as u32).write(out);
            }

            fn read(input: &mut &[u8]) -> Option<Self> {
                let number = u32::read(input)?;
                let mut all = Self::ALL.iter().copied();
                all.find(|it| *it as u32 == number)
            }
        })*
    };
}

codecs_of_tokens!(Op, OutsideEffect);

/// Implements [`Codec`] for a structure, field by field.
#[macro_export]
macro_rules! codec {
    ($name:ident { $($field:ident),* $(,)? }) => {
        impl $crate::base::codec::Codec for $name {
            fn write(&self, out: &mut $crate::base::checkpoint::Checkpoint) {
                $($crate::base::codec::Codec::write(&self.$field, out);)*
            }

            fn read(input: &mut &[u8]) -> Option<Self> {
                Some(Self {
                    $($field: $crate::base::codec::Codec::read(input)?,)*
                })
            }
        }
    };
}

/// Implements `save` and `load` of a strategy for the named fields. After the `;`, a strategy
/// may name two methods that write and read more of its state. All other fields keep the
/// values of a new strategy.
macro_rules! kept_between_executions {
    ($($field:ident),* $(,)? $(; $write_rest:ident, $read_rest:ident)?) => {
        fn save(&self, out: &mut $crate::base::checkpoint::Checkpoint) -> bool {
            $($crate::base::codec::Codec::write(&self.$field, out);)*
            $(self.$write_rest(out);)?
            true
        }

        fn load(&mut self, input: &mut &[u8]) -> bool {
            $(let Some($field) = $crate::base::codec::Codec::read(input) else {
                return false;
            };)*
            $(self.$field = $field;)*
            true $(&& self.$read_rest(input))?
        }
    };
}

pub use crate::codec;
pub(crate) use kept_between_executions;

impl Codec for bool {
    fn write(&self, out: &mut Checkpoint) {
        u8::from(*self).write(out);
    }

    fn read(input: &mut &[u8]) -> Option<Self> {
        Some(u8::read(input)? != 0)
    }
}

impl<A: Codec, B: Codec> Codec for (A, B) {
    fn write(&self, out: &mut Checkpoint) {
        self.0.write(out);
        self.1.write(out);
    }

    fn read(input: &mut &[u8]) -> Option<Self> {
        Some((A::read(input)?, B::read(input)?))
    }
}

impl<T: Codec> Codec for Option<T> {
    fn write(&self, out: &mut Checkpoint) {
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

impl<T: Codec> Codec for EngineVec<T> {
    fn write(&self, out: &mut Checkpoint) {
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
impl Codec for &'static str {
    fn write(&self, out: &mut Checkpoint) {
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

impl Codec for Rng {
    fn write(&self, out: &mut Checkpoint) {
        self.state().write(out);
    }

    fn read(input: &mut &[u8]) -> Option<Self> {
        u64::read(input).map(Self::new)
    }
}
