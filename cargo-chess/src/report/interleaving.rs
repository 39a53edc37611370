//! The table of an execution: a column a task, a row an event, preemptions marked.

use std::collections::BTreeMap;

use super::fold::{Row, folded, unfolded};
use super::names::Names;
use super::paths::source_path;
use super::text::{BOLD, DIM, WARN, columns, cut, cut_front, fit, plural, styled};
use crate::events::Location;
use crate::supervise::protocol::{Blocked, Finished, Step};

/// The narrowest useful column of a task.
const NARROWEST: usize = 12;

/// The widest column of source lines, unless there is room left.
const WIDEST_PLACE: usize = 44;

/// Between columns.
const GAP: &str = "  ";

/// The table of `finished`'s execution in `width` columns; with `whole`, nothing is folded.
pub(super) fn interleaving(
    finished: &Finished,
    names: &Names,
    width: usize,
    whole: bool,
) -> String {
    let events = &finished.events;
    let rows = if whole {
        unfolded(events)
    } else {
        folded(events)
    };
    let layout = Layout::new(finished, &rows, names, width);
    let preemptions = Preemptions::new(finished);
    let mut text = layout.header(names);
    for mark in preemptions.before_all() {
        text += &layout.mark(&describe(mark, finished, names));
    }
    for row in rows {
        text += &layout.row(row, events, names);
        for mark in row.events().flat_map(|index| preemptions.after(index)) {
            text += &layout.mark(&describe(mark, finished, names));
        }
    }
    for blocked in &finished.blocked {
        let what = format!("waits: {}", operation(&blocked.op, blocked.object.as_ref()));
        let place = blocked.location().as_ref().map_or_else(String::new, place);
        text += &layout.line("", blocked.task, &what, &place, names, Some(WARN));
    }
    text
}

/// An operation before which its task was switched out by a preemption.
#[derive(Clone, Copy)]
enum Mark {
    /// One that ran later.
    Event(usize),
    /// One that waits at the end: the index among the blocked.
    Blocked(usize),
}

/// The preemptions, by the event after which they happened.
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

/// `worker is preempted before load A1 at src/lib.rs:9`
fn describe(mark: Mark, finished: &Finished, names: &Names) -> String {
    let (task, what, location) = match mark {
        Mark::Event(index) => {
            let Step {
                task, op, object, ..
            } = &finished.events[index];
            (
                task,
                operation(op, object.as_ref()),
                finished.events[index].location(),
            )
        }
        Mark::Blocked(index) => {
            let Blocked {
                task, op, object, ..
            } = &finished.blocked[index];
            (
                task,
                operation(op, object.as_ref()),
                finished.blocked[index].location(),
            )
        }
    };
    let place = location.map_or_else(String::new, |location| format!(" at {}", place(&location)));
    format!("{} is preempted before {what}{place}", names.of(*task))
}

fn operation(op: &str, object: Option<&String>) -> String {
    match object {
        Some(object) => format!("{op} {object}"),
        None => op.to_owned(),
    }
}

fn omitted(count: usize) -> String {
    format!("\u{2026} {}", plural(count as u64, "event"))
}

fn place(location: &Location) -> String {
    format!("{}:{}", source_path(&location.file), location.line)
}

/// Where things stand in a line.
struct Layout {
    /// The width of step numbers.
    number: usize,
    /// The tasks with a column each, and its width; empty in the narrow form,
    /// in which each line names its task.
    tasks: Vec<(u32, usize)>,
    /// The width of task names in the narrow form.
    name: usize,
    /// The width of source lines.
    place: usize,
    /// The width of everything.
    width: usize,
}

impl Layout {
    fn new(finished: &Finished, rows: &[Row], names: &Names, width: usize) -> Self {
        // What each task would like to have, by what is shown of it.
        let mut wanted: BTreeMap<u32, usize> = BTreeMap::new();
        let mut widest_place = columns("at");
        let mut want = |task: u32, what: &str, location: Option<Location>| {
            let own = wanted
                .entry(task)
                .or_insert_with(|| columns(&names.of(task)));
            *own = columns(what).max(*own);
            if let Some(location) = location {
                widest_place = columns(&place(&location)).max(widest_place);
            }
        };
        for row in rows {
            let event = &finished.events[row.events().start];
            match row {
                Row::Event(_) => {
                    want(
                        event.task,
                        &operation(&event.op, event.object.as_ref()),
                        event.location(),
                    );
                }
                Row::Run { count, .. } => want(event.task, &omitted(*count), None),
                Row::Repeat { .. } | Row::Cut { .. } => {}
            }
        }
        for blocked in &finished.blocked {
            let what = format!("waits: {}", operation(&blocked.op, blocked.object.as_ref()));
            want(blocked.task, &what, blocked.location());
        }
        let number = finished.events.len().to_string().len().max(4);
        let before = 2 + number + GAP.len();
        let natural: usize = wanted.values().map(|width| width + GAP.len()).sum();
        // Source lines may have what the tasks leave, and a third in any case.
        let left = width.saturating_sub(before + natural);
        let place = widest_place.min(left.max(WIDEST_PLACE.min(width / 3)));
        let name = wanted
            .keys()
            .map(|task| columns(&names.of(*task)))
            .max()
            .unwrap_or(0);
        let room = width.saturating_sub(before + place);
        Self {
            number,
            tasks: share(&wanted, room).unwrap_or_default(),
            name: name.min(16),
            place,
            width,
        }
    }

    fn header(&self, names: &Names) -> String {
        let mut line = format!("  {:>number$}{GAP}", "step", number = self.number);
        if self.tasks.is_empty() {
            line += &fit("task", self.name);
            line += GAP;
            line += &fit("operation", self.what_width());
        } else {
            for (position, (task, width)) in self.tasks.iter().enumerate() {
                line += if position > 0 { GAP } else { "" };
                line += &fit(&names.of(*task), *width);
            }
        }
        line += GAP;
        line += "at";
        styled(BOLD, line.trim_end()) + "\n"
    }

    fn row(&self, row: Row, events: &[Step], names: &Names) -> String {
        let dim = |text: String| styled(DIM, text);
        match row {
            Row::Event(index) => {
                let event = &events[index];
                let what = operation(&event.op, event.object.as_ref());
                let place = event.location().as_ref().map_or_else(String::new, place);
                self.line(
                    &(index + 1).to_string(),
                    event.task,
                    &what,
                    &place,
                    names,
                    None,
                )
            }
            Row::Run { first, count } => self.line(
                "",
                events[first].task,
                &omitted(count),
                "",
                names,
                Some(DIM),
            ),
            Row::Repeat { period, times, .. } => {
                let these = match period {
                    1 => "the same event".to_owned(),
                    n => format!("the same {n} events"),
                };
                let times = plural(times as u64, "more time");
                dim(format!(
                    "  {:>number$}{GAP}\u{2026} {these}, {times}",
                    "",
                    number = self.number
                )) + "\n"
            }
            Row::Cut { count, .. } => {
                let omitted = omitted(count);
                dim(format!(
                    "  {:>number$}{GAP}{omitted}",
                    "",
                    number = self.number
                )) + "\n"
            }
        }
    }

    fn line(
        &self,
        number: &str,
        task: u32,
        what: &str,
        place: &str,
        names: &Names,
        style: Option<anstyle::Style>,
    ) -> String {
        let paint = |text: &str| style.map_or_else(|| text.to_owned(), |style| styled(style, text));
        let mut line = format!("  {number:>width$}{GAP}", width = self.number);
        if self.tasks.is_empty() {
            line += &fit(&names.of(task), self.name);
            line += GAP;
            line += &paint(&fit(what, self.what_width()));
        } else {
            for (position, (own, width)) in self.tasks.iter().enumerate() {
                line += if position > 0 { GAP } else { "" };
                if *own == task {
                    line += &paint(&fit(what, *width));
                } else {
                    line += &" ".repeat(*width);
                }
            }
        }
        line += GAP;
        line += &styled(DIM, cut_front(place, self.place));
        trim_end(&line) + "\n"
    }

    /// A line across all columns.
    fn mark(&self, text: &str) -> String {
        let room = self.width.saturating_sub(2 + self.number + GAP.len());
        let line = cut(&format!("~~~ {text} ~~~"), room);
        format!(
            "  {:>number$}{GAP}{}\n",
            "",
            styled(WARN, line),
            number = self.number
        )
    }

    /// The width of operations in the narrow form.
    fn what_width(&self) -> usize {
        let fixed = 2 + self.number + 3 * GAP.len() + self.name + self.place;
        self.width.saturating_sub(fixed).clamp(NARROWEST, 40)
    }
}

/// Shares `room` among the tasks; none if there is too little for a column each.
fn share(wanted: &BTreeMap<u32, usize>, room: usize) -> Option<Vec<(u32, usize)>> {
    let gaps = GAP.len() * wanted.len();
    let room = room.checked_sub(gaps)?;
    let least: usize = wanted.values().map(|width| (*width).min(NARROWEST)).sum();
    if room < least {
        return None;
    }
    // The widest columns give way first.
    let mut limit = wanted.values().copied().max().unwrap_or(0);
    while wanted
        .values()
        .map(|width| (*width).min(limit))
        .sum::<usize>()
        > room
    {
        limit -= 1;
    }
    Some(
        wanted
            .iter()
            .map(|(task, width)| (*task, (*width).min(limit)))
            .collect(),
    )
}

/// `line` without the spaces at its end, also those before an empty styled text.
fn trim_end(line: &str) -> String {
    let empty = styled(DIM, "");
    line.strip_suffix(&empty)
        .unwrap_or(line)
        .trim_end()
        .to_owned()
}

#[cfg(test)]
mod tests {
    use super::super::samples;
    use super::*;

    fn table(finished: &Finished, width: usize) -> String {
        let names = Names::new(&finished.tasks);
        let text = interleaving(finished, &names, width, false);
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
            for finished in [samples::panic(), samples::deadlock(), samples::many_tasks()] {
                let table = table(&finished, width);
                let longest = table.lines().map(columns).max();
                assert!(longest <= Some(width), "{width}:\n{table}");
            }
        }
    }

    #[test]
    fn long_executions_are_folded() {
        insta::assert_snapshot!(table(&samples::livelock(), 100));
    }
}
