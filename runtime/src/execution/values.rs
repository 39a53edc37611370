//! The values that atomic operations read and wrote, kept only for executions that are reported.
//!
//! A search keeps no values: it checks one flag at each operation.

use crate::base::memory::{EngineVec, engine_vec};

/// The value of an atomic.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Value {
    Unsigned(u64),
    Signed(i64),
    Boolean(bool),
    Pointer(usize),
}

/// A type whose values atomics hold.
pub(crate) trait Held: Copy {
    fn value(self) -> Value;
}

macro_rules! held {
    ($($variant:ident: $($held:ty)*;)*) => {
        $($(impl Held for $held {
            fn value(self) -> Value {
                Value::$variant(self.into_wide())
            }
        })*)*
    };
}

/// Widens the types for which `From` has no conversion.
trait IntoWide<W> {
    fn into_wide(self) -> W;
}

macro_rules! widened {
    ($($narrow:ty => $wide:ty,)*) => {
        $(impl IntoWide<$wide> for $narrow {
            fn into_wide(self) -> $wide {
                self as $wide
            }
        })*
    };
}

widened! {
    u8 => u64, u16 => u64, u32 => u64, u64 => u64, usize => u64,
    i8 => i64, i16 => i64, i32 => i64, i64 => i64, isize => i64,
    bool => bool,
}

held! {
    Unsigned: u8 u16 u32 u64 usize;
    Signed: i8 i16 i32 i64 isize;
    Boolean: bool;
}

impl<T> Held for *mut T {
    fn value(self) -> Value {
        Value::Pointer(self.addr())
    }
}

/// The values that one event read and wrote.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Seen {
    /// The index of the event.
    pub(crate) event: u32,
    pub(crate) read: Option<Value>,
    pub(crate) written: Option<Value>,
}

/// The values that the events of an execution read and wrote, in order.
pub(crate) struct Values {
    /// Whether the values are kept, for a report.
    pub(crate) is_wanted: bool,
    pub(crate) seen: EngineVec<Seen>,
}

impl Values {
    pub(crate) const fn new() -> Self {
        Self {
            is_wanted: false,
            seen: engine_vec(),
        }
    }
}
