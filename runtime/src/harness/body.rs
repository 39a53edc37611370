//! The test's body as the first task of an execution.

use std::io::Write;
use std::panic::{AssertUnwindSafe, catch_unwind};

use super::Test;
use crate::base::memory::engine_vec;
use crate::base::panic_message::payload_text;
use crate::engine::engine;
use crate::execution;
use crate::monitor::{BodyOutcome, race};

/// Runs a test's function; `data` points to a [`Test`].
///
/// # Safety
/// Only as a task's entry, with a live [`Test`].
pub(super) unsafe fn run(data: *mut ()) {
    // SAFETY: the caller's promise.
    let test = unsafe { &*data.cast::<Test>() };
    if let Some(execution) = execution::running() {
        // SAFETY: see `running`. As libtest does, the thread bears the test's name.
        unsafe {
            (*execution)
                .task_mut(execution::current())
                .name
                .extend_from_slice(test.name.as_bytes());
        };
    }
    let result = catch_unwind(AssertUnwindSafe(test.run));
    let outcome = match result {
        Ok(Ok(())) => BodyOutcome::Passed,
        Ok(Err(message)) => {
            let mut bytes = engine_vec();
            bytes.extend_from_slice(message.as_bytes());
            BodyOutcome::Failed(bytes)
        }
        Err(payload) => {
            let mut said = engine_vec();
            said.extend_from_slice(payload_text(&*payload).as_bytes());
            // Dropping it may run the program's code, and may panic in turn.
            let _ = catch_unwind(AssertUnwindSafe(move || drop(payload)));
            BodyOutcome::Panicked(said)
        }
    };
    let Some(execution) = execution::running() else {
        return;
    };
    // SAFETY: see `running`.
    unsafe {
        if (*execution).keeps_output {
            // A line without an end is still in std's buffer. To empty it is the harness'
            // doing, and orders nothing.
            let paused = race::pause();
            let _ = std::io::stdout().flush();
            race::go_on(&paused);
        }
        (*engine()).exploration.body = outcome;
    }
}

/// A task that uses what std sets up on first use, so that all of it is in place
/// when the image is taken.
pub(super) unsafe fn warm_up(_: *mut ()) {
    println!("{:?}", std::thread::current().id());
    let thread = std::thread::Builder::new()
        .name("warm-up".into())
        .spawn(|| {
            let _ = catch_unwind(|| panic!("warm-up"));
        });
    if let Ok(thread) = thread {
        let _ = thread.join();
    }
}
