//! The test's body as the first task of an execution.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

use super::Test;
use crate::engine::engine;
use crate::execution;
use crate::monitor::BodyOutcome;
use crate::platform::memory::engine_vec;

/// What the tasks print. Created before the image is taken, so that it is empty
/// at each execution's start.
static OUTPUT: OnceLock<Arc<Mutex<Vec<u8>>>> = OnceLock::new();

/// Makes the buffer for what tasks print.
pub(super) fn prepare_output() {
    OUTPUT.get_or_init(Arc::default);
}

/// Forgets what was printed so far.
pub(super) fn clear_output() {
    if let Some(output) = OUTPUT.get() {
        output
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .clear();
    }
}

/// What the tasks of the last execution printed.
pub(super) fn read_output(read: impl FnOnce(&[u8])) {
    if let Some(output) = OUTPUT.get() {
        read(&output.lock().unwrap_or_else(PoisonError::into_inner));
    }
}

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
    std::io::set_output_capture(OUTPUT.get().cloned());
    let result = catch_unwind(AssertUnwindSafe(test.run));
    let outcome = match result {
        Ok(Ok(())) => BodyOutcome::Passed,
        Ok(Err(message)) => {
            let mut bytes = engine_vec();
            bytes.extend_from_slice(message.as_bytes());
            BodyOutcome::Failed(bytes)
        }
        Err(payload) => {
            // Dropping it may run the program's code, and may panic in turn.
            let _ = catch_unwind(AssertUnwindSafe(move || drop(payload)));
            BodyOutcome::Panicked
        }
    };
    if execution::active() {
        // SAFETY: one task runs at a time, and only this one writes here.
        unsafe { (*engine()).exploration.body = outcome };
    }
}

/// A task that uses what std sets up on first use, so that all of it is in place
/// when the image is taken.
pub(super) unsafe fn warm_up(_: *mut ()) {
    std::io::set_output_capture(OUTPUT.get().cloned());
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
