//! The sleep sets of `dpor`. A sleep set contains the steps that need no exploration at a point,
//! because other schedules cover them (Godefroid 1996).
//!
//! A step that was tried at a node falls asleep there (`backtrack` in `mod.rs`). It sleeps in the later
//! nodes until a step does not commute with it. A new step is chosen among the awake steps
//! (`choose_task` in `mod.rs`). A wakeup sequence that can begin with a sleeping step is not inserted
//! (`race_reversal.rs`). For the sleep sets of `icb`, which has a bound, see `icb/sleep_sets.rs`.

use super::Dpor;
use super::labels::{Label, commute};
use crate::Past;
use crate::base::memory::{EngineVec, engine_vec};

impl Dpor {
    /// The sleep set after the step of the last node: the labels of this node's sleep set that
    /// commute with its step.
    pub(super) fn asleep(&self, past: Past<'_>) -> EngineVec<Label> {
        let mut asleep = engine_vec();
        if let Some(node) = self.nodes.last()
            && !node.asleep.is_empty()
        {
            let touches = self.touches_of(past, self.nodes.len() - 1);
            let labels = &self.labels;
            let stays = |&label: &Label| {
                labels.task(label) != node.task && commute(labels.touches(label), &touches)
            };
            asleep.extend(node.asleep.iter().copied().filter(stays));
        }
        asleep
    }
}
