//! The execution in a verdict: tasks, events, panics, decisions and waiting tasks.

use std::collections::BTreeMap;

use chess_vocabulary::{Class, Hold, Token as _};

use super::happens_before::happens_before;
use super::note_and_object;
use crate::base::memory::{EngineVec, engine_vec};
use crate::execution::calls::NONE;
use crate::execution::{Early, Effect, Event, Execution, ObjectId, Op, Site, TaskId, Value};
use crate::harness::json::{Object, location};
use crate::harness::names::ObjectNames;
use crate::monitor::{Blocked, BodyOutcome, Outcome};
use crate::search::{Decision, Taken};

pub(super) fn place(site: Site) -> String {
    located(Object::new(), Some(site)).finish()
}

fn located(object: Object, site: Option<Site>) -> Object {
    object
        .optional_string("file", site.map(std::panic::Location::file))
        .optional_number("line", site.map(|s| s.line().into()))
        .optional_number("column", site.map(|s| s.column().into()))
}

pub(super) fn tasks(execution: &Execution) -> impl Iterator<Item = String> {
    execution.live_tasks().map(|(id, task)| {
        let name = String::from_utf8_lossy(&task.name);
        let name = if id == TaskId(0) { "main" } else { &*name };
        Object::new()
            .number("id", id.0.into())
            .optional_string("name", Some(name).filter(|n| !n.is_empty()))
            .finish()
    })
}

/// The events of the execution, as JSON. If `wants_order`, each event has the events of other
/// tasks that it directly follows in happens-before.
pub(super) fn events(
    execution: &Execution,
    names: &ObjectNames,
    wants_order: bool,
) -> impl Iterator<Item = String> {
    let mut order = wants_order.then(|| happens_before(execution).into_iter());
    let gives = given_while_waiting(&execution.log.events);
    let mut seen = execution.log.values.seen.iter().peekable();
    let events = execution.log.events.iter().enumerate();
    events.map(move |(place, event)| {
        let object = Object::new()
            .number("task", event.task.0.into())
            .string("op", event.op.token())
            .raw(
                "object",
                &named(names.name(event.object).filter(|_| shows_object(event.op))),
            );
        let object = located(object, event.site)
            .boolean("preempted", event.preempted)
            .raw(
                "note",
                note_and_object::note(event.note)
                    .as_deref()
                    .unwrap_or("null"),
            )
            .optional_string("hold", event.op.hold(event.effect).map(Hold::token))
            .raw("gives", &named(gives[place].and_then(|it| names.name(it))));
        let after = order.as_mut().and_then(Iterator::next).unwrap_or_default();
        let object = object.array("after", after.iter().map(usize::to_string));
        if !execution.log.values.is_wanted {
            return object.finish();
        }
        let values = seen.next_if(|seen| seen.event as usize == place);
        let read = values.and_then(|seen| seen.read).map(value);
        let written = values.and_then(|seen| seen.written).map(value);
        object
            .string("effect", event.effect.token())
            .optional_number("call", execution.log.calls.of_event(place).map(u64::from))
            .optional_string("read", read.as_deref())
            .optional_string("written", written.as_deref())
            .finish()
    })
}

/// The early timeouts of the execution, as JSON. Each has an operation of another task that came
/// only after the timeout.
pub(super) fn early_waits(execution: &Execution) -> impl Iterator<Item = String> {
    execution.recording.early_waits.iter().map(|early| {
        let missed = missed(execution, early);
        let missed = missed.map_or_else(
            || {
                let (task, op, site) = early.other;
                operation(task, op, site).boolean("waits", early.other_waits)
            },
            |event| operation(event.task, event.op, event.site).boolean("waits", false),
        );
        operation(early.task, early.op, early.site)
            .number("event", early.event.into())
            .number("length_ns", early.length)
            .raw("before", &missed.finish())
            .finish()
    })
}

/// For each event that is a wait for a notification of a condition variable, the lock that the
/// task releases during the wait and acquires again after it. `None` for all other events.
fn given_while_waiting(events: &[Event]) -> Vec<Option<ObjectId>> {
    let mut given = vec![None; events.len()];
    let mut next: BTreeMap<TaskId, &Event> = BTreeMap::new();
    for (place, event) in events.iter().enumerate().rev() {
        let next = next.insert(event.task, event);
        if event.op.class() == Class::CondvarWait {
            let relock = next.filter(|it| it.op.class() == Class::Relock);
            given[place] = relock.map(|it| it.object);
        }
    }
    given
}

fn named(object: Option<chess_vocabulary::Object>) -> String {
    object.map_or_else(|| "null".to_owned(), note_and_object::object)
}

fn operation(task: TaskId, op: Op, site: Option<Site>) -> Object {
    let object = Object::new()
        .number("task", task.0.into())
        .string("op", op.token());
    located(object, site.filter(|_| !op.is_opaque()))
}

/// An operation of another task that came only after the early end of the wait `early`. This is
/// one of the [`conflicting`] operations in the user's code, if there is one. Otherwise, it is the
/// next operation in the user's code of the task that could have run instead, unless that task
/// waited. If there is none, it is the first conflicting operation.
fn missed<'a>(execution: &'a Execution, early: &Early) -> Option<&'a Event> {
    let later = execution.log.events.get(early.event as usize..)?;
    let is_of_user = |event: &&Event| event.site.is_some_and(|site| is_of_user(site.file()));
    let conflicting = conflicting(later, early);
    let of_user = conflicting.iter().copied().find(is_of_user);
    let next = later.iter().filter(|event| event.task == early.other.0);
    let is_next_known = !early.other_waits;
    of_user
        .or_else(|| next.filter(|_| is_next_known).find(is_of_user))
        .or(conflicting.first().copied())
}

/// Whether a file belongs neither to a published package nor to the standard library.
fn is_of_user(file: &str) -> bool {
    !file.contains("/registry/src/") && !file.contains("/rustc/")
}

/// The operations of other tasks that came too late for the wait `early`: they use the awaited
/// object, or change an object that the waiting task has used since its wait. `later` has all
/// events after the early end of the wait.
fn conflicting<'a>(later: &'a [Event], early: &Early) -> EngineVec<&'a Event> {
    let (mut used, mut found) = (engine_vec(), engine_vec());
    for event in later.iter().filter(|event| event.object != ObjectId::NONE) {
        let is_of_wait = event.object == early.object && event.op != early.op;
        let changes = event.effect != Effect::Read && used.contains(&event.object);
        if event.task == early.task {
            used.push(event.object);
        } else if is_of_wait || changes {
            found.push(event);
        }
    }
    found
}

fn value(value: Value) -> String {
    match value {
        Value::Unsigned(number) => number.to_string(),
        Value::Signed(number) => number.to_string(),
        Value::Boolean(boolean) => boolean.to_string(),
        Value::Pointer(address) => format!("{address:#x}"),
    }
}

/// The panics of the execution, in order.
pub(super) fn panics(
    outcome: &Outcome,
    execution: &Execution,
    body: &BodyOutcome,
) -> impl Iterator<Item = String> {
    outcome.panics.iter().map(|panic| {
        let message = String::from_utf8_lossy(&panic.message);
        let fate = outcome.fate(panic, execution, body);
        Object::new()
            .number("task", panic.task.0.into())
            .number("event", panic.event.into())
            .string("message", &message)
            .raw("location", &location(&panic.place))
            .optional_string("fate", fate.name())
            .finish()
    })
}

/// The liveness properties that are hot at the end of the execution.
pub(super) fn hot(execution: &Execution) -> impl Iterator<Item = String> {
    execution.liveness.hot.iter().map(|it| {
        Object::new()
            .string("name", &String::from_utf8_lossy(&it.name))
            .raw("since", &place(it.since))
            .finish()
    })
}

/// The decisions of a replay, and their alternatives.
pub(super) fn decided(execution: &Execution) -> impl Iterator<Item = String> {
    let taken = execution.strategy.as_ref().map_or(&[][..], |s| s.taken());
    taken.iter().map(|taken| {
        let Taken {
            event,
            decision,
            free,
            ref options,
        } = *taken;
        let (key, chosen) = match decision {
            Decision::Task(task) => ("task", task.0),
            Decision::Outcome(outcome) => ("outcome", outcome),
        };
        Object::new()
            .number("event", event.into())
            .number(key, chosen.into())
            .number("free", free.into())
            .array("options", options.iter().map(u32::to_string))
            .finish()
    })
}

/// Whether an event shows its object. The start and end of a task would only repeat the task's
/// name, and the objects of opaque code and of explicit scheduling points have no names.
pub(in crate::harness) fn shows_object(op: Op) -> bool {
    !matches!(op, Op::Start | Op::Exit | Op::OpaqueCall | Op::Point)
}

/// The calls of functions that were in progress at events. Each is the pair of the index of the
/// enclosing call, which may be null, and the return address.
pub(super) fn calls(execution: &Execution) -> impl Iterator<Item = String> {
    let made = execution.log.calls.made.iter();
    made.map(|call| match call.within {
        NONE => format!("[null,{}]", call.address),
        within => format!("[{within},{}]", call.address),
    })
}

pub(super) fn blocked_task(
    blocked: &Blocked,
    execution: &Execution,
    names: &ObjectNames,
) -> String {
    let object = Object::new()
        .number("task", blocked.task.0.into())
        .string("op", blocked.op.token())
        .raw("object", &named(names.name(blocked.object)));
    let (after, site) = match blocked.site {
        site if blocked.op.is_opaque() => (site, None),
        site => (None, site),
    };
    located(object, site)
        .raw("after", after.map(place).as_deref().unwrap_or("null"))
        .boolean("preempted", blocked.preempted)
        .optional_number(
            "call",
            execution.log.calls.of_task(blocked.task).map(u64::from),
        )
        .optional_number("holder", blocked.holder.map(|t| t.0.into()))
        .raw(
            "held_at",
            blocked.held_at.map(place).as_deref().unwrap_or("null"),
        )
        .finish()
}
