//! The cause of a failure: the lines at which tasks were switched out, and the operations of other
//! tasks meanwhile.

use std::borrow::Cow;
use std::collections::BTreeSet;

use camino::Utf8Path;
use chess_vocabulary::{Class, NoteKind, Op};

use super::super::abbreviate::{operation, shown};
use super::super::excerpt::{Mark, excerpts};
use super::super::names::Names;
use super::super::{deadlock, panics};
use super::preemption::{at, preemptions};
use crate::events::{Kind, Outcome, TestFinished};
use crate::protocol::{Finished, Step};
use crate::text::{thousands, wrap};

/// The highest number of preemptions that are shown with their source lines. Only the last ones
/// are shown.
const MOST_SHOWN: usize = 4;

/// The highest number of events that are kept from folding.
const MOST_EXPLAINING: usize = 40;

/// The indices of the events that explain the failure. Most of them are operations of other tasks
/// while a task was switched out. These operations act on an object of the switched-out task's
/// last or next operation.
pub(super) fn explaining(finished: &Finished) -> BTreeSet<usize> {
    let all = preemptions(finished).into_iter();
    let all = all.flat_map(|preemption| preemption.explaining(finished));
    all.take(MOST_EXPLAINING).collect()
}

/// The events that explain the preemptions at calls into `atomic` code, if the events themselves
/// are within such calls. If these events are not folded, the table shows the user's statements
/// that use the same object as the call at the preemption.
pub(in super::super) fn explaining_calls(finished: &Finished) -> BTreeSet<usize> {
    let all = preemptions(finished).into_iter();
    let all = all.filter(super::preemption::Preemption::is_at_call);
    let all = all.flat_map(|preemption| preemption.explaining(finished));
    let called = all.filter(|&index| finished.events[index].atomic_call().is_some());
    called.take(MOST_EXPLAINING).collect()
}

/// Sentences that belong together, and the source lines to show below them.
struct Paragraph {
    sentences: Vec<String>,
    marks: Vec<Mark>,
}

/// The sentences about the cause of the failure. The source lines of a paragraph come after its
/// sentences.
pub(super) fn cause(
    root: &Utf8Path,
    test: &TestFinished,
    finished: &Finished,
    names: &Names,
    width: usize,
) -> String {
    let mut report = String::new();
    for Paragraph { sentences, marks } in paragraphs(test, finished, names) {
        for sentence in sentences {
            report += &wrap(&sentence, "    ", width);
        }
        let lines = excerpts(root, &marks, width);
        if !lines.is_empty() {
            report.push('\n');
            report += &lines;
        }
        if !marks.is_empty() {
            report.push('\n');
        }
    }
    report.truncate(report.trim_end().len());
    report + "\n"
}

/// The cause of the failure, and the tasks that wait or panicked, without source lines.
pub(in super::super) fn reasons(
    test: &TestFinished,
    finished: &Finished,
    names: &Names,
) -> Vec<String> {
    if test.outcome == Outcome::Passed {
        return Vec::new();
    }
    let paragraphs = paragraphs(test, finished, names).into_iter();
    let causes = paragraphs.flat_map(|paragraph| paragraph.sentences);
    let waiting = deadlock::sentences(finished, names);
    causes
        .chain(waiting)
        .chain(panics::sentences(finished, names))
        .collect()
}

fn paragraphs(test: &TestFinished, finished: &Finished, names: &Names) -> Vec<Paragraph> {
    let preemptions = preemptions(finished);
    let chosen = chosen(finished, names);
    let mut paragraphs = Vec::new();
    let alone = |sentences| Paragraph {
        sentences,
        marks: Vec::new(),
    };
    if preemptions.is_empty() && chosen.is_empty() {
        paragraphs.push(alone(vec![without_preemption(test, finished).into_owned()]));
    }
    let left_out = preemptions.len().saturating_sub(MOST_SHOWN);
    if left_out > 0 {
        let sentence = format!(
            "{} left out here; the last {MOST_SHOWN} preemptions:",
            match left_out {
                1 => "1 earlier preemption is".to_owned(),
                count => format!("{} earlier preemptions are", thousands(count as u64)),
            }
        );
        paragraphs.push(alone(vec![sentence]));
    }
    paragraphs.extend(preemptions[left_out..].iter().map(|preemption| {
        let sentence = [preemption.sentence(names)].into_iter();
        Paragraph {
            sentences: sentence
                .chain(preemption.looked(finished, names))
                .chain(preemption.meanwhile(finished, names))
                .collect(),
            marks: preemption.marks(finished, names),
        }
    }));
    paragraphs.push(alone(chosen));
    paragraphs.push(alone(missed(finished, names)));
    paragraphs
}

/// Sentences about lost notifications: for each task that still waits at the end, the last
/// notification, if it was sent before the wait began.
fn missed(finished: &Finished, names: &Names) -> Vec<String> {
    let events = &finished.events;
    let is_wait = |op: Op| op.class() == Class::CondvarWait;
    let is_notify = |op: Op| matches!(op.class(), Class::NotifyOne | Class::NotifyAll);
    let waits = finished.blocked.iter().filter(|it| is_wait(it.op));
    let sentences = waits.filter_map(|wait| {
        let at_object = |it: &&Step| it.object.is_some() && it.object == wait.object;
        let of_object: Vec<(usize, &Step)> = (1..).zip(events).filter(|(_, it)| at_object(it)).collect();
        let is_this_wait = |it: &Step| it.task == wait.task && is_wait(it.op);
        let begun = of_object.iter().rposition(|(_, it)| is_this_wait(it))?;
        let (before, after) = of_object.split_at(begun);
        let (step, notified) = before.iter().rfind(|(_, it)| is_notify(it.op))?;
        let is_last = !after.iter().any(|(_, it)| is_notify(it.op));
        let object = wait.object.as_ref()?;
        is_last.then(|| {
            format!(
                "{object} was notified{} (step {}), before {} waited for it (step {}); no task notifies it after that.",
                at(notified),
                thousands(*step as u64),
                names.of(wait.task),
                thousands(after[0].0 as u64)
            )
        })
    });
    sentences.collect()
}

/// The sentence for a failure without a preemption and without any other special choice.
fn without_preemption(test: &TestFinished, finished: &Finished) -> Cow<'static, str> {
    let sentence = match (test.kind, finished.choices_end) {
        (Some(Kind::Livelock | Kind::Spin), _) => {
            "No task was preempted. The tasks repeat the loop at the end of the table."
        }
        (_, Some(steps)) if finished.decided.is_empty() => {
            return format!(
                "The execution has no choice in its first {} steps. The choices in its later \
                 steps were not explored, so other schedules may pass. To explore them, run the \
                 test with fewer iterations or a larger --max-steps.",
                thousands(steps)
            )
            .into();
        }
        _ if finished.decided.is_empty() => {
            "The execution has no choice between tasks, so every schedule fails in this way."
        }
        _ if finished.tasks.len() == 1 => {
            "The test has one task. Each choice of this execution has its first outcome."
        }
        _ => {
            "No task was preempted. The failure depends on the order in which tasks run when \
             another task starts, blocks or ends."
        }
    };
    sentence.into()
}

/// Sentences about the choices of the search other than the order of tasks.
fn chosen(finished: &Finished, names: &Names) -> Vec<String> {
    let events = finished.events.iter();
    let chosen = events.filter_map(|event| {
        let note = event.note?;
        let kind = note.kind()?;
        let task = names.of(event.task);
        if let Some(number) = note.drawn().filter(|it| event.op == Op::Choose && *it > 0) {
            return Some(format!("{task} chooses {number}{}.", at(event)));
        }
        if event.op == Op::Crash && kind == NoteKind::Happens {
            return Some(format!("The component of {task} crashes{}.", at(event)));
        }
        if kind == NoteKind::Loses {
            let lost = match note.lost().unwrap_or(1) {
                1 => "the last write is".to_owned(),
                writes => format!("the last {writes} writes are"),
            };
            return Some(format!("Of the unsynced writes{}, {lost} lost.", at(event)));
        }
        if kind == NoteKind::Happens {
            return Some(format!("A rare event happens in {task}{}.", at(event)));
        }
        if kind == NoteKind::Fails {
            let words = note.without_cost(&"");
            return Some(format!("A call of {task}{} fails: {words}.", at(event)));
        }
        if !kind.is_of_end() {
            return None;
        }
        let what = operation(event.op.name(), shown(event.object.as_ref()));
        let words = note.without_cost(&"");
        Some(match kind {
            NoteKind::FailedSpuriously | NoteKind::EndedEarly | NoteKind::Late => {
                format!("The {what} of {task}{} {words}.", at(event))
            }
            _ => format!("{task} {words} in {what}{}.", at(event)),
        })
    });
    chosen.take(MOST_SHOWN).collect()
}
