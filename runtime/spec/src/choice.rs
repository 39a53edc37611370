//! Nondeterministic data: free choices, and rare events.

use crate::plain;

/// Returns a number below `count`, which the search chooses.
///
/// Under cargo chess every number is tried, in combination with every schedule of the bound. A
/// choice does not count as a preemption, so the bound does not limit the choices. Each choice
/// multiplies the number of schedules by `count`: keep `count` small. If the test fails, cargo
/// chess looks for a failure with smaller numbers.
///
/// Under plain `cargo test` the result is 0. After 1,000 choices of a thread, its choices cycle
/// through the numbers, so that a loop that waits for one number ends.
///
/// # Panics
/// If `count` is 0, or above `u32::MAX`.
///
/// # Examples
/// ```
/// let readers = 1 + chess_spec::choose(3);
/// assert!((1..=3).contains(&readers));
/// ```
#[track_caller]
pub fn choose(count: usize) -> usize {
    assert!(count != 0, "choose(0): there is no number below 0");
    let outcomes = u32::try_from(count);
    let outcomes =
        outcomes.unwrap_or_else(|_| panic!("choose({count}): the count is above u32::MAX"));
    plain::choose(outcomes) as usize
}

/// Returns `true` or `false`, as the search chooses. This is [`choose`] with two outcomes; the
/// first one is `false`.
///
/// # Examples
/// ```
/// let order = if chess_spec::flip() { [1, 0] } else { [0, 1] };
/// assert_eq!(order[0] + order[1], 1);
/// ```
#[track_caller]
pub fn flip() -> bool {
    plain::choose(2) == 1
}

/// Returns an item of `items`. The search chooses its position, as for [`choose`].
///
/// # Panics
/// If there are no items, or more than `u32::MAX`.
///
/// # Examples
/// ```
/// let capacity = *chess_spec::pick(&[0, 1, 16]);
/// let (sender, receiver) = std::sync::mpsc::sync_channel::<u8>(capacity);
/// # drop((sender, receiver));
/// ```
#[track_caller]
pub fn pick<T>(items: &[T]) -> &T {
    assert!(!items.is_empty(), "pick: there are no items");
    &items[choose(items.len())]
}

/// Returns whether a rare event happens, as the search chooses.
///
/// `true` costs as much as a preemption: a search with a bound of two preemptions tries all
/// schedules with up to two preemptions and rare events together. Use it for failures of the
/// environment: a full disk, a lost message, an early timeout.
///
/// Under plain `cargo test` the result is `false`.
///
/// # Examples
/// ```
/// # fn send(_: &str) {}
/// if !chess_spec::rarely() {
///     send("hello"); // otherwise the message is lost
/// }
/// ```
#[track_caller]
pub fn rarely() -> bool {
    plain::rarely()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_plain_run_takes_the_first_outcomes() {
        assert_eq!(choose(3), 0);
        assert_eq!(pick(&["a", "b"]), &"a");
        assert!(!flip() && !rarely());
    }

    #[test]
    fn a_loop_that_waits_for_an_outcome_ends() {
        while choose(5) != 4 {}
        while !flip() {}
    }

    #[test]
    #[should_panic(expected = "choose(0): there is no number below 0")]
    fn nothing_cannot_be_chosen() {
        choose(0);
    }

    #[test]
    #[should_panic(expected = "pick: there are no items")]
    fn nothing_cannot_be_picked() {
        pick::<u8>(&[]);
    }
}
