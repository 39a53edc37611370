//! The stale-load monitor: a decision, from sequentially consistent executions alone, whether a
//! program has weaker ones.
//!
//! Some execution of a program is not sequentially consistent if and only if some sequentially
//! consistent execution has an offer of a late effect. (The first late effect of the one is such an
//! offer; an offer is a consistent execution. Burckhardt and Musuvathi, CAV'08, decide the same for
//! TSO.) So a search under sequential consistency that is complete, and during which there is no
//! offer, covers the weaker model as well.

use crate::base::clock::Clock;
use crate::base::codec::codec;
use crate::base::memory::{EngineVec, engine_vec};
use crate::base::source_path::Place;

/// The most pairs of lines that are kept.
const MOST: usize = 64;

/// An operation that could have had a late effect.
#[derive(Clone, PartialEq, Eq)]
pub(crate) struct Stale {
    /// The name of the operation.
    pub(crate) operation: &'static str,
    pub(crate) place: Place,
    /// The place of the store that it could have missed, if that has one.
    pub(crate) newer: Option<Place>,
}

codec!(Stale {
    operation,
    place,
    newer,
});

/// The findings of a search.
pub(crate) struct StaleLoads {
    /// Whether late effects are only noted, and not chosen.
    pub(crate) is_on: bool,
    pub(crate) found: EngineVec<Stale>,
    /// The findings of this execution are not complete: an exchange was taken for a fence, as x86
    /// has it, though the language does not; or operations that are not seen may order tasks.
    pub(crate) is_limited: bool,
}

impl StaleLoads {
    pub(super) const fn new() -> Self {
        Self {
            is_on: false,
            found: engine_vec(),
            is_limited: false,
        }
    }

    /// Records a finding.
    pub(crate) fn note(&mut self, stale: Stale) {
        if !self.found.contains(&stale) && self.found.len() < MOST {
            self.found.push(stale);
        }
    }

    /// Records that the order of tasks depends on operations that are not seen.
    pub(crate) fn note_unseen(&mut self) {
        self.is_limited |= self.is_on;
    }

    /// Records that a sequentially consistent exchange of a task is taken for a fence, before which
    /// the task had this `clock`, and which acquires `readable`.
    pub(crate) fn note_fence(&mut self, clock: &Clock, readable: &Clock) {
        self.is_limited |= self.is_on && !clock.covers(readable);
    }
}
