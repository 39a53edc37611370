//! The loop over executions: run, judge, confirm.

use std::ops::Range;
use std::time::Instant;

use super::difference::{difference, events_of};
use super::failures::{self, Distinct};
use super::helpers::Helpers;
use super::report;
use super::request::{Isolation, Request, StrategyName};
use super::run::{BoxedStrategy, Root, run_tasks, set_boxed, set_strategy, strategy, warm_up};
use super::{Test, body, debugger, foreign, state, trace};
use crate::engine::Engine;
use crate::execution::{Ending, Entry, Event, Limit};
use crate::monitor::race::{Accesses, Found, GivenUp, Level, Line, Races};
use crate::monitor::{self, BodyOutcome, End, Failure, Kind, Monitor};
use crate::platform::donor::{self, DEFAULT_STACK};
use crate::platform::handover::Backend;
use crate::platform::memory::{EngineMemory, EngineVec, engine_vec};
use crate::platform::observers::Observers;
use crate::platform::{heap, image, interpose, sys};
use crate::search::{
    Auto, Decision, Delay, Divergence, Dpor, Ended, Icb, Part, Past, Pct, Portfolio, Pos, Progress,
    Random, Replay, Stored, Surw,
};

/// Donors to begin with; a test with more tasks makes the pool grow.
const FIRST_DONORS: usize = 8;
/// A schedule that cannot be repeated is tried so often.
const TRIES: u32 = 3;

/// Explores `test` as `request` asks and leaves the results in the engine. Runs
/// in the explorer process, on the only thread that is not a donor or waiting.
pub(super) fn run(test: &Test, request: &Request) {
    let mut engine = Root;
    engine.execution.max_steps = request.max_steps;
    engine.execution.timers = request.timers;
    engine.execution.only_runs = match request {
        Request {
            schedules: 1,
            time_ms,
            ..
        } => Some(if *time_ms == 0 {
            Limit::Steps
        } else {
            Limit::Time
        }),
        _ => None,
    };
    engine.execution.observers = Observers::of_program();
    watch_memory(&mut engine.monitors.races, request);
    engine.execution.log.most = usize::try_from(request.max_steps * 2).unwrap_or(usize::MAX);
    for (prefix, policy) in &request.policies {
        engine.execution.policies.add(prefix, *policy);
    }
    engine.monitors.leaks.is_on = request.leaks;
    for (file, line) in &request.preempt_at {
        engine.execution.policies.preempt_at(file, *line);
    }
    engine.execution.policies.set_root(&request.root);
    let mut explorer = Explorer {
        test,
        isolation: request.isolation,
        // In a debugger, threads that have no task are in the way.
        ready_donors: request.debugged.unwrap_or(FIRST_DONORS).max(1),
        turn: 0..0,
        budget: request.schedules,
        part: request.part,
        keep_going: request.keep_going,
        seen: Distinct::new(),
        helpers: Helpers::new(may_have_helpers(request)),
        is_helper: false,
    };
    explorer.prepare(engine);
    if let Some(decisions) = &request.replay {
        explorer.replay(engine, decisions, request);
    } else {
        explorer.search(engine, request);
        explorer.helpers.dismiss();
        explorer.minimise(engine);
        explorer.confirm(engine);
        if explorer.isolation != Isolation::Fork {
            foreign::look(&engine, explorer.isolation);
        }
    }
    engine.exploration.finished = true;
}

/// Looks at accesses to plain memory, if the program tells of any, as it is asked for.
fn watch_memory(races: &mut Races, request: &Request) {
    if Observers::of_program().of_accesses && request.memory_accesses != Accesses::Ignored {
        races.turn_on(request.memory_accesses == Accesses::Preempted);
    }
    races.set_levels(request.races, &request.races_of);
    for (file, line) in &request.points {
        races.points.push(Line::new(file, *line));
    }
}

pub(super) struct Explorer<'a> {
    test: &'a Test,
    pub(super) isolation: Isolation,
    ready_donors: usize,
    /// The places of the strategies whose turn it is in the list of those that are
    /// asked for.
    turn: Range<usize>,
    budget: u64,
    part: Part,
    /// Whether the search goes on after a failure.
    pub(super) keep_going: bool,
    pub(super) seen: Distinct,
    pub(super) helpers: Helpers,
    /// This process is one of the helpers of another one.
    pub(super) is_helper: bool,
}

impl Explorer<'_> {
    /// Brings the process into the state that every execution starts from.
    fn prepare(&mut self, mut engine: Root) {
        interpose::real::resolve();
        monitor::install_hook();
        image::install_fault_handler();
        donor::give_alternate_stack();
        engine.process.settle();
        // Before any donor: those of a parent would not live in its children.
        self.choose_isolation(engine);
        if !self.has_donors_per_child(engine) {
            engine.pool.grow(self.ready_donors, DEFAULT_STACK);
            warm_up(engine);
        }
        if self.isolation == Isolation::Image {
            engine.image.take();
        }
    }

    /// Whether each child of `fork` needs donors of its own: kernel threads do not
    /// survive a fork, stacks and thread-local blocks do.
    fn has_donors_per_child(&self, engine: Root) -> bool {
        self.isolation == Isolation::Fork && engine.pool.backend() == Backend::Threads
    }

    /// The image can serve only where the program's heap is the arena.
    fn choose_isolation(&mut self, mut engine: Root) {
        let block = Box::new(0u8);
        let ours = heap::is_arena() && heap::contains((&raw const *block).addr());
        if self.isolation == Isolation::Image && !ours {
            self.helpers.dismiss();
            engine.exploration.foreign_heap = true;
            self.isolation = Isolation::Fork;
        }
    }

    fn search(&mut self, engine: Root, request: &Request) {
        let mut is_resumed = self.resume(engine, request);
        while is_resumed || self.set_turn(engine, request) {
            is_resumed = false;
            if !self.run_strategy(engine, request) {
                return;
            }
            self.turn.start = self.turn.end;
        }
    }

    /// Goes on from the state of an earlier run, if there is one.
    fn resume(&mut self, mut engine: Root, request: &Request) -> bool {
        let bytes = engine.exploration.saved.take_earlier();
        let mut input = &bytes[..];
        let Some(turn) = Stored::read(&mut input) else {
            return false;
        };
        self.turn.start = turn;
        if self.set_turn(engine, request)
            && strategy(engine).load(&mut input)
            && let Some(budget) = state::read(&mut engine, &mut input)
        {
            self.budget = budget;
            return true;
        }
        self.turn.start = 0;
        false
    }

    /// Lets a search that is killed later go on from here, if its strategy can.
    #[inline]
    fn offer_state(&self, mut engine: Root) {
        if !engine.exploration.saved.is_wanted() {
            return;
        }
        let start = Instant::now();
        let mut state = engine_vec();
        self.turn.start.write(&mut state);
        let is_whole =
            strategy(engine).save(&mut state) && state::write(&engine, self.budget, &mut state);
        let state = is_whole.then_some(state);
        let schedules = engine.exploration.schedules;
        engine
            .exploration
            .saved
            .answer(schedules, state, start.elapsed());
    }

    /// Sets the strategy whose turn it is, of those that are asked for; whether there
    /// is one. Those that share a budget and follow each other are one.
    fn set_turn(&mut self, mut engine: Root, request: &Request) -> bool {
        let rest = request
            .strategies
            .get(self.turn.start..)
            .unwrap_or_default();
        let mut turns = rest.chunk_by(|a, b| a.takes_turns() && b.takes_turns());
        let Some(group) = turns.next() else {
            return false;
        };
        self.turn.end = self.turn.start + group.len();
        let mut members = engine_vec();
        for (place, &name) in self.turn.clone().zip(group) {
            let seed = request.seed_of_part().wrapping_add(place as u64);
            members.push(self.strategy(name, request.preemptions, seed));
        }
        if members.len() == 1 {
            set_boxed(engine, members.remove(0));
        } else {
            set_strategy(engine, Portfolio::new(members));
        }
        if engine.exploration.failure.is_none() {
            engine.exploration.strategy = strategy(engine).name();
        }
        true
    }

    fn strategy(&self, name: StrategyName, preemptions: u32, seed: u64) -> BoxedStrategy {
        match name {
            StrategyName::Auto => {
                let search = Auto::new(preemptions, self.budget, seed, self.part);
                Box::new_in(search, EngineMemory)
            }
            StrategyName::Icb => {
                let search = Icb::new(preemptions, self.budget).of_part(self.part);
                Box::new_in(search, EngineMemory)
            }
            StrategyName::Dpor => Box::new_in(Dpor::new(), EngineMemory),
            StrategyName::Random => Box::new_in(Random::new(seed), EngineMemory),
            StrategyName::Pct => Box::new_in(Pct::new(seed), EngineMemory),
            StrategyName::Pos => Box::new_in(Pos::new(seed), EngineMemory),
            StrategyName::Surw => Box::new_in(Surw::new(seed), EngineMemory),
            StrategyName::Delay => Box::new_in(Delay::new(self.budget), EngineMemory),
        }
    }

    /// Runs a strategy to its end; whether the search goes on with the next one.
    fn run_strategy(&mut self, mut engine: Root, request: &Request) -> bool {
        loop {
            if self.budget == 0 || engine.exploration.is_out_of_time() {
                note_progress(engine);
                return false;
            }
            if !strategy(engine).begin() {
                break;
            }
            if engine.exploration.failure.is_none() {
                engine.exploration.strategy = strategy(engine).name();
            }
            engine.execution.log.trace.is_wanted = strategy(engine).wants_trace();
            let progress = strategy(engine).progress();
            engine.exploration.note_progress(progress);
            if self.is_helped(engine) {
                self.budget -= 1;
                self.offer_state(engine);
                continue;
            }
            let failure = self.run_schedule(engine);
            let one_schedule = engine.execution.decisions.is_empty();
            if let Some(failure) = failure {
                self.collect(engine, failure);
                if !self.keep_going {
                    note_progress(engine);
                    engine.exploration.progress.complete = false;
                    return false;
                }
            }
            self.budget -= 1;
            if self.learns(engine) {
                // Theirs are the points of before.
                self.helpers.dismiss();
                begin_anew(engine);
                self.set_turn(engine, request);
                continue;
            }
            if one_schedule && strategy(engine).name() != "icb" {
                // Nothing to choose: every further execution would be the same.
                engine.exploration.progress.complete = true;
                return false;
            }
            self.offer_state(engine);
        }
        note_progress(engine);
        !engine.exploration.progress.complete
    }

    /// Whether lines raced in the last execution that become scheduling points by this
    /// (CHESS, section 3.5): the search begins anew with them. Parts of a space must agree
    /// on its points, so there they are learnt in the first schedule, which all have.
    fn learns(&mut self, mut engine: Root) -> bool {
        let Engine {
            monitors,
            exploration,
            ..
        } = &mut *engine;
        let races = &mut monitors.races;
        if races.has_news() {
            let known = &races.known;
            let news = |found: &&Found| !known.contains(&found.pair());
            let words = races.found(Level::Warn).filter(news).map(words_of);
            exploration.warned.extend(words);
        }
        let is_first = exploration.schedules == exploration.begun + 1;
        (self.part == Part::WHOLE || is_first) && races.learn()
    }

    /// Runs one schedule, again if it does not repeat its prefix.
    fn run_schedule(&mut self, mut engine: Root) -> Option<Failure> {
        for attempt in 1..=TRIES {
            let failure = self.run_once(engine);
            if engine.exploration.schedules == 0 && attempt == 1 && failure.is_none() {
                self.check_determinism(engine);
            }
            let diverged = strategy(engine).diverged();
            if !diverged || failure.is_some() || attempt == TRIES {
                let graph = engine.execution.log.graph();
                let is_new = engine.exploration.distinct.insert(graph);
                end_schedule(engine, is_new, diverged);
                let search = strategy(engine);
                engine.exploration.count_schedule(|| search.explored());
                engine.exploration.diverged += u64::from(diverged);
                let given_up = engine.monitors.races.given_up;
                let is = |why| u64::from(given_up == Some(why));
                engine.exploration.many_tasks += is(GivenUp::Tasks);
                engine.exploration.much_memory += is(GivenUp::Memory);
                engine.exploration.many_releases += is(GivenUp::Releases);
                if engine.execution.past_limit {
                    let bound = strategy(engine).progress().bound.unwrap_or(0);
                    engine.exploration.cut_short.get_or_insert(bound);
                    engine.exploration.long += 1;
                    let too_long = engine.execution.ending == Ending::TooLong;
                    engine.exploration.too_long += u64::from(too_long);
                }
                return failure;
            }
            strategy(engine).retry();
        }
        None
    }

    /// Runs the first schedule a second time: a program that depends on more than
    /// its schedule is named before any search relies on it.
    fn check_determinism(&mut self, mut engine: Root) {
        // An execution that the end of the time budget cut short says nothing.
        if engine.execution.decisions.is_empty() || engine.exploration.is_out_of_time() {
            return;
        }
        let first = (engine.execution.log.graph(), engine.execution.steps);
        let events = events_of(&engine.execution);
        strategy(engine).retry();
        let failure = self.run_once(engine);
        let second = (engine.execution.log.graph(), engine.execution.steps);
        let is_whole = !engine.exploration.is_out_of_time();
        engine.exploration.unstable = is_whole && (failure.is_some() || first != second);
        if engine.exploration.unstable {
            engine.exploration.difference = difference(&events, &engine.execution);
        }
    }

    /// Keeps a failure that differs from those before. The first one is confirmed
    /// when the search is over, so that its execution is the last one.
    fn collect(&mut self, mut engine: Root, failure: Failure) {
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
            engine.exploration.preemptions = engine.execution.preemptions;
            engine.exploration.learnt = engine.monitors.races.learnt();
            keep_decisions(engine);
            // It is made smaller, shown and kept as that of any search.
            engine.execution.policies.preempt_anywhere();
            return;
        }
        let preemptions = engine.execution.preemptions;
        let decisions = engine.execution.decisions.clone();
        let search = engine.execution.strategy.take();
        let failure = if self.repeats(engine, &decisions, &failure) {
            self.look_again(engine, &decisions);
            failure
        } else {
            failure.not_repeated()
        };
        engine.execution.log.trace.is_wanted = search.as_ref().is_some_and(|s| s.wants_trace());
        engine.execution.strategy = search;
        let failure = report::in_words(&engine, failure);
        let learnt = engine.monitors.races.learnt();
        engine.exploration.others.push(failures::Found {
            failure,
            preemptions,
            decisions,
            learnt,
        });
    }

    /// Runs the failing schedule once more: a failure that cannot be repeated is
    /// reported as what it is.
    fn confirm(&mut self, mut engine: Root) {
        let Some(failure) = engine.exploration.failure.clone() else {
            return;
        };
        let decisions = engine.exploration.decisions.clone();
        let learnt = engine.exploration.learnt;
        engine.monitors.races.recall(learnt);
        if failure.kind == Kind::Race && self.repeats(engine, &decisions, &failure) {
            engine.monitors.races.show();
        }
        engine.execution.log.values.is_wanted = true;
        if self.repeats(engine, &decisions, &failure) {
            engine.exploration.confirmed = true;
            self.look_again(engine, &decisions);
        } else {
            engine.exploration.failure = Some(failure.not_repeated());
        }
    }

    /// Whether a schedule leads to `failure` again.
    pub(super) fn repeats(
        &mut self,
        mut engine: Root,
        decisions: &EngineVec<Decision>,
        failure: &Failure,
    ) -> bool {
        engine.execution.keeps_output = true;
        let mut events: Option<EngineVec<Event>> = None;
        let mut apart = engine_vec();
        let repeats = (0..TRIES).any(|_| {
            set_strategy(engine, Replay::new(decisions.clone()));
            strategy(engine).begin();
            let again = self.run_once(engine);
            let is_same = again.as_ref() == Some(failure) && !strategy(engine).diverged();
            if !is_same && apart.is_empty() {
                if let Some(events) = &events {
                    apart = difference(events, &engine.execution);
                }
                events = Some(events_of(&engine.execution));
            }
            is_same
        });
        if !repeats {
            engine.exploration.difference = apart;
        }
        engine.execution.keeps_output = false;
        repeats
    }

    /// Runs a failing schedule, which was the last one, once more if more is to be known
    /// of it.
    pub(super) fn look_again(&mut self, mut engine: Root, decisions: &EngineVec<Decision>) {
        if engine.monitors.wants_another_look() {
            engine.execution.keeps_output = true;
            set_strategy(engine, Replay::new(decisions.clone()));
            strategy(engine).begin();
            self.run_once(engine);
            engine.execution.keeps_output = false;
        }
    }

    fn replay(&mut self, mut engine: Root, decisions: &str, request: &Request) {
        let Ok(schedule) = crate::search::parse_schedule(decisions) else {
            return;
        };
        engine.exploration.strategy = "replay";
        engine.execution.log.values.is_wanted = true;
        engine.execution.keeps_output = true;
        set_strategy(engine, Replay::new(schedule.clone()));
        strategy(engine).begin();
        engine.exploration.learnt = engine.monitors.races.learnt();
        debugger::turn(engine, request.debugged.is_some());
        trace::turn(engine, request.traced);
        let mut failure = self.run_once(engine);
        debugger::turn(engine, false);
        trace::turn(engine, false);
        if failure.as_ref().is_some_and(|it| it.kind == Kind::Race) {
            engine.monitors.races.show();
            strategy(engine).retry();
            failure = self.run_once(engine);
        }
        for _ in 1..request.repeat {
            strategy(engine).retry();
            let events = events_of(&engine.execution);
            if self.run_once(engine) != failure {
                engine.exploration.unstable = true;
                engine.exploration.difference = difference(&events, &engine.execution);
                break;
            }
        }
        let divergence = strategy(engine).divergence();
        self.look_again(engine, &schedule);
        engine.exploration.schedules = 1;
        let taken = engine.execution.decisions.len();
        // A program that ends early leaves decisions over.
        let left_over = schedule.get(taken).map(|&expected| Divergence {
            index: u32::try_from(taken).unwrap_or(u32::MAX),
            expected,
        });
        engine.exploration.divergence = divergence.or(left_over);
        engine.exploration.preemptions = engine.execution.preemptions;
        keep_decisions(engine);
        engine.exploration.confirmed = true;
        engine.exploration.failure = failure;
    }

    /// Runs one execution, in a process of its own where asked.
    pub(super) fn run_once(&mut self, mut engine: Root) -> Option<Failure> {
        loop {
            let crash = match self.isolation {
                Isolation::Fork => self.run_forked(engine),
                Isolation::Image | Isolation::Tls => {
                    engine.image.restore();
                    self.run_body(engine);
                    None
                }
            };
            if crash.is_none()
                && let Ending::NoDonor(stack) = engine.execution.ending
            {
                self.grow_pool(engine, stack);
                continue;
            }
            let Engine {
                execution,
                exploration,
                monitors,
                ..
            } = &mut *engine;
            exploration.executions += 1;
            if execution.ending == Ending::Finished && crash.is_none() {
                execution.longest = execution.longest.max(execution.steps);
            }
            exploration.steps += execution.steps;
            exploration.max_steps = exploration.max_steps.max(execution.steps);
            exploration.threads = exploration.threads.max(execution.live);
            let end = End {
                execution,
                body: &exploration.body,
                expectation: self.test.expectation,
            };
            return crash.or_else(|| monitors.end(&end));
        }
    }

    fn run_body(&self, mut engine: Root) {
        engine.exploration.body = BodyOutcome::Unfinished;
        let data = core::ptr::from_ref(self.test).cast_mut().cast();
        debugger::await_one();
        trace::begins(engine);
        run_tasks(engine, Entry::Rust(body::run, data));
        if self.is_helper {
            return;
        }
        foreign::look_after_execution(&engine, self.isolation);
        if self.isolation != Isolation::Fork {
            interpose::tidy_descriptors(&mut engine.process);
        }
    }

    /// One execution in a child; the engine's memory is shared with it.
    fn run_forked(&self, mut engine: Root) -> Option<Failure> {
        engine.execution.reset();
        engine.exploration.fault = None;
        // SAFETY: this process' other threads only wait.
        let child = unsafe { interpose::real::fork() };
        if child == 0 {
            if self.has_donors_per_child(engine) {
                engine.pool.grow(self.ready_donors, DEFAULT_STACK);
            }
            self.run_body(engine);
            sys::exit_now(0);
        }
        let status = super::process::reap(child);
        let crash = (status != 0).then(|| engine.death(status));
        if self.has_donors_per_child(engine) {
            engine.pool.forget();
        }
        crash
    }

    /// A task found no donor: the pool must grow while no image is in force.
    fn grow_pool(&mut self, mut engine: Root, stack: usize) {
        self.ready_donors = (self.ready_donors * 2).max(engine.execution.live + 1);
        strategy(engine).retry();
        if self.has_donors_per_child(engine) {
            return;
        }
        engine.image.restore();
        engine.image.discard();
        engine.pool.grow(self.ready_donors, stack);
        if self.isolation == Isolation::Image {
            engine.image.take();
        }
    }
}

/// Whether other processes may help: not where executions take processes or kernel
/// threads of their own.
fn may_have_helpers(request: &Request) -> bool {
    let shares = request.isolation == Isolation::Image && request.backend == Backend::Fibers;
    shares && request.replay.is_none()
}

/// Lets the strategy learn from the last execution.
pub(super) fn end_schedule(engine: Root, is_new: bool, diverged: bool) {
    let execution = &engine.execution;
    strategy(engine).end(&Ended {
        past: Past {
            trace: &execution.log.trace,
            name: &|object| execution.objects.get(object).address,
        },
        is_new,
        is_cut: execution.past_limit,
        diverged,
    });
}

/// Keeps the schedule of the last execution as the failing one.
fn keep_decisions(mut engine: Root) {
    let Engine {
        execution,
        exploration,
        ..
    } = &mut *engine;
    exploration.decisions = execution.whole_decisions();
}

fn words_of(found: &Found) -> EngineVec<u8> {
    let mut words = engine_vec();
    words.extend_from_slice(found.words());
    words
}

/// The search that begins explores another space: what was said of the last one holds
/// no more.
fn begin_anew(mut engine: Root) {
    let exploration = &mut engine.exploration;
    exploration.begun = exploration.schedules;
    exploration.progress = Progress::NONE;
    exploration.bound_starts.clear();
    exploration.cut_short = None;
}

fn note_progress(mut engine: Root) {
    if engine.exploration.failure.is_none() {
        engine.exploration.strategy = strategy(engine).name();
    }
    let before = engine.exploration.progress;
    engine.exploration.progress = strategy(engine).progress().after(before);
    engine.exploration.progress.complete |= before.complete;
    if engine.exploration.diverged > 0 {
        engine.exploration.progress.complete = false;
    }
    if let Some(share) = strategy(engine).share() {
        engine.exploration.share = Some(share);
    }
}
