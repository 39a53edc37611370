//! Layers of optional exploration options, and the options that result from all layers.

use std::time::Duration;

use super::values::{
    Backend, Fault, Isolate, Memory, MemoryAccesses, Races, Spins, Spurious, StaleLoads, Strategy,
    Timers, Timing,
};

/// The default budget of a test: the work of two to four seconds on a usual machine.
const DEFAULT_WORK: u64 = 20_000_000;
/// The time limit of the default budget.
const DEFAULT_LIMIT: Duration = Duration::from_mins(1);

/// The resolved exploration options of one test.
#[derive(Clone, PartialEq, Eq, Debug)]
#[expect(
    clippy::struct_excessive_bools,
    reason = "independent flags, not a state machine"
)]
pub(crate) struct Exploration {
    /// The largest preemption bound to explore.
    pub preemptions: u32,
    /// The highest number of schedules.
    pub schedules: Option<u64>,
    /// The highest amount of work, in the runtime's units. By default, this is the only budget.
    pub work: Option<u64>,
    /// The time limit of the search.
    pub time: Option<Duration>,
    /// The time limit of the whole run. It is the same for all tests.
    pub time_total: Option<Duration>,
    /// The step limit of one execution, after which it continues without choices.
    pub max_steps: u64,
    /// The strategies, in their order of use.
    pub strategy: Vec<Strategy>,
    /// The seed of every random choice.
    pub seed: u64,
    /// The memory model.
    pub memory: Memory,
    /// The treatment of accesses to plain memory.
    pub memory_accesses: MemoryAccesses,
    /// The level for data races, except in packages with their own level.
    pub races: Races,
    /// The level for loops that wait without yielding, except in packages with their own level.
    pub spins: Spins,
    /// Whether the tool reports operations whose effect could come late. The language's memory
    /// model allows this: a later load then reads an older value.
    pub stale_loads: StaleLoads,
    /// The way in which executions are kept apart.
    pub isolate: Isolate,
    /// The stacks or threads on which tasks run.
    pub backend: Backend,
    /// The times at which timeouts fire.
    pub timers: Timers,
    /// The outcome of a failure that needs an early timeout.
    pub timing: Timing,
    /// Whether spurious wake-ups and failures are tried.
    pub spurious: Spurious,
    /// The calls that may fail.
    pub faults: Vec<Fault>,
    /// The longest time for which a task may reach no scheduling point.
    pub watchdog: Duration,
    /// Whether to continue after a test's first failure.
    pub keep_going: bool,
    /// Whether the schedules of failures are saved next to the crate.
    pub save_regressions: bool,
    /// Whether the orders of conflicting operations are recorded and reported.
    pub coverage: bool,
    /// Whether unreferenced memory at an execution's end is a failure.
    pub leaks: bool,
    /// Whether a thread that is never joined may panic.
    pub allow_unjoined_panics: bool,
    /// Whether each shard explores a part of the test, even if there are enough tests for all
    /// shards.
    pub divide: bool,
}

/// The exploration options of one source. Each is optional.
#[derive(Clone, Default, PartialEq, Eq, Debug)]
pub(crate) struct Layer {
    pub preemptions: Option<u32>,
    pub schedules: Option<u64>,
    pub work: Option<u64>,
    pub time: Option<Duration>,
    pub time_total: Option<Duration>,
    pub max_steps: Option<u64>,
    pub strategy: Option<Vec<Strategy>>,
    pub seed: Option<u64>,
    pub memory: Option<Memory>,
    pub memory_accesses: Option<MemoryAccesses>,
    pub races: Option<Races>,
    pub spins: Option<Spins>,
    pub stale_loads: Option<StaleLoads>,
    pub isolate: Option<Isolate>,
    pub backend: Option<Backend>,
    pub timers: Option<Timers>,
    pub timing: Option<Timing>,
    pub spurious: Option<Spurious>,
    pub faults: Option<Vec<Fault>>,
    pub watchdog: Option<Duration>,
    pub keep_going: Option<bool>,
    pub save_regressions: Option<bool>,
    pub coverage: Option<bool>,
    pub leaks: Option<bool>,
    pub allow_unjoined_panics: Option<bool>,
    pub divide: Option<bool>,
}

impl Layer {
    /// The options of both layers. If an option is set in both, the value in `over` is taken.
    #[must_use]
    pub(crate) fn under(self, over: &Self) -> Self {
        Self {
            preemptions: over.preemptions.or(self.preemptions),
            schedules: over.schedules.or(self.schedules),
            work: over.work.or(self.work),
            time: over.time.or(self.time),
            time_total: over.time_total.or(self.time_total),
            max_steps: over.max_steps.or(self.max_steps),
            strategy: over.strategy.clone().or(self.strategy),
            seed: over.seed.or(self.seed),
            memory: over.memory.or(self.memory),
            memory_accesses: over.memory_accesses.or(self.memory_accesses),
            races: over.races.or(self.races),
            spins: over.spins.or(self.spins),
            stale_loads: over.stale_loads.or(self.stale_loads),
            isolate: over.isolate.or(self.isolate),
            backend: over.backend.or(self.backend),
            timers: over.timers.or(self.timers),
            timing: over.timing.or(self.timing),
            spurious: over.spurious.or(self.spurious),
            faults: over.faults.clone().or(self.faults),
            watchdog: over.watchdog.or(self.watchdog),
            keep_going: over.keep_going.or(self.keep_going),
            save_regressions: over.save_regressions.or(self.save_regressions),
            coverage: over.coverage.or(self.coverage),
            leaks: over.leaks.or(self.leaks),
            allow_unjoined_panics: over.allow_unjoined_panics.or(self.allow_unjoined_panics),
            divide: over.divide.or(self.divide),
        }
    }

    /// The options of this layer. An option that is not set has its default.
    pub(crate) fn resolve(self) -> Exploration {
        self.over(Exploration::default())
    }

    /// The options of this layer. An option that is not set has its value in `base`.
    pub(crate) fn over(self, base: Exploration) -> Exploration {
        // If this layer gives a budget, none of the budgets of `base` applies.
        let is_given = self.schedules.is_some() || self.work.is_some() || self.time.is_some();
        let (schedules, work, time) = if is_given {
            (self.schedules, self.work, self.time)
        } else {
            (base.schedules, base.work, base.time)
        };
        Exploration {
            preemptions: self.preemptions.unwrap_or(base.preemptions),
            schedules,
            work,
            time,
            time_total: self.time_total.or(base.time_total),
            max_steps: self.max_steps.unwrap_or(base.max_steps),
            strategy: self.strategy.unwrap_or(base.strategy),
            seed: self.seed.unwrap_or(base.seed),
            memory: self.memory.unwrap_or(base.memory),
            memory_accesses: self.memory_accesses.unwrap_or(base.memory_accesses),
            races: self.races.unwrap_or(base.races),
            spins: self.spins.unwrap_or(base.spins),
            stale_loads: self.stale_loads.unwrap_or(base.stale_loads),
            isolate: self.isolate.unwrap_or(base.isolate),
            backend: self.backend.unwrap_or(base.backend),
            timers: self.timers.unwrap_or(base.timers),
            timing: self.timing.unwrap_or(base.timing),
            spurious: self.spurious.unwrap_or(base.spurious),
            faults: self.faults.map_or(base.faults, |list| Fault::kinds(&list)),
            watchdog: self.watchdog.unwrap_or(base.watchdog),
            keep_going: self.keep_going.unwrap_or(base.keep_going),
            save_regressions: self.save_regressions.unwrap_or(base.save_regressions),
            coverage: self.coverage.unwrap_or(base.coverage),
            leaks: self.leaks.unwrap_or(base.leaks),
            allow_unjoined_panics: self
                .allow_unjoined_panics
                .unwrap_or(base.allow_unjoined_panics),
            divide: self.divide.unwrap_or(base.divide),
        }
    }
}

impl Exploration {
    /// The time after which the search of a test ends in any case. The default budget also has a
    /// time limit, because a test that computes much between its steps takes a long time for
    /// little work.
    pub(crate) fn time_limit(&self) -> Option<Duration> {
        let is_default = (self.schedules, self.work) == (None, Some(DEFAULT_WORK));
        self.time.or(is_default.then_some(DEFAULT_LIMIT))
    }

    /// The value of `timers` with which the test is explored. The option `timing` may restrict it.
    pub(crate) fn timers_explored(&self) -> Timers {
        match (self.timers, self.timing) {
            (Timers::LastThenAny, Timing::Allow) => Timers::Last,
            (timers, _) => timers,
        }
    }
}

impl Default for Exploration {
    fn default() -> Self {
        Self {
            preemptions: 2,
            schedules: None,
            work: Some(DEFAULT_WORK),
            time: None,
            time_total: None,
            max_steps: 20_000,
            strategy: vec![Strategy::Auto],
            seed: 0,
            memory: Memory::Sc,
            memory_accesses: MemoryAccesses::Watch,
            races: Races::Deny,
            spins: Spins::Warn,
            stale_loads: StaleLoads::Allow,
            isolate: Isolate::Image,
            backend: Backend::Fibers,
            timers: Timers::LastThenAny,
            timing: Timing::Warn,
            spurious: Spurious::Any,
            faults: Vec::new(),
            watchdog: Duration::from_mins(1),
            keep_going: false,
            save_regressions: false,
            coverage: false,
            leaks: false,
            allow_unjoined_panics: false,
            divide: false,
        }
    }
}
