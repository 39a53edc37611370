//! Components of a test that may crash: their tasks end for good, as a choice of the search.
//!
//! A component is the task that runs the body of a `crash_and_recover`, and all tasks that its tasks
//! spawn. It ends when the body returns, or earlier, when it crashes. Then its tasks never continue:
//! nothing of theirs is dropped, and their locks stay locked.
//!
//! **Where it crashes.** The search may let it crash before each operation of its tasks that others may
//! see ([`may_crash_before`]), and when its body has returned. A crash before an operation that only
//! the component sees leaves the same as one before the next operation that others see. A release of a
//! lock is left out as well: a crash before it would leave the lock of a test locked, and not that of
//! another process. The choice belongs to the step before the operation, as `rarely` does. The crash is
//! the next step of its task, with a scheduling point of its own, so that the searches order it with the
//! steps of the other tasks.
//!
//! **Dependences.** An object stands for the life of the component. Each event of its tasks reads the
//! object, and its end writes it. A task that the end stops would read the object in its next step: the
//! trace gets such a step at its end, with unknown further accesses. So the reductions reverse the end
//! with it, as they reverse the acquisition of a lock with an operation that it blocks for ever.
//! The bytes that a crash takes from files are writes of these files. The task that waits for the end is
//! woken by it, and follows all tasks of the component.

use core::num::NonZero;

use chess_vocabulary::Class;

use super::current::running;
use super::descriptors::{Named, named};
use super::mark::{self, marked_line};
use super::state::Execution;
use super::task::{State, Wait, signals_object};
use super::terms::{Mode, Site, Step};
use super::thread;
use super::transfer::perform;
use super::{Effect, Note, Op, TaskId, set_aside};
use crate::base::fingerprint::mix;
use crate::base::memory::{EngineVec, engine_vec};
use crate::search::{ObjectId, Outcomes};

/// The number of a component, from 1 on.
pub(crate) type ComponentId = NonZero<u32>;

/// The files that components have written.
pub(crate) trait Disk: Sync {
    /// The number of files that components have written.
    fn count(&self) -> usize;

    /// The writes to such a file that a crash of the component may lose.
    fn unsynced(&self, component: ComponentId, file: usize) -> Unsynced;

    /// Takes the last writes from such a file, this number of them.
    fn lose(&self, file: usize, writes: u32);

    /// The component has ended: its writes are safe.
    fn ends(&self, component: ComponentId);

    /// Closes the files that the tasks of the component have opened, as the kernel does when a process
    /// ends.
    fn closes(&self, component: ComponentId);
}

/// Writes of a component to a file since it was synced.
pub(crate) struct Unsynced {
    pub(crate) writes: u32,
    /// The address that stands for the bytes of the file.
    pub(crate) contents: usize,
    /// The line of the last write.
    pub(crate) site: Option<Site>,
}

/// No files.
pub(super) struct NoDisk;

impl Disk for NoDisk {
    fn count(&self) -> usize {
        0
    }

    fn unsynced(&self, _: ComponentId, _: usize) -> Unsynced {
        unreachable!("there is no such file")
    }

    fn lose(&self, _: usize, _: u32) {}

    fn ends(&self, _: ComponentId) {}

    fn closes(&self, _: ComponentId) {}
}

/// A component.
struct Component {
    /// Stands for its life.
    life: ObjectId,
    /// The task that waits for its end.
    caller: TaskId,
    has_crashed: bool,
}

/// A task that the end of its component has stopped.
struct Stopped {
    task: TaskId,
    life: ObjectId,
    /// The object in which it was blocked, and the effect of its operation there.
    blocked: Option<(ObjectId, Effect)>,
}

/// The components of an execution.
pub(crate) struct Components {
    all: EngineVec<Component>,
    stopped: EngineVec<Stopped>,
}

impl Components {
    pub(super) const fn new() -> Self {
        Self {
            all: engine_vec(),
            stopped: engine_vec(),
        }
    }

    pub(super) fn clear(&mut self) {
        self.all.clear();
        self.stopped.clear();
    }

    /// Whether there has been a component.
    #[inline]
    pub(super) fn are_any(&self) -> bool {
        !self.all.is_empty()
    }

    fn get(&mut self, component: ComponentId) -> &mut Component {
        &mut self.all[component.get() as usize - 1]
    }
}

/// Whether tasks outside of the component may see this operation.
const fn may_crash_before(op: Op) -> bool {
    let is_own = matches!(
        op,
        Op::Start
            | Op::Exit
            | Op::Spawn
            | Op::Join
            | Op::Finish
            | Op::ScopeEnd
            | Op::Park
            | Op::ParkTimeout
            | Op::Fence
            | Op::PlainWrite
            | Op::StreamLock
    );
    let is_release = matches!(op.class(), Class::Unlock | Class::Downgrade);
    let only_reads = matches!(op.effect(), Effect::Read) && !matches!(op, Op::FileSync);
    !is_own && !is_release && !only_reads
}

impl Execution {
    /// The component of the running task, until it ends.
    fn own_component(&mut self) -> Option<ComponentId> {
        self.running().component
    }

    /// Makes the newest event depend on the life of the component of its task.
    #[cold]
    pub(super) fn depend_on_life(&mut self) {
        let Some(component) = self.own_component() else {
            return;
        };
        let life = self.components.get(component).life;
        let task = self.tasks.running_mut();
        let last = &mut task.last_event;
        _ = self.log.depend(life, Effect::Read, &mut self.objects, last);
    }

    /// Traces the next steps of the tasks that the ends of their components have stopped.
    pub(super) fn trace_stopped(&mut self) {
        for stopped in &self.components.stopped {
            let trace = &mut self.log.trace;
            trace.pend(stopped.task, stopped.life, Effect::Read);
            if let Some((object, effect)) = stopped.blocked {
                trace.access(object, effect, effect);
            }
            // Its other accesses are not known.
            trace.go_on();
        }
    }

    /// The access with which `task` is blocked, if its order with that of other tasks is traced only
    /// when it continues.
    pub(super) fn blocked_access(&self, task: TaskId) -> Option<(ObjectId, Effect)> {
        let task = self.task(task);
        match task.state {
            State::Blocked(Wait::Lock(object, Mode::Exclusive)) => Some((object, Effect::Acquire)),
            State::Blocked(Wait::Lock(object, Mode::Shared)) => Some((object, Effect::Enter)),
            State::Blocked(Wait::Object(object)) if task.retries => {
                // Of every kind: the task could not have come before the steps that keep the object
                // from it.
                match task.op.effect() {
                    Effect::Enter => Some((object, Effect::Enter)),
                    _ => Some((object, Effect::Acquire)),
                }
            }
            State::Blocked(Wait::Descriptors(..)) => {
                let kernel = self.objects.find(super::descriptors::KERNEL)?;
                Some((kernel, Effect::Acquire))
            }
            _ => None,
        }
    }

    /// Stops the other tasks of a component for good.
    fn stop_others(&mut self, component: ComponentId) {
        let life = self.components.get(component).life;
        for task in (0..self.live as u32).map(TaskId) {
            let state = self.task(task).state;
            let is_own = self.task(task).component == Some(component);
            if !is_own || task == self.current || state == State::Finished {
                continue;
            }
            let blocked = self.blocked_access(task);
            self.components.stopped.push(Stopped {
                task,
                life,
                blocked,
            });
            self.stop_task(task);
        }
    }

    /// The choice of the search whether the component of the running task crashes before `op`.
    fn chooses_crash(&mut self, site: Option<Site>) -> bool {
        let Some(site) = site.or(self.running().site) else {
            return false;
        };
        let crashes = self.choose_outcome(2, Outcomes::Rare) == 1;
        let note = if crashes { Note::HAPPENS } else { Note::NONE };
        self.log_choice(Op::Crash, site, note);
        crashes
    }

    /// The scheduling point before the end of the component of the running task.
    fn arrive_at_end(&mut self, life: ObjectId, site: Option<Site>) -> Step {
        if mark::is_inside() {
            // In the middle of a call into `atomic` code.
            self.inside_step()
        } else {
            self.arrive(Op::ComponentEnd, life, site)
        }
    }
}

/// A place at which the component of the running task, if it has one, may crash: before `op`, at the
/// line `site` if it is known.
///
/// # Safety
/// As [`perform`].
#[inline]
pub(super) unsafe fn may_crash(execution: *mut Execution, op: Op, site: Option<Site>) {
    // SAFETY: the caller's promise.
    unsafe {
        if (*execution).components.are_any() && may_crash_before(op) {
            crash_point(execution, site);
        }
    }
}

/// As [`may_crash`], for interposed functions.
pub(crate) fn may_crash_here(op: Op) {
    if let Some(execution) = running() {
        // SAFETY: see `running`; no reference lives here.
        unsafe { may_crash(execution, op, marked_line()) };
    }
}

/// The component of the calling task.
pub(crate) fn own_component() -> Option<ComponentId> {
    // SAFETY: see `running`.
    running().and_then(|execution| unsafe { (*execution).own_component() })
}

/// Whether there has been a component in the execution of the calling task.
pub(crate) fn has_components() -> bool {
    // SAFETY: see `running`.
    running().is_some_and(|execution| unsafe { (*execution).components.are_any() })
}

/// The component of a task.
pub(crate) fn component_of(task: TaskId) -> Option<ComponentId> {
    // SAFETY: see `running`.
    running().and_then(|execution| unsafe { (*execution).task(task).component })
}

#[cold]
unsafe fn crash_point(execution: *mut Execution, site: Option<Site>) {
    // SAFETY: the caller's promise; no reference lives across `perform`.
    unsafe {
        let Some(component) = (*execution).own_component() else {
            return;
        };
        perform((*execution).count_step());
        if !(*execution).chooses_crash(site) {
            return;
        }
        let life = (*execution).components.get(component).life;
        perform((*execution).arrive_at_end(life, site));
        perform((*execution).record(Op::ComponentEnd, life, Op::ComponentEnd.effect(), site));
        (*execution).components.get(component).has_crashed = true;
        (*execution).stop_others(component);
        lose_writes(execution, component, site);
        (*execution).disk.closes(component);
        end(execution, component);
        (*execution).block(Wait::Nothing, None);
        perform((*execution).decide(false));
    }
    unreachable!("the task has been stopped");
}

/// Chooses the writes that the crash of a component loses, for each of its files.
unsafe fn lose_writes(execution: *mut Execution, component: ComponentId, site: Option<Site>) {
    // SAFETY: the caller's promise; no reference lives across `perform`.
    unsafe {
        let disk = (*execution).disk;
        for file in 0..disk.count() {
            let Unsynced {
                writes,
                contents,
                site: written,
            } = disk.unsynced(component, file);
            if writes == 0 {
                continue;
            }
            let lost = (*execution).choose_outcome(writes + 1, Outcomes::Data);
            (*execution).note_loss(lost);
            let note = match lost {
                0 => Note::NONE,
                _ => Note::loses(lost),
            };
            if let Some(site) = written.or(site) {
                (*execution).log_choice(Op::FileLoss, site, note);
            }
            let contents = (*execution).object(contents);
            perform((*execution).touch(contents, Effect::Write));
            if lost > 0 {
                disk.lose(file, lost);
            }
        }
    }
}

/// Wakes the task that waits for the end of a component, which now is.
unsafe fn end(execution: *mut Execution, component: ComponentId) {
    // SAFETY: the caller's promise.
    unsafe {
        let disk = (*execution).disk;
        disk.ends(component);
        let caller = (*execution).components.get(component).caller;
        let token = (*execution).object(signals_object(caller));
        perform((*execution).touch(token, Effect::Release));
        (*execution).wake_waiters(token);
    }
}

/// Runs `entry(data)` in a component of its own, until it has returned or has crashed. Returns whether
/// it crashed; `None` outside an execution.
///
/// # Panics
/// If the caller is a task of a component.
///
/// # Safety
/// As [`thread::spawn`]. `entry` must call [`end_component`] when it has run the body. After a crash
/// `entry` and the tasks that it spawned never continue, so that all that they borrow may go.
pub unsafe fn run_component(entry: unsafe fn(*mut ()), data: *mut (), site: Site) -> Option<bool> {
    let execution = running()?;
    // SAFETY: see `running`; no reference lives across `perform`.
    unsafe {
        assert!(
            (*execution).own_component().is_none(),
            "crash_and_recover is called in the body of another one"
        );
        let number = (*execution).components.all.len() as u32 + 1;
        let component = ComponentId::new(number)?;
        let caller = (*execution).current;
        let count = (*execution).running().components;
        (*execution).running().components = count + 1;
        let name = mix(caller.0.into(), count.into());
        let life = (*execution).object(named(Named::Component, name << 4));
        (*execution).components.all.push(Component {
            life,
            caller,
            has_crashed: false,
        });
        // The order of the calls on files matters: each of them may be the last one of its task.
        (*execution).files.conflicts.found = true;
        let task = thread::spawn(entry, data, 0, None, site);
        (*execution).task_mut(task).component = Some(component);
        let op = Op::ComponentWait;
        (*execution).announce(op, ObjectId::NONE, Some(site));
        let token = (*execution).object(signals_object(caller));
        perform((*execution).sleep_on(Wait::Object(token), None));
        for task in (0..(*execution).live as u32).map(TaskId) {
            if (*execution).task(task).component == Some(component) {
                (*execution).follows(task);
            }
        }
        perform((*execution).record(op, ObjectId::NONE, op.effect(), Some(site)));
        perform((*execution).touch(token, Effect::Acquire));
        set_aside::look(execution, true);
        Some((*execution).components.get(component).has_crashed)
    }
}

/// Ends the component of the calling task, whose body has returned. The search may let it crash first,
/// unless the body `has_panicked`.
pub fn end_component(has_panicked: bool, site: Site) {
    let Some(execution) = running() else { return };
    // SAFETY: see `running`; no reference lives across `perform`.
    unsafe {
        // The end is a step of its own.
        mark::leave();
        let Some(component) = (*execution).own_component() else {
            return;
        };
        if !has_panicked {
            crash_point(execution, Some(site));
        }
        let life = (*execution).components.get(component).life;
        let op = Op::ComponentEnd;
        perform((*execution).arrive(op, life, Some(site)));
        perform((*execution).record(op, life, op.effect(), Some(site)));
        (*execution).stop_others(component);
        end(execution, component);
        set_aside::look(execution, true);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_component_crashes_before_operations_that_others_may_see() {
        for op in [
            Op::FileWrite,
            Op::FileSync,
            Op::FileRename,
            Op::ChannelSend,
            Op::AtomicStore,
            Op::MutexLock,
            Op::NotifyOne,
            Op::Unpark,
        ] {
            assert!(may_crash_before(op), "{op}");
        }
        for op in [
            Op::FileRead,
            Op::FileInspect,
            Op::AtomicLoad,
            Op::MutexUnlock,
            Op::FileUnlock,
            Op::Start,
            Op::Spawn,
            Op::Join,
        ] {
            assert!(!may_crash_before(op), "{op}");
        }
    }
}
