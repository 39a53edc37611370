//! `std::ptr`, with a shim of `drop_in_place`, which announces the unique reference that it
//! creates. The other functions load and store memory, so instrumentation announces their
//! accesses.

pub use std::ptr::*;

use std::mem::size_of_val_raw;
use std::panic::Location;

use super::borrows::Referred;
use super::memory;

#[inline]
#[track_caller]
pub unsafe fn drop_in_place<T: ?Sized>(to_drop: *mut T) {
    if std::mem::needs_drop::<T>() && T::IS_UNIQUE {
        // SAFETY: the dropped value is initialised, and the metadata of the pointer is valid.
        let size = unsafe { size_of_val_raw(to_drop) };
        let line = (Location::caller(), false);
        memory::borrow_mut(to_drop.cast_const().cast(), size, line);
    }
    // SAFETY: the caller upholds the requirements of the real function.
    unsafe { std::ptr::drop_in_place(to_drop) }
}
