//! Calls that may load libraries: `dlopen` and `getaddrinfo`.
//!
//! If an execution loads a library, the dynamic linker keeps it after the execution, because the
//! statics of the linker are not in the memory image (the program's memory that is restored after
//! each execution). But the heap, where the linker has allocated memory for the library, is
//! restored. So the linker would crash in the next execution. For this reason, a program that
//! calls `dlopen` while it is explored gets a process for each execution.
//!
//! Whether `getaddrinfo` loads a library depends on the name and on the machine (`nsswitch.conf`).
//! So the first call with given arguments is tried in a child process.

use core::ffi::{CStr, c_char, c_int, c_void};
use core::ops::ControlFlow;

use super::files;
use crate::base::memory::{EngineVec, Place, engine_vec};
use crate::base::{fingerprint, loaded_objects, real, sys};
use crate::execution::{self, active};
use crate::platform::image::image;

/// The place of this state in the engine's memory.
pub(super) const PLACE: Place<Libraries> = Place::after(&files::ELSEWHERE_PLACE);

/// Hashes of the arguments of earlier calls of `getaddrinfo`.
pub(crate) struct Libraries(EngineVec<u64>);

impl Libraries {
    pub(crate) const fn new() -> Self {
        Self(engine_vec())
    }
}

/// libc's `dlopen`.
#[unsafe(no_mangle)]
unsafe extern "C-unwind" fn dlopen(name: *const c_char, flags: c_int) -> *mut c_void {
    // The linker may allocate memory even if the library is loaded already.
    if resets() && !name.is_null() {
        execution::needs_process("dlopen");
    }
    // SAFETY: the caller's arguments are those of `dlopen`.
    unsafe { real::dlopen(name, flags) }
}

/// libc's `getaddrinfo`.
#[unsafe(no_mangle)]
unsafe extern "C-unwind" fn getaddrinfo(
    node: *const c_char,
    service: *const c_char,
    hints: *const c_void,
    result: *mut *mut c_void,
) -> c_int {
    // SAFETY: the caller's arguments are those of `getaddrinfo`. The child's result is lost with
    // it.
    unsafe {
        if resets()
            && !node.is_null()
            && is_new(hash(node, service, hints.cast()))
            && loads(|| _ = real::getaddrinfo(node, service, hints, result))
        {
            execution::needs_process("getaddrinfo");
        }
        real::getaddrinfo(node, service, hints, result)
    }
}

/// Whether the caller is a task, and the memory of the program is restored after the execution.
fn resets() -> bool {
    // SAFETY: no fault handler runs.
    active() && unsafe { (*image()).is_taken() }
}

/// The beginning of the hints of a lookup: its flags, family, type and protocol.
type Hints = [u8; 4 * size_of::<c_int>()];

/// A hash of the arguments of `getaddrinfo`.
///
/// # Safety
/// The arguments are valid for `getaddrinfo`, and `node` is not null.
unsafe fn hash(node: *const c_char, service: *const c_char, hints: *const Hints) -> u64 {
    // SAFETY: the strings end in zeros, and the hints are readable.
    unsafe {
        let mut hash = fingerprint::of(0, CStr::from_ptr(node).to_bytes());
        if !service.is_null() {
            hash = fingerprint::of(hash, CStr::from_ptr(service).to_bytes());
        }
        hints
            .as_ref()
            .map_or(hash, |hints| fingerprint::of(hash, hints))
    }
}

/// Whether no arguments with this hash were tried before. Records the hash.
fn is_new(hash: u64) -> bool {
    // SAFETY: one task runs at a time, and the reference ends before it may switch.
    let known = unsafe { &mut (*PLACE.get()).0 };
    let is_new = !known.contains(&hash);
    if is_new {
        known.push(hash);
    }
    is_new
}

/// Makes `call` in a child process, and returns whether the call loads a library there. Returns
/// `false` if the process cannot fork.
fn loads(call: impl FnOnce()) -> bool {
    let child = sys::fork_silently();
    if child == 0 {
        execution::forget_task();
        // SAFETY: the engine's memory is shared with the parent: the child only reads it.
        unsafe { (*image()).open() };
        let before = loaded();
        call();
        sys::exit_now(c_int::from(loaded() != before));
    }
    child > 0 && sys::reap_silent(child) == 1 << 8
}

/// The number of loaded libraries.
fn loaded() -> usize {
    let mut loaded = 0;
    loaded_objects::visit(|_, _| {
        loaded += 1;
        ControlFlow::Continue(())
    });
    loaded
}
