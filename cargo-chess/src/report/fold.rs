//! Selects the events of an execution that are shown, and folds sequences of the others.

use std::collections::BTreeSet;

use chess_vocabulary::Op;

use crate::protocol::Step;

/// In an execution with at most this number of events, only calls into `atomic` code are folded.
const SHORT: usize = 30;

/// The least number of consecutive rows that are folded into a [`Row::Run`].
const LEAST_FOLDED: usize = 4;

/// The longest cycle that is recognised, in events.
const LONGEST_CYCLE: usize = 64;

/// A cycle is folded if its events occur at least this number of times in succession. The first
/// time is counted, and shown.
const LEAST_REPEATS: usize = 4;

/// The highest number of events of a [`Row::Repeat`] that can be folded into a [`Row::Run`].
const LONGEST_DULL: usize = 256;

/// If a table has more rows than this, rows in its middle are cut.
const MOST_ROWS: usize = 120;

/// The number of rows before the cut.
const ROWS_BEFORE_CUT: usize = 40;

/// A row of the table. It stands for one event or several.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Row {
    /// The event with this index.
    Event(usize),
    /// Consecutive events of one task, of no interest for the failure.
    Run {
        /// The first event.
        first: usize,
        /// The number of events.
        count: usize,
    },
    /// Events of one call of the user's code into `atomic` code.
    Call {
        /// The first event.
        first: usize,
        /// The number of events.
        count: usize,
    },
    /// Repetitions of the `period` events before `first`.
    Repeat {
        /// The first event that is not shown.
        first: usize,
        /// The number of events in a cycle.
        period: usize,
        /// The number of further repetitions.
        times: usize,
    },
    /// Events in the middle of a table that would have too many rows. They may belong to several
    /// tasks.
    Cut {
        /// The first event.
        first: usize,
        /// The number of events.
        count: usize,
    },
}

impl Row {
    /// The events that the row stands for.
    pub(super) fn events(self) -> std::ops::Range<usize> {
        match self {
            Self::Event(index) => index..index + 1,
            Self::Run { first, count }
            | Self::Call { first, count }
            | Self::Cut { first, count } => first..first + count,
            Self::Repeat {
                first,
                period,
                times,
            } => first..first + period * times,
        }
    }
}

/// The rows of `events`, one for each.
pub(super) fn unfolded(events: &[Step]) -> Vec<Row> {
    (0..events.len()).map(Row::Event).collect()
}

/// The rows of `events`. Uninteresting events are folded, but not those in `kept`.
pub(super) fn folded(events: &[Step], kept: &BTreeSet<usize>) -> Vec<Row> {
    let mut rows = if events.len() <= SHORT {
        fold_calls(events, unfolded(events))
    } else {
        let rows = fold_calls(events, fold_cycles(events));
        cut(fold_runs(events, &rows, kept), events)
    };
    rows.retain(|row| {
        let Row::Event(index) = *row else { return true };
        kept.contains(&index) || !is_unused_choice(&events[index])
    });
    rows
}

/// Whether the event is a choice of the search that has no effect: a call does not fail, no crash
/// happens, or a crash loses nothing of a file.
fn is_unused_choice(event: &Step) -> bool {
    let is_of_surroundings = matches!(event.op, Op::Fault | Op::Crash | Op::FileLoss);
    is_of_surroundings && event.note.is_none() && !event.preempted
}

/// The first event and the number of events of each call into `atomic` code that has several
/// events.
pub(super) fn calls(events: &[Step]) -> Vec<(usize, usize)> {
    let rows = fold_calls(events, unfolded(events)).into_iter();
    let calls = rows.filter_map(|row| match row {
        Row::Call { first, count } => Some((first, count)),
        _ => None,
    });
    calls.collect()
}

/// Replaces the rows of each call into `atomic` code by one row.
fn fold_calls(events: &[Step], rows: Vec<Row>) -> Vec<Row> {
    let mut result: Vec<Row> = Vec::new();
    for row in rows {
        let joined = match (result.last_mut(), row) {
            (Some(last), Row::Event(index)) if is_same_call(events, *last, index) => {
                let count = last.events().len() + 1;
                let first = last.events().start;
                *last = Row::Call { first, count };
                true
            }
            _ => false,
        };
        if !joined {
            result.push(row);
        }
    }
    result
}

/// Whether the event `index` belongs to the same call as the events of `row`. The row is directly
/// before the event.
fn is_same_call(events: &[Step], row: Row, index: usize) -> bool {
    let (Row::Event(before) | Row::Call { first: before, .. }) = row else {
        return false;
    };
    let statement = |it: &Step| {
        let caller = it.atomic_call()?;
        // The spawn of a task and a choice of the search are always shown.
        let is_plain = it.note.is_none() && it.op != Op::Spawn;
        is_plain.then(|| (it.task, caller.location.clone(), caller.function.clone()))
    };
    let (before, event) = (&events[before], &events[index]);
    !event.preempted && statement(before).is_some() && statement(before) == statement(event)
}

fn fold_cycles(events: &[Step]) -> Vec<Row> {
    let mut rows = Vec::new();
    let mut at = 0;
    while at < events.len() {
        let best = (1..=LONGEST_CYCLE)
            .map(|period| (period, repeats(events, at, period)))
            .filter(|(_, times)| *times >= LEAST_REPEATS)
            // If several cycles cover the same number of events, the shortest one is taken.
            .max_by_key(|(period, times)| (period * times, std::cmp::Reverse(*period)));
        let Some((period, times)) = best else {
            rows.push(Row::Event(at));
            at += 1;
            continue;
        };
        rows.extend((at..at + period).map(Row::Event));
        rows.push(Row::Repeat {
            first: at + period,
            period,
            times: times - 1,
        });
        at += period * times;
    }
    rows
}

/// The number of times that the `period` events at `at` occur in succession, including the first
/// time.
fn repeats(events: &[Step], at: usize, period: usize) -> usize {
    let same = events[at..]
        .iter()
        .zip(events.get(at + period..).unwrap_or_default())
        .take_while(|(one, next)| one.repeats(next) && !one.preempted)
        .count();
    same / period + 1
}

/// Folds consecutive rows that belong to one task and are of no interest. Not folded are the
/// events in `kept`, the events next to a switch of tasks, and the last events of the execution.
fn fold_runs(events: &[Step], rows: &[Row], kept: &BTreeSet<usize>) -> Vec<Row> {
    let last = events.len() - 1;
    let dull_event = |index: usize| {
        let task = events[index].task;
        index > 0
            && index + 1 < last
            && !kept.contains(&index)
            && !events[index].preempted
            && events[index].note.is_none()
            // The spawn of a task is always shown.
            && events[index].op != Op::Spawn
            && events[index - 1].task == task
            && events[index + 1].task == task
    };
    let dull = |row: Row| match row {
        Row::Event(index) => dull_event(index),
        // A loop with back-off ends soon and can be folded. A long loop is shown.
        Row::Repeat { .. } => {
            let mut events = row.events();
            events.len() <= LONGEST_DULL && events.all(dull_event)
        }
        Row::Call { .. } => row.events().all(dull_event),
        Row::Run { .. } | Row::Cut { .. } => false,
    };
    let mut result = Vec::new();
    let mut rest = rows;
    while let Some((&row, after)) = rest.split_first() {
        let count = rest.iter().take_while(|row| dull(**row)).count();
        if count >= LEAST_FOLDED {
            let first = row.events().start;
            let events = rest[..count].iter().map(|row| row.events().len());
            result.push(Row::Run {
                first,
                count: events.sum(),
            });
            rest = &rest[count..];
        } else if count > 0 {
            result.extend_from_slice(&rest[..count]);
            rest = &rest[count..];
        } else {
            result.push(row);
            rest = after;
        }
    }
    result
}

/// Cuts the middle out of `rows` if there are too many. The beginning of the execution and the
/// events before the failure matter most.
fn cut(mut rows: Vec<Row>, events: &[Step]) -> Vec<Row> {
    if rows.len() <= MOST_ROWS {
        return rows;
    }
    let end = rows.len() - (MOST_ROWS - ROWS_BEFORE_CUT);
    let chosen = |row: &Row| matches!(*row, Row::Event(index) if events[index].note.is_some());
    let middle = &rows[ROWS_BEFORE_CUT..end];
    // Choices of the search stay, unless there are too many of them.
    let few = middle.iter().filter(|row| chosen(row)).count() <= MOST_ROWS;
    let mut kept: Vec<Row> = Vec::new();
    for row in middle {
        match (row, kept.last_mut()) {
            (row, _) if few && chosen(row) => kept.push(*row),
            (row, Some(Row::Cut { count, .. })) => *count += row.events().len(),
            (row, _) => kept.push(Row::Cut {
                first: row.events().start,
                count: row.events().len(),
            }),
        }
    }
    rows.splice(ROWS_BEFORE_CUT..end, kept);
    rows
}

#[cfg(test)]
mod tests {
    use chess_vocabulary::Note;

    use super::*;
    use crate::protocol;

    /// A spawn by `task` if `what` is `spawn`. Otherwise an event of `task` on an object with the
    /// name `what`.
    fn step(task: u32, what: &str) -> Step {
        let op = if what == "spawn" {
            Op::Spawn
        } else {
            Op::AtomicLoad
        };
        Step {
            object: Some(what.into()),
            ..protocol::step(task, op)
        }
    }

    /// Whether every event is in exactly one row, in order.
    fn covers(rows: &[Row], events: &[Step]) -> bool {
        let all: Vec<usize> = rows.iter().flat_map(|row| row.events()).collect();
        all == (0..events.len()).collect::<Vec<_>>()
    }

    #[test]
    fn a_short_execution_is_shown_whole() {
        let events: Vec<Step> = (0..30).map(|_| step(0, "load")).collect();
        assert_eq!(folded(&events, &BTreeSet::new()), unfolded(&events));
    }

    #[test]
    fn a_long_run_of_one_task_is_folded_away_from_its_switches() {
        let mut events: Vec<Step> = (0..40).map(|n| step(0, &format!("op{n}"))).collect();
        events.extend((0..3).map(|n| step(1, &format!("op{n}"))));
        let rows = folded(&events, &BTreeSet::new());
        assert!(covers(&rows, &events));
        assert_eq!(
            rows[..2],
            [
                Row::Event(0),
                Row::Run {
                    first: 1,
                    count: 38
                }
            ]
        );
        assert_eq!(rows[2..], [39, 40, 41, 42].map(Row::Event));
    }

    #[test]
    fn short_cycles_of_one_task_are_part_of_its_run() {
        let mut events = Vec::new();
        for turn in 0..6_u32 {
            events.push(step(1, &format!("load{turn}")));
            events.extend((0..10).map(|_| step(1, "spin_loop")));
        }
        events.extend([step(1, "store"), step(2, "load"), step(2, "exit")]);
        let rows = folded(&events, &BTreeSet::new());
        assert!(covers(&rows, &events));
        let run = Row::Run {
            first: 1,
            count: 65,
        };
        assert_eq!(rows[..2], [Row::Event(0), run]);
    }

    #[test]
    fn a_cycle_of_several_tasks_is_shown_once() {
        let mut events = vec![step(0, "spawn")];
        for _ in 0..5000 {
            events.extend([step(1, "try_lock"), step(2, "try_lock"), step(2, "unlock")]);
        }
        let rows = folded(&events, &BTreeSet::new());
        assert!(covers(&rows, &events));
        assert_eq!(rows.len(), 5);
        assert_eq!(
            rows[4],
            Row::Repeat {
                first: 4,
                period: 3,
                times: 4999
            }
        );
    }

    #[test]
    fn an_endless_execution_is_cut_in_the_middle() {
        let events: Vec<Step> = (0..5000_u32)
            .map(|n| step(n % 3, &format!("op{n}")))
            .collect();
        let rows = folded(&events, &BTreeSet::new());
        assert!(covers(&rows, &events));
        assert_eq!(rows.len(), MOST_ROWS + 1);
        assert!(matches!(rows[ROWS_BEFORE_CUT], Row::Cut { .. }));
    }

    #[test]
    fn a_preemption_is_never_folded() {
        let mut events: Vec<Step> = (0..40).map(|n| step(0, &format!("op{n}"))).collect();
        events[20].preempted = true;
        assert!(folded(&events, &BTreeSet::new()).contains(&Row::Event(20)));
    }

    #[test]
    fn choices_of_the_search_are_never_folded() {
        let mut events: Vec<Step> = (0..40).map(|n| step(0, &format!("op{n}"))).collect();
        events.extend((0..5000_u32).map(|n| step(n % 3, &format!("op{n}"))));
        for noted in [20, 2000] {
            events[noted].note = Some(Note::TIMED_OUT);
        }
        let rows = folded(&events, &BTreeSet::new());
        assert!(covers(&rows, &events));
        assert!(rows.contains(&Row::Event(20)));
        assert!(rows.contains(&Row::Event(2000)));
    }
}
