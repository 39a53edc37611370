//! The records of performed accesses and fences: stores, events, and the clocks of tasks. The order
//! of the events, which decides about late effects, is in `graph.rs`.

use core::sync::atomic::Ordering;

use super::Word;
use super::graph::{Event, first_event};
use super::history::StoreId;
use super::model::{acquires, releases};
use super::{Access, At, Kind, Knowledge, MOST_STORES, Memory, Performed, is_locked};

impl Memory {
    /// Records the access for which [`Self::offer`] was called. `performed` is the result of the
    /// access.
    pub(crate) fn perform(
        &mut self,
        known: &mut Knowledge<'_>,
        access: &Access,
        performed: Performed,
        at: At,
    ) {
        let location = self.locations.at(access.address);
        if self.is_over {
            self.perform_unexplored(known, access, location, performed, at);
            return;
        }
        let Performed {
            choice,
            written,
            order: effective,
            is_kept,
        } = performed;
        let place = self.offers[choice as usize] as usize;
        let order = &self.locations.get(location).order;
        let met = order[place];
        if choice != 0 {
            let overtaken = first_event(&self.stores, &order[place + 1..]);
            self.overtaken = self.overtaken.min(overtaken);
        }
        let mut event = self.log.event_of(known.task.0, (known.entry, known.epoch));
        event.location = location;
        event.is_sc = effective == Ordering::SeqCst;
        event.is_locked = is_locked(access);
        event.is_kept = is_kept && written.is_none();
        if access.kind != Kind::Store {
            let source = self.stores.get_mut(met);
            if acquires(effective) {
                known.clock.join(&source.message);
            } else {
                known.readable.join(&source.message);
            }
            source.read_in(known.entry, known.epoch);
            event.reads = Some(met);
            event.other_reader = source.newest_reader;
            source.newest_reader = self.log.len() as u32;
        }
        if let Some(value) = written {
            event.writes = Some(self.store(known, (event, at), value, met, effective));
            self.insert(location, place + 1, event.writes.expect("it writes"));
        }
        let place = self.log.add(event, known.clock);
        if let Some(store) = event.writes {
            self.stores.get_mut(store).event = place;
            self.drop_old(location);
        }
        self.met = Some(met);
        self.written = event.writes;
    }

    /// As [`Self::perform`], in the part of an execution that is not explored. Only the order of
    /// tasks is still tracked.
    #[cold]
    fn perform_unexplored(
        &mut self,
        known: &mut Knowledge<'_>,
        access: &Access,
        location: u32,
        Performed { written, order, .. }: Performed,
        at: At,
    ) {
        let location = self.locations.get_mut(location);
        let newest = *location.order.last().expect("it was located");
        location.order.clear();
        location.order.push(newest);
        location.only = Some(newest);
        let store = self.stores.get_mut(newest);
        let is_read = access.kind != Kind::Store;
        if is_read && acquires(order) {
            known.clock.join(&store.message);
        } else if is_read {
            known.readable.join(&store.message);
        }
        self.met = Some(newest);
        self.written = None;
        if let Some(value) = written {
            let released = if releases(order) {
                &*known.clock
            } else {
                known.released
            };
            if is_read {
                store.message.join(released);
            } else {
                store.message.assign(released);
            }
            store.value = value;
            store.entry = known.entry;
            store.epoch = known.epoch;
            store.site = at.site;
            store.readers.clear();
            self.written = Some(newest);
        }
    }

    /// Adds the store of `event`. The new store comes directly after the store `met` in
    /// modification order.
    fn store(
        &mut self,
        known: &Knowledge<'_>,
        (event, at): (Event, At),
        value: Word,
        met: StoreId,
        order: Ordering,
    ) -> StoreId {
        let id = self.stores.add(event.location, value);
        let (new, met) = self.stores.pair(id, met);
        new.entry = known.entry;
        new.epoch = known.epoch;
        new.task = event.task;
        new.number = event.number;
        new.step = at.step;
        new.reported = at.event;
        new.site = at.site;
        new.is_update = event.reads.is_some();
        new.message.assign(if releases(order) {
            known.clock
        } else {
            known.released
        });
        if new.is_update {
            new.message.join(&met.message);
        }
        id
    }

    /// Inserts a store into the modification order of its location, at the index `at`.
    fn insert(&mut self, location: u32, at: usize, store: StoreId) {
        let order = &mut self.locations.get_mut(location).order;
        let first = self.stores.get(order[0]).place;
        order.insert(at, store);
        for (place, &moved) in order.iter().enumerate().skip(at) {
            self.stores.get_mut(moved).place = first + place as u32;
        }
    }

    /// Drops the oldest store of a location that has too many stores.
    fn drop_old(&mut self, location: u32) {
        let location = self.locations.get_mut(location);
        if location.order.len() > MOST_STORES {
            location.order.remove(0);
            location.is_cut = true;
        }
    }

    /// Records a fence.
    pub(crate) fn fence(&mut self, known: &Knowledge<'_>, order: Ordering) {
        if self.is_over {
            return;
        }
        let mut event = self.log.event_of(known.task.0, (known.entry, known.epoch));
        event.is_fence = true;
        event.is_sc = order == Ordering::SeqCst;
        event.is_locked = event.is_sc;
        self.log.add(event, known.clock);
    }

    /// Records an operation on an object that is no atomic location, for example a lock.
    pub(crate) fn other(&mut self, known: &Knowledge<'_>) {
        if self.is_over {
            return;
        }
        let mut event = self.log.event_of(known.task.0, (known.entry, known.epoch));
        event.is_locked = true;
        self.log.add(event, known.clock);
    }
}
