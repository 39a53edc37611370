//! The test's outcome: whether its panics and errors are failures under the test's attributes.

use chess_vocabulary::Kind;

use super::blame::blamed;
use super::{BodyOutcome, End, Expectation, Failure, Monitor};
use crate::base::memory::{EngineVec, engine_vec};
use crate::base::source_path::Place;
use crate::execution::{Ending, Execution, Panic};

/// The maximum number of panics remembered in one execution; programs that panic on purpose may
/// have many.
const REMEMBERED: usize = 64;

/// The consequence of a panic.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Fate {
    /// The panic ended the test's body.
    Failed,
    /// The panic ended its task, and a join received it.
    Joined,
    /// The panic ended its task, and no join received it.
    Unseen,
    /// The task caught the panic, or had not ended at the end of the execution.
    Unknown,
}

impl Fate {
    /// The name of the consequence in the protocol. `None` if the consequence is unknown.
    pub(crate) fn name(self) -> Option<&'static str> {
        match self {
            Self::Failed => Some("failed"),
            Self::Joined => Some("joined"),
            Self::Unseen => Some("unseen"),
            Self::Unknown => None,
        }
    }
}

/// Judges the end of the test's body.
pub(crate) struct Outcome {
    pub(crate) panics: EngineVec<Panic>,
    /// Panics that no join received are not failures.
    pub(crate) allows_unseen: bool,
    /// The execution is the first one of the test. If it has no preemptions, panics that no join
    /// receives count as intended, because `cargo test` would not report them.
    pub(crate) is_first: bool,
    /// Places at which panics are intended: they are no failures, even if no join receives them.
    pub(crate) intended: EngineVec<Place>,
}

impl Outcome {
    pub(super) const fn new() -> Self {
        Self {
            panics: engine_vec(),
            allows_unseen: false,
            is_first: false,
            intended: engine_vec(),
        }
    }

    /// Makes panics at this line intended: they are no failures, even if no join receives them.
    pub(crate) fn intend(&mut self, file: &str, line: u32) {
        let mut name = engine_vec();
        name.extend_from_slice(file.as_bytes());
        self.intended.push(Place {
            file: name,
            line,
            column: 0,
        });
    }

    fn is_intended(&self, place: &Place) -> bool {
        let mut intended = self.intended.iter();
        intended.any(|it| (&it.file, it.line) == (&place.file, place.line))
    }

    /// The failure that follows from the end of the test's body and from the test's attributes. For
    /// panics of tasks that no join received, see [`Self::unseen`].
    fn of_body(&self, end: &End<'_>) -> Option<Failure> {
        match (end.body, end.expectation) {
            (BodyOutcome::Failed(message), Expectation::Pass) => {
                let mut failure = Failure::new(Kind::Panic, "the test returned an error: ");
                failure.message.extend_from_slice(message);
                Some(failure)
            }
            (BodyOutcome::Panicked(said), Expectation::Pass) => {
                let ended_task =
                    |panic: &Panic| end.execution.task(panic.task).panicked && self.is_last(panic);
                let blamed = blamed(&self.panics, said, ended_task).map(Failure::from_panic);
                Some(blamed.unwrap_or_else(|| {
                    let text = "the test panicked (its own panic hook kept the message)";
                    Failure::new(Kind::Panic, text)
                }))
            }
            (
                BodyOutcome::Passed | BodyOutcome::Failed(_),
                Expectation::Panic | Expectation::PanicWith(_),
            ) => {
                let text = "the test did not panic in this schedule, but has #[should_panic]";
                Some(Failure::new(Kind::Panic, text))
            }
            (BodyOutcome::Panicked(said), Expectation::PanicWith(expected)) => {
                let text = String::from_utf8_lossy(said);
                if text.contains(expected) {
                    return None;
                }
                let own = self.panics.iter().rev().find(|p| p.message == *said);
                let resumed = || Failure::new(Kind::Panic, &text);
                let mut failure = own.map_or_else(resumed, Failure::from_panic);
                let intro = "the message of the panic does not contain the text that #[should_panic] \
                             expects; the message: ";
                failure.message.splice(0..0, intro.bytes());
                Some(failure)
            }
            (BodyOutcome::Unfinished, _)
            | (BodyOutcome::Passed, Expectation::Pass)
            | (BodyOutcome::Panicked(_), Expectation::Panic) => None,
        }
    }

    /// The consequence of `panic`, which must be a reference to an element of `self.panics`.
    pub(crate) fn fate(&self, panic: &Panic, execution: &Execution, body: &BodyOutcome) -> Fate {
        let task = execution.task(panic.task);
        let ends_body = || matches!(body, BodyOutcome::Panicked(said) if *said == panic.message);
        if !self.is_last(panic) {
            Fate::Unknown
        } else if panic.task.0 == 0 && ends_body() {
            Fate::Failed
        } else if !task.panicked {
            Fate::Unknown
        } else if task.unhandled_panic {
            Fate::Unseen
        } else {
            Fate::Joined
        }
    }

    /// Whether this is the last panic of its task.
    fn is_last(&self, panic: &Panic) -> bool {
        let mut panics = self.panics.iter().rev();
        let last = panics.find(|other| other.task == panic.task);
        last.is_some_and(|last| core::ptr::eq(last, panic))
    }

    /// The failure for a panic that ended a task and that no join received. There is none if the
    /// execution is the first one and has no preemptions: then the place of the panic becomes
    /// intended.
    fn unseen(&mut self, end: &End<'_>) -> Option<Failure> {
        if end.expectation != Expectation::Pass || self.allows_unseen {
            return None;
        }
        let tasks = end.execution.live_tasks();
        for (task, _) in tasks.filter(|(_, task)| task.unhandled_panic) {
            let Some(panic) = self.panics.iter().rev().find(|p| p.task == task) else {
                let text = "a task panicked, and no join received it";
                return Some(Failure::new(Kind::Panic, text));
            };
            if self.is_intended(&panic.place) {
                continue;
            }
            if !self.is_first || end.execution.recording.preemptions > 0 {
                return Some(Failure::from_panic(panic));
            }
            let place = panic.place.clone();
            self.intended.push(place);
        }
        None
    }
}

impl Monitor for Outcome {
    #[inline]
    fn begin(&mut self) {
        self.panics.clear();
    }

    fn panicked(&mut self, panic: &Panic) {
        // The last panic may be the one that ends the test.
        self.panics.truncate(REMEMBERED - 1);
        self.panics.push(panic.clone());
    }

    #[inline]
    fn end(&mut self, end: &End<'_>) -> Option<Failure> {
        match end.execution.ending {
            Ending::Finished | Ending::NoDonor(_) | Ending::Unclean | Ending::NeedsProcess(_) => {
                self.of_body(end).or_else(|| self.unseen(end))
            }
            _ => None,
        }
    }
}
