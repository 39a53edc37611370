//! Robust mutexes: a task that ends while it holds some leaves word of it in them.
//!
//! glibc links those that a thread holds into a list, and the kernel goes through
//! it when the thread dies. A donor does not die with its task, so this is done here.

use core::ffi::c_int;
use core::sync::atomic::{AtomicU32, Ordering};

use super::futex::task_thread_id;
use super::locks::Lock;
use crate::base::sys::{self, number};
use crate::execution;

/// The head of the list, as the kernel knows it.
#[repr(C)]
pub(crate) struct RobustList {
    /// The first entry, or the head itself.
    first: usize,
    /// From an entry to its futex word.
    offset: isize,
    /// An entry that is just being added or removed.
    pending: usize,
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
    fn is_empty(&self) -> bool {
        self.first == (&raw const *self).addr() && self.pending == 0
    }

    /// Empties the list: what it names may not exist any more.
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

/// The running task ends: the mutexes on its list have lost their owner, as the
/// kernel would say it in their words.
pub(crate) fn give_up() {
    /// The kernel looks at no more.
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
