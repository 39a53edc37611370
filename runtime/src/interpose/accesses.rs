//! The hooks before the accesses of instrumented code to plain memory.
//!
//! The tests' crates and their dependencies are compiled with LLVM's `ThreadSanitizer` pass
//! (`cargo-chess/src/wrapper/instrument_accesses.rs`), which calls a hook before each load and
//! store, and a function in place of `memcpy`, `memmove` and `memset`. The pass does not announce
//! the reads of comparisons and searches. So functions such as `memcmp` and `strlen` are defined
//! here, too. The hook's return address identifies the access. If the access is in code of the
//! standard library, the frame pointer leads to the callers of this code.
//!
//! The same pass of a C compiler (`-fsanitize=thread`) calls these hooks and some more, if the user
//! compiles C code with it. `shim/sync/atomic/of_c.rs` has the hooks for atomics of C code.

use core::ffi::{c_char, c_int, c_void};

use chess_vocabulary::OutsideEffect;

use crate::base::{memory, real};
use crate::execution;
use crate::monitor::race;
use crate::platform::places;

/// A call of a hook, or of a function that replaces a function of C, by instrumented code.
#[derive(Clone, Copy)]
struct Caller {
    /// The address to which the call returns. It identifies the access.
    address: usize,
    /// The caller's frame pointer.
    frame: usize,
}

/// Reports to the race detector an access that instrumented code is about to make. A hook calls
/// this function if a quick check has not shown that the report is unnecessary. `access` is twice
/// the length of the access in bytes, plus one if it writes. The other arguments are those of a
/// hook, in the same registers, so that a hook can end with a jump to this function and saves no
/// registers.
#[inline(never)]
extern "C" fn announce(address: usize, caller: usize, frame: usize, access: usize) {
    let (length, is_write) = (access >> 1, access & 1 == 1);
    // The runtime itself makes announced accesses to the engine's memory: it uses generics of std,
    // and some of these are compiled with the user's crates.
    if !race::is_watched() || memory::contains(address) {
        return;
    }
    let known = || places::of_known_call(caller);
    if race::is_settled_after_count(address, length, is_write, known)
        || race::is_private(address, length)
    {
        return;
    }
    let Some(place) = places::of_call(caller) else {
        return note_unknown();
    };
    if place.is_ignored() {
        return;
    }
    if !place.is_of_library() {
        let site = places::of_program_call(caller, place);
        race::report_access(address, length, (is_write, false), (site, true));
    } else if let Some(site) = places::outside_library(place, frame, race::stack_end()) {
        race::report_access_of_library(address, length, is_write, site);
    }
}

/// Records for the report that the program has made an access whose place in the source is
/// unknown.
#[cold]
#[inline(never)]
fn note_unknown() {
    execution::note_outside(if places::are_unloaded() {
        OutsideEffect::OwnAllocator
    } else {
        OutsideEffect::UnknownCode
    });
}

/// Defines the entry of a hook, the function `$name`. The entry passes its return address and the
/// caller's frame pointer to `$inner`, in the registers `$address` and `$frame`. The entry is a
/// function of Rust, so that rustc exports it if the runtime is in a dynamic library of the
/// program.
macro_rules! entry {
    ($name:ident, $inner:path, $address:literal, $frame:literal) => {
        #[unsafe(no_mangle)]
        #[unsafe(naked)]
        unsafe extern "C" fn $name() {
            core::arch::naked_asm!(
                concat!("mov ", $address, ", [rsp]"),
                concat!("mov ", $frame, ", rbp"),
                "jmp {inner}",
                inner = sym $inner,
            )
        }
    };
}
pub(crate) use entry;

macro_rules! hooks {
    ($($name:ident, $inner:ident, $length:literal, $is_write:literal;)*) => {
        $(
            extern "C" fn $inner(address: usize, caller: usize, frame: usize) {
                let site = || places::of_known_call(caller);
                if !race::is_settled(address, $length, $is_write, site) {
                    announce(address, caller, frame, $length << 1 | usize::from($is_write));
                }
            }

            entry!($name, $inner, "rsi", "rdx");
        )*
    };
}

hooks! {
    __tsan_read1, read1, 1, false;
    __tsan_read2, read2, 2, false;
    __tsan_read4, read4, 4, false;
    __tsan_read8, read8, 8, false;
    __tsan_read16, read16, 16, false;
    __tsan_write1, write1, 1, true;
    __tsan_write2, write2, 2, true;
    __tsan_write4, write4, 4, true;
    __tsan_write8, write8, 8, true;
    __tsan_write16, write16, 16, true;
    __tsan_unaligned_read2, unaligned_read2, 2, false;
    __tsan_unaligned_read4, unaligned_read4, 4, false;
    __tsan_unaligned_read8, unaligned_read8, 8, false;
    __tsan_unaligned_read16, unaligned_read16, 16, false;
    __tsan_unaligned_write2, unaligned_write2, 2, true;
    __tsan_unaligned_write4, unaligned_write4, 4, true;
    __tsan_unaligned_write8, unaligned_write8, 8, true;
    __tsan_unaligned_write16, unaligned_write16, 16, true;
    __tsan_vptr_read, read_of_vtable, 8, false;
    __tsan_vptr_update, write_of_vtable, 8, true;
}

/// Defines functions with three arguments, which replace functions of C.
macro_rules! functions {
    ($($name:ident, $inner:ident;)*) => {
        $(entry!($name, $inner, "rcx", "r8");)*
    };
}

functions! {
    __tsan_memcpy, copy;
    __tsan_memmove, copy;
    __tsan_memset, fill;
    memcmp, compare;
    bcmp, compare;
    memchr, find_first;
    memrchr, find_last;
}

entry!(strlen, length_of_text, "rsi", "rdx");
entry!(__tsan_read_range, read_range, "rdx", "rcx");
entry!(__tsan_write_range, write_range, "rdx", "rcx");

// A constructor of each instrumented object file calls this.
#[unsafe(no_mangle)]
extern "C" fn __tsan_init() {}

// The functions of instrumented C code call these when they begin and end.
#[unsafe(no_mangle)]
extern "C" fn __tsan_func_entry(_caller: usize) {}

#[unsafe(no_mangle)]
extern "C" fn __tsan_func_exit() {}

extern "C" fn read_range(start: usize, size: usize, address: usize, frame: usize) {
    announce_range(start, size, false, Caller { address, frame });
}

extern "C" fn write_range(start: usize, size: usize, address: usize, frame: usize) {
    announce_range(start, size, true, Caller { address, frame });
}

unsafe extern "C" fn copy(
    to: *mut u8,
    from: *const u8,
    size: usize,
    address: usize,
    frame: usize,
) -> *mut u8 {
    let caller = Caller { address, frame };
    announce_range(from.addr(), size, false, caller);
    announce_range(to.addr(), size, true, caller);
    // SAFETY: the caller calls `memcpy` or `memmove`.
    unsafe { core::ptr::copy(from, to, size) };
    to
}

unsafe extern "C" fn fill(
    to: *mut u8,
    byte: i32,
    size: usize,
    address: usize,
    frame: usize,
) -> *mut u8 {
    announce_range(to.addr(), size, true, Caller { address, frame });
    // SAFETY: the caller calls `memset`.
    unsafe { core::ptr::write_bytes(to, byte as u8, size) };
    to
}

unsafe extern "C" fn compare(
    left: *const u8,
    right: *const u8,
    size: usize,
    address: usize,
    frame: usize,
) -> i32 {
    if let Some(caller) = instrumented(address, frame) {
        announce_range(left.addr(), size, false, caller);
        announce_range(right.addr(), size, false, caller);
    }
    // SAFETY: the caller calls `memcmp`.
    unsafe { real::memcmp(left.cast(), right.cast(), size) }
}

/// The type of `memchr` and `memrchr`.
type Search = unsafe fn(*const c_void, c_int, usize) -> *mut c_void;

unsafe extern "C" fn find_first(
    bytes: *const c_void,
    byte: c_int,
    size: usize,
    address: usize,
    frame: usize,
) -> *mut c_void {
    let read = |found| (bytes.addr(), found + 1);
    // SAFETY: the caller calls `memchr`.
    unsafe { search(real::memchr, (bytes, byte, size), read, (address, frame)) }
}

unsafe extern "C" fn find_last(
    bytes: *const c_void,
    byte: c_int,
    size: usize,
    address: usize,
    frame: usize,
) -> *mut c_void {
    let read = |found| (bytes.addr() + found, size - found);
    // SAFETY: the caller calls `memrchr`.
    unsafe { search(real::memrchr, (bytes, byte, size), read, (address, frame)) }
}

/// Announces the bytes that `function` (`memchr` or `memrchr`) will read, and calls `function`.
/// `read` returns the address and the number of these bytes for the index at which `function` finds
/// `byte`. If `function` does not find `byte`, it reads all `size` bytes.
unsafe fn search(
    function: Search,
    (bytes, byte, size): (*const c_void, c_int, usize),
    read: impl Fn(usize) -> (usize, usize),
    (address, frame): (usize, usize),
) -> *mut c_void {
    // SAFETY: the caller's promise.
    let find = || unsafe { function(bytes, byte, size) };
    if let Some(caller) = instrumented(address, frame) {
        announce_read(caller, || {
            let found = find();
            if found.is_null() {
                (bytes.addr(), size)
            } else {
                read(found.addr() - bytes.addr())
            }
        });
    }
    find()
}

unsafe extern "C" fn length_of_text(text: *const c_char, address: usize, frame: usize) -> usize {
    // SAFETY: the caller calls `strlen`.
    let length = || unsafe { real::strlen(text) };
    if let Some(caller) = instrumented(address, frame) {
        announce_read(caller, || (text.addr(), length() + 1));
    }
    length()
}

/// Announces the bytes that a function is about to read. `bytes` returns their address and number,
/// which depend on the contents of memory. An announcement may be a scheduling point, at which
/// other tasks change the memory. So the bytes are determined again after it, and announced again
/// if they differ.
fn announce_read(caller: Caller, bytes: impl Fn() -> (usize, usize)) {
    let mut announced = None;
    loop {
        let (address, length) = bytes();
        if announced == Some((address, length)) {
            return;
        }
        announce_range(address, length, false, caller);
        announced = Some((address, length));
    }
}

/// Returns the caller of a C function that reads memory. Returns `None` if accesses are not
/// watched, or if the caller is not instrumented code.
fn instrumented(address: usize, frame: usize) -> Option<Caller> {
    let is_seen = race::is_watched() && places::of_call(address).is_some();
    is_seen.then_some(Caller { address, frame })
}

#[inline]
fn announce_range(address: usize, length: usize, is_write: bool, caller: Caller) {
    let site = || places::of_known_call(caller.address);
    if length != 0 && !race::is_range_settled(address, length, is_write, site) {
        let access = length << 1 | usize::from(is_write);
        announce(address, caller.address, caller.frame, access);
    }
}
