//! Scheduling points: the arrival of operations, yields, and the records of events.
//!
//! `preemption.rs` has the rule of which switches cost a preemption.

use super::descriptors::has_fixed_name;
use super::detached::calls_in_progress;
use super::event::Event;
use super::fairness::{POLL_COST, READ_COST, YIELD_COST};
use super::policy::Policy;
use super::spin::Access;
use super::state::{Ending, Execution};
use super::task::Task;
use super::terms::{NO_LINE, Site, Step};
use super::waiting_loops::UNCLEAN;
use super::{Effect, Note, Op, mark};
use crate::search::ObjectId;

/// The kind of place at which an operation arrives.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Arrival {
    /// A scheduling point.
    Point,
    /// A scheduling point at which the task has been spinning.
    Spin,
    /// Within a call into `atomic` code.
    Inside,
}

impl Execution {
    /// The object at `address`, which is added at its first use. [`ObjectId::NONE`] for address 0.
    #[inline]
    pub(crate) fn object(&mut self, address: usize) -> ObjectId {
        if address == 0 {
            return ObjectId::NONE;
        }
        match self.objects.find(address) {
            Some(object) => object,
            None => self.first_use(address),
        }
    }

    /// The object at `address`. `identity` identifies the object in hashes if this is its first
    /// use.
    pub(super) fn object_of(&mut self, address: usize, identity: u64) -> ObjectId {
        let object = self.objects.at(address, identity);
        self.log.trace.numbering = self.objects.numbering;
        object
    }

    #[inline(never)]
    fn first_use(&mut self, address: usize) -> ObjectId {
        let identity = if has_fixed_name(address) {
            address as u64
        } else {
            self.schedule.tasks.running().last_event
        };
        self.object_of(address, identity)
    }

    /// The current task arrives at a scheduling point before `op`.
    // Not inlined: see `transfer::spin`.
    #[inline(never)]
    pub(crate) fn arrive(&mut self, op: Op, object: ObjectId, site: Option<Site>) -> Step {
        match self.announce(op, object, site) {
            Arrival::Point => self.decide(false),
            Arrival::Spin => self.arrive_again(),
            Arrival::Inside => self.inside_step(),
        }
    }

    /// Records the next operation of the current task. Returns the kind of place at which the task
    /// arrives.
    #[inline]
    pub(crate) fn announce(&mut self, op: Op, object: ObjectId, site: Option<Site>) -> Arrival {
        let policy = site.and_then(|site| self.policies.of(site));
        let task = self.schedule.tasks.running_mut();
        task.op = op;
        task.object = object;
        let inside = match policy {
            Some(Policy::Preempt) => {
                mark::leave();
                false
            }
            Some(Policy::Atomic) => mark::enter(),
            None => mark::is_inside(),
        };
        if let Some(site) = site {
            task.site = Some(site);
            if task.spin.is_watching() && object != ObjectId::NONE {
                let version = self.objects.get(object).version;
                if task.spin.spins(Access::new(op, site, object), version) {
                    self.report_point();
                    return Arrival::Spin;
                }
            }
        }
        self.report_point();
        if inside {
            Arrival::Inside
        } else {
            Arrival::Point
        }
    }

    /// Whether the code at `site` is of policy `preempt`.
    pub(crate) fn is_preempted_at(&mut self, site: Site) -> bool {
        self.policies.of(site) == Some(Policy::Preempt)
    }

    /// The current task performs `op` within its step. There is no scheduling point before `op`,
    /// since `op` commutes with all operations that other tasks could perform.
    pub(super) fn pass(&mut self, op: Op, site: Site) -> Step {
        // A call into `atomic` code has one scheduling point, at its first operation that has one.
        // This operation has none, so it does not begin such a call.
        if self.policies.of(site) == Some(Policy::Preempt) {
            mark::leave();
        }
        let task = self.running();
        task.op = op;
        task.object = ObjectId::NONE;
        task.site = Some(site);
        self.report_point();
        self.count_step()
    }

    /// Counts a step inside a call into `atomic` code. This is no scheduling point.
    #[inline]
    pub(crate) fn inside_step(&mut self) -> Step {
        self.log.trace.continue_step();
        self.count_step()
    }

    /// Counts a step without a choice.
    #[inline]
    pub(super) fn count_step(&mut self) -> Step {
        self.pulse += 1;
        self.budget.steps += 1;
        if self.budget.steps >= self.budget.horizon && self.passes_limit() {
            Step::End
        } else {
            Step::Continue
        }
    }

    /// The current task yields: switching away is free. `state` is a hash of the task's state, or 0
    /// if it is not known.
    pub(crate) fn yield_step(&mut self, state: u64) -> Step {
        self.budget.last_wait = self.budget.steps;
        self.give_way(state, false)
    }

    /// The current task arrives before a read that it has repeated several times without a yield of
    /// its own.
    #[cold]
    pub(super) fn arrive_again(&mut self) -> Step {
        if self.overstays() {
            return self.overstay(READ_COST);
        }
        let task = self.running();
        let site = task.site.unwrap_or(NO_LINE);
        let read = Access::new(task.op, site, task.object);
        self.repeat(read)
    }

    /// The current task arrives before `read`, which was announced. The task has repeated this read
    /// several times without a yield of its own.
    #[cold]
    pub(super) fn repeat(&mut self, read: Access) -> Step {
        if self.running().spin.ends_before(read) {
            return Step::Spin;
        }
        if self.schedule.enabled.is_only(self.schedule.current) {
            self.budget.last_wait = self.budget.steps;
        }
        self.spin_to_others()
    }

    /// As [`Self::repeat`], for a call that reads state which something unseen may change. No task
    /// awaits such a change.
    #[cold]
    pub(super) fn poll_again(&mut self, read: Access) -> Step {
        self.running().spin.polls();
        self.repeat(read)
    }

    /// The current task spins in this `state`. The spin counts as a wait if the state is not known,
    /// or if no other task is enabled. In other cases, the task may be in a long computation as
    /// long as its state changes.
    pub(super) fn spin_step(&mut self, state: u64) -> Step {
        let is_unknown = state == 0 && self.looks_at_state(true);
        if is_unknown || self.schedule.enabled.is_only(self.schedule.current) {
            self.budget.last_wait = self.budget.steps;
        }
        self.running().spin.count_spin();
        self.give_way(state, true)
    }

    /// Lets other tasks run, because the current task spins. Its further iterations may differ.
    fn spin_to_others(&mut self) -> Step {
        let spin = &self.running().spin;
        if !spin.is_yield() {
            return self.decide(false);
        }
        let is_alone = self.schedule.enabled.is_only(self.schedule.current);
        if !self.running().spin.is_only_long() {
            self.budget.last_wait = self.budget.steps;
        } else if !is_alone && self.report_spin(false).is_break() {
            return self.stop();
        }
        self.yield_to_others()
    }

    /// The current task yields in this `state`. `spins` states that the task spins, and the
    /// program has no yield here.
    fn give_way(&mut self, state: u64, spins: bool) -> Step {
        if state == UNCLEAN {
            return self.end(Ending::Unclean);
        }
        if self.repeats_its_iteration(state) {
            self.budget.last_wait = self.budget.steps;
            if spins && self.report_spin(true).is_break() {
                return self.stop();
            }
            return self.await_change();
        }
        if spins {
            self.spin_to_others()
        } else {
            self.yield_to_others()
        }
    }

    /// Lets other tasks run, because the current task yields or spins. Its further iterations may
    /// differ; otherwise it would await a change.
    fn yield_to_others(&mut self) -> Step {
        if self.body_done {
            self.running().idle_yields += 1;
        }
        if self.overstays() {
            let cost = if self.running().spin.is_poll() {
                POLL_COST
            } else {
                YIELD_COST
            };
            return self.overstay(cost);
        }
        // A task that may be about to await a change (`await_change`) is not held back before that:
        // otherwise, the scheduler and not the program would determine which tasks continue.
        if !self.running().spin.is_new() {
            self.yield_fairly();
        }
        self.decide(true)
    }

    /// Records the event of the current task's operation. The returned step states whether the
    /// execution continues. A caller that cannot perform the step may ignore it: then the execution
    /// ends at the next step of the task.
    // Not inlined: see `transfer::spin`.
    #[inline(never)]
    pub(crate) fn record(
        &mut self,
        op: Op,
        id: ObjectId,
        effect: Effect,
        site: Option<Site>,
    ) -> Step {
        if self.schedule.tasks.running().watches {
            self.look_again();
        }
        let task = self.schedule.tasks.running_mut();
        match site {
            Some(site) if id != ObjectId::NONE && effect.is_quiet() => {
                let version = match task.reads_version.take() {
                    Some(version) => version,
                    None => self.objects.get(id).version,
                };
                task.spin.read(Access::new(op, site, id), version);
                if op.is_atomic() && self.observers.of_atomics {
                    self.read_unseen(op, site);
                }
            }
            // These operations change nothing: lock-free code has fences between the loads of a
            // loop that waits, and yields end the iterations of such a loop.
            _ if op == Op::Fence => task.fenced = true,
            _ if matches!(op, Op::YieldNow | Op::SpinLoop) => {}
            _ => task.spin.progress(),
        }
        self.log_event(op, id, effect, site)
    }

    /// As [`Self::record`], without an effect on the detection of spins.
    #[inline]
    pub(super) fn log_event(
        &mut self,
        op: Op,
        id: ObjectId,
        effect: Effect,
        site: Option<Site>,
    ) -> Step {
        let task = self.schedule.tasks.running_mut();
        let preempted = core::mem::replace(&mut task.preempted, false);
        let note = core::mem::replace(&mut task.note, Note::NONE);
        let current = self.schedule.current;
        // A value for each use: a value whose address is taken would always be stored in memory.
        let event = || Event {
            site,
            task: current,
            object: id,
            op,
            effect,
            preempted,
            note,
        };
        let is_watched = self
            .log
            .record(event(), &mut self.objects, &mut task.last_event);
        if self.components.are_any() {
            self.depend_on_life();
        }
        if self.log.values.is_wanted && self.log.events.len() < self.log.most {
            self.log
                .calls
                .event_happens(self.log.events.len() - 1, calls_in_progress);
        }
        if self.log.is_reported {
            self.report_event(&event());
        }
        if is_watched {
            self.wake_watchers(id);
        }
        if self.observers.of_invariants {
            self.invariants.changes(id, effect);
        }
        if op.is_atomic() && self.observers.of_atomics {
            self.depend_on_unseen();
        }
        self.report_access(op, id, effect, site)
    }

    /// Records that the newest event also touches `object`. Returns the same as [`Self::record`].
    pub(super) fn touch(&mut self, object: ObjectId, effect: Effect) -> Step {
        let task = self.schedule.tasks.running_mut();
        let is_watched = self
            .log
            .depend(object, effect, &mut self.objects, &mut task.last_event);
        if is_watched {
            self.wake_watchers(object);
        }
        if self.observers.of_invariants {
            self.invariants.changes(object, effect);
        }
        let Task { op, site, .. } = *self.schedule.tasks.running();
        self.report_access(op, object, effect, site)
    }
}
