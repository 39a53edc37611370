//! `recvmmsg` and `sendmmsg`, which receive and send several messages. As in the kernel, other
//! tasks may run between two messages of one call.

use core::ffi::{c_int, c_uint};

use super::buffers::{MSG_DONTWAIT, Message};
use super::{receive, send};
use crate::base::sys::{self, number, timespec};
use crate::execution::{self, active};

/// The flag of a call that waits only for its first message.
const MSG_WAITFORONE: c_int = 0x1_0000;

/// C's `struct mmsghdr`.
#[repr(C)]
pub(super) struct Entry {
    message: Message,
    /// The number of bytes that were received or sent.
    length: c_uint,
}

/// libc's `recvmmsg`. As in the kernel, the time limit is checked only after a message.
#[unsafe(no_mangle)]
pub(super) unsafe extern "C" fn recvmmsg(
    socket: c_int,
    entries: *mut Entry,
    count: c_uint,
    mut flags: c_int,
    timeout: *mut timespec,
) -> c_int {
    // SAFETY: the caller's arguments are those of the system call: a list of `count` entries, and
    // null or a time.
    unsafe {
        if !active() {
            let arguments = [
                socket as usize,
                entries as usize,
                count as usize,
                flags as usize,
                timeout as usize,
                0,
            ];
            return sys::libc_result(sys::syscall(number::RECVMMSG, arguments)) as c_int;
        }
        let limit = timeout.as_ref().map(|limit| limit.nanos());
        let deadline = limit.map(|limit| execution::now().saturating_add(limit));
        let waits_for_one = flags & MSG_WAITFORONE != 0;
        flags &= !MSG_WAITFORONE;
        of_many(entries, count, |message| {
            let result = receive::recvmsg(socket, message, flags);
            if waits_for_one {
                flags |= MSG_DONTWAIT;
            }
            let left = deadline.map(|deadline| deadline.saturating_sub(execution::now()));
            if let Some(left) = left {
                timeout.write(timespec::from_nanos(left));
            }
            (result, left == Some(0))
        })
    }
}

/// libc's `sendmmsg`.
#[unsafe(no_mangle)]
pub(super) unsafe extern "C" fn sendmmsg(
    socket: c_int,
    entries: *mut Entry,
    count: c_uint,
    flags: c_int,
) -> c_int {
    // SAFETY: the caller's arguments are those of the system call: a list of `count` entries.
    unsafe {
        if !active() {
            let arguments = [
                socket as usize,
                entries as usize,
                count as usize,
                flags as usize,
                0,
                0,
            ];
            return sys::libc_result(sys::syscall(number::SENDMMSG, arguments)) as c_int;
        }
        of_many(entries, count, |message| {
            (send::sendmsg(socket, message, flags), false)
        })
    }
}

/// Calls `transfer` for each message until an error. The result of `transfer` is that of libc's
/// function for one message, and whether the call ends after this message. Returns the number of
/// messages, or -1 if there was an error at the first one.
unsafe fn of_many(
    entries: *mut Entry,
    count: c_uint,
    mut transfer: impl FnMut(&mut Message) -> (isize, bool),
) -> c_int {
    let mut done = 0;
    while done < count {
        // SAFETY: the caller passes a list of `count` entries.
        let entry = unsafe { &mut *entries.add(done as usize) };
        let (result, ends) = transfer(&mut entry.message);
        if result < 0 {
            return if done == 0 { -1 } else { done.cast_signed() };
        }
        entry.length = result as c_uint;
        done += 1;
        if ends {
            break;
        }
    }
    done.cast_signed()
}
