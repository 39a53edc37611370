//! `std::ptr`: the functions that access memory announce it to `memory` first.

pub use std::ptr::*;

use std::mem::size_of_val_raw;

use super::access::Referred;
use super::memory;
use crate::platform::observers::observes_accesses;

#[inline]
#[track_caller]
pub const unsafe fn read<T>(src: *const T) -> T {
    memory::announces();
    memory::read(src.cast(), size_of::<T>());
    // SAFETY: the caller upholds the requirements of the real function.
    unsafe { std::ptr::read(src) }
}

#[inline]
#[track_caller]
pub const unsafe fn read_unaligned<T>(src: *const T) -> T {
    memory::announces();
    memory::read(src.cast(), size_of::<T>());
    // SAFETY: as `read`.
    unsafe { std::ptr::read_unaligned(src) }
}

#[inline]
#[track_caller]
pub unsafe fn read_volatile<T>(src: *const T) -> T {
    memory::announces();
    memory::read(src.cast(), size_of::<T>());
    // SAFETY: as `read`.
    unsafe { std::ptr::read_volatile(src) }
}

#[inline]
#[track_caller]
pub const unsafe fn write<T>(dst: *mut T, src: T) {
    memory::announces();
    memory::write(dst.cast(), size_of::<T>());
    // SAFETY: as `read`.
    unsafe { std::ptr::write(dst, src) }
}

#[inline]
#[track_caller]
pub const unsafe fn write_unaligned<T>(dst: *mut T, src: T) {
    memory::announces();
    memory::write(dst.cast(), size_of::<T>());
    // SAFETY: as `read`.
    unsafe { std::ptr::write_unaligned(dst, src) }
}

#[inline]
#[track_caller]
pub unsafe fn write_volatile<T>(dst: *mut T, src: T) {
    memory::announces();
    memory::write(dst.cast(), size_of::<T>());
    // SAFETY: as `read`.
    unsafe { std::ptr::write_volatile(dst, src) }
}

#[inline]
#[track_caller]
pub const unsafe fn write_bytes<T>(dst: *mut T, val: u8, count: usize) {
    memory::announces();
    memory::write(dst.cast(), size_of::<T>().wrapping_mul(count));
    // SAFETY: as `read`.
    unsafe { std::ptr::write_bytes(dst, val, count) }
}

#[inline]
#[track_caller]
pub const unsafe fn copy<T>(src: *const T, dst: *mut T, count: usize) {
    memory::announces();
    memory::read(src.cast(), size_of::<T>().wrapping_mul(count));
    memory::write(dst.cast(), size_of::<T>().wrapping_mul(count));
    // SAFETY: as `read`.
    unsafe { std::ptr::copy(src, dst, count) }
}

#[inline]
#[track_caller]
pub const unsafe fn copy_nonoverlapping<T>(src: *const T, dst: *mut T, count: usize) {
    memory::announces();
    memory::read(src.cast(), size_of::<T>().wrapping_mul(count));
    memory::write(dst.cast(), size_of::<T>().wrapping_mul(count));
    // SAFETY: as `read`.
    unsafe { std::ptr::copy_nonoverlapping(src, dst, count) }
}

#[inline]
#[track_caller]
pub const unsafe fn swap<T>(x: *mut T, y: *mut T) {
    memory::announces();
    memory::write(x.cast(), size_of::<T>());
    memory::write(y.cast(), size_of::<T>());
    // SAFETY: as `read`.
    unsafe { std::ptr::swap(x, y) }
}

#[inline]
#[track_caller]
pub const unsafe fn swap_nonoverlapping<T>(x: *mut T, y: *mut T, count: usize) {
    memory::announces();
    memory::write(x.cast(), size_of::<T>().wrapping_mul(count));
    memory::write(y.cast(), size_of::<T>().wrapping_mul(count));
    // SAFETY: as `read`.
    unsafe { std::ptr::swap_nonoverlapping(x, y, count) }
}

#[inline]
#[track_caller]
pub const unsafe fn replace<T>(dst: *mut T, src: T) -> T {
    memory::announces();
    memory::write(dst.cast(), size_of::<T>());
    // SAFETY: as `read`.
    unsafe { std::ptr::replace(dst, src) }
}

#[inline]
#[track_caller]
pub unsafe fn drop_in_place<T: ?Sized>(to_drop: *mut T) {
    observes_accesses();
    if std::mem::needs_drop::<T>() && T::IS_UNIQUE {
        // SAFETY: the dropped value is initialised, and the metadata of the pointer is valid.
        memory::borrow_mut(to_drop.cast_const().cast(), unsafe {
            size_of_val_raw(to_drop)
        });
    }
    // SAFETY: as `read`.
    unsafe { std::ptr::drop_in_place(to_drop) }
}
