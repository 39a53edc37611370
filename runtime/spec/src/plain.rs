//! The behaviour under plain `cargo test`.
//!
//! cargo chess inserts a statement at the start of each function, with which its search answers
//! instead: see `runtime/overlays/overlays.toml` in its repository.

use std::cell::Cell;
use std::panic::Location;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};

/// The number of choices of a thread after which outcomes take turns.
const IN_ORDER: u32 = 1_000;

thread_local! {
    /// The number of choices of this thread.
    static CHOICES: Cell<u32> = const { Cell::new(0) };
}

/// The outcome of a choice among `outcomes`, at least one.
#[track_caller]
pub(crate) fn choose(outcomes: u32) -> u32 {
    let count = CHOICES.with(|choices| {
        let count = choices.get();
        choices.set(count.wrapping_add(1));
        count
    });
    if count < IN_ORDER {
        0
    } else {
        count % outcomes
    }
}

/// Whether a rare event happens.
#[track_caller]
pub(crate) fn rarely() -> bool {
    false
}

/// The consequence of an assumption that does not hold.
#[track_caller]
pub(crate) fn assumption_fails() {
    panic!(
        "an assumption does not hold: under cargo chess this execution is left out, and under plain \
         cargo test the first outcomes of all choices must fulfil it"
    );
}

/// Whether a search chooses.
pub(crate) fn is_explored() -> bool {
    false
}

/// Records a state of the test, by its hash.
#[track_caller]
pub(crate) fn observe(state: u64) {
    let _ = state;
}

/// Notes the start or the end of an operation in the history at this address, for the check at `site`.
/// Later notes have larger numbers.
pub(crate) fn note(history: usize, ends: bool, site: &'static Location<'static>) -> u64 {
    static TIME: AtomicU64 = AtomicU64::new(0);
    let _ = (history, ends, site);
    TIME.fetch_add(1, Ordering::SeqCst)
}

/// Waits until no other thread can run and no timer is pending, for the check at `site`. Returns whether
/// it waited.
pub(crate) fn until_idle(site: &'static Location<'static>) -> bool {
    let _ = site;
    false
}

/// Runs `body`, until it returns or a search lets it crash, for the call at `site`.
pub(crate) fn until_crash(body: impl FnOnce() + Send, site: &'static Location<'static>) {
    let _ = site;
    body();
}

/// Changes data of a check that its threads share. This is no operation of the test: `change` must not
/// allocate or release memory.
pub(crate) fn unseen<D, R>(data: &Mutex<D>, change: impl FnOnce(&mut D) -> R) -> R {
    let mut data = data.lock().unwrap_or_else(PoisonError::into_inner);
    let result = change(&mut data);
    // Before the end of the function, after which operations are those of the test again.
    drop(data);
    result
}
