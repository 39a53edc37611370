//! Memory that is freed, the stack of a task that ends, and memory that another task uses as its
//! stack from now on.

use core::sync::atomic::Ordering::Acquire;

use super::clock::{Epoch, Epochs, Owner};
use super::record::Record;
use super::shadow::{Cell, Word};
use super::task_order::{TaskOrder, is_known};
use super::{Earlier, Races, What};
use crate::base::memory::{EngineVec, engine_vec};
use crate::execution::{How, Op, Site, TaskId};

/// The check of a free, or of the end of a stack, for races with earlier accesses.
struct FreeCheck<'r> {
    epochs: &'r Epochs,
    records: &'r [Record],
    task: TaskId,
    own: &'r TaskOrder,
    first: Epoch,
    /// An access that the freeing task knows of. A cell with the same last access needs no check.
    known: Word,
    races: EngineVec<Earlier>,
}

impl<'r> FreeCheck<'r> {
    fn new(
        epochs: &'r Epochs,
        records: &'r [Record],
        (task, own): (TaskId, &'r TaskOrder),
    ) -> Self {
        Self {
            epochs,
            records,
            task,
            own,
            first: epochs.first(),
            known: Word::NONE,
            races: engine_vec(),
        }
    }

    /// Checks the accesses to one granule.
    #[inline]
    fn check(&mut self, cell: &Cell) {
        if !cell.last.is_like(self.known) && !cell.is_new(self.first) {
            self.look(cell);
        }
    }

    #[inline(never)]
    fn look(&mut self, cell: &Cell) {
        let Self {
            epochs,
            own,
            task,
            first,
            ..
        } = *self;
        let mut look = |earlier: Earlier| {
            if !is_known(epochs, &own.clock, earlier.epoch, task) {
                self.races.push(earlier);
            }
        };
        let epoch = cell.last.epoch();
        if let Owner::Record(record) = epochs.owner(epoch) {
            self.records[record as usize].conflicts(u8::MAX, true, &mut look);
            return;
        }
        if is_known(epochs, &own.clock, epoch, task) {
            // A task that knows of the last access knows of all earlier accesses.
            self.known = cell.last;
            return;
        }
        let (write, read) = cell.write_and_read(first);
        for (word, is_write) in [(write, true), (read, false)] {
            if word != Word::NONE {
                look(Earlier::of_word(word, is_write));
            }
        }
    }
}

impl Races {
    /// Records that `task` frees memory, and the races of the free with earlier accesses. Then
    /// forgets the earlier accesses.
    pub(crate) fn free(&mut self, task: TaskId, address: usize, length: usize, site: Option<Site>) {
        self.allocations.unsettle();
        self.memory.forget(address, length);
        let end = address.saturating_add(length);
        if !self.last_users.is_empty() {
            self.acquire_counters(task, address, end);
        }
        let first = self.epochs.first();
        let mut check = FreeCheck::new(&self.epochs, &self.records, (task, self.tasks.get(task)));
        self.shadow.parts(address, end, |page, part| {
            if !page.is_touched(first) {
                page.free(part);
                return;
            }
            for cell in page.part(part) {
                check.check(cell);
                cell.free();
            }
        });
        if address < self.shadow.fresh() {
            self.freed.push((address, end));
        }
        for earlier in check.races {
            self.note(earlier, task, What::Free, site);
        }
    }

    /// Records that `task` ends, and the races of the end of its stack, from `low` to `high`, with
    /// accesses of other tasks to its frames.
    ///
    /// The other tasks must have finished their accesses before the frame's function returned. If
    /// such an access is not even ordered before the task's end, it may follow the return in
    /// another schedule.
    pub(super) fn end_stack(&mut self, task: TaskId, low: usize, high: usize) {
        let (low, high) = self.used_by_others(low, high);
        if low < high {
            self.check_end(task, (low, high), What::StackEnd, None);
        }
    }

    /// Records that `task` has unmapped memory, and the races with earlier accesses. An access that
    /// is not ordered before the unmapping may find no memory in another schedule. Later accesses
    /// crash.
    pub(super) fn unmap(&mut self, task: TaskId, low: usize, high: usize, site: Option<Site>) {
        if !self.last_users.is_empty() {
            self.acquire_counters(task, low, high);
        }
        self.check_end(task, (low, high), What::Unmap, site);
    }

    /// Records the races of the end of some memory with earlier accesses.
    #[inline(never)]
    fn check_end(
        &mut self,
        task: TaskId,
        (low, high): (usize, usize),
        what: What,
        site: Option<Site>,
    ) {
        let first = self.epochs.first();
        let mut check = FreeCheck::new(&self.epochs, &self.records, (task, self.tasks.get(task)));
        self.shadow.parts_of_any(low, high, |page, part| {
            if page.is_touched(first) {
                page.part(part).iter().for_each(|cell| check.check(cell));
            }
        });
        for earlier in check.races {
            self.note(earlier, task, what, site);
        }
    }

    /// Acquires the reference counters in memory that `task` frees: `task` was their last user.
    #[cold]
    fn acquire_counters(&mut self, task: TaskId, low: usize, high: usize) {
        let mut at = 0;
        while let Some(&(by, counter)) = self.last_users.get(at) {
            if !(low..high).contains(&counter) {
                at += 1;
                continue;
            }
            self.last_users.swap_remove(at);
            if by == task {
                self.count(task, counter, (How::Load, Acquire), Op::WeakDrop);
            }
        }
    }

    /// Begins a new execution. `is_put_back`: whether memory was restored.
    ///
    /// If memory was restored, the memory that the last execution freed is not free any more. This
    /// memory may contain another block than the one that the last execution accessed. If memory
    /// was not restored, each execution has its own process. Then memory that the last execution
    /// allocated may be free in this one.
    pub(super) fn begin_memory(&mut self, is_put_back: bool) {
        if is_put_back {
            for &(low, high) in &self.freed {
                self.shadow.parts(low, high, |page, part| {
                    page.part(part).fill(Cell::NONE);
                });
            }
        } else {
            for &(low, high) in self.allocations.reused() {
                self.shadow.parts(low, high, |page, part| {
                    page.part(part).iter_mut().for_each(Cell::free);
                });
            }
        }
        self.freed.clear();
    }

    /// Records that another task begins to use this memory as a stack, or that the memory is
    /// mapped, or was unmapped. As [`Self::free`], but does not check for races, and the memory is
    /// not free afterwards.
    pub(crate) fn forget(&mut self, low: usize, high: usize) {
        self.memory.forget(low, high - low);
        let first = self.epochs.first();
        self.shadow.parts_of_any(low, high, |page, part| {
            if page.is_touched(first) {
                page.part(part).iter_mut().for_each(Cell::age);
            }
        });
    }
}
