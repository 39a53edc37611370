//! The access of the tasks to the execution that they belong to.
//!
//! [`Running`] is the only safe way to the state of the execution. A closure borrows the state and
//! returns a result, or the [`Step`] to take. The step is performed after the borrow has ended: so
//! no reference into the execution lives while another task runs.
//!
//! Within the closure no code may borrow the execution again. Code of the engine does not: its
//! collections lie in the engine's memory, so that they call no interposed allocator, and the
//! monitors and listeners are given the execution as an argument. Builds for tests check this rule,
//! see [`borrow`](super::borrow).

use super::TaskId;
use super::borrow::Borrow;
use super::current::{checks, is_task};
use super::state::{Execution, execution};
use super::task::State;
use super::terms::Step;
use super::transfer::perform;
use crate::base::memory::{EngineVec, engine_vec};
use crate::search::ObjectId;

use core::marker::PhantomData;

/// The access of a task to the running execution. The type has no size: a value only shows that
/// [`is_task`] was checked, so that there is an execution.
#[derive(Clone, Copy)]
pub(crate) struct Running {
    /// Keeps the value in its thread.
    thread: PhantomData<*mut ()>,
}

impl Running {
    /// Borrows the execution for `act`, which must not borrow it again.
    #[inline(always)]
    #[expect(
        clippy::inline_always,
        reason = "it is the access to a place, and no call"
    )]
    #[expect(
        clippy::unused_self,
        reason = "its existence shows that there is an execution"
    )]
    pub(crate) fn with<R>(self, act: impl FnOnce(&mut Execution) -> R) -> R {
        let _borrow = Borrow::begin();
        // SAFETY: there is an execution, and one task runs at a time. The borrow ends before this
        // task gives way to another one, since only `perform` does that, and it is called only
        // outside of borrows. No other code of this task uses the execution meanwhile, see above.
        act(unsafe { &mut *execution() })
    }

    /// Borrows the execution for `decide`, and performs the step that it returns. Returns when the
    /// current task runs again, and never if the execution ends first.
    #[inline(always)]
    #[expect(clippy::inline_always, reason = "as `with`")]
    pub(crate) fn step(self, decide: impl FnOnce(&mut Execution) -> Step) {
        let step = self.with(decide);
        // SAFETY: the borrow has ended, and `Borrow` lets no other one enclose it.
        unsafe { perform(step) };
    }

    /// As [`Self::step`], for a `decide` that also returns a result. Returns this result after the
    /// step.
    #[inline(always)]
    #[expect(clippy::inline_always, reason = "as `with`")]
    pub(crate) fn step_and<R>(self, decide: impl FnOnce(&mut Execution) -> (Step, R)) -> R {
        let (step, result) = self.with(decide);
        // SAFETY: as in `step`.
        unsafe { perform(step) };
        result
    }

    /// The object at `address`, which is added at its first use. [`ObjectId::NONE`] for address 0.
    #[inline]
    pub(super) fn object(self, address: usize) -> ObjectId {
        self.with(|it| it.object(address))
    }
}

/// The running execution, if the caller is one of its tasks.
#[inline]
pub(crate) fn running() -> Option<Running> {
    let thread = PhantomData;
    is_task().then_some(Running { thread })
}

/// The running execution, if the caller is the condition of an invariant. No borrow lives while a
/// condition runs.
#[inline]
pub(super) fn checked() -> Option<Running> {
    let thread = PhantomData;
    checks().then_some(Running { thread })
}

/// As [`Running::with`]. `None` if the caller is not a task.
#[inline]
pub(crate) fn with<R>(act: impl FnOnce(&mut Execution) -> R) -> Option<R> {
    Some(running()?.with(act))
}

/// The tasks that have not ended.
pub(crate) fn unfinished_tasks() -> EngineVec<TaskId> {
    let mut tasks = engine_vec();
    with(|execution| {
        let unfinished = execution
            .live_tasks()
            .filter(|(_, task)| task.state != State::Finished);
        tasks.extend(unfinished.map(|(id, _)| id));
    });
    tasks
}
