//! The hooks before the accesses of instrumented code to plain memory.
//!
//! The tests' crates and their dependencies are compiled with LLVM's `ThreadSanitizer` pass
//! (`cargo-chess/src/wrapper/instrument.rs`), which calls a hook before each load and store, and a
//! function in place of `memcpy`, `memmove` and `memset`. It announces no comparison, so that
//! `memcmp` and `bcmp` are defined here, too. The hook's return address identifies the
//! access. The frame pointer leads to the callers, if the access is in code of the library.

use core::arch::naked_asm;

use crate::base::{memory, real};
use crate::execution;
use crate::monitor::race;
use crate::platform::places::{self, Place};

/// The sentence on a test with accesses that are in no table.
const UNKNOWN: &str = "accessed memory in code without known source lines, such as that of a dynamic \
     library: this was not watched for races";

/// The sentence on a test whose accesses are ignored.
const FOREIGN_HEAP: &str = "has a global allocator of its own: its accesses to memory were not \
     watched for races";

/// The call of a hook.
#[derive(Clone, Copy)]
struct Caller {
    /// The address to which the hook returns.
    address: usize,
    /// The caller's frame pointer.
    frame: usize,
}

/// Reports an access that the caller is about to make.
#[inline(always)]
#[expect(
    clippy::inline_always,
    reason = "each hook knows the length and the kind of its accesses"
)]
fn announce(address: usize, length: usize, is_write: bool, caller: Caller) {
    if !race::is_watched() || race::is_private(address, length) {
        return;
    }
    let Some(place) = places::of_call(caller.address) else {
        return note_unknown(address);
    };
    if place.is_ignored() {
        return;
    }
    if place.is_of_library() {
        if !race::is_repeated(address, length, is_write) {
            report_of_library(address, length, is_write, place, caller.frame);
        }
    } else if !race::is_noted(address, length, (is_write, false), (place.site(), true)) {
        report(address, length, is_write, place);
    }
}

#[inline(never)]
fn report(address: usize, length: usize, is_write: bool, place: Place) {
    if !memory::contains(address) {
        race::report_access(address, length, (is_write, false), (place.site(), true));
    }
}

/// Reports an access in code of the library, whose function has the frame pointer `frame`.
#[inline(never)]
fn report_of_library(address: usize, length: usize, is_write: bool, place: Place, frame: usize) {
    // Generics of the runtime use generics of std, which are compiled with the user's crates.
    if memory::contains(address) {
        return;
    }
    if let Some(site) = places::outside_library(place, frame, race::stack_end()) {
        race::report_access_of_library(address, length, is_write, site);
    }
}

/// Records that an access is in no table.
#[cold]
#[inline(never)]
fn note_unknown(address: usize) {
    if memory::contains(address) {
        return;
    }
    execution::note_outside(if places::are_unloaded() {
        FOREIGN_HEAP
    } else {
        UNKNOWN
    });
}

/// The entry of a hook, which passes the caller to `$inner` in two more registers. The entry is a
/// function of Rust, so that rustc exports it from a dynamic library of the program that contains
/// the runtime.
macro_rules! entry {
    ($name:ident, $inner:ident, $address:literal, $frame:literal) => {
        #[unsafe(no_mangle)]
        #[unsafe(naked)]
        unsafe extern "C" fn $name() {
            naked_asm!(
                concat!("mov ", $address, ", [rsp]"),
                concat!("mov ", $frame, ", rbp"),
                "jmp {inner}",
                inner = sym $inner,
            )
        }
    };
}

macro_rules! hooks {
    ($($name:ident, $inner:ident, $length:literal, $is_write:literal;)*) => {
        $(
            extern "C" fn $inner(address: usize, caller: usize, frame: usize) {
                announce(address, $length, $is_write, Caller { address: caller, frame });
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
}

/// Functions that are called in place of those of C, with three arguments.
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
}

// Each object calls it from a constructor.
#[unsafe(no_mangle)]
extern "C" fn __tsan_init() {}

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
    let caller = Caller { address, frame };
    // Most calls come from code that is not instrumented.
    if race::is_watched() && places::of_call(address).is_some() {
        announce_range(left.addr(), size, false, caller);
        announce_range(right.addr(), size, false, caller);
    }
    // SAFETY: the caller calls `memcmp`.
    unsafe { real::memcmp(left.cast(), right.cast(), size) }
}

fn announce_range(address: usize, size: usize, is_write: bool, caller: Caller) {
    if size != 0 {
        announce(address, size, is_write, caller);
    }
}
