//! The races of a program, by brute force: for each task the set of steps that happened before, and
//! all accesses in a plain list.

use core::sync::atomic::Ordering;
use std::collections::{HashMap, HashSet, VecDeque};

use super::program::{Act, Bytes, Kind, Program, Region, STACK_BOUNDS, State, Step};
use crate::execution::How;

/// A bit for each step.
type Steps = u128;

/// The operation of an access to memory.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Use {
    Plain(Kind),
    Atomic(How),
    Allocation,
    Free,
    /// The end of the task whose stack it is.
    StackEnd,
}

impl Use {
    fn is_write(self) -> bool {
        match self {
            Self::Plain(kind) => kind.is_write(),
            Self::Atomic(how) => how != How::Load,
            Self::Allocation | Self::Free | Self::StackEnd => true,
        }
    }

    fn is_atomic(self) -> bool {
        matches!(self, Self::Atomic(_))
    }
}

#[derive(Clone, Copy, Debug)]
pub(super) struct Access {
    pub(super) step: usize,
    pub(super) task: usize,
    pub(super) line: usize,
    pub(super) by: Use,
    bytes: Bytes,
}

impl Access {
    /// The line of the access in reports. The end of a task has no line.
    pub(super) fn known_line(&self) -> Option<usize> {
        (self.by != Use::StackEnd).then_some(self.line)
    }
}

/// Two accesses that race.
pub(super) struct Race {
    pub(super) earlier: Access,
    pub(super) later: Access,
    /// The common bytes.
    pub(super) common: (usize, usize),
    /// The first common byte that has no earlier race, if there is one.
    pub(super) first: Option<usize>,
    /// The monitor need not report the race.
    pub(super) is_optional: bool,
}

#[derive(Clone, Default)]
struct Task {
    /// The steps that happened before the task's next step, and the task's own steps.
    knows: Steps,
    /// The steps that the task knew at its last releasing fence.
    fenced: Steps,
    /// The steps that the task learns by its next acquiring fence.
    readable: Steps,
    /// The task's own steps since its last release.
    unreleased: Steps,
    is_unseen: bool,
}

#[derive(Default)]
struct Model {
    tasks: Vec<Task>,
    /// The stack of each task.
    stacks: Vec<usize>,
    current: usize,
    /// The steps that were released to each object: to all tasks, and to tasks that acquire the
    /// object exclusively.
    objects: HashMap<usize, [Steps; 2]>,
    messages: VecDeque<Steps>,
    counters: HashMap<usize, Steps>,
    unseen: Steps,
    has_unseen: bool,
    /// The atomics that have the value of the program's last operation, once opaque code has run.
    has_own_value: HashSet<usize>,
    orders_all: bool,
    accesses: Vec<Access>,
    /// The release sequence of each atomic, by its bytes.
    atomics: Vec<(Bytes, Steps)>,
    /// The bytes that have a race.
    raced: Vec<(usize, usize)>,
    races: Vec<Race>,
}

/// All races of a program.
pub(super) fn races(program: &Program) -> Vec<Race> {
    let mut model = Model::default();
    model.tasks.push(Task::default());
    model.stacks.push(program.stack);
    let mut state = State::new(program);
    for (number, step) in program.steps.iter().enumerate() {
        model.switch(step.task);
        if let Act::Access(bytes, ..) = step.act
            && state.is_wrong(bytes)
        {
            break;
        }
        model.make(number, step);
        state.make(step);
    }
    model.races
}

fn overlap(one: (usize, usize), other: (usize, usize)) -> Option<(usize, usize)> {
    let (low, high) = (one.0.max(other.0), one.1.min(other.1));
    (low < high).then_some((low, high))
}

fn range(bytes: Bytes) -> (usize, usize) {
    (bytes.start, bytes.end())
}

fn acquires(order: Ordering) -> bool {
    order != Ordering::Relaxed && order != Ordering::Release
}

fn releases(order: Ordering) -> bool {
    order != Ordering::Relaxed && order != Ordering::Acquire
}

impl Task {
    /// An operation on a location. `sequence` are the steps of the release sequence of its value.
    fn synchronize(&mut self, sequence: &mut Steps, how: How, order: Ordering) {
        // On x86 a `SeqCst` update is a fence of the machine, and programs rely on that.
        let is_fence = cfg!(any(target_arch = "x86", target_arch = "x86_64"))
            && how == How::Exchange
            && order == Ordering::SeqCst;
        if how != How::Store {
            self.readable |= *sequence;
            if acquires(order) {
                self.knows |= *sequence;
            }
        }
        if is_fence {
            self.knows |= self.readable;
            self.fenced = self.knows;
        }
        let passed = if releases(order) {
            self.knows
        } else {
            self.fenced
        };
        match how {
            How::Load => {}
            How::Store => *sequence = passed,
            How::Exchange => *sequence |= passed,
        }
    }
}

/// Whether the act releases all steps of its task so far to some tasks.
fn is_release(act: Act) -> bool {
    match act {
        Act::Atomic(_, how, order) | Act::Count(_, how, order) => {
            how != How::Load && releases(order)
        }
        Act::Fence(order) => releases(order),
        Act::Release(..) | Act::Send | Act::Spawn(_) => true,
        _ => false,
    }
}

impl Model {
    fn switch(&mut self, next: usize) {
        let before = self.current;
        if before == next {
            return;
        }
        let knows = self.tasks[before].knows;
        if self.orders_all {
            self.tasks[next].knows |= knows;
        }
        if self.tasks[before].is_unseen {
            self.unseen |= knows;
        }
        if self.orders_all || self.tasks[before].is_unseen {
            self.tasks[before].unreleased = 0;
        }
        self.current = next;
    }

    fn make(&mut self, number: usize, step: &Step) {
        let task = step.task;
        self.tasks[task].knows |= 1 << number;
        self.tasks[task].unreleased |= 1 << number;
        self.take(number, step);
        if is_release(step.act) {
            self.tasks[task].unreleased = 0;
        }
    }

    fn take(&mut self, number: usize, step: &Step) {
        let task = step.task;
        let own = &mut self.tasks[task];
        match step.act {
            Act::Access(bytes, kind, _) => {
                self.access(number, step, bytes, Use::Plain(kind));
                if kind.is_write() && kind != Kind::BorrowMut {
                    // A later load cannot read from an earlier release.
                    for (atomic, sequence) in &mut self.atomics {
                        if overlap(range(*atomic), range(bytes)).is_some() {
                            *sequence = 0;
                        }
                    }
                }
            }
            Act::Atomic(bytes, how, order) => {
                self.access(number, step, bytes, Use::Atomic(how));
                let at = self.atomic(bytes);
                if self.has_unseen && self.has_own_value.insert(bytes.start) && how != How::Store {
                    self.atomics[at].1 |= self.unseen;
                }
                let sequence = &mut self.atomics[at].1;
                self.tasks[task].synchronize(sequence, how, order);
            }
            Act::Count(counter, how, order) => {
                let sequence = self.counters.entry(counter).or_default();
                own.synchronize(sequence, how, order);
            }
            Act::Fence(order) => {
                if acquires(order) {
                    own.knows |= own.readable;
                }
                if releases(order) {
                    own.fenced = own.knows;
                }
            }
            Act::Acquire(object, excludes) => {
                let [all, exclusive] = *self.objects.entry(object).or_default();
                own.knows |= if excludes { all | exclusive } else { all };
            }
            Act::Release(object, to_all) => {
                let steps = self.objects.entry(object).or_default();
                steps[usize::from(!to_all)] |= own.knows;
            }
            Act::Send => self.messages.push_back(own.knows),
            Act::Receive => own.knows |= self.messages.pop_front().unwrap(),
            Act::Spawn(stack) => {
                let child = Task {
                    knows: own.knows,
                    ..Task::default()
                };
                self.tasks.push(child);
                self.stacks.push(stack);
                self.forget(Region::Stack(stack));
            }
            Act::Join(other) => self.tasks[task].knows |= self.tasks[other].knows,
            Act::Allocate(block) => self.use_block(number, step, block, Use::Allocation),
            Act::Free(block) => {
                self.use_block(number, step, block, Use::Free);
                self.forget(Region::Block(block));
            }
            Act::Unseen => {
                own.is_unseen = true;
                self.has_unseen = true;
                let others = (0..self.tasks.len()).filter(|&other| other != task);
                let released = others.map(|other| &self.tasks[other]);
                let released = released.fold(0, |all, it| all | it.knows & !it.unreleased);
                self.tasks[task].knows |= self.unseen | released;
            }
            Act::UnseenStore(bytes) => _ = self.has_own_value.remove(&bytes.start),
            Act::Resume => {
                if own.is_unseen {
                    own.knows |= self.unseen;
                }
            }
            Act::OrderAll => {
                self.orders_all = true;
                self.tasks[task].knows |= self.tasks.iter().fold(0, |all, it| all | it.knows);
            }
            Act::End => {
                let stack = self.stacks[task];
                let (start, end) = STACK_BOUNDS[stack];
                let bytes = Bytes {
                    region: Region::Stack(stack),
                    start,
                    length: end - start,
                };
                self.access(number, step, bytes, Use::StackEnd);
            }
        }
    }

    fn use_block(&mut self, number: usize, step: &Step, block: usize, by: Use) {
        let region = Region::Block(block);
        let (start, end) = region.bounds();
        let bytes = Bytes {
            region,
            start,
            length: end - start,
        };
        self.access(number, step, bytes, by);
    }

    /// The index of an atomic in the list.
    fn atomic(&mut self, bytes: Bytes) -> usize {
        let known = self.atomics.iter();
        let known = known.map(|(bytes, _)| range(*bytes));
        let place = known.into_iter().position(|known| known == range(bytes));
        place.unwrap_or_else(|| {
            self.atomics.push((bytes, 0));
            self.atomics.len() - 1
        })
    }

    /// Removes the earlier accesses to a region, because they do not matter any more.
    fn forget(&mut self, region: Region) {
        self.accesses.retain(|known| known.bytes.region != region);
        self.atomics.retain(|(bytes, _)| bytes.region != region);
        let bounds = region.bounds();
        self.raced.retain(|&raced| overlap(raced, bounds).is_none());
    }

    fn access(&mut self, number: usize, step: &Step, bytes: Bytes, by: Use) {
        let later = Access {
            step: number,
            task: step.task,
            line: step.line,
            by,
            bytes,
        };
        let knows = self.tasks[step.task].knows;
        let mut raced = Vec::new();
        for &earlier in &self.accesses {
            let Some(common) = overlap(range(earlier.bytes), range(bytes)) else {
                continue;
            };
            let is_conflict = (earlier.by.is_write() || by.is_write())
                && !(earlier.by.is_atomic() && by.is_atomic());
            if !is_conflict || knows & (1 << earlier.step) != 0 {
                continue;
            }
            let is_optional = earlier.by == Use::Allocation && by == Use::Free;
            if !is_optional {
                raced.push(common);
            }
            self.races.push(Race {
                earlier,
                later,
                common,
                first: self.first_clean(common).filter(|_| !is_optional),
                is_optional,
            });
        }
        self.raced.extend(raced);
        self.accesses.push(later);
    }

    /// The first byte of a range that has no race so far.
    fn first_clean(&self, (low, high): (usize, usize)) -> Option<usize> {
        let mut at = low;
        while let Some(raced) = self.raced.iter().find(|it| (it.0..it.1).contains(&at)) {
            at = raced.1;
        }
        (at < high).then_some(at)
    }
}
