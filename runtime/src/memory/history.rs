//! The stores of each atomic location in modification order.

use super::word::Word;
use crate::base::address_table::AddressTable;
use crate::base::clock::{Clock, Epoch};
use crate::base::memory::{EngineVec, engine_vec};

/// A line of the program.
pub(super) type Site = &'static core::panic::Location<'static>;

/// Identifies a store of one execution.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct StoreId(pub(super) u32);

/// The maximum number of stores that are kept of one location.
pub(crate) const MOST_STORES: usize = 64;

/// Stands for no event. For example, a store has no event if its value existed before the first
/// access to the location.
pub(super) const NO_EVENT: u32 = u32::MAX;

/// A store of one execution.
pub(super) struct Store {
    pub(super) value: Word,
    /// The index of the entry of the store's task in clocks.
    pub(super) entry: u16,
    /// The epoch of the store. All tasks know of epoch 0.
    pub(super) epoch: Epoch,
    /// The task of the store. `task` and `number` together are the name of the store, which is the
    /// same in all executions with the same events before the store.
    pub(super) task: u32,
    /// The number of the store's event among the events of its task.
    pub(super) number: u32,
    pub(super) location: u32,
    /// The newest event that reads the store.
    pub(super) newest_reader: u32,
    /// The step of the trace that contains the store.
    pub(super) step: u32,
    /// The index of the store's event in the log, or [`NO_EVENT`].
    pub(super) event: u32,
    /// The number of the store's event in reports.
    pub(super) reported: u32,
    /// The line of the store in the program.
    pub(super) site: Option<Site>,
    /// The store's place in the modification order of its location.
    pub(super) place: u32,
    /// The version of the object while this was the newest store. The detection of spins compares
    /// versions.
    pub(super) version: u32,
    /// The store belongs to a read-modify-write. So no store may be inserted directly before it in
    /// modification order.
    pub(super) is_update: bool,
    /// The clock that a task acquires if it loads this store with an acquiring load.
    pub(super) message: Clock,
    /// For each task that read the store: the entry of the task in clocks, and the first epoch in
    /// which the task read the store.
    pub(super) readers: EngineVec<(u16, Epoch)>,
}

impl Store {
    const fn new() -> Self {
        Self {
            value: Word::NULL,
            entry: 0,
            epoch: 0,
            task: 0,
            number: 0,
            location: 0,
            newest_reader: NO_EVENT,
            step: 0,
            event: NO_EVENT,
            reported: 0,
            site: None,
            place: 0,
            version: 0,
            is_update: false,
            message: Clock::new(),
            readers: engine_vec(),
        }
    }

    /// Whether the store happened before an event with this `clock`.
    fn is_in(&self, clock: &Clock) -> bool {
        self.epoch <= clock.get(self.entry)
    }

    /// Whether the store, or a load that read it, happened before an event with this `clock`. Then
    /// coherence forbids that this event comes before the store in modification order.
    pub(super) fn is_known(&self, clock: &Clock) -> bool {
        let known = |&(entry, epoch): &(u16, Epoch)| epoch <= clock.get(entry);
        self.is_in(clock) || self.readers.iter().any(known)
    }

    /// Records a load of the store.
    pub(super) fn read_in(&mut self, entry: u16, epoch: Epoch) {
        if self.readers.iter().all(|&(other, _)| other != entry) {
            self.readers.push((entry, epoch));
        }
    }
}

/// All stores of one execution. The value is kept for all executions, to reuse its allocations.
pub(super) struct Stores {
    all: EngineVec<Store>,
    used: usize,
}

impl Stores {
    pub(super) const fn new() -> Self {
        Self {
            all: engine_vec(),
            used: 0,
        }
    }

    pub(super) fn clear(&mut self) {
        self.used = 0;
    }

    #[inline]
    pub(super) fn get(&self, store: StoreId) -> &Store {
        &self.all[store.0 as usize]
    }

    #[inline]
    pub(super) fn get_mut(&mut self, store: StoreId) -> &mut Store {
        &mut self.all[store.0 as usize]
    }

    /// References to two different stores.
    pub(super) fn pair(&mut self, new: StoreId, old: StoreId) -> (&mut Store, &Store) {
        let both = [new.0 as usize, old.0 as usize];
        let [new, old] = self.all.get_disjoint_mut(both).expect("two stores");
        (new, old)
    }

    /// Adds a store of this value to `location`. All tasks know of it.
    pub(super) fn add(&mut self, location: u32, value: Word) -> StoreId {
        let store = StoreId(self.used as u32);
        if self.used == self.all.len() {
            self.all.push(Store::new());
        }
        self.used += 1;
        self.renew(store, location, value);
        store
    }

    #[cfg(test)]
    pub(super) fn len(&self) -> usize {
        self.used
    }

    /// Replaces `store` by a new store of this value to `location`. All tasks know of the new
    /// store.
    pub(super) fn renew(&mut self, store: StoreId, location: u32, value: Word) {
        let new = self.get_mut(store);
        new.value = value;
        new.location = location;
        new.newest_reader = NO_EVENT;
        new.entry = 0;
        new.epoch = 0;
        new.event = NO_EVENT;
        new.version = 0;
        new.is_update = false;
        new.message.clear();
        new.readers.clear();
    }
}

/// An atomic location.
pub(super) struct Location {
    pub(super) address: usize,
    pub(super) size: usize,
    /// The location's stores in modification order. The program's memory contains the value of the
    /// last store.
    pub(super) order: EngineVec<StoreId>,
    /// The oldest stores were dropped.
    pub(super) is_cut: bool,
    /// The only store of the location, once the rest of the execution is not explored.
    pub(super) only: Option<StoreId>,
}

/// The locations of one execution, by address.
pub(super) struct Locations {
    numbers: AddressTable,
    all: EngineVec<Location>,
    used: usize,
}

impl Locations {
    pub(super) const fn new() -> Self {
        Self {
            numbers: AddressTable::new(),
            all: engine_vec(),
            used: 0,
        }
    }

    /// Forgets all locations.
    pub(super) fn clear(&mut self) {
        self.used = 0;
        self.numbers.clear();
    }

    #[inline]
    pub(super) fn get(&self, location: u32) -> &Location {
        &self.all[location as usize]
    }

    #[inline]
    pub(super) fn get_mut(&mut self, location: u32) -> &mut Location {
        &mut self.all[location as usize]
    }

    /// The number of the location at `address`, if it is known.
    pub(super) fn find(&self, address: usize) -> Option<u32> {
        self.numbers.find(address)
    }

    /// The number of the location at `address`. Adds a location without stores if there is none.
    #[inline]
    pub(super) fn at(&mut self, address: usize) -> u32 {
        let location = self.numbers.at(address, self.used as u32);
        if location as usize == self.used {
            self.add(address);
        }
        location
    }

    /// Forgets the stores of all locations in this memory.
    pub(super) fn forget(&mut self, start: usize, size: usize) {
        // If there are fewer locations than addresses, the locations are searched.
        if size > self.used {
            let there = start..start + size;
            let all = self.all[..self.used].iter_mut();
            for location in all.filter(|location| there.contains(&location.address)) {
                location.order.clear();
            }
            return;
        }
        for address in start..start + size {
            if let Some(location) = self.find(address) {
                self.all[location as usize].order.clear();
            }
        }
    }

    #[inline(never)]
    fn add(&mut self, address: usize) {
        if self.used == self.all.len() {
            self.all.push(Location {
                address,
                size: 0,
                order: engine_vec(),
                is_cut: false,
                only: None,
            });
        }
        let new = &mut self.all[self.used];
        self.used += 1;
        new.address = address;
        new.order.clear();
        new.only = None;
    }
}
