//! The positions of texts in the lines of an execution's table.

use std::collections::BTreeMap;

use anstyle::Style;

use chess_vocabulary::Note;

use super::abbreviate::{fit_operation, fit_place, least_columns, operation};
use super::names::Names;
use crate::text::{BOLD, DIM, WARN, columns, cut, fit, styled, thousands};

/// The least width of a task's column.
const NARROWEST: usize = 12;

/// The space between columns.
const GAP: &str = "  ";

/// The contents of one line of the table.
#[derive(Clone, Debug, Default)]
pub(super) struct Line {
    /// The number of the step, if the line is one step.
    pub(super) number: Option<usize>,
    /// The task.
    pub(super) task: u32,
    /// The operation.
    pub(super) op: String,
    /// The object of the operation.
    pub(super) object: Option<String>,
    /// The choice of the search for this operation.
    pub(super) note: Option<Note>,
    /// The source line; empty if there is none.
    pub(super) place: String,
    /// The style of the operation.
    pub(super) style: Option<Style>,
}

impl Line {
    fn what_columns(&self) -> usize {
        columns(&operation(&self.op, self.object.as_deref()))
    }
}

/// The columns of the table.
pub(super) struct Layout<'a> {
    names: &'a Names,
    /// The width of step numbers.
    number: usize,
    /// The way in which the operations of different tasks are distinguished.
    form: Form,
    /// The width of source lines.
    place: usize,
    /// The width of the whole table.
    width: usize,
}

enum Form {
    /// A column for each task: the task and the width.
    Columns(Vec<(u32, usize)>),
    /// One column of task names and one column of operations. This form is used if there are too
    /// many tasks for a column for each task.
    Named { name: usize, what: usize },
}

impl<'a> Layout<'a> {
    /// Divides the `width` columns of a line among the step number, the operations and the source
    /// line. `lines` are the lines of an execution with `events` events. Operations get their
    /// columns before source lines do.
    pub(super) fn new(lines: &[Line], events: usize, names: &'a Names, width: usize) -> Self {
        let mut wanted: BTreeMap<u32, usize> = BTreeMap::new();
        for line in lines {
            let own = wanted
                .entry(line.task)
                .or_insert_with(|| columns(&names.of(line.task)));
            *own = line.what_columns().max(*own);
        }
        let widest = |measure: &dyn Fn(&str) -> usize| {
            let places = lines.iter().map(|line| measure(&line.place));
            places.max().unwrap_or(0).max(columns("at"))
        };
        let widest_place = widest(&columns);
        let least_place = widest(&least_columns).min(width / 3).min(widest_place);
        let place_in = |room: usize| widest_place.min(room.max(least_place));

        let number = thousands(events as u64).len().max(4);
        let left = width.saturating_sub(2 + number + GAP.len());
        let natural: usize = wanted.values().map(|width| width + GAP.len()).sum();
        let place = place_in(left.saturating_sub(natural));
        if let Some(tasks) = share(&wanted, left.saturating_sub(place)) {
            return Self {
                names,
                number,
                form: Form::Columns(tasks),
                place,
                width,
            };
        }
        let all_names = wanted.keys().map(|task| columns(&names.of(*task)));
        let name = all_names.max().unwrap_or(0).min(16);
        let left = left.saturating_sub(name + 2 * GAP.len());
        let what = wanted.values().copied().max().unwrap_or(0);
        let place = place_in(left.saturating_sub(what));
        Self {
            names,
            number,
            form: Form::Named {
                name,
                what: what.min(left.saturating_sub(place)).max(NARROWEST),
            },
            place,
            width,
        }
    }

    /// The heading of the table.
    pub(super) fn header(&self) -> String {
        let mut line = format!("  {:>number$}{GAP}", "step", number = self.number);
        match &self.form {
            Form::Named { name, what } => {
                line += &fit("task", *name);
                line += GAP;
                line += &fit("operation", *what);
            }
            Form::Columns(tasks) => {
                for (position, (task, width)) in tasks.iter().enumerate() {
                    line += if position > 0 { GAP } else { "" };
                    line += &fit(&self.names.of(*task), *width);
                }
            }
        }
        line += GAP;
        line += "at";
        styled(BOLD, line.trim_end()) + "\n"
    }

    /// The text of `line`. A note that has no room after the operation is in another line below.
    pub(super) fn line(&self, line: &Line) -> String {
        let number = line
            .number
            .map_or_else(String::new, |n| thousands(n as u64));
        let mut text = format!("  {number:>width$}{GAP}", width = self.number);
        let (before, room) = self.cell(line.task);
        if let Form::Named { name, .. } = self.form {
            text += &fit(&self.names.of(line.task), name);
            text += GAP;
        } else {
            text += &" ".repeat(before - self.first_column());
        }
        let what = fit_operation(&line.op, line.object.as_deref(), room);
        let note = line.note.map(|note| self.names.note(note));
        let behind = note
            .as_ref()
            .map(|note| format!(": {note}"))
            .filter(|behind| columns(&what) + columns(behind) <= room);
        text += &line
            .style
            .map_or_else(|| what.clone(), |style| styled(style, &what));
        let mut used = columns(&what);
        if let Some(behind) = &behind {
            text += &styled(WARN, behind);
            used += columns(behind);
        }
        if !line.place.is_empty() {
            text += &" ".repeat(room - used);
            text += GAP;
            text += &styled(DIM, fit_place(&line.place, self.place));
        }
        text.push('\n');
        match (note, behind) {
            (Some(note), None) => text + &self.below(before, &note),
            _ => text,
        }
    }

    /// A line across all columns. It has `text`, and also `place` if there is room.
    pub(super) fn mark(&self, text: &str, place: &str) -> String {
        let room = self.width.saturating_sub(self.first_column());
        let left = room.saturating_sub(columns(&format!("~~~ {text} at  ~~~")));
        let line = if place.is_empty() || left + 2 < least_columns(place) {
            cut(&format!("~~~ {text} ~~~"), room)
        } else {
            format!("~~~ {text} at {} ~~~", fit_place(place, left))
        };
        let indent = " ".repeat(self.first_column());
        format!("{indent}{}\n", styled(WARN, line))
    }

    /// A line across all columns for events that are left out.
    pub(super) fn omission(&self, text: &str) -> String {
        let line = format!("{}{text}", " ".repeat(self.first_column()));
        styled(DIM, line) + "\n"
    }

    /// A line with a note on the operation in the line above it. This operation begins after
    /// `before` columns.
    fn below(&self, before: usize, note: &str) -> String {
        let note = format!("^ {note}");
        let indent = before
            .min(self.width.saturating_sub(columns(&note)))
            .max(self.first_column());
        let note = cut(&note, self.width.saturating_sub(indent));
        format!("{}{}\n", " ".repeat(indent), styled(WARN, note))
    }

    /// The column at which the operations of `task` begin, and the number of columns from there to
    /// the source line. An operation may extend over the columns of later tasks, because only one
    /// task has an entry in a line.
    fn cell(&self, task: u32) -> (usize, usize) {
        let mut before = self.first_column();
        match &self.form {
            Form::Named { name, what } => (before + name + GAP.len(), *what),
            Form::Columns(tasks) => {
                let own = tasks.iter().take_while(|(other, _)| *other != task);
                before += own.map(|(_, width)| width + GAP.len()).sum::<usize>();
                let all: usize = tasks.iter().map(|(_, width)| width + GAP.len()).sum();
                (
                    before,
                    (self.first_column() + all).saturating_sub(before + GAP.len()),
                )
            }
        }
    }

    /// The number of columns before the column of the first task.
    fn first_column(&self) -> usize {
        2 + self.number + GAP.len()
    }
}

/// Divides `room` among the columns of the tasks; `None` if there is not enough room for a column
/// for each task.
fn share(wanted: &BTreeMap<u32, usize>, room: usize) -> Option<Vec<(u32, usize)>> {
    let gaps = GAP.len() * wanted.len();
    let room = room.checked_sub(gaps)?;
    let least: usize = wanted.values().map(|width| (*width).min(NARROWEST)).sum();
    if room < least {
        return None;
    }
    // The widest columns become narrower first.
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
