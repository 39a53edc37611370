//! `dup2` and `dup3`, which make a descriptor refer to another file.

use core::ffi::c_int;

use super::{connection, files, process_attributes};
use crate::base::sys::{self, number};
use crate::execution::{
    self, Effect, active, descriptor_ends, descriptor_object, ended_descriptor, state_of,
};
use crate::platform::descriptor::{self, Kind};
use crate::platform::leftovers::first_descriptor;

/// libc's `dup2`.
#[unsafe(no_mangle)]
pub(super) unsafe extern "C" fn dup2(descriptor: c_int, copy: c_int) -> c_int {
    let arguments = [descriptor as usize, copy as usize, 0, 0, 0, 0];
    // SAFETY: no memory is passed.
    let act = || unsafe { sys::syscall(number::DUP2, arguments) };
    replace(descriptor, copy, act)
}

/// libc's `dup3`.
#[unsafe(no_mangle)]
pub(super) unsafe extern "C" fn dup3(descriptor: c_int, copy: c_int, flags: c_int) -> c_int {
    let arguments = [descriptor as usize, copy as usize, flags as usize, 0, 0, 0];
    // SAFETY: no memory is passed.
    let act = || unsafe { sys::syscall(number::DUP3, arguments) };
    replace(descriptor, copy, act)
}

/// Makes `copy` a duplicate of `descriptor` by `act`. Returns the result as libc's functions do.
fn replace(descriptor: c_int, copy: c_int, act: impl FnOnce() -> isize) -> c_int {
    if !active() || descriptor == copy {
        return sys::libc_result(act()) as c_int;
    }
    process_attributes::replaces(copy);
    let result = if copy < first_descriptor() {
        act()
    } else {
        close_and_replace(descriptor, copy, act)
    };
    sys::libc_result(files::duplicated(descriptor, result)) as c_int
}

/// Does the same as [`replace`] for a task. The file of `copy` is closed, if `copy` is open.
/// Returns the result of `act`.
fn close_and_replace(descriptor: c_int, copy: c_int, act: impl FnOnce() -> isize) -> isize {
    let mut result = 0;
    let mut earlier = None;
    let replace = || {
        earlier = ended_descriptor(copy, true);
        result = act();
        if descriptor >= first_descriptor() {
            let source = descriptor_object(descriptor, descriptor::look(descriptor));
            execution::files::uses_descriptor(state_of(source), Effect::Read);
            execution::uses_number(descriptor);
        }
        result
    };
    let identity = descriptor::look(copy);
    if matches!(identity.kind, Kind::Pipe | Kind::Socket) {
        connection::end(copy, identity, replace);
    } else {
        files::close(copy, identity, replace);
    }
    if let Some(object) = ended_descriptor(copy, true)
        && result >= 0
    {
        if earlier == Some(object) {
            // `copy` was closed, so the call has written no object yet.
            execution::files::uses_descriptor(object, Effect::Write);
        }
        descriptor_ends(copy, object, true);
    }
    result
}
