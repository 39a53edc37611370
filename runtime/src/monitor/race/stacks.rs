//! The stacks of tasks. The accesses of a task to its own stack are not recorded until another task
//! has accessed the same page.
//!
//! Most accesses of unoptimised code are of this kind. When a task first accesses a page of another
//! task's stack, earlier accesses of the owner are missing, so that the execution must be repeated.
//! Pages are identified by their distance from the stack's end, which is the same in each
//! execution. A page that was shared once is recorded for all tasks from then on.

use super::Races;
use super::shadow::PAGE;
use crate::base::memory::{EngineVec, engine_vec};
use crate::execution::TaskId;

/// The number of pages of each stack that are distinguished. Farther pages are always recorded.
const PAGES: usize = 4096;

/// The stack of the running task, and the pages of stacks that tasks share.
pub(super) struct OwnStack {
    /// The address after the stack.
    end: usize,
    /// The number of its bytes whose accesses may remain unrecorded.
    size: usize,
    /// A bit for each page, by its distance from the end, that tasks share.
    shared: [u64; PAGES / 64],
}

impl OwnStack {
    pub(super) const NONE: Self = Self {
        end: 0,
        size: 0,
        shared: [0; PAGES / 64],
    };

    /// Whether accesses to this address need not be recorded.
    #[inline]
    pub(super) fn is_private(&self, address: usize) -> bool {
        let distance = self.end.wrapping_sub(address).wrapping_sub(1);
        if distance >= self.size {
            return false;
        }
        let page = distance / PAGE;
        self.shared[page / 64] & (1 << (page % 64)) == 0
    }

    /// The address after the stack.
    #[inline]
    pub(super) fn end(&self) -> usize {
        self.end
    }

    fn set(&mut self, (low, end): (usize, usize)) {
        self.end = end;
        self.size = (end - low).min(PAGES * PAGE);
    }

    /// Records that tasks share a page. Returns whether this is new.
    fn share(&mut self, distance: usize) -> bool {
        let page = distance / PAGE;
        let Some(pages) = self.shared.get_mut(page / 64) else {
            return false;
        };
        let bit = 1 << (page % 64);
        let is_new = *pages & bit == 0;
        *pages |= bit;
        is_new
    }
}

/// The stacks of all tasks of an execution.
pub(super) struct Stacks {
    /// Whether the program is instrumented. Otherwise there are few accesses to stacks, and all are
    /// recorded.
    pub(super) are_special: bool,
    /// The bounds of each task's stack.
    of_tasks: EngineVec<(usize, usize)>,
    /// The same bounds, sorted and each once: tasks may use a stack one after the other.
    sorted: EngineVec<(usize, usize)>,
    /// The lowest and the highest of these bounds.
    bounds: (usize, usize),
    /// Accesses of an owner to a page that other tasks accessed are missing.
    misses_accesses: bool,
}

impl Stacks {
    pub(super) const fn new() -> Self {
        Self {
            are_special: false,
            of_tasks: engine_vec(),
            sorted: engine_vec(),
            bounds: (usize::MAX, 0),
            misses_accesses: false,
        }
    }

    pub(super) fn begin(&mut self) {
        self.of_tasks.clear();
        self.sorted.clear();
        self.bounds = (usize::MAX, 0);
        self.misses_accesses = false;
    }

    fn add(&mut self, (low, end): (usize, usize)) {
        self.of_tasks.push((low, end));
        if let Err(at) = self.sorted.binary_search(&(low, end)) {
            self.sorted.insert(at, (low, end));
        }
        self.bounds = (self.bounds.0.min(low), self.bounds.1.max(end));
    }

    /// The distance of an address from the end of the stack that contains it.
    fn distance(&self, address: usize) -> Option<usize> {
        let after = self.sorted.partition_point(|&(low, _)| low <= address);
        let &(_, end) = self.sorted.get(after.checked_sub(1)?)?;
        (address < end).then(|| end - address - 1)
    }
}

impl Races {
    /// Records the bounds of the stack of a new task, after those of the tasks before it.
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
            self.inline_check.stack.set(stack);
        }
    }

    /// Records an access of the running task to a page of which the execution has recorded no
    /// access, or perhaps none: it may be the first one to another task's stack.
    #[inline]
    pub(super) fn note_page(&mut self, address: usize) {
        let (low, high) = self.stacks.bounds;
        if (low..high).contains(&address) {
            self.note_stack(address);
        }
    }

    #[inline(never)]
    fn note_stack(&mut self, address: usize) {
        if let Some(distance) = self.stacks.distance(address)
            && !self.inline_check.stack.is_private(address)
        {
            self.stacks.misses_accesses |= self.inline_check.stack.share(distance);
        }
    }

    /// Whether accesses to the stacks of other tasks make it necessary to repeat the execution.
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
    /// The stacks of the two tasks, which lie apart.
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
        races.show_stack(task);
        if !races.inline_check.stack.is_private(address) {
            races.access(task, address, 8, What::Write, None);
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
    fn a_page_is_shared_at_the_same_distance_in_each_stack() {
        let mut races = races();
        write(&mut races, OTHER, STACKS[0].1 - 0x1238);
        races.show_stack(OTHER);
        let stack = &races.inline_check.stack;
        assert!(!stack.is_private(STACKS[1].1 - 0x1001));
        assert!(!stack.is_private(STACKS[1].1 - 0x2000));
        assert!(stack.is_private(STACKS[1].1 - 0x1000));
        assert!(stack.is_private(STACKS[1].1 - 0x2001));
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
            let stack = &races.inline_check.stack;
            assert_eq!(stack.is_private(address), is_private, "{address:#x}");
        }
        let deep = (PAGES + 1) * PAGE;
        races
            .inline_check
            .stack
            .set((0x1000_0000, 0x1000_0000 + deep));
        let stack = &races.inline_check.stack;
        assert!(!stack.is_private(0x1000_0000), "it is too far away");
        assert!(stack.is_private(0x1000_0000 + PAGE));
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
    fn other_memory_is_no_reason_to_repeat_an_execution() {
        let mut races = races();
        for task in [MAIN, OTHER] {
            write(&mut races, task, 0x30_0000);
            write(&mut races, task, 0x60_0000);
        }
        assert!(!races.misses_accesses() && is_racy(&races));
    }
}
