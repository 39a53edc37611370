//! Words about late effects: atomic operations that meet an older store than the newest, as a weak
//! memory model allows.

use chess_vocabulary::{NoteKind, Op};

use super::abbreviate::place;
use super::names::Names;
use crate::protocol::{Finished, Step};
use crate::text::plural;

/// Whether the event has a late effect.
pub(super) fn is_late(event: &Step) -> bool {
    event.note.and_then(chess_vocabulary::Note::kind) == Some(NoteKind::Late)
}

/// The cost of an execution, such as `1 preemption, 1 stale load`. `preemptions` is the whole
/// cost, which includes late effects.
pub(super) fn cost(preemptions: u32, finished: &Finished) -> String {
    let late = || finished.events.iter().filter(|event| is_late(event));
    let loads = late().filter(|event| event.op == Op::AtomicLoad).count() as u64;
    let others = late().count() as u64 - loads;
    let rest = u64::from(preemptions).saturating_sub(loads + others);
    let parts = [
        (rest, "preemption"),
        (loads, "stale load"),
        (others, "late store"),
    ];
    let has_late = loads + others > 0;
    let shown = parts
        .into_iter()
        .filter(|&(count, what)| count > 0 || !has_late && what == "preemption");
    let words: Vec<String> = shown.map(|(count, what)| plural(count, what)).collect();
    words.join(", ")
}

/// A sentence about the first late effect, with the ways to exclude it.
pub(super) fn sentence(finished: &Finished, names: &Names) -> Option<String> {
    let event = finished.events.iter().find(|event| is_late(event))?;
    let number = event.note?.overtaken()?;
    let at = |event: &Step| {
        let at = event.location();
        at.map_or_else(String::new, |at| format!(" at {}", place(&at)))
    };
    let newer = finished.events.get(number as usize);
    let newer = newer.map_or_else(
        || "a newer store".to_owned(),
        |newer| {
            let (name, task) = (newer.op.name(), names.of(newer.task));
            format!("the {name} of {task}{}", at(newer))
        },
    );
    let step = u64::from(number) + 1;
    let before = format!("comes before step {step} in the modification order of the atomic");
    let does = match event.op {
        Op::AtomicLoad => "reads an older store".to_owned(),
        Op::AtomicStore => before,
        _ => format!("reads an older store, and {before}"),
    };
    let (op, task) = (event.op.name(), names.of(event.task));
    Some(format!(
        "In this execution the {op} of {task}{} ran after {newer} (step {step}), but {does}. The memory \
         model allows this, because step {step} does not happen before the {op} of {task}. To make it \
         happen before, add a `Release` store after step {step}, and before the {op} an `Acquire` load \
         that reads the value of this store. This pair is not enough if one thread stores to A and \
         then loads B, and another thread stores to B and then loads A: use `SeqCst` for all four \
         operations, or a `fence(SeqCst)` between the store and the load in both threads.",
        at(event),
    ))
}
