//! The test's outcome: panics and errors, and what its attributes make of them.

use super::{Failure, Kind, Monitor, Panic};
use crate::execution::{Ending, Execution};
use crate::platform::memory::{EngineVec, engine_vec};

/// Panics remembered in one execution; programs that panic on purpose may have many.
const REMEMBERED: usize = 64;

/// What the test's attributes ask for.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Expectation {
    /// The test returns, and not with an error.
    Pass,
    /// The test panics (`should_panic`).
    Panic,
    /// The test panics with a message that contains this.
    PanicWith(&'static str),
}

/// How the test's body ended.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) enum BodyOutcome {
    /// It did not return in this execution.
    Unfinished,
    /// It returned, and not with an error.
    Passed,
    /// It returned an error, in these words.
    Failed(EngineVec<u8>),
    /// It panicked.
    Panicked,
}

/// An execution that has just ended.
pub(crate) struct End<'a> {
    pub(crate) execution: &'a Execution,
    pub(crate) body: &'a BodyOutcome,
    pub(crate) expectation: Expectation,
}

/// Judges how the test's body ended.
pub(crate) struct Outcome {
    pub(crate) panics: EngineVec<Panic>,
}

impl Outcome {
    pub(super) const fn new() -> Self {
        Self {
            panics: engine_vec(),
        }
    }

    /// What the body's end is, by itself.
    fn of_body(&self, body: &BodyOutcome, expectation: Expectation) -> Option<Failure> {
        match (body, expectation) {
            (BodyOutcome::Failed(message), Expectation::Pass) => {
                let mut failure = Failure::new(Kind::Panic, "the test returned an error: ");
                failure.message.extend_from_slice(message);
                Some(failure)
            }
            (BodyOutcome::Panicked, Expectation::Pass) => {
                // What panicked first is the cause: joins and poisoned locks pass it on.
                let first = self.panics.first().map(Failure::from_panic);
                Some(first.unwrap_or_else(|| {
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
            (BodyOutcome::Panicked, Expectation::PanicWith(expected)) => {
                let own = self.panics.iter().rev().find(|p| p.task.0 == 0)?;
                if own.contains(expected) {
                    return None;
                }
                let mut failure = Failure::from_panic(own);
                let intro = "the panic's message does not contain what #[should_panic] expects: ";
                failure.message.splice(0..0, intro.bytes());
                Some(failure)
            }
            (BodyOutcome::Unfinished, _)
            | (BodyOutcome::Passed, Expectation::Pass)
            | (BodyOutcome::Panicked, Expectation::Panic) => None,
        }
    }

    /// A panic that nobody received: it would go unseen under `cargo test`.
    fn unseen(&self, end: &End<'_>) -> Option<Failure> {
        let mut tasks = end.execution.live_tasks();
        let (task, _) = tasks.find(|(_, task)| task.unhandled_panic)?;
        if end.expectation != Expectation::Pass {
            return None;
        }
        let panic = self.panics.iter().find(|p| p.task == task);
        Some(panic.map_or_else(
            || Failure::new(Kind::Panic, "a task panicked, and no join received it"),
            Failure::from_panic,
        ))
    }
}

impl Monitor for Outcome {
    #[inline]
    fn begin(&mut self) {
        self.panics.clear();
    }

    fn panicked(&mut self, panic: &Panic) {
        if self.panics.len() < REMEMBERED {
            self.panics.push(panic.clone());
        }
    }

    #[inline]
    fn end(&mut self, end: &End<'_>) -> Option<Failure> {
        match end.execution.ending {
            Ending::Finished | Ending::NoDonor(_) => self
                .of_body(end.body, end.expectation)
                .or_else(|| self.unseen(end)),
            _ => None,
        }
    }
}
