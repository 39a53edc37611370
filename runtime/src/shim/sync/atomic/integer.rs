//! The atomic integers.

use std::fmt;
use std::panic::Location;
use std::sync::atomic::Ordering;

use super::operations::{Value, atomic, change, exchange_effect, exchanged, read_modify_write};
use super::weak::Operation;
use crate::execution::How;
use crate::execution::{self, Op, Site, saw};
use crate::memory::{Kind, Would};
use crate::monitor::race;

macro_rules! integers {
    ($($Atomic:ident: $value:ty;)*) => {
        $(
            atomic!($Atomic, $value, v, val);
            read_modify_write!(
                $Atomic, $value => $value,
                fetch_add = AtomicFetchAdd,
                fetch_sub = AtomicFetchSub,
                fetch_and = AtomicFetchAnd,
                fetch_nand = AtomicFetchNand,
                fetch_or = AtomicFetchOr,
                fetch_xor = AtomicFetchXor,
                fetch_max = AtomicFetchMax,
                fetch_min = AtomicFetchMin,
            );

            impl Default for $Atomic {
                #[inline]
                fn default() -> $Atomic {
                    $Atomic::new(0)
                }
            }
        )*
    };
}

integers! {
    AtomicI8: i8;
    AtomicU8: u8;
    AtomicI16: i16;
    AtomicU16: u16;
    AtomicI32: i32;
    AtomicU32: u32;
    AtomicI64: i64;
    AtomicU64: u64;
    AtomicIsize: isize;
    AtomicUsize: usize;
}
