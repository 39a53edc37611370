//! Shadow memory: a cell for each eight bytes that were accessed, found by address.
//!
//! A cell has the last access and the last write, a word each: the accessed bytes in its
//! highest bits, then the epoch, the source line in its lowest. So that the bytes are these, and
//! the epoch one of a range, is one comparison. Epochs say which execution a word is of, so that
//! nothing needs clearing between executions. What does not fit, such as reads by several
//! tasks, is in a record that the cell points to.

use core::ops::Range;

use super::clock::{Epoch, LAST, MOST_EPOCHS, OLD};
use super::lines::{self, MARK_BITS};
use crate::base::memory::{EngineMemory, EngineVec, engine_vec};
use crate::execution::Site;

/// The bytes that one cell is for.
pub(super) const GRANULE: usize = 8;
/// The bytes whose cells lie together.
pub(super) const PAGE: usize = 4096;
const CELLS: usize = PAGE / GRANULE;
/// So many pages have cells at most: 512 MB for 256 MB of the program's.
const MOST_PAGES: usize = 1 << 16;
/// So many bytes of the program, if all of their pages.
pub(crate) const MOST_MEMORY: usize = MOST_PAGES * PAGE;
const FIRST_SIZE: usize = 1 << 10;
/// The first epoch of no execution.
const NEVER: Epoch = Epoch::MAX;
/// In the epochs of what was given back in this execution.
const FREE: Epoch = 1 << (Epoch::BITS - 1);

/// Which of a granule's bytes are accessed: how many are not, and the first one that is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Extent(u8);

impl Extent {
    /// None at all: eight bytes from the last one on.
    const OF_RECORD: Self = Self(7);
    /// All of them, as bytes of a block that is allocated: eight from the second one on.
    pub(super) const OF_BLOCK: Self = Self(1);

    /// `size` bytes from `address` on, which lie in one granule.
    #[inline]
    pub(super) fn new(address: usize, size: usize) -> Self {
        Self((((GRANULE - size) << 3) | (address % GRANULE)) as u8)
    }

    /// A bit for each byte.
    pub(super) fn mask(self) -> u8 {
        if self == Self::OF_BLOCK {
            return u8::MAX;
        }
        let (start, length) = (self.0 & 7, 8 - (self.0 >> 3));
        (((1u16 << length) - 1) << start) as u8
    }

    #[inline]
    pub(super) fn in_word(self) -> u64 {
        u64::from(self.0) << EXTENT_AT
    }
}

/// One access in a cell.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Word(u64);

/// Below the epoch: the source line, and whether it is a borrow.
pub(super) const BORROW: u64 = 1;
pub(super) const MARK_AT: u32 = 1;
pub(super) const EPOCH_AT: u32 = MARK_AT + MARK_BITS;
const EXTENT_AT: u32 = EPOCH_AT + Epoch::BITS;

impl Word {
    pub(super) const NONE: Self = Self(0);

    /// What a word has of the line is its `mark`.
    #[inline]
    pub(super) fn new(epoch: Epoch, extent: Extent, mark: u64, is_borrow: bool) -> Self {
        let borrow = if is_borrow { BORROW } else { 0 };
        Self(extent.in_word() | u64::from(epoch) << EPOCH_AT | mark | borrow)
    }

    #[inline]
    pub(super) fn of(word: u64) -> Self {
        Self(word)
    }

    /// Not an access: points to a record.
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

    pub(super) fn is_borrow(self) -> bool {
        self.0 & BORROW != 0
    }

    pub(super) fn site(self) -> Option<Site> {
        lines::site_of(self.0 & lines::MARK)
    }

    /// Whether this is an access to the bytes, and in the epoch, of another word.
    #[inline]
    pub(super) fn is_like(self, other: Self) -> bool {
        self.is_of(other.0)
    }

    /// As [`Self::is_like`], of a word's upper part.
    #[inline]
    pub(super) fn is_of(self, upper: u64) -> bool {
        (self.0 ^ upper) >> EPOCH_AT == 0
    }

    /// How far this is from an access to the same bytes in some epoch; very far, if it is to
    /// other bytes.
    #[inline]
    pub(super) fn from(self, low: u64) -> u64 {
        self.0.wrapping_sub(low)
    }
}

/// What is known of the accesses to one granule: each of them was to the same bytes as the one
/// before, and came after it by what orders tasks. So who knows of the last one knows of all.
#[derive(Clone, Copy, Debug)]
pub(super) struct Cell {
    /// The last access; or what points to the record, where there is more to know. It stays for
    /// later executions, to which it says that the memory was used rightly.
    pub(super) last: Word,
    /// The last write; one of an earlier execution says nothing. With a record: the last read,
    /// if no write came after it.
    pub(super) write: Word,
}

impl Cell {
    pub(super) const NONE: Self = Self {
        last: Word::NONE,
        write: Word::NONE,
    };

    /// Whether nothing was accessed in any execution since the memory was last given back: it
    /// may be free.
    #[inline]
    pub(super) fn is_doubtful(&self) -> bool {
        !(1..FREE).contains(&self.last.epoch())
    }

    /// Whether nothing was accessed in the execution of this `first` epoch, or the memory was
    /// given back since then.
    #[inline]
    pub(super) fn is_new(&self, first: Epoch) -> bool {
        const { assert!(LAST as usize + 2 * MOST_EPOCHS < 1 << (Epoch::BITS - 2)) };
        // Beyond the last one are those that are free, and, wrapped around, all before.
        self.last.epoch().wrapping_sub(first) >= 1 << (Epoch::BITS - 2)
    }

    /// The memory is given back: what was done to it does not matter any more, and it is
    /// asked about whoever accesses it next.
    #[inline]
    pub(super) fn free(&mut self) {
        self.last = Word(self.last.0 | u64::from(FREE) << EPOCH_AT);
        self.write = Word::NONE;
    }

    /// The memory is not free any more: it is as before this execution.
    #[inline]
    pub(super) fn put_back(&mut self) {
        self.last = Word(self.last.0 & !(u64::from(FREE) << EPOCH_AT));
    }

    /// What was done to the memory does not matter any more.
    #[inline]
    pub(super) fn age(&mut self) {
        let others = self.last.0 & !(u64::from(Epoch::MAX) << EPOCH_AT);
        self.last = Word(others | u64::from(OLD) << EPOCH_AT);
        self.write = Word::NONE;
    }

    /// The last write in the execution of this `first` epoch, and the last read since then, of
    /// a cell without a record. Who conflicts with a read of the write's own epoch conflicts
    /// with the write, so that is left out.
    pub(super) fn write_and_read(&self, first: Epoch) -> (Word, Word) {
        if self.is_new(first) {
            (Word::NONE, Word::NONE)
        } else if self.write.epoch() < first {
            (Word::NONE, self.last)
        } else if self.write.epoch() == self.last.epoch() {
            (self.write, Word::NONE)
        } else {
            (self.write, self.last)
        }
    }

    /// Notes an access that comes after all that was before.
    #[inline]
    pub(super) fn note(&mut self, word: Word, is_write: bool) {
        if is_write {
            self.write = word;
        }
        self.last = word;
    }
}

pub(super) struct Page {
    /// The number of the page; 0 where there is none.
    number: usize,
    cells: *mut Cell,
    /// The first epoch of the execution that last accessed it; 0 where all that its cells have
    /// is to be forgotten.
    touched: Epoch,
}

impl Page {
    /// Whether the execution of this `first` epoch accessed anything there.
    #[inline]
    pub(super) fn is_touched(&self, first: Epoch) -> bool {
        self.touched == first
    }

    #[inline]
    pub(super) fn part(&mut self, part: Range<usize>) -> &mut [Cell] {
        debug_assert!(part.start <= part.end && part.end <= CELLS);
        // SAFETY: a page has as many cells as granules, and who uses other references to them
        // is not called meanwhile.
        unsafe { core::slice::from_raw_parts_mut(self.cells.add(part.start), part.len()) }
    }

    /// A part of it is given back in an execution that accessed nothing there.
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

/// The number of the page that an address lies in: that of null, where programs go wrong, has
/// one, too.
#[inline]
fn number_of(address: usize) -> usize {
    address / PAGE + 1
}

/// The cells of all pages that were accessed.
pub(super) struct Shadow {
    /// A hash table with a power of two of places.
    pages: EngineVec<Page>,
    count: usize,
    /// From this address on there is memory that was allocated in this execution: what earlier
    /// ones did there, and that it was used rightly then, says nothing.
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

    /// A new execution begins; `forgets` what all earlier ones left. What it allocates lies
    /// behind `fresh`, or is given back first.
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

    /// The cell of a granule that is accessed in the execution of this `first` epoch;
    /// `None` where there is no room for more pages.
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

    /// The pages of a range, and the granules of each that are in it.
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

    /// Bytes of the program that have cells.
    pub(super) fn covered(&self) -> usize {
        self.count * PAGE
    }

    /// Bytes that the cells take.
    pub(super) fn size(&self) -> usize {
        self.count * CELLS * size_of::<Cell>() + self.pages.len() * size_of::<Page>()
    }

    /// Where a page is in the table, or would be.
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
