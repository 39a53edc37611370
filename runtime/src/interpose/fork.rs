//! `fork`: the child is not under control.

use core::ffi::c_int;

use chess_vocabulary::Fault;

use super::{failing, files, outside_signals};
use crate::base::{real, sys};
use crate::execution;
use crate::platform::image::image;

/// libc's `fork`. The child of a task is an ordinary process: it continues on its copy
/// of the task's stack, and is not under control.
#[unsafe(no_mangle)]
unsafe extern "C" fn fork() -> c_int {
    if let Some(error) = failing::fails(Fault::Process) {
        return sys::libc_result(error) as c_int;
    }
    if execution::active() {
        files::others_write();
        outside_signals::child_starts();
    }
    // SAFETY: `fork` as the caller asked for it.
    let child = unsafe { real::fork() };
    if child == 0 && execution::active() {
        execution::forget_task();
        // SAFETY: the engine's memory is shared with the parent: the child only reads it.
        unsafe { (*image()).open() };
        // The engine lets the child continue.
        sys::stop_own_process();
    } else if child > 0 {
        execution::add_child(child, execution::active());
    }
    child
}
