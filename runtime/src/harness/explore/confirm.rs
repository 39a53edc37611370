//! Repeated schedules: the check for determinism, the confirmation of failures, and replays.
//!
//! A crash ends the explorer. So crashes are confirmed in the zygote: `zygote/endings.rs`.

use super::{Explorer, TRIES};
use crate::base::memory::EngineVec;
use crate::execution::{Ending, Event};
use crate::harness::distinct_failures::FoundFailure;
use crate::harness::engine::Engine;
use crate::harness::nondeterminism::{difference, events_of};
use crate::harness::request::{Isolation, Request};
use crate::harness::run::{Root, set_strategy, strategy, wants_trace};
use crate::harness::{debugger, live_trace, report, work};
use crate::monitor::{Failure, Kind, Monitor};
use crate::search::{Decision, Divergence, Replay};

/// The first execution of a search.
struct FirstRun {
    graph: u64,
    steps: u64,
    /// The real time, in nanoseconds, for which it waited for the outside.
    waited: u64,
    events: EngineVec<Event>,
}

impl Explorer<'_> {
    /// Repeats the first schedule, and records whether its two executions differ. If they do, the
    /// program depends on more than its schedule, and the results of the search are not reliable.
    /// Also counts the accesses to plain memory in an execution of this schedule.
    pub(super) fn check_determinism(&mut self, mut engine: Root) {
        // An execution that the end of the time budget cut short proves nothing.
        if engine.execution.recording.decisions.is_empty() || engine.execution.is_out_of_time() {
            return;
        }
        let first = FirstRun {
            graph: engine.execution.log.graph(),
            steps: engine.execution.budget.steps,
            waited: engine.execution.descriptors.waited,
            events: events_of(&engine.execution),
        };
        // The work of an execution with child processes is mostly that of the processes.
        let has_processes = engine.execution.descriptors.processes > 0;
        let must_count = !has_processes && self.isolation != Isolation::Fork;
        let is_long = first.steps > engine.execution.options.max_steps;
        if must_count && is_long {
            // This order saves a repetition, which would take much longer than the count.
            self.count_accesses(engine);
        }
        self.repeat_first(engine, &first);
        let descriptors = &engine.execution.descriptors;
        // The shorter one of two waits depends less on other programs of the machine.
        let waited = first.waited.min(descriptors.waited);
        engine.exploration.work_per_child = work::per_child(waited, descriptors.processes.into());
        let is_useless = engine.exploration.unstable || engine.execution.is_out_of_time();
        if must_count && !is_long && !is_useless {
            let (executions, steps) = (engine.exploration.executions, engine.exploration.steps);
            self.count_accesses(engine);
            // The calls that count accesses change unused bytes of the stack, on which the
            // recognition of spins depends. So the schedule runs once more: the search must not use
            // the trace of the counting execution.
            self.repeat_first(engine, &first);
            // The counters of the report do not contain these two executions.
            engine.exploration.executions = executions;
            engine.exploration.steps = steps;
        }
    }

    /// Repeats the schedule of the `first` execution, and records whether the two differ.
    fn repeat_first(&mut self, mut engine: Root, first: &FirstRun) {
        strategy(engine).retry();
        let failure = self.run_once(engine);
        let execution = &engine.execution;
        let is_same = first.graph == execution.log.graph() && first.steps == execution.budget.steps;
        let differs = !execution.is_out_of_time() && (failure.is_some() || !is_same);
        engine.exploration.unstable = differs;
        if differs {
            let left_path = engine.process.elsewhere.left_path();
            let apart = difference(&first.events, &engine.execution, left_path);
            engine.exploration.difference = apart;
        }
    }

    /// Repeats the last schedule, and counts the accesses to plain memory up to the step limit. The
    /// counters of the report do not contain this execution.
    fn count_accesses(&mut self, mut engine: Root) {
        let exploration = &engine.exploration;
        let (executions, steps) = (exploration.executions, exploration.steps);
        let most = exploration.max_steps;
        let longest = engine.execution.budget.longest;
        engine.monitors.races.count_next();
        engine.execution.options.ends_at_limit = true;
        strategy(engine).retry();
        _ = self.run_once(engine);
        engine.execution.options.ends_at_limit = false;
        let accesses = engine.monitors.races.counted();
        let counted = engine.execution.budget.steps;
        engine.exploration.work_between = work::between_steps(accesses, counted);
        engine.exploration.executions = executions;
        engine.exploration.steps = steps;
        engine.exploration.max_steps = most;
        engine.execution.budget.longest = longest;
    }

    /// Records `failure`, unless the same failure was seen before. The first failure is confirmed
    /// after the search, because the report describes the last execution, which must be one with
    /// the first failure. Each later failure is repeated and confirmed here.
    pub(super) fn collect(&mut self, mut engine: Root, failure: Failure) {
        if self.seen.contains(&engine.execution, &failure) {
            return;
        }
        if self.seen.is_full() {
            engine.exploration.more_failures = true;
            return;
        }
        self.seen.insert(&engine.execution, failure.clone());
        if engine.exploration.failure.is_none() {
            engine.exploration.failure = Some(failure);
            engine.exploration.strategy = strategy(engine).name();
            engine.exploration.cost = engine.execution.cost();
            engine.exploration.phases.timers = engine.execution.options.timers;
            engine.exploration.phases.early = engine.execution.recording.early;
            engine.exploration.learnt = engine.monitors.races.learnt();
            keep_decisions(engine);
            // The search may have been confined to preemptions at some lines. The minimisation and
            // the repetition of the failure are not confined.
            engine.execution.policies.preempt_anywhere();
            return;
        }
        let cost = engine.execution.cost();
        let timers = engine.execution.options.timers;
        let early = engine.execution.recording.early;
        let decisions = engine.execution.recording.decisions.clone();
        let search = engine.execution.strategy.take();
        let failure = match self.repeat(engine, &decisions, &failure, true) {
            Some(failure) => {
                self.look_again(engine, &decisions);
                failure
            }
            None => failure.not_repeated(),
        };
        engine.execution.log.trace.is_wanted = search
            .as_ref()
            .is_some_and(|search| wants_trace(engine, &**search));
        engine.execution.strategy = search;
        let failure = report::in_words(&engine, failure);
        let learnt = engine.monitors.races.learnt();
        engine.exploration.others.push(FoundFailure {
            failure,
            cost,
            decisions,
            timers,
            early,
            learnt,
        });
    }

    /// Runs the failing schedule once more. A failure that cannot be repeated is reported as such.
    pub(super) fn confirm(&mut self, mut engine: Root) {
        let Some(failure) = engine.exploration.failure.clone() else {
            return;
        };
        let decisions = engine.exploration.decisions.clone();
        let learnt = engine.exploration.learnt;
        engine.monitors.races.recall(learnt);
        engine.execution.options.timers = engine.exploration.phases.timers;
        if failure.kind == Kind::Race && self.repeat(engine, &decisions, &failure, true).is_some() {
            engine.monitors.races.show();
        }
        engine.execution.log.values.is_wanted = true;
        if let Some(failure) = self.repeat(engine, &decisions, &failure, true) {
            engine.exploration.confirmed = true;
            engine.exploration.failure = Some(failure);
            self.look_again(engine, &decisions);
        } else {
            engine.exploration.failure = Some(failure.not_repeated());
        }
    }

    /// Repeats the schedule `decisions`, at most [`TRIES`] times, until an execution has a failure
    /// like `failure`. Returns the failure of this execution, which is then the last one.
    /// `is_known` states that the schedule is known to have the failure. If `failure` is of a kind
    /// without an end (a livelock or a spin), the first execution is then ended soon after the
    /// step limit.
    pub(in crate::harness) fn repeat(
        &mut self,
        mut engine: Root,
        decisions: &EngineVec<Decision>,
        failure: &Failure,
        is_known: bool,
    ) -> Option<Failure> {
        let is_known_endless = is_known && failure.kind.is_without_end();
        engine.execution.options.keeps_output = true;
        let mut events: Option<EngineVec<Event>> = None;
        let mut apart = None;
        let repeated = (0..TRIES).find_map(|attempt| {
            engine.execution.budget.is_supposed_endless = is_known_endless && attempt == 0;
            set_strategy(engine, Replay::new(decisions.clone()));
            strategy(engine).begin();
            let again = self.run_once(engine);
            let is_like = |again: &Failure| again.is_like(failure);
            let again = again.filter(|again| is_like(again) && !strategy(engine).diverged());
            if again.is_none() && apart.is_none() {
                if let Some(events) = &events {
                    let left_path = engine.process.elsewhere.left_path();
                    apart = difference(events, &engine.execution, left_path);
                }
                events = Some(events_of(&engine.execution));
            }
            again
        });
        if repeated.is_none() {
            engine.exploration.difference = apart;
        }
        engine.execution.options.keeps_output = false;
        engine.execution.budget.is_supposed_endless = false;
        repeated
    }

    /// Runs the schedule `decisions` of the last execution, which failed, once more if a monitor
    /// needs more details of it.
    pub(in crate::harness) fn look_again(
        &mut self,
        mut engine: Root,
        decisions: &EngineVec<Decision>,
    ) {
        if engine.monitors.wants_another_look() {
            engine.execution.options.keeps_output = true;
            set_strategy(engine, Replay::new(decisions.clone()));
            strategy(engine).begin();
            self.run_once(engine);
            engine.execution.options.keeps_output = false;
        }
    }

    pub(super) fn replay(&mut self, mut engine: Root, decisions: &str, request: &Request) {
        let Ok(schedule) = crate::search::parse_schedule(decisions) else {
            return;
        };
        engine.exploration.strategy = "replay";
        engine.execution.log.values.is_wanted = true;
        engine.execution.options.keeps_output = true;
        set_strategy(engine, Replay::new(schedule.clone()));
        strategy(engine).begin();
        engine.exploration.learnt = engine.monitors.races.learnt();
        engine.execution.budget.is_supposed_endless = request.is_endless;
        debugger::set_enabled(request.debugged.is_some());
        live_trace::set_enabled(&mut engine.execution, request.traced);
        let mut failure = self.run_once(engine);
        debugger::set_enabled(false);
        live_trace::set_enabled(&mut engine.execution, false);
        if failure.is_none() && engine.monitors.races.misses_accesses() {
            strategy(engine).retry();
            failure = self.run_once(engine);
        }
        if failure.as_ref().is_some_and(|it| it.kind == Kind::Race) {
            engine.monitors.races.show();
            strategy(engine).retry();
            failure = self.run_once(engine);
        }
        for _ in 1..request.repeat {
            strategy(engine).retry();
            let events = events_of(&engine.execution);
            let again = self.run_once(engine);
            let is_like = match (&failure, &again) {
                (Some(failure), Some(again)) => failure.is_like(again),
                (failure, again) => failure.is_none() && again.is_none(),
            };
            if !is_like {
                engine.exploration.unstable = true;
                let left_path = engine.process.elsewhere.left_path();
                let apart = difference(&events, &engine.execution, left_path);
                engine.exploration.difference = apart;
                break;
            }
        }
        let divergence = strategy(engine).divergence();
        let is_given_up = engine.execution.ending == Ending::TooLong;
        self.look_again(engine, &schedule);
        engine.exploration.schedules = 1;
        // A replay that was given up has no verdict.
        engine.exploration.too_long = u64::from(is_given_up);
        let taken = engine.execution.recording.decisions.len();
        // A program that ends early leaves decisions unused.
        let left_over = schedule.get(taken).map(|&expected| Divergence {
            index: u32::try_from(taken).unwrap_or(u32::MAX),
            expected,
        });
        engine.exploration.divergence = divergence.or(left_over);
        engine.exploration.cost = engine.execution.cost();
        keep_decisions(engine);
        engine.exploration.confirmed = true;
        engine.exploration.failure = failure;
    }
}

/// Stores the schedule of the last execution as the failing one.
fn keep_decisions(mut engine: Root) {
    let Engine {
        execution,
        exploration,
        ..
    } = &mut *engine;
    exploration.decisions = execution.whole_decisions();
}
