//! A component of a test (the body of a `crash_and_recover`): a task runs it, and the caller waits
//! for its end. The end, with or without a crash, is in `crash.rs`.

use super::component_set::{Component, ComponentId};
use super::crash::{crash_point, end, may_crash_here};
use super::descriptors::{Named, named};
use super::mark;
use super::running::running;
use super::state::Execution;
use super::task::{Wait, signals_object};
use super::terms::Site;
use super::thread;
use super::{Effect, Op, TaskId, set_aside};
use crate::base::fingerprint::mix;
use crate::search::ObjectId;

impl Execution {
    /// Adds a component whose end the current task waits for. `None` if there are too many
    /// components.
    fn add_component(&mut self) -> Option<ComponentId> {
        let number = self.components.all.len() as u32 + 1;
        let component = ComponentId::new(number)?;
        let caller = self.schedule.current;
        let count = self.running().components;
        self.running().components = count + 1;
        let name = mix(caller.0.into(), count.into());
        let life = self.object(named(Named::Component, name << 4));
        self.components.may_crash = Some(may_crash_here);
        self.components.all.push(Component {
            life,
            caller,
            has_crashed: false,
        });
        // The order of the calls on files matters: after a crash, each call may be the last one of
        // its task.
        self.files.conflicts.found.add_all();
        Some(component)
    }
}

/// Runs `entry(data)` as the body of a new component, and waits until the component has ended.
/// Returns whether the component crashed. `None` outside an execution, and if there are too many
/// components.
///
/// # Panics
/// If the caller is a task of a component.
///
/// # Safety
/// As [`thread::spawn`]. `entry` must call [`end_component`] when it has run the body. After a
/// crash, neither `entry` nor a task that it spawned ever continues. So the caller may drop the
/// data that they borrow.
pub unsafe fn run_component(entry: unsafe fn(*mut ()), data: *mut (), site: Site) -> Option<bool> {
    let execution = running()?;
    assert!(
        execution.with(|it| it.own_component().is_none()),
        "crash_and_recover is called in the body of another crash_and_recover"
    );
    let component = execution.with(Execution::add_component)?;
    // SAFETY: the caller's promise.
    let task = unsafe { thread::spawn(entry, data, 0, None, site) };
    let op = Op::ComponentWait;
    let token = execution.step_and(|it| {
        it.task_mut(task).component = Some(component);
        it.announce(op, ObjectId::NONE, Some(site));
        let token = it.object(signals_object(it.schedule.current));
        (it.sleep_on(Wait::Object(token), None), token)
    });
    execution.with(|it| {
        for task in (0..it.schedule.live as u32).map(TaskId) {
            if it.task(task).component == Some(component) {
                it.follows(task);
            }
        }
    });
    execution.step(|it| it.record(op, ObjectId::NONE, op.effect(), Some(site)));
    execution.step(|it| it.touch(token, Effect::Acquire));
    set_aside::look(execution, true);
    Some(execution.with(|it| it.components.get(component).has_crashed))
}

/// Ends the component of the calling task. The component's body has returned or panicked. If it has
/// not panicked, the search may first let the component crash.
pub fn end_component(has_panicked: bool, site: Site) {
    let Some(execution) = running() else { return };
    // The end is a step of its own.
    mark::leave();
    let Some(component) = execution.with(Execution::own_component) else {
        return;
    };
    if !has_panicked {
        crash_point(execution, Some(site));
    }
    let life = execution.with(|it| it.components.get(component).life);
    let op = Op::ComponentEnd;
    execution.step(|it| it.arrive(op, life, Some(site)));
    execution.step(|it| it.record(op, life, op.effect(), Some(site)));
    execution.with(|it| it.stop_others(component));
    end(execution, component);
    set_aside::look(execution, true);
}
