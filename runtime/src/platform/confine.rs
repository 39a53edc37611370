//! Confines a process to its own memory: after that, the kernel ends the process if it makes a
//! system call that is not in [`ALLOWED`].

use crate::base::sys::{self, number};

/// An instruction of the kernel's filter machine.
#[repr(C)]
struct Instruction {
    code: u16,
    if_true: u8,
    if_false: u8,
    value: u32,
}

#[repr(C)]
struct Program {
    length: u16,
    instructions: *const Instruction,
}

/// The system calls that neither change nor read anything outside the process.
const ALLOWED: [usize; 17] = [
    number::MMAP,
    number::MPROTECT,
    number::MUNMAP,
    number::BRK,
    number::MREMAP,
    number::MADVISE,
    number::RT_SIGPROCMASK,
    number::RT_SIGRETURN,
    number::SIGALTSTACK,
    number::SCHED_YIELD,
    number::SCHED_GETAFFINITY,
    number::GETPID,
    number::GETTID,
    number::FUTEX,
    number::CLOCK_GETTIME,
    number::GETRANDOM,
    number::EXIT_GROUP,
];

/// Confines this process to its own memory: from now on the kernel ends it if it makes a system
/// call that is not in [`ALLOWED`]. Returns whether the kernel agreed.
pub(crate) fn to_memory() -> bool {
    const LOAD_WORD: u16 = 0x20;
    const JUMP_IF_EQUAL: u16 = 0x15;
    const RETURN: u16 = 0x06;
    const ALLOW: u32 = 0x7fff_0000;
    const KILL_PROCESS: u32 = 0x8000_0000;
    const PR_SET_SECCOMP: usize = 22;
    const PR_SET_NO_NEW_PRIVS: usize = 38;
    const FILTER: usize = 2;
    const LENGTH: usize = ALLOWED.len() + 3;
    let plain = |code, value| Instruction {
        code,
        if_true: 0,
        if_false: 0,
        value,
    };
    let program: [Instruction; LENGTH] = core::array::from_fn(|at| match at {
        // The number of the system call is the first word of the filtered data.
        0 => plain(LOAD_WORD, 0),
        at if at <= ALLOWED.len() => Instruction {
            // Jumps over the other comparisons and the refusal.
            if_true: (LENGTH - 2 - at) as u8,
            ..plain(JUMP_IF_EQUAL, ALLOWED[at - 1] as u32)
        },
        at if at == LENGTH - 2 => plain(RETURN, KILL_PROCESS),
        _ => plain(RETURN, ALLOW),
    });
    let program = Program {
        length: LENGTH as u16,
        instructions: program.as_ptr(),
    };
    let at = &raw const program as usize;
    // SAFETY: the program is readable while the call lasts.
    unsafe {
        sys::syscall(number::PRCTL, [PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0, 0]) == 0
            && sys::syscall(number::PRCTL, [PR_SET_SECCOMP, FILTER, at, 0, 0, 0]) == 0
    }
}
