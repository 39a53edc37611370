//! Robust mutexes. If a task ends while it holds robust mutexes, they are marked as having lost
//! their owner.
//!
//! glibc links the robust mutexes that a thread holds into a list, and the kernel walks the list
//! when the thread ends. A task runs on a thread that lends its stack to the task (the donor), and
//! this thread does not end with the task. So this module walks the list.

use core::ffi::c_int;
use core::sync::atomic::{AtomicU32, Ordering};

use super::futex::task_thread_id;
use super::locks::Lock;
use crate::execution::{self, Op};
use crate::platform::robust_list::RobustList;

/// Marks the robust mutexes that the ending task holds as having lost their owner, and wakes their
/// waiters. The mark is in the futex words of the mutexes, as the kernel would set it. The marking
/// of a mutex is a step of the task.
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
    // SAFETY: donors live as long as the process; the entries lie in mutexes that the program
    // must keep alive while they are locked.
    unsafe {
        let list = (*execution.with(|it| it.running().flow.donor)).robust_list;
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
                let lock = Lock {
                    object: address,
                    exclusive: true,
                };
                // The task's function has returned or was unwound, so the end is no part of its
                // last call.
                execution::leave_atomic_code();
                lock.give_back(Op::PthreadMutexOwnerEnd, || {
                    let waiters = word.load(Ordering::Acquire) & WAITERS;
                    word.store(waiters | OWNER_DIED, Ordering::Release);
                    Ok(true)
                });
            }
        }
        RobustList::clear(list);
    }
}
