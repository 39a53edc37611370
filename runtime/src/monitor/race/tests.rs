//! The monitor's ways to record an access, with cases in which each may and may not be used. All of
//! them are compared with brute force on random programs.

use core::cell::Cell;
use core::panic::Location;
use core::sync::atomic::Ordering;
use std::collections::HashSet;

use super::allocated::Arena;
use super::clock::LAST;
use super::shadow::PAGE;
use super::{Atomic, Races, What};
use crate::base::rng::Rng;
use crate::execution::How;
use crate::execution::{Op, Site, TaskId};
use crate::monitor::Level;
use crate::platform::heap::Block;
use crate::platform::heap::FIRST;

/// The way in which an access was recorded.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Way {
    /// Without a call.
    Glance,
    /// As the first access in the execution.
    First,
    /// By the monitor, without a check.
    Note,
    /// With a check for races.
    Judged,
}

/// A monitor, and the running task.
#[expect(clippy::struct_excessive_bools, reason = "independent facts")]
struct Machine {
    races: Races,
    task: TaskId,
    /// No access is recorded without a call.
    is_blind: bool,
    /// The program's code was rewritten, so it is known to be explored.
    is_rewritten: bool,
    /// Free memory is accessed.
    is_free: bool,
    /// The memory consists of [`BLOCKS`], not of one block that existed before.
    has_blocks: bool,
}

/// The size of each block, in bytes.
const BLOCK: usize = 16;

thread_local! {
    /// The numbers of the live blocks from [`PLACE`] on.
    static BLOCKS: Cell<[Option<u32>; 2]> = const { Cell::new([None; 2]) };
}

/// The results of the program's heap for [`BLOCKS`].
const HEAP: Arena = Arena {
    block: |address| {
        let place = address.checked_sub(PLACE)? / BLOCK;
        let number = (*BLOCKS.get().get(place)?)?;
        Some(Block {
            start: PLACE + place * BLOCK,
            size: BLOCK,
            number,
        })
    },
    end: || PLACE,
};

impl Machine {
    /// A machine with this number of tasks, none of which knows of any other.
    fn new(tasks: u32) -> Self {
        let mut races = Races::new();
        races.turn_on(false);
        races.allocations.set_heap(Arena {
            block: |_| None,
            end: || usize::MAX,
        });
        let mut machine = Self {
            races,
            task: TaskId(0),
            is_blind: false,
            is_rewritten: false,
            is_free: false,
            has_blocks: false,
        };
        machine.begin(tasks);
        machine
    }

    /// A machine whose memory consists of blocks that are allocated while it runs.
    fn with_blocks() -> Self {
        let mut machine = Self::new(1);
        machine.races.allocations.set_heap(HEAP);
        machine.has_blocks = true;
        machine
    }

    /// Begins a new execution.
    fn begin(&mut self, tasks: u32) {
        self.races.renew(true);
        for task in 0..tasks {
            assert!(self.races.add_task(TaskId(task), None));
        }
        self.task = TaskId(0);
    }

    fn run(&mut self, task: u32) {
        self.races.switched(self.task, TaskId(task));
        self.task = TaskId(task);
    }

    /// Makes an access in the same way as the program's code and the engine.
    fn access(&mut self, address: usize, length: usize, what: What, site: Site) -> Way {
        let is_write = matches!(what, What::Write | What::BorrowMut);
        let is_borrow = matches!(what, What::Borrow | What::BorrowMut);
        let races = &mut self.races;
        if !self.has_blocks && !self.is_free {
            races.allocations.settle_all();
        }
        if self.is_blind {
            races.glance.forget_pages();
            races.glance.forget_lines();
        }
        let (bytes, kind) = ((address, length), (is_write, is_borrow));
        let line = (site, self.is_rewritten);
        // SAFETY: the cells are the monitor's own, and no other code uses it.
        if unsafe { races.glance.notes(address, length, kind, line) } {
            return Way::Glance;
        }
        if self.is_rewritten {
            races.explore(site);
        }
        if races.notes_first(bytes, kind, site) {
            return Way::First;
        }
        let mark = match races.mark_of(site) {
            Some(mark) => mark,
            None => races.add_line(site),
        };
        if races.notes(self.task, bytes, kind, mark) {
            return Way::Note;
        }
        if !self.is_free {
            races.access(self.task, address, length, what, Some(site));
        }
        Way::Judged
    }

    fn release(&mut self, object: usize) {
        let how = (Op::MutexUnlock, None);
        self.races.release(self.task, object, true, how);
    }

    fn acquire(&mut self, object: usize) {
        self.races.acquire(self.task, object, true);
    }

    fn read(&mut self) -> Way {
        self.access(PLACE, 8, What::Read, sites()[0])
    }

    fn write(&mut self) -> Way {
        self.access(PLACE, 8, What::Write, sites()[1])
    }

    fn is_racy(&self) -> bool {
        self.races.found(Level::Deny).next().is_some()
    }

    /// The descriptions of all races.
    fn words(&self) -> Vec<String> {
        let words = |found: &super::Found| String::from_utf8_lossy(found.words()).into_owned();
        self.races.found(Level::Deny).map(words).collect()
    }
}

/// An address in the range of the heap.
const PLACE: usize = FIRST + 0x10_0000;
const LOCK: usize = 0x10;

#[track_caller]
fn here() -> Site {
    Location::caller()
}

fn sites() -> [Site; 4] {
    [
        here(), // rustfmt keeps a line for each
        here(),
        here(),
        here(),
    ]
}

#[test]
fn what_a_task_did_before_is_noted_without_a_call_also_after_it_released_that() {
    let mut machine = Machine::new(1);
    assert_eq!(machine.read(), Way::Note, "the memory might be free");
    let beside = machine.access(PLACE + 8, 8, What::Read, sites()[0]);
    assert_eq!(beside, Way::First, "so might that");
    assert_eq!(machine.read(), Way::Glance);
    assert_eq!(machine.write(), Way::Note, "the line is new");
    assert_eq!(machine.write(), Way::Glance);
    machine.release(LOCK);
    assert_eq!(machine.write(), Way::Note, "the epoch is new");
    assert_eq!(machine.read(), Way::Glance);
}

#[test]
fn what_is_ordered_is_noted_without_a_call_and_what_is_not_is_judged() {
    let mut machine = Machine::new(2);
    machine.read();
    machine.write();
    machine.release(LOCK);
    machine.run(1);
    machine.acquire(LOCK);
    assert_eq!(machine.read(), Way::Note, "the epoch is new");
    assert_eq!(machine.write(), Way::Glance);
    machine.access(PLACE + 8, 8, What::Write, sites()[0]);
    machine.run(0);
    assert!(!machine.is_racy());
    assert_eq!(machine.read(), Way::Judged, "nothing was released");
    assert!(machine.is_racy());
}

#[test]
fn a_write_is_judged_after_another_tasks_read_though_the_write_before_is_its_own() {
    let mut machine = Machine::new(2);
    machine.write();
    machine.release(LOCK);
    assert_eq!(machine.write(), Way::Note);
    machine.release(LOCK);
    machine.run(1);
    machine.acquire(LOCK);
    machine.read();
    machine.run(0);
    assert!(!machine.is_racy());
    assert_eq!(machine.write(), Way::Judged);
    assert!(machine.is_racy());
}

#[test]
fn a_write_after_two_reads_of_which_one_is_known_is_judged() {
    for known in [0, 1] {
        let mut machine = Machine::new(3);
        for task in [0, 1] {
            machine.run(task);
            machine.read();
            machine.release(LOCK + task as usize);
        }
        machine.run(2);
        machine.acquire(LOCK + known);
        assert!(!machine.is_racy());
        assert_eq!(machine.write(), Way::Judged);
        assert!(machine.is_racy(), "the other read");
    }
}

#[test]
fn a_read_that_others_have_made_too_is_noted_without_a_call_until_it_is_written() {
    let mut machine = Machine::new(2);
    machine.read();
    machine.run(1);
    assert_eq!(machine.read(), Way::Judged);
    assert_eq!(machine.read(), Way::Glance);
    machine.run(0);
    assert_eq!(machine.read(), Way::Judged);
    assert!(!machine.is_racy());
    machine.run(1);
    assert_eq!(machine.write(), Way::Judged);
    assert!(machine.is_racy());
    assert_ne!(
        machine.read(),
        Way::Glance,
        "its read is not the last access"
    );
}

#[test]
fn other_bytes_are_judged_by_themselves() {
    let mut machine = Machine::new(2);
    let [site, ..] = sites();
    machine.access(PLACE, 4, What::Write, site);
    assert_eq!(
        machine.access(PLACE, 4, What::Write, site),
        Way::Glance,
        "half a granule"
    );
    let upper = machine.access(PLACE + 4, 4, What::Write, site);
    assert_eq!(upper, Way::Judged);
    machine.run(1);
    machine.access(PLACE + 8, 8, What::Write, site);
    for (address, length) in [(PLACE + 8, 1), (PLACE + 9, 2), (PLACE + 8, 4)] {
        let way = machine.access(address, length, What::Write, site);
        assert_eq!(way, Way::Judged, "{length} bytes");
    }
    assert!(!machine.is_racy());
    machine.run(0);
    machine.access(PLACE + 10, 1, What::Read, site);
    assert!(machine.is_racy());
}

#[test]
fn a_read_of_some_bytes_leaves_what_is_known_of_the_others() {
    let mut machine = Machine::new(2);
    machine.read();
    machine.access(PLACE + 4, 1, What::Read, sites()[0]);
    machine.run(1);
    machine.access(PLACE, 1, What::Write, sites()[1]);
    assert!(machine.is_racy(), "with the read of all eight");
}

#[test]
fn no_bytes_beyond_the_granule_are_noted_without_a_call() {
    let mut machine = Machine::new(1);
    let [site, ..] = sites();
    machine.access(PLACE, 8, What::Write, site);
    machine.access(PLACE + 8, 8, What::Write, site);
    for (address, length) in [(PLACE + 4, 8), (PLACE + 7, 2), (PLACE, 16), (PLACE, 24)] {
        let way = machine.access(address, length, What::Write, site);
        assert_ne!(way, Way::Glance, "{length} bytes");
    }
    assert!(!machine.is_racy());
}

#[test]
fn memory_is_looked_at_anew_once_it_was_given_back() {
    let mut machine = Machine::new(2);
    machine.write();
    machine.races.free(TaskId(0), PLACE - 8, 16, None);
    machine.is_free = true;
    assert_eq!(machine.write(), Way::Judged, "it is free");
    machine.is_free = false;
    assert_eq!(machine.write(), Way::First);
    machine.races.forget(PLACE, PLACE + 8);
    machine.run(1);
    assert_eq!(machine.write(), Way::Note, "it is another task's stack");
    assert!(!machine.is_racy());
    machine.run(0);
    machine.races.free(TaskId(0), PLACE, 8, None);
    assert!(machine.is_racy(), "of the free with a write");
}

#[test]
fn a_rewritten_line_need_not_be_known() {
    let mut machine = Machine::new(1);
    machine.is_rewritten = true;
    assert_eq!(machine.read(), Way::Note, "the memory might be free");
    assert_eq!(machine.write(), Way::Glance);
    machine.races.glance.has_all_lines = false;
    machine.release(LOCK);
    for _ in 0..2 {
        assert_ne!(machine.write(), Way::Glance, "words have no room for it");
    }
}

#[test]
fn each_execution_looks_at_memory_anew() {
    let mut machine = Machine::new(3);
    machine.write();
    machine.begin(3);
    machine.run(1);
    assert_eq!(machine.write(), Way::Note);
    assert!(!machine.is_racy());
    machine.begin(3);
    machine.read();
    machine.run(2);
    machine.read();
    assert!(!machine.is_racy(), "with the write of the execution before");
}

/// An invalid pointer is most likely one near null: the access is recorded before it fails.
#[test]
fn accesses_next_to_null_are_noted() {
    let mut machine = Machine::new(1);
    let access = |machine: &mut Machine| machine.access(16, 8, What::Read, sites()[0]);
    assert_ne!(access(&mut machine), Way::Glance);
    assert_eq!(access(&mut machine), Way::Glance);
    machine.races.free(TaskId(0), 0, PAGE, None);
    assert_ne!(access(&mut machine), Way::Glance);
}

#[test]
fn what_was_accessed_in_an_earlier_execution_is_not_free_until_it_is_given_back() {
    let page = PLACE & !(PAGE - 1);
    let beside = |machine: &mut Machine| machine.access(PLACE + 8, 8, What::Write, sites()[0]);
    let frees = [
        (PLACE, 16, Way::Glance),
        (page, PAGE, Way::First),
        (page - PAGE, 3 * PAGE, Way::First),
    ];
    for (start, length, after) in frees {
        let mut machine = Machine::new(1);
        machine.write();
        beside(&mut machine);
        machine.begin(1);
        machine.is_free = true;
        assert_eq!(machine.write(), Way::Note);
        assert_eq!(beside(&mut machine), Way::Glance);
        for is_accessed in [false, true] {
            machine.begin(1);
            if is_accessed {
                assert_eq!(machine.write(), Way::Note);
                assert_eq!(beside(&mut machine), Way::Glance);
            }
            machine.races.free(TaskId(0), start, length, None);
            for _ in 0..2 {
                assert_eq!(machine.write(), Way::Judged);
                assert_eq!(beside(&mut machine), Way::Judged);
            }
            if !is_accessed {
                machine.begin(1);
                machine.is_free = false;
                assert_eq!(machine.write(), Way::Note);
                assert_eq!(beside(&mut machine), after);
                machine.is_free = true;
            }
        }
        // Memory is not restored.
        machine.races.renew(false);
        assert!(machine.races.add_task(TaskId(0), None));
        assert_eq!(machine.write(), Way::Judged);
        machine.is_free = false;
        assert_eq!(machine.write(), Way::First);
        assert_eq!(beside(&mut machine), Way::First);
        assert!(!machine.is_racy());
    }
}

#[test]
fn nothing_is_noted_without_a_call_once_the_search_for_races_has_ended() {
    let mut machine = Machine::new(1);
    machine.write();
    machine.races.give_up(super::GivenUp::Memory);
    assert_eq!(machine.write(), Way::Judged);
}

#[test]
fn lines_that_become_scheduling_points_are_told_of() {
    let mut machine = Machine::new(1);
    machine.write();
    assert_eq!(machine.write(), Way::Glance);
    machine.races.points.add(sites()[0]);
    machine.begin(1);
    for _ in 0..3 {
        assert_ne!(machine.write(), Way::Glance);
    }
}

/// A task without a recent release leaves a gap in the epochs that another one knows.
#[test]
fn what_is_known_beyond_a_gap_is_noted_and_the_gap_is_judged() {
    let mut machine = Machine::new(3);
    machine.access(PLACE + 64, 8, What::Write, sites()[0]);
    machine.run(1);
    machine.write();
    machine.release(LOCK);
    machine.run(2);
    machine.access(PLACE + 72, 8, What::Write, sites()[0]);
    machine.run(1);
    machine.acquire(LOCK);
    assert_eq!(machine.write(), Way::Note, "its last epoch is beyond a gap");
    assert_eq!(machine.write(), Way::Glance);
    assert!(!machine.is_racy());
    let way = machine.access(PLACE + 64, 8, What::Read, sites()[2]);
    assert_eq!(way, Way::Judged);
    assert_eq!(machine.words().len(), 1);
    let way = machine.access(PLACE + 72, 8, What::Read, sites()[3]);
    assert_eq!(way, Way::Judged);
    assert_eq!(machine.words().len(), 2);
}

/// Words are compared as numbers, of which the epoch is only a part.
#[test]
fn numbers_of_epochs_may_be_large() {
    for first in [2, LAST - 3] {
        let mut machine = Machine::new(2);
        machine.races.epochs.begin_at(first);
        machine.begin(2);
        for extent in [(PLACE, 8), (PLACE + 8, 4), (PLACE + 23, 1)] {
            for task in [0, 1] {
                machine.run(task);
                machine.acquire(LOCK);
                for what in [What::Read, What::Write] {
                    machine.access(extent.0, extent.1, what, sites()[0]);
                    let again = machine.access(extent.0, extent.1, what, sites()[0]);
                    assert_eq!(again, Way::Glance);
                }
                machine.release(LOCK);
            }
        }
        assert!(!machine.is_racy());
        machine.run(0);
        assert_eq!(
            machine.access(PLACE + 23, 1, What::Read, sites()[0]),
            Way::Judged
        );
        assert!(machine.is_racy());
    }
}

/// An access in the brute-force model.
struct Known {
    task: usize,
    is_write: bool,
    is_atomic: bool,
    /// The number of steps of each task that happened before it, its own included.
    clock: Vec<usize>,
}

/// All accesses to a byte in the brute-force model.
#[derive(Default)]
struct Byte(Vec<Known>);

impl Byte {
    /// Records an access. Returns whether it races with an earlier one.
    fn access(&mut self, access: Known) -> bool {
        let is_racy = self.0.iter().any(|known| {
            (known.is_write || access.is_write)
                && !(known.is_atomic && access.is_atomic)
                && known.clock[known.task] > access.clock[known.task]
        });
        self.0.push(access);
        is_racy
    }
}

/// Runs a random program. Returns whether it has a race.
#[expect(clippy::too_many_lines, reason = "a branch for each kind of step")]
fn run_random(machine: &mut Machine, seed: u64) -> bool {
    const TASKS: usize = 3;
    const LOCKS: u64 = 2;
    let mut rng = Rng::new(seed);
    let steps = 4 + rng.below(40);
    let mixes_sizes = rng.below(3) == 0;
    let order = 1 + rng.below(3);
    let frees = machine.has_blocks || rng.below(4) == 0;
    let atomics = rng.below(3) * 2;
    let mut clocks = vec![vec![0; TASKS]; TASKS];
    let mut locks = vec![vec![0; TASKS]; LOCKS as usize];
    let mut bytes: Vec<Byte> = (0..64).map(|_| Byte::default()).collect();
    let mut is_racy = false;
    machine.begin(TASKS as u32);
    // Each block is allocated by a task of the execution, or before it.
    let mut allocations = 0;
    BLOCKS.set([rng.below(2) == 0; 2].map(|is_old| is_old.then_some(0)));
    let mut task = 0;
    for _ in 0..steps {
        if rng.below(3) == 0 {
            task = rng.below(TASKS as u64) as usize;
            machine.run(task as u32);
        }
        clocks[task][task] += 1;
        let lock = rng.below(LOCKS) as usize;
        let join = |into: &mut Vec<usize>, from: &[usize]| {
            into.iter_mut()
                .zip(from)
                .for_each(|(into, from)| *into = *from.max(into));
        };
        if rng.below(4) < order {
            if rng.below(2) == 0 {
                machine.acquire(LOCK + lock);
                join(&mut clocks[task], &locks[lock]);
            } else {
                machine.release(LOCK + lock);
                join(&mut locks[lock], &clocks[task]);
            }
            continue;
        }
        let access = |is_write, is_atomic| Known {
            task,
            is_write,
            is_atomic,
            clock: clocks[task].clone(),
        };
        let block = rng.below(2) as usize;
        let place = block * BLOCK;
        let mut blocks = BLOCKS.get();
        if machine.has_blocks && blocks[block].is_none() {
            allocations += 1;
            blocks[block] = Some(allocations);
            BLOCKS.set(blocks);
            let allocated = (HEAP.block)(PLACE + place).unwrap();
            let site = Some(sites()[1]);
            machine.races.allocate(TaskId(task as u32), allocated, site);
            for byte in &mut bytes[place..place + BLOCK] {
                assert!(!byte.access(access(true, false)), "it is new");
            }
            continue;
        }
        if frees && rng.below(8) == 0 {
            let site = Some(sites()[0]);
            machine
                .races
                .free(TaskId(task as u32), PLACE + place, BLOCK, site);
            for granule in bytes[place..place + BLOCK].chunks_mut(8) {
                // The monitor does not detect a race of a free with the allocation of a granule
                // without accesses.
                let is_accessed = !machine.has_blocks
                    || blocks[block] == Some(0)
                    || granule.iter().any(|byte| byte.0.len() > 1);
                for byte in granule {
                    is_racy |= byte.access(access(true, false)) && is_accessed;
                    byte.0.clear();
                }
            }
            blocks[block] = None;
            BLOCKS.set(blocks);
            continue;
        }
        let length = if mixes_sizes { 1 << rng.below(5) } else { 8 };
        let start = (rng.below(32) as usize & !(length - 1)) % 32;
        if machine.has_blocks && blocks[start / BLOCK].is_none() {
            // The block is free.
            continue;
        }
        let is_write = rng.below(2) == 0;
        let is_atomic = length <= 8 && rng.below(8) < atomics;
        let site = sites()[rng.below(4) as usize];
        if is_atomic {
            let (op, how) = if is_write {
                (Op::AtomicFetchAdd, How::Exchange)
            } else {
                (Op::AtomicLoad, How::Load)
            };
            let atomic = Atomic {
                op,
                how,
                order: Ordering::Relaxed,
                site: Some(site),
            };
            let id = TaskId(task as u32);
            machine.races.atomic(id, PLACE + start, length, atomic);
        } else {
            let what = [What::Read, What::Write, What::Borrow, What::BorrowMut]
                [usize::from(is_write) + 2 * rng.below(2) as usize];
            machine.access(PLACE + start, length, what, site);
        }
        for byte in &mut bytes[start..start + length] {
            is_racy |= byte.access(access(is_write, is_atomic));
        }
    }
    is_racy
}

#[test]
fn a_race_is_found_if_and_only_if_there_is_one_and_the_same_without_tables() {
    for new in [|| Machine::new(1), Machine::with_blocks] {
        let [mut seeing, mut blind, mut rewritten] = [(); 3].map(|()| new());
        blind.is_blind = true;
        rewritten.is_rewritten = true;
        let mut outcomes = HashSet::new();
        for seed in 0..20_000 {
            let is_racy = run_random(&mut seeing, seed);
            assert_eq!(
                is_racy,
                seeing.is_racy(),
                "seed {seed}: {:?}",
                seeing.words()
            );
            for other in [&mut blind, &mut rewritten] {
                run_random(other, seed);
                assert_eq!(seeing.words(), other.words(), "seed {seed}");
            }
            outcomes.insert(is_racy);
        }
        assert_eq!(outcomes.len(), 2, "there are both kinds");
    }
}
