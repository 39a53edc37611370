//! Programs: their memory, their steps, and the steps that are possible in a state.

use core::sync::atomic::Ordering;

use crate::execution::How;
use crate::monitor::race::shadow::PAGE;
use crate::platform::heap::FIRST;

/// The highest number of tasks of a program.
pub(super) const TASKS: usize = 6;
/// The highest number of steps of a program. The model has a bit for each step.
pub(super) const STEPS: usize = 120;
/// The number of source lines of a program's accesses.
pub(super) const LINES: usize = 32;

const STATIC: usize = 0x5000_0000_0000;
/// Memory that is neither heap nor stack. The pages of both parts have the same slots in the tables
/// of the fast path.
const STATICS: [(usize, usize); 2] = [
    (STATIC, STATIC + 4 * PAGE),
    (STATIC + 64 * PAGE, STATIC + 68 * PAGE),
];

const HEAP: usize = FIRST - FIRST % PAGE + 0x10_0000;
/// The first page of the blocks that the program itself allocates, if memory is put back. If memory
/// is not put back, the program may also allocate blocks before this page.
const FRESH: usize = HEAP + 4 * PAGE;
pub(super) const BLOCKS: usize = 8;
/// The first `OLD` blocks may be live before the program begins.
pub(super) const OLD: usize = 4;
/// The number of blocks before [`FRESH`]: the old ones and one more.
const BEFORE_FRESH: usize = 5;
/// The start and the end of each block of the heap.
pub(super) const HEAP_BLOCKS: [(usize, usize); BLOCKS] = {
    const SIZES: [usize; BLOCKS] = [16, 48, 2 * PAGE - 48, 112, 64, 16, 2 * PAGE, 32];
    let mut blocks = [(0, 0); BLOCKS];
    let mut next = HEAP + 16;
    let mut at = 0;
    while at < BLOCKS {
        if at == BEFORE_FRESH {
            next = FRESH + 16;
        }
        blocks[at] = (next, next + SIZES[at]);
        next += SIZES[at] + 16;
        at += 1;
    }
    blocks
};

/// The end of the heap when a program begins.
pub(super) fn end_of_heap(is_put_back: bool) -> usize {
    if is_put_back {
        FRESH
    } else {
        HEAP_BLOCKS[OLD - 1].1
    }
}

const STACK: usize = 0x7000_0000_0000;
pub(super) const STACKS: usize = 4;
/// The bounds of stacks. Most stacks end in the middle of a page; the rest of this page has other
/// data of the thread. The last stack has more pages than the monitor distinguishes.
pub(super) const STACK_BOUNDS: [(usize, usize); STACKS] = {
    let mut stacks = [(0, 0); STACKS];
    let (pages, parts) = ([4, 5, 4, 4100], [0, 0x7b0, 0x10, 0xff0]);
    let mut at = 0;
    while at < STACKS {
        let low = STACK + at * 0x1000_0000;
        stacks[at] = (low, low + pages[at] * PAGE + parts[at]);
        at += 1;
    }
    stacks
};

/// A part of memory with its own history.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Region {
    Static(usize),
    /// A block of the heap.
    Block(usize),
    /// The memory of the stack with this index. The region includes the rest of the stack's last
    /// page. Several tasks can run on the stack, one after another, but never at the same time.
    Stack(usize),
}

impl Region {
    pub(super) fn bounds(self) -> (usize, usize) {
        match self {
            Self::Static(at) => STATICS[at],
            Self::Block(at) => HEAP_BLOCKS[at],
            Self::Stack(at) => {
                let (low, end) = STACK_BOUNDS[at];
                (low, end.next_multiple_of(PAGE))
            }
        }
    }
}

/// Some bytes of a region.
#[derive(Clone, Copy, Debug)]
pub(super) struct Bytes {
    pub(super) region: Region,
    pub(super) start: usize,
    pub(super) length: usize,
}

impl Bytes {
    pub(super) fn end(self) -> usize {
        self.start + self.length
    }
}

/// The kind of a plain access.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Kind {
    Read,
    Write,
    /// A read, followed by a write.
    Update,
    Borrow,
    BorrowMut,
}

impl Kind {
    pub(super) fn is_write(self) -> bool {
        !matches!(self, Self::Read | Self::Borrow)
    }
}

/// The code that makes an access.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Origin {
    /// Instrumented code of the program.
    Hook,
    /// Instrumented code of the standard library.
    Library,
    /// A function of the shims.
    Shim,
}

#[derive(Clone, Copy, Debug)]
pub(super) enum Act {
    Access(Bytes, Kind, Origin),
    Atomic(Bytes, How, Ordering),
    Fence(Ordering),
    /// Acquires an object. The flag: exclusively.
    Acquire(usize, bool),
    /// Releases an object. The flag: to all tasks.
    Release(usize, bool),
    Send,
    /// Receives the oldest message.
    Receive,
    /// An operation on a counter that orders tasks.
    Count(usize, How, Ordering),
    /// Creates the next task, with this stack.
    Spawn(usize),
    End,
    Join(usize),
    Allocate(usize),
    Free(usize),
    /// Calls opaque code.
    Unseen,
    /// Continues in opaque code.
    Resume,
    /// Stores to an atomic in opaque code.
    UnseenStore(Bytes),
    /// From now on all steps are ordered.
    OrderAll,
}

#[derive(Clone, Copy, Debug)]
pub(super) struct Step {
    pub(super) task: usize,
    /// The number of its source line.
    pub(super) line: usize,
    pub(super) act: Act,
}

#[derive(Clone, Debug)]
pub(super) struct Program {
    /// Whether memory is put back before the program begins, and each time that it is repeated.
    pub(super) is_put_back: bool,
    /// The blocks that are live when the program begins.
    pub(super) live: [bool; BLOCKS],
    /// The stack of the first task.
    pub(super) stack: usize,
    pub(super) steps: Vec<Step>,
}

/// The facts that decide which steps are possible.
pub(super) struct State {
    /// The stack of each task, and whether it has ended.
    pub(super) tasks: Vec<(usize, bool)>,
    pub(super) live: [bool; BLOCKS],
    /// The blocks that were not live when the program began, and that the heap does not allocate,
    /// because memory was put back.
    lost: [bool; BLOCKS],
    messages: usize,
    /// The last step accessed memory that is not live.
    pub(super) is_over: bool,
}

impl State {
    pub(super) fn new(program: &Program) -> Self {
        Self {
            tasks: vec![(program.stack, false)],
            live: program.live,
            lost: core::array::from_fn(|block| {
                program.is_put_back && block < BEFORE_FRESH && !program.live[block]
            }),
            messages: 0,
            is_over: false,
        }
    }

    /// Whether these bytes should be in a live block, but are not.
    pub(super) fn is_wrong(&self, bytes: Bytes) -> bool {
        let Region::Block(block) = bytes.region else {
            return false;
        };
        let (start, end) = HEAP_BLOCKS[block];
        !self.live[block] || bytes.start < start || bytes.end() > end
    }

    fn is_used(&self, stack: usize) -> bool {
        self.tasks.contains(&(stack, false))
    }

    pub(super) fn permits(&self, step: &Step) -> bool {
        let is_live = |task: usize| self.tasks.get(task).is_some_and(|&(_, is_over)| !is_over);
        !self.is_over
            && is_live(step.task)
            && match step.act {
                Act::Access(bytes, ..) | Act::Atomic(bytes, ..) => match bytes.region {
                    Region::Stack(stack) => self.is_used(stack),
                    _ if matches!(step.act, Act::Atomic(..)) => !self.is_wrong(bytes),
                    _ => true,
                },
                Act::UnseenStore(bytes) => match bytes.region {
                    Region::Stack(stack) => self.is_used(stack),
                    Region::Block(_) => !self.is_wrong(bytes),
                    Region::Static(_) => true,
                },
                Act::Receive => self.messages > 0,
                Act::Spawn(stack) => self.tasks.len() < TASKS && !self.is_used(stack),
                Act::End => step.task != 0,
                Act::Join(other) => other < self.tasks.len() && !is_live(other),
                Act::Allocate(block) => !self.live[block] && !self.lost[block],
                Act::Free(block) => self.live[block],
                _ => true,
            }
    }

    /// Makes a step that is permitted.
    pub(super) fn make(&mut self, step: &Step) {
        match step.act {
            Act::Access(bytes, ..) => self.is_over = self.is_wrong(bytes),
            Act::Send => self.messages += 1,
            Act::Receive => self.messages -= 1,
            Act::Spawn(stack) => self.tasks.push((stack, false)),
            Act::End => self.tasks[step.task].1 = true,
            Act::Allocate(block) => self.live[block] = true,
            Act::Free(block) => self.live[block] = false,
            _ => {}
        }
    }
}

impl Program {
    /// Removes the steps that are not possible.
    pub(super) fn retain_possible(&mut self) {
        let mut state = State::new(self);
        self.steps.retain(|step| {
            let is_possible = state.permits(step);
            if is_possible {
                state.make(step);
            }
            is_possible
        });
    }
}
