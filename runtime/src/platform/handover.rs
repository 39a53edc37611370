//! The transfer of control from one flow (a task, or the exploring thread) to another: a context
//! switch, or a hand-over between kernel threads.

use core::sync::atomic::{AtomicU32, Ordering};

use super::context::{self, Context};
use super::image;
use super::stack_pool::Donor;
use crate::base::memory::Place;
use crate::base::sys;

/// The mechanism by which control passes between tasks.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Backend {
    /// In user mode, on the exploring thread.
    Fibers,
    /// Between kernel threads.
    Threads,
}

/// The value of a [`Baton`] at which a thread must wait.
const STAY: u32 = 0;
/// The value of a [`Baton`] that gives control to the waiting thread.
pub(super) const GO: u32 = 1;
/// The value of a [`Baton`] that makes the waiting thread leave its task, which never continues.
pub(super) const ABANDON: u32 = 2;

/// A futex word at which a kernel thread waits until it gets control. Only the `threads` backend
/// uses it.
pub(crate) struct Baton(AtomicU32);

impl Baton {
    pub(crate) const fn new() -> Self {
        Self(AtomicU32::new(STAY))
    }

    pub(super) fn give(&self, value: u32) {
        self.0.store(value, Ordering::Release);
        sys::futex_wake(&self.0);
    }

    pub(super) fn take(&self) -> u32 {
        loop {
            let value = self.0.swap(STAY, Ordering::Acquire);
            if value != STAY {
                return value;
            }
            sys::futex_wait(&self.0, STAY);
        }
    }
}

/// The state of the exploring thread, which is suspended while a task runs.
pub(crate) struct Explorer {
    /// The context in which the exploring thread is suspended.
    pub(crate) context: Context,
    /// The baton at which the exploring thread waits with the `threads` backend.
    pub(crate) baton: Baton,
}

/// The place of the exploring thread's state.
pub(crate) const PLACE: Place<Explorer> = Place::after(&image::PLACE);

/// The exploring thread's state.
#[inline]
pub(crate) fn explorer() -> *mut Explorer {
    PLACE.get()
}

impl Explorer {
    pub(crate) const fn new() -> Self {
        Self {
            context: Context::EMPTY,
            baton: Baton::new(),
        }
    }
}

/// One side of a transfer of control: a task, or the exploring thread.
#[derive(Clone, Copy)]
pub(crate) struct Flow {
    /// The context in which the flow is suspended.
    pub(crate) context: *mut Context,
    /// The donor (the pthread that lends its stack) on which the task runs; null for the exploring
    /// thread.
    pub(crate) donor: *mut Donor,
}

impl Flow {
    /// The flow of the exploring thread.
    pub(crate) fn of_explorer() -> Self {
        Self {
            // SAFETY: only the field's address is taken.
            context: unsafe { &raw mut (*explorer()).context },
            donor: core::ptr::null_mut(),
        }
    }
}

/// Suspends `from`, the flow of the caller, and resumes `to`. Returns when `from` is resumed.
/// Never returns if `from` is abandoned.
///
/// # Safety
/// `from` is the running flow, and `to` a suspended or new one. During the call, no reference to
/// anything that other tasks change may be held.
#[inline]
pub(crate) unsafe fn transfer(backend: Backend, from: Flow, to: Flow) {
    // SAFETY: the caller passes these flows.
    unsafe {
        match backend {
            Backend::Fibers => context::switch(from.context, to.context),
            Backend::Threads => hand_over(from, to),
        }
    }
}

unsafe fn hand_over(from: Flow, to: Flow) {
    // SAFETY: as `transfer`; batons and donors live as long as the process.
    unsafe {
        (*baton(to)).give(GO);
        if (*baton(from)).take() == ABANDON {
            leave(from.donor);
        }
    }
}

/// The baton at which the flow waits with the `threads` backend.
fn baton(flow: Flow) -> *const Baton {
    // SAFETY: only the field's address is taken; donors live as long as the process.
    unsafe {
        if flow.donor.is_null() {
            &raw const (*explorer()).baton
        } else {
            &raw const (*flow.donor).baton
        }
    }
}

/// Ends `from`, the flow of the calling task, and resumes `to`.
///
/// # Safety
/// As [`transfer`]; the caller's stack is dead afterwards.
pub(crate) unsafe fn leave_to(backend: Backend, from: Flow, to: Flow) -> ! {
    // SAFETY: the caller passes these flows. With threads the successor continues only when this
    // kernel thread has left the task's stack, which may then be reused.
    unsafe {
        match backend {
            Backend::Fibers => context::switch(from.context, to.context),
            Backend::Threads => {
                (*from.donor).successor = baton(to);
                leave(from.donor);
            }
        }
    }
    unreachable!("an ended task was resumed")
}

/// Abandons the stack of the calling task, and returns to the loop of its donor. Only for the
/// `threads` backend.
unsafe fn leave(donor: *mut Donor) -> ! {
    let mut dead = Context::EMPTY;
    // SAFETY: `base` was saved when the donor entered its task.
    unsafe { context::switch(&raw mut dead, &raw const (*donor).base) };
    unreachable!("an ended task was resumed")
}
