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

mod accesses;
mod allocated;
mod clock;
mod events;
mod found;
mod freed;
mod glance;
mod lines;
mod objects;
mod order;
mod points;
mod record;
mod shadow;
mod tasks;
#[cfg(test)]
mod tests;
mod window;

use core::cell::Cell;
use core::sync::atomic::Ordering;

pub(crate) use order::{
    Atomic, How, Message, Paused, acquire, acquire_for, added, atomic, count, enter, enter_unseen,
    fence, forget, go_on, is_noted, joined, leave, pause, receive, release, release_on, release_to,
    resume_unseen, send, switched, told,
};

use super::levels::{Level, Levels};
use crate::base::memory::{EngineVec, engine_vec};
use crate::execution::{Op, Site, TaskId};
use allocated::Allocations;
pub(crate) use clock::MOST_EPOCHS;
use clock::{Clock, Epoch, Epochs};
pub(crate) use found::Found;
use glance::Glance;
use objects::Objects;
pub(crate) use points::{Line, Point, Points};
use record::Record;
pub(crate) use shadow::MOST_MEMORY;
use shadow::{Extent, Shadow, Word};
pub(crate) use tasks::MOST_TASKS;
use tasks::Tasks;

/// What accesses ask in the user's code: the monitor's, where it looks. Thread-local, and so the
/// task's own.
#[thread_local]
static GLANCE: Cell<*const Glance> = Cell::new(&raw const glance::NONE);

/// Whether accesses and what orders them are looked at here.
#[inline]
pub(crate) fn is_watched() -> bool {
    GLANCE.get() != &raw const glance::NONE
}

/// What accesses to plain memory are to the search.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Accesses {
    /// Nothing, not even looked at.
    Ignored,
    /// Looked at; scheduling points where they race.
    Watched,
    /// Scheduling points.
    Preempted,
}

impl Accesses {
    /// By its name in requests.
    pub(crate) fn named(name: &str) -> Option<Self> {
        Some(match name {
            "ignore" => Self::Ignored,
            "watch" => Self::Watched,
            "preempt" => Self::Preempted,
            _ => return None,
        })
    }
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
    /// It takes the memory's block from the allocator: it writes all of it.
    Allocation,
    /// It gives the memory back to the allocator.
    Free,
    /// It is atomic; whether it writes.
    Atomic(Op, bool),
}

impl What {
    fn is_write(self) -> bool {
        match self {
            Self::Write | Self::BorrowMut | Self::Allocation | Self::Free => true,
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
                _ if word.extent() == Extent::OF_BLOCK => What::Allocation,
                (true, false) => What::Write,
                (true, true) => What::BorrowMut,
                (false, false) => What::Read,
                (false, true) => What::Borrow,
            },
        }
    }
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

/// Why an execution was looked at no further.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum GivenUp {
    /// More tasks than clocks have entries.
    Tasks,
    /// More memory was accessed than there is room to keep the history of.
    Memory,
    /// Tasks released what they did more often than there is room to tell apart.
    Releases,
}

/// The monitor of one execution.
pub(crate) struct Races {
    /// Whether executions are to be looked at.
    is_wanted: bool,
    /// Whether this one still is.
    is_on: bool,
    /// Why it is not.
    pub(crate) given_up: Option<GivenUp>,
    epochs: Epochs,
    tasks: Tasks,
    objects: Objects,
    shadow: Shadow,
    allocations: Allocations,
    /// What was given back in this execution: from where to where.
    freed: EngineVec<(usize, usize)>,
    glance: Glance,
    records: EngineVec<Record>,
    /// How many of `records` belong to this execution.
    used: usize,
    /// What was sent along with messages; those in `received` serve again.
    messages: EngineVec<Clock>,
    received: EngineVec<u32>,
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
            is_wanted: false,
            is_on: false,
            given_up: None,
            epochs: Epochs::new(),
            tasks: Tasks::new(),
            objects: Objects::new(),
            shadow: Shadow::new(),
            allocations: Allocations::new(),
            freed: engine_vec(),
            glance: Glance::new(),
            records: engine_vec(),
            used: 0,
            messages: engine_vec(),
            received: engine_vec(),
            orders_all: false,
            found: engine_vec(),
            known: engine_vec(),
            forgiven: 0,
            levels: Levels::new(Level::Deny),
            points: Points::new(),
        }
    }

    /// Looks at accesses from the next execution on; each is a scheduling point, or only
    /// those that race.
    pub(crate) fn turn_on(&mut self, all_are_points: bool) {
        self.is_wanted = true;
        self.glance.has_all_lines = lines::are_all_near();
        self.points.all = all_are_points;
    }

    /// What races mean, but for those in the files below some prefixes.
    pub(crate) fn set_levels(&mut self, of_others: Level, rules: &[(String, Level)]) {
        self.levels.set(of_others, rules);
    }

    /// That of a race: where one of its packages is forgiven, so is the race.
    fn level_of(&self, found: &Found) -> Level {
        let level = |site: Option<Site>| site.map_or(Level::Deny, |site| self.levels.of(site));
        let [first, second] = found.sites().map(level);
        first.min(second)
    }

    /// The races of the last execution that have this level, in the order in which they
    /// showed; not those that were told and are forgiven.
    pub(crate) fn found(&self, level: Level) -> impl Iterator<Item = &Found> {
        let forgiven = &self.known[..self.forgiven];
        self.found
            .iter()
            .filter(move |found| self.level_of(found) == level)
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
        self.points.show_all();
    }

    /// A new execution begins; whether the program's memory `is_put_back` as it was.
    fn renew(&mut self, is_put_back: bool) {
        self.is_on = self.is_wanted;
        self.given_up = None;
        let forgets = self.epochs.begin();
        self.begin_memory(is_put_back);
        let fresh = self.allocations.begin();
        self.shadow.begin(forgets, fresh);
        self.glance.hide();
        self.glance.forget_pages();
        if self.points.have_changed() {
            self.glance.forget_lines();
        }
        self.objects.begin();
        self.used = 0;
        self.tasks.begin();
        self.received.clear();
        self.received.extend(0..self.messages.len() as u32);
        self.orders_all = false;
        self.found.clear();
    }

    /// Looks no further at this execution: what was found so far holds.
    #[cold]
    fn give_up(&mut self, why: GivenUp) {
        self.is_on = false;
        self.given_up = Some(why);
        // Nothing is passed over for being known.
        self.shadow.begin(true, usize::MAX);
        self.glance.hide();
        self.glance.forget_pages();
    }

    /// `task` learns what was released to `object`; `excludes` says that it has it alone.
    pub(crate) fn acquire(&mut self, task: TaskId, object: usize, excludes: bool) {
        let own = &mut self.tasks.get_mut(task).clock;
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
        let own = &self.tasks.get(task).clock;
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
        self.messages[message as usize].assign(&self.tasks.get(task).clock);
        self.end_epoch(task, op, site);
        message
    }

    /// `task` receives what was sent with a message.
    pub(crate) fn receive(&mut self, task: TaskId, message: u32) {
        let own = &mut self.tasks.get_mut(task).clock;
        own.join(&self.messages[message as usize]);
        self.received.push(message);
    }

    /// A fence of `task`.
    pub(crate) fn fence(&mut self, task: TaskId, order: Ordering, site: Option<Site>) {
        let own = self.tasks.get_mut(task);
        if acquires(order) {
            own.clock.join(&own.readable);
        }
        if releases(order) {
            own.released.assign(&own.clock);
            self.end_epoch(task, Op::Fence, site);
        }
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
