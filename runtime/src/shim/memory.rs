//! The one place where plain memory accesses will be seen: `ptr` functions and
//! `UnsafeCell` call these before they touch memory. They do nothing as yet.

/// `size` bytes at `address` are about to be read.
#[inline]
pub(super) const fn read(address: *const u8, size: usize) {
    let _ = (address, size);
}

/// `size` bytes at `address` are about to be written.
#[inline]
pub(super) const fn write(address: *const u8, size: usize) {
    let _ = (address, size);
}

/// Code takes a pointer to `size` bytes of shared, mutable memory.
#[inline]
pub(super) const fn borrow(address: *const u8, size: usize) {
    let _ = (address, size);
}
