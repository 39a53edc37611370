//! The panics of an execution other than the reported one.

use super::abbreviate::place;
use super::names::Names;
use crate::events::Kind;
use crate::protocol::{Fate, Finished, Panic};

/// The highest number of panics that are reported.
const MOST: usize = 3;

/// The panics to report in addition to the failure: at most [`MOST`], and then the panic that
/// [`passed_on`] returns.
fn beside(finished: &Finished) -> Vec<&Panic> {
    let own = own(finished);
    // Caught panics are reported only if the failure itself is not a panic.
    let matters = |panic: &Panic| panic.fate.is_some() || own.is_none();
    let last = passed_on(finished);
    let is_reported = |panic: &&Panic| is_own(panic, own) || is_own(panic, last);
    let panics = finished.panics.iter();
    let others = panics.filter(|panic| !is_reported(panic) && matters(panic));
    others.take(MOST).chain(last).collect()
}

/// The panic that is the failure.
fn own(finished: &Finished) -> Option<&Panic> {
    let message = finished.message.as_deref()?;
    let is_it = |panic: &&Panic| {
        finished.location.as_ref() == Some(&panic.location) && message.ends_with(&panic.message)
    };
    let is_panic = finished.kind == Some(Kind::Panic);
    finished.panics.iter().find(is_it).filter(|_| is_panic)
}

fn is_own(panic: &Panic, own: Option<&Panic>) -> bool {
    own.is_some_and(|own| core::ptr::eq(own, panic))
}

/// The panic of the test's body, if the failure is the panic of another task. In this case, the
/// panic of the body only repeats the other panic.
fn passed_on(finished: &Finished) -> Option<&Panic> {
    let own = own(finished)?;
    let mut panics = finished.panics.iter();
    panics.find(|panic| panic.fate == Some(Fate::Failed) && !is_own(panic, Some(own)))
}

/// A sentence about each panic of [`beside`]. If the failure is the panic of a task that no task
/// joined, a sentence about this comes first.
pub(super) fn sentences(finished: &Finished, names: &Names) -> Vec<String> {
    let own = own(finished);
    let last = passed_on(finished);
    let unseen = own.filter(|own| own.fate == Some(Fate::Unseen) && last.is_none());
    let unseen = unseen.map(|own| {
        format!(
            "{} ended with this panic, and no task joined it: `cargo test` lets the test pass, and so \
             does `cargo chess test --allow-unjoined-panics`.",
            names.of(own.task)
        )
    });
    let others = beside(finished).into_iter().map(|panic| {
        let when = if is_own(panic, last) {
            "As a consequence"
        } else {
            "In the same execution"
        };
        let unjoined = match panic.fate {
            Some(Fate::Unseen) => " (no task joined it)",
            _ => "",
        };
        format!(
            "{when}, {}{unjoined}: {}",
            what(panic, names),
            panic.message.lines().next().unwrap_or_default()
        )
    });
    unseen.into_iter().chain(others).collect()
}

/// The panics in the table of the execution. Each has the number of events before it, its text,
/// and its source line.
pub(super) fn marks(finished: &Finished, names: &Names) -> Vec<(usize, String, String)> {
    let own = own(finished).filter(|own| own.task != 0);
    let panics = finished.panics.iter();
    let shown = beside(finished);
    let is_shown = |panic: &&Panic| {
        is_own(panic, own) || shown.iter().any(|shown| core::ptr::eq(*shown, *panic))
    };
    let marks = panics.filter(is_shown).map(|panic| {
        let what = format!("{} panics", names.of(panic.task));
        (panic.event, what, place(&panic.location))
    });
    marks.collect()
}

/// For example, `task 1 panicked at src/lib.rs:12`.
fn what(panic: &Panic, names: &Names) -> String {
    format!(
        "{} panicked at {}",
        names.of(panic.task),
        place(&panic.location)
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::events::{Location, Outcome};

    fn panic(task: u32, message: &str, fate: Option<Fate>) -> Panic {
        Panic {
            task,
            event: 4,
            message: message.into(),
            location: Location {
                file: "src/lib.rs".into(),
                line: 10 + task,
                column: 5,
            },
            fate,
        }
    }

    fn printed(kind: Kind, failure: Option<usize>, panics: &[Panic]) -> String {
        let failure = failure.map(|index| &panics[index]);
        let finished = Finished {
            kind: Some(kind),
            message: failure.map(|panic| panic.message.clone()),
            location: failure.map(|panic| panic.location.clone()),
            panics: panics.to_vec(),
            ..Finished::new(Outcome::Failed)
        };
        sentences(&finished, &Names::new(&[])).join("\n")
    }

    #[test]
    fn a_panic_that_no_task_joined_is_called_so() {
        let printed = printed(
            Kind::Panic,
            Some(0),
            &[panic(1, "boom", Some(Fate::Unseen))],
        );
        insta::assert_snapshot!(printed, @"task 1 ended with this panic, and no task joined it: `cargo test` lets the test pass, and so does `cargo chess test --allow-unjoined-panics`.");
    }

    #[test]
    fn the_message_of_the_test_about_a_panic_that_it_received_is_printed() {
        let panics = [
            panic(1, "boom", Some(Fate::Joined)),
            panic(
                0,
                "called `Result::unwrap()` on an `Err` value: Any { .. }",
                Some(Fate::Failed),
            ),
        ];
        insta::assert_snapshot!(printed(Kind::Panic, Some(0), &panics), @"As a consequence, main panicked at src/lib.rs:10: called `Result::unwrap()` on an `Err` value: Any { .. }");
    }

    #[test]
    fn panics_that_were_caught_before_another_one_are_not_printed() {
        let panics = [
            panic(1, "caught", None),
            panic(0, "2 is not 1", Some(Fate::Failed)),
        ];
        assert_eq!(printed(Kind::Panic, Some(1), &panics), "");
    }

    #[test]
    fn panics_before_a_failure_of_another_kind_are_printed() {
        let panics = [
            panic(1, "index out of bounds\nmore", Some(Fate::Unseen)),
            panic(2, "caught", None),
        ];
        insta::assert_snapshot!(printed(Kind::Livelock, None, &panics), @r"
        In the same execution, task 1 panicked at src/lib.rs:11 (no task joined it): index out of bounds
        In the same execution, task 2 panicked at src/lib.rs:12: caught
        ");
    }
}
