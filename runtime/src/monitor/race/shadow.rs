//! Shadow memory: a cell for each eight bytes that were accessed, found by address.
//!
//! A cell consists of two words: the last access and the last write. The highest bits of a word
//! are the accessed bytes, the next ones are the epoch, and the lowest ones are the source line.
//! So one comparison checks the bytes, and whether the epoch is in a range. The epoch of a word
//! identifies its execution, so that nothing must be cleared between executions. If a history does
//! not fit into a cell, such as reads by several tasks, the cell points to a record.

use core::ops::Range;

use super::clock::{Epoch, LAST, MOST_EPOCHS, OLD};
use super::lines::{self, MARK_BITS};
use crate::base::memory::{EngineMemory, EngineVec, engine_vec};
use crate::execution::Site;

/// The number of bytes of a granule. There is one cell for each granule.
pub(super) const GRANULE: usize = 8;
/// The number of bytes of a page. The cells of a page are contiguous.
pub(super) const PAGE: usize = 4096;
const CELLS: usize = PAGE / GRANULE;
/// The maximum number of pages with cells. They have 512 MB of cells for 256 MB of the program's
/// memory.
const MOST_PAGES: usize = 1 << 16;
/// The maximum number of bytes of the program's memory that can have cells.
pub(crate) const MOST_MEMORY: usize = MOST_PAGES * PAGE;
const FIRST_SIZE: usize = 1 << 10;
/// The value of `Page::touched` if no execution has accessed the page.
const NEVER: Epoch = Epoch::MAX;
/// The bit that is set in the epoch of a cell's last access if the memory was freed after this
/// access.
const FREE: Epoch = 1 << (Epoch::BITS - 1);

/// The accessed bytes of a granule: in the upper bits, the number of bytes that are not accessed;
/// in the lower three bits, the index of the first accessed byte.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Extent(u8);

impl Extent {
    /// The extent of a word that points to a record. No access has it: it would be eight bytes from
    /// the last byte of the granule on.
    const OF_RECORD: Self = Self(7);
    /// All bytes.
    pub(super) const ALL: Self = Self(0);
    /// The extent of a word for the allocation of a block: it stands for all bytes. No other access
    /// has it: it would be eight bytes from the second byte of the granule on.
    pub(super) const OF_BLOCK: Self = Self(1);

    /// The extent of `size` bytes from `address` on. They must be in one granule.
    #[inline]
    pub(super) fn new(address: usize, size: usize) -> Self {
        Self((((GRANULE - size) << 3) | (address % GRANULE)) as u8)
    }

    /// The number of accessed bytes.
    #[inline]
    pub(super) fn length(self) -> usize {
        GRANULE - usize::from(self.0 >> 3)
    }

    /// A bit for each accessed byte.
    #[inline]
    pub(super) fn mask(self) -> u8 {
        if self == Self::OF_BLOCK {
            return u8::MAX;
        }
        let (start, length) = (self.0 & 7, 8 - (self.0 >> 3));
        (((1u16 << length) - 1) << start) as u8
    }

    /// Whether this extent contains all bytes of `other`.
    #[inline]
    pub(super) fn covers(self, other: Self) -> bool {
        other.mask() & !self.mask() == 0
    }

    #[inline]
    pub(super) fn in_word(self) -> u64 {
        u64::from(self.0) << EXTENT_AT
    }
}

/// One access in a cell.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Word(u64);

/// The bit of a word that is set if the access is a borrow. The source line is in the next bits.
pub(super) const BORROW: u64 = 1;
pub(super) const MARK_AT: u32 = 1;
pub(super) const EPOCH_AT: u32 = MARK_AT + MARK_BITS;
const EXTENT_AT: u32 = EPOCH_AT + Epoch::BITS;

impl Word {
    pub(super) const NONE: Self = Self(0);

    /// The word of an access. `mark` is the mark of its line.
    #[inline]
    pub(super) fn new(epoch: Epoch, extent: Extent, mark: u64, is_borrow: bool) -> Self {
        let borrow = if is_borrow { BORROW } else { 0 };
        Self(extent.in_word() | u64::from(epoch) << EPOCH_AT | mark | borrow)
    }

    #[inline]
    pub(super) fn of(word: u64) -> Self {
        Self(word)
    }

    /// A word that points to the record with this number.
    pub(super) fn of_record(number: Epoch) -> Self {
        Self::new(number, Extent::OF_RECORD, 0, false)
    }

    #[inline]
    pub(super) fn is_record(self) -> bool {
        self.extent() == Extent::OF_RECORD
    }

    #[inline]
    pub(super) fn epoch(self) -> Epoch {
        (self.0 >> EPOCH_AT) as u32
    }

    #[inline]
    pub(super) fn extent(self) -> Extent {
        Extent((self.0 >> EXTENT_AT) as u8)
    }

    #[inline]
    pub(super) fn is_borrow(self) -> bool {
        self.0 & BORROW != 0
    }

    pub(super) fn site(self) -> Option<Site> {
        lines::site_of(self.0 & lines::MARK)
    }

    /// Whether both words are accesses to the same bytes in the same epoch.
    #[inline]
    pub(super) fn is_like(self, other: Self) -> bool {
        self.is_of(other.0)
    }

    /// As [`Self::is_like`], but compares with `upper`: the epoch and the extent of a word.
    #[inline]
    pub(super) fn is_of(self, upper: u64) -> bool {
        (self.0 ^ upper) >> EPOCH_AT == 0
    }

    /// Whether this word equals `upper` when all bits of `others` in this word are cleared.
    #[inline]
    pub(super) fn is_within(self, upper: u64, others: u64) -> bool {
        self.0 & !others == upper
    }

    /// The distance of this word from the word `low`, which is an access in the first epoch of a
    /// range. The distance is very large if the two accesses are to different bytes.
    #[inline]
    pub(super) fn from(self, low: u64) -> u64 {
        self.0.wrapping_sub(low)
    }
}

/// The history of the accesses to one granule. Each access in it contained all bytes of the earlier
/// accesses, and happened after them. So a task that knows of the last access knows of all
/// accesses.
#[derive(Clone, Copy, Debug)]
pub(super) struct Cell {
    /// The last access, or a pointer to the record. The last access is kept for later executions,
    /// as evidence that its bytes were live.
    pub(super) last: Word,
    /// The last write. A write of an earlier execution has no meaning. If the cell has a record:
    /// the last read, if no write came after it.
    pub(super) write: Word,
}

impl Cell {
    pub(super) const NONE: Self = Self {
        last: Word::NONE,
        write: Word::NONE,
    };

    /// Whether these bytes are certainly live, and in one block: an execution has accessed exactly
    /// these bytes, or the whole granule, since they were last freed.
    #[inline]
    pub(super) fn is_evidence(&self, extent: u64) -> bool {
        let known = self.last.extent().in_word();
        (1..FREE).contains(&self.last.epoch())
            && (known == extent || known == Extent::ALL.in_word())
    }

    /// Whether there is no access of the current execution since the memory was last freed.
    /// `first` is the first epoch of the current execution.
    #[inline]
    pub(super) fn is_new(&self, first: Epoch) -> bool {
        const { assert!(LAST as usize + 2 * MOST_EPOCHS < 1 << (Epoch::BITS - 2)) };
        // The distance is larger than this if the memory was freed, or, because it wraps around,
        // if the epoch is earlier.
        self.last.epoch().wrapping_sub(first) >= 1 << (Epoch::BITS - 2)
    }

    /// Records that the memory is freed: earlier accesses no longer matter, and the next access
    /// must check whether the memory is live.
    #[inline]
    pub(super) fn free(&mut self) {
        self.last = Word(self.last.0 | u64::from(FREE) << EPOCH_AT);
        self.write = Word::NONE;
    }

    /// Records that the earlier accesses to the memory no longer matter.
    #[inline]
    pub(super) fn age(&mut self) {
        let others = self.last.0 & !(u64::from(Epoch::MAX) << EPOCH_AT);
        self.last = Word(others | u64::from(OLD) << EPOCH_AT);
        self.write = Word::NONE;
    }

    /// The last write in the execution with this `first` epoch, and the last read since that
    /// write. The cell must have no record. A read of the same bytes in the epoch of the write is
    /// left out, because each access that conflicts with the read also conflicts with the write.
    pub(super) fn write_and_read(&self, first: Epoch) -> (Word, Word) {
        if self.is_new(first) {
            (Word::NONE, Word::NONE)
        } else if self.write.epoch() < first {
            (Word::NONE, self.last)
        } else if self.write.is_like(self.last) {
            (self.write, Word::NONE)
        } else {
            (self.write, self.last)
        }
    }

    /// Whether the access `own` need not be recorded: each access that conflicts with `own`
    /// conflicts with a recorded access, too. This is so if the task made the recorded access in
    /// the same epoch to at least the same bytes. The recorded access must not be a borrow, unless
    /// `own` is a borrow, too.
    #[inline]
    pub(super) fn implies(&self, own: Word, is_write: bool) -> bool {
        let implies = |word: Word| {
            word.epoch() == own.epoch()
                && word.extent().covers(own.extent())
                && (own.is_borrow() || !word.is_borrow())
        };
        implies(self.last) && (!is_write || implies(self.write))
    }

    /// Records an access. All earlier accesses must have happened before this access.
    #[inline]
    pub(super) fn note(&mut self, word: Word, is_write: bool) {
        if is_write {
            self.write = word;
        }
        self.last = word;
    }
}

pub(super) struct Page {
    /// The number of the page; 0 for an empty slot.
    number: usize,
    cells: *mut Cell,
    /// The first epoch of the execution that last accessed the page. 0 if the cells of the page
    /// must be cleared before the next access.
    touched: Epoch,
}

impl Page {
    /// Whether the execution with this `first` epoch accessed the page.
    #[inline]
    pub(super) fn is_touched(&self, first: Epoch) -> bool {
        self.touched == first
    }

    #[inline]
    pub(super) fn part(&mut self, part: Range<usize>) -> &mut [Cell] {
        debug_assert!(part.start <= part.end && part.end <= CELLS);
        // SAFETY: a page has as many cells as granules, and no code that uses other references to
        // them is called meanwhile.
        unsafe { core::slice::from_raw_parts_mut(self.cells.add(part.start), part.len()) }
    }

    /// Records that a part of the page is freed. The current execution must not have accessed the
    /// page.
    pub(super) fn free(&mut self, part: Range<usize>) {
        if part == (0..CELLS) {
            self.touched = 0;
        } else {
            self.part(part).iter_mut().for_each(Cell::free);
        }
    }

    #[cold]
    fn clear(&mut self) {
        self.part(0..CELLS).fill(Cell::NONE);
    }
}

/// The number of the page of an address. The number is never 0. The page at address 0 has a number,
/// too, because invalid pointers refer to it.
#[inline]
fn number_of(address: usize) -> usize {
    address / PAGE + 1
}

/// The cells of all pages that were accessed.
pub(super) struct Shadow {
    /// A hash table whose size is a power of two.
    pages: EngineVec<Page>,
    count: usize,
    /// The first address of the memory that was allocated in this execution. From this address on,
    /// the cells of earlier executions have no meaning, and are no evidence that memory is live.
    fresh: usize,
}

impl Shadow {
    pub(super) const fn new() -> Self {
        Self {
            pages: engine_vec(),
            count: 0,
            fresh: usize::MAX,
        }
    }

    /// Begins a new execution. `forgets`: whether all earlier histories are forgotten. The
    /// allocations of the execution are at or after the address `fresh`, or in memory whose free
    /// was reported before.
    pub(super) fn begin(&mut self, forgets: bool, fresh: usize) {
        self.fresh = fresh;
        if self.pages.is_empty() {
            self.resize(FIRST_SIZE);
        } else if forgets || self.count == MOST_PAGES {
            for page in &mut self.pages {
                if page.number != 0 {
                    // SAFETY: made by `add`, and forgotten here.
                    drop(unsafe {
                        Box::from_raw_in(page.cells.cast::<[Cell; CELLS]>(), EngineMemory)
                    });
                    page.number = 0;
                }
            }
            self.count = 0;
        }
    }

    /// The cell of a granule that is accessed in the execution with this `first` epoch. `None` if
    /// there is no room for more pages.
    #[inline]
    pub(super) fn cell(&mut self, address: usize, first: Epoch) -> Option<&mut Cell> {
        let number = number_of(address);
        let mut at = self.place(number);
        if self.pages[at].number != number {
            at = self.add(number, at)?;
        }
        let page = &mut self.pages[at];
        if page.touched != first {
            if page.touched == 0 || address - address % PAGE >= self.fresh {
                page.clear();
            }
            page.touched = first;
        }
        // SAFETY: a page has as many cells as granules.
        Some(unsafe { &mut *page.cells.add(address % PAGE / GRANULE) })
    }

    /// Calls `each` for each page that has cells and overlaps the range from `low` to `high`. The
    /// second argument of `each` has the indices of the page's granules in this range.
    #[inline]
    pub(super) fn parts(
        &mut self,
        low: usize,
        high: usize,
        mut each: impl FnMut(&mut Page, Range<usize>),
    ) {
        let mut address = low & !(GRANULE - 1);
        while address < high {
            let start = address - address % PAGE;
            let end = high.min(start + PAGE);
            let number = number_of(address);
            let at = self.place(number);
            let page = &mut self.pages[at];
            if page.number == number {
                let last = (end - start).div_ceil(GRANULE);
                each(page, address % PAGE / GRANULE..last);
            }
            address = start + PAGE;
        }
    }

    /// As [`Self::parts`], for a range that may have far more pages than the table.
    pub(super) fn parts_of_any(
        &mut self,
        low: usize,
        high: usize,
        mut each: impl FnMut(&mut Page, Range<usize>),
    ) {
        if (high - low) / PAGE <= self.pages.len() {
            return self.parts(low, high, each);
        }
        for page in self.pages.iter_mut().filter(|page| page.number != 0) {
            let start = (page.number - 1) * PAGE;
            let (first, last) = (low.max(start), high.min(start + PAGE));
            if first < last {
                let part = (first - start) / GRANULE..(last - start).div_ceil(GRANULE);
                each(page, part);
            }
        }
    }

    /// The first address of the memory that was allocated in this execution.
    pub(super) fn fresh(&self) -> usize {
        self.fresh
    }

    /// The index of the slot of a page in the table. If the page is not in the table, the index of
    /// the slot to which it must be added.
    #[inline]
    fn place(&self, number: usize) -> usize {
        let mask = self.pages.len() - 1;
        let mut at = number & mask;
        while self.pages[at].number != number && self.pages[at].number != 0 {
            at = (at + 1) & mask;
        }
        at
    }

    #[cold]
    fn add(&mut self, number: usize, mut at: usize) -> Option<usize> {
        if self.count == MOST_PAGES {
            return None;
        }
        if self.count * 2 >= self.pages.len() {
            self.resize(self.pages.len() * 2);
            at = self.place(number);
        }
        let cells = Box::new_in([Cell::NONE; CELLS], EngineMemory);
        let cells = Box::into_raw_with_allocator(cells).0;
        self.pages[at] = Page {
            number,
            cells: cells.cast(),
            touched: NEVER,
        };
        self.count += 1;
        Some(at)
    }

    fn resize(&mut self, size: usize) {
        let mut pages = engine_vec();
        pages.resize_with(size, || Page {
            number: 0,
            cells: core::ptr::null_mut(),
            touched: 0,
        });
        let old = core::mem::replace(&mut self.pages, pages);
        for page in old.into_iter().filter(|page| page.number != 0) {
            let at = self.place(page.number);
            self.pages[at] = page;
        }
    }
}
