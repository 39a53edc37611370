//! The failing schedule and the nearest one that passes, side by side around their first
//! difference.

use super::super::abbreviate::{operation, place, with_values};
use super::super::late_effects::is_late;
use super::super::names::Names;
use crate::analysis::{Explanation, Passing};
use crate::protocol::{Finished, Step};
use crate::text::{
    BAD, BOLD, GOOD, WARN, columns, cut, cut_front, fit, plural, styled, thousands, wrap,
};

/// The number of events that are shown before the first difference.
const BEFORE: usize = 2;

/// The number of events that are shown from the first difference on.
const AFTER: usize = 8;

/// The highest number of columns of a task's name. The start of a longer name is cut off, because
/// the end identifies the task.
const LONGEST_NAME: usize = 12;

/// The text between the columns of both schedules.
const GAP: &str = "  ";

/// A heading, a sentence about the difference, and both schedules side by side.
pub(super) fn side_by_side(explanation: &Explanation, names: &Names, width: usize) -> String {
    let failing = &explanation.detail.finished;
    let Some(passing) = &explanation.passing else {
        return none(explanation.tried, failing.choices_end, width);
    };
    let events = plural(passing.finished.event_count(), "event");
    let heading = styled(
        BOLD,
        format!("The nearest schedule that passes ({events}):"),
    );
    let split = first_difference(failing, &passing.finished);
    let sentence = difference(failing, passing, names, split);
    let mut text = format!("  {heading}\n{}\n", wrap(&sentence, "    ", width));
    let number = thousands((split + AFTER) as u64).len().max(4);
    let room = width.saturating_sub(2 + number + 2 * GAP.len()) / 2;
    let mut line = |number_text: String, left: String, right: String| {
        let line = format!("  {number_text:>number$}{GAP}{left}{GAP}{right}");
        text += line.trim_end();
        text.push('\n');
    };
    let head = |words: &str| styled(BOLD, fit(words, room));
    line("step".into(), head("fails"), styled(BOLD, "passes"));
    let longest = failing.events.len().max(passing.finished.events.len());
    let shown = split.saturating_sub(BEFORE)..longest.min(split + AFTER);
    for index in shown.clone() {
        if index == split {
            line(
                String::new(),
                styled(WARN, "~".repeat(room)),
                styled(WARN, "~".repeat(room)),
            );
        }
        let cell = |finished: &Finished| {
            let event = finished.events.get(index);
            event.map_or_else(String::new, |event| cell(event, names, room))
        };
        let (left, right) = (cell(failing), cell(&passing.finished));
        line(thousands(index as u64 + 1), fit(&left, room), right);
    }
    let rest = |finished: &Finished| match finished.event_count().saturating_sub(shown.end as u64) {
        0 => String::new(),
        count => format!("\u{2026} {}", plural(count, "event")),
    };
    if shown.end < longest {
        line(
            String::new(),
            fit(&rest(failing), room),
            rest(&passing.finished),
        );
    }
    let kind = explanation.test.kind.map_or("failure", |kind| kind.name());
    line(
        String::new(),
        styled(BAD, fit(kind, room)),
        styled(GOOD, "passes"),
    );
    text
}

/// The sentence for a failure without a schedule that passes.
fn none(tried: usize, choices_end: Option<u64>, width: usize) -> String {
    let sentence = match (tried, choices_end) {
        (0, None) => "There is no other schedule, because the execution has no choice.".to_owned(),
        (0, Some(steps)) => format!(
            "No other schedule was run, because the execution has no choice in its first {} steps.",
            thousands(steps)
        ),
        (tried, _) => format!(
            "No passing schedule was found among the {} nearest schedules. They differ from the \
             failing schedule in one decision, and have no preemption after that decision.",
            thousands(tried as u64)
        ),
    };
    wrap(&sentence, "  ", width)
}

/// The index of the first event in which two executions differ.
pub(in super::super) fn first_difference(failing: &Finished, passing: &Finished) -> usize {
    let same = |(one, other): &(&Step, &Step)| {
        (one.task, &one.op, &one.object) == (other.task, &other.op, &other.object)
            && one.location() == other.location()
    };
    let pairs = failing.events.iter().zip(&passing.events);
    pairs.take_while(same).count()
}

fn difference(failing: &Finished, passing: &Passing, names: &Names, split: usize) -> String {
    let decided = &failing.decided[passing.decision];
    let late = decided.task.is_none().then(|| {
        let mut pairs = failing.events.iter().zip(&passing.finished.events);
        pairs.position(|(one, other)| is_late(one) && !is_late(other))
    });
    let late = late.flatten();
    let same = match late.unwrap_or(split) {
        0 => "The two schedules differ from the first step on.".to_owned(),
        1 => "The first step is the same.".to_owned(),
        split => format!("The first {} steps are the same.", thousands(split as u64)),
    };
    let instead = names.of(passing.instead);
    let how = match (decided.task, late) {
        (None, Some(late)) => format!(
            "Then the {} of {} has no late effect, and the test passes.",
            failing.events[late].op.name(),
            names.of(failing.events[late].task)
        ),
        (None, None) => format!(
            "Then an operation has outcome {} instead of {}, and the test passes.",
            passing.instead,
            decided.outcome.unwrap_or_default()
        ),
        (Some(task), _) => {
            let task = names.of(task);
            let place = decided
                .options
                .iter()
                .position(|it| Some(*it) == decided.task);
            if place >= Some(decided.free) {
                format!(
                    "Then {instead} continues, and the test passes. In the failing schedule, {task} \
                     runs there."
                )
            } else {
                format!(
                    "Then {instead} runs, and the test passes. In the failing schedule, {task} runs \
                     there."
                )
            }
        }
    };
    format!("{same} {how}")
}

/// The text of an event, such as `task 2: load A1: 0  src/lib.rs:9`, cut to `room` columns.
fn cell(event: &Step, names: &Names, room: usize) -> String {
    let what = format!(
        "{}: {}",
        cut_front(&names.of(event.task), LONGEST_NAME),
        operation(event.op.name(), with_values(event).as_deref())
    );
    let place = event.location().as_ref().map(place).unwrap_or_default();
    let left = room.saturating_sub(columns(&what) + GAP.len());
    if place.is_empty() || left < columns(&place) {
        return cut(&what, room);
    }
    format!(
        "{what}{}{place}",
        " ".repeat(room - columns(&what) - columns(&place))
    )
}

#[cfg(test)]
mod tests {
    use super::none;

    #[test]
    fn without_a_passing_schedule_the_number_of_tried_schedules_is_printed() {
        assert_eq!(
            none(0, None, 200).trim(),
            "There is no other schedule, because the execution has no choice."
        );
        assert_eq!(
            none(1234, None, 200).trim(),
            "No passing schedule was found among the 1,234 nearest schedules. They differ from the \
             failing schedule in one decision, and have no preemption after that decision."
        );
    }
}
