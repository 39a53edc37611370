//! Hash sets: an unbounded one, and a bounded cache of recent entries.

use core::arch::x86_64::{_MM_HINT_T0, _mm_prefetch};

use crate::base::checkpoint::Checkpoint;
use crate::base::codec::Codec;
use crate::base::memory::{EngineVec, engine_vec};

/// A set of hashes. It has one table, or many tables if it is large. Each table grows separately,
/// so that no insertion takes long: helper processes may be waiting for the search.
pub struct HashSet {
    tables: EngineVec<Table>,
    count: u64,
}

/// A table with open addressing.
struct Table {
    slots: EngineVec<u64>,
    count: usize,
}

const FIRST_SIZE: usize = 128;
/// A set with at least this number of hashes has many tables.
const LARGE: u64 = 1 << 15;
/// The number of upper bits of a hash that select its table.
const TABLE_BITS: u32 = 8;
/// Replaces the hash 0, which marks an empty slot.
const ZERO: u64 = 0x9e37_79b9_7f4a_7c15;

impl HashSet {
    /// An empty set.
    pub const fn new() -> Self {
        Self {
            tables: engine_vec(),
            count: 0,
        }
    }

    /// The number of hashes.
    pub fn count(&self) -> u64 {
        self.count
    }

    /// The hashes, in no particular order.
    pub(super) fn iter(&self) -> impl Iterator<Item = u64> {
        self.tables.iter().flat_map(Table::iter)
    }

    fn table_of(&self, hash: u64) -> usize {
        (hash >> (u64::BITS - TABLE_BITS)) as usize & self.tables.len().wrapping_sub(1)
    }

    /// Prefetches the slot of a hash that will soon be inserted, because a large set does not fit
    /// into the cache.
    #[inline]
    pub fn prefetch(&self, hash: u64) {
        if let Some(table) = self.tables.get(self.table_of(hash)) {
            prefetch(&raw const table.slots[table.first_slot(hash)]);
        }
    }

    /// Adds a hash. Returns whether it is new.
    #[inline]
    pub fn insert(&mut self, hash: u64) -> bool {
        let hash = if hash == 0 { ZERO } else { hash };
        while self
            .tables
            .get(self.table_of(hash))
            .is_none_or(Table::is_full)
        {
            self.make_room(hash);
        }
        let place = self.table_of(hash);
        let is_new = self.tables[place].insert(hash);
        self.count += u64::from(is_new);
        is_new
    }

    #[cold]
    fn make_room(&mut self, hash: u64) {
        let is_one = self.tables.len() == 1;
        if is_one && self.count >= LARGE {
            let all = self.tables.remove(0);
            self.tables.resize_with(1 << TABLE_BITS, Table::new);
            for hash in all.iter() {
                let place = self.table_of(hash);
                let table = &mut self.tables[place];
                if table.is_full() {
                    table.grow();
                }
                table.insert(hash);
            }
        } else if self.tables.is_empty() {
            self.tables.push(Table::new());
        } else {
            let place = self.table_of(hash);
            self.tables[place].grow();
        }
    }
}

impl Table {
    fn new() -> Self {
        Self::with_size(FIRST_SIZE)
    }

    fn with_size(size: usize) -> Self {
        let mut slots = engine_vec();
        slots.resize(size, 0);
        Self { slots, count: 0 }
    }

    fn iter(&self) -> impl Iterator<Item = u64> {
        self.slots.iter().copied().filter(|&hash| hash != 0)
    }

    fn first_slot(&self, hash: u64) -> usize {
        hash as usize & (self.slots.len() - 1)
    }

    fn is_full(&self) -> bool {
        (self.count + 1) * 2 > self.slots.len()
    }

    /// Adds a hash other than 0, for which there is room. Returns whether it is new.
    #[inline]
    fn insert(&mut self, hash: u64) -> bool {
        let mut at = self.first_slot(hash);
        loop {
            match self.slots[at] {
                0 => {
                    self.slots[at] = hash;
                    self.count += 1;
                    return true;
                }
                same if same == hash => return false,
                _ => at = (at + 1) & (self.slots.len() - 1),
            }
        }
    }

    fn grow(&mut self) {
        let mut larger = Self::with_size(self.slots.len() * 2);
        for hash in self.iter() {
            larger.insert(hash);
        }
        *self = larger;
    }
}

/// Prefetches the memory at `there`.
#[inline]
pub fn prefetch<T>(there: *const T) {
    // SAFETY: a prefetch has no effect that the program can observe, at any address.
    unsafe { _mm_prefetch::<_MM_HINT_T0>(there.cast()) };
}

/// A table of recent hashes, with the round of each hash. A new hash replaces the hash in its
/// slot, so the table does not grow and fits into the cache.
pub(super) struct RecentHashes {
    /// Each slot has the upper bits of a hash. In place of the lower bits, which are the index of
    /// the slot, the slot has the round.
    slots: EngineVec<u64>,
}

/// The number of bits of a hash that select its slot.
const PLACE_BITS: u32 = u16::BITS;

impl RecentHashes {
    pub(super) const fn new() -> Self {
        Self {
            slots: engine_vec(),
        }
    }

    /// Prefetches the slot of a hash.
    #[inline]
    pub(super) fn prefetch(&self, hash: u64) {
        if let Some(slot) = self.slots.get(place_of(hash)) {
            prefetch(slot);
        }
    }

    /// The round in which a hash was recorded, if it is still there.
    #[inline]
    pub(super) fn round_of(&self, hash: u64) -> Option<u16> {
        let slot = *self.slots.get(place_of(hash))?;
        (slot >> PLACE_BITS == hash >> PLACE_BITS && slot != 0).then_some(slot as u16)
    }

    /// Records a hash, in a round that is not 0.
    #[inline]
    pub(super) fn note(&mut self, hash: u64, round: u16) {
        if self.slots.is_empty() {
            self.slots.resize(1 << PLACE_BITS, 0);
        }
        self.slots[place_of(hash)] = hash >> PLACE_BITS << PLACE_BITS | u64::from(round);
    }
}

fn place_of(hash: u64) -> usize {
    usize::from(hash as u16)
}

impl Codec for HashSet {
    fn write(&self, out: &mut Checkpoint) {
        self.count().write(out);
        self.iter().for_each(|hash| hash.write(out));
    }

    fn read(input: &mut &[u8]) -> Option<Self> {
        let count = u64::read(input)?;
        let mut hashes = Self::new();
        for _ in 0..count {
            hashes.insert(u64::read(input)?);
        }
        Some(hashes)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_recent_entry_is_found_with_its_round() {
        let mut hashes = RecentHashes::new();
        assert_eq!(hashes.round_of(0), None);
        let (one, alike) = (0x1234_0000_0000_5678, 0x4321_0000_0000_5678);
        hashes.note(one, 3);
        hashes.note(0, 4);
        assert_eq!(hashes.round_of(one), Some(3));
        assert_eq!(hashes.round_of(0), Some(4));
        assert_eq!(hashes.round_of(alike), None);
        hashes.note(alike, 5);
        assert_eq!(hashes.round_of(alike), Some(5));
        assert_eq!(hashes.round_of(one), None);
    }

    #[test]
    fn counts_each_hash_once() {
        let mut hashes = HashSet::new();
        for i in 0..5000u64 {
            hashes.insert((i % 2500).wrapping_mul(0x2545_f491_4f6c_dd1d));
        }
        assert_eq!(hashes.count(), 2500);
    }

    #[test]
    fn large_sets_are_as_small_ones() {
        let hash = |i: u64| i.wrapping_mul(0x2545_f491_4f6c_dd1d);
        let mut hashes = HashSet::new();
        for count in 0..5 * LARGE {
            hashes.prefetch(hash(count));
            assert!(hashes.insert(hash(count)), "{count}");
            assert!(!hashes.insert(hash(count / 2)), "{count}");
            assert_eq!(hashes.count(), count + 1);
        }
        let mut all: Vec<u64> = hashes.iter().collect();
        all.sort_unstable();
        let mut expected: Vec<u64> = (0..5 * LARGE).map(hash).collect();
        // The hash 0 is stored as another one.
        expected[0] = ZERO;
        expected.sort_unstable();
        assert_eq!(all, expected);
    }
}
