//! Fast path: accesses that need no check are recorded in the user's code, without a call of the
//! monitor.
//!
//! The fast path needs to know the granule's cell, that the accesses of this source line are
//! nothing but accesses, and which epochs happened before. For each of these there is a small
//! table, or a range, which answers the common case at once. In other cases the monitor is called,
//! with the same result. The contents of the tables, which also depend on earlier executions,
//! therefore change no verdict.

use super::clock::Epoch;
use super::lines::{mark_at, mark_of};
use super::shadow::{BORROW, Cell, EPOCH_AT, Extent, GRANULE, PAGE, Word};
use super::stacks::OwnStack;
use crate::execution::Site;

/// A power of two.
const PAGES: usize = 64;
/// A power of two.
const LINES: usize = 128;

/// The tables and ranges of the fast path.
pub(super) struct InlineCheck {
    /// The first of a range of epochs that cannot race with the running task, in its position in a
    /// word.
    low: u64,
    /// The number of these epochs, times the distance of two in words; 0 if no access may be
    /// recorded here.
    span: u64,
    /// The epoch of the running task, as in a word.
    own: u64,
    /// The addresses of pages of the program that were accessed in this execution.
    pages: [usize; PAGES],
    /// The cells of each of these pages.
    cells: [*mut Cell; PAGES],
    /// The addresses of source lines whose accesses are watched, and are no events.
    lines: [usize; LINES],
    /// Whether words have room for all lines. If not, no access is recorded here.
    pub(super) has_all_lines: bool,
    pub(super) stack: OwnStack,
}

/// Empty tables: every access calls the monitor.
pub(super) static NONE: InlineCheck = InlineCheck::new();

// SAFETY: the one that threads share has no cells; the others belong to the monitor, which only one
// thread at a time uses.
unsafe impl Sync for InlineCheck {}

impl InlineCheck {
    pub(super) const fn new() -> Self {
        Self {
            low: 0,
            span: 0,
            own: NO_EPOCH,
            pages: [NO_PAGE; PAGES],
            cells: [core::ptr::null_mut(); PAGES],
            lines: [0; LINES],
            has_all_lines: false,
            stack: OwnStack::NONE,
        }
    }

    /// Sets the epoch of the running task to `own`, and the range of epochs from `low` to `high`,
    /// which it knows or which belong to earlier executions.
    #[inline]
    pub(super) fn show(&mut self, own: Epoch, (low, high): (Epoch, Epoch)) {
        if !self.has_all_lines {
            return self.hide();
        }
        self.own = u64::from(own) << EPOCH_AT;
        self.low = u64::from(low) << EPOCH_AT;
        self.span = u64::from(high - low + 1) << EPOCH_AT;
    }

    /// Makes all accesses call the monitor.
    #[inline]
    pub(super) fn hide(&mut self) {
        self.span = 0;
        self.own = NO_EPOCH;
    }

    /// Records that the page of this address of the program was accessed in this execution, and
    /// that `cell` is the address's cell. The cell stays there until [`Self::forget_pages`].
    #[inline]
    pub(super) fn add_page(&mut self, address: usize, cell: *mut Cell) {
        let place = address % PAGE;
        let at = address / PAGE % PAGES;
        self.pages[at] = address - place;
        self.cells[at] = cell.wrapping_sub(place / GRANULE);
    }

    #[inline]
    pub(super) fn forget_pages(&mut self) {
        self.pages = [NO_PAGE; PAGES];
    }

    /// The cell of a granule of a page that was added.
    #[inline]
    pub(super) fn cell(&self, address: usize) -> Option<*mut Cell> {
        let at = address / PAGE % PAGES;
        let place = address ^ self.pages[at];
        (place < PAGE).then(|| self.cells[at].wrapping_add(place / GRANULE))
    }

    /// The mark in words of a line that was added.
    #[inline]
    pub(super) fn mark_of(&self, site: Site) -> Option<u64> {
        let address = core::ptr::from_ref(site).addr();
        let at = address / 8 % LINES;
        (self.lines[at] == address).then(|| mark_at(address))
    }

    /// Adds a line, unless words have no room for it. Returns its mark.
    pub(super) fn add_line(&mut self, site: Site) -> u64 {
        let address = core::ptr::from_ref(site).addr();
        let mark = mark_of(Some(site));
        if mark != mark_of(None) {
            self.lines[address / 8 % LINES] = address;
        }
        mark
    }

    pub(super) fn forget_lines(&mut self) {
        self.lines = [0; LINES];
    }

    /// Records an access of the running task, if it needs no check: the bytes were accessed since
    /// they were last freed, so they are bytes of a block, and the last access to them in this
    /// execution is known to the task. The method may return false although this holds. The caller
    /// may know that the line's code is explored.
    ///
    /// # Safety
    /// The cells of the pages in the table exist, and no other code uses them meanwhile.
    #[inline(always)]
    #[expect(
        clippy::inline_always,
        reason = "it is asked before each access in the user's code, which knows length and line"
    )]
    pub(super) unsafe fn notes(
        &self,
        address: usize,
        length: usize,
        (is_write, is_borrow): (bool, bool),
        (site, is_explored): (Site, bool),
    ) -> bool {
        let Some((cell, extent)) = self.find(address, length) else {
            return false;
        };
        // SAFETY: the caller's promise.
        let cell = unsafe { &mut *cell };
        if cell.last.from(self.low | extent) >= self.span {
            return !is_write && cell.write.is_of(self.own | extent);
        }
        let mark = if is_explored {
            mark_at(core::ptr::from_ref(site).addr())
        } else if let Some(mark) = self.mark_of(site) {
            mark
        } else {
            return false;
        };
        let word = self.word(extent, mark, is_borrow);
        cell.last = word;
        if is_write {
            cell.write = word;
        }
        true
    }

    /// Whether the running task made an access of this kind to these bytes in its current epoch, and
    /// no other access has followed.
    ///
    /// # Safety
    /// As [`Self::notes`].
    #[inline]
    pub(super) unsafe fn is_repeated(&self, address: usize, length: usize, is_write: bool) -> bool {
        // SAFETY: the caller's promise.
        unsafe { self.is_repeated_in(self.own, address, length, is_write) }
    }

    /// As [`Self::is_repeated`], in this `epoch`, which is in its position in a word.
    ///
    /// # Safety
    /// As [`Self::notes`].
    #[inline]
    pub(super) unsafe fn is_repeated_in(
        &self,
        epoch: u64,
        address: usize,
        length: usize,
        is_write: bool,
    ) -> bool {
        let Some((cell, extent)) = self.find(address, length) else {
            return false;
        };
        // SAFETY: the caller's promise.
        let cell = unsafe { &*cell };
        let is_own = |word: Word| word.is_of(epoch | extent) && !word.is_borrow();
        is_own(cell.last) && (!is_write || is_own(cell.write))
    }

    /// As [`Self::notes`], for bytes that were not accessed before in the execution with this
    /// `first` epoch, if they are live.
    ///
    /// # Safety
    /// As [`Self::notes`].
    #[inline]
    pub(super) unsafe fn notes_first(
        &self,
        address: usize,
        length: usize,
        (is_write, is_borrow): (bool, bool),
        site: Site,
        first: Epoch,
        is_live: impl FnOnce() -> bool,
    ) -> bool {
        let (Some((cell, extent)), Some(mark)) = (self.find(address, length), self.mark_of(site))
        else {
            return false;
        };
        // SAFETY: the caller's promise.
        let cell = unsafe { &mut *cell };
        let is_noted =
            self.span != 0 && cell.is_new(first) && (cell.is_evidence(extent) || is_live());
        if is_noted {
            cell.note(self.word(extent, mark, is_borrow), is_write);
        }
        is_noted
    }

    /// The cell of bytes in one granule of a page that was added, and the extent of these bytes.
    #[inline(always)]
    #[expect(clippy::inline_always, reason = "as for `Self::notes`")]
    fn find(&self, address: usize, length: usize) -> Option<(*mut Cell, u64)> {
        let at = address / PAGE % PAGES;
        // The offset in the page, if the page is the right one and the bytes are aligned.
        let place = address ^ self.pages[at];
        if !(1..=GRANULE).contains(&length) || place & !(PAGE - length) != 0 {
            return None;
        }
        let cell = self.cells[at].wrapping_add(place / GRANULE);
        Some((cell, Extent::new(place, length).in_word()))
    }

    #[inline]
    fn word(&self, extent: u64, mark: u64, is_borrow: bool) -> Word {
        let borrow = if is_borrow { BORROW } else { 0 };
        Word::of(self.own | extent | mark | borrow)
    }
}

/// No address differs from it only in its last bits.
const NO_PAGE: usize = usize::MAX;

/// The epoch of no word.
const NO_EPOCH: u64 = (Epoch::MAX as u64) << EPOCH_AT;
