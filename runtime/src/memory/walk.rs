//! Walks along the edges of an execution's graph.

use super::graph::Log;
use super::history::{Locations, NO_EVENT, StoreId, Stores};
use crate::base::memory::{EngineVec, engine_vec};

/// The graph, without the candidate: the event that may be late.
pub(super) struct Graph<'a> {
    pub(super) log: &'a Log,
    pub(super) stores: &'a Stores,
    pub(super) locations: &'a Locations,
}

/// The events that a search has visited. The value is kept for all searches, to reuse its
/// allocations.
pub(super) struct Visited {
    /// For each event, the number of the last search that visited it.
    searches: EngineVec<u32>,
    search: u32,
    pub(super) stack: EngineVec<u32>,
}

impl Visited {
    pub(super) const fn new() -> Self {
        Self {
            searches: engine_vec(),
            search: 0,
            stack: engine_vec(),
        }
    }

    /// Begins a search in a graph with this number of events.
    pub(super) fn begin(&mut self, events: usize) {
        if self.searches.len() < events || self.search == u32::MAX {
            self.searches.clear();
            self.searches.resize(events.next_power_of_two(), 0);
            self.search = 0;
        }
        self.search += 1;
        self.stack.clear();
    }

    /// Adds an event to the stack, unless this search has visited it.
    pub(super) fn push(&mut self, event: u32) {
        if event != NO_EVENT && self.searches[event as usize] != self.search {
            self.searches[event as usize] = self.search;
            self.stack.push(event);
        }
    }
}

impl Graph<'_> {
    /// The event of the store after `store` in modification order. [`NO_EVENT`] if there is none.
    pub(super) fn after(&self, store: StoreId) -> u32 {
        let Self {
            stores, locations, ..
        } = self;
        let store = stores.get(store);
        let order = &locations.get(store.location).order;
        let Some(first) = order.first() else {
            return NO_EVENT;
        };
        let first = stores.get(*first).place;
        // Old stores may have been dropped.
        let next = (store.place + 1).saturating_sub(first) as usize;
        order
            .get(next)
            .map_or(NO_EVENT, |&next| stores.get(next).event)
    }
}
