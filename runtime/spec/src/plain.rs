//! The functions by which a test sends requests to the search.
//!
//! Under plain `cargo test`, their bodies run. Under cargo chess, each function begins with an
//! inserted statement that passes the request to the search: see `runtime/overlays/overlays.toml`
//! in the repository of cargo chess.

use std::cell::Cell;
use std::panic::Location;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};

/// The number of choices of a thread that return the first outcome. Its later choices cycle
/// through all outcomes.
const IN_ORDER: u32 = 1_000;

thread_local! {
    /// The number of choices that this thread has made.
    static CHOICES: Cell<u32> = const { Cell::new(0) };
}

/// Returns a number below `outcomes`, which is not 0.
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

/// Called if an assumption does not hold. Panics under plain `cargo test`.
#[track_caller]
pub(crate) fn assumption_fails() {
    panic!(
        "an assumption does not hold. cargo chess leaves out such an execution; under plain cargo \
         test, each choice has its first outcome, and the assumption must hold with these outcomes"
    );
}

/// Whether the test runs under a search of cargo chess.
pub(crate) fn is_explored() -> bool {
    false
}

/// Records a state of the test, by its hash.
#[track_caller]
pub(crate) fn observe(state: u64) {
    let _ = state;
}

/// Records the start of a call, or its end if `ends`, in the history with the address `history`,
/// for the check at `site`. Returns a number that is larger than those of earlier records.
pub(crate) fn note(history: usize, ends: bool, site: &'static Location<'static>) -> u64 {
    static TIME: AtomicU64 = AtomicU64::new(0);
    let _ = (history, ends, site);
    TIME.fetch_add(1, Ordering::SeqCst)
}

/// Waits until no other thread can run and no timer is pending, for the check at `site`, and
/// returns `true`. Under plain `cargo test`, does not wait, and returns `false`.
pub(crate) fn until_idle(site: &'static Location<'static>) -> bool {
    let _ = site;
    false
}

/// Runs `body`, for the call at `site`, until it returns or the search lets it crash.
pub(crate) fn until_crash(body: impl FnOnce() + Send, site: &'static Location<'static>) {
    let _ = site;
    body();
}

/// Changes `data`, which the threads of a check share. The search does not see the operations in
/// `change`, because they are not operations of the test. So `change` must not allocate or release
/// memory, which the search must see.
pub(crate) fn unseen<D, R>(data: &Mutex<D>, change: impl FnOnce(&mut D) -> R) -> R {
    let mut data = data.lock().unwrap_or_else(PoisonError::into_inner);
    let result = change(&mut data);
    // Unlock before the function returns: from then on the search sees operations again.
    drop(data);
    result
}
