//! Side table of the synchronization objects, by address.
//!
//! Objects keep the exact layout of std's types, so the engine's state for them lies here. The
//! table is emptied between executions by starting a new generation.

use super::TaskId;
use super::terms::Site;
use crate::base::fingerprint::mix;
use crate::base::memory::{EngineVec, engine_vec};
use crate::platform::heap;
use crate::platform::stack_pool::pool;
use crate::search::ObjectId;

/// The engine's state for one object.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Object {
    pub(crate) address: usize,
    /// Identity that does not depend on addresses, for hashes of happens-before.
    pub(crate) identity: u64,
    /// The number of writes to it.
    pub(crate) version: u32,
    /// Hash of the last write's happens-before.
    pub(crate) last_write: u64,
    /// Sum of the hashes of the reads since then.
    pub(crate) reads: u64,
    /// Sum of the hashes of the updates since then.
    pub(crate) updates: u64,
    /// The task that holds it exclusively, or runs its initialiser.
    pub(crate) owner: Option<TaskId>,
    /// The line where the newest holder acquired it.
    pub(crate) held_at: Option<Site>,
    /// The number of its shared holders.
    pub(crate) shared: u32,
    /// Tasks whose next operation is to acquire it.
    pub(crate) contenders: u32,
    /// The numbers of these tasks modulo 64, as bits. Two tasks may share a bit.
    pub(crate) contending: u64,
    /// Writers that found it read-locked and wait in its queue.
    pub(crate) queued_writers: u32,
    /// The number of tasks that wait on it to be woken.
    pub(crate) waiters: u32,
    /// The number of tasks that wait for it to change, or did and have not run since.
    pub(crate) watchers: u32,
    /// It lies on the heap or on a stack, and its memory may have been freed since its last access
    /// (if there was one).
    is_doubtful: bool,
}

#[derive(Clone, Copy)]
struct Slot {
    address: usize,
    generation: u32,
    object: ObjectId,
}

/// The objects of one execution.
pub(crate) struct ObjectTable {
    slots: EngineVec<Slot>,
    objects: EngineVec<Object>,
    generation: u32,
}

const FIRST_SIZE: usize = 256;

impl ObjectTable {
    pub(crate) const fn new() -> Self {
        Self {
            slots: engine_vec(),
            objects: engine_vec(),
            generation: 0,
        }
    }

    /// Forgets every object.
    #[inline]
    pub(crate) fn clear(&mut self) {
        self.objects.clear();
        self.generation = self.generation.wrapping_add(1);
        if self.generation == 0 {
            self.slots.clear();
            self.generation = 1;
        }
        if self.slots.is_empty() {
            self.grow(FIRST_SIZE);
        }
    }

    /// The object at `address`. `history` is the history of the calling task, and identifies the
    /// object if this is its first use.
    #[inline]
    pub(crate) fn at(&mut self, address: usize, history: u64) -> ObjectId {
        let mask = self.slots.len() - 1;
        let mut at = Self::start(address) & mask;
        loop {
            let slot = &self.slots[at];
            if slot.generation != self.generation {
                return self.add(at, address, mix(history, address as u64 & 15));
            }
            if slot.address == address {
                return slot.object;
            }
            at = (at + 1) & mask;
        }
    }

    /// The object at `address`, if this execution has used it.
    pub(crate) fn find(&self, address: usize) -> Option<ObjectId> {
        let mask = self.slots.len() - 1;
        let mut at = Self::start(address) & mask;
        loop {
            let slot = &self.slots[at];
            if slot.generation != self.generation {
                return None;
            }
            if slot.address == address {
                return Some(slot.object);
            }
            at = (at + 1) & mask;
        }
    }

    #[inline]
    fn start(address: usize) -> usize {
        ((address as u64).wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 32) as usize
    }

    #[inline(never)]
    fn add(&mut self, at: usize, address: usize, identity: u64) -> ObjectId {
        let object = ObjectId(u32::try_from(self.objects.len()).unwrap_or(u32::MAX));
        let is_on_heap = heap::contains(address);
        if is_on_heap {
            heap::put_object(address);
        }
        // SAFETY: one thread at a time runs code of the engine, and this borrow ends here.
        let is_on_stack = unsafe { (*pool()).stacks().contains(&address) };
        self.objects.push(Object {
            address,
            identity,
            version: 0,
            last_write: 0,
            reads: 0,
            updates: 0,
            owner: None,
            held_at: None,
            shared: 0,
            contenders: 0,
            contending: 0,
            queued_writers: 0,
            waiters: 0,
            watchers: 0,
            is_doubtful: is_on_heap || is_on_stack,
        });
        self.slots[at] = Slot {
            address,
            generation: self.generation,
            object,
        };
        if self.objects.len() * 2 > self.slots.len() {
            self.grow(self.slots.len() * 2);
        }
        object
    }

    /// Marks the objects in a block that is freed, or on the stack of a task that has ended.
    #[cold]
    pub(super) fn doubt(&mut self, start: usize, size: usize) {
        // The objects are searched if they are fewer than the addresses of the block.
        if size > self.objects.len() {
            let there = start..start + size;
            let inside = |object: &&mut Object| there.contains(&object.address);
            let objects = self.objects.iter_mut().filter(inside);
            objects.for_each(|object| object.is_doubtful = true);
            return;
        }
        for address in start..start + size {
            if let Some(object) = self.find(address) {
                self.get_mut(object).is_doubtful = true;
            }
        }
    }

    /// Whether the object's memory may have been freed since the last call of this method.
    #[inline]
    pub(super) fn take_doubt(&mut self, object: ObjectId) -> bool {
        let object = self.get_mut(object);
        object.is_doubtful && core::mem::take(&mut object.is_doubtful)
    }

    fn grow(&mut self, size: usize) {
        let old = core::mem::replace(&mut self.slots, engine_vec());
        self.slots.resize(
            size,
            Slot {
                address: 0,
                generation: 0,
                object: ObjectId(0),
            },
        );
        let generation = self.generation.max(1);
        for slot in old.iter().filter(|s| s.generation == generation) {
            let mut at = Self::start(slot.address) & (size - 1);
            while self.slots[at].generation == generation {
                at = (at + 1) & (size - 1);
            }
            self.slots[at] = *slot;
        }
        self.generation = generation;
    }

    #[inline]
    pub(crate) fn get(&self, object: ObjectId) -> &Object {
        &self.objects[object.0 as usize]
    }

    #[inline]
    pub(crate) fn get_mut(&mut self, object: ObjectId) -> &mut Object {
        &mut self.objects[object.0 as usize]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    // Engine memory exists only in an exploring process; the table's logic is tested there (by the
    // tests of the harness). This test checks that the hash spreads neighbouring addresses.
    #[test]
    fn neighbouring_addresses_start_apart() {
        let starts: std::collections::BTreeSet<usize> = (0..64)
            .map(|i| ObjectTable::start(0x6000_0000_1000 + i * 8) & 1023)
            .collect();
        assert!(starts.len() > 55, "{} of 64 distinct", starts.len());
    }
}
