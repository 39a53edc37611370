//! What accesses to memory do: which earlier ones they race with, and what is kept of them.

use super::clock::{Epoch, Owner};
use super::order::{Atomic, How};
use super::record::Record;
use super::shadow::{Extent, GRANULE, Word};
use super::tasks::{is_accessed, is_known};
use super::{Earlier, GivenUp, Races, What, acquires, releases};
use crate::execution::{Site, TaskId};
use crate::platform::memory::engine_vec;

/// So many granules have a longer history at most.
const MOST_RECORDS: usize = 1 << 20;

impl Races {
    /// An atomic access of `task`.
    pub(crate) fn atomic(&mut self, task: TaskId, address: usize, length: usize, access: Atomic) {
        let Atomic {
            op,
            how,
            order,
            site,
        } = access;
        let extent = Extent::new(address, length);
        let is_write = how != How::Load;
        let Some(record) = self.record_at(address) else {
            self.give_up(GivenUp::Memory);
            return;
        };
        let later = What::Atomic(op, is_write);
        self.look(task, later, site, |races, each| {
            races.records[record].conflicts_of_atomic(extent.mask(), is_write, each);
        });
        let own = self.tasks.get_mut(task);
        own.active = own.epoch;
        let by = (own.entry, own.epoch);
        let released = self.records[record].atomic(extent.mask(), by, (op, is_write), site);
        if how != How::Store {
            if acquires(order) {
                own.clock.join(released);
            } else {
                own.readable.join(released);
            }
        }
        if is_write {
            let passed_on = if releases(order) {
                &own.clock
            } else {
                &own.released
            };
            match how {
                How::Store => released.assign(passed_on),
                _ => released.join(passed_on),
            }
            if releases(order) {
                self.end_epoch(task, op, site);
            }
        }
    }

    /// A plain access of `task` to bytes anywhere.
    pub(crate) fn access(
        &mut self,
        task: TaskId,
        address: usize,
        length: usize,
        what: What,
        site: Option<Site>,
    ) {
        let own = self.tasks.get_mut(task);
        own.active = own.epoch;
        let end = address.saturating_add(length);
        let mut at = address;
        if length <= GRANULE - address % GRANULE {
            self.access_granule(task, address, Extent::new(address, length), what, site);
            return;
        }
        while at < end && self.is_on {
            let next = (at & !(GRANULE - 1)) + GRANULE;
            let length = next.min(end) - at;
            self.access_granule(task, at, Extent::new(at, length), what, site);
            at = next;
        }
    }

    /// Notes a plain access of `task` to bytes of one granule, if that is all there is to do:
    /// the granule was accessed in this execution already, so it is not free, and there is
    /// nothing to judge.
    #[inline]
    pub(crate) fn notes(
        &mut self,
        task: TaskId,
        (address, length): (usize, usize),
        (is_write, is_borrow): (bool, bool),
        site: Site,
    ) -> bool {
        let Some(extent) = Extent::within(address, length) else {
            return false;
        };
        let first = self.epochs.first();
        let Some(cell) = self.shadow.quick(address) else {
            return false;
        };
        let (write, read) = (cell.write, cell.read);
        if !self.is_on || write.epoch() < first && read.epoch() < first {
            return false;
        }
        let own = self.tasks.get_mut(task);
        let (epochs, sure) = (&self.epochs, &mut self.sure);
        let mut is_over = |earlier: Word| {
            let epoch = earlier.epoch();
            if epoch < first {
                return true;
            }
            if earlier.extent() != extent {
                return false;
            }
            let is_over = epoch == own.epoch
                || *sure == (own.epoch, epoch)
                || is_accessed(epochs, &own.clock, epoch, task);
            if is_over && epoch != own.epoch {
                *sure = (own.epoch, epoch);
            }
            is_over
        };
        if !is_over(write) || !is_over(read) {
            return false;
        }
        own.active = own.epoch;
        let word = Word::new(own.epoch, extent, Some(site), is_borrow);
        if is_write {
            (cell.write, cell.read) = (word, Word::NONE);
        } else {
            cell.read = word;
        }
        self.filter.add(address, length, own.epoch, is_write);
        true
    }

    fn access_granule(
        &mut self,
        task: TaskId,
        address: usize,
        extent: Extent,
        what: What,
        site: Option<Site>,
    ) {
        let Self {
            shadow,
            epochs,
            tasks,
            ..
        } = self;
        let (first, own) = (epochs.first(), tasks.get(task));
        let Some(cell) = shadow.cell(address, first) else {
            self.give_up(GivenUp::Memory);
            return;
        };
        // Mostly nothing was accessed before, or the same, and what did it is known of.
        let is_over = |earlier: Word| {
            let epoch = earlier.epoch();
            let is_same = earlier.extent() == extent;
            epoch < first || is_same && is_accessed(epochs, &own.clock, epoch, task)
        };
        let is_borrow = matches!(what, What::Borrow | What::BorrowMut);
        let word = Word::new(own.epoch, extent, site, is_borrow);
        if !is_over(cell.write) || !is_over(cell.read) {
            self.access_shared(task, address, word, what, site);
        } else if what.is_write() {
            (cell.write, cell.read) = (word, Word::NONE);
        } else {
            cell.read = word;
        }
    }

    /// As [`Self::access_granule`], where others have accessed it, or other bytes.
    #[inline(never)]
    fn access_shared(
        &mut self,
        task: TaskId,
        address: usize,
        own: Word,
        what: What,
        site: Option<Site>,
    ) {
        let (first, extent, is_write) = (self.epochs.first(), own.extent(), what.is_write());
        let Some(cell) = self.shadow.cell(address, first) else {
            return;
        };
        let (write, read) = (cell.write, cell.read);
        let (has_write, has_read) = (write.epoch() >= first, read.epoch() >= first);
        let has_record = has_write && self.is_record(write);
        let is_same = |word: Word| word.extent() == extent;
        let is_simple = !has_record
            && (!has_write || is_same(write))
            && (!has_read || is_same(read))
            && (is_write || !has_read || self.is_known(read.epoch(), task));
        if is_simple {
            self.look(task, what, site, |_, each| {
                if has_write {
                    each(Earlier::of_word(write, true));
                }
                if has_read && is_write {
                    each(Earlier::of_word(read, false));
                }
            });
        } else {
            let Some(record) = self.record_at(address) else {
                self.give_up(GivenUp::Memory);
                return;
            };
            self.look(task, what, site, |races, each| {
                races.records[record].conflicts(extent.mask(), is_write, each);
            });
            if is_write {
                self.records[record].write(own);
            } else {
                let (epochs, clock) = (&self.epochs, &self.tasks.get(task).clock);
                self.records[record].read(own, |epoch| is_known(epochs, clock, epoch, task));
            }
        }
        let Some(cell) = self.shadow.cell(address, first) else {
            return;
        };
        if is_write {
            cell.read = Word::NONE;
            if is_simple {
                cell.write = own;
            }
        } else {
            cell.read = own;
        }
    }

    /// Memory is given back: nothing that was done to it concerns what comes after.
    pub(crate) fn free(&mut self, task: TaskId, address: usize, length: usize, site: Option<Site>) {
        let first = self.epochs.first();
        let end = address.saturating_add(length);
        let mut races = engine_vec::<Earlier>();
        let Self {
            shadow,
            epochs,
            records,
            tasks,
            filter,
            ..
        } = self;
        filter.forget(address, length);
        let clock = &tasks.get(task).clock;
        let mut look = |earlier: Earlier| {
            if !is_known(epochs, clock, earlier.epoch, task) {
                races.push(earlier);
            }
        };
        shadow.touched(address, end, first, |cell| {
            let (write, read) = (cell.write, cell.read);
            if write.epoch() >= first {
                match epochs.owner(write.epoch()) {
                    Owner::Record(record) => {
                        records[record as usize].conflicts(u8::MAX, true, &mut look);
                    }
                    Owner::Task { .. } => look(Earlier::of_word(write, true)),
                }
            }
            if read.epoch() >= first {
                look(Earlier::of_word(read, false));
            }
            cell.write = Word::NONE;
            cell.read = Word::NONE;
        });
        for earlier in races {
            self.note(earlier, task, What::Free, site);
        }
    }

    /// Another task begins to use this memory, a stack: as [`Self::free`], but nobody looks.
    pub(crate) fn forget(&mut self, low: usize, high: usize) {
        let first = self.epochs.first();
        self.filter.forget(low, high - low);
        self.shadow.touched(low, high, first, |cell| {
            cell.write = Word::NONE;
            cell.read = Word::NONE;
        });
    }

    /// Bytes of the program whose accesses are tracked, and what that takes.
    #[expect(dead_code, reason = "printed by a benchmark soon")]
    pub(crate) fn memory(&self) -> (usize, usize) {
        let records = self.records.len() * size_of::<Record>();
        (self.shadow.covered(), self.shadow.size() + records)
    }

    /// The record of a granule, made where it has none.
    fn record_at(&mut self, address: usize) -> Option<usize> {
        let first = self.epochs.first();
        let cell = self.shadow.cell(address, first)?;
        let (mut write, mut read) = (cell.write, cell.read);
        if write.epoch() >= first {
            if let Owner::Record(record) = self.epochs.owner(write.epoch()) {
                return Some(record as usize);
            }
        } else {
            write = Word::NONE;
        }
        if read.epoch() < first {
            read = Word::NONE;
        }
        let record = self.used;
        if record == MOST_RECORDS {
            return None;
        }
        match self.records.get_mut(record) {
            Some(old) => old.renew(write, read),
            None => self.records.push(Record::new(write, read)),
        }
        self.used += 1;
        let number = self.epochs.add(Owner::Record(record as u32));
        let cell = self.shadow.cell(address, first)?;
        cell.write = Word::of_record(number);
        Some(record)
    }

    fn is_record(&self, write: Word) -> bool {
        matches!(self.epochs.owner(write.epoch()), Owner::Record(_))
    }

    fn is_known(&self, epoch: Epoch, task: TaskId) -> bool {
        let clock = &self.tasks.get(task).clock;
        is_known(&self.epochs, clock, epoch, task)
    }

    /// Looks which of the earlier accesses that an access of `task` conflicts with race
    /// with it.
    fn look(
        &mut self,
        task: TaskId,
        what: What,
        site: Option<Site>,
        conflicts: impl FnOnce(&Self, &mut dyn FnMut(Earlier)),
    ) {
        let mut races = engine_vec::<Earlier>();
        conflicts(self, &mut |earlier| {
            if !self.is_known(earlier.epoch, task) {
                races.push(earlier);
            }
        });
        for earlier in races {
            self.note(earlier, task, what, site);
        }
    }
}
