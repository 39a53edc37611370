//! The interface for shims: reports of plain accesses, and of operations that order tasks. Each
//! function does nothing unless the caller is a task of a program that reports its accesses.

use core::sync::atomic::Ordering;

use super::lines::mark_at;
use super::plain::data_access;
use super::stacks::SHORT;
use super::{FAST_PATH, FastPath, Races, fast_path, is_watched};
use crate::base::source_path::Place;
use crate::execution::{self, How, Op, Site, TaskId, active, current, marked_line};
use crate::memory::{Access, Performed, Stale, State, Word, Would};
use crate::monitor::monitors;

/// An atomic access.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Atomic {
    pub(crate) op: Op,
    pub(crate) how: How,
    pub(crate) order: Ordering,
    pub(crate) site: Option<Site>,
}

/// Called before an access of the running task to memory. Records the access if it needs no check.
/// Returns whether it is recorded. If not, the caller must call [`report_access`]. The `kind`
/// consists of two flags: whether the access writes, and whether it is a borrow. `site` returns the
/// line, or `None` if the line's code may not be explored.
#[inline(always)]
#[expect(
    clippy::inline_always,
    reason = "it is asked before each access in the user's code"
)]
pub(crate) fn is_noted(
    address: usize,
    length: usize,
    kind: (bool, bool),
    site: impl FnOnce() -> Option<Site>,
) -> bool {
    let mark = || site().map(|site| mark_at(core::ptr::from_ref(site).addr()));
    // SAFETY: these are the monitor's tables only while an execution runs, so the engine is mapped.
    // No unique reference to the monitor or its cells lives while the program's code runs. The
    // tables contain no page whose cells no longer exist.
    unsafe { (*tables()).notes(address, length, kind, mark) }
}

/// As [`is_noted`], but returns `false` while accesses are counted.
#[inline(always)]
#[expect(clippy::inline_always, reason = "as for `is_noted`")]
fn is_noted_uncounted(
    address: usize,
    length: usize,
    is_write: bool,
    site: impl FnOnce() -> Option<Site>,
) -> bool {
    let mark = || site().map(|site| mark_at(core::ptr::from_ref(site).addr()));
    // SAFETY: as in `is_noted`.
    unsafe { (*FAST_PATH.get()).notes(address, length, (is_write, false), mark) }
}

/// As [`is_noted`], for a line whose code may not be explored.
#[inline(always)]
#[expect(clippy::inline_always, reason = "as for `is_noted`")]
pub(crate) fn is_noted_at(address: usize, length: usize, kind: (bool, bool), site: Site) -> bool {
    // SAFETY: as in `is_noted`.
    unsafe {
        let tables = &*tables();
        tables.notes(address, length, kind, || tables.mark_of(site))
    }
}

/// As [`is_noted`], for an access of at most [`SHORT`] bytes that is no borrow. Also returns `true`
/// if nothing must be recorded: if the accesses of the thread are not watched, or if the access is
/// to a part of the task's own stack that no other task accesses.
#[inline(always)]
#[expect(clippy::inline_always, reason = "as for `is_noted`")]
pub(crate) fn is_settled(
    address: usize,
    length: usize,
    is_write: bool,
    site: impl FnOnce() -> Option<Site>,
) -> bool {
    const { assert!(SHORT == size_of::<u128>()) };
    // SAFETY: as in `is_noted`.
    let is_private = unsafe { (*FAST_PATH.get()).stack.is_quickly_private(address) };
    is_private || is_noted_uncounted(address, length, is_write, site)
}

/// As [`is_settled`], for an access of any length.
#[inline]
pub(crate) fn is_range_settled(
    address: usize,
    length: usize,
    is_write: bool,
    site: impl FnOnce() -> Option<Site>,
) -> bool {
    // SAFETY: as in `is_noted`.
    let stack = unsafe { &(*FAST_PATH.get()).stack };
    stack.are_quickly_private(address, length)
        || is_noted_uncounted(address, length, is_write, site)
}

/// Reports that the running task is about to access memory.
#[inline]
pub(crate) fn report_access(
    address: usize,
    length: usize,
    kind: (bool, bool),
    (site, is_explored): (Site, bool),
) {
    let code = if is_explored {
        Code::Explored
    } else {
        Code::Any
    };
    if is_watched() && length != 0 && !is_private(address, length) {
        data_access((address, length), kind, (site, code));
    }
}

/// As [`report_access`], for an access of the standard library that is no borrow and not to the
/// task's own stack. `site` is the line of its caller.
pub(crate) fn report_access_of_library(address: usize, length: usize, is_write: bool, site: Site) {
    data_access((address, length), (is_write, false), (site, Code::Library));
}

/// The code that makes an access.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Code {
    /// Code that may belong to a package that is not explored.
    Any,
    /// Code that is explored, because it was rewritten or is instrumented.
    Explored,
    /// Instrumented code of the standard library, on behalf of its caller.
    Library,
}

/// The end of the running task's stack.
#[inline]
pub(crate) fn stack_end() -> usize {
    // SAFETY: as in `is_noted`.
    unsafe { (*tables()).stack.end() }
}

/// Whether all of this memory belongs to the stack of the running task, and no other task accesses
/// its pages.
#[inline]
pub(crate) fn is_private(address: usize, length: usize) -> bool {
    // SAFETY: as in `is_noted`.
    unsafe { (*tables()).stack.are_private(address, length) }
}

/// Counts an access of the running task, if the accesses of this execution are counted. Returns
/// whether the access is counted and needs no report. While accesses are counted, [`is_settled`]
/// asks [`fast_path::COUNTING`], which has no entries, so this function asks the monitor's tables.
#[inline]
pub(crate) fn is_settled_after_count(
    address: usize,
    length: usize,
    is_write: bool,
    site: impl FnOnce() -> Option<Site>,
) -> bool {
    if FAST_PATH.get() != &raw const fast_path::COUNTING {
        return false;
    }
    // SAFETY: called in an execution, so the engine is mapped, and not by a monitor.
    let races = unsafe { &mut (*monitors()).races };
    races.count.add(length);
    if !races.count.is_on() {
        FAST_PATH.set(&raw const races.fast_path);
    }
    let mark = || site().map(|site| mark_at(core::ptr::from_ref(site).addr()));
    // SAFETY: as in `is_noted`.
    unsafe {
        races
            .fast_path
            .notes(address, length, (is_write, false), mark)
    }
}

/// The monitor's tables for the running thread, also while its accesses are counted.
#[inline]
fn tables() -> *const FastPath {
    let tables = FAST_PATH.get();
    if tables == &raw const fast_path::COUNTING {
        // SAFETY: called in an execution, so the engine is mapped.
        unsafe { &raw const (*monitors()).races.fast_path }
    } else {
        tables
    }
}

/// Calls `act` without watching its accesses. Used for code of std that shims call, and that is
/// compiled with the user's crates. The shims themselves report the order that this code creates,
/// so its accesses must not count as races.
#[inline]
pub(crate) fn unwatched<R>(act: impl FnOnce() -> R) -> R {
    let paused = pause();
    let result = act();
    resume(&paused);
    result
}

/// Stops watching the accesses of the running thread until [`resume`] is called with the result.
/// Until then, the thread does not run as a task.
pub(crate) fn pause() -> Paused {
    Paused(FAST_PATH.replace(&raw const fast_path::NONE))
}

/// Watches the running thread again, as before the call of [`pause`].
pub(crate) fn resume(paused: &Paused) {
    FAST_PATH.set(paused.0);
}

/// The tables that [`pause`] replaced.
pub(crate) struct Paused(*const FastPath);

/// Records that `parent` has created `task`, whose stack has the bounds `stack`. The first task has
/// no parent.
pub(crate) fn added(
    parent: Option<TaskId>,
    task: TaskId,
    site: Option<Site>,
    stack: (usize, usize),
) {
    with_if_wanted(|races| {
        races.add_stack(task, stack);
        match parent {
            _ if !races.is_on => {}
            None => _ = races.add_task(task, None),
            Some(parent) => races.spawned(parent, task, site),
        }
    });
}

/// Records that the running task has begun.
pub(crate) fn enter() {
    // SAFETY: as in `with_if_on`.
    let races = unsafe { &mut (*monitors()).races };
    // If the monitor has given up, accesses are still reported to other monitors.
    if races.is_wanted {
        FAST_PATH.set(if races.count.is_on() {
            &raw const fast_path::COUNTING
        } else {
            &raw const races.fast_path
        });
    }
}

/// Records that the running task is about to end.
pub(crate) fn leave() {
    FAST_PATH.set(&raw const fast_path::NONE);
}

/// Records that `next` runs after `task`.
#[inline]
pub(crate) fn switched(task: TaskId, next: TaskId) {
    with_if_wanted(|races| {
        races.show_stack(next);
        if races.is_on {
            races.switched(task, next);
        }
    });
}

/// Records that the running task calls opaque code, within a call that is one step.
#[inline]
pub(crate) fn enter_unseen() {
    with(Races::enter_unseen);
}

/// Records that the running task continues, perhaps in opaque code.
#[inline]
pub(crate) fn resume_unseen() {
    with(Races::resume_unseen);
}

/// Records that `task` continues after the end of `other`.
pub(crate) fn joined(task: TaskId, other: TaskId) {
    with_if_on(|races| races.joined(task, other));
}

/// Records that `task` ends. Its stack lies from `low` to `high`.
pub(crate) fn stack_ends(task: TaskId, low: usize, high: usize) {
    with_if_on(|races| races.end_stack(task, low, high));
}

/// Records that the running task has unmapped this memory.
pub(crate) fn unmapped(low: usize, high: usize) {
    with(|races, task| races.unmap(task, low, high, marked_line()));
    forget(low, high);
}

/// Records that another task begins to use this memory as its stack, or that the memory is mapped.
pub(crate) fn forget(low: usize, high: usize) {
    with_if_on(|races| races.forget(low, high));
}

/// Records an atomic access of the running task.
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

/// Whether opaque code has run, so that it may read and write the program's atomics.
#[inline]
pub(crate) fn has_unseen() -> bool {
    // SAFETY: as in `with_if_on`.
    is_watched() && unsafe { (*monitors()).races.has_unseen() }
}

/// Records the value that the running task's next reported operation reads. Needed only if
/// [`has_unseen`] returns `true`.
#[cold]
pub(crate) fn meet_value(address: usize, value: Word) {
    with(|races, _| races.meet_value(address, value));
}

/// Records the value of the atomic after the running task's operation. Needed only if
/// [`has_unseen`] returns `true`.
#[cold]
pub(crate) fn leave_value(address: usize, value: Word) {
    with(|races, _| races.leave_value(address, value));
}

/// Whether the running task's atomic operations may meet other stores than the newest.
#[inline]
pub(crate) fn keeps_stores() -> bool {
    // SAFETY: as in `with_if_on`.
    is_watched() && unsafe { (*monitors()).races.keeps_stores() }
}

/// The number of stores that an atomic operation of the running task may meet (read, or follow in
/// the modification order), the newest included. `current` is the value in memory. `would` returns
/// the effect of an update that reads a value.
pub(crate) fn offer_stores(
    access: &Access,
    current: Word,
    (op, site): (Op, Site),
    would: impl Fn(Word) -> Would,
) -> u32 {
    let mut offered = 0;
    with(|races, task| {
        let (version, last, trace) = execution::view(op, access.address, site);
        let state = State {
            current,
            version,
            last,
            trace,
        };
        offered = races.offer_stores(task, access, &state, would);
    });
    offered
}

/// The value of the store with the number `choice` among those that were offered to the access.
pub(crate) fn offered_value(access: &Access, choice: u32) -> Word {
    // SAFETY: as in `with_if_on`.
    unsafe { (*monitors()).races.memory.value(access, choice) }
}

/// The name of the store with the number `choice` among those that were offered to the access. The
/// name is the same in all executions with the same events before the store.
pub(crate) fn offered_name(access: &Access, choice: u32) -> u64 {
    // SAFETY: as in `with_if_on`.
    unsafe { (*monitors()).races.memory.name(access, choice) }
}

/// Returns whether late effects are only recorded, and not chosen by the search. If so, records
/// that the access, to which older stores were offered, could have had a late effect.
pub(crate) fn notes_late_effect(access: &Access, op: Op, site: Site) -> bool {
    // SAFETY: as in `with_if_on`.
    let memory = unsafe { &mut (*monitors()).races.memory };
    if memory.stale.is_on {
        let newer = memory.missed(access).map(Place::of);
        memory.stale.note(Stale {
            operation: op.name(),
            place: Place::of(site),
            newer,
        });
    }
    memory.stale.is_on
}

/// Returns the number of the event of the store that follows the offered store `choice` in the
/// modification order. The offered store must not be the newest one.
pub(crate) fn overtaken_event(access: &Access, choice: u32) -> u32 {
    // SAFETY: as in `with_if_on`.
    unsafe { (*monitors()).races.memory.overtaken(access, choice) }
}

/// Records an atomic operation of the running task to which [`offer_stores`] offered stores.
/// `performed` is the result of the operation.
pub(crate) fn meet_store(access: &Access, performed: Performed, report: Atomic) {
    with(|races, task| {
        let at = execution::place();
        races.perform_atomic(task, access, performed, at, report);
    });
}

/// The version of the store that the last operation of [`meet_store`] met.
pub(crate) fn met_version() -> Option<u32> {
    // SAFETY: as in `with_if_on`.
    unsafe { (*monitors()).races.memory.met_version() }
}

/// Records that the object of the last operation of [`meet_store`] has this version now. The
/// detection of spins compares versions.
pub(crate) fn settle_store(address: usize, version: u32) {
    // SAFETY: as in `with_if_on`.
    unsafe { (*monitors()).races.memory.settle(address, version) }
}

/// Records an atomic operation of the running task on a counter that only atomic operations touch.
pub(crate) fn count(counter: usize, access: (How, Ordering), op: Op) {
    with(|races, task| races.count(task, counter, access, op));
}

/// Records a fence of the running task.
pub(crate) fn fence(order: Ordering, site: Site) {
    with(|races, task| races.fence(task, order, Some(site)));
}

/// Records that time passes, because every task waits.
pub(crate) fn time_passes() {
    with_if_on(|races| races.memory.time_passes());
}

/// Records a fence of every task at once.
pub(crate) fn fence_all() {
    with(|races, task| races.fence_all(task, &execution::unfinished_tasks()));
}

/// Adds the releases to `object` to the clock of the running task.
pub(crate) fn acquire(object: usize) {
    acquire_for(object, true);
}

/// As [`acquire`], for an object that may have shared holders. `excludes`: whether the task
/// acquires the object exclusively.
pub(crate) fn acquire_for(object: usize, excludes: bool) {
    with(|races, task| races.acquire(task, object, excludes));
}

/// Releases the clock of the running task to `object`.
pub(crate) fn release(object: usize, op: Op, site: Option<Site>) {
    release_to(object, true, op, site);
}

/// As [`release`]. If `to_all` is false, releases only to tasks that acquire the object
/// exclusively.
pub(crate) fn release_to(object: usize, to_all: bool, op: Op, site: Option<Site>) {
    with(|races, task| races.release(task, object, to_all, (op, site)));
}

/// Releases all later operations of the running task to the reference counter `object`: see
/// [`Races::release_on`].
pub(crate) fn release_on(object: usize) {
    with(|races, task| races.release_on(task, object));
}

/// Sends the clock of the running task with a message. Returns an identifier of the clock.
pub(crate) fn send(op: Op, site: Option<Site>) -> Message {
    let mut message = Message(None);
    with(|races, task| message.0 = Some(races.send(task, op, site)));
    message
}

/// Receives a message, and the clock that was sent with it, in the running task.
pub(crate) fn receive(message: Message) {
    with(|races, task| {
        if let Some(sent) = message.0 {
            races.receive(task, sent);
        }
    });
}

/// The number of the clock that was sent with a message. `None` if the sender was not watched.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Message(Option<u32>);

/// Calls the monitor for the running task, if this task is watched.
#[inline]
fn with(report: impl FnOnce(&mut Races, TaskId)) {
    if is_watched() && active() {
        with_if_on(|races| report(races, current()));
    }
}

/// Calls the monitor if executions are watched, even if the monitor has given up this execution.
/// After that, accesses are still reported to other monitors.
#[inline]
fn with_if_wanted(report: impl FnOnce(&mut Races)) {
    // SAFETY: as in `with_if_on`.
    let races = unsafe { &mut (*monitors()).races };
    if races.is_wanted {
        report(races);
    }
}

/// Calls the monitor, if it is on.
#[inline]
fn with_if_on(report: impl FnOnce(&mut Races)) {
    // SAFETY: called in an execution, so the engine is mapped, and not by a monitor.
    let races = unsafe { &mut (*monitors()).races };
    if races.is_on {
        report(races);
    }
}
