//! `Thread`, and the one that runs.

use std::fmt;
use std::panic::Location;
use std::sync::OnceLock;

use super::ThreadId;
use crate::execution::{self, TaskId};

/// See [`std::thread::Thread`].
#[derive(Clone)]
pub struct Thread(Kind);

#[derive(Clone)]
enum Kind {
    Real(std::thread::Thread),
    Task {
        task: TaskId,
        /// Copied from the engine when first asked for.
        name: OnceLock<Option<Box<str>>>,
    },
}

/// See [`std::thread::current`].
#[must_use]
pub fn current() -> Thread {
    if execution::active() {
        Thread::of_task(execution::current())
    } else {
        Thread::of_real(std::thread::current())
    }
}

impl Thread {
    pub(super) fn of_real(real: std::thread::Thread) -> Thread {
        Thread(Kind::Real(real))
    }

    pub(super) fn of_task(task: TaskId) -> Thread {
        Thread(Kind::Task {
            task,
            name: OnceLock::new(),
        })
    }

    #[inline]
    #[track_caller]
    pub fn unpark(&self) {
        match &self.0 {
            Kind::Real(real) => real.unpark(),
            Kind::Task { task, .. } => execution::unpark(*task, Location::caller()),
        }
    }

    #[must_use]
    pub fn id(&self) -> ThreadId {
        match &self.0 {
            Kind::Real(real) => ThreadId::of_real(real.id()),
            Kind::Task { task, .. } => ThreadId::of_task(*task),
        }
    }

    #[must_use]
    pub fn name(&self) -> Option<&str> {
        match &self.0 {
            Kind::Real(real) => real.name(),
            Kind::Task { task, name } => {
                name.get_or_init(|| execution::task_name(*task)).as_deref()
            }
        }
    }
}

impl fmt::Debug for Thread {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Thread")
            .field("id", &self.id())
            .field("name", &self.name())
            .finish_non_exhaustive()
    }
}
