//! The start of a child process: it uses the environment variables, the current directory and the
//! program's file, so it conflicts with changes of these.

use core::cell::Cell;
use core::ffi::{CStr, c_char};

use super::directories::current_directory;
use super::{AT_FDCWD, Call, path};
use crate::execution::{self, Effect, Op, files};
use crate::interpose::environment;

/// The number of steps of the execution when this thread reached the scheduling point of a start
/// that it has not made yet.
#[thread_local]
static REACHED_AT: Cell<Option<u64>> = Cell::new(None);

fn steps() -> Option<u64> {
    execution::with(|it| it.budget.steps)
}

/// Reaches the scheduling point of the start of a child before the start itself. std starts a child
/// while it holds its lock of the environment variables. At a scheduling point there, other tasks
/// could not change a variable.
pub(in super::super) fn reach_child_start() {
    files::arrive(Op::StartChild, current_directory());
    REACHED_AT.set(steps());
}

/// Starts a child by `act`, for a task. Reaches the scheduling point of the start, unless the task
/// has just reached it by [`reach_child_start`]. `program` is the path of the program's file; if it
/// has no slash, it is the name of a file that is searched for.
///
/// # Safety
/// The program's path ends in a zero.
pub(in super::super) unsafe fn start_child<R>(
    program: *const c_char,
    act: impl FnOnce() -> R,
) -> R {
    let find = |touches: &mut super::Touches| {
        for (object, effect) in environment::inherited() {
            touches.add(object, effect);
        }
        // SAFETY: the caller's promise.
        unsafe {
            if CStr::from_ptr(program).to_bytes().contains(&b'/') {
                let _ = path::find(AT_FDCWD, program, true, touches);
            }
        }
        touches.is_about(current_directory(), Effect::Read);
        Some(())
    };
    let reached = REACHED_AT.take();
    let (call, _) = if reached.is_some() && reached == steps() {
        Call::begin_at_once(Op::StartChild, find)
    } else {
        Call::begin(Op::StartChild, find)
    };
    let result = act();
    call.end(0);
    result
}
