//! Minimisation of reported failures, within limits: by edits of their schedules
//! (`minimise_edits.rs` of `chess_search`), and by a search for fewer preemptions if only few are
//! left.

use std::cell::RefCell;
use std::rc::Rc;

use super::distinct_failures::{FoundFailure, Known, MOST};
use super::exploration::Minimised;
use super::explore::{Explorer, end_schedule};
use super::phase::Phase;
use super::request::Isolation;
use super::run::{Root, set_strategy, strategy};
use super::{counters, report};
use crate::base::memory::{EngineMemory, EngineVec};
use crate::execution::Timers;
use crate::monitor::{Failure, Kind};
use crate::search::{
    Answer, Cost, Decision, Failing, GuidedReplay, GuidedReplayStrategy, Icb, Measure, Source,
    minimise,
};

/// The maximum number of executions for the minimisation of the first failure.
const EXECUTIONS: u64 = 2_000;
/// The maximum number of executions for the minimisation of all other failures.
const EXECUTIONS_OF_OTHERS: u64 = 2_000;
/// The maximum number of steps of a minimisation is this multiple of its maximum number of
/// executions. So a minimisation with long executions has fewer of them.
const STEPS: u64 = 10_000;
/// This number of executions is allowed, however long they are.
const LEAST: u64 = 32;
/// The number of executions is divided by this if each execution has its own process.
const PROCESSES: u64 = 4;
/// The part of the allowed executions that edits may take, in quarters.
const SHARE_OF_EDITS: u64 = 3;
/// A search for fewer preemptions follows if at most this number of preemptions is left.
const FEW: u32 = 3;

impl Explorer<'_> {
    /// Minimises the failures that the search collected.
    pub(super) fn minimise(&mut self, mut engine: Root) {
        let Some(first) = self.seen.get(0).cloned() else {
            return;
        };
        let decisions = engine.exploration.decisions.clone();
        engine.execution.options.timers = engine.exploration.phases.timers;
        let mut work = Work::new(self, engine, first, EXECUTIONS);
        if let Some((minimised, smallest)) = work.make_smaller(decisions, true) {
            let exploration = &mut engine.exploration;
            exploration.failure = Some(smallest.failure);
            exploration.cost = minimised.to.cost;
            exploration.phases.timers = smallest.timers;
            exploration.phases.early = minimised.to.early;
            exploration.decisions = smallest.decisions;
            exploration.minimised = Some(minimised);
        }
        for other in 0..engine.exploration.others.len() {
            self.minimise_other(engine, other);
        }
        self.put_first(engine);
    }

    /// If the first failure needs an early timeout and another failure needs none, the other one
    /// becomes the first failure, and the old one moves to the other failures.
    fn put_first(&mut self, mut engine: Root) {
        let exploration = &mut engine.exploration;
        let mut others = exploration.others.iter();
        let (Some(other), Some(first)) = (
            others.position(|found| found.early == 0),
            exploration.failure.clone(),
        ) else {
            return;
        };
        let Some(known) = self.seen.get(other + 1).cloned() else {
            return;
        };
        if !exploration.phases.is_timing() {
            return;
        }
        let found = exploration.others.remove(other);
        let decisions = core::mem::replace(&mut exploration.decisions, found.decisions);
        let timers = core::mem::replace(&mut exploration.phases.timers, found.timers);
        let early = core::mem::replace(&mut exploration.phases.early, found.early);
        let cost = core::mem::replace(&mut exploration.cost, found.cost);
        let learnt = core::mem::replace(&mut exploration.learnt, found.learnt);
        exploration.failure = Some(known.failure);
        exploration.minimised = None;
        engine.execution.options.timers = timers;
        engine.monitors.races.recall(learnt);
        let failure = match self.repeat(engine, &decisions, &first, true) {
            Some(failure) => {
                self.look_again(engine, &decisions);
                failure
            }
            None => first.not_repeated(),
        };
        let failure = report::in_words(&engine, failure);
        engine.exploration.others.push(FoundFailure {
            failure,
            cost,
            decisions,
            timers,
            early,
            learnt,
        });
    }

    fn minimise_other(&mut self, mut engine: Root, other: usize) {
        let found = &engine.exploration.others[other];
        let known = self.seen.get(other + 1).cloned();
        let Some(known) = known.filter(|_| found.failure.kind != Kind::Nondeterminism) else {
            return;
        };
        let decisions = found.decisions.clone();
        let timers = engine.execution.options.timers;
        engine.execution.options.timers = found.timers;
        let mut work = Work::new(self, engine, known, EXECUTIONS_OF_OTHERS / MOST as u64);
        if let Some((minimised, smallest)) = work.make_smaller(decisions, false)
            && minimised.to < minimised.from
        {
            // The last execution is the smallest one.
            self.look_again(engine, &smallest.decisions);
            let failure = report::in_words(&engine, smallest.failure);
            let found = &mut engine.exploration.others[other];
            found.failure = failure;
            found.cost = minimised.to.cost;
            found.decisions = smallest.decisions;
            found.timers = smallest.timers;
            found.early = minimised.to.early;
        }
        engine.execution.options.timers = timers;
    }
}

/// The smallest failing execution so far.
#[derive(Clone)]
struct Smallest {
    measure: Measure,
    failure: Failure,
    decisions: EngineVec<Decision>,
    timers: Timers,
}

/// The findings of a minimisation, besides the smallest execution.
struct Found {
    /// The size of the given execution.
    from: Measure,
    /// See [`Minimised::fewest`].
    fewest: bool,
    /// See [`Minimised::is_weak`].
    is_weak: bool,
}

/// The schedules that a search has run.
#[derive(PartialEq, Eq)]
enum Searched {
    /// All schedules within its bound. None of them has the failure that is minimised.
    All,
    /// All schedules with fewer preemptions than this number, of which none has the failure that
    /// is minimised. A schedule with this number of preemptions has the failure.
    Failing(u32),
    /// Only some schedules.
    Some,
}

/// The minimisation of one failure.
struct Work<'a, 'b> {
    explorer: &'a mut Explorer<'b>,
    engine: Root,
    known: Known,
    /// The numbers of executions and steps at the beginning.
    start: (u64, u64),
    /// The maximum number of executions.
    most: u64,
    smallest: Option<Smallest>,
}

/// The numbers of executions and steps so far.
fn progress_of(engine: Root) -> (u64, u64) {
    (engine.exploration.executions, engine.exploration.steps)
}

impl<'a, 'b> Work<'a, 'b> {
    fn new(explorer: &'a mut Explorer<'b>, mut engine: Root, known: Known, most: u64) -> Self {
        engine.monitors.races.recall(known.learnt);
        let start = progress_of(engine);
        let most = match explorer.isolation {
            Isolation::Fork => most / PROCESSES,
            Isolation::Image | Isolation::Tls => most,
        };
        Self {
            explorer,
            engine,
            known,
            start,
            most,
            smallest: None,
        }
    }

    /// Looks for a smaller schedule with the same failure: by edits of `decisions` and, if
    /// `searches`, by a search for fewer preemptions. `None` if the failure is left unchanged.
    fn make_smaller(
        &mut self,
        decisions: EngineVec<Decision>,
        searches: bool,
    ) -> Option<(Minimised, Smallest)> {
        let execution = &self.engine.execution;
        let is_enough = self.is_enough(self.engine.exploration.cost.preemptions);
        if execution.options.only_runs.is_some() || execution.is_out_of_time() || is_enough {
            return None;
        }
        let is_endless = self.known.failure.kind.is_without_end();
        // If the failure is of a kind without an end, the first attempt ends each execution soon
        // after the step limit. If this attempt has no result, for example because the smallest
        // execution would end by itself, the second attempt does not end executions early.
        is_endless
            .then(|| self.make_smaller_within(decisions.clone(), searches, true))
            .flatten()
            .or_else(|| self.make_smaller_within(decisions, searches, false))
    }

    /// As [`Self::make_smaller`]. `is_cut_short` states whether executions are ended soon after
    /// the step limit.
    fn make_smaller_within(
        &mut self,
        decisions: EngineVec<Decision>,
        searches: bool,
        is_cut_short: bool,
    ) -> Option<(Minimised, Smallest)> {
        self.smallest = None;
        self.start = progress_of(self.engine);
        self.engine.execution.budget.is_supposed_endless = is_cut_short;
        let found = self.find_smaller(decisions, searches);
        self.engine.execution.budget.is_supposed_endless = false;
        let Found {
            from,
            fewest,
            is_weak,
        } = found?;
        let mut smallest = self.smallest.clone()?;
        if smallest.measure < from {
            let (decisions, failure) = (&smallest.decisions, &smallest.failure);
            self.engine.execution.options.timers = smallest.timers;
            let explorer = &mut *self.explorer;
            smallest.failure = explorer.repeat(self.engine, decisions, failure, false)?;
        }
        let minimised = Minimised {
            executions: self.engine.exploration.executions - self.start.0,
            from,
            to: smallest.measure,
            fewest,
            is_weak,
        };
        Some((minimised, smallest))
    }

    /// Looks for smaller schedules: by edits of `decisions` and, if `searches`, by searches.
    /// `None` if `decisions` do not lead to the failure again.
    fn find_smaller(&mut self, decisions: EngineVec<Decision>, searches: bool) -> Option<Found> {
        let mut first = self.follow(Source::Schedule(decisions))?;
        let from = first.measure;
        if self.engine.exploration.phases.phase == Phase::Early && from.early > 0 {
            first = self.follow_without_early(first);
        }
        self.edit(first, self.most * SHARE_OF_EDITS / 4);
        let left = self.smallest.as_ref()?.measure.cost.preemptions;
        let mut fewest = self.is_fewest(left);
        if searches && !fewest && left <= FEW {
            fewest = match self.search(Icb::new(left - 1, self.most), left - 1) {
                Searched::All => true,
                Searched::Failing(preemptions) => {
                    // The smallest execution so far may have more preemptions, and fewer early
                    // timeouts.
                    self.smallest.as_ref()?.measure.cost.preemptions <= preemptions
                }
                Searched::Some => false,
            };
        }
        if searches {
            self.search_for_less_data();
        }
        let Cost {
            preemptions,
            late_effects,
        } = self.smallest.as_ref()?.measure.cost;
        let is_weak = searches && late_effects > 0 && preemptions <= FEW && {
            let search = Icb::new(preemptions, self.most).without_late_effects();
            self.search(search, preemptions) == Searched::All
        };
        Some(Found {
            from,
            fewest,
            is_weak,
        })
    }

    /// Repeats the execution `first` with timeouts only when no task can run. If the repetition
    /// fails in the same way, this rule for timeouts also holds for all later executions.
    fn follow_without_early(&mut self, first: Failing) -> Failing {
        self.engine.execution.options.timers = Timers::Last;
        let last = self.follow(Source::Plan(first.plan.clone()));
        last.unwrap_or_else(|| {
            self.engine.execution.options.timers = Timers::Any;
            first
        })
    }

    /// Edits the schedule of an execution, until nothing makes it smaller, or a limit ends the
    /// edits. `most` limits the number of executions of the minimisation so far.
    fn edit(&mut self, first: Failing, most: u64) {
        minimise(first, &mut |plan| {
            if !self.may_continue(most) {
                return Answer::Stop;
            }
            match self.follow(Source::Plan(plan.clone())) {
                Some(found) => Answer::Same(found),
                None => Answer::Other,
            }
        });
    }

    /// Searches for schedules with smaller choices of data and no more preemptions. Edits seldom
    /// find them: after another choice, the operations before which tasks must be preempted are
    /// often at other places.
    fn search_for_less_data(&mut self) {
        while let Some(Measure { data, cost, .. }) = self.smallest.as_ref().map(|it| it.measure)
            && data > 0
            && cost.preemptions <= FEW
        {
            let search = Icb::new(cost.preemptions, self.most).with_less_data(data);
            self.search(search, cost.preemptions);
            if self
                .smallest
                .as_ref()
                .is_none_or(|it| it.measure.data >= data)
            {
                return;
            }
        }
    }

    /// Runs a `search` of the schedules with up to `bound` preemptions, until a schedule has the
    /// failure that is minimised. Edits this schedule.
    fn search(&mut self, search: Icb, bound: u32) -> Searched {
        let engine = self.engine;
        set_strategy(engine, search);
        let mut is_whole = !engine.exploration.unstable;
        while self.may_continue(self.most) {
            if !strategy(engine).begin() {
                let progress = strategy(engine).progress();
                is_whole &= progress.complete || progress.bound_completed == Some(bound);
                return if is_whole {
                    Searched::All
                } else {
                    Searched::Some
                };
            }
            let failure = self.explorer.run_once(engine);
            let diverged = strategy(engine).diverged();
            is_whole &= !diverged && !engine.execution.budget.past_limit;
            if self.is_same(failure.as_ref()) {
                let preemptions = engine.execution.recording.preemptions;
                let below = preemptions.checked_sub(1);
                is_whole &= strategy(engine).progress().bound_completed >= below;
                let decisions = engine.execution.recording.decisions.clone();
                if let Some(found) = self.follow(Source::Schedule(decisions)) {
                    self.edit(found, self.most);
                }
                return if is_whole {
                    Searched::Failing(preemptions)
                } else {
                    Searched::Some
                };
            }
            end_schedule(engine, true, diverged);
        }
        Searched::Some
    }

    /// Whether the minimisation may run another execution. Limits are the time, a number of
    /// executions (`most`) and a number of steps. The number of steps does not limit the first
    /// [`LEAST`] executions: executions that do not fail are often far shorter than the failing
    /// one.
    fn may_continue(&self, most: u64) -> bool {
        let exploration = &self.engine.exploration;
        let executions = exploration.executions - self.start.0;
        let steps = exploration.steps - self.start.1;
        let smallest = self.smallest.as_ref();
        let is_enough = smallest.is_some_and(|it| self.is_enough(it.measure.cost.preemptions));
        !is_enough
            && !self.engine.execution.is_out_of_time()
            && executions < most
            && (executions < LEAST || steps < most * STEPS)
    }

    /// Runs one execution. Returns its plan and size if it has the failure that is minimised.
    fn follow(&mut self, source: Source) -> Option<Failing> {
        let engine = self.engine;
        let replay = Rc::new_in(RefCell::new(GuidedReplay::new(source)), EngineMemory);
        set_strategy(engine, GuidedReplayStrategy(Rc::clone(&replay)));
        strategy(engine).begin();
        let failure = self.explorer.run_once(engine);
        let failure = failure.filter(|failure| self.is_same(Some(failure)))?;
        end_schedule(engine, true, false);
        let measure = Measure {
            early: engine.execution.recording.early,
            cost: engine.execution.cost(),
            data: engine.execution.recording.chosen_data,
            switches: replay.borrow().switches(),
            steps: engine.execution.budget.steps,
        };
        let smallest = self.smallest.as_ref();
        if smallest.is_none_or(|smallest| measure < smallest.measure) {
            self.smallest = Some(Smallest {
                measure,
                failure,
                decisions: engine.execution.recording.decisions.clone(),
                timers: engine.execution.options.timers,
            });
        }
        let plan = replay.borrow().plan().clone();
        Some(Failing { plan, measure })
    }

    /// Whether `failure`, with which the last execution ended, is the failure that is minimised. If
    /// the search collects several failures, the values that an assertion compared must be equal,
    /// too, because a failure with other values is a different failure.
    fn is_same(&self, failure: Option<&Failure>) -> bool {
        let execution = &self.engine.execution;
        failure.is_some_and(|failure| {
            if self.explorer.keep_going {
                self.known.is(execution, failure)
            } else {
                self.known.is_like(execution, failure)
            }
        })
    }

    /// Whether the minimisation ends at this number of preemptions, without further edits. Only
    /// the minimisation of a failure without an end does: the executions take long, and have as
    /// many switches as the step limit allows.
    fn is_enough(&self, preemptions: u32) -> bool {
        self.known.failure.kind.is_without_end() && self.is_fewest(preemptions)
    }

    /// Whether the search has run every schedule with fewer than this number of preemptions.
    fn is_fewest(&self, preemptions: u32) -> bool {
        let below = preemptions.checked_sub(1);
        below.is_none() || counters::bound_of_all(&self.engine.exploration) >= below
    }
}
