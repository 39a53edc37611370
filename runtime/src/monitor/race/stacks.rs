//! The stacks of tasks. The accesses of a task to its own stack are not recorded until another task
//! has accessed the same page.
//!
//! Most accesses of unoptimised code are accesses to the task's own stack. When a task first
//! accesses a page of another task's stack, earlier accesses of the owner are missing, so that the
//! execution must be repeated.
//!
//! A page is identified by the kind of its stack, and by its distance from the page with the
//! stack's end: both are the same in each execution. The first task's stack has its own kind,
//! because other tasks often access its locals. Once a page is shared, the accesses to this page
//! are recorded for all stacks of its kind. The rest of the last page has other data of the same
//! thread. It counts as a part of the stack, because the shadow memory and its tables distinguish
//! only whole pages.

use super::Races;
use super::shadow::PAGE;
use crate::base::memory::{EngineVec, engine_vec};
use crate::execution::TaskId;

/// The number of pages of each stack that have a bit in `shared`, counted from its highest
/// address. Accesses to lower pages are always recorded.
const PAGES: usize = 4096;
/// The maximum length in bytes of accesses for which [`OwnStack::is_quickly_private`] may be
/// called.
pub(super) const SHORT: usize = 16;

/// The stack of the running task, and the pages of stacks that tasks share.
pub(super) struct OwnStack {
    /// The address after the stack.
    end: usize,
    /// The first byte of the stack whose accesses may remain unrecorded.
    low: usize,
    /// The number of bytes from `low` on whose accesses may remain unrecorded.
    size: usize,
    /// The size of a part from `low` on. An access of at most [`SHORT`] bytes that begins in this
    /// part need not be recorded, because tasks share no page up to the end of such an access.
    quick_size: usize,
    kind: Kind,
    /// For each kind of stack, a bit for each page: whether tasks share the page. The index of the
    /// bit is the distance of the page from the last page of its stack.
    shared: [[u64; PAGES / 64]; 2],
}

/// The kind of a stack.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Kind {
    OfFirstTask,
    OfOthers,
}

impl Kind {
    fn of(is_first: bool) -> Self {
        if is_first {
            Self::OfFirstTask
        } else {
            Self::OfOthers
        }
    }
}

impl OwnStack {
    pub(super) const NONE: Self = Self {
        end: 0,
        low: 0,
        size: 0,
        quick_size: 0,
        kind: Kind::OfFirstTask,
        shared: [[0; PAGES / 64]; 2],
    };

    /// As [`Self::NONE`], for a thread whose accesses are not watched.
    pub(super) const UNWATCHED: Self = Self {
        quick_size: usize::MAX,
        ..Self::NONE
    };

    /// Whether an access of at most [`SHORT`] bytes at `address` need not be recorded. May return
    /// `false` although this is so.
    #[inline(always)]
    #[expect(
        clippy::inline_always,
        reason = "it is asked before each access in the user's code"
    )]
    pub(super) fn is_quickly_private(&self, address: usize) -> bool {
        address.wrapping_sub(self.low) < self.quick_size
    }

    /// As [`Self::is_quickly_private`], for an access of any length.
    #[inline]
    pub(super) fn are_quickly_private(&self, address: usize, length: usize) -> bool {
        let at = address.wrapping_sub(self.low);
        at < self.quick_size && length <= self.quick_size - at
    }

    /// Whether accesses to this address need not be recorded.
    #[inline]
    pub(super) fn is_private(&self, address: usize) -> bool {
        if !self.contains(address) {
            return false;
        }
        let page = page_below(self.end, address);
        self.shared[self.kind as usize][page / 64] & (1 << (page % 64)) == 0
    }

    /// Whether accesses to all of these bytes need not be recorded.
    #[inline]
    pub(super) fn are_private(&self, address: usize, length: usize) -> bool {
        self.is_private(address)
            && (length <= PAGE - address % PAGE || self.are_rest_private(address, length))
    }

    #[inline(never)]
    fn are_rest_private(&self, address: usize, length: usize) -> bool {
        let last = address.saturating_add(length - 1);
        (address..last).step_by(PAGE).all(|at| self.is_private(at)) && self.is_private(last)
    }

    #[inline]
    pub(super) fn contains(&self, address: usize) -> bool {
        address.wrapping_sub(self.low) < self.size
    }

    /// The address after the stack.
    #[inline]
    pub(super) fn end(&self) -> usize {
        self.end
    }

    fn set(&mut self, (low, end): (usize, usize), kind: Kind) {
        let top = end.next_multiple_of(PAGE);
        self.end = end;
        self.kind = kind;
        self.low = low.max(top.saturating_sub(PAGES * PAGE));
        self.size = top - self.low;
        self.measure();
    }

    /// Sets `quick_size`: the part of the stack below all shared pages.
    fn measure(&mut self) {
        let shared = &self.shared[self.kind as usize];
        let deepest = shared.iter().rposition(|&pages| pages != 0);
        let count = deepest.map_or(0, |at| (at + 1) * 64 - shared[at].leading_zeros() as usize);
        self.quick_size = self.size.saturating_sub(count * PAGE + SHORT - 1);
    }

    /// Records that tasks share a page of the stacks of this kind. Returns whether this is new.
    fn share(&mut self, kind: Kind, page: usize) -> bool {
        let Some(pages) = self.shared[kind as usize].get_mut(page / 64) else {
            return false;
        };
        let bit = 1 << (page % 64);
        let is_new = *pages & bit == 0;
        *pages |= bit;
        if is_new {
            self.measure();
        }
        is_new
    }
}

/// A stack that tasks use, one after the other.
struct Stack {
    low: usize,
    /// The end of the stack's last page.
    end: usize,
    /// The bounds of the memory that other tasks have accessed while the last task used the stack.
    used_by_others: (usize, usize),
}

/// The bounds of no memory.
const NOTHING: (usize, usize) = (usize::MAX, 0);

/// The stacks of all tasks of an execution.
pub(super) struct Stacks {
    /// Whether the program is instrumented. If not, few accesses to stacks are reported, and all
    /// of them are recorded.
    pub(super) are_special: bool,
    /// The bounds of each task's stack.
    of_tasks: EngineVec<(usize, usize)>,
    /// The stacks in `of_tasks`, sorted, and without duplicates: several tasks may use the same
    /// stack, one after the other.
    sorted: EngineVec<Stack>,
    /// The lowest and the highest address in `sorted`.
    bounds: (usize, usize),
    /// A task accessed a page of another task's stack, and earlier accesses of the owner are
    /// missing.
    misses_accesses: bool,
}

impl Stacks {
    pub(super) const fn new() -> Self {
        Self {
            are_special: false,
            of_tasks: engine_vec(),
            sorted: engine_vec(),
            bounds: NOTHING,
            misses_accesses: false,
        }
    }

    pub(super) fn begin(&mut self) {
        self.of_tasks.clear();
        self.sorted.clear();
        self.bounds = NOTHING;
        self.misses_accesses = false;
    }

    fn add(&mut self, (low, end): (usize, usize)) {
        self.of_tasks.push((low, end));
        let end = end.next_multiple_of(PAGE);
        match self.find(low) {
            Ok(at) => self.sorted[at].used_by_others = NOTHING,
            Err(at) => {
                let stack = Stack {
                    low,
                    end,
                    used_by_others: NOTHING,
                };
                self.sorted.insert(at, stack);
            }
        }
        self.bounds = (self.bounds.0.min(low), self.bounds.1.max(end));
    }

    /// The index of the stack with this lowest address, or the index at which to insert it.
    fn find(&self, low: usize) -> Result<usize, usize> {
        self.sorted.binary_search_by_key(&low, |stack| stack.low)
    }

    /// The stack that contains an address, its kind, and the index of the address's page in it (see
    /// [`page_below`]). `None` if no stack contains the address.
    fn page(&mut self, address: usize) -> Option<(&mut Stack, Kind, usize)> {
        let after = self.sorted.partition_point(|stack| stack.low <= address);
        let stack = self.sorted.get_mut(after.checked_sub(1)?)?;
        let is_first = self.of_tasks.first().is_some_and(|it| it.0 == stack.low);
        if address >= stack.end {
            return None;
        }
        let page = page_below(stack.end, address);
        Some((stack, Kind::of(is_first), page))
    }
}

/// The index of the page of an address, counted down from the page with the last byte of its
/// stack. A stack may end within a page.
#[inline]
fn page_below(end: usize, address: usize) -> usize {
    (end - 1) / PAGE - address / PAGE
}

impl Races {
    /// Records the bounds of the stack of a new task. Tasks must be added in order.
    pub(crate) fn add_stack(&mut self, task: TaskId, stack: (usize, usize)) {
        if !self.stacks.are_special {
            return;
        }
        self.stacks.add(stack);
        if task == TaskId(0) {
            self.show_stack(task);
        }
    }

    /// Records that `task` runs now.
    pub(super) fn show_stack(&mut self, task: TaskId) {
        if let Some(&stack) = self.stacks.of_tasks.get(task.0 as usize) {
            let kind = Kind::of(task == TaskId(0));
            self.fast_path.stack.set(stack, kind);
            self.fast_path.forget_stack_pages();
        }
    }

    /// Records that the running task accesses memory from `address` to `end`, all in one page. If
    /// the page belongs to another task's stack, the tasks share the page from now on. Must be
    /// called for each recorded access to another task's stack, and at least for the first recorded
    /// access to each other page.
    #[inline]
    pub(super) fn note_page(&mut self, address: usize, end: usize) {
        let (low, high) = self.stacks.bounds;
        if (low..high).contains(&address) {
            self.note_stack(address, end);
        }
    }

    #[inline(never)]
    fn note_stack(&mut self, address: usize, end: usize) {
        let own = &mut self.fast_path.stack;
        if let Some((stack, kind, page)) = self.stacks.page(address)
            && !own.is_private(address)
        {
            if !own.contains(address) {
                let (first, last) = stack.used_by_others;
                stack.used_by_others = (first.min(address), last.max(end));
            }
            self.stacks.misses_accesses |= own.share(kind, page);
        }
    }

    /// Whether the address may be on the stack of a task that is not running. The frame there may
    /// be dead.
    #[inline]
    pub(super) fn is_on_other_stack(&self, address: usize) -> bool {
        let (low, high) = self.stacks.bounds;
        (low..high).contains(&address) && !self.fast_path.stack.contains(address)
    }

    /// The part of the stack from `low` to `high` that other tasks may have accessed while its last
    /// task used it. If the program is not instrumented, this is the whole stack.
    pub(super) fn used_by_others(&self, low: usize, high: usize) -> (usize, usize) {
        match self.stacks.find(low) {
            Ok(at) => {
                let (first, end) = self.stacks.sorted[at].used_by_others;
                (first, end.min(high))
            }
            Err(_) => (low, high),
        }
    }

    /// Whether accesses of the owner of a stack are missing, so that the execution must be
    /// repeated.
    pub(crate) fn misses_accesses(&self) -> bool {
        self.stacks.misses_accesses
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::monitor::Level;
    use crate::monitor::race::What;

    const MAIN: TaskId = TaskId(0);
    const OTHER: TaskId = TaskId(1);
    /// The stacks of the two tasks. They are not adjacent.
    const STACKS: [(usize, usize); 2] = [(0x10_0000, 0x20_0000), (0x40_0000, 0x50_0000)];

    /// Begins an execution with two tasks, of which the first one runs.
    fn begin(races: &mut Races) {
        races.renew(true);
        races.add_stack(MAIN, STACKS[0]);
        assert!(races.add_task(MAIN, None));
        races.add_stack(OTHER, STACKS[1]);
        races.spawned(MAIN, OTHER, None);
    }

    fn races() -> Races {
        let mut races = Races::new();
        races.turn_on(false);
        races.stacks.are_special = true;
        begin(&mut races);
        races
    }

    /// Makes `task` write to memory, as the hooks of instrumented code report it.
    fn write(races: &mut Races, task: TaskId, address: usize) {
        fill(races, task, address, 8);
    }

    fn fill(races: &mut Races, task: TaskId, address: usize, length: usize) {
        races.show_stack(task);
        if !races.fast_path.stack.are_private(address, length) {
            races.access(task, address, length, What::Write, None);
        }
    }

    fn is_racy(races: &Races) -> bool {
        races.found(Level::Deny).next().is_some()
    }

    #[test]
    fn a_race_on_a_stack_is_found_when_the_execution_is_repeated() {
        let mut races = races();
        let local = STACKS[0].1 - 0x1238;
        write(&mut races, MAIN, local);
        write(&mut races, OTHER, local);
        assert!(races.misses_accesses() && !is_racy(&races));
        begin(&mut races);
        assert!(!races.misses_accesses());
        write(&mut races, MAIN, local);
        write(&mut races, OTHER, local);
        assert!(!races.misses_accesses() && is_racy(&races));
    }

    #[test]
    fn a_page_is_shared_at_the_same_distance_in_each_stack_of_its_kind() {
        const THIRD: (usize, usize) = (0x60_0000, 0x70_0000);
        let mut races = races();
        write(&mut races, MAIN, STACKS[1].1 - 0x1238);
        let stack = &mut races.fast_path.stack;
        assert!(stack.is_private(STACKS[0].1 - 0x1238));
        for (low, end) in [STACKS[1], THIRD] {
            stack.set((low, end), Kind::OfOthers);
            assert!(!stack.is_private(end - 0x1001));
            assert!(!stack.is_private(end - 0x2000));
            assert!(stack.is_private(end - 0x1000));
            assert!(stack.is_private(end - 0x2001));
        }
    }

    #[test]
    fn only_a_part_of_the_own_stack_is_private() {
        let mut races = races();
        let (low, end) = STACKS[0];
        for (address, is_private) in [
            (low, true),
            (end - 1, true),
            (end, false),
            (low - 1, false),
            (STACKS[1].0, false),
            (0, false),
            (usize::MAX, false),
        ] {
            let stack = &races.fast_path.stack;
            assert_eq!(stack.is_private(address), is_private, "{address:#x}");
        }
        let deep = (PAGES + 1) * PAGE;
        races
            .fast_path
            .stack
            .set((0x1000_0000, 0x1000_0000 + deep), Kind::OfOthers);
        let stack = &races.fast_path.stack;
        assert!(!stack.is_private(0x1000_0000), "it is too far away");
        assert!(stack.is_private(0x1000_0000 + PAGE));
    }

    #[test]
    fn the_quick_check_is_true_below_all_shared_pages() {
        let mut races = races();
        let (low, end) = STACKS[0];
        let is_quick = |races: &Races, address| races.fast_path.stack.is_quickly_private(address);
        assert!(is_quick(&races, low) && is_quick(&races, end - SHORT));
        assert!(!is_quick(&races, end - SHORT + 1) && !is_quick(&races, low - 1));
        for (page, deepest) in [(3, 3), (70, 70), (2, 70)] {
            write(&mut races, OTHER, end - page * PAGE);
            races.show_stack(MAIN);
            let end_of_private = end - deepest * PAGE;
            let start = end_of_private - 2 * PAGE;
            let stack = &races.fast_path.stack;
            assert!(stack.are_quickly_private(start, 2 * PAGE - SHORT + 1));
            assert!(!stack.are_quickly_private(start, 2 * PAGE + 1));
            assert!(is_quick(&races, end_of_private - SHORT));
            assert!(!is_quick(&races, end_of_private - SHORT + 1));
        }
        races.show_stack(OTHER);
        assert!(is_quick(&races, STACKS[1].1 - SHORT), "of another kind");
        assert!(OwnStack::UNWATCHED.is_quickly_private(0x1234));
        assert!(!OwnStack::NONE.is_quickly_private(0x1234));
    }

    #[test]
    fn a_range_is_recorded_if_any_of_its_pages_is_shared() {
        let mut races = races();
        let shared = STACKS[0].1 - 2 * PAGE;
        write(&mut races, OTHER, shared);
        begin(&mut races);
        let stack = &races.fast_path.stack;
        assert!(stack.are_private(shared - 2 * PAGE, 2 * PAGE));
        assert!(!stack.are_private(shared - 2 * PAGE, 2 * PAGE + 1));
        assert!(!stack.are_private(shared - PAGE, 3 * PAGE), "between");
        assert!(!stack.are_private(shared + PAGE - 1, 2));
        assert!(stack.are_private(shared + PAGE, PAGE));
        fill(&mut races, MAIN, shared - 4, 8);
        write(&mut races, OTHER, shared);
        assert!(!races.misses_accesses() && is_racy(&races));
    }

    #[test]
    fn the_first_access_of_another_task_is_seen_after_a_range_of_the_owner() {
        let mut races = races();
        let private = STACKS[0].1 - PAGE;
        write(&mut races, OTHER, private - PAGE);
        begin(&mut races);
        fill(&mut races, MAIN, private - 8, 16);
        write(&mut races, MAIN, private + 64);
        write(&mut races, OTHER, private + 64);
        assert!(races.misses_accesses());
    }

    #[test]
    fn pages_of_stacks_are_pages_of_memory_wherever_the_stack_ends() {
        let mut races = races();
        let end = STACKS[0].1 - PAGE / 2;
        let begin = |races: &mut Races| {
            races.renew(true);
            races.add_stack(MAIN, (STACKS[0].0, end));
            assert!(races.add_task(MAIN, None));
            races.add_stack(OTHER, STACKS[1]);
            races.spawned(MAIN, OTHER, None);
        };
        // Both addresses are in one page. The end of the stack is one page after an address
        // between them.
        let [lower, upper] = [end - PAGE - 64, end - PAGE + 64];
        for is_repeated in [false, true] {
            begin(&mut races);
            write(&mut races, MAIN, upper);
            write(&mut races, OTHER, lower);
            write(&mut races, OTHER, upper);
            assert_eq!(races.misses_accesses(), !is_repeated);
            assert_eq!(is_racy(&races), is_repeated);
        }
        assert!(races.fast_path.stack.is_private(STACKS[1].1 - 1));
    }

    #[test]
    fn other_data_in_the_last_page_of_a_stack_does_not_hide_the_stack() {
        let mut races = Races::new();
        races.turn_on(false);
        races.stacks.are_special = true;
        races.renew(true);
        let end = STACKS[0].1 - PAGE / 2;
        races.add_stack(MAIN, (STACKS[0].0, end));
        assert!(races.add_task(MAIN, None));
        races.add_stack(OTHER, STACKS[1]);
        races.spawned(MAIN, OTHER, None);
        write(&mut races, MAIN, end + 64);
        write(&mut races, MAIN, end - 64);
        write(&mut races, OTHER, end - 64);
        assert!(races.misses_accesses());
    }

    #[test]
    fn atomics_on_the_stack_of_another_task_share_its_page() {
        use crate::execution::{How, Op};
        use crate::monitor::race::Atomic;
        use core::sync::atomic::Ordering;

        let mut races = races();
        let access = Atomic {
            op: Op::AtomicLoad,
            how: How::Load,
            order: Ordering::Relaxed,
            site: None,
        };
        races.show_stack(MAIN);
        races.atomic(MAIN, STACKS[0].1 - 0x10, 8, access);
        assert!(!races.misses_accesses());
        races.show_stack(OTHER);
        races.atomic(OTHER, STACKS[0].1 - 0x10, 8, access);
        assert!(races.misses_accesses());
    }

    #[test]
    fn each_access_to_the_stack_of_another_task_reaches_the_monitors() {
        let mut races = races();
        let local = STACKS[0].1 - 0x1238;
        write(&mut races, OTHER, local);
        begin(&mut races);
        write(&mut races, MAIN, local);
        assert!(races.fast_path.cell(local).is_some());
        races.show_stack(OTHER);
        for _ in 0..2 {
            assert!(races.fast_path.cell(local).is_none());
            assert!(races.is_on_other_stack(local));
            write(&mut races, OTHER, local);
        }
        races.show_stack(MAIN);
        assert!(!races.is_on_other_stack(local));
    }

    #[test]
    fn other_memory_is_no_reason_to_repeat_an_execution() {
        let mut races = races();
        for task in [MAIN, OTHER] {
            write(&mut races, task, 0x30_0000);
            write(&mut races, task, 0x60_0000);
        }
        assert!(!races.misses_accesses() && is_racy(&races));
    }
}
