//! The first difference of two executions of one schedule, in words.

use crate::base::memory::{EngineVec, engine_vec};
use crate::base::source_path::line_of;
use crate::execution::called;
use crate::execution::{Event, Execution};

/// The usual causes for a test that depends on more than its schedule.
pub(super) const CULPRITS: &str = "the usual causes are real time, random numbers, files, the \
                                   environment, addresses that are used as numbers, and state \
                                   outside of the process";

/// The events of `execution`, for a comparison with those of another run.
pub(super) fn events_of(execution: &Execution) -> EngineVec<Event> {
    execution.log.events.clone()
}

/// The first step in which `execution` differs from one with the events `first`; empty if there is
/// none.
pub(super) fn difference(first: &[Event], execution: &Execution) -> EngineVec<u8> {
    let mut words = engine_vec();
    let second = &*execution.log.events;
    let same = |(a, b): &(&Event, &Event)| a.repeats(b) && a.note == b.note;
    let common = first.iter().zip(second).take_while(same).count();
    let (first, second) = (first.get(common), second.get(common));
    if first.is_some() || second.is_some() {
        let text = describe(common + 1, first, second);
        words.extend_from_slice(text.as_bytes());
    }
    words
}

/// The events of the step in the two runs. A run may have ended before the step.
fn describe(step: usize, first: Option<&Event>, second: Option<&Event>) -> String {
    let first = first.map_or_else(
        || format!("the first run ended before step {step}"),
        |event| format!("step {step} was {} in the first run", describe_event(event)),
    );
    let second = second.map_or_else(
        || "the second run ended before this step".to_owned(),
        |event| format!("{} in the second run", describe_event(event)),
    );
    format!("{first}, and {second}")
}

/// `load of task 1 at src/lib.rs:12`
fn describe_event(event: &Event) -> String {
    let place = event
        .site
        .map_or_else(String::new, |site| format!(" at {}", line_of(site)));
    format!("{} of {}{place}", event.op.name(), called(event.task))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_run_that_had_ended_before_has_no_step_there() {
        assert_eq!(
            describe(3, None, None),
            "the first run ended before step 3, and the second run ended before this step"
        );
        assert!(difference(&[], &Execution::new()).is_empty());
    }
}
