//! States that a test observes, as a measure of what its schedules cover.

use std::collections::hash_map::DefaultHasher;
use std::hash::{Hash, Hasher};

use crate::plain;

/// Records `value` as a state that the test has reached.
///
/// Under cargo chess the hash of the value is recorded, and the number of distinct states of all
/// executions is reported: `cargo chess test --coverage` prints it, with its growth over the
/// schedules. If the number still grows when the search ends, more schedules would probably show
/// more behaviours. Equal values at two different calls of `observe` in the source count as two
/// states. The states of an execution in which an [assumption](crate::assume) does not hold are
/// not counted, and neither are those after the first 65,536 of one execution.
///
/// A call is not an operation: it changes neither the schedules nor the verdict. Observe only
/// values that depend on operations under control alone: results of such operations, or data for
/// which the calling thread holds a lock. The search runs one execution for each order of dependent
/// operations, and other executions with the same order return the same results. The time and the
/// address of a block of memory, for instance, also depend on the order of *independent*
/// operations. The search skips executions that differ only in this order. These could give further
/// values of this kind, so the number of states would be lower than the number that the test can
/// reach.
///
/// Under plain `cargo test` a call has no effect, and the value is not hashed.
///
/// # Examples
/// ```
/// use std::sync::Mutex;
/// use std::thread;
///
/// let order = Mutex::new(Vec::new());
/// thread::scope(|scope| {
///     for name in ["a", "b"] {
///         let order = &order;
///         scope.spawn(move || order.lock().unwrap().push(name));
///     }
/// });
/// // Under cargo chess, two states: the orders of the threads.
/// chess_spec::observe(&order.into_inner().unwrap());
/// ```
#[track_caller]
pub fn observe<T: Hash + ?Sized>(value: &T) {
    if plain::is_explored() {
        let mut hasher = DefaultHasher::new();
        value.hash(&mut hasher);
        plain::observe(hasher.finish());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_plain_run_does_not_even_hash() {
        struct Never;
        impl Hash for Never {
            fn hash<H: Hasher>(&self, _: &mut H) {
                unreachable!("a plain run hashes nothing");
            }
        }
        observe(&Never);
        observe("text");
    }
}
