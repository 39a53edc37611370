//! Data races: two accesses to common memory without an order in Rust's memory model. At least one
//! of them is a write, and at least one is not atomic.
//!
//! The algorithm is `FastTrack` (Flanagan and Freund, PLDI'09): a vector clock for each task and
//! for each object that orders tasks, and for each granule of memory (eight bytes) the epochs of
//! its last accesses. The order is the happens-before relation of the language, on which a program
//! may rely. It is not the order of [`crate::search`], which relates events that depend on each
//! other under a scheduler that runs one task at a time. A `Relaxed` load, for example, orders
//! nothing here.
//!
//! The monitor reports no race on a program without one, as long as all operations that order tasks
//! are reported to it. Code that the engine does not see (inline assembly, code that is compiled
//! unchanged) is assumed to order everything.

mod access_count;
mod accesses;
mod allocated;
mod allocations;
mod clock;
mod epoch_window;
mod events;
mod fast_path;
mod freed_memory;
mod lines;
mod objects;
mod opaque_code;
mod plain;
mod race_points;
mod race_report;
mod record;
mod release_acquire;
mod shadow;
mod shim_interface;
mod stacks;
mod task_order;
mod tasks;
#[cfg(test)]
mod tests;
mod unseen;
mod weak;

use core::cell::Cell;

pub(crate) use shim_interface::{
    Atomic, Message, Paused, acquire, acquire_for, added, atomic, count, enter, enter_unseen,
    fence, fence_all, forget, has_unseen, is_noted, is_noted_at, is_private, is_range_settled,
    is_settled, is_settled_after_count, joined, keeps_stores, leave, leave_value, meet_store,
    meet_value, met_version, notes_late_effect, offer_stores, offered_name, offered_value,
    overtaken_event, pause, receive, release, release_on, release_to, report_access,
    report_access_of_library, resume, resume_unseen, send, settle_store, stack_end, stack_ends,
    switched, time_passes, unmapped, unwatched,
};

use super::levels::{Level, Levels};
use crate::base::memory::{EngineVec, engine_vec};
use crate::execution::{Op, Site, TaskId};
use crate::memory::Memory;
use crate::platform::places;
use access_count::AccessCount;
use allocations::Allocations;
pub(crate) use clock::MOST_EPOCHS;
use clock::{Clock, Epoch, Epochs};
use fast_path::FastPath;
use objects::Objects;
pub(crate) use race_points::{Group, Line, RacePoints};
pub(crate) use race_report::RaceReport;
pub(crate) use record::What;
use record::{Earlier, Record};
pub(crate) use shadow::MOST_MEMORY;
use shadow::Shadow;
use stacks::Stacks;
pub(crate) use task_order::MOST_TASKS;
use task_order::Tasks;
use unseen::Unseen;

/// The tables of the fast path for accesses of this thread: the monitor's tables if the monitor
/// watches the thread's task, otherwise [`fast_path::NONE`]. Each task has its own thread.
#[thread_local]
static FAST_PATH: Cell<*const FastPath> = Cell::new(&raw const fast_path::NONE);

/// Whether the monitor watches this thread: its accesses, and its operations that order tasks.
#[inline]
pub(crate) fn is_watched() -> bool {
    FAST_PATH.get() != &raw const fast_path::NONE
}

/// The treatment of accesses to plain memory in a search.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Accesses {
    /// Accesses are not watched.
    Ignored,
    /// Accesses are watched. The lines that were found to race are scheduling points.
    Watched,
    /// All accesses are scheduling points.
    Preempted,
}

impl Accesses {
    /// The treatment with this name in requests.
    pub(crate) fn named(name: &str) -> Option<Self> {
        Some(match name {
            "ignore" => Self::Ignored,
            "watch" => Self::Watched,
            "preempt" => Self::Preempted,
            _ => return None,
        })
    }
}

/// The results of a search so far that stay valid when the search begins anew.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Learnt {
    /// The number of lines that are scheduling points.
    pub(crate) points: usize,
    /// The number of races that were reported, and are no failures any more.
    pub(crate) forgiven: usize,
}

impl Learnt {
    pub(crate) const NOTHING: Self = Self {
        points: 0,
        forgiven: 0,
    };
}

/// The reason why the monitor stopped watching an execution.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum GivenUp {
    /// There are more tasks than entries in a clock.
    Tasks,
    /// The program accessed so much memory that there was no room for the history of all of it.
    Memory,
    /// There were more releases than numbers for epochs: each release ends an epoch.
    Releases,
}

/// The execution in which the monitor walks the stack at each free that races, to find the place of
/// the free. Such an execution repeats one that failed.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Look {
    No,
    InNextExecution,
    Now,
}

/// The fences of all tasks (see [`Races::fence_all`]).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum FencesOfAll {
    /// No task has performed such a fence.
    NotMet,
    /// A task has performed one in this execution, and the epochs are not split for it.
    Met,
    /// [`Group::Fences`] is among the scheduling points, for example because an earlier execution
    /// had such a fence. So the accesses between two operations of a task have an epoch of their
    /// own.
    Expected,
}

/// The data race monitor. Most of its state is that of one execution.
pub(crate) struct Races {
    /// Whether executions must be watched.
    is_wanted: bool,
    look: Look,
    /// Whether this execution is watched, and the monitor has not given up.
    is_on: bool,
    /// The reason why the monitor has given up this execution.
    pub(crate) given_up: Option<GivenUp>,
    epochs: Epochs,
    tasks: Tasks,
    objects: Objects,
    shadow: Shadow,
    allocations: Allocations,
    /// The bounds of memory that was allocated before this execution, and freed in this execution.
    freed: EngineVec<(usize, usize)>,
    /// The calls of [`Self::release_on`] in this execution: pairs of a task and the address of a
    /// reference counter. The last user of a counter frees the memory that contains the counter.
    last_users: EngineVec<(TaskId, usize)>,
    fast_path: FastPath,
    stacks: Stacks,
    records: EngineVec<Record>,
    /// The number of `records` that belong to this execution.
    used: usize,
    /// The clocks that were sent with messages. A clock whose index is in `received` can be reused.
    messages: EngineVec<Clock>,
    received: EngineVec<u32>,
    fences_of_all: FencesOfAll,
    /// An unseen operation may have ordered tasks. From then on, each operation is assumed to
    /// happen after all earlier operations.
    orders_all: bool,
    unseen: Unseen,
    found: EngineVec<RaceReport>,
    /// The pairs of lines that raced in earlier executions.
    pub(crate) known: EngineVec<u64>,
    /// The first `forgiven` pairs of `known` are no failures any more.
    pub(crate) forgiven: usize,
    levels: Levels,
    pub(crate) points: RacePoints,
    count: AccessCount,
    /// The stores of atomic locations, under a weak memory model.
    pub(crate) memory: Memory,
}

impl Races {
    pub(crate) const fn new() -> Self {
        Self {
            is_wanted: false,
            look: Look::No,
            is_on: false,
            given_up: None,
            epochs: Epochs::new(),
            tasks: Tasks::new(),
            objects: Objects::new(),
            shadow: Shadow::new(),
            allocations: Allocations::new(),
            freed: engine_vec(),
            last_users: engine_vec(),
            fast_path: FastPath::new(),
            stacks: Stacks::new(),
            records: engine_vec(),
            used: 0,
            messages: engine_vec(),
            received: engine_vec(),
            fences_of_all: FencesOfAll::NotMet,
            orders_all: false,
            unseen: Unseen::new(),
            found: engine_vec(),
            known: engine_vec(),
            forgiven: 0,
            levels: Levels::new(Level::Deny),
            points: RacePoints::new(),
            count: AccessCount::new(),
            memory: Memory::new(),
        }
    }

    /// Watches accesses from the next execution on. All accesses are scheduling points if
    /// `all_are_points` is true. Otherwise only the accesses of lines that were found to race are
    /// scheduling points.
    pub(crate) fn turn_on(&mut self, all_are_points: bool) {
        self.is_wanted = true;
        self.fast_path.has_all_lines = lines::are_all_near();
        self.stacks.are_special = places::are_loaded();
        self.points.all = all_are_points;
    }

    /// Sets the level of each race by the files of its lines: see [`Levels::set`].
    pub(crate) fn set_levels(&mut self, of_others: Level, rules: &[(String, Level)]) {
        self.levels.set(of_others, rules);
    }

    /// The level of a race: the lower level of its two lines. So a race is allowed if the races of
    /// one of its packages are allowed.
    fn level_of(&self, found: &RaceReport) -> Level {
        let level = |site: Option<Site>| site.map_or(Level::Deny, |site| self.levels.of(site));
        let [first, second] = found.sites().map(level);
        first.min(second)
    }

    /// The races of the last execution with this level, in the order in which they were found.
    /// Races that were reported after earlier executions are left out.
    pub(crate) fn found(&self, level: Level) -> impl Iterator<Item = &RaceReport> {
        let forgiven = &self.known[..self.forgiven];
        self.found
            .iter()
            .filter(move |found| self.level_of(found) == level)
            .filter(move |found| forgiven.is_empty() || !forgiven.contains(&found.pair()))
    }

    /// The source files of those lines of a race that have the level of the race.
    pub(crate) fn files_of(&self, found: &RaceReport) -> impl Iterator<Item = &'static str> {
        let level = self.level_of(found);
        let sites = found.sites().into_iter().flatten();
        sites
            .filter(move |site| self.levels.of(site) == level)
            .map(core::panic::Location::file)
    }

    /// The results of the executions so far.
    pub(crate) fn learnt(&self) -> Learnt {
        Learnt {
            points: self.points.count(),
            forgiven: self.forgiven,
        }
    }

    /// Restores the results that [`Self::learnt`] returned at an earlier moment.
    pub(crate) fn recall(&mut self, learnt: Learnt) {
        self.points.set_count(learnt.points);
        self.forgiven = learnt.forgiven.min(self.known.len());
    }

    /// Whether some pair of lines raced in the last execution, and in no earlier one.
    pub(crate) fn has_news(&self) -> bool {
        self.found
            .iter()
            .any(|found| !self.known.contains(&found.pair()))
    }

    /// Records the pairs of lines that raced in the last execution. From now on, they cause no
    /// failure. Makes the lines of these pairs scheduling points, if `is_preempted` returns `true`
    /// for them. Returns whether this added a scheduling point.
    pub(crate) fn learn(&mut self, mut is_preempted: impl FnMut(Site) -> bool) -> bool {
        let before = self.points.count();
        for found in &self.found {
            if !self.known.contains(&found.pair()) {
                self.known.push(found.pair());
            }
            let sites = found.sites().into_iter().flatten();
            for site in sites.filter(|site| is_preempted(site)) {
                self.points.add(site);
            }
        }
        self.forgiven = self.known.len();
        self.points.count() > before
    }

    /// From the next execution on, accesses at lines that were found to race have events, even if
    /// the lines are no scheduling points.
    pub(crate) fn show(&mut self) {
        let before = self.learnt();
        self.learn(|_| true);
        self.recall(before);
        self.points.show_all();
    }

    /// Whether a task has performed a fence of all tasks, although the epochs were not split.
    pub(crate) fn must_split_epochs(&self) -> bool {
        self.fences_of_all == FencesOfAll::Met
    }

    /// Counts the accesses of the next execution.
    pub(crate) fn count_next(&mut self) {
        self.count.request();
    }

    /// The number of accesses in the last execution that was counted: see
    /// [`AccessCount::accesses`].
    pub(crate) fn counted(&self) -> u64 {
        self.count.accesses()
    }

    /// Begins a new execution. `is_put_back`: whether the program's memory was restored.
    pub(crate) fn renew(&mut self, is_put_back: bool) {
        self.look = match self.look {
            Look::InNextExecution => Look::Now,
            Look::No | Look::Now => Look::No,
        };
        self.is_on = self.is_wanted;
        self.given_up = None;
        self.fences_of_all = if self.points.has(Group::Fences) {
            FencesOfAll::Expected
        } else {
            FencesOfAll::NotMet
        };
        let forgets = self.epochs.begin();
        self.begin_memory(is_put_back);
        let fresh = self.allocations.begin(is_put_back);
        // If memory is restored to another state than before, an address may be in another block.
        let has_moved = is_put_back && fresh != self.shadow.fresh();
        self.shadow.begin(forgets || has_moved, fresh);
        self.count.begin(self.is_on);
        self.fast_path.hide();
        self.fast_path.forget_pages();
        if self.points.have_changed() {
            self.fast_path.forget_lines();
        }
        self.objects.begin();
        self.used = 0;
        self.tasks.begin();
        self.stacks.begin();
        self.received.clear();
        self.received.extend(0..self.messages.len() as u32);
        self.last_users.clear();
        self.orders_all = false;
        self.unseen.begin();
        self.found.clear();
        self.memory.clear();
    }

    /// Stops watching this execution. The races found so far remain valid.
    #[cold]
    fn give_up(&mut self, why: GivenUp) {
        self.is_on = false;
        self.given_up = Some(why);
        // From now on the fast path records no access, so that all accesses reach the other
        // monitors.
        self.shadow.begin(true, usize::MAX);
        self.fast_path.hide();
        self.fast_path.forget_pages();
    }

    /// Adds the clocks that were released to `object` to the clock of `task`. `excludes`: whether
    /// the task holds the object exclusively.
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
        self.log_other(task);
    }

    /// Releases all later operations of `task` to the reference counter at the address `object`:
    /// the runtime does not see at which later operation the task releases the counter. If `task`
    /// frees the memory that contains the counter, the task was its last user, and acquires the
    /// counter.
    pub(crate) fn release_on(&mut self, task: TaskId, object: usize) {
        self.objects.at(object).until = Some(task);
        self.last_users.push((task, object));
    }

    /// Releases the clock of `task` to `object`. All tasks that acquire the object get the clock if
    /// `to_all` is true. Otherwise only tasks that acquire the object exclusively do.
    pub(crate) fn release(
        &mut self,
        task: TaskId,
        object: usize,
        to_all: bool,
        (op, site): (Op, Option<Site>),
    ) {
        self.log_other(task);
        let own = &self.tasks.get(task).clock;
        let object = self.objects.at(object);
        if to_all {
            object.all.join(own);
        } else {
            object.exclusive.join(own);
        }
        self.end_epoch(task, op, site);
    }

    /// Records that `task` sends a message. Returns the number of the clock that is sent with the
    /// message.
    pub(crate) fn send(&mut self, task: TaskId, op: Op, site: Option<Site>) -> u32 {
        self.log_other(task);
        let message = self.received.pop().unwrap_or_else(|| {
            self.messages.push(Clock::new());
            (self.messages.len() - 1) as u32
        });
        self.messages[message as usize].assign(&self.tasks.get(task).clock);
        self.end_epoch(task, op, site);
        message
    }

    /// Records that `task` receives the clock that was sent with a message.
    pub(crate) fn receive(&mut self, task: TaskId, message: u32) {
        let own = &mut self.tasks.get_mut(task).clock;
        own.join(&self.messages[message as usize]);
        self.received.push(message);
        self.log_other(task);
    }
}
