//! Invariants: conditions that hold after each operation.

use std::fmt;
use std::panic::Location;
use std::thread;

type Condition = Box<dyn Fn() -> bool + Send>;

/// Checks that `condition` holds, now and until the result is dropped.
///
/// Under cargo chess it is checked after each operation of any thread that changes an object that it
/// reads. The execution fails at the line of the operation after which it does not hold, or panics.
///
/// The condition may
/// - load atomics;
/// - lock a `Mutex`, and a `RwLock` to read. While a thread holds a lock that the condition needs, it is
///   not checked;
/// - read other memory that it owns or borrows for ever. A change of such memory alone causes no check,
///   and no schedules: keep the state that it is about in atomics and locks. A read of it is no data
///   race.
///
/// A condition that changes an atomic fails. It must not wait in any other way. Its own operations are
/// no part of the execution: no thread runs in between. Under a weak memory model it sees the newest
/// store of each atomic.
///
/// The order of two operations that are independent otherwise matters if the condition reads the
/// objects of both. The search tries both orders, which costs schedules: let it read few objects.
///
/// Under plain `cargo test` it is checked at the creation and at the drop of the result.
///
/// # Panics
/// Under plain `cargo test`, if the condition does not hold. A drop does not check if its thread
/// panics.
///
/// # Examples
/// ```
/// use std::sync::Arc;
/// use std::sync::atomic::{AtomicUsize, Ordering::SeqCst};
///
/// let owners = Arc::new(AtomicUsize::new(0));
/// let seen = Arc::clone(&owners);
/// let _invariant = chess_spec::invariant("at most one owner", move || seen.load(SeqCst) <= 1);
/// std::thread::spawn(move || {
///     owners.fetch_add(1, SeqCst);
///     owners.fetch_sub(1, SeqCst);
/// });
/// ```
#[track_caller]
pub fn invariant(name: &str, condition: impl Fn() -> bool + Send + 'static) -> Invariant {
    let site = Location::caller();
    let invariant = Invariant {
        name: name.to_owned(),
        added: add(name, Box::new(condition), site),
        site,
    };
    invariant.check();
    invariant
}

/// An [`invariant`] that is checked until this is dropped.
#[must_use = "an invariant ends when this is dropped"]
pub struct Invariant {
    name: String,
    /// Its number, if a search checks it.
    added: Result<usize, Condition>,
    site: &'static Location<'static>,
}

impl Invariant {
    /// Checks it under plain `cargo test`.
    #[track_caller]
    fn check(&self) {
        if let Err(condition) = &self.added {
            assert!(condition(), "the invariant \"{}\" does not hold", self.name);
        }
    }
}

impl Drop for Invariant {
    fn drop(&mut self) {
        let is_checked = !thread::panicking();
        match self.added {
            Ok(number) => remove(number, is_checked, self.site),
            Err(_) if is_checked => self.check(),
            Err(_) => {}
        }
    }
}

impl fmt::Debug for Invariant {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let name = &self.name;
        f.debug_struct("Invariant")
            .field("name", name)
            .finish_non_exhaustive()
    }
}

/// Adds an invariant to the running execution, and returns its number there. Under plain `cargo test`,
/// returns the condition.
fn add(
    name: &str,
    condition: Condition,
    site: &'static Location<'static>,
) -> Result<usize, Condition> {
    let _ = (name, site);
    Err(condition)
}

/// Removes an invariant from the running execution, after a last check if it `is_checked`.
fn remove(number: usize, is_checked: bool, site: &'static Location<'static>) {
    let _ = (number, is_checked, site);
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::atomic::{AtomicBool, Ordering::SeqCst};
    use std::sync::Arc;

    #[test]
    #[should_panic(expected = "the invariant \"never\" does not hold")]
    fn it_is_checked_when_it_is_created() {
        drop(invariant("never", || false));
    }

    #[test]
    #[should_panic(expected = "the invariant \"unset\" does not hold")]
    fn it_is_checked_when_it_is_dropped() {
        let flag = Arc::new(AtomicBool::new(false));
        let seen = Arc::clone(&flag);
        let _invariant = invariant("unset", move || !seen.load(SeqCst));
        flag.store(true, SeqCst);
    }

    #[test]
    #[should_panic(expected = "first")]
    fn a_thread_that_panics_does_not_check_it() {
        let flag = Arc::new(AtomicBool::new(false));
        let seen = Arc::clone(&flag);
        let _invariant = invariant("unset", move || !seen.load(SeqCst));
        flag.store(true, SeqCst);
        panic!("first");
    }
}
