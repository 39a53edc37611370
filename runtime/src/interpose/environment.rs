//! Environment variables: `getenv`, `setenv` and similar functions.
//!
//! For a use of `std::env` by user code, [`crate::shim::env`] records one operation. During the
//! call of std, this module records nothing. This module records the uses by C code, and by code
//! that is not redirected to the shims. std protects the environment with a lock of its own. The
//! scheduler need not see this lock, because std acquires and releases it within one step.

use core::cell::Cell;
use core::ffi::{CStr, c_char, c_int};

use crate::base::fingerprint::mix;
use crate::base::real;
use crate::execution::{Effect, Named, Op, active, files, named};

/// Whether the calling thread is in a call that is recorded as one operation.
#[thread_local]
static IS_RECORDED: Cell<bool> = Cell::new(false);

/// The variables that std reads for its own purposes. Calls of `getenv` for them are not recorded.
const OF_STD: [&[u8]; 3] = [b"RUST_BACKTRACE", b"RUST_LIB_BACKTRACE", b"RUST_MIN_STACK"];

/// The variables that a call uses, and the kind of use.
#[derive(Clone, Copy)]
pub(crate) enum Use<'a> {
    /// The call reads a variable.
    Read(&'a [u8]),
    /// The call reads all variables.
    ReadAll,
    /// The call sets or removes a variable.
    Write(&'a [u8]),
    /// The call may change all variables.
    WriteAll,
}

/// The number of the object that stands for all variables. A single variable has the hash of its
/// name as its number.
const ALL: u64 = 16;

fn variable(name: &[u8]) -> usize {
    let hash = |hash, &byte: &u8| mix(hash, u64::from(byte) | 1 << 9);
    named(Named::Environment, name.iter().fold(ALL, hash))
}

/// The objects that a task uses when it starts a child process, which inherits all variables.
pub(super) fn inherited() -> [(usize, Effect); 2] {
    Use::ReadAll.touches()
}

impl Use<'_> {
    fn op(self) -> Op {
        match self {
            Self::Read(_) | Self::ReadAll => Op::EnvironmentRead,
            Self::Write(_) | Self::WriteAll => Op::EnvironmentWrite,
        }
    }

    fn touches(self) -> [(usize, Effect); 2] {
        let all = named(Named::Environment, ALL);
        // Two uses conflict if they touch a common object and one of them changes this object. A
        // use that may change all variables conflicts with reads through `everything`, and with
        // writes through `all`.
        match self {
            Self::Read(name) => [(variable(name), Effect::Read), (everything(), Effect::Read)],
            Self::ReadAll => [(all, Effect::Read), (everything(), Effect::Read)],
            Self::Write(name) => [(variable(name), Effect::Write), (all, Effect::Update)],
            Self::WriteAll => [(all, Effect::Write), (everything(), Effect::Write)],
        }
    }
}

/// The object that each use of the environment touches, except for a change of one variable. Only
/// a use that may change all variables writes this object.
fn everything() -> usize {
    named(Named::Environment, ALL << 1)
}

/// Performs a use of the environment by `act`. If the caller is a task, records the use as one
/// operation, and records no operation within `act`.
pub(crate) fn announced<R>(how: Use<'_>, act: impl FnOnce() -> R) -> R {
    if IS_RECORDED.get() || !active() {
        return act();
    }
    let touches = how.touches();
    files::arrive(how.op(), touches[0].0);
    let announced = Announced::begin();
    let result = act();
    drop(announced);
    files::used(how.op(), &touches);
    result
}

/// Marks the calling thread as within a call that is recorded as one operation, until this value
/// is dropped.
struct Announced;

impl Announced {
    fn begin() -> Self {
        IS_RECORDED.set(true);
        Self
    }
}

impl Drop for Announced {
    fn drop(&mut self) {
        IS_RECORDED.set(false);
    }
}

/// Moves the environment from the stack of the initial thread to the heap. Call it before the image
/// of the program is taken. libc changes the initial variables in place, and the image restores
/// the heap but no stack. So without this, a later execution would find the changes of an earlier
/// one.
pub(crate) fn move_to_heap() {
    unsafe extern "C" {
        static mut environ: *mut *mut c_char;
    }
    // SAFETY: no other thread runs. The variable is null or points to an array that ends in null,
    // of texts that end in a zero. The new array and its texts are never freed.
    unsafe {
        if environ.is_null() {
            return;
        }
        let mut entries = Vec::new();
        let mut at = environ;
        while !(*at).is_null() {
            entries.push(CStr::from_ptr(*at).to_owned().into_raw());
            at = at.add(1);
        }
        entries.push(core::ptr::null_mut());
        environ = entries.leak().as_mut_ptr();
    }
}

unsafe fn bytes<'a>(name: *const c_char) -> &'a [u8] {
    if name.is_null() {
        return b"";
    }
    // SAFETY: the caller's name ends in a zero.
    unsafe { CStr::from_ptr(name) }.to_bytes()
}

/// The directories in which programs are searched for, separated by colons.
pub(super) fn search_path() -> &'static [u8] {
    // SAFETY: the name ends in a zero. libc keeps the text until the variable changes, and the
    // caller uses it at once.
    unsafe {
        let directories = real::getenv(c"PATH".as_ptr());
        if directories.is_null() {
            // libc's default.
            return b"/bin:/usr/bin";
        }
        bytes(directories)
    }
}

/// libc's `getenv`.
#[unsafe(no_mangle)]
unsafe extern "C" fn getenv(name: *const c_char) -> *mut c_char {
    // SAFETY: the caller's name ends in a zero.
    unsafe {
        let get = || real::getenv(name);
        if !active() || OF_STD.contains(&bytes(name)) {
            return get();
        }
        announced(Use::Read(bytes(name)), get)
    }
}

/// libc's `setenv`.
#[unsafe(no_mangle)]
unsafe extern "C" fn setenv(name: *const c_char, value: *const c_char, replaces: c_int) -> c_int {
    // SAFETY: the caller's arguments are those of the real function.
    unsafe {
        let set = || real::setenv(name, value, replaces);
        if !active() {
            return set();
        }
        announced(Use::Write(bytes(name)), set)
    }
}

/// libc's `unsetenv`.
#[unsafe(no_mangle)]
unsafe extern "C" fn unsetenv(name: *const c_char) -> c_int {
    // SAFETY: the caller's name ends in a zero.
    unsafe {
        let unset = || real::unsetenv(name);
        if !active() {
            return unset();
        }
        announced(Use::Write(bytes(name)), unset)
    }
}

/// libc's `putenv`.
#[unsafe(no_mangle)]
unsafe extern "C" fn putenv(text: *mut c_char) -> c_int {
    // SAFETY: the caller's text ends in a zero.
    let put = || unsafe { real::putenv(text) };
    if !active() {
        return put();
    }
    announced(Use::WriteAll, put)
}

/// libc's `clearenv`.
#[unsafe(no_mangle)]
unsafe extern "C" fn clearenv() -> c_int {
    // SAFETY: the function has no arguments.
    let clear = || unsafe { real::clearenv() };
    if !active() {
        return clear();
    }
    announced(Use::WriteAll, clear)
}
