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
/// The kernel finds the interpreter of a script only within this number of bytes.
const MOST_OF_LINE: usize = 256;
/// The place of the mark in the file actions of a start: the last word of the reserve at the end of
/// the structure (glibc's and musl's), which is zero after the initialization.
const MARK_AT: usize = 76;
const MARK: u32 = 0x6469_7200;

/// A path with a final zero.
type Path = [u8; MOST_OF_PATH];

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
            let is_absolute_only = changes_directory(self.actions);
            let program = CStr::from_ptr(self.program).to_bytes();
            let Some(program) = find(program, is_searched, is_absolute_only) else {
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

/// Marks `actions`, the file actions of a start: they change the child's directory.
///
/// # Safety
/// `actions` points to initialized file actions.
pub(super) unsafe fn mark_change_of_directory(actions: *mut c_void) {
    // SAFETY: the caller's promise. The mark lies within the actions.
    unsafe { actions.byte_add(MARK_AT).cast::<u32>().write(MARK) }
}

/// Whether `actions` has the mark of [`mark_change_of_directory`]. The pointer may be null.
///
/// # Safety
/// If `actions` is not null, it points to initialized file actions.
unsafe fn changes_directory(actions: *const c_void) -> bool {
    // SAFETY: the caller's promise.
    !actions.is_null() && unsafe { actions.byte_add(MARK_AT).cast::<u32>().read() } == MARK
}

/// The path of a program that the kernel can execute, with a final zero. Returns `None` for files
/// that are neither programs of this processor nor scripts for such programs, and for relative
/// paths if `is_absolute_only`: they start from another directory in the child.
fn find(program: &[u8], is_searched: bool, is_absolute_only: bool) -> Option<Path> {
    let usable = |path: &Path| path[0] == b'/' || !is_absolute_only;
    if program.contains(&b'/') || !is_searched {
        let path = path(b"", program).filter(usable)?;
        return (may_execute(&path) && can_start(&path)).then_some(path);
    }
    for directory in environment::search_path().split(|&byte| byte == b':') {
        let path = path(directory, program).filter(usable)?;
        if may_execute(&path) {
            return can_start(&path).then_some(path);
        }
    }
    None
}

/// The path of `name` in `directory`, with a final zero. `None` if it is too long.
fn path(directory: &[u8], name: &[u8]) -> Option<Path> {
    let mut path = [0; MOST_OF_PATH];
    let mut room = &mut path[..MOST_OF_PATH - 1];
    let between: &[u8] = if directory.is_empty() { b"" } else { b"/" };
    for part in [directory, between, name] {
        room.write_all(part).ok()?;
    }
    Some(path)
}

/// Whether the process may execute the file.
fn may_execute(path: &Path) -> bool {
    const EXECUTE: usize = 1;
    const FACCESSAT: usize = 269;
    let at = path.as_ptr().addr();
    // SAFETY: a path that ends in a zero.
    unsafe { sys::syscall(FACCESSAT, [AT_FDCWD, at, EXECUTE, 0, 0, 0]) == 0 }
}

/// Whether the file is a program for this processor, or a script whose interpreter is one.
fn can_start(path: &Path) -> bool {
    let header = header(path);
    match header.strip_prefix(b"#!") {
        Some(line) => {
            let end = |byte: &u8| matches!(byte, b'\n' | b' ' | b'\t' | b'\0');
            let mut words = line.split(end).filter(|word| !word.is_empty());
            let interpreter = words.next().and_then(|word| self::path(b"", word));
            line.contains(&b'\n')
                && interpreter.is_some_and(|it| {
                    it[0] == b'/' && may_execute(&it) && is_program(&self::header(&it))
                })
        }
        None => is_program(&header),
    }
}

/// Whether a file that begins with `header` is a program for this processor.
fn is_program(header: &[u8; MOST_OF_LINE]) -> bool {
    const X86_64: [u8; 2] = [62, 0];
    header.starts_with(b"\x7fELF\x02\x01") && header[18..20] == X86_64
}

/// The first bytes of the file.
fn header(path: &Path) -> [u8; MOST_OF_LINE] {
    const CLOSE_ON_EXEC_NONBLOCKING: usize = 0o2_004_000;
    let mut header = [0u8; MOST_OF_LINE];
    // SAFETY: a path that ends in a zero, and a buffer with the given length.
    unsafe {
        let at = path.as_ptr().addr();
        let arguments = [AT_FDCWD, at, CLOSE_ON_EXEC_NONBLOCKING, 0, 0, 0];
        let file = sys::syscall(number::OPENAT, arguments);
        if file >= 0 {
            let (to, length) = (&raw mut header as usize, header.len());
            sys::syscall(number::READ, [file as usize, to, length, 0, 0, 0]);
            descriptor::close(file as c_int);
        }
    }
    header
}

/// Opens a new file in memory that contains the gate. The child executes the file through its
/// descriptor.
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
