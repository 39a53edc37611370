//! The kernel's list of the robust mutexes that a thread holds.

use crate::base::sys::{self, number};

/// The head of the list, in the layout of the kernel.
#[repr(C)]
pub(crate) struct RobustList {
    /// The first entry, or the head itself.
    pub(crate) first: usize,
    /// The offset from an entry to its futex word.
    pub(crate) offset: isize,
    /// The entry that is being added or removed; 0 for none.
    pub(crate) pending: usize,
}

impl RobustList {
    /// The list of the calling thread; null if the kernel keeps none.
    pub(crate) fn of_this_thread() -> *mut Self {
        let (mut head, mut length) = (0usize, 0usize);
        let (at, length_at) = (&raw mut head as usize, &raw mut length as usize);
        // SAFETY: both words are writable.
        unsafe { sys::syscall(number::GET_ROBUST_LIST, [0, at, length_at, 0, 0, 0]) };
        head as *mut Self
    }

    /// Whether the list has no entry, and none is being added or removed.
    pub(crate) fn is_empty(&self) -> bool {
        self.first == (&raw const *self).addr() && self.pending == 0
    }

    /// Empties the list, if `list` is not null. Its entries are not read, because their memory may
    /// no longer exist.
    ///
    /// # Safety
    /// `list` is null or the list of a parked thread.
    pub(crate) unsafe fn clear(list: *mut Self) {
        if list.is_null() {
            return;
        }
        // SAFETY: the caller's promise.
        unsafe {
            (*list).first = list.addr();
            (*list).pending = 0;
        }
    }
}
