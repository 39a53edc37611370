//! The system interface of the runtime: raw system calls, and the few declarations of
//! libc that the runtime needs.
//!
//! The runtime has no dependencies, so the necessary part of the `libc` crate is
//! declared here. Raw system calls have another purpose: they reach the kernel past the
//! runtime's own interposed symbols.

#![allow(non_camel_case_types, reason = "C names are kept")]

use core::arch::asm;
use core::ffi::{c_char, c_int, c_void};
use std::io::Write;

pub(crate) use super::number;

pub(crate) type pthread_t = usize;
pub(crate) type pthread_key_t = u32;
/// A thread's entry point, as an argument of `pthread_create`.
pub(crate) type ThreadStart = unsafe extern "C" fn(*mut c_void) -> *mut c_void;
/// The destructor of a thread-local or of a pthread key.
pub(crate) type Destructor = unsafe extern "C" fn(*mut c_void);

#[repr(C, align(8))]
pub(crate) struct pthread_attr_t([u8; 56]);

impl pthread_attr_t {
    pub(crate) const fn zeroed() -> Self {
        Self([0; 56])
    }
}

/// The routine of a `pthread_once`. It may unwind.
pub(crate) type OnceRoutine = unsafe extern "C-unwind" fn();

/// The beginning of glibc's mutex. The rest belongs to glibc alone.
#[repr(C)]
pub(crate) struct pthread_mutex_t {
    lock: c_int,
    count: u32,
    /// The kernel thread that holds the mutex, if its kind records the holder.
    pub(crate) owner: c_int,
    users: u32,
    /// The kind of the mutex, and bits that do not matter here.
    pub(crate) kind: c_int,
}

/// The beginning of glibc's read-write lock.
#[repr(C)]
pub(crate) struct pthread_rwlock_t {
    words: [u32; 6],
    /// The kernel thread that holds the lock for writing; 0 if there is none.
    pub(crate) writer: c_int,
    shared: c_int,
    padding: [u64; 2],
    /// The preference for readers or writers.
    pub(crate) kind: u32,
}

#[repr(C)]
#[derive(Clone, Copy)]
pub(crate) struct timespec {
    pub(crate) tv_sec: i64,
    pub(crate) tv_nsec: i64,
}

impl timespec {
    /// Whether the nanoseconds are in the range that libc's timed functions accept.
    pub(crate) fn is_valid(self) -> bool {
        (0..1_000_000_000).contains(&self.tv_nsec)
    }

    /// The time in nanoseconds. A negative field counts as 0, and a time that is too large as
    /// `u64::MAX`.
    pub(crate) fn nanos(self) -> u64 {
        let seconds = u64::try_from(self.tv_sec).unwrap_or(0);
        let nanos = u64::try_from(self.tv_nsec).unwrap_or(0);
        seconds.saturating_mul(1_000_000_000).saturating_add(nanos)
    }

    pub(crate) fn from_nanos(nanos: u64) -> Self {
        Self {
            tv_sec: (nanos / 1_000_000_000).cast_signed(),
            tv_nsec: (nanos % 1_000_000_000).cast_signed(),
        }
    }
}

#[repr(C)]
#[derive(Clone, Copy)]
pub(crate) struct timeval {
    pub(crate) tv_sec: i64,
    pub(crate) tv_usec: i64,
}

#[repr(C)]
#[derive(Clone, Copy)]
pub(crate) struct stack_t {
    pub(crate) pointer: *mut c_void,
    pub(crate) flags: c_int,
    pub(crate) size: usize,
}

#[repr(C)]
pub(crate) struct sigaction_t {
    pub(crate) handler: usize,
    pub(crate) mask: [u64; 16],
    pub(crate) flags: c_int,
    pub(crate) restorer: usize,
}

/// The index of the child's process identifier in a result of `waitid`, in words of 32 bits.
pub(crate) const CHILD_AT: usize = 4;

#[repr(C)]
pub(crate) struct siginfo_t {
    pub(crate) signo: c_int,
    pub(crate) errno: c_int,
    pub(crate) code: c_int,
    pad: c_int,
    pub(crate) address: usize,
    rest: [u64; 13],
}

#[repr(C)]
pub(crate) struct ProgramHeader {
    pub(crate) kind: u32,
    pub(crate) flags: u32,
    pub(crate) offset: u64,
    pub(crate) virtual_address: u64,
    pub(crate) physical_address: u64,
    pub(crate) file_size: u64,
    pub(crate) memory_size: u64,
    pub(crate) align: u64,
}

#[repr(C)]
pub(crate) struct LoadedObject {
    pub(crate) base: u64,
    pub(crate) name: *const c_char,
    pub(crate) headers: *const ProgramHeader,
    pub(crate) header_count: u16,
    adds: u64,
    subs: u64,
    tls_module: usize,
    pub(crate) tls_data: *mut c_void,
}

pub(crate) type LoadedObjectVisitor =
    unsafe extern "C" fn(*mut LoadedObject, usize, *mut c_void) -> c_int;

unsafe extern "C" {
    pub(crate) fn __errno_location() -> *mut c_int;
    pub(crate) fn dlsym(handle: *mut c_void, name: *const c_char) -> *mut c_void;
    pub(crate) fn dl_iterate_phdr(visit: LoadedObjectVisitor, data: *mut c_void) -> c_int;
    pub(crate) fn pthread_self() -> pthread_t;
    pub(crate) fn pthread_attr_init(attr: *mut pthread_attr_t) -> c_int;
    pub(crate) fn pthread_attr_destroy(attr: *mut pthread_attr_t) -> c_int;
    pub(crate) fn pthread_attr_setstacksize(attr: *mut pthread_attr_t, size: usize) -> c_int;
    pub(crate) fn pthread_attr_getstacksize(attr: *const pthread_attr_t, size: *mut usize)
    -> c_int;
    pub(crate) fn pthread_attr_getdetachstate(
        attr: *const pthread_attr_t,
        state: *mut c_int,
    ) -> c_int;
    pub(crate) fn pthread_attr_setstack(
        attr: *mut pthread_attr_t,
        low: *mut c_void,
        size: usize,
    ) -> c_int;
    pub(crate) fn pthread_attr_getstack(
        attr: *const pthread_attr_t,
        low: *mut *mut c_void,
        size: *mut usize,
    ) -> c_int;
    pub(crate) fn pthread_attr_setguardsize(attr: *mut pthread_attr_t, size: usize) -> c_int;
    pub(crate) fn pthread_attr_getguardsize(attr: *const pthread_attr_t, size: *mut usize)
    -> c_int;
}

/// `dlsym`'s handle for the next definition after our own.
pub(crate) const RTLD_NEXT: *mut c_void = usize::MAX as *mut c_void;

pub(crate) const PAGE: usize = 4096;

pub(crate) const PT_LOAD: u32 = 1;
pub(crate) const PT_TLS: u32 = 7;
pub(crate) const PT_GNU_RELRO: u32 = 0x6474_e552;
pub(crate) const PF_W: u32 = 2;

pub(crate) const SIGABRT: c_int = 6;
pub(crate) const SIGBUS: c_int = 7;
pub(crate) const SIGKILL: c_int = 9;
pub(crate) const SIGCONT: c_int = 18;
pub(crate) const SIGSTOP: c_int = 19;
pub(crate) const SIGSEGV: c_int = 11;
pub(crate) const SA_SIGINFO: c_int = 4;
pub(crate) const SA_ONSTACK: c_int = 0x0800_0000;
pub(crate) const SA_NODEFER: c_int = 0x4000_0000;
/// `si_code` of a fault on a mapped page without the permission.
pub(crate) const SEGV_ACCERR: c_int = 2;

pub(crate) const EINTR: c_int = 4;
pub(crate) const EBADF: c_int = 9;
pub(crate) const EAGAIN: c_int = 11;
pub(crate) const EBUSY: c_int = 16;
pub(crate) const EDEADLK: c_int = 35;
pub(crate) const ENOSYS: c_int = 38;
pub(crate) const EOWNERDEAD: c_int = 130;
pub(crate) const EINPROGRESS: c_int = 115;
pub(crate) const ECONNREFUSED: c_int = 111;
pub(crate) const ESRCH: c_int = 3;
pub(crate) const ERANGE: c_int = 34;
pub(crate) const EINVAL: c_int = 22;
pub(crate) const ENOMEM: c_int = 12;
pub(crate) const ETIMEDOUT: c_int = 110;

/// Performs a system call, past every interposed symbol. Returns the kernel's result: a
/// negative error number on failure.
///
/// # Safety
/// The requirements are those of the system call itself.
#[inline]
pub(crate) unsafe fn syscall(number: usize, arguments: [usize; 6]) -> isize {
    let result: isize;
    // SAFETY: the kernel's calling convention; the caller ensures that the call is
    // sound.
    unsafe {
        asm!(
            "syscall",
            inlateout("rax") number.cast_signed() => result,
            in("rdi") arguments[0],
            in("rsi") arguments[1],
            in("rdx") arguments[2],
            in("r10") arguments[3],
            in("r8") arguments[4],
            in("r9") arguments[5],
            out("rcx") _,
            out("r11") _,
            options(nostack),
        );
    }
    result
}

/// Converts the result of a system call as libc's wrappers do: if it is an error, sets `errno` and
/// returns -1.
pub(crate) fn libc_result(result: isize) -> isize {
    if (-4095..0).contains(&result) {
        // SAFETY: `errno` of the calling thread.
        unsafe { *__errno_location() = c_int::try_from(-result).unwrap_or(EINVAL) };
        -1
    } else {
        result
    }
}

/// Fails as libc's wrappers do: sets `errno` to `error` and returns -1.
pub(crate) fn libc_failure(error: c_int) -> c_int {
    libc_result(-(error as isize)) as c_int
}

const FUTEX_WAIT_PRIVATE: usize = 128;
const FUTEX_WAKE_PRIVATE: usize = 129;

/// Waits in the kernel while `word` holds `value`.
pub(crate) fn futex_wait(word: &core::sync::atomic::AtomicU32, value: u32) {
    let at = word.as_ptr() as usize;
    // SAFETY: `word` is a live futex word.
    unsafe {
        syscall(
            number::FUTEX,
            [at, FUTEX_WAIT_PRIVATE, value as usize, 0, 0, 0],
        )
    };
}

/// Wakes all kernel waiters of `word`.
pub(crate) fn futex_wake(word: &core::sync::atomic::AtomicU32) {
    let at = word.as_ptr() as usize;
    let all = i32::MAX as usize;
    // SAFETY: `word` is a live futex word.
    unsafe { syscall(number::FUTEX, [at, FUTEX_WAKE_PRIVATE, all, 0, 0, 0]) };
}

/// Waits in the kernel while `word`, in memory that processes share, holds `value`, for
/// at most `limit` milliseconds.
pub(crate) fn futex_wait_shared(word: &core::sync::atomic::AtomicU32, value: u32, limit: u64) {
    let at = word.as_ptr() as usize;
    let limit = timespec::from_nanos(limit * 1_000_000);
    let limit = &raw const limit as usize;
    // SAFETY: `word` is a live futex word, and `limit` is readable.
    unsafe { syscall(number::FUTEX, [at, 0, value as usize, limit, 0, 0]) };
}

/// Wakes all waiters of `word` in memory that processes share.
pub(crate) fn futex_wake_shared(word: &core::sync::atomic::AtomicU32) {
    let at = word.as_ptr() as usize;
    let all = i32::MAX as usize;
    // SAFETY: `word` is a live futex word.
    unsafe { syscall(number::FUTEX, [at, 1, all, 0, 0, 0]) };
}

/// Forks as libc does, without notice to libc or the program. Returns 0 in the child, and the
/// child's process identifier in the parent.
pub(crate) fn fork_bare() -> isize {
    const SIGCHLD: usize = 17;
    // SAFETY: the child has a copy of this stack; other threads only wait.
    unsafe { syscall(number::CLONE, [SIGCHLD, 0, 0, 0, 0, 0]) }
}

/// Stops this process, until another process continues it.
pub(crate) fn stop_own_process() {
    // SAFETY: no memory is passed.
    unsafe {
        let own = syscall(number::GETPID, [0; 6]) as usize;
        syscall(number::KILL, [own, SIGSTOP as usize, 0, 0, 0, 0]);
    }
}

/// Does the same as [`fork_bare`], but the child's end sends no signal, and only [`reap_silent`]
/// waits for it. The start of the child is hidden from debuggers, because they would show the
/// child as a thread.
pub(crate) fn fork_silently() -> isize {
    const CLONE_UNTRACED: usize = 0x0080_0000;
    // SAFETY: as in `fork_bare`.
    unsafe { syscall(number::CLONE, [CLONE_UNTRACED, 0, 0, 0, 0, 0]) }
}

/// Makes `path` the current directory.
pub(crate) fn change_directory(path: &core::ffi::CStr) {
    // SAFETY: a string that lives as long as the call.
    unsafe { syscall(number::CHDIR, [path.as_ptr() as usize, 0, 0, 0, 0, 0]) };
}

/// Waits for the end of a child of [`fork_silently`]. Returns its wait status.
pub(crate) fn reap_silent(child: isize) -> c_int {
    const CLONES: usize = 0x8000_0000;
    let child = child.cast_unsigned();
    let mut status: c_int = 0;
    let at = &raw mut status as usize;
    // SAFETY: our own child; `at` is writable. Interrupted calls are repeated.
    while unsafe { syscall(number::WAIT4, [child, at, CLONES, 0, 0, 0]) } == -4 {}
    status
}

const PROT_READ: usize = 1;
const PROT_READ_WRITE: usize = 3;
const MAP_SHARED: usize = 0x01;
const MAP_PRIVATE: usize = 0x02;
const MAP_FIXED: usize = 0x10;
const MAP_ANONYMOUS: usize = 0x20;
const MAP_NORESERVE: usize = 0x4000;
const MAP_FIXED_NOREPLACE: usize = 0x10_0000;
const MADV_DONTNEED: usize = 4;

/// Maps `size` bytes of zeroed memory at exactly `base`. Returns whether the kernel agreed. Forked
/// processes share the memory if `shared` is set. The kernel reserves no memory for the mapping in
/// advance.
pub(crate) fn map_fixed(base: usize, size: usize, shared: bool) -> bool {
    let kind = if shared { MAP_SHARED } else { MAP_PRIVATE };
    let flags = kind | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED_NOREPLACE;
    // SAFETY: a new mapping that replaces none.
    let at = unsafe {
        syscall(
            number::MMAP,
            [base, size, PROT_READ_WRITE, flags, usize::MAX, 0],
        )
    };
    at.cast_unsigned() == base
}

/// Returns the pages of `size` bytes at `base` to the kernel. Their next accesses find zeros.
/// Returns whether the kernel agreed.
///
/// # Safety
/// The pages belong to a private mapping without a file, and their content is not used any more.
pub(crate) unsafe fn return_pages(base: usize, size: usize) -> bool {
    // SAFETY: the caller's promise.
    unsafe { syscall(number::MADVISE, [base, size, MADV_DONTNEED, 0, 0, 0]) == 0 }
}

/// Maps `size` bytes of an open file from `offset` on, to be read, at exactly `base`. Returns
/// whether the kernel agreed.
///
/// # Safety
/// Whatever is mapped there is not used any more.
pub(crate) unsafe fn map_file(base: usize, size: usize, file: c_int, offset: usize) -> bool {
    let flags = MAP_PRIVATE | MAP_FIXED;
    let arguments = [base, size, PROT_READ, flags, file as usize, offset];
    // SAFETY: the caller's promise.
    unsafe { syscall(number::MMAP, arguments).cast_unsigned() == base }
}

/// Maps `size` bytes of zeroed memory that forked processes share, at exactly `base`. Returns
/// whether the kernel agreed. The kernel reserves no memory for the mapping in advance.
///
/// # Safety
/// Whatever is mapped there is not used any more.
pub(crate) unsafe fn map_shared_at(base: usize, size: usize) -> bool {
    let flags = MAP_SHARED | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED;
    let arguments = [base, size, PROT_READ_WRITE, flags, usize::MAX, 0];
    // SAFETY: the caller's promise.
    unsafe { syscall(number::MMAP, arguments).cast_unsigned() == base }
}

/// Replaces the shared memory of `size` bytes at `base`, of which only the first `used`
/// are not zero, by a private copy. Returns whether the kernel agreed.
///
/// # Safety
/// No thread or process writes there in the meantime.
pub(crate) unsafe fn make_private(base: usize, size: usize, used: usize) -> bool {
    const MAY_MOVE_FIXED: usize = 3;
    let flags = MAP_PRIVATE | MAP_NORESERVE;
    let copy = map(size, flags);
    if copy.is_null() {
        return false;
    }
    // SAFETY: both mappings exist and have the same size; then the copy replaces the
    // original.
    unsafe {
        core::ptr::copy_nonoverlapping(base as *const u8, copy, used);
        let arguments = [copy as usize, size, size, MAY_MOVE_FIXED, base, 0];
        syscall(number::MREMAP, arguments).cast_unsigned() == base
    }
}

/// Maps `size` bytes of zeroed private memory anywhere; null on failure.
pub(crate) fn map_anywhere(size: usize) -> *mut u8 {
    map(size, MAP_PRIVATE)
}

/// Maps `size` bytes of zeroed memory that forked processes share; null on failure. The kernel
/// reserves no memory for the mapping in advance.
pub(crate) fn map_shared(size: usize) -> *mut u8 {
    map(size, MAP_SHARED | MAP_NORESERVE)
}

/// Removes a mapping of `size` bytes.
///
/// # Safety
/// The mapping begins at `memory` and has this size, and this process no longer uses it.
pub(crate) unsafe fn unmap(memory: *mut u8, size: usize) {
    // SAFETY: the caller's promise. The call cannot fail for a whole mapping.
    unsafe { syscall(number::MUNMAP, [memory as usize, size, 0, 0, 0, 0]) };
}

fn map(size: usize, flags: usize) -> *mut u8 {
    let flags = flags | MAP_ANONYMOUS;
    // SAFETY: a new mapping that replaces none.
    let at = unsafe {
        syscall(
            number::MMAP,
            [0, size, PROT_READ_WRITE, flags, usize::MAX, 0],
        )
    };
    if at < 0 {
        core::ptr::null_mut()
    } else {
        at.cast_unsigned() as *mut u8
    }
}

/// Sets the protection of whole pages.
///
/// # Safety
/// No code may rely on the access that is removed.
pub(crate) unsafe fn protect(low: usize, size: usize, writable: bool) {
    let protection = if writable { PROT_READ_WRITE } else { PROT_READ };
    // SAFETY: the caller's promise.
    unsafe { syscall(number::MPROTECT, [low, size, protection, 0, 0, 0]) };
}

/// Ends the process immediately, without any code of the program or of libc.
pub(crate) fn exit_now(code: i32) -> ! {
    // SAFETY: ends the process.
    unsafe { syscall(number::EXIT_GROUP, [code as usize, 0, 0, 0, 0, 0]) };
    unreachable!("exit_group does not return")
}

/// The kernel's identifier of the calling thread.
pub(crate) fn kernel_thread_id() -> i32 {
    // SAFETY: no arguments, no effect.
    let id = unsafe { syscall(number::GETTID, [0; 6]) };
    i32::try_from(id).unwrap_or(0)
}

/// Waits a millisecond of real time.
pub(crate) fn nap() {
    let mut turn = timespec {
        tv_sec: 0,
        tv_nsec: 1_000_000,
    };
    let time = &raw mut turn as usize;
    // SAFETY: no entries, and a time that the kernel may write to.
    unsafe { syscall(number::PPOLL, [0, 0, time, 0, 8, 0]) };
}

/// The real time in nanoseconds, from the kernel's monotonic clock.
pub(crate) fn monotonic_time() -> u64 {
    const CLOCK_MONOTONIC: usize = 1;
    let mut time = timespec {
        tv_sec: 0,
        tv_nsec: 0,
    };
    let at = &raw mut time as usize;
    // SAFETY: a time that the kernel may write to.
    unsafe { syscall(number::CLOCK_GETTIME, [CLOCK_MONOTONIC, at, 0, 0, 0, 0]) };
    time.nanos()
}

/// Sets the name of a kernel thread of this process for debuggers, to the first 15 bytes of `name`.
pub(crate) fn name_thread(thread: i32, name: &[u8]) {
    const HERE: usize = (-100_isize).cast_unsigned();
    const WRITE_ONLY: usize = 1;
    let mut path = [0u8; 48];
    let mut room = &mut path[..47];
    let written = write!(room, "/proc/self/task/{thread}/comm");
    debug_assert!(written.is_ok(), "there is room for a number");
    // SAFETY: a path that ends in zero, and readable bytes.
    unsafe {
        let file = syscall(
            number::OPENAT,
            [HERE, path.as_ptr().addr(), WRITE_ONLY, 0, 0, 0],
        );
        if file >= 0 {
            let file = file.cast_unsigned();
            let (at, length) = (name.as_ptr().addr(), name.len().min(15));
            syscall(number::WRITE, [file, at, length, 0, 0, 0]);
            syscall(number::CLOSE, [file, 0, 0, 0, 0, 0]);
        }
    }
}

/// Lets a debugger that did not start this process attach to it.
pub(crate) fn let_anyone_trace() {
    const PR_SET_PTRACER: usize = 0x5961_6d61;
    const ANY: usize = usize::MAX;
    // SAFETY: no memory is passed. Kernels without this option need no permission.
    unsafe { syscall(number::PRCTL, [PR_SET_PTRACER, ANY, 0, 0, 0, 0]) };
}

/// Restores the default action for `signal`.
pub(crate) fn reset_signal(signal: c_int) {
    let default = [0u64; 4];
    let at = &raw const default as usize;
    // SAFETY: a readable action of the kernel's own form, without a handler.
    unsafe { syscall(number::RT_SIGACTION, [signal as usize, at, 0, 8, 0, 0]) };
}

/// Blocks every signal of the calling kernel thread.
pub(crate) fn block_signals() {
    let all = u64::MAX;
    let mask = &raw const all as usize;
    // SAFETY: `mask` points to eight readable bytes.
    unsafe { syscall(number::RT_SIGPROCMASK, [0, mask, 0, 8, 0, 0]) };
}
