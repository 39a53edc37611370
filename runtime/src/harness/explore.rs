//! The loop over executions: run, judge, confirm.

use super::request::{Isolation, Request, StrategyName};
use super::{Test, body};
use crate::engine::{Engine, engine};
use crate::execution::{self, Ending, Entry, State};
use crate::monitor::{self, BodyOutcome, Failure, Kind};
use crate::platform::donor::DEFAULT_STACK;
use crate::platform::handover::{self, Backend};
use crate::platform::memory::{EngineMemory, EngineVec, engine_vec};
use crate::platform::{context, heap, image, interpose, sys};
use crate::search::{Decision, Icb, Random, Replay, Strategy};

/// Donors to begin with; a test with more tasks makes the pool grow.
const FIRST_DONORS: usize = 8;
/// How often real time is read.
const CLOCK_CHECK: u64 = 64;
/// A schedule that cannot be repeated is tried so often.
const TRIES: u32 = 3;

/// Explores `test` as `request` asks and leaves the results in the engine. Runs
/// in the explorer process, on the only thread that is not a donor or waiting.
pub(super) fn run(test: &Test, request: &Request) {
    // SAFETY: this thread alone uses the engine between executions.
    let engine = unsafe { &mut *engine() };
    engine.execution.max_steps = request.max_steps;
    for (prefix, policy) in &request.policies {
        engine.execution.policies.add(prefix, *policy);
    }
    let mut explorer = Explorer {
        test,
        isolation: request.isolation,
        ready_donors: 0,
        deadline: (request.time_ms > 0)
            .then(|| sys::real_nanos() + request.time_ms.saturating_mul(1_000_000)),
        budget: request.schedules,
    };
    explorer.prepare(engine);
    match &request.replay {
        Some(decisions) => explorer.replay(engine, decisions, request.repeat),
        None => explorer.search(engine, request),
    }
    engine.exploration.finished = true;
}

struct Explorer<'a> {
    test: &'a Test,
    isolation: Isolation,
    ready_donors: usize,
    deadline: Option<u64>,
    budget: u64,
}

impl Explorer<'_> {
    /// Brings the process into the state that every execution starts from.
    fn prepare(&mut self, engine: &mut Engine) {
        interpose::real::resolve();
        body::prepare_output();
        monitor::install_hook();
        image::install_fault_handler();
        engine.process.settle();
        self.ready_donors = FIRST_DONORS;
        if !self.has_donors_per_child(engine) {
            engine.pool.grow(self.ready_donors, DEFAULT_STACK);
            warm_up(engine);
        }
        self.choose_isolation(engine);
        if self.isolation == Isolation::Image {
            engine.image.take();
        }
    }

    /// Whether each child of `fork` needs donors of its own: kernel threads do not
    /// survive a fork, stacks and thread-local blocks do.
    fn has_donors_per_child(&self, engine: &Engine) -> bool {
        self.isolation == Isolation::Fork && engine.pool.backend() == Backend::Threads
    }

    /// The image can serve only where the program's heap is the arena.
    fn choose_isolation(&mut self, engine: &mut Engine) {
        let block = Box::new(0u8);
        let ours = heap::is_arena() && heap::contains((&raw const *block).addr());
        if self.isolation == Isolation::Image && !ours {
            engine.exploration.foreign_heap = true;
            self.isolation = Isolation::Fork;
        }
    }

    fn search(&mut self, engine: &mut Engine, request: &Request) {
        for (place, name) in request.strategies.iter().enumerate() {
            match name {
                StrategyName::Auto | StrategyName::Icb => {
                    set_strategy(engine, Icb::new(request.preemptions, self.budget));
                }
                StrategyName::Random => {
                    let seed = request.seed.wrapping_add(place as u64);
                    set_strategy(engine, Random::new(seed));
                }
            }
            if !self.run_strategy(engine) {
                return;
            }
        }
    }

    /// Runs a strategy to its end; whether the search goes on with the next one.
    fn run_strategy(&mut self, engine: &mut Engine) -> bool {
        engine.exploration.strategy = strategy(engine).name();
        loop {
            if self.budget == 0 || self.is_out_of_time(engine) {
                note_progress(engine);
                return false;
            }
            if !strategy(engine).begin() {
                break;
            }
            if let Some(failure) = self.run_schedule(engine) {
                note_progress(engine);
                self.confirm(engine, failure);
                return false;
            }
            self.budget -= 1;
            let one_schedule = engine.execution.decisions.is_empty();
            if one_schedule && engine.exploration.strategy != "icb" {
                // Nothing to choose: every further execution would be the same.
                engine.exploration.progress.complete = true;
                return false;
            }
        }
        note_progress(engine);
        !engine.exploration.progress.complete
    }

    /// Runs one schedule, again if it does not repeat its prefix.
    fn run_schedule(&mut self, engine: &mut Engine) -> Option<Failure> {
        for attempt in 1..=TRIES {
            let failure = self.run_once(engine);
            if engine.exploration.schedules == 0 && attempt == 1 && failure.is_none() {
                self.check_determinism(engine);
            }
            let diverged = strategy(engine).diverged();
            if !diverged || failure.is_some() || attempt == TRIES {
                strategy(engine).end(diverged);
                engine.exploration.schedules += 1;
                engine.exploration.diverged += u64::from(diverged);
                engine
                    .exploration
                    .distinct
                    .insert(engine.execution.log.graph());
                return failure;
            }
            strategy(engine).retry();
        }
        None
    }

    /// Runs the first schedule a second time: a program that depends on more than
    /// its schedule is named before any search relies on it.
    fn check_determinism(&mut self, engine: &mut Engine) {
        if engine.execution.decisions.is_empty() {
            return;
        }
        let first = (engine.execution.log.graph(), engine.execution.steps);
        strategy(engine).retry();
        let failure = self.run_once(engine);
        let second = (engine.execution.log.graph(), engine.execution.steps);
        engine.exploration.unstable = failure.is_some() || first != second;
    }

    /// Runs the failing schedule once more: a failure that cannot be repeated is
    /// reported as what it is.
    fn confirm(&mut self, engine: &mut Engine, failure: Failure) {
        engine.exploration.preemptions = engine.execution.preemptions;
        engine.exploration.decisions = engine.execution.decisions.clone();
        for _ in 0..TRIES {
            let decisions = engine.exploration.decisions.clone();
            set_strategy(engine, Replay::new(decisions));
            strategy(engine).begin();
            let again = self.run_once(engine);
            if again.as_ref() == Some(&failure) && !strategy(engine).diverged() {
                engine.exploration.failure = Some(failure);
                engine.exploration.confirmed = true;
                self.keep_output(engine);
                return;
            }
        }
        let mut unstable = failure;
        let intro = "the same schedule did not fail in the same way again; at first: ";
        unstable.message.splice(0..0, intro.bytes());
        unstable.kind = Kind::Nondeterminism;
        engine.exploration.failure = Some(unstable);
    }

    fn replay(&mut self, engine: &mut Engine, decisions: &str, repeat: u64) {
        let Ok(schedule) = crate::search::parse_schedule(decisions) else {
            return;
        };
        engine.exploration.strategy = "replay";
        set_strategy(engine, Replay::new(schedule.clone()));
        strategy(engine).begin();
        let failure = self.run_once(engine);
        for _ in 1..repeat {
            strategy(engine).retry();
            if self.run_once(engine) != failure {
                engine.exploration.unstable = true;
                break;
            }
        }
        engine.exploration.schedules = 1;
        engine.exploration.divergence = strategy(engine).divergence();
        engine.exploration.preemptions = engine.execution.preemptions;
        engine.exploration.decisions = engine.execution.decisions.clone();
        engine.exploration.confirmed = true;
        engine.exploration.failure = failure;
        self.keep_output(engine);
    }

    fn keep_output(&self, engine: &mut Engine) {
        if self.isolation != Isolation::Fork {
            body::read_output(|bytes| engine.exploration.output.extend_from_slice(bytes));
        }
    }

    /// Runs one execution, in a process of its own where asked.
    fn run_once(&mut self, engine: &mut Engine) -> Option<Failure> {
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
            let execution = &engine.execution;
            let exploration = &mut engine.exploration;
            exploration.executions += 1;
            exploration.steps += execution.steps;
            exploration.max_steps = exploration.max_steps.max(execution.steps);
            exploration.threads = exploration.threads.max(execution.live);
            return crash
                .or_else(|| monitor::judge(execution, &exploration.body, self.test.expectation));
        }
    }

    fn run_body(&self, engine: &mut Engine) {
        engine.exploration.body = BodyOutcome::Unfinished;
        let data = core::ptr::from_ref(self.test).cast_mut().cast();
        run_tasks(engine, Entry::Rust(body::run, data));
        interpose::tidy_descriptors(&mut engine.process);
    }

    /// One execution in a child; the engine's memory is shared with it.
    fn run_forked(&self, engine: &mut Engine) -> Option<Failure> {
        engine.execution.reset();
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
        if self.has_donors_per_child(engine) {
            engine.pool.forget();
        }
        (status != 0).then(|| super::crash::describe(engine, status))
    }

    /// A task found no donor: the pool must grow while no image is in force.
    fn grow_pool(&mut self, engine: &mut Engine, stack: usize) {
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

    fn is_out_of_time(&self, engine: &mut Engine) -> bool {
        let Some(deadline) = self.deadline else {
            return false;
        };
        let checks = engine.exploration.executions.is_multiple_of(CLOCK_CHECK);
        let over = checks && engine.exploration.executions > 0 && sys::real_nanos() > deadline;
        engine.exploration.out_of_time |= over;
        over
    }
}

/// Lets std set up, in a first task, what it sets up on first use.
fn warm_up(engine: &mut Engine) {
    set_strategy(engine, Replay::new(engine_vec()));
    run_tasks(engine, Entry::Rust(body::warm_up, core::ptr::null_mut()));
    body::clear_output();
}

fn set_strategy(engine: &mut Engine, strategy: impl Strategy + 'static) {
    let boxed: Box<dyn Strategy, EngineMemory> = Box::new_in(strategy, EngineMemory);
    engine.execution.strategy = Some(boxed);
}

fn strategy(engine: &mut Engine) -> &mut dyn Strategy {
    &mut **engine
        .execution
        .strategy
        .as_mut()
        .expect("a strategy was set")
}

fn note_progress(engine: &mut Engine) {
    let complete = engine.exploration.progress.complete;
    engine.exploration.progress = strategy(engine).progress();
    engine.exploration.progress.complete |= complete;
    if engine.exploration.diverged > 0 {
        engine.exploration.progress.complete = false;
    }
}

/// Runs one execution whose first task is `entry`.
fn run_tasks(engine: &mut Engine, entry: Entry) {
    engine.execution.reset();
    let first = engine
        .execution
        .add_task(&mut engine.pool, entry, DEFAULT_STACK);
    let Some(first) = first else {
        engine.execution.ending = Ending::NoDonor(DEFAULT_STACK);
        return;
    };
    engine.pool.prepare(engine.execution.task(first).donor);
    engine.explorer.thread_pointer = context::thread_pointer();
    let to = engine.pool.flow(engine.execution.task(first).donor);
    let backend = engine.pool.backend();
    let baton = &raw const engine.explorer_baton;
    // SAFETY: the first task is new; `engine` is reborrowed after the transfer.
    unsafe { handover::transfer(backend, baton, execution::explorer(), to) };
    // The last task to start takes its donor first again: addresses repeat.
    for at in (0..engine.execution.live).rev() {
        let task = &engine.execution.tasks[at];
        if task.donor == execution::Task::NO_DONOR {
            continue;
        }
        let (donor, finished) = (task.donor, task.state == State::Finished);
        if !finished {
            engine.pool.abandon(donor);
        }
        engine.pool.release(donor);
    }
}

/// The decisions of the execution that died.
pub(super) fn last_decisions(engine: &Engine) -> EngineVec<Decision> {
    engine.execution.decisions.clone()
}
