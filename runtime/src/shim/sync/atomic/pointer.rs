//! `AtomicPtr`.

use std::fmt;
use std::panic::Location;
use std::ptr;
use std::sync::atomic::Ordering;

use super::operations::{Value, atomic, change, exchange_effect, exchanged, read_modify_write};
use super::weak::Operation;
use crate::execution::How;
use crate::execution::{self, Op, Site, saw};
use crate::memory::{Kind, Would};
use crate::monitor::race;

atomic!(AtomicPtr<T>, *mut T, p, ptr);
read_modify_write!(
    AtomicPtr<T>, usize => *mut T,
    fetch_ptr_add = AtomicFetchPtr,
    fetch_ptr_sub = AtomicFetchPtr,
    fetch_byte_add = AtomicFetchPtr,
    fetch_byte_sub = AtomicFetchPtr,
    fetch_or = AtomicFetchOr,
    fetch_and = AtomicFetchAnd,
    fetch_xor = AtomicFetchXor,
);

impl<T> Default for AtomicPtr<T> {
    fn default() -> AtomicPtr<T> {
        AtomicPtr::new(ptr::null_mut())
    }
}

impl<T> fmt::Pointer for AtomicPtr<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Pointer::fmt(&self.load(Ordering::Relaxed), f)
    }
}
