//! Invariants: conditions that hold after each operation.

use std::fmt;
use std::panic::Location;
use std::thread;

type Condition = Box<dyn Fn() -> bool + Send>;

/// Checks that `condition` holds, now and until the result is dropped.
///
/// Under cargo chess the condition is checked after each operation, by any thread, that changes an
/// object that the condition reads. If the condition then does not hold, or panics, the execution
/// fails at the line of that operation.
///
/// The condition may
/// - load atomics;
/// - lock a `Mutex`, and a `RwLock` to read. While a thread holds a lock that the condition needs,
///   the condition is not checked;
/// - read other memory that it owns or borrows for `'static`. A change of such memory alone causes
///   no check and no further schedules: keep the state that the condition depends on in atomics and
///   locks. The condition's own reads of such memory are no data races.
///
/// A condition that changes an atomic fails. A condition must not wait for anything but such a
/// lock. The operations of the condition are not part of the execution: no thread runs between
/// them. Under a weak memory model they read the newest store of each atomic.
///
/// Two operations that are otherwise independent become dependent if the condition reads the
/// objects of both. The search tries both orders, which costs schedules: let the condition read
/// few objects.
///
/// Under plain `cargo test` the condition is checked at the creation and at the drop of the
/// result.
///
/// # Panics
/// Under plain `cargo test`, if the condition does not hold. A panicking thread that drops the
/// result does not check the condition.
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

/// The result of [`invariant`]. The condition is checked until this value is dropped.
#[must_use = "the invariant is checked only until this value is dropped"]
pub struct Invariant {
    name: String,
    /// The number of the invariant if a search checks it, otherwise its condition.
    added: Result<usize, Condition>,
    site: &'static Location<'static>,
}

impl Invariant {
    /// Checks the condition under plain `cargo test`. Has no effect under cargo chess.
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

/// Adds an invariant to the running execution, and returns its number there. Under plain `cargo
/// test`, returns the condition.
fn add(
    name: &str,
    condition: Condition,
    site: &'static Location<'static>,
) -> Result<usize, Condition> {
    let _ = (name, site);
    Err(condition)
}

/// Removes an invariant from the running execution, after a last check if `is_checked`.
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
