//! The events of one execution, and the hash of their happens-before graph.
//!
//! Each event's hash covers the previous event of its task, and the earlier events at its object
//! on which it depends. These are the last write and, since that write, all updates (for a read),
//! all reads (for an update), or both (for a write). The sum of the hashes of all events
//! identifies the graph, in whatever order the execution performed the events (CHESS section
//! 4.4.2; because of the sums, reads of one object commute, and so do updates).

use super::calls::Calls;
use super::object::ObjectTable;
use super::terms::Site;
use super::values::Values;
use super::{Effect, Note, Op, TaskId};
use crate::base::fingerprint::mix;
use crate::base::memory::{EngineVec, engine_vec};
use crate::search::{ObjectId, Trace};

/// One operation of one task.
#[derive(Clone, Copy)]
pub(crate) struct Event {
    pub(crate) site: Option<Site>,
    pub(crate) task: TaskId,
    pub(crate) object: ObjectId,
    pub(crate) op: Op,
    pub(crate) effect: Effect,
    /// The task was switched out by a preemption just before this operation.
    pub(crate) preempted: bool,
    pub(crate) note: Note,
}

impl Event {
    /// Whether `other` is the same operation of the same task on the same object, at the same line.
    pub(crate) fn repeats(&self, other: &Self) -> bool {
        let address = |site: Option<Site>| site.map(core::ptr::from_ref);
        (self.task, self.object, self.op) == (other.task, other.object, other.op)
            && address(self.site) == address(other.site)
    }
}

/// A wait or sleep that ended while another task could run.
#[derive(Clone, Copy)]
pub(crate) struct Early {
    /// The task that waited.
    pub(crate) task: TaskId,
    /// The operation in which the task waited.
    pub(crate) op: Op,
    pub(crate) object: ObjectId,
    pub(crate) site: Option<Site>,
    /// The time from the start of the wait to its deadline, in virtual nanoseconds.
    pub(crate) length: u64,
    /// The number of events of the execution when the wait ended.
    pub(crate) event: u32,
    /// A task that could have run instead, its next operation, and the line of that operation.
    pub(crate) other: (TaskId, Op, Option<Site>),
    /// Whether `other`, too, could continue only by a timeout. Its deadline is then the earlier
    /// one.
    pub(crate) other_waits: bool,
}

/// The operation in the source that caused a touch (an access to an object that the trace records).
#[derive(Clone, Copy)]
pub(crate) struct Label {
    /// The index of the touch in the trace.
    pub(crate) touch: u32,
    pub(crate) op: Op,
    pub(crate) site: Site,
}

/// The events of one execution in the order in which they happened.
pub(crate) struct EventLog {
    pub(crate) events: EngineVec<Event>,
    pub(crate) trace: Trace,
    /// The operations that caused the touches of the trace. They are kept only if `wants_labels`.
    pub(crate) labels: EngineVec<Label>,
    pub(crate) wants_labels: bool,
    pub(crate) values: Values,
    pub(crate) calls: Calls,
    graph: u64,
    /// The maximum number of events that are kept. All events are part of the graph.
    pub(crate) most: usize,
    /// The number of events that are not kept.
    pub(crate) left_out: u64,
    /// Whether each event is reported when it happens.
    pub(crate) is_reported: bool,
}

impl EventLog {
    pub(crate) const fn new() -> Self {
        Self {
            events: engine_vec(),
            trace: Trace::new(),
            labels: engine_vec(),
            wants_labels: false,
            values: Values::new(),
            calls: Calls::new(),
            graph: 0,
            most: usize::MAX,
            left_out: 0,
            is_reported: false,
        }
    }

    #[inline]
    pub(crate) fn clear(&mut self) {
        self.events.clear();
        self.trace.clear();
        self.labels.clear();
        self.values.seen.clear();
        self.calls.clear();
        self.graph = 0;
        self.left_out = 0;
    }

    /// The hash of the happens-before graph so far.
    #[inline]
    pub(crate) fn graph(&self) -> u64 {
        self.graph
    }

    /// Records `event`. `last` is the hash of the previous event of the task, and becomes the hash
    /// of `event`. Returns whether `event` changes an object whose change other tasks await.
    #[inline(always)]
    #[expect(clippy::inline_always, reason = "an event's fields stay in registers")]
    pub(crate) fn record(
        &mut self,
        event: Event,
        objects: &mut ObjectTable,
        last: &mut u64,
    ) -> bool {
        if self.events.len() < self.most {
            self.events.push(event);
        } else {
            self.left_out += 1;
        }
        let effect = event.effect;
        let mut is_watched = false;
        // The operation is in the top byte. One multiplication is enough for all dependences,
        // because their parts are hashes already.
        let own = *last ^ (event.op as u64) << 56;
        if event.object == ObjectId::NONE {
            *last = mix(own, 0);
            self.graph = self.graph.wrapping_add(*last);
        } else {
            is_watched = self.depend_from(own, event.object, effect, objects, last);
            if let Some(strongest) = event.op.strongest_effect() {
                if self.wants_labels {
                    self.label(event.op, event.site);
                }
                self.trace.access(event.object, effect, strongest);
            }
            if matches!(event.op, Op::Join | Op::ScopeEnd) {
                self.trace.joins();
            }
        }
        is_watched
    }

    /// Keeps the operation to which the next touch of the trace belongs.
    // Its arguments are words: if the address of the event were taken, every event would have to
    // be stored in memory.
    #[cold]
    fn label(&mut self, op: Op, site: Option<Site>) {
        if let Some(site) = site.filter(|_| self.trace.is_kept()) {
            let touch = self.trace.touches.len() as u32;
            self.labels.push(Label { touch, op, site });
        }
    }

    /// Makes the newest event also depend on `object`. Returns whether the event changes an object
    /// whose change other tasks await.
    pub(crate) fn depend(
        &mut self,
        object: ObjectId,
        effect: Effect,
        objects: &mut ObjectTable,
        last: &mut u64,
    ) -> bool {
        self.trace.access(object, effect, effect);
        self.depend_from(*last, object, effect, objects, last)
    }

    #[inline]
    fn depend_from(
        &mut self,
        own: u64,
        id: ObjectId,
        effect: Effect,
        objects: &mut ObjectTable,
        last: &mut u64,
    ) -> bool {
        let object = objects.get_mut(id);
        let mut past = object
            .identity
            .wrapping_add(object.last_write.rotate_left(21));
        let hash;
        match effect {
            Effect::Read | Effect::Fail | Effect::TryEnter | Effect::Enter | Effect::Leave => {
                past = past.wrapping_add(object.updates.rotate_left(31));
                hash = mix(own, past);
                object.reads = object.reads.wrapping_add(hash);
            }
            Effect::Update | Effect::Release => {
                past = past.wrapping_add(object.reads.rotate_left(43));
                hash = mix(own, past);
                object.updates = object.updates.wrapping_add(hash);
                object.version = object.version.wrapping_add(1);
            }
            // Entering the queue is no event of the graph: only its consequences are.
            Effect::Queue => {
                object.version = object.version.wrapping_add(1);
                return object.watchers != 0;
            }
            Effect::Acquire | Effect::Rewrite | Effect::Write => {
                let since = object.reads.rotate_left(43);
                past = past.wrapping_add(since.wrapping_add(object.updates.rotate_left(31)));
                hash = mix(own, past);
                object.last_write = hash;
                object.reads = 0;
                object.updates = 0;
                let is_new = effect != Effect::Rewrite;
                object.version = object.version.wrapping_add(u32::from(is_new));
            }
        }
        *last = hash;
        self.graph = self.graph.wrapping_add(hash);
        object.watchers != 0 && !effect.is_quiet()
    }
}
