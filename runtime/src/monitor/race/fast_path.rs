//! Fast path: accesses that need no check are recorded in the user's code, without a call of the
//! monitor.
//!
//! The fast path must know three things: the granule's cell, that accesses at this source line are
//! no events, and which epochs happened before the access. For each of these there is a small
//! table, or a range, which answers the common case at once. In other cases the monitor is called,
//! with the same result. So the contents of the tables, which also depend on earlier executions,
//! change no verdict.
//!
//! Of several equal accesses of a task in one epoch, only the first is recorded: an access of
//! another task that conflicts with a later one conflicts with the first one, too.

use super::clock::{Epoch, OLD};
use super::lines::{MARK, mark_at, mark_of};
use super::shadow::{BORROW, Cell, EPOCH_AT, Extent, GRANULE, PAGE, Word};
use super::stacks::OwnStack;
use crate::execution::Site;

/// The number of slots for pages: a power of two, and the number of bits of `stack_pages`.
const PAGES: usize = u128::BITS as usize;
/// The number of slots for lines: a power of two.
const LINES: usize = 128;

/// The tables and ranges of the fast path.
pub(super) struct FastPath {
    /// The first epoch of the range of epochs that cannot race with the running task, shifted to
    /// the position of an epoch in a word.
    low: u64,
    /// The number of epochs in the range that begins at `low`, multiplied by the difference between
    /// consecutive epochs in words. 0 if the fast path must record no access.
    span: u64,
    /// The number of the epochs of earlier executions, multiplied by the difference between
    /// consecutive epochs in words.
    old_span: u64,
    /// The epoch of the running task, shifted to the position of an epoch in a word.
    own: u64,
    /// The addresses of pages of the program that were accessed in this execution.
    pages: [usize; PAGES],
    /// The cells of each page of `pages`.
    cells: [*mut Cell; PAGES],
    /// A bit for each slot of `pages`, set if the page belongs to the stack of the running task.
    /// Such pages are removed when another task runs, because frames on them may then be dead.
    stack_pages: u128,
    /// The addresses of source lines whose accesses are watched but are no events.
    lines: [usize; LINES],
    /// Whether the words of cells can represent all source lines. If not, the fast path records no
    /// access.
    pub(super) has_all_lines: bool,
    pub(super) stack: OwnStack,
}

/// The tables of a thread whose accesses are not watched.
pub(super) static NONE: FastPath = FastPath {
    stack: OwnStack::UNWATCHED,
    ..FastPath::new()
};

/// The tables of a thread whose accesses are counted: no access is settled, so that each one calls
/// the runtime, which then asks the monitor's tables.
pub(super) static COUNTING: FastPath = FastPath::new();

// SAFETY: threads share only `NONE` and `COUNTING`, which have no cells. Other tables belong to the
// monitor, which only one thread at a time uses.
unsafe impl Sync for FastPath {}

impl FastPath {
    /// Empty tables: every access calls the monitor.
    pub(super) const fn new() -> Self {
        Self {
            low: 0,
            span: 0,
            old_span: 0,
            own: NO_EPOCH,
            pages: [NO_PAGE; PAGES],
            cells: [core::ptr::null_mut(); PAGES],
            stack_pages: 0,
            lines: [0; LINES],
            has_all_lines: false,
            stack: OwnStack::NONE,
        }
    }

    /// Enables the fast path for the running task, whose epoch is `own`. The task knows all epochs
    /// from `low` to `high`. `first` is the first epoch of the execution.
    #[inline]
    pub(super) fn show(&mut self, own: Epoch, (low, high): (Epoch, Epoch), first: Epoch) {
        if !self.has_all_lines {
            return self.hide();
        }
        self.own = u64::from(own) << EPOCH_AT;
        self.low = u64::from(low) << EPOCH_AT;
        self.span = u64::from(high - low + 1) << EPOCH_AT;
        self.old_span = u64::from(first - OLD) << EPOCH_AT;
    }

    /// Makes all accesses call the monitor.
    #[inline]
    pub(super) fn hide(&mut self) {
        self.span = 0;
        self.old_span = 0;
        self.own = NO_EPOCH;
    }

    /// Records that the page of this address of the program was accessed in this execution, and
    /// that `cell` is the cell of `address`. The cell must exist until [`Self::forget_pages`] is
    /// called.
    #[inline]
    pub(super) fn add_page(&mut self, address: usize, cell: *mut Cell) {
        let place = address % PAGE;
        let at = slot_of(address);
        self.pages[at] = address - place;
        self.cells[at] = cell.wrapping_sub(place / GRANULE);
        let slot = 1 << at;
        if self.stack.contains(address) {
            self.stack_pages |= slot;
        } else {
            self.stack_pages &= !slot;
        }
    }

    #[inline]
    pub(super) fn forget_pages(&mut self) {
        self.pages = [NO_PAGE; PAGES];
        self.stack_pages = 0;
    }

    /// Removes the pages of the running task's stack, because another task runs.
    #[inline]
    pub(super) fn forget_stack_pages(&mut self) {
        let mut slots = core::mem::take(&mut self.stack_pages);
        while slots != 0 {
            self.pages[slots.trailing_zeros() as usize] = NO_PAGE;
            slots &= slots - 1;
        }
    }

    /// The cell of the granule that contains `address`. `None` if the page is not in the table.
    #[inline]
    pub(super) fn cell(&self, address: usize) -> Option<*mut Cell> {
        let at = slot_of(address);
        let place = address ^ self.pages[at];
        (place < PAGE).then(|| self.cells[at].wrapping_add(place / GRANULE))
    }

    /// The mark that represents a source line in words. `None` if the line is not in the table.
    #[inline]
    pub(super) fn mark_of(&self, site: Site) -> Option<u64> {
        let address = core::ptr::from_ref(site).addr();
        let at = address / 8 % LINES;
        (self.lines[at] == address).then(|| mark_at(address))
    }

    /// Adds a source line to the table, unless the line has no mark.
    pub(super) fn add_line(&mut self, site: Site) {
        let address = core::ptr::from_ref(site).addr();
        if mark_of(Some(site)) != mark_of(None) {
            self.lines[address / 8 % LINES] = address;
        }
    }

    pub(super) fn forget_lines(&mut self) {
        self.lines = [0; LINES];
    }

    /// Records an access of the running task if it needs no check. Returns whether the access is
    /// recorded. No check is needed if the bytes were accessed since they were last freed (then
    /// they are bytes of a block), and the task knows of the last access to them in this execution.
    /// The method may return `false` although this holds. `mark` returns the mark of the access's
    /// line, or `None` if the line's code may not be explored.
    ///
    /// # Safety
    /// The cells of the pages in the table exist, and no other code uses them meanwhile.
    #[inline(always)]
    #[expect(
        clippy::inline_always,
        reason = "it is asked before each access in the user's code, which knows length and kind"
    )]
    pub(super) unsafe fn notes(
        &self,
        address: usize,
        length: usize,
        (is_write, is_borrow): (bool, bool),
        mark: impl FnOnce() -> Option<u64>,
    ) -> bool {
        let Some((cell, extent)) = self.find(address, length) else {
            return false;
        };
        // SAFETY: the caller's promise.
        let cell = unsafe { &mut *cell };
        if is_own(cell, self.own | extent, (is_write, is_borrow)) {
            return true;
        }
        if !self.is_over(cell, extent) {
            return is_own(
                cell,
                self.own | Extent::ALL.in_word(),
                (is_write, is_borrow),
            ) || !is_write && cell.write.is_of(self.own | extent);
        }
        let Some(mark) = mark() else {
            return false;
        };
        let word = self.word(extent, mark, is_borrow);
        cell.last = word;
        if is_write {
            cell.write = word;
        }
        true
    }

    /// Records an access of the running task to all bytes of `count` consecutive granules. `cell`
    /// is the cell of the first one. Stops at the first granule in which the access needs a check.
    /// Returns the number of the granules before it. `mark` is the mark of the line. `settled` is
    /// the first epoch of the execution if the bytes are certainly live and the task knows of their
    /// allocation, otherwise `None`.
    ///
    /// # Safety
    /// The cells exist, and no other code uses them meanwhile.
    #[inline]
    pub(super) unsafe fn notes_whole(
        &self,
        cell: *mut Cell,
        count: usize,
        (is_write, is_borrow): (bool, bool),
        mark: u64,
        settled: Option<Epoch>,
    ) -> usize {
        if self.span == 0 {
            return 0;
        }
        let extent = Extent::ALL.in_word();
        let own = self.own | extent;
        let word = self.word(extent, mark, is_borrow);
        for at in 0..count {
            // SAFETY: the caller's promise.
            let cell = unsafe { &mut *cell.add(at) };
            if is_own(cell, own, (is_write, is_borrow)) {
                continue;
            }
            let is_first = settled.is_some_and(|first| cell.is_new(first));
            if !is_first && !self.is_over(cell, extent) {
                return at;
            }
            cell.note(word, is_write);
        }
        count
    }

    /// Whether the running task made the same access in this `epoch`, and no other access to the
    /// bytes has followed. `epoch` is shifted to the position of an epoch in a word.
    ///
    /// # Safety
    /// As [`Self::notes`].
    #[inline]
    pub(super) unsafe fn is_repeated(
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
        is_own(unsafe { &*cell }, epoch | extent, (is_write, false))
    }

    /// The cell of the granule that contains these bytes, and the extent of the bytes. `None` if
    /// the page is not in the table, or if the bytes may not be in one granule.
    #[inline(always)]
    #[expect(clippy::inline_always, reason = "as for `Self::notes`")]
    fn find(&self, address: usize, length: usize) -> Option<(*mut Cell, u64)> {
        let at = slot_of(address);
        // The offset in the page, if the page is the right one and the bytes are aligned.
        let place = address ^ self.pages[at];
        if !(1..=GRANULE).contains(&length) || place & !(PAGE - length) != 0 {
            return None;
        }
        let cell = self.cells[at].wrapping_add(place / GRANULE);
        Some((cell, Extent::new(place, length).in_word()))
    }

    /// Whether the last access to the granule was to the bytes of `extent`, and cannot race with
    /// the running task: either the task knows of the last access, or this access belongs to an
    /// earlier execution.
    #[inline(always)]
    #[expect(clippy::inline_always, reason = "as for `Self::notes`")]
    fn is_over(&self, cell: &Cell, extent: u64) -> bool {
        cell.last.from(self.low | extent) < self.span
            || cell.last.from(FIRST_WORD | extent) < self.old_span
    }

    #[inline]
    fn word(&self, extent: u64, mark: u64, is_borrow: bool) -> Word {
        let borrow = if is_borrow { BORROW } else { 0 };
        Word::of(self.own | extent | mark | borrow)
    }
}

/// Whether the last access (for a write, also the last write) was made in the epoch and to the
/// bytes of `upper`, the upper part of a word. A last access that is a borrow counts only if the
/// new access is a borrow, too.
#[inline(always)]
#[expect(clippy::inline_always, reason = "as for `FastPath::notes`")]
fn is_own(cell: &Cell, upper: u64, (is_write, is_borrow): (bool, bool)) -> bool {
    let others = MARK | if is_borrow { BORROW } else { 0 };
    let is_own = |word: Word| word.is_within(upper, others);
    is_own(cell.last) && (!is_write || is_own(cell.write))
}

/// The slot of an address's page in the tables. It is a hash of the page's number: the stacks of
/// tasks are often a power of two apart, and would otherwise share their slots.
#[inline(always)]
fn slot_of(address: usize) -> usize {
    const FACTOR: usize = 0x9E37_79B9_7F4A_7C15;
    (address / PAGE).wrapping_mul(FACTOR) >> (usize::BITS - PAGES.trailing_zeros())
}

/// The bits of a word for the epoch [`OLD`], which precedes all other epochs.
const FIRST_WORD: u64 = (OLD as u64) << EPOCH_AT;

/// The address in an empty slot of `pages`. No program has memory in the page of this address.
const NO_PAGE: usize = usize::MAX;

/// Stands for a missing epoch. It has the position of an epoch in a word, and differs from the
/// epochs of all words.
const NO_EPOCH: u64 = (Epoch::MAX as u64) << EPOCH_AT;
