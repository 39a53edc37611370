//! Components of a test that may crash: their tasks end for good, as a choice of the search.
//!
//! A component is the task that runs the body of a `crash_and_recover`, and all tasks that its
//! tasks spawn. A component ends after its body has returned or panicked, or by a crash. After the
//! end, its tasks never continue: their values are not dropped, and their locks stay locked.
//!
//! **Places of crashes.** The search may let a component crash in two places: after its body has
//! returned, in place of the ordinary end; and before an operation of its tasks that other tasks
//! can see, or that may wait for other tasks ([`may_crash_before`]). A crash before any other
//! operation would leave the same state as a crash before the task's next operation of this kind,
//! because the task reaches that operation without the help of other tasks. Before the release of a
//! lock, a component does not crash: the recovery would find the lock locked, but after a real
//! crash, the recovery is another process, with a lock of its own.
//!
//! The choice of a crash belongs to the step before the operation, like a choice of `rarely`. The
//! crash itself is the next step of its task, with a scheduling point of its own, so that the
//! searches order it with the steps of the other tasks.
//!
//! **Dependences.** An object stands for the life of a component. Each event of the component's
//! tasks reads this object, and the end of the component writes it. A task that is stopped by the
//! end of its component would have read the object in its next step. Therefore the end of the trace
//! has such a step for each stopped task; the further accesses of this step are unknown. So the
//! reductions reverse the end of the component and this step, as they reverse the acquisition of a
//! lock and an operation that is blocked for ever by it. A crash that loses bytes of a file counts
//! as a write to this file. The end of a component wakes the task that waits for it, and this task
//! comes after all tasks of the component.

use chess_vocabulary::Class;

use super::component_set::{ComponentId, Stopped, Unsynced};
use super::mark::{self, marked_line};
use super::running::{Running, running, with};
use super::state::Execution;
use super::task::{State, Wait, signals_object};
use super::terms::{Mode, Site, Step};
use super::{Effect, Note, Op, TaskId};
use crate::search::{ObjectId, Outcomes};

/// Whether the search may let a component crash before `op`. It may if tasks outside of the
/// component can see `op`, or if `op` may wait for such a task. It may not if `op` releases a lock.
const fn may_crash_before(op: Op) -> bool {
    let may_wait = matches!(
        op,
        Op::Join | Op::Park | Op::ParkTimeout | Op::Sleep | Op::YieldNow | Op::SpinLoop
    );
    let is_own = matches!(
        op,
        Op::Start
            | Op::Exit
            | Op::Spawn
            | Op::Finish
            // This operation waits only for tasks of the same component, and the component may
            // crash before their operations.
            | Op::ScopeEnd
            | Op::Fence
            | Op::PlainWrite
            | Op::StreamLock
    );
    let is_release = matches!(op.class(), Class::Unlock | Class::Downgrade);
    let only_reads = matches!(op.effect(), Effect::Read) && !matches!(op, Op::FileSync);
    may_wait || !is_own && !is_release && !only_reads
}

impl Execution {
    /// The component that the running task belongs to, if there is one.
    pub(super) fn own_component(&mut self) -> Option<ComponentId> {
        self.running().component
    }

    /// Makes the last event of the running task dependent on the end of the task's component: the
    /// event reads the object `life`, which the end of the component writes.
    #[cold]
    pub(super) fn depend_on_life(&mut self) {
        let Some(component) = self.own_component() else {
            return;
        };
        let life = self.components.get(component).life;
        let task = self.schedule.tasks.running_mut();
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
            // The other accesses of this step are not known.
            trace.continue_step();
        }
    }

    /// The access of the operation in which `task` is blocked, if the trace would record this
    /// access only after the task has continued.
    pub(super) fn blocked_access(&self, task: TaskId) -> Option<(ObjectId, Effect)> {
        let task = self.task(task);
        match task.state {
            State::Blocked(Wait::Lock(object, Mode::Exclusive)) => Some((object, Effect::Acquire)),
            State::Blocked(Wait::Lock(object, Mode::Shared)) => Some((object, Effect::Enter)),
            State::Blocked(Wait::Object(object)) if task.retries => {
                // Every other operation counts as an acquisition: it could not have been performed
                // before the steps because of which it is blocked.
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
    pub(super) fn stop_others(&mut self, component: ComponentId) {
        let life = self.components.get(component).life;
        for task in (0..self.schedule.live as u32).map(TaskId) {
            let state = self.task(task).state;
            let is_own = self.task(task).component == Some(component);
            if !is_own || task == self.schedule.current || state == State::Finished {
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

    /// Lets the search choose whether the component of the running task crashes at this place. If
    /// neither `site` nor the line of an earlier operation is known for the report, there is no
    /// choice and no crash.
    fn chooses_crash(&mut self, site: Option<Site>) -> bool {
        let Some(site) = site.or(self.running().site) else {
            return false;
        };
        let crashes = self.choose_unseen(2, Outcomes::Rare) == 1;
        let note = if crashes { Note::HAPPENS } else { Note::NONE };
        self.log_choice(Op::Crash, site, note);
        crashes
    }

    /// The scheduling point before the end of the component of the running task.
    fn arrive_at_component_end(&mut self, life: ObjectId, site: Option<Site>) -> Step {
        if mark::is_inside() {
            // In the middle of a call into `atomic` code.
            self.inside_step()
        } else {
            self.arrive(Op::ComponentEnd, life, site)
        }
    }
}

/// Lets the search crash the component of the running task before `op`. There is no crash if the
/// task has no component, or if [`may_crash_before`] is false for `op`. `site` is the line of `op`,
/// if it is known.
#[inline]
pub(super) fn may_crash(execution: Running, op: Op, site: Option<Site>) {
    if execution.with(|it| it.components.are_any()) && may_crash_before(op) {
        crash_point(execution, site);
    }
}

/// As [`may_crash`], for interposed functions.
pub(crate) fn may_crash_here(op: Op) {
    if let Some(execution) = running() {
        may_crash(execution, op, marked_line());
    }
}

/// The component of the calling task.
pub(crate) fn own_component() -> Option<ComponentId> {
    with(Execution::own_component).flatten()
}

/// Whether there has been a component in the execution of the calling task.
pub(crate) fn has_components() -> bool {
    with(|execution| execution.components.are_any()).unwrap_or(false)
}

/// The component of a task.
pub(crate) fn component_of(task: TaskId) -> Option<ComponentId> {
    with(|execution| execution.task(task).component).flatten()
}

/// Lets the search crash the component of the running task here, before any kind of operation. Does
/// not return if the component crashes. No effect if the task has no component.
#[cold]
pub(super) fn crash_point(execution: Running, site: Option<Site>) {
    let Some(component) = execution.with(Execution::own_component) else {
        return;
    };
    execution.step(Execution::count_step);
    if !execution.with(|it| it.chooses_crash(site)) {
        return;
    }
    let life = execution.with(|it| it.components.get(component).life);
    execution.step(|it| it.arrive_at_component_end(life, site));
    execution.step(|it| it.record(Op::ComponentEnd, life, Op::ComponentEnd.effect(), site));
    let disk = execution.with(|it| {
        it.components.get(component).has_crashed = true;
        it.stop_others(component);
        it.disk
    });
    lose_writes(execution, component, site);
    disk.closes(component);
    end(execution, component);
    execution.step(|it| {
        it.block(Wait::Nothing, None);
        it.decide(false)
    });
    unreachable!("the task has been stopped");
}

/// For each file, lets the search choose the number of newest writes of the component that the
/// crash loses, and undoes these writes.
fn lose_writes(execution: Running, component: ComponentId, site: Option<Site>) {
    let disk = execution.with(|it| it.disk);
    for file in 0..disk.count() {
        let Unsynced {
            writes,
            contents,
            site: written,
        } = disk.unsynced(component, file);
        if writes == 0 {
            continue;
        }
        let lost = execution.step_and(|it| {
            let lost = it.choose_outcome(writes + 1, Outcomes::Data);
            it.note_loss(lost);
            let note = match lost {
                0 => Note::NONE,
                _ => Note::loses(lost),
            };
            if let Some(site) = written.or(site) {
                it.log_choice(Op::FileLoss, site, note);
            }
            let contents = it.object(contents);
            (it.touch(contents, Effect::Write), lost)
        });
        if lost > 0 {
            disk.lose(file, lost);
        }
    }
}

/// Ends a component. From now on, no crash loses its writes, and the task that waits for its end is
/// woken.
pub(super) fn end(execution: Running, component: ComponentId) {
    let disk = execution.with(|it| it.disk);
    disk.ends(component);
    let token = execution.step_and(|it| {
        let caller = it.components.get(component).caller;
        let token = it.object(signals_object(caller));
        (it.touch(token, Effect::Release), token)
    });
    execution.with(|it| it.wake_waiters(token));
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_component_crashes_before_operations_that_others_may_see_or_that_may_wait() {
        for op in [
            Op::FileWrite,
            Op::FileSync,
            Op::FileRename,
            Op::ChannelSend,
            Op::AtomicStore,
            Op::MutexLock,
            Op::NotifyOne,
            Op::Unpark,
            Op::Park,
            Op::Join,
            Op::YieldNow,
            Op::SpinLoop,
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
        ] {
            assert!(!may_crash_before(op), "{op}");
        }
    }
}
