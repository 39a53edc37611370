//! Sentences about early timeouts: timeouts and sleeps that ended while other tasks were enabled.

use super::abbreviate::place;
use super::names::{Names, called};
use crate::events::{EarlyOperation, EarlyTimeout, Kind, Outcome, TestFinished};
use crate::protocol::Finished;
use crate::text::plural;

/// The sentence about the early timeouts that a failing execution needs, with the option that
/// excludes such schedules.
pub(super) fn sentence(finished: &Finished, names: &Names) -> Option<String> {
    let first = finished.early.first()?.to_event();
    let needs = need(&first, &|task| names.of(task));
    let more = match finished.early.len() {
        1 => String::new(),
        count => format!(
            " It needs {}.",
            plural(count as u64 - 1, "more early timeout")
        ),
    };
    let is_undefined = finished.kind.is_some_and(Kind::is_undefined_behaviour);
    let what = match finished.outcome {
        Outcome::Timing => {
            "`--timing deny` makes this outcome a failure of the run. `--timing allow` excludes such schedules."
        }
        _ if is_undefined => {
            "The failure is undefined behaviour nevertheless: a duration orders no memory accesses. \
             `--timers last` excludes early timeouts."
        }
        _ => "`--timers last` excludes early timeouts.",
    };
    Some(format!("This execution {needs}.{more} {what}"))
}

/// A text for each early timeout that the reported failure needs.
pub(super) fn needs(test: &TestFinished) -> Vec<String> {
    let early = test.early.iter();
    early.map(|early| need(early, &called)).collect()
}

/// The sentence about the tests of a run whose failures need early timeouts.
pub(super) fn summary(timing: usize, ran: usize) -> String {
    format!(
        "the failures of {timing} of {ran} tests need early timeouts. `--timing deny` makes this \
         outcome a failure of the run. `--timing allow` excludes such schedules"
    )
}

/// ``needs an early timeout: `recv_timeout` at src/lib.rs:12 (30 s) ends before task 1 performs
/// `send` at src/worker.rs:7``
fn need(early: &EarlyTimeout, name: &dyn Fn(u32) -> String) -> String {
    let EarlyTimeout {
        wait,
        length_ns,
        before,
    } = early;
    let (task, before_at) = (name(before.task), operation(before));
    let before = if before.waits {
        format!("{task} returns from {before_at}")
    } else if before.begins {
        format!("{task} starts")
    } else {
        format!("{task} performs {before_at}")
    };
    format!(
        "needs an early timeout: {} ({}) ends before {before}",
        operation(wait),
        length(*length_ns)
    )
}

fn operation(operation: &EarlyOperation) -> String {
    let at = operation.location.as_ref();
    let at = at.map_or_else(String::new, |at| format!(" at {}", place(at)));
    format!("`{}`{at}", operation.operation)
}

/// `30 s`, `1.5 s`, `20 ms`, `40 us`
fn length(nanoseconds: u64) -> String {
    let units = [(1_000_000_000, "s"), (1_000_000, "ms"), (1_000, "us")];
    let unit = units.into_iter().find(|(size, _)| nanoseconds >= *size);
    let (size, unit) = unit.unwrap_or((1, "ns"));
    // Three digits are enough to recognise a duration of the program. The last digits may differ
    // from those in the source, because a read of a clock may advance the clock.
    #[expect(clippy::cast_precision_loss, reason = "three digits are shown")]
    let count = nanoseconds as f64 / size as f64;
    let digits = if count < 10.0 { 100.0 } else { 10.0 };
    let count = if count < 100.0 {
        (count * digits).round() / digits
    } else {
        count.round()
    };
    format!("{count} {unit}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_length_is_printed_in_its_largest_unit() {
        let lengths = [29_999_998_000, 1_500_000_000, 499_998_000, 40_000, 7];
        assert_eq!(
            lengths.map(length),
            ["30 s", "1.5 s", "500 ms", "40 us", "7 ns"]
        );
    }
}
