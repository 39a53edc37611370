//! Assumptions: executions that a test does not judge.

use crate::plain;

/// Restricts the rest of the test to executions in which `condition` holds.
///
/// Under cargo chess, an execution in which the condition does not hold has no verdict: the
/// calling thread does not continue, and later failures of other threads do not count, except for
/// undefined behaviour. The summary counts these executions. A test in which all executions end in
/// this way fails, because it tests nothing.
///
/// Under plain `cargo test`, an assumption that does not hold is a panic. [`choose`], [`flip`] and
/// [`pick`] return their first outcomes there. So order the outcomes such that the condition holds
/// for the first ones.
///
/// [`choose`]: crate::choose
/// [`flip`]: crate::flip
/// [`pick`]: crate::pick
///
/// # Panics
/// Under plain `cargo test`, if the condition does not hold.
///
/// # Examples
/// ```
/// let (low, high) = (chess_spec::choose(4), 3 - chess_spec::choose(4));
/// chess_spec::assume(low < high);
/// assert!(high > 0);
/// ```
#[track_caller]
pub fn assume(condition: bool) {
    if !condition {
        plain::assumption_fails();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_assumption_that_holds_has_no_effect() {
        assume(true);
    }

    #[test]
    #[should_panic(expected = "an assumption does not hold")]
    fn an_assumption_that_does_not_hold_is_a_panic() {
        assume(false);
    }
}
