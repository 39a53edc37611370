//! System calls of the exploring processes: addresses, descriptors, limits, children.

use core::ffi::{c_char, c_int, c_void};
use std::fs::File;
use std::os::fd::{AsRawFd, FromRawFd};
use std::time::Duration;

use crate::base::real;
use crate::base::sys::{self, ThreadStart};

/// Waits for the end of a child process. Returns its wait status.
pub(super) fn reap(child: c_int) -> c_int {
    let mut status: c_int = 0;
    let at = &raw mut status as usize;
    // SAFETY: our own child; `at` is writable. Interrupted calls are repeated.
    while unsafe { sys::syscall(sys::number::WAIT4, [child as usize, at, 0, 0, 0, 0]) } == -4 {}
    status
}

/// Ends the children of this process, which has one thread, and the orphans that they leave.
pub(super) fn end_children() {
    let own = std::process::id();
    let path = format!("/proc/{own}/task/{own}/children");
    loop {
        let children = std::fs::read_to_string(&path).unwrap_or_default();
        let mut any = false;
        for child in children.split_whitespace().filter_map(|id| id.parse().ok()) {
            any = true;
            // SAFETY: a child of this process, which is not yet reaped.
            unsafe {
                sys::syscall(
                    sys::number::KILL,
                    [child, sys::SIGKILL as usize, 0, 0, 0, 0],
                )
            };
            reap(child as c_int);
        }
        if !any {
            return;
        }
    }
}

/// A descriptor that becomes readable when the process ends; negative for an error.
pub(super) fn open_process(child: c_int) -> isize {
    // SAFETY: a plain system call.
    unsafe { sys::syscall(sys::number::PIDFD_OPEN, [child as usize, 0, 0, 0, 0, 0]) }
}

/// Makes this process the parent of the orphans that its children leave.
pub(super) fn adopt_orphans() {
    const PR_SET_CHILD_SUBREAPER: usize = 36;
    // SAFETY: no memory is passed.
    unsafe { sys::syscall(sys::number::PRCTL, [PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0, 0]) };
}

/// Whether the process with the descriptor `handle` ends within `time`. Kernels before 5.3 have no
/// descriptors of processes. The backend with fibers does not run on such kernels, because it
/// needs `wrfsbase`.
pub(super) fn wait_for(handle: isize, time: Duration) -> bool {
    const POLLIN: i16 = 1;
    poll(handle as i32, POLLIN, time)
}

/// Whether the pipe with the writing end `pipe` has no reader any more.
fn is_abandoned(pipe: i32) -> bool {
    // Errors are always reported.
    const NOTHING: i16 = 0;
    poll(pipe, NOTHING, Duration::ZERO)
}

/// Whether a `wanted` event of `descriptor`, or an error, occurs within `time`.
fn poll(descriptor: i32, wanted: i16, time: Duration) -> bool {
    #[repr(C)]
    struct Poll {
        descriptor: i32,
        wanted: i16,
        got: i16,
    }
    let mut poll = Poll {
        descriptor,
        wanted,
        got: 0,
    };
    let at = &raw mut poll as usize;
    // SAFETY: one entry, which is writable.
    let ready = unsafe {
        sys::syscall(
            sys::number::POLL,
            [at, 1, time.as_millis() as usize, 0, 0, 0],
        )
    };
    ready > 0
}

/// Starts a kernel thread that std does not know. The error states why the system refused the
/// thread.
pub(super) fn start_thread(
    stack: usize,
    start: ThreadStart,
    argument: *mut c_void,
) -> Result<(), String> {
    let mut attributes = sys::pthread_attr_t::zeroed();
    let mut thread = 0;
    // SAFETY: plain pthread calls; the caller is responsible for `argument`.
    let error = unsafe {
        sys::pthread_attr_init(&raw mut attributes);
        sys::pthread_attr_setstacksize(&raw mut attributes, stack);
        let attributes = &raw const attributes;
        real::pthread_create(&raw mut thread, attributes, start, argument)
    };
    match error {
        0 => Ok(()),
        _ => Err(format!(
            "the system refused to create a thread for the exploration (error {error}): the number of \
             threads or the memory may be limited (`ulimit -u`, `ulimit -v`, limits of the container)"
        )),
    }
}

/// The parent of this process.
pub(super) fn parent() -> u32 {
    const GETPPID: usize = 110;
    // SAFETY: a plain system call.
    unsafe { sys::syscall(GETPPID, [0; 6]) as u32 }
}

/// Makes this process end when `parent` does.
pub(super) fn die_with_parent(parent: u32) {
    end_with_parent();
    // The parent may have ended before the call.
    if self::parent() != parent {
        sys::exit_now(1);
    }
}

/// Lets the kernel end this process when its parent ends.
fn end_with_parent() {
    const PR_SET_PDEATHSIG: usize = 1;
    let arguments = [PR_SET_PDEATHSIG, sys::SIGKILL as usize, 0, 0, 0, 0];
    // SAFETY: a plain system call.
    unsafe { sys::syscall(sys::number::PRCTL, arguments) };
}

/// Waits until the parent `first` has ended. Then `next` should be the parent, and this process is
/// made to end when `next` ends. If another process is the parent, this process ends at once.
pub(super) fn leave_parent(first: u32, next: u32) {
    while parent() == first {
        sys::nap();
    }
    die_with_parent(next);
}

/// Takes the pipe to the supervisor, which is standard output, so that the program does not have
/// the pipe. The program's output then goes to standard error, until the explorer silences it.
/// Also makes the kernel end this process when the supervisor ends.
pub(super) fn take_stdout() -> File {
    const F_DUPFD_CLOEXEC: usize = 1030;
    end_with_parent();
    // SAFETY: descriptors 1 and 2 are this process' own; the duplicate is new.
    unsafe {
        let own = sys::syscall(sys::number::FCNTL, [1, F_DUPFD_CLOEXEC, 3, 0, 0, 0]);
        if is_abandoned(own as i32) {
            // The supervisor had ended before.
            sys::exit_now(1);
        }
        sys::syscall(sys::number::DUP2, [2, 1, 0, 0, 0, 0]);
        File::from_raw_fd(own as c_int)
    }
}

/// Makes standard input empty.
pub(super) fn empty_stdin() {
    if let Ok(null) = File::open("/dev/null") {
        let from = null.as_raw_fd() as usize;
        // SAFETY: both descriptors are open.
        unsafe { sys::syscall(sys::number::DUP2, [from, 0, 0, 0, 0, 0]) };
    }
}

/// Discards the program's writes to standard output that bypass std's capture (from C, for
/// instance): thousands of executions would repeat them.
pub(super) fn silence_stdout() {
    if let Ok(null) = File::options().write(true).open("/dev/null") {
        // SAFETY: both descriptors are open.
        unsafe {
            sys::syscall(
                sys::number::DUP2,
                [null.as_raw_fd() as usize, 1, 0, 0, 0, 0],
            )
        };
    }
}

/// Prevents core files, so that a crash leaves none in the user's directory. The upper limit stays
/// unchanged, so that the program can raise the limit again.
pub(super) fn limit_core_files() {
    const RLIMIT_CORE: usize = 4;
    let mut before = [0u64; 2];
    let out = &raw mut before as usize;
    // SAFETY: two writable words.
    unsafe { sys::syscall(sys::number::PRLIMIT64, [0, RLIMIT_CORE, 0, out, 0, 0]) };
    let none = [0, before[1]];
    let at = &raw const none as usize;
    // SAFETY: two readable words.
    unsafe { sys::syscall(sys::number::PRLIMIT64, [0, RLIMIT_CORE, at, 0, 0, 0]) };
}

/// Pins this process to one processor. Kernel threads hand control to each other fastest if they
/// run on the same processor.
pub(super) fn pin_to_one_processor() {
    let mut allowed = [0u64; 16];
    let (at, bytes) = (&raw mut allowed as usize, size_of_val(&allowed));
    // SAFETY: the mask is writable and has the stated length.
    unsafe {
        sys::syscall(sys::number::SCHED_GETAFFINITY, [0, bytes, at, 0, 0, 0]);
        let processors: Vec<usize> = (0..1024)
            .filter(|&p| allowed[p / 64] >> (p % 64) & 1 != 0)
            .collect();
        if processors.is_empty() {
            return;
        }
        // Explorers that run in parallel spread over the processors.
        let chosen = processors[std::process::id() as usize % processors.len()];
        let mut chosen_mask = [0u64; 16];
        chosen_mask[chosen / 64] = 1 << (chosen % 64);
        let at = &raw const chosen_mask as usize;
        sys::syscall(sys::number::SCHED_SETAFFINITY, [0, bytes, at, 0, 0, 0]);
    }
}

/// Turns off address space randomisation by a restart of the program, unless the tool has already
/// turned it off. Then statics and stacks have the same addresses in every process, so that
/// schedules of a program that hashes addresses can be replayed in another process. Does nothing if
/// the kernel does not permit this.
pub(super) fn fix_addresses() {
    const ADDR_NO_RANDOMIZE: usize = 0x0004_0000;
    const QUERY: usize = 0xffff_ffff;
    unsafe extern "C" {
        static environ: *const *const c_char;
        fn execve(
            path: *const c_char,
            arguments: *const *const c_char,
            environment: *const *const c_char,
        ) -> c_int;
    }
    // SAFETY: plain system calls, and `execve` with arrays that end in null.
    unsafe {
        let persona = sys::syscall(sys::number::PERSONALITY, [QUERY, 0, 0, 0, 0, 0]);
        if persona < 0 || persona as usize & ADDR_NO_RANDOMIZE != 0 {
            return;
        }
        let wanted = persona as usize | ADDR_NO_RANDOMIZE;
        if sys::syscall(sys::number::PERSONALITY, [wanted, 0, 0, 0, 0, 0]) < 0 {
            return;
        }
        let arguments: Vec<_> = std::env::args_os()
            .filter_map(|a| std::ffi::CString::new(a.into_encoded_bytes()).ok())
            .collect();
        let mut pointers: Vec<*const c_char> = arguments.iter().map(|a| a.as_ptr()).collect();
        pointers.push(core::ptr::null());
        // If it fails, the program continues unchanged.
        execve(c"/proc/self/exe".as_ptr(), pointers.as_ptr(), environ);
    }
}

#[cfg(test)]
mod tests {
    use std::io::{Read, Write};

    use super::*;

    unsafe extern "C" fn start(argument: *mut c_void) -> *mut c_void {
        argument
    }

    /// Whether a child continues after the end of its parent. It should end if `next` has not
    /// adopted it.
    fn survives_parent(next: u32) -> bool {
        let (mut reader, printed) = std::io::pipe().expect("a pipe");
        let middle = sys::fork_bare();
        if middle == 0 {
            let middle = std::process::id();
            if sys::fork_bare() == 0 {
                leave_parent(middle, next);
                let _ = (&printed).write_all(&[1]);
            }
            sys::exit_now(0);
        }
        drop(printed);
        reap(middle as i32);
        let mut said = Vec::new();
        reader.read_to_end(&mut said).expect("a pipe that ends");
        !said.is_empty()
    }

    #[test]
    fn a_process_that_another_process_than_the_named_one_adopts_ends() {
        adopt_orphans();
        assert!(survives_parent(std::process::id()));
        assert!(!survives_parent(1));
    }

    #[test]
    fn a_pipe_without_a_reader_is_abandoned() {
        let (reader, writer) = std::io::pipe().expect("a pipe");
        assert!(!is_abandoned(writer.as_raw_fd()));
        drop(reader);
        assert!(is_abandoned(writer.as_raw_fd()));
    }

    #[test]
    fn a_thread_that_the_system_does_not_create_is_reported() {
        // No machine has that much room for a stack.
        let refused = start_thread(1 << 60, start, core::ptr::null_mut());
        let why = refused.expect_err("the stack is too large");
        assert!(
            why.starts_with("the system refused to create a thread for the exploration (error ")
        );
        assert!(why.contains("`ulimit -u`"), "{why}");
    }
}
