//! The body of the test as the first task of an execution. `monitor/test_outcome.rs` judges its
//! end, for instance with `#[should_panic]`.

use std::io::Write;
use std::panic::{AssertUnwindSafe, catch_unwind};

use super::{Test, exploration};
use crate::base::memory::engine_vec;
use crate::base::panic_payload::payload_text;
use crate::execution;
use crate::monitor::{BodyOutcome, race};

/// Runs the function of a test; `data` points to a [`Test`].
///
/// # Safety
/// Only as a task's entry, with a live [`Test`].
pub(super) unsafe fn run(data: *mut ()) {
    // SAFETY: the caller passes a live `Test`.
    let test = unsafe { &*data.cast::<Test>() };
    // As in libtest, the thread has the name of the test.
    execution::with(|it| it.running().name.extend_from_slice(test.name.as_bytes()));
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
            // The drop of the payload may run code of the program, which may panic as well.
            let _ = catch_unwind(AssertUnwindSafe(move || drop(payload)));
            BodyOutcome::Panicked(said)
        }
    };
    let Some(execution) = execution::running() else {
        return;
    };
    if execution.with(|it| it.options.keeps_output) {
        // The buffer of std still contains output after the last line end. The program does not
        // flush it here, so the flush must not order accesses of the program.
        let paused = race::pause();
        let _ = std::io::stdout().flush();
        race::resume(&paused);
    }
    // SAFETY: one task runs at a time, and the exploring thread waits for it.
    unsafe { (*exploration()).body = outcome };
}

/// The main function of a task that uses the parts of std that are initialised on first use. These
/// parts are then initialised before the memory image is taken.
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
