//! The generator of random programs.

use core::sync::atomic::Ordering;

use super::program::{
    Act, BLOCKS, Bytes, Kind, LINES, OLD, Origin, Program, Region, STACK_BOUNDS, STACKS, STEPS,
    State, Step, TASKS,
};
use crate::base::rng::Rng;
use crate::execution::How;
use crate::monitor::race::shadow::PAGE;

impl Program {
    /// A random program. `live` are the blocks that are live when it begins.
    pub(super) fn random(rng: &mut Rng, is_put_back: bool, live: [bool; BLOCKS]) -> Self {
        let mut program = Self {
            is_put_back,
            live,
            stack: rng.below(STACKS as u64) as usize,
            steps: Vec::new(),
        };
        let style = Style::random(rng);
        let mut state = State::new(&program);
        let mut task = 0;
        for _ in 0..style.attempts {
            if rng.below(style.stays) == 0 {
                let next = rng.below(state.tasks.len() as u64) as usize;
                if rng.below(100) < style.handovers {
                    let (gives, takes) = style.handover(rng);
                    for act in gives {
                        program.add(&mut state, &style, task, act);
                    }
                    for act in takes {
                        program.add(&mut state, &style, next, act);
                    }
                }
                task = next;
            }
            let act = style.act(rng, &state, task);
            program.add(&mut state, &style, task, act);
        }
        program
    }

    /// Adds a step, if it is possible.
    fn add(&mut self, state: &mut State, style: &Style, task: usize, act: Act) {
        let number = self.steps.len();
        let line = number % if style.shares_lines { 4 } else { LINES };
        let step = Step { task, line, act };
        if number < STEPS && state.permits(&step) {
            state.make(&step);
            self.steps.push(step);
        }
    }
}

/// The blocks that are live when the first program of a sequence begins.
pub(super) fn first_blocks(rng: &mut Rng) -> [bool; BLOCKS] {
    core::array::from_fn(|block| block < OLD && rng.below(4) != 0)
}

/// The common traits of a program's steps.
struct Style {
    attempts: u64,
    tasks: usize,
    /// The average number of consecutive steps of a task.
    stays: u64,
    /// The percentage of switches between tasks at which operations order the two tasks.
    handovers: u64,
    /// The kind of the operations that order two tasks at a switch.
    handover: u64,
    shares_lines: bool,
    /// Most accesses are near these addresses.
    hot: Vec<(Region, usize)>,
    lengths: u64,
    /// The percentage of operations that order tasks.
    orders: u64,
    /// The percentage of atomic operations.
    atomics: u64,
    /// The percentage of allocations and frees.
    frees: u64,
    /// Atomics have other orderings than `Relaxed`, too.
    has_orders: bool,
}

impl Style {
    fn random(rng: &mut Rng) -> Self {
        let count = 1 + rng.below(4);
        let region = 1 + rng.below(3);
        Self {
            attempts: 6 + rng.below(90),
            tasks: 2 + rng.below(TASKS as u64 - 1) as usize,
            stays: 2 + rng.below(5),
            handovers: [0, 60, 90, 98][rng.below(4) as usize],
            handover: rng.below(5),
            shares_lines: rng.below(3) == 0,
            hot: (0..count).map(|_| hot(rng, region)).collect(),
            lengths: rng.below(6),
            orders: 4 + rng.below(40),
            atomics: rng.below(3) * 8,
            frees: rng.below(3) * 6,
            has_orders: rng.below(2) == 0,
        }
    }

    fn act(&self, rng: &mut Rng, state: &State, task: usize) -> Act {
        if state.tasks.len() < self.tasks && rng.below(5) == 0 {
            return Act::Spawn(rng.below(STACKS as u64) as usize);
        }
        let mut share = rng.below(100);
        let mut is_in = |size: u64| {
            let is_in = share < size;
            share = if is_in { u64::MAX } else { share - size };
            is_in
        };
        if is_in(self.orders) {
            self.order(rng, state)
        } else if is_in(self.atomics) {
            let length = 1 << rng.below(4);
            let (region, start) = self.place(rng, length);
            let start = start & !(length - 1);
            let bytes = Bytes {
                region,
                start: start.max(region.bounds().0.next_multiple_of(length)),
                length,
            };
            Act::Atomic(bytes, how(rng), self.ordering(rng))
        } else if is_in(self.frees) {
            let block = self.block(rng);
            if state.live[block] {
                Act::Free(block)
            } else {
                Act::Allocate(block)
            }
        } else {
            self.access(rng, state, task)
        }
    }

    /// Steps of two tasks that order the tasks: those of the first task happen before those of the
    /// second one. Sometimes an ordering is too weak for that.
    fn handover(&self, rng: &mut Rng) -> (Vec<Act>, Vec<Act>) {
        use Ordering::{AcqRel, Acquire, Relaxed, Release, SeqCst};
        let mut order = |usual: [Ordering; 3]| match rng.below(8) {
            0 => Relaxed,
            other => usual[other as usize % 3],
        };
        let (gives, takes) = (
            order([Release, AcqRel, SeqCst]),
            order([Acquire, AcqRel, SeqCst]),
        );
        let write = [How::Store, How::Exchange][rng.below(2) as usize];
        let read = [How::Load, How::Exchange][rng.below(2) as usize];
        let flag = flag(rng);
        match self.handover {
            0 => (
                vec![Act::Release(0, rng.below(8) != 0)],
                vec![Act::Acquire(0, rng.below(8) != 0)],
            ),
            1 => (vec![Act::Send], vec![Act::Receive]),
            2 => (
                vec![Act::Count(0, write, gives)],
                vec![Act::Count(0, read, takes)],
            ),
            3 => (
                vec![Act::Atomic(flag, write, gives)],
                vec![Act::Atomic(flag, read, takes)],
            ),
            _ => (
                vec![Act::Fence(gives), Act::Atomic(flag, write, Relaxed)],
                vec![Act::Atomic(flag, read, Relaxed), Act::Fence(takes)],
            ),
        }
    }

    /// A block: most likely one near which accesses are.
    fn block(&self, rng: &mut Rng) -> usize {
        match self.hot[rng.below(self.hot.len() as u64) as usize].0 {
            Region::Block(block) if rng.below(8) != 0 => block,
            _ => rng.below(BLOCKS as u64) as usize,
        }
    }

    fn order(&self, rng: &mut Rng, state: &State) -> Act {
        let object = rng.below(2) as usize;
        match rng.below(40) {
            0..10 => Act::Acquire(object, rng.below(4) != 0),
            10..20 => Act::Release(object, rng.below(4) != 0),
            20..23 => Act::Send,
            23..26 => Act::Receive,
            26..29 => Act::Count(object, how(rng), self.ordering(rng)),
            29 => Act::Fence(self.ordering(rng)),
            30 => Act::Atomic(flag(rng), how(rng), self.ordering(rng)),
            31..34 => Act::End,
            34..38 => Act::Join(rng.below(state.tasks.len() as u64) as usize),
            38 => match rng.below(4) {
                0 | 1 => Act::Unseen,
                2 => Act::Resume,
                _ => Act::UnseenStore(flag(rng)),
            },
            _ if rng.below(8) == 0 => Act::OrderAll,
            _ => Act::Spawn(rng.below(STACKS as u64) as usize),
        }
    }

    fn access(&self, rng: &mut Rng, state: &State, task: usize) -> Act {
        let length = match self.lengths {
            0 => 8,
            1 | 2 => 1 << rng.below(5),
            3 => 1 + rng.below(24) as usize,
            _ if rng.below(3) == 0 => 1 + rng.below(3 * PAGE as u64) as usize,
            _ => 1 << rng.below(5),
        };
        let (mut region, mut start) = self.place(rng, length);
        if rng.below(6) == 0 {
            // One of six accesses is to the task's own stack.
            region = Region::Stack(state.tasks[task].0);
            let (low, end) = region.bounds();
            let distance = if rng.below(2) == 0 { PAGE } else { 2 * PAGE };
            start = (end - rng.below(distance as u64) as usize).max(low);
        }
        let (low, end) = region.bounds();
        let length = length.min(end - low);
        let mut start = start.clamp(low, end - length);
        if self.lengths < 2 {
            start &= !(length.next_power_of_two() / 2).max(1) + 1;
            start = start.max(low);
        }
        let mut bytes = Bytes {
            region,
            start,
            length,
        };
        if let Region::Block(block) = region
            && state.is_wrong(bytes)
            && rng.below(32) != 0
        {
            return Act::Allocate(block);
        }
        if let Region::Block(_) = region
            && rng.below(256) == 0
        {
            // The access goes beyond the end of the region.
            bytes.length = end - start + 1 + rng.below(15) as usize;
        }
        let kinds = [Kind::Read, Kind::Write, Kind::Read, Kind::Write];
        match rng.below(4) {
            0 => Act::Access(bytes, kinds[rng.below(2) as usize], Origin::Library),
            1 => {
                let kinds = [
                    Kind::Update,
                    Kind::Borrow,
                    Kind::BorrowMut,
                    kinds[0],
                    kinds[1],
                ];
                Act::Access(bytes, kinds[rng.below(5) as usize], Origin::Shim)
            }
            _ => Act::Access(bytes, kinds[rng.below(2) as usize], Origin::Hook),
        }
    }

    /// The place of an access of this length.
    fn place(&self, rng: &mut Rng, length: usize) -> (Region, usize) {
        let (region, address) = self.hot[rng.below(self.hot.len() as u64) as usize];
        let (low, end) = region.bounds();
        let start = match rng.below(8) {
            0 => address - (length / 2).min(address - low),
            1 => address + rng.below(24) as usize,
            2..5 => address + rng.below(2) as usize * 8,
            _ => address,
        };
        (region, start.clamp(low, end - length.min(end - low)))
    }

    fn ordering(&self, rng: &mut Rng) -> Ordering {
        use Ordering::{AcqRel, Acquire, Relaxed, Release, SeqCst};
        if self.has_orders {
            [Relaxed, Acquire, Release, AcqRel, SeqCst][rng.below(5) as usize]
        } else {
            Relaxed
        }
    }
}

/// An atomic that is used to order tasks.
fn flag(rng: &mut Rng) -> Bytes {
    let region = Region::Static(0);
    Bytes {
        region,
        start: region.bounds().0 + PAGE / 2 + 8 * (rng.below(5) as usize / 4),
        length: 4,
    }
}

fn how(rng: &mut Rng) -> How {
    [How::Load, How::Store, How::Exchange][rng.below(3) as usize]
}

/// A region, and an address in it that is next to a bound of the region or of a page.
fn hot(rng: &mut Rng, regions: u64) -> (Region, usize) {
    let region = match rng.below(regions) {
        0 => Region::Stack(rng.below(STACKS as u64) as usize),
        1 => Region::Block(rng.below(BLOCKS as u64) as usize),
        _ => Region::Static(rng.below(2) as usize),
    };
    let (low, end) = region.bounds();
    let pages = PAGE * (1 + rng.below(2) as usize);
    let address = match (rng.below(7), region) {
        (0, _) => low,
        (1, Region::Stack(stack)) => STACK_BOUNDS[stack].1 - 8 * rng.below(2) as usize,
        (1 | 2, _) => end - 8,
        (3, _) => (low + pages) & !(PAGE - 1),
        (4, _) => ((low + pages) & !(PAGE - 1)) - 8,
        (5, _) => end.saturating_sub(pages + 8 * rng.below(2) as usize),
        (_, _) => end.saturating_sub(4096 * PAGE + 8 * rng.below(2) as usize),
    };
    (region, address.clamp(low, end - 8))
}
