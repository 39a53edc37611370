//! What the supervisor is told: the protocol's lines.

use std::fmt::Write;

use super::Exploration;
use super::counters::Counters;
use super::failures::Found;
use super::json::{Object, quoted};
use super::minimise::Minimised;
use super::names::ObjectNames;
use super::notes::noted;
use super::request::Request;
use crate::engine::Engine;
use crate::execution::{Effect, Ending, Execution, Op, Site, TaskId, Value};
use crate::monitor::race::Learnt;
use crate::monitor::{self, Blocked, Failure, Kind, Monitor, Place};
use crate::search::{Decision, Measure, Part, Taken, format_schedule};

/// A line for a request that cannot be served.
pub(super) fn error(message: &str) -> String {
    Object::new()
        .string("type", "error")
        .string("message", message)
        .finish()
}

/// A line on the way.
pub(super) fn progress(exploration: &Exploration) -> String {
    Object::new()
        .string("type", "progress")
        .number("schedules", exploration.schedules)
        .number("executions", exploration.executions)
        .number("bound", exploration.progress.bound.unwrap_or(0).into())
        .array(
            "bound_starts",
            exploration.bound_starts.iter().map(u64::to_string),
        )
        .array(
            "explored",
            exploration.explored.iter().copied().map(number_or_null),
        )
        .finish()
}

fn number_or_null(number: Option<u64>) -> String {
    number.map_or_else(|| "null".to_owned(), |number| number.to_string())
}

/// How a test ended, beside what the exploration itself says.
pub(super) struct Verdict<'a> {
    pub(super) outcome: &'a str,
    pub(super) kind: Option<Kind>,
    pub(super) message: Option<String>,
    pub(super) failure: Option<&'a Failure>,
}

/// The line that ends a test.
pub(super) fn finished(
    engine: &Engine,
    request: &Request,
    counters: &Counters,
    verdict: &Verdict<'_>,
) -> String {
    let failed = verdict.kind.is_some();
    let names = ObjectNames::of(&engine.execution);
    let shown = failed || request.replay.is_some();
    let blocked = if shown {
        monitor::blocked_tasks(&engine.execution)
    } else {
        Vec::new()
    };
    let circle = monitor::cycle(&blocked);
    let exploration = &engine.exploration;
    let decisions = failed.then(|| format_schedule(&exploration.decisions));
    let location = verdict.failure.and_then(|f| f.place.as_ref().map(location));
    let waits = || blocked_site(verdict.kind, &blocked, &circle).map(place);
    let location = location.or_else(waits);
    Object::new()
        .string("type", "finished")
        .string("outcome", verdict.outcome)
        .optional_string("kind", verdict.kind.map(Kind::name))
        .optional_string("message", verdict.message.as_deref())
        .raw("location", location.as_deref().unwrap_or("null"))
        .number("schedules", counters.schedules)
        .number("executions", counters.executions)
        .number("distinct", counters.distinct)
        .number("pruned", exploration.progress.pruned)
        .number("steps", counters.steps)
        .number("max_steps_in_execution", counters.max_steps)
        .number("threads", counters.threads as u64)
        .optional_number(
            "preemptions",
            failed.then_some(exploration.preemptions.into()),
        )
        .optional_number("bound_completed", counters.bound_of_all.map(u64::from))
        .array(
            "bound_starts",
            counters.bound_starts.iter().map(u64::to_string),
        )
        .array(
            "explored",
            counters.explored.iter().copied().map(number_or_null),
        )
        .boolean("complete", counters.complete_of_all)
        .boolean("deterministic", counters.deterministic)
        .string("strategy", counters.strategy)
        .number("seed", request.seed)
        .optional_string("decisions", decisions.as_deref())
        .array("points", points(engine, exploration.learnt))
        .array("atomic", atomic_files(&engine.execution))
        .array("outside", exploration.outside.iter().map(|o| quoted(o)))
        .array("warnings", counters.warnings.iter().map(|w| quoted(w)))
        .array("tasks", tasks(&engine.execution, &names).filter(|_| shown))
        .array(
            "events",
            events(&engine.execution, &names).filter(|_| shown),
        )
        .array(
            "decided",
            decided(&engine.execution).filter(|_| request.replay.is_some()),
        )
        .array("blocked", blocked.iter().map(|b| blocked_task(b, &names)))
        .array("cycle", circle.iter().map(|t| t.0.to_string()))
        .array("panics", panics(engine).filter(|_| shown))
        .string("output", &String::from_utf8_lossy(&engine.execution.output))
        .array(
            "others",
            exploration.others.iter().map(|found| other(engine, found)),
        )
        .raw(
            "part",
            part(request, engine, counters).as_deref().unwrap_or("null"),
        )
        .raw(
            "minimised",
            minimised(exploration.minimised.as_ref())
                .as_deref()
                .unwrap_or("null"),
        )
        .raw(
            "diverged",
            divergence(exploration).as_deref().unwrap_or("null"),
        )
        .finish()
}

/// What there is to tell of a part, for whoever puts all together.
fn part(request: &Request, engine: &Engine, counters: &Counters) -> Option<String> {
    if request.part == Part::WHOLE {
        return None;
    }
    let share = engine.exploration.share.as_ref();
    let late = share.map_or(&[][..], |share| &share.late);
    let late = late
        .iter()
        .map(|(name, count)| format!("[\"{name:016x}\",{count}]"));
    let object = Object::new()
        .number("index", u64::from(request.part.index) + 1)
        .number("count", request.part.count.into())
        .number("shared", share.map_or(0, |share| share.shared))
        .number(
            "shared_pruned",
            share.map_or(0, |share| share.shared_pruned),
        )
        .array("late", late)
        .optional_number("bound_completed", counters.bound_completed.map(u64::from))
        .boolean("complete", counters.complete);
    Some(object.finish())
}

/// What became of the failing schedule.
fn minimised(minimised: Option<&Minimised>) -> Option<String> {
    let measure = |measure: Measure| {
        Object::new()
            .number("preemptions", measure.preemptions.into())
            .number("switches", measure.switches)
            .number("steps", measure.steps)
            .finish()
    };
    let minimised = minimised?;
    Some(
        Object::new()
            .number("executions", minimised.executions)
            .raw("from", &measure(minimised.from))
            .raw("to", &measure(minimised.to))
            .boolean("fewest_preemptions", minimised.fewest)
            .finish(),
    )
}

/// A failure besides the first one.
fn other(engine: &Engine, found: &Found) -> String {
    let failure = &found.failure;
    let location = failure.place.as_ref().map(location);
    Object::new()
        .string("kind", failure.kind.name())
        .string("message", &String::from_utf8_lossy(&failure.message))
        .raw("location", location.as_deref().unwrap_or("null"))
        .number("preemptions", found.preemptions.into())
        .string("decisions", &format_schedule(&found.decisions))
        .array("points", points(engine, found.learnt))
        .boolean(
            "forgives_races",
            found.learnt.forgiven > 0 && failure.kind != Kind::Race,
        )
        .finish()
}

/// The lines whose accesses to plain memory were scheduling points.
fn points(engine: &Engine, learnt: Learnt) -> impl Iterator<Item = String> {
    let lines = engine.monitors.races.points.first(learnt.points);
    lines.iter().map(|line| {
        let file = String::from_utf8_lossy(&line.file);
        quoted(&format!("{file}:{}", line.number))
    })
}

/// `failure` with the words and the place that only the execution's end has.
pub(super) fn in_words(engine: &Engine, mut failure: Failure) -> Failure {
    let execution = &engine.execution;
    engine.monitors.explain(&mut failure);
    let words = explain(execution, &failure);
    failure.message.clear();
    failure.message.extend_from_slice(words.as_bytes());
    let blocked = monitor::blocked_tasks(execution);
    let site = blocked_site(Some(failure.kind), &blocked, &monitor::cycle(&blocked));
    failure.place = failure.place.or_else(|| site.map(Place::of));
    failure
}

/// Files of code that took one step a call. Sorted: which one came first may
/// depend on the search.
fn atomic_files(execution: &Execution) -> impl Iterator<Item = String> {
    let mut files = execution.policies.atomic_files.to_vec();
    files.sort_unstable();
    files.into_iter().map(quoted)
}

/// Why there is no verdict where every execution was too long.
pub(super) fn given_up(execution: &Execution) -> String {
    format!(
        "no execution ended within {} steps, and none was seen to go round in circles; a test of \
         fewer turns, or a larger --max-steps, gets a verdict",
        execution.steps
    )
}

/// How people call a task.
pub(crate) fn called(task: TaskId) -> String {
    match task.0 {
        0 => "main".to_owned(),
        number => format!("task {number}"),
    }
}

/// A line as messages show it: without the place of the registry.
pub(crate) fn line_of(site: Site) -> String {
    format!("{}:{}", short_path(site.file()), site.line())
}

/// As [`line_of`], of a place.
pub(crate) fn line_of_place(place: &Place) -> String {
    let file = String::from_utf8_lossy(&place.file);
    format!("{}:{}", short_path(&file), place.line)
}

/// The path of a source file without the place of the registry.
pub(crate) fn short_path(file: &str) -> &str {
    let short = file
        .split_once("/registry/src/")
        .and_then(|(_, rest)| rest.split_once('/'));
    short.map_or(file, |(_, rest)| rest)
}

/// The words for a failure that the execution's end explains by itself.
fn explain(execution: &Execution, failure: &Failure) -> String {
    let own = with_error(
        String::from_utf8_lossy(&failure.message).into_owned(),
        execution,
    );
    // Not how many there were: a search that knows how long the test takes gives
    // up sooner than a replay does.
    let limit = execution.max_steps;
    let words = match (failure.kind, execution.ending) {
        (Kind::Deadlock, _) | (Kind::Nondeterminism, Ending::Deadlock) => {
            describe_deadlock(execution)
        }
        (Kind::Livelock, _) | (Kind::Nondeterminism, Ending::Livelock) => format!(
            "no end far beyond {limit} steps, though every task got its turns; a test that is \
             merely long needs a larger --max-steps"
        ),
        (Kind::Spin, Ending::Spin(task)) => format!(
            "{} runs on without yielding, far beyond {limit} steps, while others could run; a \
             loop that waits needs std::hint::spin_loop or std::thread::yield_now",
            called(task)
        ),
        _ => String::new(),
    };
    own + &words
}

/// libtest prints a failed test's error and returns a sentence of its own: the
/// error says more.
fn with_error(message: String, execution: &Execution) -> String {
    const INTRO: &str = "the test returned an error: ";
    let output = String::from_utf8_lossy(&execution.output);
    let error = output
        .lines()
        .rev()
        .find_map(|line| line.strip_prefix("Error: "));
    match error {
        Some(error) if message.starts_with(INTRO) => format!("{INTRO}{error}"),
        _ => message,
    }
}

fn describe_deadlock(execution: &Execution) -> String {
    let names = ObjectNames::of(execution);
    let blocked = monitor::blocked_tasks(execution);
    let circle = monitor::cycle(&blocked);
    let mut text = match circle.len() {
        0 => "no task can go on: ".to_owned(),
        1 => "a task waits for itself: ".to_owned(),
        _ => "tasks wait for each other: ".to_owned(),
    };
    let in_circle = |task: TaskId| circle.is_empty() || circle.contains(&task);
    for (place, wait) in blocked.iter().filter(|b| in_circle(b.task)).enumerate() {
        let separator = if place == 0 { "" } else { "; " };
        let _ = write!(
            text,
            "{separator}{} waits in {}",
            called(wait.task),
            wait.op.name()
        );
        if let Some(name) = names.name(wait.object) {
            let _ = write!(text, " for {name}");
        }
        if wait.op.is_opaque() {
            text.push_str(" in opaque code");
        }
        if let Some(site) = wait.site {
            let place = if wait.op.is_opaque() { "after" } else { "at" };
            let _ = write!(text, " {place} {}", line_of(site));
        }
        if let Some(holder) = wait.holder.filter(|_| wait.op != Op::Join) {
            let _ = write!(text, ", held by {}", called(holder));
            if let Some(site) = wait.held_at {
                let _ = write!(text, " since {}", line_of(site));
            }
        } else if wait.op == Op::Join
            && let Some(other) = wait.holder
        {
            let _ = write!(text, " for {}", called(other));
        }
    }
    text
}

/// A deadlock's place: the first wait of its circle; where there is none, a wait
/// that is not itself for a task that waits.
fn blocked_site(kind: Option<Kind>, blocked: &[Blocked], circle: &[TaskId]) -> Option<Site> {
    if kind != Some(Kind::Deadlock) {
        return None;
    }
    let waits_for_task = |b: &&Blocked| matches!(b.op, Op::Join | Op::ScopeEnd);
    let wait = match circle.first() {
        Some(&first) => blocked.iter().find(|b| b.task == first),
        None => blocked
            .iter()
            .find(|b| !waits_for_task(b))
            .or(blocked.first()),
    };
    wait?.site
}

fn location(place: &Place) -> String {
    Object::new()
        .string("file", &String::from_utf8_lossy(&place.file))
        .number("line", place.line.into())
        .number("column", place.column.into())
        .finish()
}

fn place(site: Site) -> String {
    located(Object::new(), Some(site)).finish()
}

fn located(object: Object, site: Option<Site>) -> Object {
    object
        .optional_string("file", site.map(std::panic::Location::file))
        .optional_number("line", site.map(|s| s.line().into()))
        .optional_number("column", site.map(|s| s.column().into()))
}

fn tasks(execution: &Execution, names: &ObjectNames) -> impl Iterator<Item = String> {
    execution.live_tasks().map(|(id, task)| {
        let name = String::from_utf8_lossy(&task.name);
        let name = if id == TaskId(0) { "main" } else { &*name };
        Object::new()
            .number("id", id.0.into())
            .optional_string("name", Some(name).filter(|n| !n.is_empty()))
            .optional_string("scope", names.name(task.scope))
            .finish()
    })
}

fn events(execution: &Execution, names: &ObjectNames) -> impl Iterator<Item = String> {
    let mut seen = execution.log.values.seen.iter().peekable();
    let events = execution.log.events.iter().enumerate();
    events.map(move |(place, event)| {
        let object = Object::new()
            .number("task", event.task.0.into())
            .string("op", event.op.name())
            .optional_string(
                "object",
                names.name(event.object).filter(|_| shows_object(event.op)),
            );
        let object = located(object, event.site)
            .boolean("preempted", event.preempted)
            .optional_string(
                "note",
                noted(event.note).map(|note| note.to_string()).as_deref(),
            );
        if !execution.log.values.is_wanted {
            return object.finish();
        }
        let values = seen.next_if(|seen| seen.event as usize == place);
        let read = values.and_then(|seen| seen.read).map(value);
        let written = values.and_then(|seen| seen.written).map(value);
        object
            .string("effect", effect(event.effect))
            .optional_string("read", read.as_deref())
            .optional_string("written", written.as_deref())
            .finish()
    })
}

fn value(value: Value) -> String {
    match value {
        Value::Unsigned(number) => number.to_string(),
        Value::Signed(number) => number.to_string(),
        Value::Boolean(boolean) => boolean.to_string(),
        Value::Pointer(address) => format!("{address:#x}"),
    }
}

fn effect(effect: Effect) -> &'static str {
    match effect {
        Effect::Read => "read",
        Effect::Enter => "enter",
        Effect::Leave => "leave",
        Effect::Update => "update",
        Effect::Release => "release",
        Effect::Acquire => "acquire",
        Effect::Write => "write",
    }
}

/// The panics of the execution, in order.
fn panics(engine: &Engine) -> impl Iterator<Item = String> {
    let outcome = &engine.monitors.outcome;
    outcome.panics.iter().map(|panic| {
        let message = String::from_utf8_lossy(&panic.message);
        let fate = outcome.fate(panic, &engine.execution, &engine.exploration.body);
        Object::new()
            .number("task", panic.task.0.into())
            .number("event", panic.event.into())
            .string("message", &message)
            .raw("location", &location(&panic.place))
            .optional_string("fate", fate.name())
            .finish()
    })
}

/// The decisions of a replay, and what they could have been instead.
fn decided(execution: &Execution) -> impl Iterator<Item = String> {
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

/// A task's own start and end say nothing by naming the task again; what opaque
/// code touches has no name.
pub(super) fn shows_object(op: Op) -> bool {
    !matches!(op, Op::Start | Op::Exit | Op::OpaqueCall)
}

fn blocked_task(blocked: &Blocked, names: &ObjectNames) -> String {
    let object = Object::new()
        .number("task", blocked.task.0.into())
        .string("op", blocked.op.name())
        .optional_string("object", names.name(blocked.object));
    located(object, blocked.site.filter(|_| !blocked.op.is_opaque()))
        .boolean("preempted", blocked.preempted)
        .optional_number("holder", blocked.holder.map(|t| t.0.into()))
        .raw(
            "held_at",
            blocked.held_at.map(place).as_deref().unwrap_or("null"),
        )
        .finish()
}

fn divergence(exploration: &Exploration) -> Option<String> {
    let divergence = exploration.divergence?;
    let expected = match divergence.expected {
        Decision::Task(task) => format!("task {} runs", task.0),
        Decision::Outcome(outcome) => format!("an operation has outcome {outcome}"),
    };
    let ended = divergence.index as usize >= exploration.decisions.len();
    let found = if ended {
        "but the program has ended by then"
    } else {
        "which is not possible there"
    };
    Some(
        Object::new()
            .number("step", divergence.index.into())
            .string("expected", &expected)
            .string("found", found)
            .finish(),
    )
}
