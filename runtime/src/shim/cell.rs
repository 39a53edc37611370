//! `std::cell`, with a shim of `UnsafeCell`. The shim announces no accesses: code accesses the value
//! through pointers, and instrumentation or rewritten code announces these accesses.

use std::fmt;
use std::mem::ManuallyDrop;
use std::ops::{CoerceUnsized, DispatchFromDyn};

pub use std::cell::*;

/// See [`std::cell::UnsafeCell`].
#[repr(transparent)]
pub struct UnsafeCell<T: ?Sized>(std::cell::UnsafeCell<T>);

impl<T> UnsafeCell<T> {
    #[inline]
    pub const fn new(value: T) -> UnsafeCell<T> {
        UnsafeCell(std::cell::UnsafeCell::new(value))
    }

    #[inline]
    pub const fn into_inner(self) -> T {
        let this = ManuallyDrop::new(self);
        // SAFETY: a `ManuallyDrop` and both cells are transparent, so that the pointer is one to a
        // `T`; `this` is not used again, nor dropped.
        unsafe { (&raw const this).cast::<T>().read() }
    }
}

impl<T: ?Sized> UnsafeCell<T> {
    #[inline]
    pub const fn from_mut(value: &mut T) -> &mut UnsafeCell<T> {
        let pointer: *mut T = value;
        // SAFETY: the cell is transparent over `T`, and the borrow is unique.
        unsafe { &mut *(pointer as *mut UnsafeCell<T>) }
    }

    #[inline]
    pub const fn get(&self) -> *mut T {
        self.0.get()
    }

    #[inline]
    pub const fn get_mut(&mut self) -> &mut T {
        self.0.get_mut()
    }

    #[inline]
    pub const fn raw_get(this: *const Self) -> *mut T {
        std::cell::UnsafeCell::raw_get(this as *const std::cell::UnsafeCell<T>)
    }
}

impl<T: Default> Default for UnsafeCell<T> {
    fn default() -> UnsafeCell<T> {
        UnsafeCell::new(T::default())
    }
}

impl<T> From<T> for UnsafeCell<T> {
    fn from(value: T) -> UnsafeCell<T> {
        UnsafeCell::new(value)
    }
}

impl<T: ?Sized> fmt::Debug for UnsafeCell<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("UnsafeCell").finish_non_exhaustive()
    }
}

impl<T: CoerceUnsized<U>, U> CoerceUnsized<UnsafeCell<U>> for UnsafeCell<T> {}
impl<T: DispatchFromDyn<U>, U> DispatchFromDyn<UnsafeCell<U>> for UnsafeCell<T> {}
