//! `Thread`, and the current thread.
//!
//! A handle is a word that is not zero, like the real handle. For a real thread the word is the
//! pointer of the real handle, which is even. For a task the word is odd, and contains the number
//! of the task.

use std::fmt;
use std::marker::PhantomData;
use std::mem::ManuallyDrop;
use std::num::NonZero;
use std::ops::Deref;
use std::panic::Location;
use std::ptr::NonNull;

use super::ThreadId;
use crate::execution::{self, TaskId};

/// See [`std::thread::Thread`].
#[repr(transparent)]
pub struct Thread {
    word: NonNull<()>,
    /// Gives this type the auto traits of the real one.
    real: PhantomData<std::thread::Thread>,
}

enum Kind {
    Real(Lent),
    Task(TaskId),
}

/// A copy of the real handle of a [`Thread`]. It owns nothing, so it is not dropped.
struct Lent(ManuallyDrop<std::thread::Thread>);

// SAFETY: a handle owns at most a `std::thread::Thread`, which is `Send`.
unsafe impl Send for Thread {}
// SAFETY: as above, and it is `Sync`.
unsafe impl Sync for Thread {}

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
        let word = NonNull::new(real.into_raw().cast_mut()).expect("an `Arc` is not null");
        assert!(word.addr().get() & 1 == 0, "std's threads are aligned");
        Thread {
            word,
            real: PhantomData,
        }
    }

    #[inline]
    pub(super) fn of_task(task: TaskId) -> Thread {
        let word = NonZero::<usize>::MIN | (task.0 as usize) << 1;
        Thread {
            word: NonNull::without_provenance(word),
            real: PhantomData,
        }
    }

    /// Returns the task; `None` if this is the handle of a real thread.
    #[inline]
    pub(super) fn task(&self) -> Option<TaskId> {
        let word = self.word.addr().get();
        (word & 1 != 0).then_some(TaskId((word >> 1) as u32))
    }

    #[inline]
    fn kind(&self) -> Kind {
        if let Some(task) = self.task() {
            return Kind::Task(task);
        }
        // SAFETY: the word is from `into_raw`. This second handle does not outlive the first one,
        // which owns the thread's reference, and is not dropped.
        let real = unsafe { std::thread::Thread::from_raw(self.word.as_ptr()) };
        Kind::Real(Lent(ManuallyDrop::new(real)))
    }

    #[inline]
    #[track_caller]
    pub fn unpark(&self) {
        match self.kind() {
            Kind::Real(real) => real.unpark(),
            Kind::Task(task) => execution::unpark(task, Location::caller()),
        }
    }

    #[must_use]
    pub fn id(&self) -> ThreadId {
        match self.kind() {
            Kind::Real(real) => ThreadId::of_real(real.id()),
            Kind::Task(task) => ThreadId::of_task(task),
        }
    }

    #[must_use]
    pub fn name(&self) -> Option<&str> {
        match self.kind() {
            Kind::Real(real) => {
                let name: *const str = real.name()?;
                // SAFETY: the name belongs to the thread, which lives as long as this handle.
                Some(unsafe { &*name })
            }
            // SAFETY: the memory of a handle is restored when its execution is over, so that the
            // handle does not outlive the name.
            Kind::Task(task) => unsafe { execution::task_name(task) },
        }
    }
}

impl Deref for Lent {
    type Target = std::thread::Thread;

    fn deref(&self) -> &std::thread::Thread {
        &self.0
    }
}

impl Clone for Thread {
    #[inline]
    fn clone(&self) -> Thread {
        match self.kind() {
            Kind::Real(real) => Thread::of_real(real.clone()),
            Kind::Task(task) => Thread::of_task(task),
        }
    }
}

impl Drop for Thread {
    #[inline]
    fn drop(&mut self) {
        if let Kind::Real(Lent(real)) = self.kind() {
            // The dropped handle owns the real one.
            drop(ManuallyDrop::into_inner(real));
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
