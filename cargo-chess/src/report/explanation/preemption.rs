//! A preemption in words: the place at which a task was switched out, and the operations of other
//! tasks meanwhile.

use chess_vocabulary::{Class, Effect, Op};

use super::super::abbreviate::{operation, place, values, with_values};
use super::super::excerpt::Mark;
use super::super::names::Names;
use crate::protocol::{Finished, Object, Step};
use crate::text::{plural, thousands};

/// The highest number of source lines that are named for one operation.
const MOST_PLACES: usize = 3;
/// A preemption.
pub(super) struct Preemption<'a> {
    /// The task that was switched out.
    task: u32,
    /// The last operation of the task before the preemption.
    before: Option<&'a Step>,
    /// The index of the task's last event on the object of `after`, if both events are in calls
    /// into `atomic` code from different statements.
    earlier: Option<usize>,
    /// The next operation of the task.
    after: Step,
    /// Whether the task ran again after the preemption.
    resumed: bool,
    /// The events of other tasks before the task's next operation.
    pub(super) meanwhile: std::ops::Range<usize>,
}

/// The preemptions of an execution, in the order in which they happened.
pub(super) fn preemptions(finished: &Finished) -> Vec<Preemption<'_>> {
    let events = &finished.events;
    let preemption = |task, after: Step, resumed, until: usize| {
        let last = events[..until].iter().rposition(|it| it.task == task);
        Preemption {
            task,
            before: last.map(|last| &events[last]),
            earlier: earlier(&events[..until], &after),
            after,
            resumed,
            meanwhile: last.map_or(0, |last| last + 1)..until,
        }
    };
    let resumed = events.iter().enumerate().filter(|(_, it)| it.preempted);
    let resumed = resumed.map(|(index, it)| preemption(it.task, it.clone(), true, index));
    let blocked = finished.blocked.iter().filter(|it| it.preempted);
    let blocked = blocked.map(|it| preemption(it.task, it.to_step(), false, events.len()));
    let mut all: Vec<_> = resumed.chain(blocked).collect();
    // In the order of the first event after each preemption.
    all.sort_by_key(|it| it.meanwhile.start);
    all
}

/// Whether the step is the drop of a value that a call into `atomic` code returned, for example of
/// a lock guard.
fn is_end(step: &Step) -> bool {
    step.atomic_call().is_some_and(|it| it.drops)
}

/// The index of the task's last event on the object of `after`. Returns `None` unless both events
/// are in calls into `atomic` code, made by different statements. The task may have read a value
/// in the earlier call, and acts on this value now.
fn earlier(events: &[Step], after: &Step) -> Option<usize> {
    let statement = &after.atomic_call()?.location;
    after.object.as_ref()?;
    let is_of_object = |it: &Step| it.task == after.task && it.object == after.object;
    // The drop of a returned value belongs to the call.
    let is_call = |it: &Step| is_of_object(it) && !is_end(it);
    let found = events.iter().rposition(is_call)?;
    let caller = &events[found].atomic_call()?.location;
    (caller != statement).then_some(found)
}

impl Preemption<'_> {
    /// `task 2 was switched out at src/bank.rs:31, between the read of A1 (0, at
    /// src/bank.rs:30) and the write (1)`
    pub(super) fn sentence(&self, names: &Names) -> String {
        let task = names.of(self.task);
        let here = at(&self.after);
        let between = match self.before {
            None => format!("before {}", self.about_to()),
            Some(before) => self.between(before),
        };
        let end = if self.resumed {
            ""
        } else {
            ", and still waits there at the end"
        };
        format!("{task} was switched out{here}, {between}{end}.")
    }

    /// A sentence about the earlier operation of the task on the same object.
    pub(super) fn looked(&self, finished: &Finished, names: &Names) -> Option<String> {
        let step = &finished.events[self.earlier?];
        let object = step.object.as_deref()?;
        // The first sentence names the same statement.
        let statement = |it: &Step| it.shown_location().map(|at| (at.file, at.line));
        if self
            .before
            .is_some_and(|it| statement(it) == statement(step))
        {
            return None;
        }
        let (task, what) = (names.of(self.task), doing(step));
        let then = self.about_to();
        Some(format!(
            "{task} had called {what}{} before: {what} and {then} both use {object}.",
            at(step)
        ))
    }

    /// Whether the next operation of the task is in a call into `atomic` code.
    pub(super) fn is_at_call(&self) -> bool {
        self.after.atomic_call().is_some()
    }

    /// The indices of the events that the sentences are about. A table should show these events:
    /// the earlier operation of the task on the same object, and the operations of other tasks on
    /// the task's objects while the task was switched out.
    pub(super) fn explaining(&self, finished: &Finished) -> Vec<usize> {
        let objects = self.objects();
        let meanwhile = self.meanwhile.clone().filter(|&index| {
            let object = finished.events[index].object.as_ref();
            object.is_some_and(|object| objects.contains(object))
        });
        self.earlier.into_iter().chain(meanwhile).collect()
    }

    fn between(&self, before: &Step) -> String {
        let after = &self.after;
        let object = after.object.as_deref().unwrap_or_default();
        let same = before.object.is_some() && before.object == after.object;
        let is_atomic = |step: &Step| step.read.is_some() || step.written.is_some();
        let in_calls = before.atomic_call().is_some() || after.atomic_call().is_some();
        let same = same && !in_calls;
        if same && before.op.class() == Class::Unlock && after.op.takes_lock() {
            let acquired =
                location(before).map_or_else(String::new, |it| format!(" (acquired at {it})"));
            return format!("between the release of {object}{acquired} and the next acquisition");
        }
        if same && is_atomic(before) && is_atomic(after) {
            let read = |step: &Step| step.effect == Some(Effect::Read);
            let what = match (read(before), read(after)) {
                (true, false) => ("read", "write"),
                (true, true) => ("read", "next read"),
                (false, true) => ("write", "read"),
                (false, false) => ("write", "next write"),
            };
            return format!(
                "between the {} of {object} ({}) and the {} ({})",
                what.0,
                in_short(before, &at(before)),
                what.1,
                in_short(after, "")
            );
        }
        format!(
            "between {}{} and {}",
            doing(before),
            at(before),
            self.about_to()
        )
    }

    fn about_to(&self) -> String {
        doing(&self.after)
    }

    /// The objects of the task's last operation and of its next one.
    pub(super) fn objects(&self) -> Vec<Object> {
        let steps = self.before.into_iter().chain([&self.after]);
        let mut objects: Vec<Object> = Vec::new();
        for object in steps.filter_map(|step| step.object.as_ref()) {
            if !objects.contains(object) {
                objects.push(object.clone());
            }
        }
        objects
    }

    /// For each object of the task's last and next operations, the operations of other tasks that
    /// changed the object while the task was switched out. Unlocks are left out. An object without
    /// such operations has no entry.
    fn interference<'e>(&self, finished: &'e Finished) -> Vec<Vec<&'e Step>> {
        let events = &finished.events[self.meanwhile.clone()];
        let objects = self.objects();
        let of_object = objects.iter().map(|object| {
            let touched = events.iter().filter(|it| {
                it.object.as_ref() == Some(object)
                    && !matches!(it.effect, Some(Effect::Read | Effect::Fail))
                    && it.op.class() != Class::Unlock
            });
            touched.collect::<Vec<_>>()
        });
        of_object.filter(|touched| !touched.is_empty()).collect()
    }

    /// A sentence about the operations of the other tasks while the task was switched out.
    pub(super) fn meanwhile(&self, finished: &Finished, names: &Names) -> Option<String> {
        let touched = self.interference(finished);
        let all = || touched.iter().flatten().copied();
        if !touched.is_empty() && all().all(|it| it.atomic_call().is_some()) {
            return Some(format!(
                "Meanwhile {}.",
                calls(&all().collect::<Vec<_>>(), names)
            ));
        }
        if !touched.is_empty() {
            let mut sentence = String::from("Meanwhile ");
            let mut previous = None;
            for steps in &touched {
                let (task, what) = interfered(steps);
                sentence += match previous {
                    Some(_) => ", and ",
                    None => "",
                };
                if previous != Some(task) {
                    sentence += &names.of(task);
                    sentence.push(' ');
                }
                sentence += &what;
                previous = Some(task);
            }
            return Some(sentence + ".");
        }
        let objects = self.objects();
        let events = &finished.events[self.meanwhile.clone()];
        let mut others = events.iter();
        let seen = others.rfind(|it| {
            let object = it.object.as_ref();
            it.read.is_some() && object.is_some_and(|object| objects.contains(object))
        });
        if let Some((step, (object, value))) =
            seen.zip(seen.and_then(|it| Some((it.object.as_ref()?, it.read.as_ref()?))))
        {
            let task = names.of(step.task);
            return Some(format!(
                "Meanwhile {task} read {object}: {value}{}.",
                at(step)
            ));
        }
        let mut others = events.iter();
        let first = others.next()?;
        let more = if others.any(|it| it.task != first.task) {
            " and others"
        } else {
            ""
        };
        let task = names.of(first.task);
        let count = plural(self.meanwhile.len() as u64, "step");
        Some(format!("Meanwhile {task}{more} ran {count}."))
    }

    /// The marks at the source lines of the preemption.
    pub(super) fn marks(&self, finished: &Finished, names: &Names) -> Vec<Mark> {
        let task = names.of(self.task);
        let interference = self.interference(finished);
        let others = interference.iter().flat_map(|steps| {
            let last = *steps.last().expect("there is one");
            // If values were written, only the last write is marked. Locks are marked at each
            // place.
            let shown: Vec<&Step> = if last.written.is_some() {
                vec![last]
            } else {
                at_distinct_places(steps)
            };
            shown.into_iter().filter_map(|step| {
                let what = doing(step);
                Some(Mark {
                    location: step.shown_location()?,
                    text: format!("{}, meanwhile: {what}", names.of(step.task)),
                    is_before: false,
                })
            })
        });
        let before = self.before.filter(|it| it.op != Op::Start);
        let before = before.and_then(|step| {
            Some(Mark {
                location: step.shown_location()?,
                text: if step.op.class() == Class::Unlock && step.atomic_call().is_none() {
                    let object = step.object.as_deref().unwrap_or("it");
                    format!("{task} acquired {object} here, and released it later")
                } else {
                    format!("{task}: {}", doing(step))
                },
                is_before: false,
            })
        });
        let after = self.after.shown_location();
        let after = after.map(|location| {
            let steps = self.meanwhile.clone();
            let switched = Mark {
                location: location.clone(),
                text: match steps.len() {
                    0 => format!("{task} is switched out here"),
                    1 => format!("{task} is switched out here; step {} runs", steps.start + 1),
                    _ => format!(
                        "{task} is switched out here; steps {} to {} run",
                        thousands(steps.start as u64 + 1),
                        thousands(steps.end as u64)
                    ),
                },
                is_before: true,
            };
            let resumed = Mark {
                location,
                text: format!("{task}: {}", self.about_to()),
                is_before: false,
            };
            [switched, resumed]
        });
        let earlier = self.earlier.and_then(|earlier| {
            let step = &finished.events[earlier];
            Some(Mark {
                location: step.shown_location()?,
                text: format!("{task}: {}", doing(step)),
                is_before: false,
            })
        });
        let own = earlier.into_iter().chain(before);
        let all = others.chain(own).chain(after.into_iter().flatten());
        let mut marks: Vec<Mark> = Vec::new();
        for mark in all {
            let line = |it: &Mark| (it.location.file.clone(), it.location.line);
            let mut known = marks.iter();
            if !known.any(|it| line(it) == line(&mark) && it.text == mark.text) {
                marks.push(mark);
            }
        }
        marks
    }
}

/// The calls into `atomic` code that `steps` belong to:
/// `task 2 called Shelf::get at src/lib.rs:17 and Shelf::insert at src/lib.rs:19`.
fn calls(steps: &[&Step], names: &Names) -> String {
    let mut by_task: Vec<(u32, Vec<String>)> = Vec::new();
    let only_ends = steps.iter().all(|it| is_end(it));
    for step in steps.iter().filter(|it| only_ends || !is_end(it)) {
        let call = format!("{}{}", doing(step), at(step));
        match by_task.iter_mut().find(|(task, _)| *task == step.task) {
            Some((_, calls)) if calls.contains(&call) => {}
            Some((_, calls)) => calls.push(call),
            None => by_task.push((step.task, vec![call])),
        }
    }
    let clauses = by_task.iter().map(|(task, calls)| {
        let more = calls.len().saturating_sub(MOST_PLACES);
        let shown = calls[..calls.len() - more].join(" and ");
        let more = match more {
            0 => String::new(),
            more => format!(" and {}", plural(more as u64, "other")),
        };
        format!("{} called {shown}{more}", names.of(*task))
    });
    clauses.collect::<Vec<_>>().join(", and ")
}

/// The task that changed an object, and the change, such as
/// `changed A1 from 0 to 1 at src/lib.rs:12`. `steps` are the events that changed the object.
fn interfered(steps: &[&Step]) -> (u32, String) {
    let (first, last) = (steps[0], steps[steps.len() - 1]);
    let object = first.object.as_deref().unwrap_or_default();
    let what = match (&first.read, &last.written) {
        (Some(from), Some(to)) if from == to && steps.len() > 1 => {
            format!("changed {object} and then set it back to {to}{}", at(last))
        }
        (Some(from), Some(to)) if from == to => {
            format!(
                "overwrote {object} with the value that it already had, {to}{}",
                at(last)
            )
        }
        (Some(from), Some(to)) => format!("changed {object} from {from} to {to}{}", at(last)),
        (None, Some(to)) => format!("set {object} to {to}{}", at(last)),
        _ if first.effect == Some(Effect::Acquire) && first.op.takes_lock() => {
            let places = at_distinct_places(steps);
            let places: Vec<String> = places.iter().filter_map(|it| location(it)).collect();
            let what = format!("locked {object} at {}", places.join(" and "));
            return (first.task, what);
        }
        _ => {
            let what = operation(first.op.name(), Some(object));
            return (first.task, format!("performed {what}{}", at(first)));
        }
    };
    (last.task, what)
}

/// The first event at each source line, for at most [`MOST_PLACES`] lines.
fn at_distinct_places<'e>(steps: &[&'e Step]) -> Vec<&'e Step> {
    let mut distinct: Vec<&Step> = Vec::new();
    for step in steps {
        let line = |it: &Step| it.shown_location().map(|at| (at.file, at.line));
        if !distinct.iter().any(|it| line(it) == line(step)) {
            distinct.push(step);
        }
    }
    distinct.truncate(MOST_PLACES);
    distinct
}

/// `load: 0 at src/lib.rs:9`
fn in_short(step: &Step, place: &str) -> String {
    let values = values(step).unwrap_or_default();
    format!("{}: {values}{place}", step.op)
}

/// ` at src/lib.rs:9`
pub(super) fn at(step: &Step) -> String {
    location(step).map_or_else(String::new, |it| format!(" at {it}"))
}

fn location(step: &Step) -> Option<String> {
    step.shown_location().as_ref().map(place)
}

/// The operation and its object. For an event within a call into `atomic` code, the function that
/// the user's statement calls.
fn doing(step: &Step) -> String {
    let call = step.atomic_call().and_then(|it| it.function.clone());
    call.unwrap_or_else(|| operation(step.op.name(), with_values(step).as_deref()))
}
