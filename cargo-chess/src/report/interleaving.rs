//! The table of an execution. It has a column for each task and a row for each event, and marks
//! preemptions.

use std::collections::{BTreeMap, BTreeSet};

use super::abbreviate::{called, place, shown, switched, with_values, within_call};
use super::fold::{Row, folded, unfolded};
use super::layout::{Layout, Line};
use super::lock_holders::LockHolders;
use super::names::Names;
use super::panics;
use crate::protocol::{Blocked, Finished, Step};
use crate::text::{DIM, WARN, plural};

/// The form of the table.
#[derive(Clone, Debug)]
pub(super) struct Table {
    /// Columns of the terminal.
    pub(super) width: usize,
    /// Whether all events are shown, and none are folded.
    pub(super) whole: bool,
    /// Events that are never folded.
    pub(super) kept: BTreeSet<usize>,
    /// Whether the table names the holders of the locks that tasks wait for.
    pub(super) locks: bool,
}

/// The table of `finished`'s execution.
pub(super) fn interleaving(finished: &Finished, names: &Names, table: &Table) -> String {
    let events = &finished.events;
    let rows = if table.whole {
        unfolded(events)
    } else {
        folded(events, &table.kept)
    };
    let lines: Vec<Option<Line>> = rows.iter().map(|row| line(*row, events)).collect();
    let waiting: Vec<Line> = finished.blocked.iter().map(waiting).collect();
    let shown: Vec<Line> = lines.iter().flatten().chain(&waiting).cloned().collect();
    let layout = Layout::new(&shown, events.len(), names, table.width);
    let preemptions = Preemptions::new(finished);
    let marked = |mark| {
        let (what, place) = describe(mark, finished, names);
        layout.mark(&what, &place)
    };
    let panics = panics::marks(finished, names);
    let mut text = layout.header();
    text.extend(preemptions.before_all().map(marked));
    let mut holding = LockHolders::new(finished, names);
    for (row, line) in rows.iter().zip(&lines) {
        text += &match line {
            Some(line) => layout.line(line),
            None => layout.omission(&omission(*row)),
        };
        let after = row.events().flat_map(|index| preemptions.after(index));
        text.extend(after.map(marked));
        let behind = row.events().start + 1..=row.events().end;
        let panics = panics.iter().filter(|(event, ..)| behind.contains(event));
        text.extend(panics.map(|(_, what, place)| layout.mark(what, place)));
        if table.locks {
            let sentences = holding.after(row.events().end);
            text.extend(sentences.iter().map(|it| layout.omission(it)));
        }
    }
    if finished.events_left_out > 0 {
        let later = plural(finished.events_left_out, "later event");
        text += &layout.omission(&format!("\u{2026} {later}, not recorded"));
    }
    text.extend(waiting.iter().map(|line| layout.line(line)));
    text
}

/// The line of a row whose events belong to one task; `None` for other rows.
fn line(row: Row, events: &[Step]) -> Option<Line> {
    match row {
        Row::Event(index) => {
            let event = &events[index];
            Some(Line {
                number: Some(index + 1),
                task: event.task,
                op: within_call(event),
                object: with_values(event),
                note: event.note,
                place: event
                    .shown_location()
                    .as_ref()
                    .map_or_else(String::new, place),
                style: None,
            })
        }
        Row::Call { first, count } => {
            let event = &events[first];
            Some(Line {
                number: Some(first + 1),
                task: event.task,
                op: format!("{}: {}", called(event), plural(count as u64, "event")),
                place: event
                    .shown_location()
                    .as_ref()
                    .map_or_else(String::new, place),
                ..Line::default()
            })
        }
        Row::Run { first, count } => Some(Line {
            task: events[first].task,
            op: omitted(count),
            style: Some(DIM),
            ..Line::default()
        }),
        Row::Repeat { .. } | Row::Cut { .. } => None,
    }
}

/// The line of a task that waits at the end.
fn waiting(blocked: &Blocked) -> Line {
    Line {
        number: None,
        task: blocked.task,
        op: format!("waits: {}", within_call(&blocked.to_step())),
        object: shown(blocked.object.as_ref()).map(str::to_owned),
        note: blocked.note,
        place: blocked
            .shown_location()
            .as_ref()
            .map_or_else(String::new, place),
        style: Some(WARN),
    }
}

/// The text of a row whose events may belong to several tasks.
fn omission(row: Row) -> String {
    match row {
        Row::Repeat { period, times, .. } => {
            let these = match period {
                1 => "the same event".to_owned(),
                n => format!("the same {n} events"),
            };
            format!("\u{2026} {these}, {}", plural(times as u64, "more time"))
        }
        row => omitted(row.events().len()),
    }
}

fn omitted(count: usize) -> String {
    format!("\u{2026} {}", plural(count as u64, "event"))
}

/// An operation before which its task was switched out by a preemption.
#[derive(Clone, Copy)]
enum Mark {
    /// An operation that was performed later: the index of the event.
    Event(usize),
    /// An operation that waits at the end: its index in `blocked`.
    Blocked(usize),
}

/// The preemptions of an execution. In `after`, the key is the index of the last event of the
/// preempted task before the preemption, or `None` if the task has no such event.
struct Preemptions {
    after: BTreeMap<Option<usize>, Vec<Mark>>,
}

impl Preemptions {
    fn new(finished: &Finished) -> Self {
        let events = &finished.events;
        let last_of = |task: u32, before: usize| {
            events[..before]
                .iter()
                .rposition(|event| event.task == task)
        };
        let mut after: BTreeMap<Option<usize>, Vec<Mark>> = BTreeMap::new();
        for (index, event) in events
            .iter()
            .enumerate()
            .filter(|(_, event)| event.preempted)
        {
            after
                .entry(last_of(event.task, index))
                .or_default()
                .push(Mark::Event(index));
        }
        for (index, blocked) in finished.blocked.iter().enumerate() {
            if blocked.preempted {
                after
                    .entry(last_of(blocked.task, events.len()))
                    .or_default()
                    .push(Mark::Blocked(index));
            }
        }
        Self { after }
    }

    fn before_all(&self) -> impl Iterator<Item = Mark> + '_ {
        self.after.get(&None).into_iter().flatten().copied()
    }

    fn after(&self, index: usize) -> impl Iterator<Item = Mark> + '_ {
        self.after.get(&Some(index)).into_iter().flatten().copied()
    }
}

/// The preemptions of an execution. For each: the number of events up to the last event of the
/// preempted task before the preemption, the text, and the source line.
pub(super) fn preemptions(finished: &Finished, names: &Names) -> Vec<(usize, String, String)> {
    let all = Preemptions::new(finished).after.into_iter();
    let all = all.flat_map(|(after, marks)| {
        let count = after.map_or(0, |index| index + 1);
        marks.into_iter().map(move |mark| (count, mark))
    });
    let described = all.map(|(count, mark)| {
        let (what, place) = describe(mark, finished, names);
        (count, what, place)
    });
    described.collect()
}

/// The text of a preemption, such as `worker is preempted before load A1`, and its source line,
/// such as `src/lib.rs:9`. The source line may be empty.
fn describe(mark: Mark, finished: &Finished, names: &Names) -> (String, String) {
    let step = match mark {
        Mark::Event(index) => finished.events[index].clone(),
        Mark::Blocked(index) => finished.blocked[index].to_step(),
    };
    let place = step
        .shown_location()
        .as_ref()
        .map_or_else(String::new, place);
    let text = format!("{} is preempted {}", names.of(step.task), switched(&step));
    (text, place)
}

#[cfg(test)]
mod tests {
    use super::super::samples;
    use super::*;
    use crate::text::columns;

    fn table(finished: &Finished, width: usize) -> String {
        let names = Names::new(&finished.tasks);
        let table = Table {
            width,
            whole: false,
            kept: BTreeSet::new(),
            locks: false,
        };
        let text = interleaving(finished, &names, &table);
        anstream::adapter::strip_str(&text).to_string()
    }

    #[test]
    fn each_task_has_a_column_and_preemptions_are_marked() {
        insta::assert_snapshot!(table(&samples::panic(), 100));
    }

    #[test]
    fn tasks_that_wait_at_the_end_are_shown_waiting() {
        insta::assert_snapshot!(table(&samples::deadlock(), 100));
    }

    #[test]
    fn a_narrow_terminal_gets_a_line_with_the_name_of_the_task() {
        insta::assert_snapshot!(table(&samples::deadlock(), 60));
    }

    #[test]
    fn no_line_is_wider_than_the_terminal() {
        for width in [50, 60, 80, 100, 200] {
            for finished in [
                samples::panic(),
                samples::deadlock(),
                samples::many_tasks(),
                samples::noted(),
                samples::long_names(),
            ] {
                let table = table(&finished, width);
                let longest = table.lines().map(columns).max();
                assert!(longest <= Some(width), "{width}:\n{table}");
            }
        }
    }

    #[test]
    fn a_note_stands_behind_its_operation_or_below_where_there_is_no_room() {
        insta::assert_snapshot!(table(&samples::noted(), 100));
    }

    #[test]
    fn few_columns_keep_operations_whole_and_of_source_lines_file_and_line() {
        insta::assert_snapshot!(table(&samples::long_names(), 80));
    }

    #[test]
    fn long_executions_are_folded() {
        insta::assert_snapshot!(table(&samples::livelock(), 100));
    }
}
