//! Starts a child that stops before its program begins.
//!
//! A signal to stop the child could come too late: the child may run on another processor before
//! `posix_spawn` returns. So the child first executes a small program, the gate, which stops itself
//! and then executes the child's program.

use core::arch::global_asm;
use core::ffi::{CStr, c_char, c_int, c_void};
use core::ptr;
use core::slice;
use std::io::Write as _;

use super::environment;
use crate::base::memory::{EngineVec, engine_vec};
use crate::base::real;
use crate::base::sys::{self, number};
use crate::platform::descriptor;

// The gate's code. Its first argument is the path of the child's program, and the others are the
// arguments of this program. The numbers are those of the system calls `getpid`, `kill` (with
// SIGSTOP), `execve` and `exit`.
global_asm!(
    ".pushsection .rodata",
    "chess_gate_begin:",
    "mov eax, 39",
    "syscall",
    "mov edi, eax",
    "mov esi, 19",
    "mov eax, 62",
    "syscall",
    "mov rcx, [rsp]",
    "mov rdi, [rsp + 8]",
    "lea rsi, [rsp + 16]",
    "lea rdx, [rsp + 8 * rcx + 16]",
    "mov eax, 59",
    "syscall",
    "mov edi, 127",
    "mov eax, 60",
    "syscall",
    "chess_gate_end:",
    ".popsection",
);

unsafe extern "C" {
    static chess_gate_begin: u8;
    static chess_gate_end: u8;
}

const AT_FDCWD: usize = (-100_isize).cast_unsigned();
/// The length of the headers of the gate's file.
const HEADERS: u64 = 64 + 56;
/// The address at which the gate's file is mapped.
const BASE: u64 = 0x40_0000;
/// The longest path of a program.
const MOST_OF_PATH: usize = 4096;

/// The arguments of `posix_spawn`.
#[derive(Clone, Copy)]
pub(super) struct Start {
    pub(super) child: *mut c_int,
    pub(super) program: *const c_char,
    pub(super) actions: *const c_void,
    pub(super) attributes: *const c_void,
    pub(super) arguments: *const *mut c_char,
    pub(super) environment: *const *mut c_char,
}

impl Start {
    /// Starts the child so that it stops itself before its program begins. Returns `false` if this
    /// is not possible: the caller then starts the program itself, which may fail. `is_searched`
    /// states that a name without a slash is searched for in `PATH`.
    ///
    /// # Safety
    /// The arguments are those of `posix_spawn`.
    pub(super) unsafe fn start_stopped(self, is_searched: bool) -> bool {
        // SAFETY: the caller's promise. The new arguments outlive the call.
        unsafe {
            let Some(program) = find(CStr::from_ptr(self.program).to_bytes(), is_searched) else {
                return false;
            };
            let mut arguments: EngineVec<*mut c_char> = engine_vec();
            arguments.push(program.as_ptr().cast_mut().cast());
            let mut next = self.arguments;
            while !(*next).is_null() {
                arguments.push(*next);
                next = next.add(1);
            }
            arguments.push(ptr::null_mut());
            let Some(gate) = open_gate() else {
                return false;
            };
            let path = descriptor::own_path(b"fd/", gate);
            let error = real::posix_spawn(
                self.child,
                path.as_ptr().cast(),
                self.actions,
                self.attributes,
                arguments.as_ptr(),
                self.environment,
            );
            descriptor::close(gate);
            error == 0
        }
    }
}

/// The path of a program that the kernel can execute, with a final zero. Returns `None` for paths
/// that depend on the child's current directory, and for scripts, whose interpreter may be missing.
fn find(program: &[u8], is_searched: bool) -> Option<[u8; MOST_OF_PATH]> {
    if program.contains(&b'/') || !is_searched {
        let path = path(b"", program)?;
        return is_executable(&path).then_some(path);
    }
    for directory in environment::search_path().split(|&byte| byte == b':') {
        let path = path(directory, program)?;
        // SAFETY: a path that ends in a zero.
        let is_allowed = unsafe {
            const EXECUTE: usize = 1;
            const FACCESSAT: usize = 269;
            let at = path.as_ptr().addr();
            sys::syscall(FACCESSAT, [AT_FDCWD, at, EXECUTE, 0, 0, 0]) == 0
        };
        if is_allowed {
            return is_executable(&path).then_some(path);
        }
    }
    None
}

/// The absolute path of `name` in `directory`, with a final zero.
fn path(directory: &[u8], name: &[u8]) -> Option<[u8; MOST_OF_PATH]> {
    let mut path = [0; MOST_OF_PATH];
    let mut room = &mut path[..MOST_OF_PATH - 1];
    let between: &[u8] = if directory.is_empty() { b"" } else { b"/" };
    for part in [directory, between, name] {
        room.write_all(part).ok()?;
    }
    (path[0] == b'/').then_some(path)
}

/// Whether the file is a program for this processor that the process may execute.
fn is_executable(path: &[u8; MOST_OF_PATH]) -> bool {
    const EXECUTE: usize = 1;
    const FACCESSAT: usize = 269;
    const CLOSE_ON_EXEC_NONBLOCKING: usize = 0o2_004_000;
    const X86_64: [u8; 2] = [62, 0];
    let at = path.as_ptr().addr();
    let mut header = [0u8; 20];
    // SAFETY: a path that ends in a zero, and a buffer with the given length.
    unsafe {
        if sys::syscall(FACCESSAT, [AT_FDCWD, at, EXECUTE, 0, 0, 0]) != 0 {
            return false;
        }
        let arguments = [AT_FDCWD, at, CLOSE_ON_EXEC_NONBLOCKING, 0, 0, 0];
        let file = sys::syscall(number::OPENAT, arguments);
        if file < 0 {
            return false;
        }
        let (to, length) = (&raw mut header as usize, header.len());
        sys::syscall(number::READ, [file as usize, to, length, 0, 0, 0]);
        descriptor::close(file as c_int);
    }
    header.starts_with(b"\x7fELF\x02\x01") && header[18..] == X86_64
}

/// Opens a new file in memory that contains the gate. The program executes it by its descriptor.
fn open_gate() -> Option<c_int> {
    const MEMFD_CREATE: usize = 319;
    const CLOSE_ON_EXEC: usize = 1;
    // SAFETY: the labels enclose the gate's code.
    let code = unsafe {
        let (begin, end) = (&raw const chess_gate_begin, &raw const chess_gate_end);
        slice::from_raw_parts(begin, end.addr() - begin.addr())
    };
    let mut file: EngineVec<u8> = engine_vec();
    // The header of an ELF file for x86-64: see elf(5).
    file.extend(*b"\x7fELF\x02\x01\x01\0\0\0\0\0\0\0\0\0\x02\0\x3e\0\x01\0\0\0");
    file.extend((BASE + HEADERS).to_le_bytes());
    file.extend(64u64.to_le_bytes());
    file.extend([0; 12]);
    file.extend(*b"\x40\0\x38\0\x01\0\0\0\0\0\0\0");
    // The program header: the whole file is loaded, and may be read and executed.
    file.extend(*b"\x01\0\0\0\x05\0\0\0");
    let length = HEADERS + code.len() as u64;
    for field in [0, BASE, BASE, length, length, 0x1000] {
        file.extend(field.to_le_bytes());
    }
    file.extend(code.iter().copied());
    let name = c"gate".as_ptr() as usize;
    // SAFETY: the name ends in a zero, and the file's bytes are readable.
    unsafe {
        let gate = sys::syscall(MEMFD_CREATE, [name, CLOSE_ON_EXEC, 0, 0, 0, 0]);
        if gate < 0 {
            return None;
        }
        let gate = descriptor::move_up(gate as c_int);
        let (at, length) = (file.as_ptr() as usize, file.len());
        sys::syscall(number::WRITE, [gate as usize, at, length, 0, 0, 0]);
        Some(gate)
    }
}
