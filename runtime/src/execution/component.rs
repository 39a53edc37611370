//! The life of a component of a test: the task that runs its body, and the wait for its end.

use super::component_set::{Component, ComponentId};
use super::crash::{crash_point, end, may_crash_here};
use super::current::running;
use super::descriptors::{Named, named};
use super::mark;
use super::task::{Wait, signals_object};
use super::terms::Site;
use super::thread;
use super::transfer::perform;
use super::{Effect, Op, TaskId, set_aside};
use crate::base::fingerprint::mix;
use crate::search::ObjectId;

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
        (*execution).components.may_crash = Some(may_crash_here);
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
