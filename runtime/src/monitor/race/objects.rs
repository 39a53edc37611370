//! The clocks that were released to synchronization objects, by address.

use super::clock::Clock;
use crate::base::address_table::AddressTable;
use crate::base::memory::{EngineVec, engine_vec};
use crate::execution::TaskId;

/// The clocks that were released to one object.
pub(super) struct Object {
    /// The clock for every task that acquires the object.
    pub(super) all: Clock,
    /// The clock for tasks that acquire the object exclusively. Readers of a read-write lock
    /// release to this clock.
    pub(super) exclusive: Clock,
    /// The task for which `Races::release_on` was last called with this object. A task that
    /// acquires the object acquires all operations of this task so far.
    pub(super) until: Option<TaskId>,
}

/// The objects of one execution.
pub(super) struct Objects {
    numbers: AddressTable,
    known: EngineVec<Object>,
    /// The number of `known` that belong to this execution.
    used: usize,
}

impl Objects {
    pub(super) const fn new() -> Self {
        Self {
            numbers: AddressTable::new(),
            known: engine_vec(),
            used: 0,
        }
    }

    /// Begins a new execution.
    pub(super) fn begin(&mut self) {
        self.used = 0;
        self.numbers.clear();
    }

    /// The object at `address`, if a clock was released to it.
    pub(super) fn find(&self, address: usize) -> Option<&Object> {
        let object = self.numbers.find(address)?;
        Some(&self.known[object as usize])
    }

    /// The object at `address`, created if it does not exist.
    pub(super) fn at(&mut self, address: usize) -> &mut Object {
        let object = self.numbers.at(address, self.used as u32) as usize;
        if object == self.used {
            self.add();
        }
        &mut self.known[object]
    }

    fn add(&mut self) {
        if let Some(old) = self.known.get_mut(self.used) {
            old.all.clear();
            old.exclusive.clear();
            old.until = None;
        } else {
            self.known.push(Object {
                all: Clock::new(),
                exclusive: Clock::new(),
                until: None,
            });
        }
        self.used += 1;
    }
}
