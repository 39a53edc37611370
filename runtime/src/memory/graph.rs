//! The log of an execution's events, and the window of its graph in which a late effect may close a
//! cycle.

use super::history::{NO_EVENT, StoreId, Stores};
use crate::base::clock::{Clock, Epoch};
use crate::base::memory::{EngineVec, engine_vec};

/// The location of an event that accesses no location.
pub(super) const NOWHERE: u32 = u32::MAX;

/// An event of the graph.
#[derive(Clone, Copy, Debug)]
#[expect(clippy::struct_excessive_bools, reason = "independent facts")]
pub(super) struct Event {
    pub(super) task: u32,
    /// The number of the event among the events of its task, from 1 on.
    pub(super) number: u32,
    /// The index of the entry of the event's task in clocks.
    pub(super) entry: u16,
    /// The epoch of the event.
    pub(super) epoch: Epoch,
    pub(super) location: u32,
    /// The store that the event reads.
    pub(super) reads: Option<StoreId>,
    pub(super) writes: Option<StoreId>,
    /// The event is a sequentially consistent access or fence.
    pub(super) is_sc: bool,
    pub(super) is_fence: bool,
    /// The event is an update that leaves the value unchanged, and is treated as a load.
    pub(super) is_kept: bool,
    /// On x86, the task's stores before this event reach memory before any operation of the task
    /// after this event.
    pub(super) is_locked: bool,
    /// The index of the event's clock in [`Log::clocks`].
    clock: u32,
    /// The next event of the event's task that is an instruction of x86: see [`Self::is_nothing`].
    pub(super) next: u32,
    /// The previous event that reads the same store.
    pub(super) other_reader: u32,
}

impl Event {
    /// Whether the event is a fence that is no instruction on x86.
    pub(super) fn is_nothing(&self) -> bool {
        self.is_fence && !self.is_locked
    }

    /// Whether the event is a store that later loads of its task may overtake on x86.
    pub(super) fn is_plain_store(&self) -> bool {
        self.writes.is_some() && !self.is_locked
    }

    /// Whether the event is a load that may overtake earlier stores of its task on x86.
    pub(super) fn is_plain_load(&self) -> bool {
        self.reads.is_some() && !self.is_locked
    }
}

/// The events of a task.
#[derive(Clone, Copy)]
pub(super) struct TaskEvents {
    /// The number of events.
    count: u32,
    /// The index of the task's newest clock.
    clock: u32,
    /// The newest event that is an instruction of x86.
    newest: u32,
    /// The newest event for which [`Event::is_locked`] is true.
    pub(super) locked: u32,
    /// The index of the clock of the event `newest`.
    known: u32,
}

impl TaskEvents {
    pub(super) const NONE: Self = Self {
        count: 0,
        clock: NO_CLOCK,
        newest: NO_EVENT,
        locked: NO_EVENT,
        known: NO_CLOCK,
    };
}

/// The events of an execution.
pub(super) struct Log {
    events: EngineVec<Event>,
    /// The clocks of the events. Consecutive events of a task share a clock if their clocks are
    /// equal.
    clocks: EngineVec<Clock>,
    used: usize,
    tasks: EngineVec<TaskEvents>,
    /// For each task, the indices of those of its events that are instructions of x86, and whose
    /// clock differs from the clock of the previous instruction.
    changes: EngineVec<EngineVec<u32>>,
    /// The number of sequentially consistent events.
    pub(super) sc: usize,
}

/// The index of the clock of a task that has no clock yet.
const NO_CLOCK: u32 = u32::MAX;

impl Log {
    pub(super) const fn new() -> Self {
        Self {
            events: engine_vec(),
            clocks: engine_vec(),
            used: 0,
            tasks: engine_vec(),
            changes: engine_vec(),
            sc: 0,
        }
    }

    pub(super) fn clear(&mut self) {
        self.events.clear();
        self.used = 0;
        self.tasks.clear();
        self.changes.iter_mut().for_each(EngineVec::clear);
        self.sc = 0;
    }

    pub(super) fn len(&self) -> usize {
        self.events.len()
    }

    pub(super) fn get(&self, event: usize) -> &Event {
        &self.events[event]
    }

    /// The number that the next event of `task` has.
    pub(super) fn next_number(&self, task: u32) -> u32 {
        self.task(task).count + 1
    }

    pub(super) fn task(&self, task: u32) -> TaskEvents {
        let own = self.tasks.get(task as usize);
        own.copied().unwrap_or(TaskEvents::NONE)
    }

    /// The number of tasks up to the last one that has events.
    pub(super) fn tasks(&self) -> usize {
        self.tasks.len()
    }

    /// The first event of `task` that is an instruction of x86 and happens after `event`, an event
    /// of another task. [`NO_EVENT`] if there is none.
    pub(super) fn first_after(&self, event: &Event, task: usize) -> u32 {
        let changes = &self.changes[task];
        let is_known = |&at: &u32| {
            let clock = &self.clocks[self.events[at as usize].clock as usize];
            event.epoch <= clock.get(event.entry)
        };
        // Most events happen before no event of another task.
        match changes.last() {
            Some(newest) if is_known(newest) => {
                changes[changes.partition_point(|at| !is_known(at))]
            }
            _ => NO_EVENT,
        }
    }

    /// A new event of `task`, with this entry and epoch. It is not yet in the log.
    pub(super) fn event_of(&self, task: u32, (entry, epoch): (u16, Epoch)) -> Event {
        Event {
            task,
            number: self.next_number(task),
            entry,
            epoch,
            location: NOWHERE,
            reads: None,
            writes: None,
            is_sc: false,
            is_fence: false,
            is_kept: false,
            is_locked: false,
            clock: NO_CLOCK,
            next: NO_EVENT,
            other_reader: NO_EVENT,
        }
    }

    /// Appends an event with this `clock`. Returns its index in the log.
    pub(super) fn add(&mut self, event: Event, clock: &Clock) -> u32 {
        let task = event.task as usize;
        if task >= self.tasks.len() {
            self.tasks.resize(task + 1, TaskEvents::NONE);
            if task >= self.changes.len() {
                self.changes.resize_with(task + 1, engine_vec);
            }
        }
        let place = self.events.len() as u32;
        let own = &mut self.tasks[task];
        own.count += 1;
        if own.clock == NO_CLOCK || self.clocks[own.clock as usize] != *clock {
            own.clock = self.used as u32;
            match self.clocks.get_mut(self.used) {
                Some(old) => old.assign(clock),
                None => self.clocks.push(clock.clone()),
            }
            self.used += 1;
        }
        if !event.is_nothing() {
            if let Some(before) = self.events.get_mut(own.newest as usize) {
                before.next = place;
            }
            own.newest = place;
            if own.known != own.clock {
                own.known = own.clock;
                self.changes[task].push(place);
            }
        }
        if event.is_locked {
            own.locked = place;
        }
        self.sc += usize::from(event.is_sc);
        self.events.push(Event {
            clock: own.clock,
            ..event
        });
        place
    }
}

/// An event with its positions in the modification order of its location. For the store at place
/// `p` the positions are:
///
/// - `4 * p` for the store itself;
/// - `4 * p + 1` for the readers of the store, and for updates that leave its value unchanged and
///   are treated as loads. These updates come after the store and before the next one. A reader of
///   the value may have read from any of them, so that they are not ordered with the readers;
/// - `4 * p + 2` for a new store between this store and the next one.
#[derive(Clone, Copy, Debug)]
pub(super) struct Node {
    pub(super) event: Event,
    pub(super) reads_at: Option<u32>,
    pub(super) writes_at: Option<u32>,
}

impl Node {
    pub(super) fn new(event: Event, stores: &Stores) -> Self {
        let at = |store: StoreId| 4 * stores.get(store).place;
        let reads_at = event.reads.map(|store| at(store) + 1);
        Self {
            event,
            reads_at,
            writes_at: event.writes.map(at).or(reads_at.filter(|_| event.is_kept)),
        }
    }

    pub(super) fn is_sc_fence(&self) -> bool {
        self.event.is_sc && self.event.is_fence
    }
}

/// The newest events of a graph. The last one is the candidate: the event that may be late.
pub(super) struct Window<'a> {
    pub(super) nodes: &'a [Node],
    log: &'a Log,
    /// The clock of the candidate.
    clock: &'a Clock,
}

impl<'a> Window<'a> {
    pub(super) fn new(nodes: &'a [Node], log: &'a Log, clock: &'a Clock) -> Self {
        Self { nodes, log, clock }
    }

    /// Whether `a` comes before `b` in program order.
    pub(super) fn po(&self, a: usize, b: usize) -> bool {
        let (a, b) = (&self.nodes[a].event, &self.nodes[b].event);
        a.task == b.task && a.number < b.number
    }

    /// Whether `a` and `b` access the same location.
    pub(super) fn meet(&self, a: usize, b: usize) -> bool {
        let (a, b) = (&self.nodes[a].event, &self.nodes[b].event);
        a.location == b.location && a.location != NOWHERE
    }

    /// Whether `a` happens before `b`.
    pub(super) fn hb(&self, a: usize, b: usize) -> bool {
        let (first, second) = (&self.nodes[a].event, &self.nodes[b].event);
        if first.task == second.task {
            return first.number < second.number;
        }
        let clock = if b + 1 == self.nodes.len() {
            self.clock
        } else {
            &self.log.clocks[second.clock as usize]
        };
        first.epoch <= clock.get(first.entry)
    }

    /// Whether `a` comes before `b` in modification order.
    pub(super) fn mo(&self, a: usize, b: usize) -> bool {
        let places = self.nodes[a].writes_at.zip(self.nodes[b].writes_at);
        self.meet(a, b) && places.is_some_and(|(a, b)| a < b)
    }

    /// Whether `a` reads a store that comes before `b` in modification order.
    pub(super) fn rb(&self, a: usize, b: usize) -> bool {
        let places = self.nodes[a].reads_at.zip(self.nodes[b].writes_at);
        self.meet(a, b) && places.is_some_and(|(a, b)| a < b)
    }

    /// Whether `a` comes before `b` in the extended coherence order, the closure of `rf`, `mo` and
    /// `rb`.
    pub(super) fn eco(&self, a: usize, b: usize) -> bool {
        if !self.meet(a, b) {
            return false;
        }
        let (first, second) = (&self.nodes[a], &self.nodes[b]);
        let is_before = |before: Option<u32>, after: Option<u32>| {
            before
                .zip(after)
                .is_some_and(|(before, after)| before < after)
        };
        is_before(first.writes_at, second.reads_at)
            || is_before(first.writes_at, second.writes_at)
            || is_before(first.reads_at, second.writes_at)
            || is_before(first.reads_at, second.reads_at)
    }
}

/// The smallest index in the log among the events of some stores. [`NO_EVENT`] if none of them is
/// in the log.
pub(super) fn first_event(stores: &Stores, some: &[StoreId]) -> u32 {
    let events = some.iter().map(|&store| stores.get(store).event);
    events.min().unwrap_or(NO_EVENT)
}
