//! The monitor's ways to record an access: for each way, cases in which it may be used, and cases
//! in which it may not.

use core::cell::Cell;
use core::panic::Location;
use core::sync::atomic::Ordering;

use super::allocations::Arena;
use super::clock::LAST;
use super::lines::mark_of;
use super::shadow::PAGE;
use super::{Races, What};
use crate::base::rng::Rng;
use crate::execution::{How, Op, Site, TaskId};
use crate::monitor::Level;
use crate::platform::heap::{Block, FIRST};

mod bounds;
mod brute_force;

thread_local! {
    /// The end of a heap.
    static END: Cell<usize> = const { Cell::new(0) };
}

/// The way in which an access was recorded.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Way {
    /// Without a call.
    FastPath,
    /// By the monitor, without a check.
    Note,
    /// By the monitor, with a check for races.
    Judged,
}

/// A monitor, and the running task.
struct Machine {
    races: Races,
    task: TaskId,
    /// The program's code was rewritten, so that it is certainly explored.
    is_rewritten: bool,
    /// The next access is to free memory.
    is_free: bool,
    /// The memory consists of several blocks. If not, all memory is one settled block.
    has_blocks: bool,
}

impl Machine {
    /// A machine with this number of tasks. No task knows of another one.
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
            is_rewritten: false,
            is_free: false,
            has_blocks: false,
        };
        machine.begin(tasks);
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
        if !self.is_free && !self.has_blocks {
            races.allocations.settle_all();
        }
        let (bytes, kind) = ((address, length), (is_write, is_borrow));
        let mark = || {
            if self.is_rewritten {
                Some(mark_of(Some(site)))
            } else {
                races.fast_path.mark_of(site)
            }
        };
        // SAFETY: the cells are the monitor's own, and no other code uses it.
        if unsafe { races.fast_path.notes(address, length, kind, mark) } {
            return Way::FastPath;
        }
        if !self.is_rewritten {
            races.fast_path.add_line(site);
        }
        if races.notes(self.task, bytes, kind, mark_of(Some(site))) {
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
        let words = |found: &super::RaceReport| String::from_utf8_lossy(found.words()).into_owned();
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
fn repeated_accesses_of_a_task_are_noted_without_a_call_also_after_a_release() {
    let mut machine = Machine::new(1);
    assert_eq!(machine.read(), Way::Note, "the memory might be free");
    let beside = machine.access(PLACE + 8, 8, What::Read, sites()[0]);
    assert_eq!(beside, Way::Note, "so might that");
    assert_eq!(machine.read(), Way::FastPath);
    assert_eq!(machine.write(), Way::Note, "the line is new");
    assert_eq!(machine.write(), Way::FastPath);
    machine.release(LOCK);
    assert_eq!(machine.write(), Way::Note, "the epoch is new");
    assert_eq!(machine.read(), Way::FastPath);
}

#[test]
fn ordered_accesses_are_noted_without_a_call_and_others_are_judged() {
    let mut machine = Machine::new(2);
    machine.read();
    machine.write();
    machine.release(LOCK);
    machine.run(1);
    machine.acquire(LOCK);
    assert_eq!(machine.read(), Way::Note, "the epoch is new");
    assert_eq!(machine.write(), Way::FastPath);
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
    assert_eq!(machine.read(), Way::FastPath);
    machine.run(0);
    assert_eq!(machine.read(), Way::Judged);
    assert!(!machine.is_racy());
    machine.run(1);
    assert_eq!(machine.write(), Way::Judged);
    assert!(machine.is_racy());
    assert_ne!(
        machine.read(),
        Way::FastPath,
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
        Way::FastPath,
        "half a granule"
    );
    let upper = machine.access(PLACE + 4, 4, What::Write, site);
    assert_eq!(upper, Way::Judged);
    machine.run(1);
    machine.access(PLACE + 8, 32, What::Write, site);
    let parts = [(PLACE + 8, 1), (PLACE + 18, 2), (PLACE + 28, 4)];
    for (address, length) in parts {
        let way = machine.access(address, length, What::Write, site);
        assert_eq!(way, Way::FastPath, "a part of the same write");
    }
    machine.release(LOCK);
    for (address, length) in parts {
        let way = machine.access(address, length, What::Write, site);
        assert_eq!(way, Way::Judged, "{length} bytes");
    }
    assert!(!machine.is_racy());
    machine.run(0);
    machine.access(PLACE + 18, 1, What::Read, site);
    assert!(machine.is_racy());
}

#[test]
fn a_read_of_some_bytes_leaves_the_state_of_the_others() {
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
        assert_ne!(way, Way::FastPath, "{length} bytes");
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
    assert_eq!(machine.write(), Way::Note);
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
    assert_eq!(machine.write(), Way::FastPath);
    machine.races.fast_path.has_all_lines = false;
    machine.release(LOCK);
    for _ in 0..2 {
        assert_ne!(machine.write(), Way::FastPath, "words have no room for it");
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

/// Most invalid pointers are near null. The access is recorded before it fails.
#[test]
fn accesses_next_to_null_are_noted() {
    let mut machine = Machine::new(1);
    let access = |machine: &mut Machine| machine.access(16, 8, What::Read, sites()[0]);
    assert_ne!(access(&mut machine), Way::FastPath);
    assert_eq!(access(&mut machine), Way::FastPath);
    machine.races.free(TaskId(0), 0, PAGE, None);
    assert_ne!(access(&mut machine), Way::FastPath);
}

#[test]
fn memory_accessed_in_an_earlier_execution_is_not_free_until_it_is_released() {
    let page = PLACE & !(PAGE - 1);
    let beside = |machine: &mut Machine| machine.access(PLACE + 8, 8, What::Write, sites()[0]);
    let frees = [
        (PLACE, 16, Way::Note),
        (page, PAGE, Way::Note),
        (page - PAGE, 3 * PAGE, Way::Note),
    ];
    for (start, length, after) in frees {
        let mut machine = Machine::new(1);
        machine.write();
        beside(&mut machine);
        machine.begin(1);
        machine.is_free = true;
        assert_eq!(machine.write(), Way::Note);
        assert_eq!(beside(&mut machine), Way::FastPath);
        for is_accessed in [false, true] {
            machine.begin(1);
            if is_accessed {
                assert_eq!(machine.write(), Way::Note);
                assert_eq!(beside(&mut machine), Way::FastPath);
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
        assert_eq!(machine.write(), Way::Note);
        assert_eq!(beside(&mut machine), Way::Note);
        assert!(!machine.is_racy());
    }
}

/// Each execution has its own process, which begins with the same free memory.
#[test]
fn memory_that_a_process_allocates_is_looked_at_anew_in_the_next_process() {
    const START: usize = PLACE + 64;
    const BLOCK: Block = Block {
        start: START,
        size: 16,
        requested: (START, START + 16),
        number: 1,
    };
    for end in [START + 16, START - 16] {
        END.set(end);
        let mut races = Races::new();
        races.turn_on(false);
        races.allocations.set_heap(Arena {
            block: |address| (START..START + 16).contains(&address).then_some(BLOCK),
            end: || END.get(),
        });
        for _ in 0..3 {
            races.renew(false);
            for task in [0, 1].map(TaskId) {
                assert!(races.add_task(task, None));
            }
            races.allocate(TaskId(0), BLOCK, None);
            races.switched(TaskId(0), TaskId(1));
            races.access(TaskId(1), START, 8, What::Read, None);
            assert!(races.found(Level::Deny).next().is_some());
        }
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
fn lines_that_become_scheduling_points_are_reported() {
    let mut machine = Machine::new(1);
    machine.write();
    assert_eq!(machine.write(), Way::FastPath);
    machine.races.points.add(sites()[0]);
    machine.begin(1);
    for _ in 0..3 {
        assert_ne!(machine.write(), Way::FastPath);
    }
}

/// If a task has not released recently, there is a gap in the epochs that another task knows.
#[test]
fn accesses_beyond_a_gap_are_noted_and_accesses_in_the_gap_are_judged() {
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
    assert_eq!(machine.write(), Way::FastPath);
    assert!(!machine.is_racy());
    let way = machine.access(PLACE + 64, 8, What::Read, sites()[2]);
    assert_eq!(way, Way::Judged);
    assert_eq!(machine.words().len(), 1);
    let way = machine.access(PLACE + 72, 8, What::Read, sites()[3]);
    assert_eq!(way, Way::Judged);
    assert_eq!(machine.words().len(), 2);
}

/// Words are compared as numbers, and the epoch is only a part of such a number.
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
                    assert_eq!(again, Way::FastPath);
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

/// A task runs the destructor of a value, and then frees its memory, because another task has
/// dropped the last other reference meanwhile.
#[test]
fn a_task_that_frees_memory_as_its_last_user_knows_of_the_others() {
    let counter = PLACE + 64;
    for (frees, releases, is_racy) in [(0, true, false), (0, false, true), (1, true, true)] {
        let mut machine = Machine::new(3);
        machine.races.release_on(TaskId(0), counter);
        machine.run(2);
        machine.read();
        if releases {
            let how = (How::Exchange, Ordering::Release);
            machine.races.count(TaskId(2), counter, how, Op::WeakDrop);
        }
        machine.run(frees);
        machine.races.free(TaskId(frees), PLACE, 128, None);
        assert_eq!(machine.is_racy(), is_racy, "{frees} {releases}");
    }
}

#[test]
fn the_end_of_a_mapping_is_ordered_with_the_accesses_to_it() {
    for (is_ordered, page, is_racy) in [
        (false, PLACE, true),
        (true, PLACE, false),
        (false, PLACE + PAGE, false),
    ] {
        let mut machine = Machine::new(2);
        machine.read();
        machine.release(LOCK);
        machine.run(1);
        if is_ordered {
            machine.acquire(LOCK);
        }
        machine.races.unmap(TaskId(1), page, page + PAGE, None);
        machine.races.forget(page, page + PAGE);
        assert_eq!(machine.is_racy(), is_racy, "{is_ordered} {page:x}");
        if page == PLACE {
            // The kernel gives the address to a new mapping of task 0.
            machine.run(0);
            machine.races.forget(page, page + PAGE);
            machine.write();
            let races = machine.words();
            assert!(
                races.iter().all(|race| race.contains("unmapping")),
                "{races:?}"
            );
        }
    }
}
