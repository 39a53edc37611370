//! The exploration options of one test, and their defaults.

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
