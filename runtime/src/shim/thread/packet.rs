//! A spawned task: how its closure runs, and how its result comes back.

use std::any::Any;
use std::cell::UnsafeCell;
use std::ffi::CString;
use std::io;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::process::abort;
use std::rc::Rc;
use std::sync::Arc;
use std::thread::Result;

use super::scope::ScopeData;
use crate::execution::{self, Site, TaskId};
use crate::platform::sys::EAGAIN;

/// The spawner's side of a task.
pub(super) struct Spawned<T> {
    pub(super) task: TaskId,
    packet: Rc<Packet<T>>,
}

/// Where a task leaves its result.
struct Packet<T> {
    scope: Option<Arc<ScopeData>>,
    outcome: UnsafeCell<Option<std::result::Result<T, Panic>>>,
}

struct Panic {
    task: TaskId,
    payload: Box<dyn Any + Send>,
}

/// What a task starts with. The closure leaves it before it runs, so that what
/// it captured is gone when the task ends.
struct Start<F, T> {
    closure: F,
    packet: Rc<Packet<T>>,
}

// SAFETY: one task runs at a time, so a counter need not be atomic. The task writes the
// outcome before it ends, everybody else reads it after that; and `T` may be sent from the
// one to the others.
unsafe impl<T: Send> Send for Spawned<T> {}
// SAFETY: as above.
unsafe impl<T: Send> Sync for Spawned<T> {}

/// Larger stacks are refused as the system refuses them: it has no such address space.
const LARGEST_STACK: usize = 1 << 40;

/// Spawns a task that runs `closure`.
///
/// # Errors
/// As `pthread_create`, for a stack that no system has.
///
/// # Safety
/// The task must not outlive what `F` and `T` borrow.
#[inline]
pub(super) unsafe fn spawn<F, T>(
    name: Option<&str>,
    stack: Option<usize>,
    scope: Option<Arc<ScopeData>>,
    closure: F,
    site: Site,
) -> io::Result<Spawned<T>>
where
    F: FnOnce() -> T + Send,
    T: Send,
{
    if stack.is_some_and(|size| size > LARGEST_STACK) {
        return Err(io::Error::from_raw_os_error(EAGAIN));
    }
    if let Some(name) = name.filter(|name| name.contains('\0')) {
        CString::new(name).expect("thread name may not contain interior null bytes");
    }
    if let Some(scope) = &scope {
        scope.begin_task();
    }
    let packet = Rc::new(Packet {
        scope,
        outcome: UnsafeCell::new(None),
    });
    let start = Start {
        closure,
        packet: packet.clone(),
    };
    let data = Box::into_raw(Box::new(start)).cast();
    // SAFETY: `run` takes back the box it is given, once, and does not unwind;
    // the closure may be sent, and the caller promises that it lives long enough.
    let task = unsafe { execution::spawn(run::<F, T>, data, stack.unwrap_or(0), name, site) };
    Ok(Spawned { task, packet })
}

/// A task's life.
///
/// # Safety
/// `data` must be a `Box<Start<F, T>>` that nobody else has.
unsafe fn run<F: FnOnce() -> T, T>(data: *mut ()) {
    // SAFETY: the caller's promise.
    let start = *unsafe { Box::from_raw(data.cast::<Start<F, T>>()) };
    let Start { closure, packet } = start;
    let outcome = catch_unwind(AssertUnwindSafe(closure)).map_err(|payload| {
        execution::panicked();
        Panic {
            task: execution::current(),
            payload,
        }
    });
    // SAFETY: nobody reads the outcome before this task has ended.
    unsafe { *packet.outcome.get() = Some(outcome) };
    execution::finish();
    // From here a scope may end: nothing that it lent is used below.
    drop(packet);
}

impl<T> Spawned<T> {
    /// Waits for the task, and takes its result.
    pub(super) fn join(self, site: Site) -> Result<T> {
        execution::join(self.task, site);
        let mut packet = self.packet;
        let packet = Rc::get_mut(&mut packet).expect("threads should not terminate unexpectedly");
        let outcome = packet
            .outcome
            .get_mut()
            .take()
            .expect("a task leaves its result");
        outcome.map_err(|panic| {
            execution::panic_handled(panic.task);
            panic.payload
        })
    }

    pub(super) fn is_finished(&self, site: Site) -> bool {
        execution::is_finished(self.task, site)
    }
}

impl<T> Drop for Packet<T> {
    fn drop(&mut self) {
        let mut panicked = None;
        // Most often it was taken by a join.
        if let Some(outcome) = self.outcome.get_mut().take() {
            panicked = outcome.as_ref().err().map(|panic| panic.task);
            if catch_unwind(AssertUnwindSafe(|| drop(outcome))).is_err() {
                // As std does: there is no one left to catch it.
                eprintln!("fatal runtime error: thread result panicked on drop, aborting");
                abort();
            }
        }
        if let Some(scope) = &self.scope {
            scope.end_task(panicked);
        }
    }
}
