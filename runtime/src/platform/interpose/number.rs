//! Calls on descriptors and children that come by number, through libc's `syscall`.

use core::ffi::{c_int, c_long};

use super::super::sys::number;
use super::{child, connection, epoll, poll, receive, send, signal, splice, timer};

/// What a task's system call leads to; `None` for those that cannot block.
///
/// # Safety
/// The arguments are those of the system call.
#[expect(
    clippy::many_single_char_names,
    reason = "the six words of any system call"
)]
pub(super) unsafe fn call(number: usize, arguments: [usize; 6]) -> Option<c_long> {
    let [a, b, c, d, e, f] = arguments;
    let descriptor = a as c_int;
    // SAFETY: the caller's promise; libc's functions take the same arguments.
    Some(unsafe {
        match number {
            number::READ => receive::read(descriptor, b as _, c) as c_long,
            number::READV => receive::readv(descriptor, b as _, c as c_int) as c_long,
            number::WRITE => super::output::write(descriptor, b as _, c) as c_long,
            number::WRITEV => super::output::writev(descriptor, b as _, c as c_int) as c_long,
            number::SENDTO => {
                send::sendto(descriptor, b as _, c, d as c_int, e as _, f as u32) as c_long
            }
            number::SENDMSG => send::sendmsg(descriptor, b as _, c as c_int) as c_long,
            number::RECVFROM => {
                receive::recvfrom(descriptor, b as _, c, d as c_int, e as _, f as _) as c_long
            }
            number::RECVMSG => receive::recvmsg(descriptor, b as _, c as c_int) as c_long,
            number::SPLICE => {
                splice::splice(descriptor, b as _, c as c_int, d as _, e, f as u32) as c_long
            }
            number::SENDFILE => splice::sendfile64(descriptor, b as c_int, c as _, d) as c_long,
            number::ACCEPT => connection::accept(descriptor, b as _, c as _).into(),
            number::ACCEPT4 => connection::accept4(descriptor, b as _, c as _, d as c_int).into(),
            number::CONNECT => connection::connect(descriptor, b as _, c as u32).into(),
            number::SHUTDOWN => connection::shutdown(descriptor, b as c_int).into(),
            number::CLOSE => connection::close(descriptor).into(),
            number::POLL => poll::poll(a as _, b as _, c as c_int).into(),
            number::PPOLL => poll::ppoll(a as _, b as _, c as _, d as _).into(),
            number::SELECT => poll::select(descriptor, b as _, c as _, d as _, e as _).into(),
            number::PSELECT6 => poll::pselect(
                descriptor,
                b as _,
                c as _,
                d as _,
                e as _,
                core::ptr::null(),
            )
            .into(),
            number::EPOLL_WAIT => {
                epoll::epoll_wait(descriptor, b as _, c as c_int, d as c_int).into()
            }
            number::EPOLL_PWAIT => {
                epoll::epoll_pwait(descriptor, b as _, c as c_int, d as c_int, e as _).into()
            }
            number::EPOLL_PWAIT2 => {
                epoll::epoll_pwait2(descriptor, b as _, c as c_int, d as _, e as _).into()
            }
            number::EPOLL_CTL => {
                epoll::epoll_ctl(descriptor, b as c_int, c as c_int, d as _).into()
            }
            number::TIMERFD_CREATE => timer::timerfd_create(descriptor, b as c_int).into(),
            number::TIMERFD_SETTIME => {
                timer::timerfd_settime(descriptor, b as c_int, c as _, d as _).into()
            }
            number::TIMERFD_GETTIME => timer::timerfd_gettime(descriptor, b as _).into(),
            number::WAIT4 => child::wait4(descriptor, b as _, c as c_int, d as _).into(),
            number::WAITID => {
                child::waitid5(descriptor, b as u32, c as _, d as c_int, e as _).into()
            }
            number::KILL => signal::kill(descriptor, b as c_int).into(),
            number::TGKILL => signal::tgkill(descriptor, b as c_int, c as c_int).into(),
            number::RT_SIGQUEUEINFO => signal::queue(descriptor, b as c_int, c as _).into(),
            _ => return None,
        }
    })
}
