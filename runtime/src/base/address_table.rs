//! A hash table from addresses to numbers, which can be emptied in constant time.

use super::memory::{EngineVec, engine_vec};

#[derive(Clone, Copy)]
struct Slot {
    address: usize,
    generation: u32,
    number: u32,
}

const EMPTY: Slot = Slot {
    address: 0,
    generation: 0,
    number: 0,
};
const FIRST_SIZE: usize = 256;

/// The numbers of addresses. [`Self::clear`] begins a new generation, which empties the table.
pub(crate) struct AddressTable {
    /// A hash table with open addressing, whose size is a power of two. A slot of another generation
    /// is vacant.
    slots: EngineVec<Slot>,
    used: usize,
    generation: u32,
}

impl AddressTable {
    pub(crate) const fn new() -> Self {
        Self {
            slots: engine_vec(),
            used: 0,
            generation: 0,
        }
    }

    /// Forgets every address. This must be called before the first use.
    #[inline]
    pub(crate) fn clear(&mut self) {
        self.used = 0;
        self.generation = self.generation.wrapping_add(1);
        if self.slots.is_empty() || self.generation == 0 {
            self.slots.clear();
            self.slots.resize(FIRST_SIZE, EMPTY);
            self.generation = 1;
        }
    }

    /// The number of `address`, if it has one.
    #[inline]
    pub(crate) fn find(&self, address: usize) -> Option<u32> {
        let slot = self.slots[self.place(address)];
        (slot.generation == self.generation).then_some(slot.number)
    }

    /// The number of `address`. If it has none, it gets the number `next`.
    #[inline]
    pub(crate) fn at(&mut self, address: usize, next: u32) -> u32 {
        let place = self.place(address);
        let slot = self.slots[place];
        if slot.generation == self.generation {
            slot.number
        } else {
            self.add(place, address, next)
        }
    }

    #[inline(never)]
    fn add(&mut self, place: usize, address: usize, number: u32) -> u32 {
        self.slots[place] = Slot {
            address,
            generation: self.generation,
            number,
        };
        self.used += 1;
        if self.used * 2 > self.slots.len() {
            self.grow();
        }
        number
    }

    /// The index of the slot of `address`, or of the vacant slot to which `address` would be added.
    #[inline]
    fn place(&self, address: usize) -> usize {
        let mask = self.slots.len() - 1;
        let mut at = start(address) & mask;
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

#[inline]
fn start(address: usize) -> usize {
    ((address as u64).wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 32) as usize
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_keep_their_numbers_while_the_table_grows_and_lose_them_when_it_is_cleared() {
        let mut table = AddressTable::new();
        let address = |number: u32| 0x6000_0000_1000 + number as usize * 8;
        for _ in 0..3 {
            table.clear();
            for number in 0..1_000 {
                assert_eq!(table.find(address(number)), None);
                assert_eq!(table.at(address(number), number), number);
                assert_eq!(table.at(address(number), 7_777), number);
            }
            assert!((0..1_000).all(|number| table.find(address(number)) == Some(number)));
        }
    }

    #[test]
    fn neighbouring_addresses_start_apart() {
        let starts: std::collections::BTreeSet<usize> = (0..64)
            .map(|i| start(0x6000_0000_1000 + i * 8) & 1023)
            .collect();
        assert!(starts.len() > 55, "{} of 64 distinct", starts.len());
    }
}
