//! Data races: accesses to common memory, one of them a write, one of them not atomic,
//! that nothing orders in Rust's memory model.
//!
//! `FastTrack` (Flanagan and Freund, PLDI'09): a vector clock for each task and for each
//! object that orders tasks, and for each granule of memory the epochs of its last
//! accesses. The order is the language's, not the search's: that of
//! [`crate::search`] says what depends on what under a scheduler that runs one task at a
//! time, this one what the program may rely on. So a `Relaxed` load orders nothing here.
//!
//! It reports no race on a program without one, as long as all that orders tasks is told.
//! What is not seen (inline assembly, code that is compiled as it is) is taken to order
//! everything.

mod clock;
mod events;
mod found;
mod levels;
mod objects;
mod order;
mod points;
mod record;
mod shadow;

use core::cell::Cell;
use core::sync::atomic::Ordering;

pub(crate) use order::{
    Atomic, How, Message, acquire, acquire_for, added, atomic, enter, fence, forget, joined, leave,
    receive, release, release_on, release_to, send, switched, told,
};

use crate::execution::{Op, Site, TaskId};
use crate::platform::memory::{EngineVec, engine_vec};
use clock::{Clock, Epoch, Epochs, Owner, Release};
pub(crate) use found::Found;
pub(crate) use levels::Level;
use levels::Levels;
use objects::Objects;
pub(crate) use points::{Line, Point, Points};
use record::Record;
use shadow::{Extent, GRANULE, Shadow, Word};

/// The running task's epoch, or one that no access is of; 0 where nobody looks. Thread-local, and so the task's own.
#[thread_local]
static EPOCH: Cell<Epoch> = Cell::new(0);

/// Whether accesses and what orders them are looked at here.
#[inline]
pub(crate) fn is_watched() -> bool {
    EPOCH.get() != 0
}

/// What an access does.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum What {
    /// It reads.
    Read,
    /// It writes.
    Write,
    /// It makes a shared reference: whoever has it may read.
    Borrow,
    /// It makes a unique reference: whoever has it may write.
    BorrowMut,
    /// It gives the memory back to the allocator.
    Free,
    /// It is atomic; whether it writes.
    Atomic(Op, bool),
}

impl What {
    fn is_write(self) -> bool {
        match self {
            Self::Write | Self::BorrowMut | Self::Free => true,
            Self::Read | Self::Borrow => false,
            Self::Atomic(_, is_write) => is_write,
        }
    }
}

/// An access of which a granule's history knows.
#[derive(Clone, Copy)]
struct Earlier {
    epoch: Epoch,
    site: Option<Site>,
    what: What,
}

impl Earlier {
    fn of_word(word: Word, is_write: bool) -> Self {
        Self {
            epoch: word.epoch(),
            site: word.site(),
            what: match (is_write, word.is_borrow()) {
                (true, false) => What::Write,
                (true, true) => What::BorrowMut,
                (false, false) => What::Read,
                (false, true) => What::Borrow,
            },
        }
    }
}

/// What a task knows of the others.
struct TaskOrder {
    epoch: Epoch,
    clock: Clock,
    /// The clock at its last fence that releases.
    released: Clock,
    /// What its next fence that acquires learns, from loads that did not.
    readable: Clock,
}

/// What executions of a search have shown, as of some moment.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Learnt {
    /// How many lines are scheduling points.
    pub(crate) points: usize,
    /// How many races are forgiven.
    pub(crate) forgiven: usize,
}

impl Learnt {
    pub(crate) const NOTHING: Self = Self {
        points: 0,
        forgiven: 0,
    };
}

/// The monitor of one execution.
pub(crate) struct Races {
    is_on: bool,
    epochs: Epochs,
    tasks: EngineVec<TaskOrder>,
    objects: Objects,
    shadow: Shadow,
    records: EngineVec<Record>,
    /// How many of `records` belong to this execution.
    used: usize,
    /// What was sent along with messages; those in `received` serve again.
    messages: EngineVec<Clock>,
    received: EngineVec<u32>,
    live: usize,
    /// Something that nobody sees may order tasks: all that ran before is taken to have
    /// happened before.
    orders_all: bool,
    found: EngineVec<Found>,
    /// The pairs of lines that raced in earlier executions.
    pub(crate) known: EngineVec<u64>,
    /// So many of them are no failure any more.
    pub(crate) forgiven: usize,
    levels: Levels,
    pub(crate) points: Points,
}

impl Races {
    pub(crate) const fn new() -> Self {
        Self {
            is_on: false,
            epochs: Epochs::new(),
            tasks: engine_vec(),
            objects: Objects::new(),
            shadow: Shadow::new(),
            records: engine_vec(),
            used: 0,
            messages: engine_vec(),
            received: engine_vec(),
            live: 0,
            orders_all: false,
            found: engine_vec(),
            known: engine_vec(),
            forgiven: 0,
            levels: Levels::new(),
            points: Points::new(),
        }
    }

    /// Looks at accesses from the next execution on; each is a scheduling point, or only
    /// those that race.
    pub(crate) fn turn_on(&mut self, all_are_points: bool) {
        self.is_on = true;
        self.points.all = all_are_points;
    }

    /// What races mean, but for those in the files below some prefixes.
    pub(crate) fn set_levels(&mut self, of_others: Level, rules: &[(String, Level)]) {
        self.levels.set_others(of_others);
        for (prefix, level) in rules {
            self.levels.add(prefix, *level);
        }
    }

    /// The races of the last execution that have this level, in the order in which they
    /// showed; not those that were told and are forgiven.
    pub(crate) fn found(&self, level: Level) -> impl Iterator<Item = &Found> {
        let forgiven = &self.known[..self.forgiven];
        self.found
            .iter()
            .filter(move |found| self.levels.of(found) == level)
            .filter(move |found| forgiven.is_empty() || !forgiven.contains(&found.pair()))
    }

    /// What executions have shown so far.
    pub(crate) fn learnt(&self) -> Learnt {
        Learnt {
            points: self.points.count(),
            forgiven: self.forgiven,
        }
    }

    /// Goes back to what executions had shown before.
    pub(crate) fn recall(&mut self, learnt: Learnt) {
        self.points.set_count(learnt.points);
        self.forgiven = learnt.forgiven.min(self.known.len());
    }

    /// Whether a pair of lines raced in the last execution that is not known to.
    pub(crate) fn has_news(&self) -> bool {
        self.found
            .iter()
            .any(|found| !self.known.contains(&found.pair()))
    }

    /// Notes which lines raced in the last execution, and makes them scheduling points;
    /// whether any was none before. They are told, and fail no more.
    pub(crate) fn learn(&mut self) -> bool {
        let before = self.points.count();
        for found in &self.found {
            if !self.known.contains(&found.pair()) {
                self.known.push(found.pair());
            }
            for site in found.sites().into_iter().flatten() {
                self.points.add(site);
            }
        }
        self.forgiven = self.known.len();
        self.points.count() > before
    }

    /// Lets the accesses that raced in the last execution have events in the next one,
    /// which they have not unless they are scheduling points.
    pub(crate) fn show(&mut self) {
        let before = self.learnt();
        self.learn();
        self.recall(before);
        self.points.shows_all = true;
    }

    fn renew(&mut self) {
        let forgets = self.epochs.begin();
        self.shadow.begin(forgets);
        self.objects.begin();
        self.used = 0;
        self.live = 0;
        self.received.clear();
        self.received.extend(0..self.messages.len() as u32);
        self.orders_all = false;
        self.found.clear();
    }

    /// `task` is new; `parent` has made it.
    pub(crate) fn add_task(&mut self, task: TaskId, parent: Option<TaskId>) {
        let place = task.0 as usize;
        if self.tasks.len() == place {
            self.tasks.push(TaskOrder {
                epoch: 0,
                clock: Clock::new(),
                released: Clock::new(),
                readable: Clock::new(),
            });
        }
        let (before, rest) = self.tasks.split_at_mut(place);
        let own = &mut rest[0];
        own.clock.clear();
        own.released.clear();
        own.readable.clear();
        if let Some(parent) = parent {
            own.clock.assign(&before[parent.0 as usize].clock);
        }
        own.epoch = self.epochs.add(Owner::Task(task.0, None));
        own.clock.set(task.0, own.epoch);
        self.live = place + 1;
    }

    /// What [`EPOCH`] is while `task` runs. Where accesses may be scheduling points, none
    /// is passed over for being known.
    fn shown_epoch(&self, task: TaskId) -> Epoch {
        if self.points.is_any() {
            Epoch::MAX
        } else {
            self.tasks[task.0 as usize].epoch
        }
    }

    /// What `task` did so far is released: what it does from now on is not.
    fn end_epoch(&mut self, task: TaskId, op: Op, site: Option<Site>) {
        let own = &mut self.tasks[task.0 as usize];
        self.epochs.end(own.epoch, Release { op, site });
        own.epoch = self.epochs.add(Owner::Task(task.0, None));
        own.clock.set(task.0, own.epoch);
        EPOCH.set(self.shown_epoch(task));
    }

    /// `task` has made another one, or hands over all that it knows in another way.
    pub(crate) fn spawned(&mut self, task: TaskId, child: TaskId, site: Option<Site>) {
        self.add_task(child, Some(task));
        self.end_epoch(task, Op::Spawn, site);
    }

    /// `task` goes on after the end of `other`.
    pub(crate) fn joined(&mut self, task: TaskId, other: TaskId) {
        let (task, other) = (task.0 as usize, other.0 as usize);
        if let Ok([own, other]) = self.tasks.get_disjoint_mut([task, other]) {
            own.clock.join(&other.clock);
        }
    }

    /// `next` runs after `task`.
    pub(crate) fn switched(&mut self, task: TaskId, next: TaskId) {
        if self.orders_all && task != next {
            self.joined(next, task);
            self.end_epoch(task, Op::OpaqueCall, None);
        }
    }

    /// Something happens that may order tasks in ways that nobody sees.
    pub(crate) fn order_all(&mut self, task: TaskId) {
        if self.orders_all {
            return;
        }
        self.orders_all = true;
        for other in 0..self.live as u32 {
            self.joined(task, TaskId(other));
        }
    }

    /// `task` learns what was released to `object`; `excludes` says that it has it alone.
    pub(crate) fn acquire(&mut self, task: TaskId, object: usize, excludes: bool) {
        let own = &mut self.tasks[task.0 as usize].clock;
        if let Some(object) = self.objects.find(object) {
            own.join(&object.all);
            if excludes {
                own.join(&object.exclusive);
            }
            if let Some(other) = object.until {
                self.joined(task, other);
            }
        }
    }

    /// What `task` does from now on is released to `object`, too: nobody sees where that
    /// ends.
    pub(crate) fn release_on(&mut self, task: TaskId, object: usize) {
        self.objects.at(object).until = Some(task);
    }

    /// `task` releases what it knows to `object`: to all, or only to those that have
    /// the object alone.
    pub(crate) fn release(
        &mut self,
        task: TaskId,
        object: usize,
        to_all: bool,
        (op, site): (Op, Option<Site>),
    ) {
        let own = &self.tasks[task.0 as usize].clock;
        let object = self.objects.at(object);
        if to_all {
            object.all.join(own);
        } else {
            object.exclusive.join(own);
        }
        self.end_epoch(task, op, site);
    }

    /// `task` sends a message: what names what it knows now.
    pub(crate) fn send(&mut self, task: TaskId, op: Op, site: Option<Site>) -> u32 {
        let message = self.received.pop().unwrap_or_else(|| {
            self.messages.push(Clock::new());
            (self.messages.len() - 1) as u32
        });
        self.messages[message as usize].assign(&self.tasks[task.0 as usize].clock);
        self.end_epoch(task, op, site);
        message
    }

    /// `task` receives what was sent with a message.
    pub(crate) fn receive(&mut self, task: TaskId, message: u32) {
        let own = &mut self.tasks[task.0 as usize].clock;
        own.join(&self.messages[message as usize]);
        self.received.push(message);
    }

    /// A fence of `task`.
    pub(crate) fn fence(&mut self, task: TaskId, order: Ordering, site: Option<Site>) {
        let own = &mut self.tasks[task.0 as usize];
        if acquires(order) {
            own.clock.join(&own.readable);
        }
        if releases(order) {
            own.released.assign(&own.clock);
            self.end_epoch(task, Op::Fence, site);
        }
    }

    /// An atomic access of `task`.
    pub(crate) fn atomic(&mut self, task: TaskId, address: usize, length: usize, access: Atomic) {
        let Atomic {
            op,
            how,
            order,
            site,
        } = access;
        let extent = Extent::new(address, length);
        let is_write = how != How::Load;
        let Some(record) = self.record_at(address) else {
            // No room for its history: whoever is after it may rely on it.
            self.order_all(task);
            return;
        };
        let later = What::Atomic(op, is_write);
        self.look(task, later, site, |races, each| {
            races.records[record].conflicts_of_atomic(extent.mask(), is_write, each);
        });
        let own = &mut self.tasks[task.0 as usize];
        let released =
            self.records[record].atomic(extent.mask(), task.0, own.epoch, (op, is_write), site);
        if how != How::Store {
            if acquires(order) {
                own.clock.join(released);
            } else {
                own.readable.join(released);
            }
        }
        if is_write {
            let passed_on = if releases(order) {
                &own.clock
            } else {
                &own.released
            };
            match how {
                How::Store => released.assign(passed_on),
                _ => released.join(passed_on),
            }
            if releases(order) {
                self.end_epoch(task, op, site);
            }
        }
    }

    /// A plain access of `task` to bytes anywhere.
    pub(crate) fn access(
        &mut self,
        task: TaskId,
        address: usize,
        length: usize,
        what: What,
        site: Option<Site>,
    ) {
        let end = address.saturating_add(length);
        let mut at = address;
        while at < end {
            let next = (at & !(GRANULE - 1)) + GRANULE;
            let length = next.min(end) - at;
            self.access_granule(task, at, Extent::new(at, length), what, site);
            at = next;
        }
    }

    fn access_granule(
        &mut self,
        task: TaskId,
        address: usize,
        extent: Extent,
        what: What,
        site: Option<Site>,
    ) {
        let first = self.epochs.first();
        let Some(cell) = self.shadow.cell(address, first) else {
            return;
        };
        let (write, read) = (cell.write, cell.read);
        let (has_write, has_read) = (write.epoch() >= first, read.epoch() >= first);
        let epoch = self.tasks[task.0 as usize].epoch;
        let is_borrow = matches!(what, What::Borrow | What::BorrowMut);
        let is_write = what.is_write();
        let own = Word::new(epoch, extent, site, is_borrow);
        if !has_write && !has_read {
            (cell.write, cell.read) = if is_write {
                (own, Word::NONE)
            } else {
                (Word::NONE, own)
            };
            return;
        }
        let has_record = has_write && self.is_record(write);
        let is_same = |word: Word| word.extent() == extent;
        let is_simple = !has_record
            && (!has_write || is_same(write))
            && (!has_read || is_same(read))
            && (is_write || !has_read || self.is_known(read.epoch(), task));
        if is_simple {
            self.look(task, what, site, |_, each| {
                if has_write {
                    each(Earlier::of_word(write, true));
                }
                if has_read && is_write {
                    each(Earlier::of_word(read, false));
                }
            });
        } else if let Some(record) = self.record_at(address) {
            self.look(task, what, site, |races, each| {
                races.records[record].conflicts(extent.mask(), is_write, each);
            });
            if is_write {
                self.records[record].write(own);
            } else {
                let (epochs, clock) = (&self.epochs, &self.tasks[task.0 as usize].clock);
                self.records[record].read(own, |epoch| is_known(epochs, clock, epoch, task));
            }
        }
        let Some(cell) = self.shadow.cell(address, first) else {
            return;
        };
        if is_write {
            cell.read = Word::NONE;
            if is_simple {
                cell.write = own;
            }
        } else {
            cell.read = own;
        }
    }

    /// Memory is given back: nothing that was done to it concerns what comes after.
    pub(crate) fn free(&mut self, task: TaskId, address: usize, length: usize, site: Option<Site>) {
        let first = self.epochs.first();
        let end = address.saturating_add(length);
        let mut races = engine_vec::<Earlier>();
        let Self {
            shadow,
            epochs,
            records,
            tasks,
            ..
        } = self;
        let clock = &tasks[task.0 as usize].clock;
        let mut look = |earlier: Earlier| {
            if !is_known(epochs, clock, earlier.epoch, task) {
                races.push(earlier);
            }
        };
        shadow.touched(address, end, first, |cell| {
            let (write, read) = (cell.write, cell.read);
            if write.epoch() >= first {
                match epochs.owner(write.epoch()) {
                    Owner::Record(record) => {
                        records[record as usize].conflicts(u8::MAX, true, &mut look);
                    }
                    Owner::Task(..) => look(Earlier::of_word(write, true)),
                }
            }
            if read.epoch() >= first {
                look(Earlier::of_word(read, false));
            }
            cell.write = Word::NONE;
            cell.read = Word::NONE;
        });
        for earlier in races {
            self.note(earlier, task, What::Free, site);
        }
    }

    /// Another task begins to use this memory, a stack: as [`Self::free`], but nobody looks.
    pub(crate) fn forget(&mut self, low: usize, high: usize) {
        let first = self.epochs.first();
        self.shadow.touched(low, high, first, |cell| {
            cell.write = Word::NONE;
            cell.read = Word::NONE;
        });
    }

    /// Bytes of the program whose accesses are tracked, and what that takes.
    #[expect(dead_code, reason = "printed by a benchmark soon")]
    pub(crate) fn memory(&self) -> (usize, usize) {
        let records = self.records.len() * size_of::<Record>();
        (self.shadow.covered(), self.shadow.size() + records)
    }

    /// The record of a granule, made where it has none.
    fn record_at(&mut self, address: usize) -> Option<usize> {
        let first = self.epochs.first();
        let cell = self.shadow.cell(address, first)?;
        let (mut write, mut read) = (cell.write, cell.read);
        if write.epoch() >= first {
            if let Owner::Record(record) = self.epochs.owner(write.epoch()) {
                return Some(record as usize);
            }
        } else {
            write = Word::NONE;
        }
        if read.epoch() < first {
            read = Word::NONE;
        }
        let record = self.used;
        match self.records.get_mut(record) {
            Some(old) => old.renew(write, read),
            None => self.records.push(Record::new(write, read)),
        }
        self.used += 1;
        let number = self.epochs.add(Owner::Record(record as u32));
        let cell = self.shadow.cell(address, first)?;
        cell.write = Word::of_record(number);
        Some(record)
    }

    fn is_record(&self, write: Word) -> bool {
        matches!(self.epochs.owner(write.epoch()), Owner::Record(_))
    }

    fn is_known(&self, epoch: Epoch, task: TaskId) -> bool {
        let clock = &self.tasks[task.0 as usize].clock;
        is_known(&self.epochs, clock, epoch, task)
    }

    /// Looks which of the earlier accesses that an access of `task` conflicts with race
    /// with it.
    fn look(
        &mut self,
        task: TaskId,
        what: What,
        site: Option<Site>,
        conflicts: impl FnOnce(&Self, &mut dyn FnMut(Earlier)),
    ) {
        let mut races = engine_vec::<Earlier>();
        conflicts(self, &mut |earlier| {
            if !self.is_known(earlier.epoch, task) {
                races.push(earlier);
            }
        });
        for earlier in races {
            self.note(earlier, task, what, site);
        }
    }
}

/// Whether what was done in an epoch happened before what `task` does, whose clock it is.
#[inline]
fn is_known(epochs: &Epochs, clock: &Clock, epoch: Epoch, task: TaskId) -> bool {
    match epochs.owner(epoch) {
        Owner::Task(owner, _) => owner == task.0 || clock.get(owner) >= epoch,
        Owner::Record(_) => true,
    }
}

fn acquires(order: Ordering) -> bool {
    matches!(
        order,
        Ordering::Acquire | Ordering::AcqRel | Ordering::SeqCst
    )
}

fn releases(order: Ordering) -> bool {
    matches!(
        order,
        Ordering::Release | Ordering::AcqRel | Ordering::SeqCst
    )
}
