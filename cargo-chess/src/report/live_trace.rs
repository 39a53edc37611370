//! The events of a replay, printed while they happen, in the form of a report's table.

use std::collections::BTreeMap;

use chess_vocabulary::Op;

use super::abbreviate::{operation, place, shown};
use crate::protocol::LiveEvent;
use crate::text::{BOLD, DIM, WARN, columns, fit, styled, thousands};

/// The least width of the column of task names. The column becomes wider if a name needs it, and
/// stays so.
const NAME: usize = 8;
/// The least width of the column of operations. The column becomes wider if a text needs it, and
/// stays so.
const OPERATION: usize = 24;

/// The state of the printed lines.
#[derive(Debug)]
pub(crate) struct Trace {
    name: usize,
    operation: usize,
    has_header: bool,
    /// For each name that the program gave to a task: the first task with this name.
    named: BTreeMap<String, u32>,
}

impl Default for Trace {
    fn default() -> Self {
        Self {
            name: NAME,
            operation: OPERATION,
            has_header: false,
            named: BTreeMap::new(),
        }
    }
}

impl Trace {
    /// The line of an event. Before the first line, the result also has the headings of the
    /// columns.
    pub(crate) fn event(&mut self, number: u64, event: &LiveEvent) -> String {
        let what = what(event);
        let note = event.note.map(|note| {
            let woken = note.woken().map(|task| task.to_string());
            format!(": {}", note.in_words(&woken.unwrap_or_default()))
        });
        let note = note.unwrap_or_default();
        let at = event.location().as_ref().map(place).unwrap_or_default();
        let name = self.task(event);
        self.name = self.name.max(columns(&name));
        self.operation = self.operation.max(columns(&what) + columns(&note));
        let mut text = self.header();
        let line = format!(
            "  {:>4}  {}  {what}",
            thousands(number),
            fit(&name, self.name)
        );
        text += &line;
        text += &styled(WARN, &note);
        if !at.is_empty() {
            let used = columns(&what) + columns(&note);
            text += &" ".repeat(self.operation - used + 2);
            text += &styled(DIM, at);
        }
        text + "\n"
    }

    /// The line of a preemption.
    pub(crate) fn preemption(&mut self, event: &LiveEvent) -> String {
        let what = what(event);
        self.mark(event, &format!("is preempted before {what}"))
    }

    /// The line of a panic.
    pub(crate) fn panic(&mut self, event: &LiveEvent) -> String {
        self.mark(event, "panics")
    }

    fn mark(&mut self, event: &LiveEvent, what: &str) -> String {
        let at = event.location();
        let at = at.map_or_else(String::new, |at| format!(" at {}", place(&at)));
        let line = format!("~~~ {} {what}{at} ~~~", self.task(event));
        format!("{}        {}\n", self.header(), styled(WARN, line))
    }

    fn header(&mut self) -> String {
        if std::mem::replace(&mut self.has_header, true) {
            return String::new();
        }
        let task = fit("task", self.name);
        let operation = fit("operation", self.operation);
        styled(BOLD, format!("  step  {task}  {operation}  at")) + "\n"
    }

    /// The name of a task, with its number if an earlier task had the same name.
    fn task(&mut self, event: &LiveEvent) -> String {
        match (event.task, &event.name) {
            (0, _) => "main".to_owned(),
            (number, None) => format!("task {number}"),
            (number, Some(name)) => match *self.named.entry(name.clone()).or_insert(number) {
                first if first == number => name.clone(),
                _ => format!("{name}#{number}"),
            },
        }
    }
}

fn what(event: &LiveEvent) -> String {
    let op = event.op.map_or("", Op::name);
    operation(op, shown(event.object.as_ref()))
}

#[cfg(test)]
mod tests {
    use chess_vocabulary::Note;

    use super::*;
    use crate::protocol::op_named;

    fn event(task: u32, op: &str, object: &str, line: u32) -> LiveEvent {
        LiveEvent {
            task,
            name: (task == 2).then(|| "worker".to_owned()),
            op: (!op.is_empty()).then(|| op_named(op)),
            object: (!object.is_empty()).then(|| object.into()),
            file: Some("src/lib.rs".to_owned()),
            line: Some(line),
            column: Some(1),
            note: None,
        }
    }

    #[test]
    fn each_event_has_a_line_in_columns() {
        let mut trace = Trace::default();
        let mut text = trace.event(1, &event(0, "spawn", "task 2", 7));
        text += &trace.event(2, &event(2, "Mutex::lock", "M1", 9));
        text += &trace.preemption(&event(2, "Mutex unlock", "M1", 10));
        let noted = LiveEvent {
            note: Some(Note::WOKE_SPURIOUSLY),
            ..event(0, "Condvar::wait", "C1", 12)
        };
        text += &trace.event(1003, &noted);
        text += &trace.event(1004, &event(0, "load", "A1", 13));
        text += &trace.panic(&event(0, "", "", 14));
        let text = anstream::adapter::strip_str(&text).to_string();
        insta::assert_snapshot!(text);
    }
}
