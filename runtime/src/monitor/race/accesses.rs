//! Accesses to memory: the check for races with earlier accesses, and the update of the history.

use core::sync::atomic::Ordering;

use super::clock::{Epoch, Owner};
use super::lines::mark_of;
use super::order::Atomic;
use super::record::Record;
use super::shadow::{Cell, EPOCH_AT, Extent, GRANULE, Word};
use super::task_order::is_known;
use super::{Earlier, GivenUp, Races, What};
use crate::base::memory::engine_vec;
use crate::execution::{How, Op, Site, TaskId};

/// The maximum number of granules with a longer history.
const MOST_RECORDS: usize = 1 << 20;

impl Races {
    /// The mark of a line in words, if it is known that the line's code is explored and that its
    /// accesses are no events.
    #[inline]
    pub(crate) fn mark_of(&self, site: Site) -> Option<u64> {
        self.inline_check.mark_of(site)
    }

    /// Records that the code of a line is explored and that its accesses are no events. Returns the
    /// line's mark.
    pub(crate) fn add_line(&mut self, site: Site) -> u64 {
        self.inline_check.add_line(site)
    }

    /// Records that the code of a line is explored, whatever its file is: it was rewritten, or is
    /// instrumented. Where accesses may be events, this is decided for each line.
    #[inline]
    pub(crate) fn explore(&mut self, site: Site) {
        if self.inline_check.mark_of(site).is_none() && !self.points.is_any() {
            self.inline_check.add_line(site);
        }
    }

    /// Checks and records an atomic access of `task`.
    pub(crate) fn atomic(&mut self, task: TaskId, address: usize, length: usize, access: Atomic) {
        let Atomic {
            op,
            how,
            order,
            site,
        } = access;
        let extent = Extent::new(address, length);
        let is_write = how != How::Load;
        self.note_page(address);
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
        if own.synchronize(released, how, order) {
            self.end_epoch(task, op, site);
        }
    }

    /// An atomic operation of `task` on a counter that only such operations touch: it may order,
    /// and never races.
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
        let mark = mark_of(site);
        let Some(epoch) = self.shown_epoch_of(task) else {
            return;
        };
        for (at, extent) in granules(address, length) {
            let own = Word::new(epoch, extent, mark, is_borrow);
            match self.notes_word(task, at, own, what.is_write(), |races| {
                races.settles(task, at)
            }) {
                Some(true) => {}
                Some(false) => self.access_shared(task, at, own, what, site),
                None => self.give_up(GivenUp::Memory),
            }
            if !self.is_on {
                return;
            }
        }
    }

    /// Whether `task` made an access of this kind to these bytes in its current epoch, and no other
    /// access has followed.
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
        // SAFETY: as in `notes_first`.
        unsafe {
            self.inline_check
                .is_repeated_in(epoch, address, length, is_write)
        }
    }

    /// Records the running task's first plain access to bytes of one granule in this execution, if
    /// nothing else must be done, and if this is certain at once. Otherwise [`Self::notes`] may
    /// record it. Returns whether the access is recorded.
    #[inline]
    pub(crate) fn notes_first(
        &mut self,
        (address, length): (usize, usize),
        (is_write, is_borrow): (bool, bool),
        site: Site,
    ) -> bool {
        let (inline_check, first) = (&self.inline_check, self.epochs.first());
        let is_settled = || self.allocations.is_settled(address, length);
        // SAFETY: the table contains no page whose cells no longer exist, and no other code uses
        // them.
        unsafe {
            inline_check.notes_first(
                address,
                length,
                (is_write, is_borrow),
                site,
                first,
                is_settled,
            )
        }
    }

    /// Records a plain access of `task` to any bytes, if nothing else must be done: none of the
    /// bytes is free or outside of a block, and no earlier access must be checked. `mark` is the mark
    /// of its line. Returns whether the access is recorded.
    #[inline]
    pub(crate) fn notes(
        &mut self,
        task: TaskId,
        (address, length): (usize, usize),
        (is_write, is_borrow): (bool, bool),
        mark: u64,
    ) -> bool {
        if !self.is_on {
            return false;
        }
        let Some(epoch) = self.shown_epoch_of(task) else {
            return false;
        };
        let mut notes = |(at, extent): (usize, Extent)| {
            let own = Word::new(epoch, extent, mark, is_borrow);
            let is_settled = |races: &mut Self| races.allocations.is_settled(at, extent.length());
            self.notes_word(task, at, own, is_write, is_settled) == Some(true)
        };
        if length <= GRANULE - address % GRANULE {
            notes((address, Extent::new(address, length)))
        } else {
            granules(address, length).all(notes)
        }
    }

    /// As [`Self::notes`], in one granule. `None` if there is no room for its cell. If the granule
    /// was not accessed before in this execution, `is_settled` returns whether the bytes are live
    /// and the task knows of their allocation.
    #[inline]
    fn notes_word(
        &mut self,
        task: TaskId,
        address: usize,
        own: Word,
        is_write: bool,
        is_settled: impl FnOnce(&mut Self) -> bool,
    ) -> Option<bool> {
        let first = self.epochs.first();
        let cell = match self.inline_check.cell(address) {
            Some(cell) => cell,
            None => self.find_cell(address)?,
        };
        // SAFETY: no table contains a page whose cells no longer exist, and no code below uses the
        // cell.
        let cell = unsafe { &mut *cell };
        let is_over = if cell.is_new(first) {
            cell.is_evidence(own.extent().in_word()) || is_settled(self)
        } else if cell.last.is_record() {
            return Some(!is_write && cell.write.is_like(own));
        } else {
            self.is_over(task, own, cell.last)
        };
        if is_over {
            cell.note(own, is_write);
        }
        Some(is_over)
    }

    /// The cell of a granule, even if it must be searched.
    #[inline(never)]
    fn find_cell(&mut self, address: usize) -> Option<*mut Cell> {
        self.note_page(address);
        let cell = self.shadow.cell(address, self.epochs.first())?;
        // A part of a range can be in a private page. Its first access by another task must get here.
        if !self.inline_check.stack.is_private(address) {
            self.inline_check.add_page(address, cell);
        }
        Some(cell)
    }

    /// Whether an earlier access was to the same bytes as the `own` one of `task`, and happened
    /// before it.
    #[inline]
    fn is_over(&mut self, task: TaskId, own: Word, earlier: Word) -> bool {
        let epoch = earlier.epoch();
        let (low, high) = self.tasks.get(task).window;
        if earlier.extent() != own.extent() {
            return false;
        }
        if low <= epoch && epoch <= high || epoch == own.epoch() {
            return true;
        }
        let is_known = epoch >= self.epochs.first() && self.is_known(epoch, task);
        if is_known {
            self.widen(task, epoch);
        }
        is_known
    }

    /// An access in one granule whose last access is not known to have happened before it, or was
    /// to other bytes, or which has a record.
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

    /// The number of bytes of the program whose accesses are tracked, and the memory for that.
    #[expect(dead_code, reason = "printed by a benchmark soon")]
    pub(crate) fn memory(&self) -> (usize, usize) {
        let records = self.records.len() * size_of::<Record>();
        (self.shadow.covered(), self.shadow.size() + records)
    }

    /// The record of a granule, created if it has none.
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

/// The granules of a range: the first address of the range in each, and the bytes of the range in
/// it.
#[inline]
fn granules(address: usize, length: usize) -> impl Iterator<Item = (usize, Extent)> {
    let end = address.saturating_add(length);
    let mut next = address;
    core::iter::from_fn(move || {
        let at = next;
        next = ((at & !(GRANULE - 1)) + GRANULE).min(end);
        (at < end).then(|| (at, Extent::new(at, next - at)))
    })
}
