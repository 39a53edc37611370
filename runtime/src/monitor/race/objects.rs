//! The clocks that were released to synchronization objects, by address.

use super::clock::Clock;
use crate::base::memory::{EngineVec, engine_vec};
use crate::execution::TaskId;

/// The clocks that were released to one object.
pub(super) struct Object {
    /// For every task that acquires it.
    pub(super) all: Clock,
    /// For tasks that hold it exclusively: released by readers of a read-write lock.
    pub(super) exclusive: Clock,
    /// A task whose later operations are released, too, because the end of the release is not
    /// known.
    pub(super) until: Option<TaskId>,
}

#[derive(Clone, Copy)]
struct Slot {
    address: usize,
    generation: u32,
    object: u32,
}

/// The objects of one execution.
pub(super) struct Objects {
    /// A hash table whose size is a power of two.
    slots: EngineVec<Slot>,
    known: EngineVec<Object>,
    /// The number of `known` that belong to this execution.
    used: usize,
    generation: u32,
}

const FIRST_SIZE: usize = 64;
const EMPTY: Slot = Slot {
    address: 0,
    generation: 0,
    object: 0,
};

impl Objects {
    pub(super) const fn new() -> Self {
        Self {
            slots: engine_vec(),
            known: engine_vec(),
            used: 0,
            generation: 0,
        }
    }

    /// Begins a new execution.
    pub(super) fn begin(&mut self) {
        self.used = 0;
        self.generation = self.generation.wrapping_add(1);
        if self.slots.is_empty() || self.generation == 0 {
            self.slots.clear();
            self.slots.resize(FIRST_SIZE, EMPTY);
            self.generation = 1;
        }
    }

    /// The object at `address`, if a clock was released to it.
    pub(super) fn find(&self, address: usize) -> Option<&Object> {
        let slot = self.slots[self.place(address)];
        (slot.generation == self.generation).then(|| &self.known[slot.object as usize])
    }

    /// The object at `address`.
    pub(super) fn at(&mut self, address: usize) -> &mut Object {
        let place = self.place(address);
        let slot = self.slots[place];
        if slot.generation == self.generation {
            return &mut self.known[slot.object as usize];
        }
        let object = self.used;
        self.used += 1;
        if let Some(old) = self.known.get_mut(object) {
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
        self.slots[place] = Slot {
            address,
            generation: self.generation,
            object: object as u32,
        };
        if self.used * 2 > self.slots.len() {
            self.grow();
        }
        &mut self.known[object]
    }

    fn place(&self, address: usize) -> usize {
        let mask = self.slots.len() - 1;
        let mut at = ((address as u64).wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 32) as usize & mask;
        loop {
            let slot = &self.slots[at];
            if slot.generation != self.generation || slot.address == address {
                return at;
            }
            at = (at + 1) & mask;
        }
    }

    fn grow(&mut self) {
        let mut slots = engine_vec();
        slots.resize(self.slots.len() * 2, EMPTY);
        let old = core::mem::replace(&mut self.slots, slots);
        let live = old.iter().filter(|slot| slot.generation == self.generation);
        for slot in live {
            let place = self.place(slot.address);
            self.slots[place] = *slot;
        }
    }
}
