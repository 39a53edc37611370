//! The flags for the exploration of each test. Each is also a key of Chess.toml's `[explore]`.
//! `run_options.rs` has the flags of a whole run.

use std::time::Duration;

use clap::Args;

use super::named_values::ValueParser;
use crate::config::{
    Backend, Fault, Isolate, Layer, Memory, MemoryAccesses, Races, Spins, Spurious, StaleLoads,
    Strategy, Timers, Timing, parse_duration, parse_number, parse_positive, parse_work,
};

/// The options of the exploration.
#[derive(Args, Clone, Default, Debug)]
#[command(next_help_heading = "Exploration")]
#[expect(
    clippy::struct_excessive_bools,
    reason = "independent flags, not a state machine"
)]
pub(crate) struct ExploreArgs {
    /// Explore every schedule with up to N preemptions [default: 2]
    #[arg(long, value_name = "N", value_parser = parse_number::<u32>)]
    pub preemptions: Option<u32>,
    /// Run at most N schedules of each test
    #[arg(long, value_name = "N", value_parser = parse_positive)]
    pub schedules: Option<u64>,
    /// Do at most N units of work on each test, as in 5M; a unit is about 100 ns [default: 20M]
    #[arg(long, value_name = "N", value_parser = parse_work)]
    pub work: Option<u64>,
    /// Explore each test for at most DUR, as in 30s or 5m
    #[arg(long, value_name = "DUR", value_parser = parse_duration)]
    pub time: Option<Duration>,
    /// Explore all tests together for at most DUR: first each test for a short time, then the unfinished tests in rounds
    #[arg(long, value_name = "DUR", value_parser = parse_duration)]
    pub time_total: Option<Duration>,
    /// Explore only the choices of the first N steps of an execution [default: 20000]
    #[arg(long, value_name = "N", value_parser = parse_positive)]
    pub max_steps: Option<u64>,
    /// Strategies to use: auto, icb, dpor, random, pct, pos, surw, delay [default: auto]
    #[arg(long, value_name = "S", value_delimiter = ',', value_parser = ValueParser::<Strategy>::of(Strategy::NAMES), hide_possible_values = true)]
    pub strategy: Vec<Strategy>,
    /// Seed of random choices [default: 0]
    #[arg(long, value_name = "N", value_parser = parse_number::<u64>)]
    pub seed: Option<u64>,
    /// Memory model of atomics: sc (interleavings), tso (x86) or c11 (the language) [default: sc]
    #[arg(long, value_name = "MODEL", value_parser = ValueParser::<Memory>::of(Memory::NAMES), hide_possible_values = true)]
    pub memory: Option<Memory>,
    /// Accesses to plain memory: ignore, watch (lines that race become scheduling points) or preempt (all are scheduling points) [default: watch]
    #[arg(long, value_name = "HOW", value_parser = ValueParser::<MemoryAccesses>::of(MemoryAccesses::NAMES), hide_possible_values = true)]
    pub memory_accesses: Option<MemoryAccesses>,
    /// Whether a data race is a failure: deny, warn or allow [default: deny]
    #[arg(long, value_name = "LEVEL", value_parser = ValueParser::<Races>::of(Races::NAMES), hide_possible_values = true)]
    pub races: Option<Races>,
    /// Whether a loop that waits without yielding is a failure: deny, warn or allow [default: warn]
    #[arg(long, value_name = "LEVEL", value_parser = ValueParser::<Spins>::of(Spins::NAMES), hide_possible_values = true)]
    pub spins: Option<Spins>,
    /// Whether to report loads that could read older stores in C11, in runs with --memory sc: warn or allow [default: allow]
    #[arg(long, value_name = "LEVEL", value_parser = ValueParser::<StaleLoads>::of(StaleLoads::NAMES), hide_possible_values = true)]
    pub stale_loads: Option<StaleLoads>,
    /// How the state of the process is restored before each execution: image, tls or fork [default: image]
    #[arg(long, value_name = "HOW", value_parser = ValueParser::<Isolate>::of(Isolate::NAMES), hide_possible_values = true)]
    pub isolate: Option<Isolate>,
    /// How tasks are run: on fibers or threads [default: fibers]
    #[arg(long, value_name = "WHAT", value_parser = ValueParser::<Backend>::of(Backend::NAMES), hide_possible_values = true)]
    pub backend: Option<Backend>,
    /// When timeouts and sleeps end: last (when no task can run), any (also early, at the cost of a preemption) or last-then-any [default: last-then-any]
    #[arg(long, value_name = "WHEN", value_parser = ValueParser::<Timers>::of(Timers::NAMES), hide_possible_values = true)]
    pub timers: Option<Timers>,
    /// How to treat a failure that needs an early timeout: deny (a failure), warn or allow (not explored) [default: warn]
    #[arg(long, value_name = "LEVEL", value_parser = ValueParser::<Timing>::of(Timing::NAMES), hide_possible_values = true)]
    pub timing: Option<Timing>,
    /// Spurious wake-ups and failures: any (each costs a preemption) or never [default: any]
    #[arg(long, value_name = "WHEN", value_parser = ValueParser::<Spurious>::of(Spurious::NAMES), hide_possible_values = true)]
    pub spurious: Option<Spurious>,
    /// Calls of std that may fail, each failure at the cost of a preemption: no-space, sync, rename, short, interrupted, refused, timed-out, reset, spawn, process, allocation, all or none [default: none]
    #[arg(long, value_name = "KIND", value_delimiter = ',', value_parser = ValueParser::<Fault>::of(Fault::NAMES), hide_possible_values = true)]
    pub faults: Vec<Fault>,
    /// End the exploration of a test if a task reaches no scheduling point for SECS [default: 60s]
    #[arg(long, value_name = "SECS", value_parser = parse_duration)]
    pub watchdog: Option<Duration>,
    /// Report all distinct failures of a test, not only the first one
    #[arg(long)]
    pub keep_going: bool,
    /// Save failing schedules in `chess-regressions/` beside the crate; later runs begin with them
    #[arg(long)]
    pub save_regressions: bool,
    /// Report the covered states and happens-before graphs, and the pairs of operations seen in one order only
    #[arg(long)]
    pub coverage: bool,
    /// Report memory that is neither freed nor referenced at the end of an execution
    #[arg(long)]
    pub leaks: bool,
    /// Let a test pass if an unjoined thread panics, as `cargo test` does
    #[arg(long)]
    pub allow_unjoined_panics: bool,
    /// With --shard, explore a part of each test, even if there are enough tests for all shards
    #[arg(long)]
    pub divide: bool,
    /// Use the options of this profile of Chess.toml
    #[arg(long, value_name = "NAME")]
    pub profile: Option<String>,
}

impl ExploreArgs {
    /// The flags as the layer of the configuration with the highest precedence.
    pub(crate) fn to_layer(&self) -> Layer {
        Layer {
            preemptions: self.preemptions,
            schedules: self.schedules,
            work: self.work,
            time: self.time,
            time_total: self.time_total,
            max_steps: self.max_steps,
            strategy: (!self.strategy.is_empty()).then(|| self.strategy.clone()),
            seed: self.seed,
            memory: self.memory,
            memory_accesses: self.memory_accesses,
            races: self.races,
            spins: self.spins,
            stale_loads: self.stale_loads,
            isolate: self.isolate,
            backend: self.backend,
            timers: self.timers,
            timing: self.timing,
            spurious: self.spurious,
            faults: (!self.faults.is_empty()).then(|| self.faults.clone()),
            watchdog: self.watchdog,
            keep_going: self.keep_going.then_some(true),
            save_regressions: self.save_regressions.then_some(true),
            coverage: self.coverage.then_some(true),
            leaks: self.leaks.then_some(true),
            allow_unjoined_panics: self.allow_unjoined_panics.then_some(true),
            divide: self.divide.then_some(true),
        }
    }
}
