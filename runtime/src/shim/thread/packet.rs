//! The common part of thread handles: the run of a task's closure, and the return of its result.

use std::any::Any;
use std::cell::UnsafeCell;
use std::ffi::CString;
use std::io;
use std::mem::{ManuallyDrop, MaybeUninit};
use std::ops::Deref;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::process::abort;
use std::sync::Arc;
use std::sync::atomic::Ordering::{Acquire, Release};
use std::thread::Result;

use super::Thread;
use super::scope_data::ScopeData;
use crate::base::sys::{EAGAIN, EINVAL};
use crate::execution::{self, How, Op, Site, TaskId};
use crate::monitor::race;

/// A handle of a thread. `R` is the type of the real handle of a thread that is not a task. This
/// type has the size of the handle of std.
pub(super) struct Joining<R, T> {
    thread: Thread,
    shared: Owner<Shared<R, T>>,
    /// Unused memory. The handle of std has the pthread in its place. The engine has the pthread of
    /// a task.
    _pthread: MaybeUninit<usize>,
}

/// The data to which a handle of a thread leads.
enum Shared<R, T> {
    /// The thread is a task, which shares the packet with the handle.
    Task(Packet<T>),
    Real(R),
}

/// An owner of the data that a task and its handle share. The `Arc` inside is that of std, and the
/// race detector does not see its drop. So the drop of this owner announces the memory ordering of
/// the drop of an `Arc`.
struct Owner<S>(Arc<S>);

impl<S> Owner<S> {
    fn new(shared: S) -> Self {
        Self(Arc::new(shared))
    }

    /// Another owner.
    fn share(&self) -> Self {
        Self(Arc::clone(&self.0))
    }

    /// The data, if there is no other owner.
    fn get_mut(&mut self) -> Option<&mut S> {
        Arc::get_mut(&mut self.0)
    }

    /// The data, if there is no other owner.
    fn into_inner(self) -> Option<S> {
        let this = ManuallyDrop::new(self);
        // SAFETY: `this` is neither used again nor dropped.
        Arc::into_inner(unsafe { std::ptr::read(&raw const this.0) })
    }
}

impl<S> Deref for Owner<S> {
    type Target = S;

    fn deref(&self) -> &S {
        &self.0
    }
}

impl<S> Drop for Owner<S> {
    fn drop(&mut self) {
        if race::is_watched() {
            let counter = Arc::as_ptr(&self.0).addr();
            race::count(counter, (How::Exchange, Release), Op::Exit);
            if Arc::strong_count(&self.0) == 1 {
                race::count(counter, (How::Load, Acquire), Op::Exit);
            }
        }
    }
}

/// A handle of std.
pub(super) trait RealHandle<T> {
    fn thread(&self) -> &std::thread::Thread;
    fn join(self) -> Result<T>;
    fn is_finished(&self) -> bool;
}

/// The place for the result of a task.
struct Packet<T> {
    scope: Option<Arc<ScopeData>>,
    outcome: UnsafeCell<Option<std::result::Result<T, Panic>>>,
}

struct Panic {
    task: TaskId,
    payload: Box<dyn Any + Send>,
}

/// The argument of a new task. The closure is moved out of this structure before it runs, so that
/// the values that it has captured are dropped before the task ends.
struct Start<F, R, T> {
    closure: F,
    shared: Owner<Shared<R, T>>,
}

// SAFETY: a real handle has one owner. The task writes the outcome before it ends, and all others
// read it after that; and `T` may be sent from the task to the others. A real handle is itself
// `Send` if `T` is.
unsafe impl<R, T: Send> Send for Joining<R, T> {}
// SAFETY: as above.
unsafe impl<R, T: Send> Sync for Joining<R, T> {}

/// The largest size of a thread's stack, in bytes. The spawn of a thread with a larger stack fails.
/// Natively it would fail, too, because a process has too little memory for such a stack.
const LARGEST_STACK: usize = 1 << 40;

/// The size of the memory that `pthread_create` adds to a stack: one page as a guard.
const GUARD: usize = 4_096;

/// The error of `pthread_create` for a stack of this size, if the stack is too large for any
/// system.
fn stack_error(size: usize) -> Option<i32> {
    let is_overflow = size.checked_add(GUARD).is_none();
    let too_large = if is_overflow { EINVAL } else { EAGAIN };
    (size > LARGEST_STACK).then_some(too_large)
}

/// Spawns a task that runs `closure`.
///
/// # Errors
/// Returns the error of `pthread_create` for a stack that is too large for any system.
///
/// # Panics
/// If `name` contains a null byte.
///
/// # Safety
/// The task must not outlive the borrows of `F` and `T`.
#[inline]
pub(super) unsafe fn spawn<F, R, T>(
    name: Option<&str>,
    stack: Option<usize>,
    scope: Option<Arc<ScopeData>>,
    closure: F,
    site: Site,
) -> io::Result<Joining<R, T>>
where
    F: FnOnce() -> T + Send,
    T: Send,
{
    if let Some(error) = stack.and_then(stack_error) {
        return Err(io::Error::from_raw_os_error(error));
    }
    if let Some(name) = name.filter(|name| name.contains('\0')) {
        CString::new(name).expect("thread name may not contain interior null bytes");
    }
    if let Some(scope) = &scope {
        scope.begin_task();
    }
    let shared = Owner::new(Shared::Task(Packet {
        scope,
        outcome: UnsafeCell::new(None),
    }));
    let start = Start {
        closure,
        shared: shared.share(),
    };
    let data = Box::into_raw(Box::new(start)).cast();
    // SAFETY: `run` takes back the box that it gets, once, and does not unwind; the closure may be
    // sent, and the caller ensures that it lives long enough.
    let task = unsafe { execution::spawn(run::<F, R, T>, data, stack.unwrap_or(0), name, site) };
    Ok(Joining {
        thread: Thread::of_task(task),
        shared,
        _pthread: MaybeUninit::uninit(),
    })
}

/// Runs a task from its start to its end.
///
/// # Safety
/// `data` must be a `Box<Start<F, R, T>>` without another owner.
unsafe fn run<F: FnOnce() -> T, R, T>(data: *mut ()) {
    // SAFETY: the caller passes such a box.
    let start = *unsafe { Box::from_raw(data.cast::<Start<F, R, T>>()) };
    let Start { closure, shared } = start;
    let outcome = catch_unwind(AssertUnwindSafe(closure)).map_err(|payload| {
        execution::panicked();
        Panic {
            task: execution::current(),
            payload,
        }
    });
    if let Shared::Task(packet) = &*shared {
        // SAFETY: the outcome is not read before this task has ended.
        unsafe { *packet.outcome.get() = Some(outcome) };
    }
    execution::finish();
    // This drop may let the scope of the thread end, after it has dropped the outcome. Nothing that
    // the closure borrowed is used after that.
    drop(shared);
}

impl<R: RealHandle<T>, T> Joining<R, T> {
    pub(super) fn of_real(real: R) -> Self {
        Joining {
            thread: Thread::of_real(real.thread().clone()),
            shared: Owner::new(Shared::Real(real)),
            _pthread: MaybeUninit::uninit(),
        }
    }

    pub(super) fn thread(&self) -> &Thread {
        &self.thread
    }

    /// Waits for the end of the thread, and returns its result.
    pub(super) fn join(mut self, site: Site) -> Result<T> {
        let Some(task) = self.thread.task() else {
            return self.into_real().expect("it is no task").join();
        };
        execution::join(task, site);
        let Some(Shared::Task(packet)) = self.shared.get_mut() else {
            panic!("threads should not terminate unexpectedly")
        };
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
        match self.real() {
            Ok(real) => real.is_finished(),
            Err(task) => execution::is_finished(task, site),
        }
    }

    /// The real handle, or the task.
    pub(super) fn real(&self) -> std::result::Result<&R, TaskId> {
        match &*self.shared {
            Shared::Real(real) => Ok(real),
            Shared::Task(_) => Err(self.thread.task().expect("it is a task's")),
        }
    }

    pub(super) fn into_real(self) -> Option<R> {
        match self.shared.into_inner() {
            Some(Shared::Real(real)) => Some(real),
            _ => None,
        }
    }
}

impl<T> Drop for Packet<T> {
    fn drop(&mut self) {
        let mut panicked = None;
        // In most cases a join has taken the outcome.
        if let Some(outcome) = self.outcome.get_mut().take() {
            panicked = outcome.as_ref().err().map(|panic| panic.task);
            if catch_unwind(AssertUnwindSafe(|| drop(outcome))).is_err() {
                // The process aborts, as in std, because no code is left to catch the panic.
                eprintln!("fatal runtime error: thread result panicked on drop, aborting");
                abort();
            }
        }
        if let Some(scope) = &self.scope {
            scope.end_task(panicked);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{EAGAIN, EINVAL, stack_error};

    #[test]
    fn a_stack_that_is_too_large_has_the_native_error() {
        assert_eq!(stack_error(1 << 30), None);
        assert_eq!(stack_error((1 << 40) + 1), Some(EAGAIN));
        assert_eq!(stack_error(usize::MAX - 4_096), Some(EAGAIN));
        assert_eq!(stack_error(usize::MAX - 4_095), Some(EINVAL));
        assert_eq!(stack_error(usize::MAX), Some(EINVAL));
    }
}
