//! Accesses to memory: the check for races with earlier accesses, and the update of the history.

use core::sync::atomic::Ordering;

use super::clock::{Epoch, Owner};
use super::lines::mark_of;
use super::record::Record;
use super::shadow::{Cell, EPOCH_AT, Extent, GRANULE, PAGE, Word};
use super::shim_interface::Atomic;
use super::task_order::is_known;
use super::unseen::UNSEEN;
use super::{Earlier, GivenUp, Races, What};
use crate::base::memory::engine_vec;
use crate::execution::{How, Op, Site, TaskId};

/// The maximum number of granules (eight bytes of memory) whose history does not fit into a cell,
/// and is in a [`Record`] instead.
const MOST_RECORDS: usize = 1 << 20;

impl Races {
    /// Checks and records an atomic access of `task`.
    pub(crate) fn atomic(&mut self, task: TaskId, address: usize, length: usize, access: Atomic) {
        self.note_atomic(task, address, length, access, true);
    }

    /// As [`Self::atomic`]. `orders`: whether the access orders tasks through the clock of the
    /// location. Under a weak memory model the access does not, because each store of the location
    /// has its own clock.
    pub(super) fn note_atomic(
        &mut self,
        task: TaskId,
        address: usize,
        length: usize,
        access: Atomic,
        orders: bool,
    ) {
        let Atomic {
            op,
            how,
            order,
            site,
        } = access;
        let extent = Extent::new(address, length);
        let is_write = how != How::Load;
        self.note_page(address, address.saturating_add(length));
        let Some(record) = self.record_at(address) else {
            self.give_up(GivenUp::Memory);
            return;
        };
        let later = What::Atomic(op, is_write);
        self.look(task, later, site, |races, each| {
            races.records[record].conflicts_of_atomic(extent.mask(), is_write, each);
        });
        let Some(epoch) = self.epoch_of(task) else {
            return;
        };
        let own = self.tasks.get_mut(task);
        let by = (own.entry, epoch);
        let released = self.records[record].atomic(extent.mask(), by, (op, is_write), site);
        if self.unseen.take_written()
            && let Some(unseen) = self.objects.find(UNSEEN)
        {
            released.join(&unseen.all);
        }
        if orders && own.synchronize(released, how, order) {
            self.end_epoch(task, op, site);
        }
    }

    /// Records an atomic operation of `task` on a counter that only atomic operations touch. Such
    /// an operation may order tasks, but never races.
    pub(crate) fn count(
        &mut self,
        task: TaskId,
        counter: usize,
        (how, order): (How, Ordering),
        op: Op,
    ) {
        let counter = self.objects.at(counter);
        let own = self.tasks.get_mut(task);
        let ends_epoch = own.synchronize(&mut counter.all, how, order);
        if let Some(other) = counter.until {
            self.joined(task, other);
        }
        if ends_epoch {
            self.end_epoch(task, op, None);
        }
    }

    /// Checks and records a plain access of `task` to any bytes.
    pub(crate) fn access(
        &mut self,
        task: TaskId,
        address: usize,
        length: usize,
        what: What,
        site: Option<Site>,
    ) {
        let is_borrow = matches!(what, What::Borrow | What::BorrowMut);
        let kind = (what.is_write(), is_borrow);
        let bytes = (address, length);
        self.each_granule(task, bytes, kind, mark_of(site), |races, at, own, cell| {
            let is_done = races.notes_word(task, cell, own, what.is_write(), |races| {
                races.settles(task, at)
            });
            if !is_done && !races.covers_known(task, cell, own, what.is_write()) {
                races.access_shared(task, at, own, what, site);
            }
            races.is_on
        });
    }

    /// Whether `task` made an access of this kind to these bytes in its current epoch, and this is
    /// still the last access to them. May return `false` although this is so.
    pub(super) fn is_repeated(
        &self,
        task: TaskId,
        address: usize,
        length: usize,
        is_write: bool,
    ) -> bool {
        if !self.is_on {
            return false;
        }
        let epoch = self.tasks.get(task).epoch;
        if epoch == 0 {
            return false;
        }
        let epoch = u64::from(epoch) << EPOCH_AT;
        // SAFETY: the table contains no page whose cells no longer exist, and no other code uses
        // them.
        unsafe { self.fast_path.is_repeated(epoch, address, length, is_write) }
    }

    /// Records a plain access of `task` to any bytes, if this needs no check: no byte is free or
    /// outside of a block, and all earlier accesses are known to the task. `mark` is the mark of
    /// the access's line. Returns whether the access was recorded.
    #[inline]
    pub(crate) fn notes(
        &mut self,
        task: TaskId,
        bytes: (usize, usize),
        kind: (bool, bool),
        mark: u64,
    ) -> bool {
        self.is_on
            && self.each_granule(task, bytes, kind, mark, |races, at, own, cell| {
                races.notes_word(task, cell, own, kind.0, |races| {
                    races.allocations.is_settled(at, own.extent().length())
                })
            })
    }

    /// Records a plain access in those granules of a range that need no check. Calls `each` for
    /// each other granule, until a call returns `false`. The arguments of `each` are the first
    /// address of the range in the granule, the word of the access, and the cell of the granule.
    /// Returns whether all calls returned `true`.
    #[inline]
    fn each_granule(
        &mut self,
        task: TaskId,
        (address, length): (usize, usize),
        kind: (bool, bool),
        mark: u64,
        mut each: impl FnMut(&mut Self, usize, Word, *mut Cell) -> bool,
    ) -> bool {
        let Some(epoch) = self.shown_epoch_of(task) else {
            return false;
        };
        let end = address.saturating_add(length);
        let mut at = address;
        while at < end {
            let end_of_page = end.min((at | (PAGE - 1)).saturating_add(1));
            if self.fast_path.stack.is_private(at) {
                at = end_of_page;
                continue;
            }
            let Some(mut cell) = self.cell(at, end_of_page) else {
                self.give_up(GivenUp::Memory);
                return false;
            };
            while at < end_of_page {
                if at.is_multiple_of(GRANULE) {
                    let count = (end_of_page - at) / GRANULE;
                    let is_settled = self.allocations.is_settled(at, count * GRANULE);
                    let settled = is_settled.then(|| self.epochs.first());
                    // SAFETY: these are cells of one page.
                    let done = unsafe {
                        let tables = &self.fast_path;
                        tables.notes_whole(cell, count, kind, mark, settled)
                    };
                    at += done * GRANULE;
                    cell = cell.wrapping_add(done);
                    if at == end_of_page {
                        break;
                    }
                }
                let next = end_of_page.min((at | (GRANULE - 1)).saturating_add(1));
                let own = Word::new(epoch, Extent::new(at, next - at), mark, kind.1);
                if !each(self, at, own, cell) {
                    return false;
                }
                cell = cell.wrapping_add(1);
                at = next;
            }
        }
        true
    }

    /// As [`Self::notes`], in one granule. `is_settled` returns whether the bytes are live and the
    /// task knows of their allocation. `is_settled` is called only if the granule was not accessed
    /// before in this execution.
    #[inline]
    fn notes_word(
        &mut self,
        task: TaskId,
        cell: *mut Cell,
        own: Word,
        is_write: bool,
        is_settled: impl FnOnce(&mut Self) -> bool,
    ) -> bool {
        // SAFETY: the cell's page exists, and no code below uses the cell.
        let cell = unsafe { &mut *cell };
        let is_over = if cell.is_new(self.epochs.first()) {
            cell.is_evidence(own.extent().in_word()) || is_settled(self)
        } else if cell.last.is_record() {
            return !is_write && cell.write.is_like(own);
        } else if cell.implies(own, is_write) {
            return true;
        } else {
            cell.last.extent() == own.extent() && self.is_over(task, own, cell.last)
        };
        if is_over {
            cell.note(own, is_write);
        }
        is_over
    }

    /// Records an access in a granule if the last access to the granule was to a part of the same
    /// bytes, and happened before this access. Returns whether the access was recorded.
    fn covers_known(&mut self, task: TaskId, cell: *mut Cell, own: Word, is_write: bool) -> bool {
        // SAFETY: as in `notes_word`.
        let cell = unsafe { &mut *cell };
        let is_over = !cell.is_new(self.epochs.first())
            && !cell.last.is_record()
            && own.extent().covers(cell.last.extent())
            && self.is_over(task, own, cell.last);
        if is_over {
            cell.note(own, is_write);
        }
        is_over
    }

    /// The cell of the granule that contains `address`. `address` must not be in a private page: a
    /// page of a stack whose accesses are not recorded. The access ends at `end`, in the same page.
    /// `None` if there is no room for the cell. The pointer is valid until the monitor gives up, or
    /// the next execution begins.
    #[inline]
    fn cell(&mut self, address: usize, end: usize) -> Option<*mut Cell> {
        match self.fast_path.cell(address) {
            Some(cell) => Some(cell),
            None => self.find_cell(address, end),
        }
    }

    /// As [`Self::cell`], if the cell is not in the tables of the fast path.
    #[inline(never)]
    fn find_cell(&mut self, address: usize, end: usize) -> Option<*mut Cell> {
        self.note_page(address, end);
        let is_on_other_stack = self.is_on_other_stack(address);
        let cell = self.shadow.cell(address, self.epochs.first())?;
        if !is_on_other_stack {
            self.fast_path.add_page(address, cell);
        }
        Some(cell)
    }

    /// Whether the access `earlier` happened before the access `own` of `task`.
    #[inline]
    fn is_over(&mut self, task: TaskId, own: Word, earlier: Word) -> bool {
        let epoch = earlier.epoch();
        let (low, high) = self.tasks.get(task).window;
        if low <= epoch && epoch <= high || epoch == own.epoch() {
            return true;
        }
        let is_known = epoch >= self.epochs.first() && self.is_known(epoch, task);
        if is_known {
            self.widen(task, epoch);
        }
        is_known
    }

    /// Checks and records an access in one granule, by the granule's record. Called if the granule
    /// already has a record, or if its last access was to other bytes or may not have happened
    /// before this access.
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
        if let Some(cell) = self.shadow.cell(address, first) {
            cell.write = if is_write { Word::NONE } else { own };
        }
    }

    /// The index of the record of a granule. Creates the record if the granule has none. `None` if
    /// there is no room for the record.
    fn record_at(&mut self, address: usize) -> Option<usize> {
        let first = self.epochs.first();
        let cell = self.shadow.cell(address, first)?;
        let last = cell.last;
        if !cell.is_new(first)
            && let Owner::Record(record) = self.epochs.owner(last.epoch())
        {
            return Some(record as usize);
        }
        let (write, read) = cell.write_and_read(first);
        let allocation = self.allocations.word_at(address);
        let record = self.used;
        if record == MOST_RECORDS {
            return None;
        }
        match self.records.get_mut(record) {
            Some(old) => old.renew(allocation, write, read),
            None => self.records.push(Record::new(allocation, write, read)),
        }
        self.used += 1;
        let number = self.epochs.add(Owner::Record(record as u32));
        let cell = self.shadow.cell(address, first)?;
        cell.last = Word::of_record(number);
        cell.write = Word::NONE;
        Some(record)
    }

    pub(super) fn is_known(&self, epoch: Epoch, task: TaskId) -> bool {
        let clock = &self.tasks.get(task).clock;
        is_known(&self.epochs, clock, epoch, task)
    }

    /// Records the races of an access of `task` with the earlier accesses that conflict with it.
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
