//! The live trace: events are sent to the supervisor as they happen, so that the supervisor has
//! them even if the process crashes or hangs next.
//!
//! This runs in tasks, so it uses only the engine's memory: the contents of the program's memory
//! must not depend on the trace.

use core::fmt::{self, Display, Write};

use chess_vocabulary::{Object, Token as _};

use super::explorer_output;
use super::json::escape;
use super::names::kind_and_number;
use super::report::note_and_object::{write_note, write_object};
use super::report::shows_object;
use crate::base::memory::{EngineVec, Place, engine_vec};
use crate::execution::{Event, Execution, Listener, ObjectId, Op, Panic, Site, TaskId};

/// The state of the trace.
pub(crate) struct Trace {
    /// The objects that were used, and their names.
    used: EngineVec<(ObjectId, Object)>,
    /// The number of events of this execution.
    events: u64,
    /// The number of lines that the current attempt of this execution has written.
    lines: u64,
    /// The largest number of lines that an attempt of this execution has sent. An attempt ends
    /// early, and is repeated, if it needs more threads.
    passed: u64,
    line: EngineVec<u8>,
}

/// The place of the trace.
pub(super) const PLACE: Place<Trace> = Place::after(&explorer_output::PLACE);

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

    /// The name of an object, as in `names::ObjectNames`; `None` if the object was not used
    /// before.
    fn name(&self, object: ObjectId) -> Option<Object> {
        let used = self.used.iter().find(|(used, _)| *used == object)?;
        Some(used.1)
    }

    /// Names `object`, which `op` uses, if it has no name yet.
    fn uses(&mut self, execution: &Execution, object: ObjectId, op: Op) {
        if object == ObjectId::NONE || self.name(object).is_some() {
            return;
        }
        let (kind, number) = kind_and_number(execution.objects.get(object).address, op);
        let same = || {
            self.used
                .iter()
                .filter(|(_, used)| used.kind == kind)
                .count() as u32
        };
        let number = number.unwrap_or_else(|| same() + 1);
        self.used.push((object, Object { kind, number }));
    }

    /// Sends a line, unless an earlier attempt of the execution has sent it.
    fn send_line(&mut self) {
        self.lines += 1;
        if self.lines > self.passed {
            self.passed = self.lines;
            self.line.extend_from_slice(b"}\n");
            explorer_output::all(&self.line);
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

    fn operation(&mut self, op: Op, object: Option<Object>, site: Option<Site>) {
        self.member("op", &op.token());
        if let Some(object) = object.filter(|_| shows_object(op)) {
            self.raw(format_args!(",\"object\":"));
            write_object(&mut *self, object);
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
    unsafe { &mut *PLACE.get() }
}

/// Sets whether the next executions are traced.
pub(super) fn set_enabled(execution: &mut Execution, on: bool) {
    execution.log.is_reported = on;
}

/// Resets the trace at the beginning of an execution.
pub(super) fn begins(execution: &Execution) {
    if !execution.log.is_reported {
        return;
    }
    let trace = trace();
    trace.used.clear();
    trace.events = 0;
    trace.lines = 0;
}

/// The listener that sends the events of an execution while it runs.
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
        if event.note.kind().is_some() {
            line.raw(format_args!(",\"note\":"));
            write_note(&mut line, event.note);
        }
        trace.send_line();
    }

    #[cold]
    fn preemption(&self, execution: &Execution) {
        let trace = trace();
        let task = execution.task(execution.schedule.current);
        let object = trace.name(task.object);
        let mut line = trace.begin("preemption", execution, execution.schedule.current);
        line.operation(task.op, object, task.site.filter(|_| !task.op.is_opaque()));
        trace.send_line();
    }

    #[cold]
    fn panics(&self, execution: &Execution, panic: &Panic) {
        if !execution.log.is_reported {
            return;
        }
        let trace = trace();
        let mut line = trace.begin("panicked", execution, panic.task);
        let file = str::from_utf8(&panic.place.file).unwrap_or_default();
        line.place(file, panic.place.line, panic.place.column);
        trace.send_line();
    }
}
