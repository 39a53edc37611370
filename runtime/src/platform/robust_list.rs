//! The kernel's list of the robust mutexes that a thread holds.

use crate::base::sys::{self, number};

/// The head of the list, as the kernel knows it.
#[repr(C)]
pub(crate) struct RobustList {
    /// The first entry, or the head itself.
    pub(crate) first: usize,
    /// From an entry to its futex word.
    pub(crate) offset: isize,
    /// An entry that is just being added or removed.
    pub(crate) pending: usize,
}

impl RobustList {
    /// The calling thread's; null where the kernel keeps none.
    pub(crate) fn of_this_thread() -> *mut Self {
        let (mut head, mut length) = (0usize, 0usize);
        let (at, length_at) = (&raw mut head as usize, &raw mut length as usize);
        // SAFETY: both words are writable.
        unsafe { sys::syscall(number::GET_ROBUST_LIST, [0, at, length_at, 0, 0, 0]) };
        head as *mut Self
    }

    /// Whether it names nothing.
    pub(crate) fn is_empty(&self) -> bool {
        self.first == (&raw const *self).addr() && self.pending == 0
    }

    /// Empties the list: its entries may not exist any more.
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
