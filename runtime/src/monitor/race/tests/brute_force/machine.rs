//! A machine that runs programs on the monitor. It calls the monitor in the same way as the
//! engine, the hooks and the shims.

use std::cell::Cell;
use std::collections::{HashMap, VecDeque};
use std::panic::Location;

use super::program::{
    Act, BLOCKS, Bytes, HEAP_BLOCKS, Kind, LINES, Origin, Program, Region, STACK_BOUNDS, State,
    Step, end_of_heap,
};
use crate::base::rng::Rng;
use crate::execution::{How, Op, Site, TaskId};
use crate::memory::Word;
use crate::monitor::race::allocations::Arena;
use crate::monitor::race::clock::LAST;
use crate::monitor::race::lines::mark_of;
use crate::monitor::race::race_points::Point;
use crate::monitor::race::shim_interface::Code;
use crate::monitor::race::stacks::SHORT;
use crate::monitor::race::{Atomic, Races, What};
use crate::platform::heap::Block;

thread_local! {
    /// The number of the allocation of each live block.
    static LIVE: Cell<[Option<u32>; BLOCKS]> = const { Cell::new([None; BLOCKS]) };
    /// The end of the heap when the program begins.
    static END: Cell<usize> = const { Cell::new(0) };
}

const HEAP: Arena = Arena {
    block: |address| {
        let is_there = |&(start, end): &(usize, usize)| (start..end).contains(&address);
        let place = HEAP_BLOCKS.iter().position(is_there)?;
        block(place)
    },
    end: || END.get(),
};

/// A block, if it is live.
fn block(place: usize) -> Option<Block> {
    let number = LIVE.get()[place]?;
    let (start, end) = HEAP_BLOCKS[place];
    Some(Block {
        start,
        size: end - start,
        requested: (start, end),
        number,
    })
}

fn set_live(place: usize, number: Option<u32>) {
    let mut live = LIVE.get();
    live[place] = number;
    LIVE.set(live);
}

/// A restriction of the monitor: which of its fast paths a program may use.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Mode {
    Usual,
    /// The tables of pages and lines are empty before each access.
    Blind,
    /// Words have no room for all lines.
    FarLines,
    /// All accesses are scheduling points.
    Points,
}

pub(super) struct Machine {
    pub(super) races: Races,
    pub(super) mode: Mode,
    task: TaskId,
    /// The number of the last allocation.
    allocations: u32,
    messages: VecDeque<u32>,
    /// The values of atomics. Each store changes the value.
    values: HashMap<usize, u64>,
    sites: [Site; LINES],
}

impl Drop for Machine {
    fn drop(&mut self) {
        // Frees the cells.
        self.races.shadow.begin(true, usize::MAX);
    }
}

/// The program has stopped at an access, because the heap's monitor found that the memory is not
/// live.
struct Stopped;

impl Machine {
    pub(super) fn new(rng: &mut Rng) -> Self {
        let mode = match rng.below(8) {
            0 => Mode::Blind,
            1 => Mode::FarLines,
            2 => Mode::Points,
            _ => Mode::Usual,
        };
        let mut races = Races::new();
        races.turn_on(mode == Mode::Points);
        races.stacks.are_special = true;
        races.allocations.set_heap(HEAP);
        if mode == Mode::FarLines {
            races.fast_path.has_all_lines = false;
        }
        if rng.below(16) == 0 {
            races.epochs.begin_at(LAST - rng.below(300) as u32);
        }
        Self {
            races,
            mode,
            task: TaskId(0),
            allocations: 0,
            messages: VecDeque::new(),
            values: HashMap::new(),
            sites: sites(),
        }
    }

    /// Runs a program. Returns whether it accessed memory that is not live.
    pub(super) fn run(&mut self, program: &Program) -> bool {
        LIVE.set(program.live.map(|is_live| is_live.then_some(0)));
        END.set(end_of_heap(program.is_put_back));
        self.allocations = 0;
        self.messages.clear();
        self.values.clear();
        self.races.renew(program.is_put_back);
        self.task = TaskId(0);
        self.races.add_stack(self.task, STACK_BOUNDS[program.stack]);
        assert!(self.races.add_task(self.task, None));
        let mut state = State::new(program);
        let mut tasks = 1;
        for step in &program.steps {
            let task = TaskId(step.task as u32);
            if task != self.task {
                self.races.show_stack(task);
                self.races.switched(self.task, task);
                self.task = task;
            }
            if let Act::Access(bytes, kind, from) = step.act {
                let is_wrong = state.is_wrong(bytes);
                let line = self.sites[step.line];
                if self.access(bytes, kind, from, line, is_wrong).is_err() {
                    return true;
                }
            } else {
                self.make(step, &state, &mut tasks);
            }
            state.make(step);
        }
        false
    }

    /// Makes a step that is no plain access.
    fn make(&mut self, step: &Step, state: &State, tasks: &mut u32) {
        let site = Some(self.sites[step.line]);
        let (races, task) = (&mut self.races, self.task);
        match step.act {
            Act::Access(..) => unreachable!(),
            Act::Atomic(bytes, how, order) => {
                let op = op_of(how);
                let access = Atomic {
                    op,
                    how,
                    order,
                    site,
                };
                let value = self.values.entry(bytes.start).or_default();
                if races.has_unseen() && how != How::Store {
                    races.meet_value(bytes.start, Word::of_bits(*value));
                }
                races.atomic(task, bytes.start, bytes.length, access);
                *value += u64::from(how != How::Load);
                if races.has_unseen() {
                    races.leave_value(bytes.start, Word::of_bits(*value));
                }
            }
            Act::UnseenStore(bytes) => *self.values.entry(bytes.start).or_default() += 1,
            Act::Fence(order) => races.fence(task, order, site),
            Act::Acquire(object, excludes) => races.acquire(task, 0x20 + 8 * object, excludes),
            Act::Release(object, to_all) => {
                let how = (Op::MutexUnlock, site);
                races.release(task, 0x20 + 8 * object, to_all, how);
            }
            Act::Send => self
                .messages
                .push_back(races.send(task, Op::MutexUnlock, site)),
            Act::Receive => races.receive(task, self.messages.pop_front().unwrap()),
            Act::Count(counter, how, order) => {
                races.count(task, 0x40 + 8 * counter, (how, order), op_of(how));
            }
            Act::Spawn(stack) => {
                let (low, end) = Region::Stack(stack).bounds();
                races.forget(low, end);
                let child = TaskId(*tasks);
                races.add_stack(child, STACK_BOUNDS[stack]);
                races.spawned(task, child, site);
                *tasks += 1;
            }
            Act::End => {
                let (low, end) = STACK_BOUNDS[state.tasks[step.task].0];
                races.end_stack(task, low, end);
                races.tasks.end(task);
            }
            Act::Join(other) => races.joined(task, TaskId(other as u32)),
            Act::Allocate(place) => {
                self.allocations += 1 + place as u32 % 2;
                set_live(place, Some(self.allocations));
                races.allocate(task, block(place).unwrap(), site);
            }
            Act::Free(place) => {
                let block = block(place).unwrap();
                races.free(task, block.start, block.size, site);
                set_live(place, None);
            }
            Act::Unseen => races.enter_unseen(task),
            Act::Resume => races.resume_unseen(task),
            Act::OrderAll => races.order_all(task),
        }
    }

    /// Makes an access, as the hooks (`interpose/accesses.rs`) and the shims (`shim/memory.rs`) do.
    fn access(
        &mut self,
        bytes: Bytes,
        kind: Kind,
        from: Origin,
        site: Site,
        is_wrong: bool,
    ) -> Result<(), Stopped> {
        let (address, length) = (bytes.start, bytes.length);
        let is_borrow = matches!(kind, Kind::Borrow | Kind::BorrowMut);
        let flags = (kind.is_write(), is_borrow);
        let tables = &mut self.races.fast_path;
        if self.mode == Mode::Blind {
            tables.forget_pages();
            tables.forget_lines();
        }
        if from != Origin::Shim {
            let is_private = tables.stack.are_private(address, length);
            let is_short = length <= SHORT && tables.stack.is_quickly_private(address);
            let is_quick = is_short || tables.stack.are_quickly_private(address, length);
            assert!(is_private || !is_quick, "{address:#x}, {length} bytes");
            if is_private {
                return Ok(());
            }
        }
        let mark = || match from {
            Origin::Hook => Some(mark_of(Some(site))),
            Origin::Shim => tables.mark_of(site),
            Origin::Library => None,
        };
        // SAFETY: the cells are the monitor's own, and no other code uses it.
        let is_done = unsafe { tables.notes(address, length, flags, mark) };
        if is_done {
            return Ok(());
        }
        if kind == Kind::Update {
            self.report(bytes, (false, false), from, site, is_wrong)?;
        }
        self.report(bytes, flags, from, site, is_wrong)
    }

    /// As `report` in `shim_interface.rs`, and then `data_access` in `plain.rs`.
    fn report(
        &mut self,
        bytes: Bytes,
        flags: (bool, bool),
        from: Origin,
        site: Site,
        is_wrong: bool,
    ) -> Result<(), Stopped> {
        let (address, length) = (bytes.start, bytes.length);
        let races = &mut self.races;
        if races.fast_path.stack.are_private(address, length) {
            return Ok(());
        }
        let code = match from {
            Origin::Hook => Code::Explored,
            Origin::Shim => Code::Any,
            Origin::Library => Code::Library,
        };
        let point = races.point_of(site, code, || true);
        if code == Code::Library && races.is_repeated(self.task, address, length, flags.0) {
            return Ok(());
        }
        let mark = mark_of(Some(site));
        if point == Some(Point::None) && races.notes(self.task, (address, length), flags, mark) {
            return Ok(());
        }
        if is_wrong {
            return Err(Stopped);
        }
        let what = match flags {
            (true, false) => What::Write,
            (true, true) => What::BorrowMut,
            (false, false) => What::Read,
            (false, true) => What::Borrow,
        };
        races.access(self.task, address, length, what, Some(site));
        Ok(())
    }
}

pub(super) fn op_of(how: How) -> Op {
    match how {
        How::Load => Op::AtomicLoad,
        How::Store => Op::AtomicStore,
        How::Exchange => Op::AtomicFetchAdd,
    }
}

#[track_caller]
fn here() -> Site {
    Location::caller()
}

/// The source lines of accesses.
pub(super) fn sites() -> [Site; LINES] {
    [
        here(), // rustfmt keeps a line for each
        here(),
        here(),
        here(),
        here(),
        here(),
        here(),
        here(),
        here(),
        here(),
        here(),
        here(),
        here(),
        here(),
        here(),
        here(),
        here(),
        here(),
        here(),
        here(),
        here(),
        here(),
        here(),
        here(),
        here(),
        here(),
        here(),
        here(),
        here(),
        here(),
        here(),
        here(),
    ]
}
