//! The stale-load monitor: it decides from sequentially consistent executions alone whether a
//! program has executions that are not sequentially consistent.
//!
//! A program has such an execution if and only if a late effect is offered in some sequentially
//! consistent execution. (Up to its first late effect, every execution is sequentially consistent,
//! and this effect is offered there. Conversely, each offer leads to an execution that the model
//! allows. Burckhardt and Musuvathi, CAV'08, decide the same for TSO.) So if a search under
//! sequential consistency is complete and meets no offer, it covers the weaker model as well.

use crate::base::clock::Clock;
use crate::base::codec::codec;
use crate::base::memory::{EngineVec, engine_vec};
use crate::base::source_path::Place;

/// The largest number of findings that are kept.
const MOST: usize = 64;

/// An operation that could have had a late effect.
#[derive(Clone, PartialEq, Eq)]
pub(crate) struct Stale {
    /// The name of the operation.
    pub(crate) operation: &'static str,
    pub(crate) place: Place,
    /// The place of the store that the operation could have missed, if this store has a place.
    pub(crate) newer: Option<Place>,
}

codec!(Stale {
    operation,
    place,
    newer,
});

/// The findings of a search.
pub(crate) struct StaleLoads {
    /// Whether late effects are only recorded, and not chosen.
    pub(crate) is_on: bool,
    pub(crate) found: EngineVec<Stale>,
    /// The findings of this execution may be incomplete. Either an exchange was treated as a fence,
    /// which is true on x86 but not in the language, or unseen operations, fairness or timeouts may
    /// have ordered tasks.
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

    /// Records that the order of tasks may depend on unseen operations, fairness or timeouts.
    pub(crate) fn note_unseen(&mut self) {
        self.is_limited |= self.is_on;
    }

    /// Records that a sequentially consistent exchange of a task is treated as a fence, which
    /// acquires `readable`. `clock` is the clock of the task before the fence.
    pub(crate) fn note_fence(&mut self, clock: &Clock, readable: &Clock) {
        self.is_limited |= self.is_on && !clock.covers(readable);
    }
}
