//! Side table of the synchronization objects, by address.
//!
//! The objects of the program have the exact layout of std's types, without room for the state of
//! the engine. So this state lies here. The table is emptied between executions by starting a new
//! generation.

use super::TaskId;
use super::terms::Site;
use crate::base::address_table::AddressTable;
use crate::base::fingerprint::mix;
use crate::base::memory::{EngineVec, engine_vec};
use crate::platform::heap;
use crate::platform::stack_pool::pool;
use crate::search::ObjectId;

/// The engine's state for one object.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Object {
    pub(crate) address: usize,
    /// A number that identifies the object in hashes of happens-before, and does not depend on
    /// addresses.
    pub(crate) identity: u64,
    /// The number of changes of the object. Effects of the kind `Rewrite` do not count.
    pub(crate) version: u32,
    /// A hash of the last write to the object and of all events that happen before this write.
    pub(crate) last_write: u64,
    /// Sum of the hashes of the reads since the last write.
    pub(crate) reads: u64,
    /// Sum of the hashes of the updates since the last write.
    pub(crate) updates: u64,
    /// The task that holds the object exclusively, or runs its initialiser.
    pub(crate) owner: Option<TaskId>,
    /// The line where the newest holder acquired the object.
    pub(crate) held_at: Option<Site>,
    /// The number of its shared holders.
    pub(crate) shared: u32,
    /// The number of tasks whose next operation acquires the object.
    pub(crate) contenders: u32,
    /// The numbers of the tasks whose next operation acquires the object, modulo 64, as bits. Two
    /// tasks may share a bit.
    pub(crate) contending: u64,
    /// The number of writers that found the object read-locked and wait in its queue.
    pub(crate) queued_writers: u32,
    /// The number of tasks that wait at the object until another task wakes them.
    pub(crate) waiters: u32,
    /// The number of tasks that wait for a change of the object, or waited for one and have not
    /// run since.
    pub(crate) watchers: u32,
    /// The object lies on the heap or on a stack, and its memory may have been freed since the last
    /// access to the object, or before the first access.
    is_maybe_freed: bool,
}

/// The objects of one execution.
pub(crate) struct ObjectTable {
    numbers: AddressTable,
    objects: EngineVec<Object>,
    /// A hash of the identities of the objects, in the order of their numbers.
    pub(super) numbering: u64,
}

impl ObjectTable {
    pub(crate) const fn new() -> Self {
        Self {
            numbers: AddressTable::new(),
            objects: engine_vec(),
            numbering: 0,
        }
    }

    /// Forgets every object.
    #[inline]
    pub(crate) fn clear(&mut self) {
        self.objects.clear();
        self.numbers.clear();
        self.numbering = 0;
    }

    /// The object at `address`. `history` is the history of the calling task, and identifies the
    /// object if this is its first use.
    #[inline]
    pub(crate) fn at(&mut self, address: usize, history: u64) -> ObjectId {
        let count = self.objects.len();
        let object = self.numbers.at(address, count as u32);
        if object as usize == count {
            self.add(address, mix(history, address as u64 & 15));
        }
        ObjectId(object)
    }

    /// The object at `address`, if this execution has used it.
    pub(crate) fn find(&self, address: usize) -> Option<ObjectId> {
        self.numbers.find(address).map(ObjectId)
    }

    #[inline(never)]
    fn add(&mut self, address: usize, identity: u64) {
        self.numbering = mix(self.numbering, identity);
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
            is_maybe_freed: is_on_heap || is_on_stack,
        });
    }

    /// Records that the memory of the objects in this range may be free. The range is a block that
    /// is freed, or the stack of a task that has ended.
    #[cold]
    pub(super) fn mark_maybe_freed(&mut self, start: usize, size: usize) {
        // The smaller number is searched: the objects, or the addresses of the range.
        if size > self.objects.len() {
            let there = start..start + size;
            let inside = |object: &&mut Object| there.contains(&object.address);
            let objects = self.objects.iter_mut().filter(inside);
            objects.for_each(|object| object.is_maybe_freed = true);
            return;
        }
        for address in start..start + size {
            if let Some(object) = self.find(address) {
                self.get_mut(object).is_maybe_freed = true;
            }
        }
    }

    /// Whether the object's memory may have been freed since the last call of this method.
    #[inline]
    pub(super) fn take_maybe_freed(&mut self, object: ObjectId) -> bool {
        let object = self.get_mut(object);
        object.is_maybe_freed && core::mem::take(&mut object.is_maybe_freed)
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
