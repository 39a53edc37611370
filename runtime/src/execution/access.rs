//! Operations that cannot block, and other facts that tasks report to the engine.

use super::crash::may_crash;
use super::listener::Panic;
use super::monitor_calls::Hooks;
use super::monitor_hooks::MonitorHooks as _;
use super::running::{Running, running, with};
use super::state::execution;
use super::terms::Site;
use super::values::{Held, Seen, Value};
use super::{Effect, Op, TaskId, invariant, set_aside};

/// Whether the caller is a task of a program that can observe the counters of an `Arc`. If the
/// program cannot, changes of the counters commute with all operations of other tasks, and are no
/// events.
// Not inlined, for the same reason as `active`.
#[inline(never)]
pub fn counters_matter() -> bool {
    with(|execution| execution.observers.of_counters).unwrap_or(false)
}

/// Reaches a scheduling point before `op` on the object at address `object`. Then records the event
/// of `op`, with the effect that [`Op::effect`] declares.
pub fn access(op: Op, object: usize, site: Site) {
    let Some(execution) = running() else { return };
    may_crash(execution, op, Some(site));
    let object = execution.object(object);
    execution.step(|it| it.arrive(op, object, Some(site)));
    execution.step(|it| it.record(op, object, op.effect(), Some(site)));
    set_aside::look(execution, op.effect() == Effect::Read);
}

/// As [`access`], with an effect that is known only after the operation. `act` performs the
/// operation, and returns the result and the effect of the operation.
#[inline]
pub fn access_with<R>(
    op: Op,
    object: usize,
    site: Option<Site>,
    act: impl FnOnce() -> (R, Effect),
) -> R {
    access_and(op, object, site, act, true)
}

/// As [`access_with`]. `is_all` states whether the operation is complete after `act`. A task that
/// computes without end can be set aside ([`set_aside::look`]) only after a complete operation.
#[inline]
fn access_and<R>(
    op: Op,
    object: usize,
    site: Option<Site>,
    act: impl FnOnce() -> (R, Effect),
    is_all: bool,
) -> R {
    let Some(execution) = running() else {
        return act().0;
    };
    may_crash(execution, op, site);
    let object = execution.object(object);
    execution.step(|it| it.arrive(op, object, site));
    let (result, effect) = act();
    execution.step(|it| it.record(op, object, effect, site));
    set_aside::look(execution, is_all);
    result
}

/// Whether the running task has executed a fence.
pub fn has_fenced() -> bool {
    with(|execution| execution.running().fenced).unwrap_or(false)
}

/// Reaches a scheduling point before `op`, and records no event. The caller must call [`effect`]
/// when the result of `op` is known, before any other scheduling point.
pub fn before(op: Op, object: usize, site: Site) {
    let Some(execution) = running() else { return };
    may_crash(execution, op, Some(site));
    let object = execution.object(object);
    execution.step(|it| it.arrive(op, object, Some(site)));
}

/// Records the event of the operation that [`before`] announced.
pub fn effect(op: Op, object: usize, effect: Effect, site: Site) {
    let Some(execution) = running() else { return };
    let object = execution.object(object);
    execution.step(|it| it.record(op, object, effect, Some(site)));
    set_aside::look(execution, true);
}

/// Records that the running step also touches `object`. The touch is no event of its own.
pub fn touch(object: usize, effect: Effect) {
    let Some(execution) = running() else { return };
    let object = execution.object(object);
    execution.step(|it| it.touch(object, effect));
}

/// Records that the running step touches state that the engine does not see. After that, no two
/// schedules of the test are known to be equivalent.
pub(crate) fn touch_unseen() {
    with(|execution| execution.log.trace.is_irregular = true);
}

/// Records that the running step is the last one of a task of `scope`. The scope waits for this
/// step, so the step touches the scope.
pub fn leave_scope(scope: usize) {
    with(|execution| {
        let object = execution.object(scope);
        execution.running().scope = object;
        let task = execution.schedule.current;
        execution.files.leave_scope(task, scope);
    });
    touch(scope, Effect::Release);
}

/// For deadlock reports: records that the running task owns `object` until [`disown`]. For example,
/// this task runs the initialiser of `object`, and the tasks that wait at `object` wait for the end
/// of the initialiser.
pub fn own(object: usize, site: Site) {
    with(|execution| {
        let id = execution.object(object);
        let current = execution.schedule.current;
        let owned = execution.objects.get_mut(id);
        owned.owner = Some(current);
        owned.held_at = Some(site);
    });
}

/// Ends the ownership of `object` that [`own`] recorded.
pub fn disown(object: usize) {
    with(|execution| {
        let id = execution.object(object);
        execution.objects.get_mut(id).owner = None;
    });
}

/// The virtual time in nanoseconds since 1970. 0 outside an execution.
pub fn now() -> u64 {
    with(|execution| {
        execution.running().spin.read_unversioned();
        execution.touch_clock(Effect::Read);
        execution.clock
    })
    .unwrap_or(0)
}

/// Records that the calling task prints `bytes`. If the options ask for the output of the tasks,
/// keeps the bytes, up to a limit for the whole output. Returns whether the caller is a task.
pub(crate) fn print(bytes: &[u8]) -> bool {
    const LIMIT: usize = 256 << 10;
    /// The address that stands for the lock of the output. No object lies there.
    const OUTPUT: usize = 16;
    let Some(execution) = running() else {
        return false;
    };
    // Printing acquires and releases a lock of std.
    Hooks::acquired(OUTPUT, true);
    Hooks::released(OUTPUT, true, Op::DescriptorWrite, None);
    execution.with(|it| {
        if it.options.keeps_output {
            let output = &mut it.recording.output;
            let room = LIMIT.saturating_sub(output.len());
            output.extend_from_slice(&bytes[..bytes.len().min(room)]);
        }
    });
    true
}

/// Records the address of an invalid memory access of the program.
pub(crate) fn note_fault(address: usize) {
    // SAFETY: the engine is mapped wherever the fault handler is installed.
    unsafe { (*execution()).fault = Some(address) };
    report_fault(address);
}

/// As [`access`], for a drop. `Drop::drop` does not know the line of its caller, so the event has
/// no line.
pub fn access_in_drop(op: Op, object: usize) {
    drop_with(op, object, || op.effect());
}

/// As [`access_in_drop`], with an effect that is known only after the scheduling point of the drop.
pub fn drop_with(op: Op, object: usize, effect: impl FnOnce() -> Effect) {
    access_and(op, object, None, || ((), effect()), false);
}

/// Whether a task owns `object`: see [`own`]. The owner may be the calling task.
pub fn is_owned(object: usize) -> bool {
    with(|execution| {
        let id = execution.object(object);
        execution.objects.get(id).owner.is_some()
    })
    .unwrap_or(false)
}

/// The name of `task`: the name that `spawn` was given, or the test's name for task 0. `None` if
/// the task has no name, and outside an execution.
///
/// # Safety
/// The name must not be used after the end of the execution.
pub unsafe fn task_name<'a>(task: TaskId) -> Option<&'a str> {
    let name: *const [u8] = with(|execution| &raw const *execution.task(task).name)?;
    // SAFETY: the name is written before the task's number is available to any caller, and it stays
    // until the end of the execution. It lies apart from the task, which may move.
    let name = unsafe { &*name };
    str::from_utf8(name).ok().filter(|name| !name.is_empty())
}

/// Records the values that the task's newest event read and wrote, and then checks the invariants.
/// Each operation of an atomic ends with this call.
#[inline]
pub(crate) fn saw<T: Held>(values: impl FnOnce() -> (Option<T>, Option<T>)) {
    let Some(execution) = running() else { return };
    if execution.with(|it| it.log.values.is_wanted) {
        let (read, written) = values();
        keep(execution, read.map(Held::value), written.map(Held::value));
    }
    // The values are kept before this check, so that the report of a failed invariant has them.
    invariant::check(execution);
}

#[cold]
fn keep(execution: Running, read: Option<Value>, written: Option<Value>) {
    execution.with(|it| {
        let log = &mut it.log;
        // Beyond the maximum number of kept events, the last kept event is not the newest.
        if log.events.len() < log.most && !log.events.is_empty() {
            log.values.seen.push(Seen {
                event: log.events.len() as u32 - 1,
                read,
                written,
            });
        }
    });
}

/// Reports a panic of the current task to the listeners.
#[cold]
pub(crate) fn note_panic(panic: &Panic) {
    with(|execution| {
        for listener in execution.listeners {
            listener.panics(execution, panic);
        }
    });
}

/// Reports to the listeners that the program accessed memory that it may not access.
#[cold]
pub(super) fn report_fault(address: usize) {
    with(|execution| {
        for listener in execution.listeners {
            listener.faults(execution, address);
        }
    });
}
