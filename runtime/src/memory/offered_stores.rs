//! The offered stores of an operation: the older stores that a load, for example a relaxed one, may
//! read, or directly after which a store may be placed in modification order.
//!
//! [`Memory::offer`] lists them for the next operation, the newest first, and the search chooses
//! one. An older store is offered if two conditions hold. First, a newer store comes before the
//! operation by the dependences of the trace, but does not happen before it in the language (see
//! the parent module). Second, the graph with this late effect is consistent in the model
//! (`c11.rs`, and `tso.rs` through [`Graph`]).

use core::sync::atomic::Ordering;

use super::graph::{Node, Window, first_event};
use super::history::{NO_EVENT, Site};
use super::walk::Graph;
use super::{Access, Kind, Knowledge, Memory, Model, State, Word, Would, acquires, c11, is_locked};
use crate::search::Trace;

/// The maximum number of events of a graph in which late effects are judged.
pub(crate) const MOST_EVENTS: usize = 1024;

impl Memory {
    /// The number of stores that the operation `access` of the running task may meet, the newest
    /// included. A load meets the store that it reads. A store meets the store that it follows in
    /// modification order. `would` returns the effect of an update that reads a value.
    pub(crate) fn offer(
        &mut self,
        known: &Knowledge<'_>,
        access: &Access,
        state: &State<'_>,
        would: impl Fn(Word) -> Would,
    ) -> u32 {
        self.is_over |= state.trace.is_none();
        let location = self.locate(access, state);
        let order = &self.locations.get(location).order;
        let newest = order.len() - 1;
        self.offers.clear();
        self.offers.push(newest as u32);
        let can_be_late = match self.model {
            Model::Sc => false,
            Model::Tso => access.kind == Kind::Load,
            Model::C11 => true,
        };
        if let Some(trace) = state.trace
            && can_be_late
            && !self.stores.get(order[newest]).is_known(known.clock)
        {
            self.offer_late(known, access, location, (trace, state.last), would);
        }
        self.offers.len() as u32
    }

    /// Adds the older stores that the operation may meet to the offers.
    #[inline(never)]
    fn offer_late(
        &mut self,
        known: &Knowledge<'_>,
        access: &Access,
        location: u32,
        (trace, last): (&Trace, Option<u32>),
        would: impl Fn(Word) -> Would,
    ) {
        self.read_trace(trace);
        let step = trace.step();
        let is_store = access.kind == Kind::Store;
        // Fairness and timeouts create dependences that the trace does not have. Then a search is
        // offered more stores than it needs, but the monitor must not report a late effect that an
        // interleaving explains.
        let is_unsure = trace.is_irregular || trace.has_timers;
        let mut overtakes = is_unsure && !self.stale.is_on;
        if is_unsure {
            self.stale.note_unseen();
        }
        let newest = self.locations.get(location).order.len() - 1;
        for place in (0..newest).rev() {
            let order = &self.locations.get(location).order;
            let [old, next] = [order[place], order[place + 1]].map(|it| self.stores.get(it));
            if next.event < self.settled {
                return;
            }
            overtakes |= self.order.precedes(next.step, step);
            let effect = match access.kind {
                Kind::Load => Would::Fail,
                Kind::Store => Would::Write,
                Kind::Update => would(old.value),
            };
            let would_write = effect != Would::Fail;
            let splits = next.is_update
                && match effect {
                    Would::Fail => false,
                    Would::Write => true,
                    // The next store belongs to an update, which would then read from this one.
                    // This must close no cycle: see `thin_air.rs`.
                    Would::Keep => {
                        let graph = Graph {
                            log: &self.log,
                            stores: &self.stores,
                            locations: &self.locations,
                        };
                        graph.leads_to(next.event, known.task.0, &mut self.visited)
                    }
                };
            // The older store may have been late itself: then it was performed after a newer one.
            let follows = || {
                let mut newer = order[place + 1..].iter().map(|&it| self.stores.get(it));
                old.event != NO_EVENT
                    && newer.any(|newer| {
                        newer.event < old.event && self.order.precedes(newer.step, old.step)
                    })
            };
            let is_repeated = effect != Would::Write && last == Some(old.version);
            if !splits
                && !is_repeated
                && (overtakes || !is_store && follows())
                && self.is_consistent(known, access, location, place, would_write)
            {
                self.offers.push(place as u32);
            }
            let met = self.locations.get(location).order[place];
            if self.stores.get(met).is_known(known.clock) {
                return;
            }
        }
        // The task could meet even older stores.
        self.is_limited |= self.locations.get(location).is_cut;
    }

    /// Adds the steps so far to the relation `order`.
    fn read_trace(&mut self, trace: &Trace) {
        let shared = if self.order.note_attempts(trace) {
            0
        } else {
            self.steps.saturating_sub(1)
        };
        self.order.read_on(trace, shared, usize::MAX);
        self.steps = trace.steps.len();
    }

    /// Whether the graph is consistent in the model if the access meets the store at `place` of the
    /// modification order.
    fn is_consistent(
        &mut self,
        known: &Knowledge<'_>,
        access: &Access,
        location: u32,
        place: usize,
        writes: bool,
    ) -> bool {
        let Self {
            model,
            locations,
            stores,
            log,
            nodes,
            ..
        } = self;
        let order = &locations.get(location).order;
        let is_sc = access.order_if(writes) == Ordering::SeqCst;
        if *model == Model::C11 && log.sc == 0 && !is_sc {
            return true;
        }
        if *model == Model::Tso {
            let graph = Graph {
                log,
                stores,
                locations,
            };
            let load = (known.task.0, &*known.clock);
            return graph.allows(load, order[place], &mut self.visited);
        }
        let start = first_event(stores, &order[place + 1..]).min(self.overtaken) as usize;
        if log.len() - start >= MOST_EVENTS {
            self.is_limited = true;
            return false;
        }
        nodes.clear();
        nodes.extend((start..log.len()).map(|at| Node::new(*log.get(at), stores)));
        let mut event = log.event_of(known.task.0, (known.entry, known.epoch));
        event.location = location;
        event.is_sc = is_sc;
        event.is_locked = is_locked(access);
        let met = 4 * stores.get(order[place]).place;
        nodes.push(Node {
            event,
            reads_at: (access.kind != Kind::Store).then_some(met + 1),
            writes_at: writes.then_some(met + 2),
        });
        let mut clock = known.clock.clone();
        if access.kind != Kind::Store && acquires(access.order_if(writes)) {
            clock.join(&stores.get(order[place]).message);
        }
        let graph = Window::new(nodes, log, &clock);
        c11::is_consistent(&graph, &mut self.scratch)
    }

    /// The value of the store with the number `choice` of the last [`Self::offer`], which was for
    /// the same `access`.
    pub(crate) fn value(&self, access: &Access, choice: u32) -> Word {
        let location = self.locations.find(access.address).expect("it was offered");
        let order = &self.locations.get(location).order;
        self.stores
            .get(order[self.offers[choice as usize] as usize])
            .value
    }

    /// Returns the number of the event of the store that follows the store `choice` of the last
    /// offer in the modification order. The store `choice` must not be the newest one.
    pub(crate) fn overtaken(&self, access: &Access, choice: u32) -> u32 {
        let location = self.locations.find(access.address).expect("it was offered");
        let order = &self.locations.get(location).order;
        let next = order[self.offers[choice as usize] as usize + 1];
        self.stores.get(next).reported
    }

    /// The line of the store that the access would miss if it met the newest of the offered older
    /// stores: the store directly after this one in modification order. `None` if no older store
    /// was offered, or if that line is not known.
    pub(crate) fn missed(&self, access: &Access) -> Option<Site> {
        let location = self.locations.find(access.address)?;
        let order = &self.locations.get(location).order;
        let next = order[*self.offers.get(1)? as usize + 1];
        self.stores.get(next).site
    }

    /// The name of the store with the number `choice` of the last offer: the task of the store, and
    /// the number of its event in that task.
    pub(crate) fn name(&self, access: &Access, choice: u32) -> u64 {
        let location = self.locations.find(access.address).expect("it was offered");
        let order = &self.locations.get(location).order;
        self.name_of(order[self.offers[choice as usize] as usize])
    }
}
