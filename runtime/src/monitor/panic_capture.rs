//! The capture of panics of tasks: a panic hook records their messages and places.

use core::cell::Cell;
use std::io::Write;
use std::panic::PanicHookInfo;

use super::{Monitor, monitors};
use crate::base::memory::engine_vec;
use crate::base::panic_payload::payload_text;
use crate::base::source_path::Place;
use crate::execution::{self, Panic};

/// Whether a hook of the program runs for a panic of this thread's task.
#[thread_local]
static IN_HOOK: Cell<bool> = Cell::new(false);

/// Installs a hook that records panics of tasks and does not print them. Panics of other threads
/// are printed as usual.
pub(crate) fn install_hook() {
    let default = std::panic::take_hook();
    std::panic::set_hook(Box::new(move |info| {
        if execution::checks() {
            // A condition of the test panicked. The caller of the condition handles this result.
        } else if !execution::active() {
            default(info);
        } else if !IN_HOOK.get() {
            remember(info);
            execution::pass_hook();
        }
    }));
}

/// Runs `hook`, which the program has set. A task's panic is recorded only once, even if `hook`
/// calls the hook that was set before `hook`.
pub(crate) fn run_hook(info: &PanicHookInfo<'_>, hook: &dyn Fn(&PanicHookInfo<'_>)) {
    if execution::checks() {
        return;
    }
    if !execution::active() || IN_HOOK.get() {
        return hook(info);
    }
    remember(info);
    IN_HOOK.set(true);
    execution::run_hook(|| hook(info));
    IN_HOOK.set(false);
}

fn remember(info: &PanicHookInfo<'_>) {
    let mut message = engine_vec();
    message.extend_from_slice(payload_text(info.payload()).as_bytes());
    let mut file = engine_vec();
    let location = info.location();
    let written = write!(file, "{}", location.map_or("", |l| l.file()));
    debug_assert!(written.is_ok(), "writing to memory succeeds");
    let place = Place {
        file,
        line: location.map_or(0, std::panic::Location::line),
        column: location.map_or(0, std::panic::Location::column),
    };
    let panic = Panic {
        task: execution::current(),
        message,
        place,
        event: execution::with(|it| it.log.events.len() as u32).unwrap_or(0),
    };
    // SAFETY: the hook runs in a task, and not within a monitor.
    unsafe { (*monitors()).panicked(&panic) };
    execution::note_panic(&panic);
}
