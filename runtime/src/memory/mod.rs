//! Weak memory: the executions that a memory model allows in addition to the interleavings.
//!
//! An execution stays an interleaving, and the program's memory holds the newest store of each
//! location. All recent stores of a location are kept here, in modification order;
//! `offered_stores.rs` decides which of the older ones an operation may meet. A *late effect* is a
//! load of an older store, or a store that comes before a newer one, or a read-modify-write that is
//! both. It is an outcome of its operation, and the search chooses it.
//!
//! A late effect is offered only if two orders differ about a newer store. By the dependences of
//! [`crate::search`], the newer store comes before the operation, or before the older store (if the
//! older store was late itself). By happens-before, which the race monitor tracks, the newer store
//! does not come before the operation. Every other late effect leads to a graph that some
//! interleaving has, too. An offer depends on the dependences of the trace alone, and not on the
//! order of independent steps. So the reductions of the searches remain valid.

mod c11;
mod graph;
mod history;
mod model;
mod offered_stores;
mod perform;
mod relation;
mod stale_load_monitor;
mod thin_air;
mod tso;
mod walk;
mod word;

use core::sync::atomic::Ordering;

use self::c11::Scratch;
use self::graph::{Log, Node};
pub(crate) use self::history::MOST_STORES;
use self::history::{Locations, NO_EVENT, Site, StoreId, Stores};
pub(crate) use self::model::{Access, Kind, Model, Performed, Would, acquires, releases};
pub(crate) use self::offered_stores::MOST_EVENTS;
pub(crate) use self::stale_load_monitor::Stale;
use self::stale_load_monitor::StaleLoads;
use self::walk::Visited;
pub(crate) use self::word::Word;
use crate::base::clock::{Clock, Epoch};
use crate::base::memory::{EngineVec, engine_vec};
use crate::search::{HappensBefore, Trace};
use chess_vocabulary::TaskId;

/// The clocks of the running task: its knowledge of other tasks by happens-before, which the race
/// monitor tracks.
pub(crate) struct Knowledge<'a> {
    pub(crate) task: TaskId,
    /// The index of the task's entry in clocks.
    pub(crate) entry: u16,
    /// The task's current epoch, which ends at the task's next release.
    pub(crate) epoch: Epoch,
    /// The events that happened before the task's next operation, the task's own events included.
    pub(crate) clock: &'a mut Clock,
    /// The clock at the task's last releasing fence.
    pub(crate) released: &'a Clock,
    /// The joined clocks of the stores that the task has read by loads that do not acquire. The
    /// task acquires them at its next acquiring fence.
    pub(crate) readable: &'a mut Clock,
}

/// The state of the program before an operation.
pub(crate) struct State<'a> {
    /// The value in memory.
    pub(crate) current: Word,
    /// The version of the operation's object, for the detection of spins.
    pub(crate) version: u32,
    /// The version of the store that the same operation of the program met last, if the task has
    /// only read since then. This store is not offered again, because nothing would change.
    pub(crate) last: Option<u32>,
    /// The execution so far. `None` if the rest of the execution is not explored: then only the
    /// newest store is offered.
    pub(crate) trace: Option<&'a Trace>,
}

/// The place of an operation in the execution.
#[derive(Clone, Copy, Debug)]
pub(crate) struct At {
    /// The running step of the trace.
    pub(crate) step: u32,
    /// The number of events before the operation.
    pub(crate) event: u32,
    /// The line of the program.
    pub(crate) site: Option<Site>,
}

/// The bit that marks the version of a store that was never the newest.
const LATE_VERSION: u32 = 1 << 31;

/// The atomic locations of one execution with their stores, and the graph of its events.
pub(crate) struct Memory {
    /// Whether the stores of executions are kept.
    pub(crate) is_on: bool,
    pub(crate) model: Model,
    pub(crate) stale: StaleLoads,
    locations: Locations,
    stores: Stores,
    log: Log,
    order: HappensBefore,
    /// The number of steps that `order` has read. It may have read only a part of the last step.
    steps: usize,
    /// The first event that a late effect of this execution overtook.
    overtaken: u32,
    /// The number of events before the last call of [`Memory::time_passes`]. Later operations do
    /// not overtake the stores of these events.
    settled: u32,
    /// The rest of this execution is not explored, and may have very many events. So only the
    /// newest store of each location is kept, and no events are logged.
    is_over: bool,
    /// The stores that the running operation may meet, the newest first: their places in the
    /// modification order of its location.
    offers: EngineVec<u32>,
    /// The store that the last operation met: that it read, or that it follows in modification
    /// order.
    met: Option<StoreId>,
    /// The store that the last operation made.
    written: Option<StoreId>,
    nodes: EngineVec<Node>,
    scratch: Scratch,
    visited: Visited,
    /// The join of the clocks of all calls into opaque code so far. Opaque code may synchronize
    /// unseen: it may have released the events of this clock to other tasks.
    unseen: Clock,
    /// Some late effects of this execution were not offered: its graph had too many events, or a
    /// location too many stores.
    pub(crate) is_limited: bool,
}

impl Memory {
    pub(crate) const fn new() -> Self {
        Self {
            is_on: false,
            model: Model::Sc,
            stale: StaleLoads::new(),
            locations: Locations::new(),
            stores: Stores::new(),
            log: Log::new(),
            order: HappensBefore::new(false),
            steps: 0,
            overtaken: NO_EVENT,
            settled: 0,
            is_over: false,
            offers: engine_vec(),
            met: None,
            written: None,
            nodes: engine_vec(),
            scratch: Scratch::new(),
            visited: Visited::new(),
            unseen: Clock::new(),
            is_limited: false,
        }
    }

    /// Keeps the stores of the next executions, and offers those that `model` allows.
    pub(crate) fn turn_on(&mut self, model: Model) {
        self.is_on = true;
        self.model = model;
    }

    /// Keeps the stores of the next executions, which remain sequentially consistent. Notes the
    /// late effects that C11 would allow.
    pub(crate) fn watch(&mut self) {
        self.turn_on(Model::C11);
        self.stale.is_on = true;
    }

    /// Forgets the last execution.
    pub(crate) fn clear(&mut self) {
        if !self.is_on {
            return;
        }
        self.locations.clear();
        self.stores.clear();
        self.log.clear();
        self.steps = 0;
        self.overtaken = NO_EVENT;
        self.settled = 0;
        self.is_over = false;
        self.offers.clear();
        self.met = None;
        self.written = None;
        self.unseen.clear();
        self.is_limited = false;
        self.stale.is_limited = false;
    }

    /// Records the clock that opaque code has released. This clock is the message of the stores
    /// that opaque code makes: the clock that a load acquires from them.
    pub(crate) fn note_unseen(&mut self, clock: &Clock) {
        if self.is_on {
            self.unseen.assign(clock);
        }
    }

    /// Forgets the stores to memory that is freed, or that becomes the stack of another task.
    pub(crate) fn forget(&mut self, start: usize, size: usize) {
        if !self.is_on {
            return;
        }
        self.locations.forget(start, size);
    }

    /// Records that time passes, because every task waits. A store takes less time than a sleep to
    /// reach memory. So later operations do not overtake any store so far, although the memory
    /// models allow it.
    pub(crate) fn time_passes(&mut self) {
        self.settled = self.log.len() as u32;
    }

    /// The number of the location of the access. If memory does not hold the value of the
    /// location's newest store, other code has written to the location. In this case, and if the
    /// access has another size than earlier ones, the stores of the location are replaced by one
    /// store of the current value, which all tasks know.
    fn locate(&mut self, access: &Access, state: &State<'_>) -> u32 {
        let number = self.locations.at(access.address);
        let location = self.locations.get_mut(number);
        let newest = location.order.last();
        let newest = newest.map(|&newest| self.stores.get(newest).value);
        if location.size != access.size || newest != Some(state.current) {
            location.size = access.size;
            location.is_cut = false;
            location.order.clear();
            let id = match location.only {
                Some(only) if self.is_over => {
                    self.stores.renew(only, number, state.current);
                    only
                }
                _ => self.stores.add(number, state.current),
            };
            let first = self.stores.get_mut(id);
            first.message.assign(&self.unseen);
            first.place = 0;
            first.version = state.version;
            location.order.push(id);
        }
        number
    }

    /// The version of the store that the last operation met, for the detection of spins.
    pub(crate) fn met_version(&self) -> Option<u32> {
        self.met.map(|met| self.stores.get(met).version)
    }

    /// Records that the object of the location has this version after the operation that
    /// [`Self::perform`] recorded. The detection of spins compares versions.
    pub(crate) fn settle(&mut self, address: usize, version: u32) {
        if let Some(written) = self.written.take()
            && let Some(location) = self.locations.find(address)
            && let Some(&newest) = self.locations.get(location).order.last()
        {
            // No other store has this version.
            self.stores.get_mut(written).version = version | LATE_VERSION;
            self.stores.get_mut(newest).version = version;
        }
    }

    fn name_of(&self, store: StoreId) -> u64 {
        let store = self.stores.get(store);
        if store.event == NO_EVENT {
            return 0;
        }
        u64::from(store.task + 1) << 32 | u64::from(store.number)
    }

    /// The name of the execution's graph: for each load its name and that of its store, and the
    /// modification orders of the locations at these addresses.
    #[cfg(test)]
    pub(crate) fn graph(&self, addresses: impl Iterator<Item = usize>) -> Vec<u64> {
        let events = (0..self.log.len()).map(|at| self.log.get(at));
        let mut reads: Vec<[u64; 2]> = events
            .filter_map(|event| {
                let name = u64::from(event.task + 1) << 32 | u64::from(event.number);
                Some([name, self.name_of(event.reads?)])
            })
            .collect();
        reads.sort_unstable();
        let mut graph = reads.concat();
        for address in addresses {
            graph.push(u64::MAX);
            match self.locations.find(address) {
                Some(location) => {
                    let order = self.locations.get(location).order.iter();
                    graph.extend(order.map(|&store| self.name_of(store)));
                }
                None => graph.push(0),
            }
        }
        graph
    }
}

/// Whether the access is a locked instruction of x86.
fn is_locked(access: &Access) -> bool {
    match access.kind {
        Kind::Load => false,
        Kind::Store => access.order == Ordering::SeqCst,
        Kind::Update => true,
    }
}

#[cfg(test)]
mod weak_tests;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn past_the_end_of_the_exploration_order_is_tracked_and_nothing_accumulates() {
        let mut memory = Memory::new();
        memory.turn_on(Model::C11);
        memory.clear();
        let mut clocks = [const { Clock::new() }; 2];
        let (released, mut readable) = (Clock::new(), Clock::new());
        for turn in 1..=1_000 {
            for (task, clock) in clocks.iter_mut().enumerate() {
                clock.set(task as u16, turn);
                let access = Access {
                    address: 0x1000 + 8 * (turn as usize % 2),
                    size: 8,
                    kind: Kind::Update,
                    order: Ordering::AcqRel,
                    failure: Ordering::Relaxed,
                };
                let mut known = Knowledge {
                    task: TaskId(task as u32),
                    entry: task as u16,
                    epoch: turn,
                    clock,
                    released: &released,
                    readable: &mut readable,
                };
                let state = State {
                    current: Word::of_bits(0),
                    version: 0,
                    last: None,
                    trace: None,
                };
                assert_eq!(memory.offer(&known, &access, &state, |_| Would::Write), 1);
                let at = At {
                    step: 0,
                    event: 0,
                    site: None,
                };
                let performed = Performed {
                    choice: 0,
                    written: Some(Word::of_bits(0)),
                    order: access.order,
                    is_kept: true,
                };
                memory.perform(&mut known, &access, performed, at);
                memory.fence(&known, Ordering::SeqCst);
                // In between the memory is freed.
                if turn % 100 == 0 {
                    memory.forget(0x1000, 16);
                }
            }
            let is_ordered = clocks[1].get(0) == turn;
            assert_eq!(is_ordered, turn % 100 != 0, "{turn}");
        }
        assert_eq!((memory.log.len(), memory.stores.len()), (0, 2));
    }
}
