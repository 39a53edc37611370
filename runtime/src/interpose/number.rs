//! The system calls that programs make by number, through libc's `syscall`: those on descriptors,
//! files, children, timers and signals.

use core::ffi::{c_int, c_long};

use super::{
    alarm, child_wait, connection, content_length, epoll, files, flagged_transfers, many_messages,
    poll, receive, replacement, send, signal, socket_options, splice, time, timerfd, wait_signal,
};
use crate::base::sys::number;

/// Performs a task's system call by the interposed function of the same effect. `None` if there is
/// no such function.
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
            number::RECVMMSG => {
                many_messages::recvmmsg(descriptor, b as _, c as u32, d as c_int, e as _).into()
            }
            number::SENDMMSG => {
                many_messages::sendmmsg(descriptor, b as _, c as u32, d as c_int).into()
            }
            number::TEE => splice::tee(descriptor, b as c_int, c, d as u32) as c_long,
            number::SPLICE => {
                splice::splice(descriptor, b as _, c as c_int, d as _, e, f as u32) as c_long
            }
            number::SENDFILE => splice::sendfile64(descriptor, b as c_int, c as _, d) as c_long,
            number::ACCEPT => connection::accept(descriptor, b as _, c as _).into(),
            number::ACCEPT4 => connection::accept4(descriptor, b as _, c as _, d as c_int).into(),
            number::BIND => connection::bind(descriptor, b as _, c as u32).into(),
            number::LISTEN => connection::listen(descriptor, b as c_int).into(),
            number::CONNECT => connection::connect(descriptor, b as _, c as u32).into(),
            number::SETSOCKOPT => {
                socket_options::setsockopt(descriptor, b as c_int, c as c_int, d as _, e as u32)
                    .into()
            }
            number::GETSOCKOPT => {
                socket_options::getsockopt(descriptor, b as c_int, c as c_int, d as _, e as _)
                    .into()
            }
            number::GETSOCKNAME => socket_options::getsockname(descriptor, b as _, c as _).into(),
            number::GETPEERNAME => socket_options::getpeername(descriptor, b as _, c as _).into(),
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
            number::TIMERFD_CREATE => timerfd::timerfd_create(descriptor, b as c_int).into(),
            number::TIMERFD_SETTIME => {
                timerfd::timerfd_settime(descriptor, b as c_int, c as _, d as _).into()
            }
            number::TIMERFD_GETTIME => timerfd::timerfd_gettime(descriptor, b as _).into(),
            number::WAIT4 => child_wait::wait4(descriptor, b as _, c as c_int, d as _).into(),
            number::WAITID => {
                child_wait::waitid5(descriptor, b as u32, c as _, d as c_int, e as _).into()
            }
            number::IOCTL => content_length::ioctl(descriptor, b as _, c).into(),
            number::CLOCK_GETTIME => time::clock_gettime(descriptor, b as _).into(),
            number::GETTIMEOFDAY => time::gettimeofday(a as _, b as _).into(),
            number::TIME => time::time(a as _),
            number::NANOSLEEP => time::nanosleep(a as _, b as _).into(),
            number::CLOCK_NANOSLEEP => {
                time::clock_nanosleep(descriptor, b as c_int, c as _, d as _).into()
            }
            number::PAUSE => wait_signal::pause().into(),
            number::ALARM => alarm::alarm(a as u32).into(),
            number::SETITIMER => alarm::setitimer(descriptor, b as _, c as _).into(),
            number::GETITIMER => alarm::getitimer(descriptor, b as _).into(),
            number::RT_SIGSUSPEND => wait_signal::sigsuspend(a as _).into(),
            number::RT_SIGTIMEDWAIT => wait_signal::sigtimedwait(a as _, b as _, c as _).into(),
            number::RT_SIGPENDING => wait_signal::sigpending(a as _).into(),
            number::KILL => signal::kill(descriptor, b as c_int).into(),
            number::TGKILL => signal::tgkill(descriptor, b as c_int, c as c_int).into(),
            number::RT_SIGQUEUEINFO => signal::queue(descriptor, b as c_int, c as _).into(),
            _ => return call_of_file(number, arguments),
        }
    })
}

/// Does the same as [`call`], for system calls on files.
#[expect(
    clippy::many_single_char_names,
    reason = "the six words of any system call"
)]
unsafe fn call_of_file(number: usize, [a, b, c, d, e, f]: [usize; 6]) -> Option<c_long> {
    let (first, second, third) = (a as c_int, b as c_int, c as c_int);
    // SAFETY: the caller's promise; libc's functions take the same arguments.
    Some(unsafe {
        match number {
            number::OPEN => files::open64(a as _, second, c as u32).into(),
            number::OPENAT => files::openat64(first, b as _, third, d as u32).into(),
            number::CREAT => files::creat(a as _, b as u32).into(),
            number::DUP => files::dup(first).into(),
            number::DUP2 => replacement::dup2(first, second).into(),
            number::DUP3 => replacement::dup3(first, second, third).into(),
            number::FCNTL => files::fcntl(first, second, c).into(),
            number::FLOCK => files::flock(first, second).into(),
            number::PREAD64 => files::pread64(first, b as _, c, d as i64) as c_long,
            number::PWRITE64 => files::pwrite64(first, b as _, c, d as i64) as c_long,
            number::PREADV => files::preadv64(first, b as _, third, d as i64) as c_long,
            number::PWRITEV => files::pwritev64(first, b as _, third, d as i64) as c_long,
            number::PREADV2 => {
                let flags = f as c_int;
                flagged_transfers::preadv64v2(first, b as _, third, d as i64, flags) as c_long
            }
            number::PWRITEV2 => {
                let flags = f as c_int;
                flagged_transfers::pwritev64v2(first, b as _, third, d as i64, flags) as c_long
            }
            number::LSEEK => files::lseek64(first, b as i64, third),
            number::FTRUNCATE => files::ftruncate64(first, b as i64).into(),
            number::FALLOCATE => files::fallocate64(first, second, c as i64, d as i64).into(),
            number::COPY_FILE_RANGE => {
                files::copy_file_range(first, b as _, third, d as _, e, f as u32) as c_long
            }
            number::STAT => files::stat64(a as _, b as _).into(),
            number::LSTAT => files::lstat64(a as _, b as _).into(),
            number::FSTAT => files::fstat64(first, b as _).into(),
            number::NEWFSTATAT => files::fstatat64(first, b as _, c as _, d as c_int).into(),
            number::STATX => files::statx(first, b as _, third, d as u32, e as _).into(),
            number::ACCESS => files::access(a as _, second).into(),
            number::READLINK => files::readlink(a as _, b as _, c) as c_long,
            number::READLINKAT => files::readlinkat(first, b as _, c as _, d) as c_long,
            number::UNLINK => files::unlink(a as _).into(),
            number::UNLINKAT => files::unlinkat(first, b as _, third).into(),
            number::RMDIR => files::rmdir(a as _).into(),
            number::MKDIR => files::mkdir(a as _, b as u32).into(),
            number::MKNODAT => files::mknodat(first, b as _, c as u32, d as u64).into(),
            number::MKDIRAT => files::mkdirat(first, b as _, c as u32).into(),
            number::SYMLINK => files::symlink(a as _, b as _).into(),
            number::SYMLINKAT => files::symlinkat(a as _, second, c as _).into(),
            number::LINK => files::link(a as _, b as _).into(),
            number::LINKAT => files::linkat(first, b as _, third, d as _, e as c_int).into(),
            number::RENAME => files::rename(a as _, b as _).into(),
            number::RENAMEAT => files::renameat2(first, b as _, third, d as _, 0).into(),
            number::RENAMEAT2 => files::renameat2(first, b as _, third, d as _, e as u32).into(),
            number::CHMOD => files::chmod(a as _, b as u32).into(),
            number::FCHMOD => files::fchmod(first, b as u32).into(),
            number::CHDIR => files::chdir(a as _).into(),
            number::FCHDIR => files::fchdir(first).into(),
            _ => return None,
        }
    })
}
