//! Shadow memory: a cell for each eight bytes that were accessed, found by address.
//!
//! A cell has the last write and the last read, a word each: the epoch in the upper half,
//! the source line and the accessed bytes in the lower one. Epochs say which execution a
//! word is of, so that nothing needs clearing between executions. What does not fit, such
//! as reads by several tasks, is in a record that the cell points to.

use core::panic::Location;

use super::clock::Epoch;
use crate::execution::Site;
use crate::platform::memory::{EngineMemory, EngineVec, engine_vec};

/// The bytes that one cell is for.
pub(super) const GRANULE: usize = 8;
const PAGE: usize = 4096;
const CELLS: usize = PAGE / GRANULE;
/// So many pages have cells at most: 512 MB for 256 MB of the program's.
const MOST_PAGES: usize = 1 << 16;
/// So many bytes of the program, if all of their pages.
pub(crate) const MOST_MEMORY: usize = MOST_PAGES * PAGE;
const FIRST_SIZE: usize = 1 << 10;

/// Which of a granule's bytes are accessed: the first one, and how many less one.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Extent(u8);

impl Extent {
    /// `size` bytes from `address` on, which lie in one granule.
    #[inline]
    pub(crate) fn new(address: usize, size: usize) -> Self {
        Self((((size - 1) << 3) | (address % GRANULE)) as u8)
    }

    /// That of `size` bytes from `address` on, if they lie in one granule.
    #[inline]
    pub(crate) fn within(address: usize, size: usize) -> Option<Self> {
        (size <= GRANULE - address % GRANULE).then(|| Self::new(address, size))
    }

    /// A bit for each byte.
    pub(super) fn mask(self) -> u8 {
        let (start, length) = (self.0 & 7, (self.0 >> 3) + 1);
        (((1u16 << length) - 1) << start) as u8
    }
}

/// One access in a cell.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Word(u64);

/// Above the extent: whether it is a borrow, and the source line.
const BORROW: u64 = 1 << 6;
const SITE_AT: u32 = 7;
const SITE_BITS: u32 = 25;
const EXTENT: u64 = 0x3f;

impl Word {
    pub(super) const NONE: Self = Self(0);

    #[inline]
    pub(super) fn new(epoch: Epoch, extent: Extent, site: Option<Site>, is_borrow: bool) -> Self {
        let borrow = if is_borrow { BORROW } else { 0 };
        let site = u64::from(code_of(site)) << SITE_AT;
        Self(u64::from(epoch) << 32 | site | borrow | u64::from(extent.0))
    }

    /// Not an access: points to a record.
    pub(super) fn of_record(number: Epoch) -> Self {
        Self(u64::from(number) << 32)
    }

    #[inline]
    pub(super) fn epoch(self) -> Epoch {
        (self.0 >> 32) as u32
    }

    #[inline]
    pub(super) fn extent(self) -> Extent {
        Extent((self.0 & EXTENT) as u8)
    }

    pub(super) fn is_borrow(self) -> bool {
        self.0 & BORROW != 0
    }

    pub(super) fn site(self) -> Option<Site> {
        site_of((self.0 >> SITE_AT) as u32 & ((1 << SITE_BITS) - 1))
    }

    /// Whether this is an access to just these bytes in just this epoch.
    #[inline]
    fn is(self, epoch: Epoch, extent: Extent) -> bool {
        let wanted = u64::from(epoch) << 32 | u64::from(extent.0);
        (self.0 ^ wanted) & (0xffff_ffff << 32 | EXTENT) == 0
    }
}

/// Somewhere among the places that the compiler has put into the executable.
fn origin() -> usize {
    core::ptr::from_ref(Location::caller()).addr()
}

/// A source line as a number of few bits: where its place lies from ours. 0 if there
/// is none, or it is too far away.
#[inline]
fn code_of(site: Option<Site>) -> u32 {
    let Some(site) = site else { return 0 };
    let distance = core::ptr::from_ref(site).addr().wrapping_sub(origin()) as isize >> 3;
    let code = distance + (1 << (SITE_BITS - 1));
    if (1..1 << SITE_BITS).contains(&code) {
        code as u32
    } else {
        0
    }
}

fn site_of(code: u32) -> Option<Site> {
    if code == 0 {
        return None;
    }
    let distance = (code as isize - (1 << (SITE_BITS - 1))) << 3;
    let address = origin().wrapping_add_signed(distance);
    // SAFETY: `code_of` made the number of a place, which is there for ever.
    Some(unsafe { &*(address as *const Location<'static>) })
}

/// What is known of the accesses to one granule.
#[derive(Clone, Copy, Debug)]
pub(super) struct Cell {
    pub(super) write: Word,
    pub(super) read: Word,
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

    /// Whether the running epoch has accessed these bytes already, in a way that makes
    /// a further read, or write, no news. At once or not at all: no search.
    #[inline]
    pub(super) fn knows(&self, address: usize, extent: Extent, epoch: Epoch, write: bool) -> bool {
        let number = address / PAGE;
        let at = number & self.pages.len().wrapping_sub(1);
        let Some(page) = self.pages.get(at) else {
            return false;
        };
        if page.number != number {
            return false;
        }
        // SAFETY: a page has as many cells as granules.
        let cell = unsafe { &*page.cells.add(address % PAGE / GRANULE) };
        cell.write.is(epoch, extent) || (!write && cell.read.is(epoch, extent))
    }

    /// The cell of a granule of a page that was accessed before, if that is found without
    /// a search.
    #[inline]
    pub(super) fn quick(&mut self, address: usize) -> Option<&mut Cell> {
        let number = address / PAGE;
        let at = number & self.pages.len().wrapping_sub(1);
        let page = self.pages.get(at).filter(|page| page.number == number)?;
        // SAFETY: a page has as many cells as granules.
        Some(unsafe { &mut *page.cells.add(address % PAGE / GRANULE) })
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
        let none = Cell {
            write: Word::NONE,
            read: Word::NONE,
        };
        let cells = Box::into_raw_with_allocator(Box::new_in([none; CELLS], EngineMemory)).0;
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
