//! Functions of libc through which the kernel writes to memory of the program, and which are no
//! scheduling points.
//!
//! The memory image write-protects the program's statics, and a system call that writes to a
//! protected page fails. So the pages are unprotected before the call.

use core::ffi::{c_char, c_int, c_uint, c_void};

use super::buffers::{Buffer, admit_buffers};
use super::call;
use crate::base::real;
use crate::base::sys::{self, number};
use crate::execution::active;

/// The sizes in bytes of the structures that the kernel writes.
mod size {
    pub(super) const RUSAGE: usize = 144;
    pub(super) const UTSNAME: usize = 390;
    pub(super) const STATFS: usize = 120;
    pub(super) const TIMESPEC: usize = 16;
    pub(super) const TIMEX: usize = 208;
    pub(super) const ID: usize = 4;
    pub(super) const CAPABILITIES: usize = 24;
}

/// Lets the kernel write to the `length` bytes at `address`, if the caller is a task.
pub(super) fn admit(address: usize, length: usize) {
    if active() {
        call::admit(address, length);
    }
}

/// Makes a system call, and returns its result as libc's functions do.
unsafe fn call<const COUNT: usize>(number: usize, arguments: [usize; COUNT]) -> isize {
    let mut all = [0; 6];
    all[..COUNT].copy_from_slice(&arguments);
    // SAFETY: the caller's promise.
    sys::libc_result(unsafe { sys::syscall(number, all) })
}

/// Defines functions of libc that only make the system call of a number with their arguments. The
/// kernel writes to the memory that is listed: each entry has an address and a length.
macro_rules! system_calls {
    ($(
        $name:ident($($argument:ident: $type:ty),*) -> $result:ty
            => $number:ident, $([$address:expr, $length:expr]),+;
    )*) => {
        $(
            /// libc's function of this name.
            #[unsafe(no_mangle)]
            unsafe extern "C" fn $name($($argument: $type),*) -> $result {
                $(admit($address as usize, $length);)+
                // SAFETY: the caller's arguments are those of the system call.
                unsafe { call(number::$number, [$($argument as usize),*]) as $result }
            }
        )*
    };
}

type Out = *mut c_void;
type Path = *const c_char;

system_calls! {
    getrusage(whose: c_int, out: Out) -> c_int => GETRUSAGE, [out, size::RUSAGE];
    uname(out: Out) -> c_int => UNAME, [out, size::UTSNAME];
    statfs(path: Path, out: Out) -> c_int => STATFS, [out, size::STATFS];
    statfs64(path: Path, out: Out) -> c_int => STATFS, [out, size::STATFS];
    fstatfs(file: c_int, out: Out) -> c_int => FSTATFS, [out, size::STATFS];
    fstatfs64(file: c_int, out: Out) -> c_int => FSTATFS, [out, size::STATFS];
    getresuid(real: Out, effective: Out, saved: Out) -> c_int
        => GETRESUID, [real, size::ID], [effective, size::ID], [saved, size::ID];
    getresgid(real: Out, effective: Out, saved: Out) -> c_int
        => GETRESGID, [real, size::ID], [effective, size::ID], [saved, size::ID];
    sched_getparam(process: c_int, out: Out) -> c_int => SCHED_GETPARAM, [out, size_of::<c_int>()];
    sched_rr_get_interval(process: c_int, out: Out) -> c_int
        => SCHED_RR_GET_INTERVAL, [out, size::TIMESPEC];
    adjtimex(out: Out) -> c_int => ADJTIMEX, [out, size::TIMEX];
    ntp_adjtime(out: Out) -> c_int => ADJTIMEX, [out, size::TIMEX];
    capget(header: Out, out: Out) -> c_int
        => CAPGET, [header, 2 * size::ID], [out, size::CAPABILITIES];
    mincore(start: Out, length: usize, out: Out) -> c_int
        => MINCORE, [out, length.div_ceil(sys::PAGE)];
    getdents64(directory: c_int, out: Out, length: usize) -> isize => GETDENTS64, [out, length];
    getxattr(path: Path, name: Path, out: Out, length: usize) -> isize => GETXATTR, [out, length];
    lgetxattr(path: Path, name: Path, out: Out, length: usize) -> isize => LGETXATTR, [out, length];
    fgetxattr(file: c_int, name: Path, out: Out, length: usize) -> isize
        => FGETXATTR, [out, length];
    listxattr(path: Path, out: Out, length: usize) -> isize => LISTXATTR, [out, length];
    llistxattr(path: Path, out: Out, length: usize) -> isize => LLISTXATTR, [out, length];
    flistxattr(file: c_int, out: Out, length: usize) -> isize => FLISTXATTR, [out, length];
    name_to_handle_at(directory: c_int, path: Path, handle: *mut c_uint, mount: Out, flags: c_int)
        -> c_int => NAME_TO_HANDLE_AT, [handle, size_of_handle(handle)], [mount, size::ID];
}

/// The size of C's `struct file_handle`, with the bytes that the caller provides for the name.
fn size_of_handle(handle: *const c_uint) -> usize {
    const HEADER: usize = 8;
    if handle.is_null() {
        return 0;
    }
    // SAFETY: the caller of `name_to_handle_at` passes a handle with the length of its name.
    HEADER + unsafe { handle.read() } as usize
}

/// libc's `sched_getaffinity`.
#[unsafe(no_mangle)]
unsafe extern "C" fn sched_getaffinity(process: c_int, length: usize, out: *mut u8) -> c_int {
    admit(out as usize, length);
    // SAFETY: the caller's arguments are those of the system call, which returns the number of
    // bytes that it wrote. libc's function clears the others.
    unsafe {
        let arguments = [process as usize, length, out as usize];
        let written = call(number::SCHED_GETAFFINITY, arguments);
        let Ok(written) = usize::try_from(written) else {
            return -1;
        };
        out.add(written).write_bytes(0, length - written);
        0
    }
}

/// The highest number of buffers or messages in a list that the kernel accepts.
const MOST_BUFFERS: usize = 1024;

/// libc's `process_vm_readv`.
#[unsafe(no_mangle)]
unsafe extern "C" fn process_vm_readv(
    process: c_int,
    to: *const Buffer,
    to_count: usize,
    from: *const Buffer,
    from_count: usize,
    flags: usize,
) -> isize {
    // SAFETY: the caller's arguments are those of the system call.
    unsafe {
        if active() && !to.is_null() && to_count <= MOST_BUFFERS {
            admit_buffers(to, to_count);
        }
        let (to, from) = (to as usize, from as usize);
        let arguments = [process as usize, to, to_count, from, from_count, flags];
        call(number::PROCESS_VM_READV, arguments)
    }
}

macro_rules! reads_of_streams {
    ($($name:ident;)*) => {
        $(
            /// libc's function of this name. It lets the kernel write a long text directly to the
            /// caller's memory.
            #[unsafe(no_mangle)]
            unsafe extern "C" fn $name(
                out: Out,
                size: usize,
                count: usize,
                stream: *mut c_void,
            ) -> usize {
                admit(out as usize, size.saturating_mul(count));
                // SAFETY: the caller's arguments.
                unsafe { real::$name(out, size, count, stream) }
            }
        )*
    };
}

reads_of_streams! {
    fread;
    fread_unlocked;
}

/// libc's `setvbuf`. Reads from the stream let the kernel write to this buffer later, so its pages
/// are unprotected now.
#[unsafe(no_mangle)]
unsafe extern "C" fn setvbuf(
    stream: *mut c_void,
    buffer: Out,
    mode: c_int,
    length: usize,
) -> c_int {
    admit(buffer as usize, length);
    // SAFETY: the caller's arguments.
    unsafe { real::setvbuf(stream, buffer, mode, length) }
}

/// Lets the kernel write to the memory that the arguments of an unknown system call may point to.
/// The length of the memory may be the next argument.
pub(super) fn admit_arguments(arguments: [usize; 6]) {
    /// An upper limit of the size of the structures that system calls write.
    const USUAL: usize = 4096;
    const MOST: usize = 1 << 20;
    for (at, address) in arguments.into_iter().enumerate() {
        let next = arguments.get(at + 1).copied().unwrap_or(0);
        let length = if next <= MOST { next.max(USUAL) } else { USUAL };
        admit(address, length);
    }
}
