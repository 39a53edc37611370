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

/// Stands for the log entry of a value that was there before its location was first seen.
pub(super) const NO_EVENT: u32 = u32::MAX;

/// A store of one execution.
pub(super) struct Store {
    pub(super) value: Word,
    /// Its epoch, and the entry of its task in clocks. Epoch 0 is known to all tasks.
    pub(super) entry: u16,
    pub(super) epoch: Epoch,
    /// The number of its event among those of its task, and its task: its name in all executions
    /// that share the events that lead to it.
    pub(super) task: u32,
    pub(super) number: u32,
    pub(super) location: u32,
    /// The newest event that reads it.
    pub(super) newest_reader: u32,
    /// The step of the trace that contains it.
    pub(super) step: u32,
    /// Its event in the log, or [`NO_EVENT`].
    pub(super) event: u32,
    /// Its event as reports count them.
    pub(super) reported: u32,
    /// The line of the program.
    pub(super) site: Option<Site>,
    /// Its place in the modification order.
    pub(super) place: u32,
    /// The version of the object, as the detection of spins counts, while it was the newest store.
    pub(super) version: u32,
    /// A read-modify-write: nothing comes between it and the store before it.
    pub(super) is_update: bool,
    /// The clock that a load of it acquires.
    pub(super) message: Clock,
    /// The first epoch in which each task read it, by the tasks' entries.
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

    /// Whether the store happened before all that has this `clock`.
    fn is_in(&self, clock: &Clock) -> bool {
        self.epoch <= clock.get(self.entry)
    }

    /// Whether the store, or a load that read it, happened before all that has this `clock`. Then
    /// coherence forbids an access there to come before it.
    pub(super) fn is_known(&self, clock: &Clock) -> bool {
        let known = |&(entry, epoch): &(u16, Epoch)| epoch <= clock.get(entry);
        self.is_in(clock) || self.readers.iter().any(known)
    }

    /// Records a load of it.
    pub(super) fn read_in(&mut self, entry: u16, epoch: Epoch) {
        if self.readers.iter().all(|&(other, _)| other != entry) {
            self.readers.push((entry, epoch));
        }
    }
}

/// All stores of one execution. It is reused for its allocations.
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

    /// Two different stores.
    pub(super) fn pair(&mut self, new: StoreId, old: StoreId) -> (&mut Store, &Store) {
        let both = [new.0 as usize, old.0 as usize];
        let [new, old] = self.all.get_disjoint_mut(both).expect("two stores");
        (new, old)
    }

    /// Adds a store of this value to `location` that is known to all tasks.
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

    /// Makes `store` a new one, as [`Self::add`] does.
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
    /// Its stores in modification order. The program's memory holds the last one.
    pub(super) order: EngineVec<StoreId>,
    /// Older stores were dropped.
    pub(super) is_cut: bool,
    /// Its only store, past the end of the exploration.
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

    /// The location at `address`, if it is known.
    pub(super) fn find(&self, address: usize) -> Option<u32> {
        self.numbers.find(address)
    }

    /// The location at `address`. A new one has no stores.
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
        // The locations are searched if they are fewer than the addresses.
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
