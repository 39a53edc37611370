//! The first difference of two executions of one schedule, in words.

use crate::base::memory::{EngineVec, engine_vec};
use crate::base::source_path::line_of;
use crate::execution::called;
use crate::execution::{Event, Execution};

/// The usual causes for a test that depends on more than its schedule.
pub(super) const CULPRITS: &str = "the usual culprits are real time, random numbers, files, the \
                                   environment, addresses that are used as numbers, and what is \
                                   kept outside of the process";

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
        let step = common + 1;
        let (first, second) = (describe(first), describe(second));
        let text = format!("step {step} was {first} at first, and {second} then");
        words.extend_from_slice(text.as_bytes());
    }
    words
}

/// `load of task 1 at src/lib.rs:12`
fn describe(event: Option<&Event>) -> String {
    let Some(event) = event else {
        return "none, the execution had ended,".to_owned();
    };
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
        assert_eq!(describe(None), "none, the execution had ended,");
        assert!(difference(&[], &Execution::new()).is_empty());
    }
}
