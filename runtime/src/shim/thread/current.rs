//! `Thread`, and the one that runs.
//!
//! A handle is a word that is not zero, as the real one: that of a real thread is the
//! real handle's pointer, which is even; that of a task is odd, and names the task.

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
    /// Its traits are the real one's.
    real: PhantomData<std::thread::Thread>,
}

enum Kind {
    Real(Lent),
    Task(TaskId),
}

/// A real handle that is another one's, and is not dropped.
struct Lent(ManuallyDrop<std::thread::Thread>);

// SAFETY: `std::thread::Thread` is the only thing a handle may own, and is `Send`.
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

    /// The task, if it is one's handle.
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
        // SAFETY: the word is from `into_raw`. This second handle lives shorter than the
        // first one, which owns the thread's, and is not dropped.
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
                // SAFETY: the name is the thread's, which lives as long as this handle.
                Some(unsafe { &*name })
            }
            // SAFETY: memory that has a handle is put back when its execution is over.
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
            // This is the drop of the handle that owns it.
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
