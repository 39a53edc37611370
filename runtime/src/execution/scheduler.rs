//! The scheduler: the choice of the task that performs the next step.
//!
//! `preemption.rs` decides which switches are free.

use super::TaskId;
use super::options::Timers;
use super::preemption::SwitchCosts;
use super::schedule::Schedule;
use super::state::{Ending, Execution};
use super::terms::Step;
use crate::base::fingerprint::mix;
use crate::base::memory::{EngineVec, engine_vec};
use crate::search::{ChoicePoint, Decision, Outcomes, Past, SchedulingPoint, TraceStep};

/// A task is idle after this number of yields that followed the end of the test's body and the last
/// wake-up of the task.
const IDLE_TURNS: u32 = 3;

/// Up to this number of tasks, the options are listed on the stack instead of in a vector.
const FEW: usize = 8;

impl Execution {
    /// The core of the scheduler: decides which task performs the next step. `yielded` states that
    /// the current task gives way.
    pub(crate) fn decide(&mut self, yielded: bool) -> Step {
        self.decide_unless(false, yielded)
    }

    /// As [`Self::decide`]. If `overstays`, the current task continues without a choice, unless its
    /// time slice is over.
    #[inline(always)]
    #[expect(clippy::inline_always, reason = "as `choose`")]
    pub(super) fn decide_unless(&mut self, overstays: bool, yielded: bool) -> Step {
        self.pulse += 1;
        self.budget.steps += 1;
        // If an invariant is still due here, its check would come after other steps. Then no two
        // schedules are known to be equivalent.
        self.log.trace.is_irregular |= self.observers.of_invariants && self.invariants.are_due;
        if yielded {
            self.log.trace.yields();
        }
        let mut yielded = yielded;
        if self.budget.steps >= self.budget.horizon {
            if self.passes_limit() {
                return Step::End;
            }
            yielded |= self.slice_is_over();
        }
        let is_alone = overstays && !yielded
            || self.schedule.enabled.is_only(self.schedule.current)
                && self.schedule.late.is_empty();
        if !is_alone || self.body_done || yielded && self.awaits_outside() {
            return self.choose_next(yielded);
        }
        self.schedule
            .fairness
            .ran(self.schedule.current, self.budget.steps);
        self.log.trace.begin(
            self.schedule.current,
            TraceStep::NONE,
            TraceStep::NONE,
            false,
        );
        Step::Continue
    }

    pub(super) fn choose_next(&mut self, yielded: bool) -> Step {
        let is_plain = self.schedule.late.is_empty()
            && !self.schedule.fairness.restrains()
            && !self.awaits_outside()
            && !self.body_done
            && !self.policies.confines()
            && self.schedule.live <= FEW;
        match self.schedule.enabled.small() {
            Some(enabled) if is_plain && enabled != 0 => {
                let decided = self.recording.decisions.len();
                let next = self.choose_of_few(enabled, yielded);
                self.begin_step(next, decided)
            }
            _ => self.choose_in_general(yielded),
        }
    }

    /// As [`Self::choose_next`], for all cases: fairness may hold tasks back, for example, or tasks
    /// may wait for something outside the process.
    #[inline(never)]
    fn choose_in_general(&mut self, yielded: bool) -> Step {
        if self.awaits_outside() {
            self.wait_outside(yielded);
        }
        let mut ends_idle_wait = false;
        if self.schedule.enabled.is_empty() {
            let is_over = self.body_done || self.unmet_assumption.is_some();
            ends_idle_wait = !is_over && self.ends_idle_wait();
            if is_over || !ends_idle_wait && !self.stops_awaiting() && !self.enable_set_aside() {
                let ending = if self.body_done {
                    Ending::Finished
                } else {
                    Ending::Deadlock
                };
                return self.end(ending);
            }
        }
        if self.body_done && self.is_idle() {
            return self.end(Ending::Finished);
        }
        self.log.trace.has_timers |= !self.schedule.late.is_empty();
        self.log.trace.is_irregular |= self.schedule.fairness.restrains();
        let decided = self.recording.decisions.len();
        let preemptions = self.recording.preemptions;
        let next = if !yielded && self.policies.confines() && self.holds_on() {
            self.pass_over()
        } else {
            self.choose_of_many(yielded)
        };
        let step = self.begin_step(next, decided);
        if ends_idle_wait {
            self.trace_idle(next);
        }
        if self.schedule.late.contains(next) {
            let is_early = self.recording.preemptions > preemptions;
            self.fire_timers(next, is_early);
        }
        step
    }

    /// Whether the current task can continue, and may not be preempted here.
    #[cold]
    fn holds_on(&self) -> bool {
        let current = self.schedule.current;
        self.schedule.enabled.contains(current)
            && !self.schedule.late.contains(current)
            && (!self.schedule.fairness.restrains()
                || self
                    .schedule
                    .fairness
                    .allows(current, &self.schedule.enabled))
            && !self.policies.may_preempt_at(self.task(current).site)
    }

    /// Returns the current task, which continues because the search is confined: it preempts only
    /// before some lines. Records the point if another search would have a choice here.
    #[cold]
    fn pass_over(&mut self) -> TaskId {
        self.list_many(false);
        if self.schedule.candidates.len() > 1 && !self.budget.past_limit {
            let place = self.recording.decisions.len() as u32;
            self.recording
                .passed_over
                .push((place, self.schedule.current));
        }
        self.schedule.current
    }

    /// The decisions of this execution, with those that a search without a confinement to some
    /// lines would have made in addition.
    pub(crate) fn whole_decisions(&self) -> EngineVec<Decision> {
        let mut whole = engine_vec();
        let mut next = 0;
        for &(place, task) in &self.recording.passed_over {
            whole.extend_from_slice(&self.recording.decisions[next..place as usize]);
            whole.push(Decision::Task(task));
            next = place as usize;
        }
        whole.extend_from_slice(&self.recording.decisions[next..]);
        whole
    }

    /// Begins a step of `task`. The decision numbered `decided` has chosen the task, if there is
    /// such a decision.
    #[inline(always)]
    #[expect(clippy::inline_always, reason = "as `choose`")]
    fn begin_step(&mut self, task: TaskId, decided: usize) -> Step {
        let decision = if self.recording.decisions.len() == decided {
            TraceStep::NONE
        } else {
            decided as u32
        };
        let woken = &mut self.schedule.tasks[task.0 as usize];
        let waker = core::mem::replace(&mut woken.waker, TraceStep::NONE);
        let timed = woken.timed.take();
        self.log.trace.begin(task, decision, waker, woken.retries);
        if let Some(object) = timed {
            self.trace_timed(task, object);
        }
        self.schedule.fairness.ran(task, self.budget.steps);
        if task == self.schedule.current {
            Step::Continue
        } else {
            self.budget.last_switch = self.budget.steps;
            Step::Switch(task)
        }
    }

    /// The common case: few tasks, all runnable, none restrained. The options stay in registers and
    /// on the stack, because this code runs at every scheduling point.
    #[inline(always)]
    #[expect(clippy::inline_always, reason = "as `choose`")]
    fn choose_of_few(&mut self, enabled: u64, yielded: bool) -> TaskId {
        let mut options = [TaskId(0); FEW];
        let mut count = 0;
        let mut add = |task| {
            options[count] = task;
            count += 1;
        };
        let current = self.schedule.current;
        let own = if current.0 < u64::BITS {
            1 << current.0
        } else {
            0
        };
        let runs_on = enabled & own != 0;
        if runs_on && !yielded {
            add(current);
        }
        let mut others = enabled & !own;
        while others != 0 {
            add(TaskId(others.trailing_zeros()));
            others &= others - 1;
        }
        if runs_on && yielded {
            add(current);
        }
        let costs = SwitchCosts::new(runs_on, yielded, count);
        self.choose(&options[..count], costs)
    }

    #[cold]
    fn choose_of_many(&mut self, yielded: bool) -> TaskId {
        let runs_on = self.list_many(yielded);
        let mut options = core::mem::replace(&mut self.schedule.candidates, engine_vec());
        let is_runnable = |task: &TaskId| !self.schedule.late.contains(*task);
        let runnable = options.partition_point(is_runnable);
        let mut costs = SwitchCosts::new(runs_on, yielded, runnable);
        costs.may_overstay = yielded && self.is_held_back();
        if costs.may_overstay {
            options.push(self.schedule.current);
        }
        let next = self.choose(&options, costs);
        if costs.may_overstay && next == self.schedule.current {
            self.begin_overstay();
        }
        self.schedule.candidates = options;
        next
    }

    /// Lets the strategy choose one of the options, if there is a choice.
    #[inline(always)]
    #[expect(
        clippy::inline_always,
        reason = "a call at each scheduling point shows in the benchmarks"
    )]
    fn choose(&mut self, options: &[TaskId], costs: SwitchCosts) -> TaskId {
        let current = self.schedule.current;
        if options.len() == 1 {
            return options[0];
        }
        if self.budget.past_limit {
            return self.longest_waiting(options, costs.free);
        }
        let place = u64::from(current.0) << 32 | self.log.events.len() as u64;
        self.recording.prefix = mix(
            self.recording.prefix ^ self.schedule.enabled.fingerprint(),
            place,
        );
        let (tasks, objects) = (&self.schedule.tasks, &self.objects);
        let point = SchedulingPoint {
            index: self.recording.decisions.len() as u32,
            options,
            free: costs.free as u32,
            may_overstay: costs.may_overstay,
            prefix: self.recording.prefix,
            step: self.log.trace.steps.len() as u32,
            event: self.log.events.len() as u32,
            pending: &|task| tasks[task.0 as usize].pending(objects),
            past: Past {
                trace: &self.log.trace,
                name: &|object| objects.get(object).address,
            },
        };
        let strategy = self.strategy.as_mut().expect("an execution has a strategy");
        let chosen = strategy.choose_task(&point);
        let next = options[chosen];
        self.recording.decisions.push(Decision::Task(next));
        self.recording.prefix ^= u64::from(next.0) << 48;
        self.count_switch(costs, chosen);
        next
    }

    /// Fills `candidates`. The first candidate is the task that runs next in an execution without
    /// preemptions. Tasks that could only time out come last, the earliest deadline first. Returns
    /// whether the current task can continue.
    fn list_many(&mut self, yielded: bool) -> bool {
        let Schedule {
            candidates,
            enabled,
            late,
            fairness,
            is_fair_only,
            tasks,
            current,
            ..
        } = &mut self.schedule;
        let current = *current;
        candidates.clear();
        let restrained = fairness.restrains();
        let allowed = |task| !restrained || fairness.allows(task, enabled);
        *is_fair_only |= restrained && !enabled.iter().all(allowed);
        enabled.append_without(late, candidates);
        if restrained {
            candidates.retain(|&task| allowed(task));
        }
        let own_place = candidates.binary_search(&current).ok();
        if let Some(place) = own_place {
            candidates.remove(place);
            let place = if yielded { candidates.len() } else { 0 };
            candidates.insert(place, current);
        }
        let first_late = candidates.len();
        candidates.extend(late.iter().filter(|&task| allowed(task)));
        // In the order of virtual time: the earliest deadline first.
        candidates[first_late..]
            .sort_unstable_by_key(|&task| (tasks[task.0 as usize].deadline, task));
        debug_assert!(!candidates.is_empty(), "the fair relation is acyclic");
        self.budget.candidates += candidates.len() as u64;
        // Past the limit each step takes time: a sleep ends, however long the other tasks poll.
        if self.options.timers == Timers::Last && !self.budget.past_limit {
            candidates.truncate(first_late.max(1));
        }
        own_place.is_some()
    }

    /// Lets the search choose one of `outcomes` outcomes of the current task's operation. The
    /// outcome is 0 without a choice if there is only one, or past the step limit.
    pub(crate) fn choose_outcome(&mut self, outcomes: u32, kind: Outcomes<'_>) -> u32 {
        if outcomes >= 2 && !self.budget.past_limit {
            self.running().spin.read_unversioned();
        }
        self.choose_unseen(outcomes, kind)
    }

    /// As [`Self::choose_outcome`], for a choice whose outcome 0 leaves the task unchanged. A loop
    /// that waits may repeat an iteration with such a choice.
    pub(super) fn choose_unseen(&mut self, outcomes: u32, kind: Outcomes<'_>) -> u32 {
        if outcomes < 2 {
            return 0;
        }
        if self.budget.past_limit {
            self.budget.omits_outcome = true;
            return 0;
        }
        self.recording.prefix = mix(self.recording.prefix, 0xc401_ce00 | u64::from(outcomes));
        let objects = &self.objects;
        let point = ChoicePoint {
            index: self.recording.decisions.len() as u32,
            outcomes,
            kind,
            event: self.log.events.len() as u32,
            prefix: self.recording.prefix,
            past: Past {
                trace: &self.log.trace,
                name: &|object| objects.get(object).address,
            },
        };
        let strategy = self.strategy.as_mut().expect("an execution has a strategy");
        let outcome = strategy.choose_outcome(&point);
        let (costs, name) = (point.costs(), point.name(outcome));
        self.recording.decisions.push(Decision::Outcome(outcome));
        self.recording.prefix = mix(self.recording.prefix, outcome.into());
        self.count_outcome(costs, outcome);
        if outcome != 0 {
            // The behaviour of the task after the operation depends on the outcome.
            let last = &mut self.running().last_event;
            *last = mix(*last, name);
        }
        outcome
    }

    /// Whether every enabled task only polls or waits for time.
    #[cold]
    fn is_idle(&self) -> bool {
        self.schedule.enabled.iter().all(|id| {
            let task = self.task(id);
            self.schedule.late.contains(id) || task.idle_yields >= IDLE_TURNS
        })
    }

    /// Ends the execution.
    pub(crate) fn end(&mut self, ending: Ending) -> Step {
        self.ending = match ending {
            Ending::Finished | Ending::Deadlock if self.unmet_assumption.is_some() => {
                Ending::Assumption
            }
            ending => ending,
        };
        // The further operations of tasks that still sleep are not known.
        self.log.trace.is_irregular |= !self.schedule.late.is_empty();
        for task in (0..self.schedule.live as u32).map(TaskId) {
            if let Some((object, effect)) = self.blocked_access(task) {
                self.log.trace.pend(task, object, effect);
            }
        }
        self.trace_stopped();
        Step::End
    }
}
