//! What accesses to memory do: which earlier ones they race with, and what is kept of them.

use core::sync::atomic::Ordering;

use super::clock::{Epoch, Owner};
use super::lines::mark_of;
use super::order::{Atomic, How};
use super::record::Record;
use super::shadow::{Cell, Extent, GRANULE, Word};
use super::tasks::is_known;
use super::{Earlier, GivenUp, Point, Races, What};
use crate::base::memory::engine_vec;
use crate::execution::{Op, Site, TaskId};

/// So many granules have a longer history at most.
const MOST_RECORDS: usize = 1 << 20;

impl Races {
    /// What words have of a line, if it is known that its code is explored and that its accesses
    /// are no events.
    #[inline]
    pub(crate) fn mark_of(&self, site: Site) -> Option<u64> {
        self.glance.mark_of(site)
    }

    /// Notes that a line is so; what words have of it.
    pub(crate) fn add_line(&mut self, site: Site) -> u64 {
        self.glance.add_line(site)
    }

    /// It is known that the code of a line is explored, whatever its file is: it was rewritten.
    #[inline]
    pub(crate) fn explore(&mut self, site: Site) {
        if self.glance.mark_of(site).is_none() && self.points.of(site) == Point::None {
            self.glance.add_line(site);
        }
    }

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

    /// A plain access of `task` to bytes anywhere.
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

    /// Notes the running task's first plain access to bytes of one granule in this execution, if
    /// that is all there is to do, and found at once. Else it may be [`Self::notes`] that does.
    #[inline]
    pub(crate) fn notes_first(
        &mut self,
        (address, length): (usize, usize),
        (is_write, is_borrow): (bool, bool),
        site: Site,
    ) -> bool {
        let (glance, first) = (&self.glance, self.epochs.first());
        let is_settled = || self.allocations.is_settled(address);
        // SAFETY: no page is in its table whose cells are gone, and nobody else uses them.
        unsafe {
            glance.notes_first(
                address,
                length,
                (is_write, is_borrow),
                site,
                first,
                is_settled,
            )
        }
    }

    /// Notes a plain access of `task` to bytes anywhere, if that is all there is to do: none
    /// of them is free, and there is nothing to judge. What words have of its line is the
    /// `mark`.
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
        let mut notes = |(at, extent)| {
            let own = Word::new(epoch, extent, mark, is_borrow);
            let is_settled = |races: &mut Self| races.allocations.is_settled(at);
            self.notes_word(task, at, own, is_write, is_settled) == Some(true)
        };
        if length <= GRANULE - address % GRANULE {
            notes((address, Extent::new(address, length)))
        } else {
            granules(address, length).all(notes)
        }
    }

    /// As [`Self::notes`], in one granule. `None` where there is no room for its cell. Where it
    /// was not accessed before in this execution, whether it is live and its allocation is known
    /// of is asked of `is_settled`.
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
        let cell = match self.glance.cell(address) {
            Some(cell) => cell,
            None => self.find_cell(address)?,
        };
        // SAFETY: no page is in a table whose cells are gone, and nothing below uses the cell.
        let cell = unsafe { &mut *cell };
        let is_over = if cell.is_new(first) {
            !cell.is_doubtful() || is_settled(self)
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

    /// The cell of a granule, also where finding it takes a search.
    #[inline(never)]
    fn find_cell(&mut self, address: usize) -> Option<*mut Cell> {
        let cell = self.shadow.cell(address, self.epochs.first())?;
        self.glance.add_page(address, cell);
        Some(cell)
    }

    /// Whether an earlier access was to the same bytes as `task`'s own one, and happened before
    /// it.
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

    /// An access in one granule that was accessed last by a task that `task` has not heard of, or
    /// at other bytes, or that has a record.
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

/// The granules of a range: where each begins in it, and which of its bytes are in it.
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
