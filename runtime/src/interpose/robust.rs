//! Robust mutexes: those that a task holds when it ends are marked as having lost their
//! owner.
//!
//! glibc links the robust mutexes that a thread holds into a list, and the kernel walks
//! the list when the thread dies. A donor does not die with its task, so this module
//! walks the list.

use core::ffi::c_int;
use core::sync::atomic::{AtomicU32, Ordering};

use super::futex::task_thread_id;
use super::locks::Lock;
use crate::base::sys::{self, number};
use crate::execution;

/// The head of the list, in the kernel's layout.
#[repr(C)]
pub(crate) struct RobustList {
    /// The first entry, or the head itself.
    first: usize,
    /// The distance from an entry to its futex word.
    offset: isize,
    /// An entry that is being added or removed.
    pending: usize,
}

impl RobustList {
    /// Returns the list of the calling thread; null if the kernel keeps none.
    pub(crate) fn of_this_thread() -> *mut Self {
        let (mut head, mut length) = (0usize, 0usize);
        let (at, length_at) = (&raw mut head as usize, &raw mut length as usize);
        // SAFETY: both words are writable.
        unsafe { sys::syscall(number::GET_ROBUST_LIST, [0, at, length_at, 0, 0, 0]) };
        head as *mut Self
    }

    /// Whether the list has no entry.
    fn is_empty(&self) -> bool {
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

/// Marks the mutexes on the list of the ending task as having lost their owner, in
/// their futex words as the kernel would, and wakes their waiters.
pub(crate) fn give_up() {
    /// The highest number of entries that the kernel visits.
    const MOST: usize = 2048;
    const PRIORITY_INHERITING: usize = 1;
    const WAITERS: u32 = 0x8000_0000;
    const OWNER_DIED: u32 = 0x4000_0000;
    const OWNER: u32 = 0x3fff_ffff;
    let Some(execution) = execution::running() else {
        return;
    };
    // SAFETY: see `execution::running`; the entries lie in mutexes that the program
    // must keep alive while they are locked.
    unsafe {
        let list = (*(*execution).running().flow.donor).robust_list;
        if list.is_null() || (*list).is_empty() {
            return;
        }
        let mut entry = (*list).first;
        for _ in 0..MOST {
            if entry == list.addr() || entry == 0 {
                break;
            }
            let address = (entry & !PRIORITY_INHERITING).wrapping_add_signed((*list).offset);
            entry = *((entry & !PRIORITY_INHERITING) as *const usize);
            let word = &*(address as *const AtomicU32);
            let value = word.load(Ordering::Acquire);
            if (value & OWNER) as c_int == task_thread_id() {
                word.store(value & WAITERS | OWNER_DIED, Ordering::Release);
                let lock = Lock {
                    object: address,
                    exclusive: true,
                };
                lock.released();
            }
        }
        RobustList::clear(list);
    }
}
