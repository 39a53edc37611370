//! Models of a test: explicit scheduling points, and resources to wait for and to signal (Nekara,
//! ASE 2021, section II).
//!
//! The dependences of a signal:
//! - A wait and a signal of one resource conflict: a signal that comes first is lost. Two signals
//!   of one resource conflict, too.
//! - A signal that ends a wait for any of several resources also ends the registration of the task
//!   at the other resources, and conflicts with their signals.
//! - The end of a wait comes after all signals that it needs: the signals release an object that
//!   stands for the waits of the task, and the end of the wait acquires this object.
//!
//! For data races, too, the operations before a signal happen before the end of the waits that it
//! ends. They also happen before a later wait for the resource, because the condition of this wait
//! reads their results.

use super::awaited::Awaited;
use super::crash::may_crash;
use super::current::current;
use super::monitor_calls::Hooks;
use super::monitor_hooks::MonitorHooks as _;
use super::running::running;
use super::state::Execution;
use super::task::{Wait, signals_object};
use super::terms::{Site, Wake};
use super::{Effect, Note, Op, set_aside};
use crate::base::memory::{EngineVec, engine_vec};
use crate::search::{ObjectId, Outcomes};

/// The address that stands for all explicit scheduling points: no object of the program lies there.
const POINTS: usize = 40;

impl Execution {
    /// The indices of the waits that a signal of the resource reaches. If `to_all` is false, this
    /// is at most one wait, which the search chooses.
    fn choose_reached(&mut self, resource: ObjectId, to_all: bool) -> EngineVec<usize> {
        let known = &self.resources;
        let mut reached = engine_vec();
        reached.extend((0..known.awaited.len()).filter(|&at| {
            let wait = &known.awaited[at];
            known.is_reached(wait, resource)
        }));
        if !to_all && !reached.is_empty() {
            let chosen = self.choose_outcome(reached.len() as u32, Outcomes::Free);
            let place = reached[chosen as usize];
            reached.clear();
            reached.push(place);
            self.running().note = Note::wakes(self.resources.task_at(place));
        }
        reached
    }

    /// Signals the resource to the wait at `place`.
    fn signal_wait(&mut self, place: usize, op: Op, site: Site) {
        let wait = &mut self.resources.awaited[place];
        wait.is_signalled = true;
        let Awaited { task, is_any, .. } = *wait;
        let token = signals_object(task);
        Hooks::released(token, true, op, Some(site));
        let token = self.object(token);
        self.touch(token, Effect::Release);
        for at in 0..self.resources.awaited.len() {
            let other = self.resources.awaited[at];
            if is_any && other.task == task && at != place {
                self.touch(other.resource, Effect::Write);
            }
        }
        if self.resources.is_over(task) {
            self.wake(task, Wake::Notified);
        }
    }
}

/// A scheduling point that the test asks for. The point conflicts with all other such points, so
/// that the searches try each order of the parts of the program that begin with such points.
/// Returns whether the caller is a task.
pub fn scheduling_point(site: Site) -> bool {
    let is_task = running().is_some();
    super::access(Op::Point, POINTS, site);
    is_task
}

/// The number of changes of the state of a resource. `None` outside an execution.
pub fn signals(resource: usize) -> Option<u32> {
    let execution = running()?;
    let object = execution.object(resource);
    execution.step(|it| it.touch(object, Effect::Read));
    Hooks::acquired(resource, true);
    Some(execution.with(|it| it.objects.get(object).version))
}

/// Waits until one of the resources is signalled if `is_any` is true, or until each of them is
/// signalled if it is false. `resources` must have at least one resource, and no resource twice. If
/// the first resource has changed since [`signals`] returned `unless`, there is no wait. Returns
/// the position of a signalled resource. `None` outside an execution.
///
/// The wait begins in the same step as the operation before it: no signal comes between them.
pub fn wait_for_signals(
    resources: &[usize],
    is_any: bool,
    unless: Option<u32>,
    site: Site,
) -> Option<usize> {
    let execution = running()?;
    let op = Op::ResourceWait;
    may_crash(execution, op, Some(site));
    execution.step(|it| it.pass(op, site));
    let first = execution.object(resources[0]);
    let version = execution.with(|it| it.objects.get(first).version);
    if unless.is_some_and(|seen| seen != version) {
        return Some(0);
    }
    execution.step(|it| {
        it.running().object = first;
        it.record(op, first, op.effect(), Some(site))
    });
    let task = current();
    for (place, &resource) in resources.iter().enumerate() {
        Hooks::acquired(resource, true);
        let object = execution.object(resource);
        if place > 0 {
            execution.step(|it| it.touch(object, op.effect()));
        }
        let awaited = Awaited {
            resource: object,
            task,
            is_any,
            place,
            is_signalled: false,
        };
        execution.with(|it| it.resources.awaited.push(awaited));
    }
    let token = execution.object(signals_object(task));
    execution.step(|it| it.sleep_on(Wait::Object(token), None));
    execution.step(|it| it.touch(token, Effect::Acquire));
    Hooks::acquired(signals_object(task), true);
    let place = execution.with(|it| it.resources.end_wait(task));
    set_aside::look(execution, true);
    Some(place)
}

/// Reaches a scheduling point, and then signals the resource. The signal reaches all waiting tasks
/// if `to_all` is true, or one of them, which the search chooses, if it is false. Without a waiting
/// task, the signal is lost. Returns whether the caller is a task.
pub fn signal(resource: usize, to_all: bool, site: Site) -> bool {
    let Some(execution) = running() else {
        return false;
    };
    let op = if to_all {
        Op::ResourceSignalAll
    } else {
        Op::ResourceSignal
    };
    may_crash(execution, op, Some(site));
    let object = execution.object(resource);
    execution.step(|it| it.arrive(op, object, Some(site)));
    let reached = execution.with(|it| it.choose_reached(object, to_all));
    Hooks::released(resource, true, op, Some(site));
    execution.step(|it| it.record(op, object, op.effect(), Some(site)));
    execution.with(|it| {
        for place in reached {
            it.signal_wait(place, op, site);
        }
    });
    set_aside::look(execution, true);
    true
}
