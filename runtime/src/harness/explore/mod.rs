//! The loop over executions: restore the image of the program (`platform/image.rs`), run, judge,
//! confirm.

mod budget;
mod checkpoints;
mod confirm;
mod isolation;
mod next_strategies;
pub(crate) mod phases;

use std::ops::Range;
use std::time::Instant;

use super::distinct_failures::Distinct;
use super::helper_processes::Helpers;
use super::request::{Isolation, Request};
use super::run::{Root, run_tasks, strategy, wants_trace, warm_up};
use super::{Test, body, debugger, foreign_threads, live_trace};
use crate::base::memory::{EngineVec, engine_vec};
use crate::base::real;
use crate::base::source_path::Place;
use crate::execution::{Ending, Entry, Execution, Limit};
use crate::harness::engine::Engine;
use crate::interpose;
use crate::monitor::race::{Accesses, GivenUp, Group, Line, RaceReport, Races};
use crate::monitor::{self, BodyOutcome, End, Failure, Level, Monitor};
use crate::platform::handover::Backend;
use crate::platform::observers::Observers;
use crate::platform::stack_pool::{self, DEFAULT_STACK};
use crate::platform::streams;
use crate::search::{Ended, Part, Past, Progress};

/// The initial number of donors (threads that lend their stacks to tasks). The pool may grow.
const FIRST_DONORS: usize = 8;
/// The maximum number of attempts to repeat a schedule.
const TRIES: u32 = 3;
/// The maximum number of repetitions of one execution after a file of an earlier execution was
/// removed.
const MOST_REMOVALS: u32 = 8;

/// Explores `test` as `request` asks, and leaves the results in the engine. Call it in the
/// explorer process, on the exploring thread.
pub(super) fn run(test: &Test, request: &Request) {
    let mut engine = Root;
    engine.execution.options.max_steps = request.max_steps;
    phases::begin(engine, request);
    engine.execution.options.spurious = request.spurious;
    engine.execution.options.faults = request.faults;
    engine.execution.options.only_runs = match request {
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
    if request.replay.is_some() || engine.execution.options.only_runs.is_some() {
        // In other explorations, an execution that needs clean stacks is repeated. This execution
        // must not be repeated, because the user watches it.
        engine.pool.clean_all();
    }
    engine.execution.observers = Observers::of_program();
    watch_memory(&mut engine.monitors.races, request);
    engine.execution.log.most = usize::try_from(request.max_steps * 2).unwrap_or(usize::MAX);
    for (prefix, policy) in &request.policies {
        engine.execution.policies.add(prefix, *policy);
    }
    let spins = &mut engine.monitors.spins;
    spins.set_levels(request.spins, &request.spins_of);
    engine.execution.log.wants_labels = request.coverage && request.replay.is_none();
    engine.monitors.leaks.is_on = request.leaks;
    engine.monitors.outcome.intended.clear();
    for (file, line) in &request.intended {
        engine.monitors.outcome.intend(file, *line);
    }
    engine.process.elsewhere.set_own(&request.scratch);
    engine.execution.options.set_start(test.name);
    engine.monitors.outcome.allows_unseen = request.allow_unjoined_panics;
    for (file, line) in &request.preempt_at {
        engine.execution.policies.preempt_at(file, *line);
    }
    for place in &request.faultless {
        engine.execution.policies.add_faultless(place);
    }
    engine.execution.policies.set_root(&request.root);
    let mut explorer = Explorer {
        test,
        isolation: request.isolation,
        // Threads without a task are a nuisance in a debugger.
        ready_donors: request.debugged.unwrap_or(FIRST_DONORS).max(1),
        current: 0..0,
        budget: request.schedules,
        spends_work: false,
        part: request.part,
        keep_going: request.keep_going,
        seen: Distinct::new(),
        helpers: Helpers::new(may_have_helpers(request)),
        is_helper: false,
        started: Instant::now(),
        earlier: 0,
    };
    explorer.prepare(engine, &request.scratch);
    if let Some(decisions) = &request.replay {
        explorer.replay(engine, decisions, request);
    } else {
        explorer.search(engine, request);
        explorer.helpers.dismiss();
        explorer.minimise(engine);
        explorer.confirm(engine);
        if explorer.isolation != Isolation::Fork {
            foreign_threads::check(&engine, explorer.isolation);
        }
    }
    engine.exploration.finished = true;
}

/// Watches accesses to plain memory as requested, if the program announces any, or if the memory
/// model needs the order of tasks to find the stores that an atomic operation may meet.
fn watch_memory(races: &mut Races, request: &Request) {
    let announces = Observers::of_program().of_accesses;
    let needs_order = request.memory.is_weak() || request.stale_loads;
    if announces && request.memory_accesses != Accesses::Ignored || needs_order {
        races.turn_on(request.memory_accesses == Accesses::Preempted);
    }
    if request.memory.is_weak() {
        races.memory.turn_on(request.memory);
    } else if request.stale_loads {
        races.memory.watch();
    }
    races.set_levels(request.races, &request.races_of);
    for (file, line) in &request.points {
        races.points.push(Line::new(file, *line));
    }
    if request.part != Part::WHOLE {
        // The parts must agree on the scheduling points. So all groups are scheduling points from
        // the beginning, and no group is learnt later. Tokens are the exception, because they add
        // schedules to each scope, and few programs need these. A part that learns of the need too
        // late is not complete: see `run_schedule`.
        for group in Group::ALL {
            if group != Group::Tokens {
                races.points.add_group(group);
            }
        }
    }
}

pub(super) struct Explorer<'a> {
    test: &'a Test,
    pub(super) isolation: Isolation,
    ready_donors: usize,
    /// The indices of the current strategies in the list of the requested ones.
    current: Range<usize>,
    /// The number of schedules that are left.
    budget: u64,
    /// Whether the strategy's budget is counted in work, not in schedules.
    spends_work: bool,
    part: Part,
    /// Whether the search continues after a failure.
    pub(super) keep_going: bool,
    pub(super) seen: Distinct,
    pub(super) helpers: Helpers,
    /// Whether this process is a helper of another one.
    pub(super) is_helper: bool,
    /// The time at which this process began to explore.
    started: Instant,
    /// The number of schedules of earlier processes.
    earlier: u64,
}

impl Explorer<'_> {
    /// Brings the process into the initial state of every execution.
    fn prepare(&mut self, mut engine: Root, scratch: &str) {
        real::resolve();
        monitor::install_hook();
        interpose::install_fault_handler();
        stack_pool::give_alternate_stack();
        if self.isolation != Isolation::Tls {
            // With `Isolation::Tls`, statics may refer to files of an earlier execution, so these
            // files are not removed.
            engine.leftovers.scratch.open(scratch);
        }
        engine.leftovers.settle();
        streams::take_over();
        // Before any donor is created: the threads of this process do not exist in its children.
        self.choose_isolation(engine);
        if !self.has_donors_per_child(engine) {
            engine.pool.grow(self.ready_donors, DEFAULT_STACK);
            warm_up(engine);
        }
        if self.isolation == Isolation::Image {
            interpose::move_environment_to_heap();
            engine.image.take();
        }
    }

    fn search(&mut self, engine: Root, request: &Request) {
        let mut is_resumed = self.resume(engine, request);
        loop {
            while is_resumed || self.set_next_strategies(engine, request) {
                is_resumed = false;
                if !self.run_strategy(engine, request) {
                    break;
                }
                self.current.start = self.current.end;
            }
            if !self.begin_early(engine) {
                return;
            }
        }
    }

    /// Runs a strategy to its end. Returns whether the search continues with the next one.
    fn run_strategy(&mut self, mut engine: Root, request: &Request) -> bool {
        loop {
            if self.is_at_end(engine) {
                note_progress(engine);
                return false;
            }
            if self.pauses(engine, request) {
                return false;
            }
            if !strategy(engine).begin() {
                break;
            }
            if engine.exploration.failure.is_none() {
                engine.exploration.strategy = strategy(engine).name();
            }
            engine.execution.log.trace.is_wanted = wants_trace(engine, strategy(engine));
            let progress = strategy(engine).progress();
            engine.exploration.note_progress(progress);
            if self.is_helped(engine) {
                self.budget -= 1;
                self.offer_state(engine);
                continue;
            }
            let failure = self.run_schedule(engine);
            let one_schedule = engine.execution.recording.decisions.is_empty();
            if let Some(failure) = failure {
                self.collect(engine, failure);
                if !self.keep_going {
                    note_progress(engine);
                    engine.exploration.progress.complete = false;
                    return false;
                }
            }
            self.budget -= 1;
            let keeps_budget = self.keeps_budget(engine);
            let learns = self.learns(engine);
            if learns || keeps_budget {
                // The new helpers have the new scheduling points. If the execution of a helper
                // shows that there are more, the explorer runs this schedule again and learns them.
                self.renew_helpers();
                begin_anew(engine);
                self.set_next_strategies(engine, request);
                continue;
            }
            if one_schedule && strategy(engine).name() != "icb" {
                // There is nothing to choose: every further execution would be the same.
                engine.exploration.progress.complete = true;
                return false;
            }
            self.offer_state(engine);
        }
        note_progress(engine);
        !engine.exploration.progress.complete
    }

    /// Makes the lines that raced in the last execution scheduling points (CHESS, section 3.5),
    /// and operations on streams or files if their order mattered. Returns whether points are new:
    /// then the search must restart. All parts of a space must have the same points, so each part
    /// learns points only from the first schedule, which all parts run.
    fn learns(&mut self, mut engine: Root) -> bool {
        let Engine {
            monitors,
            exploration,
            execution,
            ..
        } = &mut *engine;
        let races = &mut monitors.races;
        if races.has_news() {
            let known = &races.known;
            let news = |found: &&RaceReport| !known.contains(&found.pair());
            for found in races.found(Level::Warn).filter(news) {
                exploration.warned.push(copied(found.words()));
                for file in races.files_of(found) {
                    let files = &mut exploration.racing_files;
                    if !files.iter().any(|it| it == file.as_bytes()) {
                        files.push(copied(file.as_bytes()));
                    }
                }
            }
        }
        let is_first = exploration.schedules == exploration.begun + 1;
        let may_learn = self.part == Part::WHOLE || is_first;
        if !may_learn {
            return false;
        }
        let learns_group = learn_groups(execution, races);
        races.learn(|site| execution.is_preempted_at(site)) || learns_group
    }

    /// Runs one schedule. Repeats it if the execution does not follow the schedule's prefix.
    fn run_schedule(&mut self, mut engine: Root) -> Option<Failure> {
        for attempt in 1..=TRIES {
            let is_first = engine.exploration.schedules == 0 && attempt == 1;
            engine.monitors.outcome.is_first = is_first;
            let failure = self.run_once(engine);
            engine.monitors.outcome.is_first = false;
            // This is read before the check of determinism repeats the schedule: the time limit
            // may end the repetition.
            let is_given_up = engine.execution.ending == Ending::TooLong;
            if is_first && failure.is_none() && budget::has_room_for_another(engine) {
                self.check_determinism(engine);
            }
            let diverged = strategy(engine).diverged();
            if !diverged || failure.is_some() || attempt == TRIES {
                let graph = engine.execution.log.graph();
                let is_new = engine.exploration.distinct.insert(graph);
                cover(engine);
                end_schedule(engine, is_new, diverged);
                self.count(engine, budget::work_of_last(engine));
                engine.exploration.diverged += u64::from(diverged);
                let given_up = engine.monitors.races.given_up;
                let is = |why| u64::from(given_up == Some(why));
                engine.exploration.many_tasks += is(GivenUp::Tasks);
                engine.exploration.much_memory += is(GivenUp::Memory);
                engine.exploration.many_releases += is(GivenUp::Releases);
                engine.exploration.endless += u64::from(engine.execution.endless.is_met);
                if let Some(site) = engine.execution.unmet_assumption {
                    let exploration = &mut engine.exploration;
                    exploration.unmet += u64::from(failure.is_none());
                    exploration
                        .first_unmet
                        .get_or_insert_with(|| Place::of(site));
                }
                engine.exploration.fair_only |= engine.execution.schedule.is_fair_only;
                engine.exploration.misses_clock_reads |= engine.execution.files.misses_clock_reads;
                let misses = engine.monitors.races.misses_late_effects();
                let only_notes = engine.monitors.races.memory.stale.is_on;
                engine.exploration.unclear_loads |= misses && only_notes;
                let is_limited = misses && !only_notes;
                engine.exploration.few_stores += u64::from(is_limited);
                let misses_choices = is_given_up || engine.execution.misses_choices();
                // A part of a space learns tokens only from its first schedule.
                let misses_tokens =
                    self.part != Part::WHOLE && engine.execution.tokens.were_missed();
                let is_endless = engine.execution.endless.is_missed;
                if misses_choices || is_endless || is_limited || misses_tokens {
                    let bound = strategy(engine).progress().bound.unwrap_or(0);
                    engine.exploration.cut_short.get_or_insert(bound);
                }
                if misses_choices {
                    engine.exploration.long += 1;
                    engine.exploration.too_long += u64::from(is_given_up);
                }
                if failure.is_none() {
                    engine.monitors.spins.learn();
                }
                return failure;
            }
            strategy(engine).retry();
        }
        None
    }

    /// Runs one execution, in its own process if requested. If the execution needs another
    /// environment (more donors, for example), changes the environment and repeats the execution.
    /// The same happens if the execution fails and could not create a file that an earlier
    /// execution of the test had created: the environment then lacks the file.
    pub(super) fn run_once(&mut self, mut engine: Root) -> Option<Failure> {
        let mut removals = 0;
        loop {
            engine.process.elsewhere.begin_execution();
            let crash = match self.isolation {
                Isolation::Fork => self.run_forked(engine),
                Isolation::Image | Isolation::Tls => {
                    engine.image.restore(engine.pool.cleans());
                    self.run_body(engine);
                    None
                }
            };
            match engine.execution.ending {
                _ if crash.is_some() => {}
                Ending::NoDonor(stack) => {
                    self.grow_pool(engine, stack);
                    continue;
                }
                Ending::Unclean => {
                    strategy(engine).retry();
                    continue;
                }
                Ending::NeedsProcess(function) => {
                    self.give_processes(engine, function);
                    continue;
                }
                // A debugger shows one execution.
                _ if engine.monitors.races.misses_accesses() && !debugger::is_on() => {
                    strategy(engine).retry();
                    continue;
                }
                _ => {}
            }
            let Engine {
                execution,
                exploration,
                monitors,
                ..
            } = &mut *engine;
            exploration.executions += 1;
            if execution.ending == Ending::Finished && crash.is_none() {
                execution.budget.longest = execution.budget.longest.max(execution.budget.steps);
            }
            exploration.steps += execution.budget.steps;
            exploration.max_steps = exploration.max_steps.max(execution.budget.steps);
            exploration.threads = exploration.threads.max(execution.schedule.live);
            let end = End {
                execution,
                body: &exploration.body,
                expectation: self.test.expectation,
            };
            let has_crashed = crash.is_some();
            let failure = crash.or_else(|| monitors.end(&end));
            // The schedule may have failed only because an earlier execution has left a file.
            if failure.is_some()
                && !has_crashed
                && removals < MOST_REMOVALS
                && engine.process.elsewhere.remove_left_path()
            {
                removals += 1;
                strategy(engine).retry();
                continue;
            }
            return failure;
        }
    }

    fn run_body(&self, mut engine: Root) {
        engine.exploration.body = BodyOutcome::Unfinished;
        let data = core::ptr::from_ref(self.test).cast_mut().cast();
        debugger::await_one();
        live_trace::begins(&engine.execution);
        run_tasks(engine, Entry::Rust(body::run, data));
        if self.is_helper {
            return;
        }
        foreign_threads::check_after_execution(&engine, self.isolation);
        if self.isolation != Isolation::Fork {
            engine.process.put_back_attributes();
            let (opens, makes) = (engine.process.leaves_open(), engine.process.makes_files());
            engine.leftovers.tidy(opens, makes);
        }
    }
}

/// Whether helper processes may run schedules. They may not if executions have their own processes
/// or kernel threads.
fn may_have_helpers(request: &Request) -> bool {
    let shares = request.isolation == Isolation::Image && request.backend == Backend::Fibers;
    // Helpers do not report the orders of conflicting operations.
    shares && request.replay.is_none() && !request.coverage
}

/// Records the states and the orders of operations, unless an assumption did not hold.
fn cover(mut engine: Root) {
    let Engine {
        execution,
        exploration,
        ..
    } = &mut *engine;
    if execution.unmet_assumption.is_some() {
        return;
    }
    if execution.log.wants_labels {
        exploration.covered.pairs.add(execution);
    }
    let states = execution.recording.observed.states();
    if let Some(is_new) = exploration.covered.add_states(states) {
        strategy(engine).observe(is_new);
    }
}

/// Lets the strategy learn from the last execution, whose graph `is_new`.
pub(super) fn end_schedule(engine: Root, is_new: bool, diverged: bool) {
    let execution = &engine.execution;
    strategy(engine).end(&Ended {
        past: Past {
            trace: &execution.log.trace,
            name: &|object| execution.objects.get(object).address,
        },
        is_new,
        is_cut: execution.misses_choices(),
        diverged,
    });
}

fn copied(bytes: &[u8]) -> EngineVec<u8> {
    let mut copy = engine_vec();
    copy.extend_from_slice(bytes);
    copy
}

/// Makes groups of operations scheduling points: those whose order mattered in the execution,
/// although they were no scheduling points. Returns whether there are such groups.
fn learn_groups(execution: &Execution, races: &mut Races) -> bool {
    let mut has_learnt = false;
    for group in groups_to_learn(execution, races) {
        races.points.add_group(group);
        has_learnt = true;
    }
    has_learnt
}

/// The groups of operations whose order mattered in the execution, although they were no scheduling
/// points.
pub(super) fn groups_to_learn(
    execution: &Execution,
    races: &Races,
) -> impl Iterator<Item = Group> + use<> {
    let found = [
        (Group::Fences, races.must_split_epochs()),
        (Group::Streams, execution.has_kept_stream()),
        (Group::Files, execution.files.has_conflict()),
        (
            Group::Descriptors,
            execution.files.has_descriptor_conflict(),
        ),
        (Group::Clock, execution.files.has_clock_conflict()),
        (Group::Tokens, execution.tokens.were_missed()),
    ];
    let found = found.into_iter().filter(|(_, is_found)| *is_found);
    found.map(|(group, _)| group)
}

/// Resets the results of the last search, because the next one explores another space.
fn begin_anew(mut engine: Root) {
    let exploration = &mut engine.exploration;
    exploration.begun = exploration.schedules;
    exploration.progress = Progress::NONE;
    exploration.cut_short = None;
    // The results of the phase before belong to another space as well, if there are more
    // scheduling points now.
    exploration.phases.last = None;
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
