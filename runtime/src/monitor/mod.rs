//! What counts as a failure of an execution.

mod deadlock;
mod panic;

pub(crate) use deadlock::{Blocked, blocked_tasks, cycle};
pub(crate) use panic::{Panic, install_hook};

use crate::engine::engine;
use crate::execution::{Ending, Execution, Fatal, Site};
use crate::platform::memory::{EngineVec, engine_vec};
use crate::platform::sys;

/// The kinds of failure, as users and scripts know them.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Kind {
    /// A panic that the test did not expect, or a missing one.
    Panic,
    /// No task can go on.
    Deadlock,
    /// A fair execution passed the step limit.
    Livelock,
    /// A task ran on without yielding (the good-samaritan rule).
    Spin,
    /// The process died.
    Crash,
    /// A block was freed twice.
    DoubleFree,
    /// The same schedule did not fail again.
    Nondeterminism,
}

impl Kind {
    /// The kind's name in the contract.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Panic => "panic",
            Self::Deadlock => "deadlock",
            Self::Livelock => "livelock",
            Self::Spin => "spin",
            Self::Crash => "crash",
            Self::DoubleFree => "double-free",
            Self::Nondeterminism => "nondeterminism",
        }
    }
}

/// A place in the source.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Place {
    pub(crate) file: EngineVec<u8>,
    pub(crate) line: u32,
    pub(crate) column: u32,
}

impl Place {
    pub(crate) fn of(site: Site) -> Self {
        let mut file = engine_vec();
        file.extend_from_slice(site.file().as_bytes());
        Self {
            file,
            line: site.line(),
            column: site.column(),
        }
    }
}

/// Why an execution failed.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Failure {
    pub(crate) kind: Kind,
    pub(crate) message: EngineVec<u8>,
    pub(crate) place: Option<Place>,
}

impl Failure {
    pub(crate) fn new(kind: Kind, message: &str) -> Self {
        let mut bytes = engine_vec();
        bytes.extend_from_slice(message.as_bytes());
        Self {
            kind,
            message: bytes,
            place: None,
        }
    }

    /// What is said of a failure that its schedule did not lead to again.
    pub(crate) fn not_repeated(mut self) -> Self {
        let intro = "the same schedule did not fail in the same way again; at first: ";
        self.message.splice(0..0, intro.bytes());
        self.kind = Kind::Nondeterminism;
        self
    }

    fn from_panic(panic: &Panic) -> Self {
        Self {
            kind: Kind::Panic,
            message: panic.message.clone(),
            place: Some(panic.place.clone()),
        }
    }
}

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

/// Whether the execution that just ended is a failure. The words for a deadlock
/// are found later: they name tasks and lines.
pub(crate) fn judge(
    execution: &Execution,
    body: &BodyOutcome,
    expectation: Expectation,
) -> Option<Failure> {
    match execution.ending {
        Ending::Deadlock => return Some(Failure::new(Kind::Deadlock, "")),
        Ending::Livelock => return Some(Failure::new(Kind::Livelock, "")),
        Ending::Spin(_) => return Some(Failure::new(Kind::Spin, "")),
        // No verdict, and so none that it failed.
        Ending::TooLong => return None,
        Ending::Finished | Ending::NoDonor(_) => {}
    }
    let panics = &execution.panics;
    match (body, expectation) {
        (BodyOutcome::Unfinished, _) => return Some(Failure::new(Kind::Deadlock, "")),
        (BodyOutcome::Failed(message), Expectation::Pass) => {
            let mut failure = Failure::new(Kind::Panic, "the test returned an error: ");
            failure.message.extend_from_slice(message);
            return Some(failure);
        }
        (BodyOutcome::Panicked, Expectation::Pass) => {
            // What panicked first is the cause: joins and poisoned locks pass it on.
            let first = panics.first().map(Failure::from_panic);
            return Some(first.unwrap_or_else(|| {
                Failure::new(
                    Kind::Panic,
                    "the test panicked (its own panic hook kept the message)",
                )
            }));
        }
        (
            BodyOutcome::Passed | BodyOutcome::Failed(_),
            Expectation::Panic | Expectation::PanicWith(_),
        ) => {
            let text = "the test did not panic in this schedule, but has #[should_panic]";
            return Some(Failure::new(Kind::Panic, text));
        }
        (BodyOutcome::Panicked, Expectation::PanicWith(expected)) => {
            let own = panics.iter().rev().find(|p| p.task.0 == 0);
            if let Some(own) = own.filter(|p| !p.contains(expected)) {
                let mut failure = Failure::from_panic(own);
                let intro = "the panic's message does not contain what #[should_panic] expects: ";
                failure.message.splice(0..0, intro.bytes());
                return Some(failure);
            }
        }
        (BodyOutcome::Passed, Expectation::Pass) | (BodyOutcome::Panicked, Expectation::Panic) => {}
    }
    // A panic that nobody received would have gone unseen under `cargo test`.
    let unseen = execution
        .live_tasks()
        .find(|(_, task)| task.unhandled_panic);
    let (task, _) = unseen?;
    if expectation != Expectation::Pass {
        return None;
    }
    let panic = panics.iter().find(|p| p.task == task);
    Some(panic.map_or_else(
        || Failure::new(Kind::Panic, "a task panicked, and no join received it"),
        Failure::from_panic,
    ))
}

/// Stops the program for an error that its allocator found.
#[cold]
pub(crate) fn stop(error: Fatal) -> ! {
    // SAFETY: the arena serves only processes that the harness set up; before that
    // the root may not be mapped, which `active` tells.
    unsafe {
        if crate::execution::active() {
            (*engine()).exploration.fatal = Some(error);
        }
        let own = sys::syscall(sys::number::GETPID, [0; 6]).cast_unsigned();
        sys::syscall(sys::number::KILL, [own, sys::SIGABRT as usize, 0, 0, 0, 0]);
    }
    sys::exit_now(134)
}
