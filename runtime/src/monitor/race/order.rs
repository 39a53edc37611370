//! What shims tell: plain accesses, and what orders tasks. Each function does nothing
//! unless the caller is a task of a program that tells of its accesses.

use core::sync::atomic::Ordering;

use super::{GLANCE, Glance, Races, glance, is_watched};
use crate::execution::{self, Op, Site, TaskId, active, current};
use crate::monitor::monitors;

/// How an atomic access touches its location.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum How {
    /// It reads.
    Load,
    /// It writes, whatever was there.
    Store,
    /// It reads and writes in one step.
    Exchange,
}

/// An atomic access.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Atomic {
    pub(crate) op: Op,
    pub(crate) how: How,
    pub(crate) order: Ordering,
    pub(crate) site: Option<Site>,
}

/// Notes what the running task is about to do to memory, if that is all there is to do about
/// it; whether it was. Else [`told`] is to be told. The access is of a `kind` (whether it
/// writes, whether it is a borrow); the `line` comes with whether it is known that its code is
/// explored.
#[inline(always)]
#[expect(
    clippy::inline_always,
    reason = "it is asked before each access in the user's code"
)]
pub(crate) fn is_noted(
    address: usize,
    length: usize,
    kind: (bool, bool),
    line: (Site, bool),
) -> bool {
    // SAFETY: it is the monitor's only where an execution runs, so the engine is mapped; no
    // unique reference to the monitor or its cells lives while the program's code runs. No page
    // is in its table whose cells are gone.
    unsafe { (*GLANCE.get()).notes(address, length, kind, line) }
}

/// The running task is about to access memory.
#[inline]
pub(crate) fn told(
    address: usize,
    length: usize,
    (is_write, is_borrow): (bool, bool),
    (site, is_explored): (Site, bool),
) {
    if !is_watched() || length == 0 {
        return;
    }
    let monitors = monitors();
    if is_explored {
        // SAFETY: as below.
        unsafe { (*monitors).races.explore(site) };
    }
    // SAFETY: as in `is_noted`.
    let is_noted = unsafe {
        (*monitors)
            .races
            .notes_first((address, length), (is_write, is_borrow), site)
    };
    if !is_noted {
        execution::data_access(address, length, is_write, is_borrow, site);
    }
}

/// Nobody looks until [`go_on`], which is to be given what this gives back: the running task
/// is none for a while.
pub(crate) fn pause() -> Paused {
    Paused(GLANCE.replace(&raw const glance::NONE))
}

/// See [`pause`].
pub(crate) fn go_on(paused: &Paused) {
    GLANCE.set(paused.0);
}

/// Who looked.
pub(crate) struct Paused(*const Glance);

/// A new task, made by `parent`; the first one by none.
pub(crate) fn added(parent: Option<TaskId>, task: TaskId, site: Option<Site>) {
    with_if_on(|races| match parent {
        None => _ = races.add_task(task, None),
        Some(parent) => races.spawned(parent, task, site),
    });
}

/// The running task has begun.
pub(crate) fn enter() {
    // SAFETY: as in `with_if_on`.
    let races = unsafe { &mut (*monitors()).races };
    // Where no race is looked for any more, accesses are told for others that look.
    if races.is_wanted {
        GLANCE.set(&raw const races.glance);
    }
}

/// The running task is about to end.
pub(crate) fn leave() {
    GLANCE.set(&raw const glance::NONE);
}

/// `next` runs after `task`.
#[inline]
pub(crate) fn switched(task: TaskId, next: TaskId) {
    with_if_on(|races| races.switched(task, next));
}

/// The running task calls opaque code, within a call that is one step.
#[inline]
pub(crate) fn enter_unseen() {
    with(Races::enter_unseen);
}

/// The running task goes on where it was, perhaps in opaque code.
#[inline]
pub(crate) fn resume_unseen() {
    with(Races::resume_unseen);
}

/// `task` goes on after the end of `other`.
pub(crate) fn joined(task: TaskId, other: TaskId) {
    with_if_on(|races| races.joined(task, other));
}

/// Another task begins to use this memory as its stack.
pub(crate) fn forget(low: usize, high: usize) {
    with_if_on(|races| races.forget(low, high));
}

/// The running task performs an atomic access.
#[inline]
pub(crate) fn atomic(address: usize, length: usize, access: Atomic) {
    if is_watched() {
        watched(address, length, access);
    }
}

#[inline(never)]
fn watched(address: usize, length: usize, access: Atomic) {
    with(|races, task| races.atomic(task, address, length, access));
}

/// The running task performs an atomic operation on a counter that only such operations touch.
pub(crate) fn count(counter: usize, access: (How, Ordering), op: Op) {
    with(|races, task| races.count(task, counter, access, op));
}

/// A fence of the running task.
pub(crate) fn fence(order: Ordering, site: Site) {
    with(|races, task| races.fence(task, order, Some(site)));
}

/// The running task learns what was released to `object`.
pub(crate) fn acquire(object: usize) {
    acquire_for(object, true);
}

/// As [`acquire`], where others may have the object too, unless it is taken alone.
pub(crate) fn acquire_for(object: usize, excludes: bool) {
    with(|races, task| races.acquire(task, object, excludes));
}

/// The running task releases what it knows to `object`.
pub(crate) fn release(object: usize, op: Op, site: Option<Site>) {
    release_to(object, true, op, site);
}

/// As [`release`], to all or only to those that take the object alone.
pub(crate) fn release_to(object: usize, to_all: bool, op: Op, site: Option<Site>) {
    with(|races, task| races.release(task, object, to_all, (op, site)));
}

/// As [`release`], with what the running task does from now on.
pub(crate) fn release_on(object: usize) {
    with(|races, task| races.release_on(task, object));
}

/// The running task sends what it knows along with a message; what names it.
pub(crate) fn send(op: Op, site: Option<Site>) -> Message {
    let mut message = Message(None);
    with(|races, task| message.0 = Some(races.send(task, op, site)));
    message
}

/// The running task receives a message, and what was sent along with it.
pub(crate) fn receive(message: Message) {
    with(|races, task| {
        if let Some(sent) = message.0 {
            races.receive(task, sent);
        }
    });
}

/// What the sender of a message knew, for its receiver.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Message(Option<u32>);

/// Tells it what the running task does.
#[inline]
fn with(tell: impl FnOnce(&mut Races, TaskId)) {
    if is_watched() && active() {
        with_if_on(|races| tell(races, current()));
    }
}

/// Tells the monitor something, if it looks.
#[inline]
fn with_if_on(tell: impl FnOnce(&mut Races)) {
    // SAFETY: called in an execution, so the engine is mapped, and not by a monitor.
    let races = unsafe { &mut (*monitors()).races };
    if races.is_on {
        tell(races);
    }
}
