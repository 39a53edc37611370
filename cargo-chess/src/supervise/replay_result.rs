//! The result of a replay: the same failure, another one, none, or a schedule that no longer fits.

use super::test_process::Verdict;
use crate::config::Exploration;
use crate::error::Error;
use crate::events::{Kind, Outcome};
use crate::protocol::{Decided, Divergence, Finished, Step};
use crate::schedule::Schedule;
use crate::text::{source_path, thousands};

/// The replay of a schedule.
#[derive(Debug)]
pub(crate) struct Replayed {
    /// The verdict of the process.
    pub(crate) verdict: Verdict,
    /// The options of the replay.
    pub(crate) exploration: Exploration,
    /// The packages with the policy `atomic`. A call into one of them was a single step.
    pub(crate) atomic: Vec<String>,
    /// Whether the instrumented sources differ from those at the time of the save.
    pub(crate) sources_changed: bool,
}

/// The result of a replay.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) enum ReplayResult {
    /// The same failure occurred.
    Reproduced,
    /// Another failure occurred.
    Different,
    /// No failure occurred.
    Gone,
    /// The program no longer follows the schedule. Contains the sentence about the difference.
    Stale(String),
}

/// The warning for [`ReplayResult::Different`].
pub(crate) fn another_failure(schedule: &Schedule) -> String {
    format!(
        "this schedule now leads to another failure than the saved one, which was {}: {}",
        schedule.kind,
        schedule.message.lines().next().unwrap_or_default()
    )
}

impl Replayed {
    /// The result of this replay, which ran `schedule`.
    pub(crate) fn result(&self, schedule: &Schedule) -> ReplayResult {
        replay_result(&self.verdict.finished, schedule)
    }

    /// The error for a program that no longer follows the schedule. `sentence` says how the
    /// program differs.
    pub(crate) fn stale(&self, sentence: &str) -> Error {
        let why = if self.sources_changed {
            "The sources have changed since the schedule was saved"
        } else {
            "The instrumented sources are the same as when the schedule was saved: a dependency, the \
             compiler or the input of the test has changed, or the test depends on more than its \
             schedule (real time, random numbers, files, the environment, addresses)"
        };
        Error::Usage(format!(
            "the schedule no longer fits the program: {sentence}.\n\
             {why}.\n\
             Run `cargo chess test` to explore the program as it is now."
        ))
    }
}

/// The result of a replay of `schedule` that ended with `finished`.
pub(crate) fn replay_result(finished: &Finished, schedule: &Schedule) -> ReplayResult {
    let same = finished.outcome == Outcome::Failed
        && finished.kind == Some(schedule.kind)
        && same_words(schedule, finished.message.as_deref().unwrap_or_default());
    match &finished.diverged {
        _ if same => ReplayResult::Reproduced,
        Some(diverged) => ReplayResult::Stale(in_words(diverged, finished)),
        None if finished.outcome == Outcome::Passed => ReplayResult::Gone,
        None => ReplayResult::Different,
    }
}

/// The place at which a schedule no longer fits the program, and the difference, as a sentence.
fn in_words(diverged: &Divergence, finished: &Finished) -> String {
    let Divergence {
        step,
        task,
        outcome,
        ended,
    } = diverged;
    let expected = match (task, outcome) {
        (Some(task), _) => format!("task {task} runs"),
        (None, outcome) => format!("an operation has outcome {}", outcome.unwrap_or(0)),
    };
    let decided = usize::try_from(*step).ok();
    let decided = decided.and_then(|step| finished.decided.get(step));
    let instead = decided.map_or_else(String::new, |decided| instead(decided, finished));
    let is_of_operation = decided.is_some_and(|decided| decided.outcome.is_some());
    let found = if is_of_operation && task.is_some() {
        "but the program has another choice there: the outcome of an operation"
    } else if *ended {
        "but the program has ended by then"
    } else {
        "which is not possible there"
    };
    format!(
        "decision {} of the schedule says that {expected}, {found}{instead}",
        thousands(step + 1)
    )
}

/// The last step that follows the schedule, and the step that occurred next, as text.
fn instead(decided: &Decided, finished: &Finished) -> String {
    let (before, after) = finished
        .events
        .split_at(decided.event.min(finished.events.len()));
    let described = |step: &Step| {
        let task = match step.task {
            0 => "main".to_owned(),
            number => format!("task {number}"),
        };
        let object = step.object.as_ref();
        let object = object.map_or_else(String::new, |object| format!(" {object}"));
        let place = step.location();
        let place = place.map_or_else(String::new, |place| {
            format!(" at {}:{}", source_path(&place.file), place.line)
        });
        format!("{task}: {}{object}{place}", step.op)
    };
    let fitted = before.last().map(|it| {
        let number = thousands(before.len() as u64);
        format!("; the last step that fits is {number} ({})", described(it))
    });
    let next = after
        .first()
        .map(|it| format!(", the next one is {}", described(it)));
    [fitted, next].into_iter().flatten().collect()
}

/// Whether a failure has the same text as the failure of the schedule. Only panics are compared:
/// the messages of other kinds are written by this tool and name source lines, which move when the
/// program is edited. Only the first line of a message counts, because the rest of it may show the
/// values of an assertion. Digits do not count, because the system may assign another port or
/// descriptor each time.
fn same_words(schedule: &Schedule, message: &str) -> bool {
    let said = |message: &str| -> String {
        let line = message.lines().next().unwrap_or_default();
        line.chars().filter(|char| !char.is_ascii_digit()).collect()
    };
    schedule.kind != Kind::Panic || said(&schedule.message) == said(message)
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;
    use crate::config::Layer;
    use crate::schedule::tests::sample;

    fn replay_result(finished: Finished) -> ReplayResult {
        let replayed = Replayed {
            verdict: Verdict {
                finished,
                stderr: String::new(),
                duration: Duration::ZERO,
            },
            exploration: Layer::default().resolve(),
            atomic: Vec::new(),
            sources_changed: false,
        };
        replayed.result(&sample())
    }

    fn failed(kind: Kind, message: &str) -> Finished {
        Finished {
            kind: Some(kind),
            message: Some(message.into()),
            ..Finished::new(Outcome::Failed)
        }
    }

    fn diverged(finished: Finished) -> Finished {
        Finished {
            diverged: Some(Divergence {
                step: 4,
                task: Some(1),
                outcome: None,
                ended: false,
            }),
            ..finished
        }
    }

    #[test]
    fn the_same_failure_is_reproduced() {
        let same = failed(Kind::Panic, &sample().message);
        assert_eq!(replay_result(same.clone()), ReplayResult::Reproduced);
        assert_eq!(replay_result(diverged(same)), ReplayResult::Reproduced);
    }

    #[test]
    fn another_failure_is_distinguished_from_it() {
        assert_eq!(
            replay_result(failed(Kind::Panic, "boom")),
            ReplayResult::Different
        );
        assert_eq!(
            replay_result(failed(Kind::Deadlock, &sample().message)),
            ReplayResult::Different
        );
        assert_eq!(
            replay_result(Finished::new(Outcome::Timeout)),
            ReplayResult::Different
        );
    }

    #[test]
    fn a_passing_execution_means_that_the_failure_is_gone() {
        assert_eq!(
            replay_result(Finished::new(Outcome::Passed)),
            ReplayResult::Gone
        );
    }

    #[test]
    fn a_schedule_that_the_program_does_not_follow_is_stale() {
        let ReplayResult::Stale(sentence) = replay_result(diverged(Finished::new(Outcome::Passed)))
        else {
            panic!("expected a stale schedule");
        };
        insta::assert_snapshot!(sentence, @"decision 5 of the schedule says that task 1 runs, which is not possible there");
    }
}
