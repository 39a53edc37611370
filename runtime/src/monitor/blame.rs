//! The cause of a test's failure among all panics of an execution.

use crate::execution::Panic;

/// A panic message with one of these texts reports an earlier panic of another task.
const PASSED_ON: [&str; 4] = [
    "a scoped thread panicked",
    "PoisonError",
    "JoinError::Panic",
    // The result of `JoinHandle::join`, unwrapped.
    "Any { .. }",
];

/// A panic message with one of these texts reports an earlier panic of another task if that panic
/// ended the other task: the other task may have held the other end of a channel.
const PASSED_ON_BY_ITS_END: [&str; 2] = ["RecvError", "SendError"];

/// The panic that caused the panic of the test's body. `said` is the message of the body's panic.
/// `panics` are all panics in order, and `ended_task` returns whether a panic ended its task.
/// `None` if there are no panics.
pub(super) fn blamed<'a>(
    panics: &'a [Panic],
    said: &[u8],
    ended_task: impl Fn(&Panic) -> bool,
) -> Option<&'a Panic> {
    let of_test = |panic: &&Panic| panic.task.0 == 0;
    let mut same = panics.iter().filter(|panic| *panic.message == *said);
    // Of several panics with this message, the last one of the test's own task counts. If its own
    // task has none, the test resumed the panic of another task.
    let Some(own) = same.clone().rfind(of_test).or_else(|| same.next_back()) else {
        // No panic has this message: the test resumed a panic with another message. The first
        // panic is the cause.
        return panics.first();
    };
    let before = panics
        .iter()
        .take_while(|panic| !core::ptr::eq(*panic, own));
    let originals = || before.clone().filter(|panic| !passes_on(panic));
    let that_ended_a_task = || originals().find(|panic| ended_task(panic));
    let cause = if passes_on(own) {
        let quoted = originals().find(|panic| own.quotes(panic));
        quoted
            .or_else(that_ended_a_task)
            .or_else(|| originals().next())
            .or_else(|| before.clone().next())
    } else if contains_one_of(own, &PASSED_ON_BY_ITS_END) {
        that_ended_a_task()
    } else {
        None
    };
    Some(cause.unwrap_or(own))
}

fn passes_on(panic: &Panic) -> bool {
    contains_one_of(panic, &PASSED_ON)
}

fn contains_one_of(panic: &Panic, texts: &[&str]) -> bool {
    texts.iter().any(|text| panic.contains(text))
}

impl Panic {
    /// Whether the message of this panic contains the message of `other`.
    fn quotes(&self, other: &Self) -> bool {
        let message = String::from_utf8_lossy(&other.message);
        !message.is_empty() && self.contains(&message)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::base::memory::engine_vec;
    use crate::base::source_path::Place;
    use crate::execution::TaskId;

    fn panic(task: u32, message: &str) -> Panic {
        let mut bytes = engine_vec();
        bytes.extend_from_slice(message.as_bytes());
        Panic {
            task: TaskId(task),
            message: bytes,
            place: Place {
                file: engine_vec(),
                line: 0,
                column: 0,
            },
            event: 0,
        }
    }

    /// The message of the blamed panic. Each panic of a task other than the test has ended its
    /// task.
    fn blamed_of(panics: &[(u32, &str)], said: &str) -> String {
        let panics: Vec<Panic> = panics.iter().map(|&(task, it)| panic(task, it)).collect();
        let found = blamed(&panics, said.as_bytes(), |panic| panic.task.0 != 0);
        let found = found.expect("there are panics");
        String::from_utf8_lossy(&found.message).into_owned()
    }

    #[test]
    fn the_panic_that_ended_the_test_is_reported_and_not_one_that_was_caught_before() {
        let panics = [(0, "caught"), (1, "ignored"), (0, "2 is not 1")];
        assert_eq!(blamed_of(&panics, "2 is not 1"), "2 is not 1");
    }

    #[test]
    fn a_panic_that_was_passed_on_is_reported_as_its_first_panic() {
        for passed_on in [
            "a scoped thread panicked",
            "called `Result::unwrap()` on an `Err` value: Any { .. }",
            "called `Result::unwrap()` on an `Err` value: PoisonError { .. }",
            "called `Result::unwrap()` on an `Err` value: RecvError",
        ] {
            let panics = [(1, "boom"), (2, "PoisonError { .. }"), (0, passed_on)];
            assert_eq!(blamed_of(&panics, passed_on), "boom");
        }
    }

    #[test]
    fn a_quoted_message_identifies_its_panic() {
        let said = "JoinError::Panic(Id(2), \"boom\", ..)";
        let panics = [(1, "another"), (2, "boom"), (0, said)];
        assert_eq!(blamed_of(&panics, said), "boom");
    }

    #[test]
    fn a_panic_that_was_resumed_is_that_of_its_task() {
        let panics = [(1, "another"), (2, "boom")];
        assert_eq!(blamed_of(&panics, "boom"), "boom");
    }

    #[test]
    fn a_receiver_without_senders_is_the_failure_itself_where_no_task_panicked() {
        let panics = [(0, "caught"), (0, "Err: RecvError")];
        assert_eq!(blamed_of(&panics, "Err: RecvError"), "Err: RecvError");
    }
}
