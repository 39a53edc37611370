//! The first difference of two executions of one schedule.

use chess_vocabulary::{Op, TaskId};

use crate::base::codec::codec;
use crate::base::memory::{EngineVec, engine_vec};
use crate::base::source_path::Place;
use crate::execution::{Event, Execution};

/// An operation of a task, without its effects.
#[derive(Clone, Debug)]
pub(crate) struct Performed {
    pub(crate) task: TaskId,
    pub(crate) op: Op,
    pub(crate) place: Option<Place>,
}

codec!(Performed { task, op, place });

/// The first step in which two executions differ.
#[derive(Clone, Debug)]
pub(crate) struct Difference {
    /// The number of the step, from 1.
    pub(crate) step: usize,
    /// The operation of the first execution; `None` if it had ended before this step.
    pub(crate) first: Option<Performed>,
    /// The operation of the second execution; `None` if it had ended before this step.
    pub(crate) second: Option<Performed>,
    /// A path that the second execution could not create, because an earlier execution had created
    /// it.
    pub(crate) left_path: Option<EngineVec<u8>>,
}

codec!(Difference {
    step,
    first,
    second,
    left_path
});

/// The events of `execution`, for a comparison with those of another run.
pub(super) fn events_of(execution: &Execution) -> EngineVec<Event> {
    execution.log.events.clone()
}

/// The first step in which `execution` differs from an execution with the events `first`. `None`
/// if the two do not differ. `left_path` is a path that `execution` could not create, because an
/// earlier execution had created it.
pub(super) fn difference(
    first: &[Event],
    execution: &Execution,
    left_path: Option<&[u8]>,
) -> Option<Difference> {
    let second = &*execution.log.events;
    let same = |(a, b): &(&Event, &Event)| a.repeats(b) && a.note == b.note;
    let common = first.iter().zip(second).take_while(same).count();
    let (first, second) = (first.get(common), second.get(common));
    (first.is_some() || second.is_some()).then(|| Difference {
        step: common + 1,
        first: first.map(performed),
        second: second.map(performed),
        left_path: left_path.map(copied),
    })
}

fn copied(path: &[u8]) -> EngineVec<u8> {
    let mut copy = engine_vec();
    copy.extend_from_slice(path);
    copy
}

fn performed(event: &Event) -> Performed {
    Performed {
        task: event.task,
        op: event.op,
        place: event.site.map(Place::of),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn equal_executions_have_no_difference() {
        assert!(difference(&[], &Execution::new(), None).is_none());
    }
}
