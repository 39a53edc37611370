//! The result of a replay: the same failure, another one, none, or a schedule that no longer fits.

use chess_vocabulary::{TaskId, message_words};

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
    /// The program no longer follows the schedule.
    Stale(Misfit),
}

/// The place at which a schedule no longer fits the program.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Misfit {
    /// The decision that no longer fits, as the middle of a sentence.
    pub(crate) decision: String,
    /// The last step that fits and the next step of the program, if they are known: a sentence for
    /// each.
    pub(crate) steps: Vec<String>,
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

    /// The error for a program that no longer follows the schedule.
    pub(crate) fn stale(&self, misfit: &Misfit) -> Error {
        let why = if self.sources_changed {
            "The sources have changed since the schedule was saved."
        } else {
            "The instrumented sources are the same as when the schedule was saved: a dependency, the \
             compiler or the input of the test has changed, or the test depends on more than its \
             schedule (real time, random numbers, files, the environment, addresses)."
        };
        let mut lines = vec![format!(
            "the schedule no longer fits the program: {}.",
            misfit.decision
        )];
        lines.extend(misfit.steps.iter().cloned());
        lines.push(why.to_owned());
        lines.push("Run `cargo chess test` to explore the program as it is now.".to_owned());
        Error::Usage(lines.join("\n"))
    }
}

/// The result of a replay of `schedule` that ended with `finished`.
pub(crate) fn replay_result(finished: &Finished, schedule: &Schedule) -> ReplayResult {
    let same = finished.outcome == Outcome::Failed
        && finished.kind == Some(schedule.kind)
        && same_words(schedule, finished.message.as_deref().unwrap_or_default());
    match &finished.diverged {
        _ if same => ReplayResult::Reproduced,
        Some(diverged) => ReplayResult::Stale(misfit(diverged, finished)),
        None if finished.outcome == Outcome::Passed => ReplayResult::Gone,
        None => ReplayResult::Different,
    }
}

/// The place of `diverged`, in words.
fn misfit(diverged: &Divergence, finished: &Finished) -> Misfit {
    let Divergence {
        step,
        task,
        outcome,
        ended,
    } = diverged;
    let number = thousands(step + 1);
    let chosen = match (task, outcome) {
        (Some(task), _) => TaskId(*task).to_string(),
        (None, outcome) => format!("outcome {} of an operation", outcome.unwrap_or(0)),
    };
    let decided = usize::try_from(*step).ok();
    let decided = decided.and_then(|step| finished.decided.get(step));
    let needs_outcome = decided.map(|decided| decided.outcome.is_some());
    let (a_task, an_outcome) = ("the next task", "the outcome of an operation");
    let differs = |here, there| {
        format!(
            "at decision {number}, the schedule chooses {here}, but the program needs {there} there"
        )
    };
    let decision = match needs_outcome {
        Some(true) if task.is_some() => differs(a_task, an_outcome),
        Some(false) if task.is_none() => differs(an_outcome, a_task),
        _ => {
            let found = if *ended {
                "but the program has ended by then"
            } else {
                "which is not possible there"
            };
            format!("at decision {number}, the schedule chooses {chosen}, {found}")
        }
    };
    Misfit {
        decision,
        steps: decided.map_or_else(Vec::new, |decided| steps_at(decided, finished)),
    }
}

/// The last step before a decision and the step after it: a sentence for each.
fn steps_at(decided: &Decided, finished: &Finished) -> Vec<String> {
    let (before, after) = finished
        .events
        .split_at(decided.event.min(finished.events.len()));
    let described = |step: &Step| {
        let object = step.object.as_ref();
        let object = object.map_or_else(String::new, |object| format!(" {object}"));
        let place = step.location();
        let place = place.map_or_else(String::new, |place| {
            format!(" at {}:{}", source_path(&place.file), place.line)
        });
        format!("{}, {}{object}{place}", TaskId(step.task), step.op)
    };
    let fitted = before.last().map(|it| {
        let number = thousands(before.len() as u64);
        format!(
            "The last step that fits is step {number}: {}.",
            described(it)
        )
    });
    let next = after
        .first()
        .map(|it| format!("The next step of the program is: {}.", described(it)));
    [fitted, next].into_iter().flatten().collect()
}

/// Whether a failure has the same [words](message_words) as the failure of the schedule. Only
/// panics are compared: the messages of other kinds are written by this tool and name source lines,
/// which move when the program is edited.
fn same_words(schedule: &Schedule, message: &str) -> bool {
    schedule.kind != Kind::Panic
        || message_words(schedule.message.as_bytes()).eq(message_words(message.as_bytes()))
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
        let ReplayResult::Stale(misfit) = replay_result(diverged(Finished::new(Outcome::Passed)))
        else {
            panic!("expected a stale schedule");
        };
        insta::assert_snapshot!(misfit.decision, @"at decision 5, the schedule chooses task 1, which is not possible there");
        assert!(misfit.steps.is_empty());
    }

    #[test]
    fn the_choice_that_the_program_needs_is_named() {
        let misfit = |expected: (Option<u32>, Option<u32>), (task, outcome), ended| {
            let finished = Finished {
                decided: vec![Decided {
                    event: 0,
                    task,
                    outcome,
                    free: 1,
                    options: vec![0, 1],
                }],
                ..Finished::new(Outcome::Passed)
            };
            let diverged = Divergence {
                step: u64::from(ended),
                task: expected.0,
                outcome: expected.1,
                ended,
            };
            super::misfit(&diverged, &finished).decision
        };
        let (task, outcome) = ((Some(0), None), (None, Some(1)));
        let all = [
            misfit(task, outcome, false),
            misfit(task, task, false),
            misfit(outcome, task, false),
            misfit(outcome, outcome, false),
            misfit(task, task, true),
            misfit(outcome, task, true),
        ];
        insta::assert_snapshot!(all.join("\n"), @r"
        at decision 1, the schedule chooses the next task, but the program needs the outcome of an operation there
        at decision 1, the schedule chooses main, which is not possible there
        at decision 1, the schedule chooses the outcome of an operation, but the program needs the next task there
        at decision 1, the schedule chooses outcome 1 of an operation, which is not possible there
        at decision 2, the schedule chooses main, but the program has ended by then
        at decision 2, the schedule chooses outcome 1 of an operation, but the program has ended by then
        ");
    }
}
