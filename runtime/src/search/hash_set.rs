//! A set of hashes.

use core::arch::x86_64::{_MM_HINT_T0, _mm_prefetch};

use crate::platform::memory::{EngineVec, engine_vec};

/// A set of hashes with open addressing.
pub(crate) struct HashSet {
    slots: EngineVec<u64>,
    count: u64,
}

const FIRST_SIZE: usize = 128;
/// Stands for the hash 0, which marks an empty slot.
const ZERO: u64 = 0x9e37_79b9_7f4a_7c15;

impl HashSet {
    pub(crate) const fn new() -> Self {
        Self {
            slots: engine_vec(),
            count: 0,
        }
    }

    /// How many hashes it has.
    pub(crate) fn count(&self) -> u64 {
        self.count
    }

    /// The hashes, in no order.
    pub(super) fn iter(&self) -> impl Iterator<Item = u64> {
        self.slots.iter().copied().filter(|&hash| hash != 0)
    }

    /// Whether it has a hash.
    #[inline]
    pub(super) fn contains(&self, hash: u64) -> bool {
        let hash = if hash == 0 { ZERO } else { hash };
        let mask = self.slots.len().wrapping_sub(1);
        let mut at = hash as usize & mask;
        while let Some(&slot) = self.slots.get(at) {
            if slot == hash || slot == 0 {
                return slot == hash;
            }
            at = (at + 1) & mask;
        }
        false
    }

    /// Lets the processor fetch where a hash is, or would be, while others are looked up:
    /// large sets lie in no cache.
    #[inline]
    pub(crate) fn prefetch(&self, hash: u64) {
        let mask = self.slots.len().wrapping_sub(1);
        if let Some(slot) = self.slots.get(hash as usize & mask) {
            // SAFETY: it reads nothing that the program sees.
            unsafe { _mm_prefetch::<_MM_HINT_T0>((&raw const *slot).cast()) };
        }
    }

    /// Adds a hash; whether it is new.
    #[inline]
    pub(crate) fn insert(&mut self, hash: u64) -> bool {
        if (self.count as usize + 1) * 2 > self.slots.len() {
            self.grow();
        }
        let is_new = self.place(if hash == 0 { ZERO } else { hash });
        self.count += u64::from(is_new);
        is_new
    }

    fn place(&mut self, hash: u64) -> bool {
        let mask = self.slots.len() - 1;
        let mut at = hash as usize & mask;
        loop {
            match self.slots[at] {
                0 => {
                    self.slots[at] = hash;
                    return true;
                }
                same if same == hash => return false,
                _ => at = (at + 1) & mask,
            }
        }
    }

    #[cold]
    fn grow(&mut self) {
        let size = (self.slots.len() * 2).max(FIRST_SIZE);
        let old = core::mem::replace(&mut self.slots, engine_vec());
        self.slots.resize(size, 0);
        for hash in old.into_iter().filter(|&hash| hash != 0) {
            self.place(hash);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counts_each_hash_once() {
        let mut hashes = HashSet::new();
        for i in 0..5000u64 {
            hashes.insert((i % 2500).wrapping_mul(0x2545_f491_4f6c_dd1d));
        }
        assert_eq!(hashes.count(), 2500);
    }
}
