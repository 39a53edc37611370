//! The content of zeroed allocations. A large block takes no memory before the program writes to
//! it, as with glibc's allocator.

use super::arena::control;
use crate::base::sys;

/// Blocks of at least this many bytes are returned to the system, which provides zeroed pages when
/// the program uses them. In smaller blocks, the bytes are set: for a program that uses all of
/// them, new pages would take more time.
pub(super) const RETURNED: usize = 4 << 20;

/// Sets `size` bytes at `address` to zero.
///
/// # Safety
///
/// The bytes are those of a block that was just allocated.
#[inline]
pub(crate) unsafe fn zero(address: usize, size: usize) {
    // SAFETY: the caller's promise.
    unsafe {
        if size < RETURNED || !renew(address, size) {
            set(address, address + size);
        }
    }
}

/// Does the same as [`zero`] with new pages from the system. Returns `false` without a change if
/// that is not possible.
///
/// # Safety
///
/// As [`zero`].
#[cold]
unsafe fn renew(address: usize, size: usize) -> bool {
    let end = address + size;
    let (first, last) = (address.next_multiple_of(sys::PAGE), end & !(sys::PAGE - 1));
    // SAFETY: the baseline changes only between executions. For the rest, the caller's promise; the
    // arena is a private mapping without a file.
    unsafe {
        // The pages before the baseline belong to the image, which must see each write.
        if address < (*control()).baseline || !sys::return_pages(first, last - first) {
            return false;
        }
        set(address, first);
        set(last, end);
    }
    true
}

/// Sets the bytes from `low` to `high` to zero.
///
/// # Safety
///
/// As [`zero`].
unsafe fn set(low: usize, high: usize) {
    // SAFETY: the caller's promise.
    unsafe { core::ptr::write_bytes(low as *mut u8, 0, high - low) };
}
