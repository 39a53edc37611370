//! The live trace: events are sent to the supervisor as they happen, so that it has them even if
//! the process crashes or hangs next.
//!
//! This runs in tasks, so it uses only the engine's memory: the contents of the program's memory
//! must not depend on the trace.

use core::fmt::{self, Display, Write};

use super::json::escape;
use super::notes::noted;
use super::report::shows_object;
use super::run::Root;
use super::tell;
use crate::base::memory::{EngineVec, engine_vec};
use crate::engine::engine;
use crate::execution::{
    Event, Execution, Listener, ObjectId, Op, Panic, Site, TaskId, descriptor_of_object,
    task_of_object,
};

/// The state of the trace.
pub(crate) struct Trace {
    /// The objects that were used, and their names: a kind and a number.
    used: EngineVec<(ObjectId, &'static str, usize)>,
    /// The number of events of this execution.
    events: u64,
    /// The number of its lines.
    lines: u64,
    /// The number of lines of earlier attempts, which ended because they needed more threads.
    passed: u64,
    line: EngineVec<u8>,
}

impl Trace {
    pub(crate) const fn new() -> Self {
        Self {
            used: engine_vec(),
            events: 0,
            lines: 0,
            passed: 0,
            line: engine_vec(),
        }
    }

    /// The name of an object, as in `names::ObjectNames`, if it was used.
    fn name(&self, object: ObjectId) -> Option<(&'static str, usize)> {
        let used = self.used.iter().find(|(used, ..)| *used == object)?;
        Some((used.1, used.2))
    }

    /// Names an object at its first use, which is by `op`.
    fn uses(&mut self, execution: &Execution, object: ObjectId, op: Op) {
        if object == ObjectId::NONE || self.name(object).is_some() {
            return;
        }
        let address = execution.objects.get(object).address;
        let descriptor = descriptor_of_object(address);
        let kind = descriptor.map_or_else(|| op.object_kind(), |(kind, _)| kind);
        let same = self.used.iter().filter(|used| used.1 == kind).count();
        let (kind, number) = match (task_of_object(address), descriptor) {
            (Some(task), _) => ("task ", task.0 as usize),
            (None, Some((kind, Some(number)))) => (kind, number),
            (None, _) => (kind, same + 1),
        };
        self.used.push((object, kind, number));
    }

    /// Sends a line, unless an earlier attempt of the execution has sent it.
    fn tell(&mut self) {
        self.lines += 1;
        if self.lines > self.passed {
            self.passed = self.lines;
            self.line.extend_from_slice(b"}\n");
            tell::all(&self.line);
        }
    }

    /// Begins a line about `task`.
    fn begin(&mut self, kind: &str, execution: &Execution, task: TaskId) -> Line<'_> {
        self.line.clear();
        let mut line = Line(&mut self.line);
        line.raw(format_args!("{{\"type\":\"{kind}\",\"task\":{}", task.0));
        let name = str::from_utf8(&execution.task(task).name).unwrap_or_default();
        if !name.is_empty() {
            line.member("name", &name);
        }
        line
    }
}

/// A line of JSON that is being written.
struct Line<'a>(&'a mut EngineVec<u8>);

impl Write for Line<'_> {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        self.0.extend_from_slice(text.as_bytes());
        Ok(())
    }
}

/// A writer whose text becomes part of a JSON string.
struct Escaped<'a, 'b>(&'a mut Line<'b>);

impl Write for Escaped<'_, '_> {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        escape(self.0, text)
    }
}

impl Line<'_> {
    fn raw(&mut self, text: fmt::Arguments<'_>) {
        let written = self.write_fmt(text);
        debug_assert!(written.is_ok(), "writing to memory succeeds");
    }

    fn member(&mut self, key: &str, value: &dyn Display) {
        self.raw(format_args!(",\"{key}\":\""));
        let written = write!(Escaped(self), "{value}");
        debug_assert!(written.is_ok(), "writing to memory succeeds");
        self.raw(format_args!("\""));
    }

    fn operation(&mut self, op: Op, object: Option<(&str, usize)>, site: Option<Site>) {
        self.member("op", &op.name());
        if let Some((kind, number)) = object.filter(|_| shows_object(op)) {
            self.member("object", &format_args!("{kind}{number}"));
        }
        if let Some(site) = site {
            self.place(site.file(), site.line(), site.column());
        }
    }

    fn place(&mut self, file: &str, line: u32, column: u32) {
        self.member("file", &file);
        self.raw(format_args!(",\"line\":{line},\"column\":{column}"));
    }
}

fn trace() -> &'static mut Trace {
    // SAFETY: one thread runs engine code at a time, and each borrow ends before another thread
    // runs.
    unsafe { &mut (*engine()).exploration.trace }
}

/// Sets whether the next executions are traced.
pub(super) fn turn(mut engine: Root, on: bool) {
    engine.execution.log.is_told = on;
}

/// Handles the beginning of an execution.
pub(super) fn begins(engine: Root) {
    if !engine.execution.log.is_told {
        return;
    }
    let trace = trace();
    trace.used.clear();
    trace.events = 0;
    trace.lines = 0;
}

/// The trace of an execution, printed while it runs.
pub(crate) struct LiveTrace;

impl Listener for LiveTrace {
    #[cold]
    fn event(&self, execution: &Execution, event: &Event) {
        let trace = trace();
        trace.uses(execution, event.object, event.op);
        trace.events += 1;
        let (number, object) = (trace.events, trace.name(event.object));
        let mut line = trace.begin("event", execution, event.task);
        line.raw(format_args!(",\"number\":{number}"));
        line.operation(event.op, object, event.site);
        if let Some(note) = noted(event.note) {
            line.member("note", &note);
        }
        trace.tell();
    }

    #[cold]
    fn preemption(&self, execution: &Execution) {
        let trace = trace();
        let task = execution.task(execution.current);
        let object = trace.name(task.object);
        let mut line = trace.begin("preemption", execution, execution.current);
        line.operation(task.op, object, task.site.filter(|_| !task.op.is_opaque()));
        trace.tell();
    }

    #[cold]
    fn panics(&self, execution: &Execution, panic: &Panic) {
        if !execution.log.is_told {
            return;
        }
        let trace = trace();
        let mut line = trace.begin("panicked", execution, panic.task);
        let file = str::from_utf8(&panic.place.file).unwrap_or_default();
        line.place(file, panic.place.line, panic.place.column);
        trace.tell();
    }
}
