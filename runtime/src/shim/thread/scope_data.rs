//! The state of a scope of tasks, which its threads share.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};

use super::Thread;
use crate::execution::{self, Op, Site, TaskId};
use crate::monitor::race;

/// The state of a scope of tasks.
pub(super) struct ScopeData {
    /// The number of tasks of the scope that still run the user's code.
    pub(super) running: AtomicUsize,
    /// The tasks that panicked and have ended, if no `join` has returned the panic.
    pub(super) panicked: Mutex<Vec<TaskId>>,
    pub(super) main: Thread,
}

impl ScopeData {
    pub(super) fn begin_task(&self) {
        self.running.fetch_add(1, Ordering::Relaxed);
    }

    /// Records that a task of the scope will not run more of the user's code. `panicked` is the
    /// task if it panicked and no `join` has returned the panic, otherwise `None`.
    pub(super) fn end_task(&self, panicked: Option<TaskId>) {
        if let Some(task) = panicked {
            self.panicked().push(task);
        }
        execution::leave_scope(self.object());
        race::release(self.object(), Op::Exit, None);
        if self.running.fetch_sub(1, Ordering::Release) == 1 {
            execution::wake_all(self.object());
        }
    }

    pub(super) fn wait_for_all(&self, site: Site) {
        execution::before(Op::ScopeEnd, self.object(), site);
        execution::before_scope_wait(self.object());
        while self.running.load(Ordering::Acquire) != 0 {
            execution::wait_parked(Op::ScopeEnd, self.object(), None, site);
        }
        let op = Op::ScopeEnd;
        execution::effect(op, self.object(), op.effect(), site);
        execution::end_scope(self.object());
    }

    pub(super) fn panicked(&self) -> std::sync::MutexGuard<'_, Vec<TaskId>> {
        self.panicked.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn object(&self) -> usize {
        (&raw const *self).addr()
    }
}
