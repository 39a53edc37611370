//! Shadow memory: a cell for each eight bytes that were accessed, found by address.
//!
//! A cell has the last access and the last write, a word each: the accessed bytes in its
//! highest bits, then the epoch, the source line in its lowest. So that the bytes are these, and
//! the epoch one of a range, is one comparison. Epochs say which execution a word is of, so that
//! nothing needs clearing between executions. What does not fit, such as reads by several
//! tasks, is in a record that the cell points to.

use core::panic::Location;

use super::clock::Epoch;
use crate::execution::Site;
use crate::platform::memory::{EngineMemory, EngineVec, engine_vec};

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

/// Which of a granule's bytes are accessed: how many are not, and the first one that is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Extent(u8);

impl Extent {
    /// None at all: eight bytes from the last one on.
    const OF_RECORD: Self = Self(7);

    /// `size` bytes from `address` on, which lie in one granule.
    #[inline]
    pub(super) fn new(address: usize, size: usize) -> Self {
        Self((((GRANULE - size) << 3) | (address % GRANULE)) as u8)
    }

    /// A bit for each byte.
    pub(super) fn mask(self) -> u8 {
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
const SITE_AT: u32 = 1;
const SITE_BITS: u32 = 25;
const MARK: u64 = ((1 << SITE_BITS) - 1) << SITE_AT;
/// So many lower bits of the addresses of places are 0.
const ALIGNED: u32 = align_of::<Location<'static>>().trailing_zeros();
pub(super) const EPOCH_AT: u32 = SITE_AT + SITE_BITS;
const EXTENT_AT: u32 = EPOCH_AT + Epoch::BITS;
/// There instead, where no access was.
const NOTHING: u64 = (1 << EPOCH_AT) - 1;

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
        site_of(self.0 & MARK)
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

    /// No access; for who looks at bytes and epochs only, it is like one.
    #[inline]
    fn nothing(self) -> Self {
        Self(self.0 | NOTHING)
    }

    #[inline]
    fn is_nothing(self) -> bool {
        self.0 & NOTHING == NOTHING
    }
}

/// Somewhere among the places that the compiler has put into the executable.
fn origin() -> usize {
    core::ptr::from_ref(Location::caller()).addr()
}

/// What words have of a source line whose place is at this address: the lower bits of that,
/// which is aligned.
#[inline]
pub(super) fn mark_at(address: usize) -> u64 {
    (address as u64 >> (ALIGNED - SITE_AT)) & MARK
}

/// What words have of a source line. 0 if there is none, or it is so far away from ours that the
/// lower bits say nothing.
pub(super) fn mark_of(site: Option<Site>) -> u64 {
    let address = site.map_or(0, |site| core::ptr::from_ref(site).addr());
    let mark = mark_at(address);
    // The last one is that of no access.
    if mark != MARK && address_of(mark) == address {
        mark
    } else {
        0
    }
}

/// The address with these bits that is next to ours.
fn address_of(mark: u64) -> usize {
    const UNUSED: u32 = u64::BITS - ALIGNED - SITE_BITS;
    let bits = (mark as usize) << (ALIGNED - SITE_AT);
    let distance = (bits.wrapping_sub(origin()) << UNUSED) as isize >> UNUSED;
    origin().wrapping_add_signed(distance)
}

fn site_of(mark: u64) -> Option<Site> {
    if mark == 0 {
        return None;
    }
    // SAFETY: `mark_of` made it of a place, which is there for ever.
    Some(unsafe { &*(address_of(mark) as *const Location<'static>) })
}

/// What is known of the accesses to one granule: each of them was to the same bytes as the one
/// before, and came after it by what orders tasks. So who knows of the last one knows of all.
#[derive(Clone, Copy, Debug)]
pub(super) struct Cell {
    /// The last access; or what points to the record, where there is more to know.
    pub(super) last: Word,
    /// The last write. With a record: the last read, if no write came after it.
    pub(super) write: Word,
}

impl Cell {
    pub(super) const NONE: Self = Self {
        last: Word::NONE,
        write: Word::NONE,
    };

    /// Whether nothing was accessed in the execution of this `first` epoch.
    #[inline]
    pub(super) fn is_new(&self, first: Epoch) -> bool {
        self.last.epoch() < first
    }

    /// The last write in the execution of this `first` epoch, and the last read since then, of
    /// a cell without a record. Who conflicts with a read of the write's own epoch conflicts
    /// with the write, so that is left out.
    pub(super) fn write_and_read(&self, first: Epoch) -> (Word, Word) {
        if self.is_new(first) {
            (Word::NONE, Word::NONE)
        } else if self.write.is_nothing() {
            (Word::NONE, self.last)
        } else if self.write.epoch() == self.last.epoch() {
            (self.write, Word::NONE)
        } else {
            (self.write, self.last)
        }
    }

    /// Notes an access that comes after all that was before.
    #[inline]
    pub(super) fn note(&mut self, word: Word, is_write: bool, first: Epoch) {
        if is_write {
            self.write = word;
        } else if self.is_new(first) {
            self.write = word.nothing();
        }
        self.last = word;
    }
}

struct Page {
    /// The number of the page; 0 where there is none.
    number: usize,
    cells: *mut Cell,
    /// The first epoch of the execution that last accessed it.
    touched: Epoch,
}

/// The cells of all pages that were accessed.
pub(super) struct Shadow {
    /// A hash table with a power of two of places.
    pages: EngineVec<Page>,
    count: usize,
}

impl Shadow {
    pub(super) const fn new() -> Self {
        Self {
            pages: engine_vec(),
            count: 0,
        }
    }

    /// A new execution begins; `forgets` what all earlier ones left.
    pub(super) fn begin(&mut self, forgets: bool) {
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
        let number = address / PAGE;
        let mut at = self.place(number);
        if self.pages[at].number != number {
            at = self.add(number, at)?;
        }
        let page = &mut self.pages[at];
        page.touched = first;
        // SAFETY: a page has as many cells as granules.
        Some(unsafe { &mut *page.cells.add(address % PAGE / GRANULE) })
    }

    /// The cells of a range that the execution of this `first` epoch may have accessed.
    pub(super) fn touched(
        &mut self,
        low: usize,
        high: usize,
        first: Epoch,
        mut each: impl FnMut(&mut Cell),
    ) {
        let mut address = low & !(GRANULE - 1);
        while address < high {
            let number = address / PAGE;
            let end = high.min((number + 1) * PAGE);
            let at = self.place(number);
            let page = &self.pages[at];
            if page.number == number && page.touched == first {
                for granule in (address..end).step_by(GRANULE) {
                    // SAFETY: as in `cell`.
                    each(unsafe { &mut *page.cells.add(granule % PAGE / GRANULE) });
                }
            }
            address = (number + 1) * PAGE;
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
            touched: 0,
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_know_places_that_are_not_too_far_away() {
        let site = Location::caller();
        assert_eq!(
            site_of(mark_of(Some(site))).map(Location::line),
            Some(site.line())
        );
        assert_eq!(mark_of(None), 0);
        let far = 1 << (SITE_BITS + ALIGNED - 1);
        for (distance, is_near) in [
            (far - 8, true),
            (far, false),
            (-far, true),
            (-far - 8, false),
        ] {
            let address = origin().wrapping_add_signed(distance);
            let mark = mark_at(address);
            assert_eq!(address_of(mark) == address, is_near, "{distance}");
        }
        assert_eq!(mark_at(origin()) & !MARK, 0);
    }
}
