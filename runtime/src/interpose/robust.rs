//! Robust mutexes: a task that ends while it holds some leaves word of it in them.
//!
//! glibc links those that a thread holds into a list, and the kernel goes through
//! it when the thread dies. A donor does not die with its task, so this is done here.

use core::ffi::c_int;
use core::sync::atomic::{AtomicU32, Ordering};

use super::futex::task_thread_id;
use super::locks::Lock;
use crate::execution;
use crate::platform::robust_list::RobustList;

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
