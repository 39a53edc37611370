//! Layers of optional exploration options: flags, variables, Chess.toml.
//!
//! `mod.rs` has the order of the layers, `exploration.rs` the options that result from all of them,
//! and their defaults.

use std::time::Duration;

use super::exploration::Exploration;
use super::values::{
    Backend, Fault, Isolate, Memory, MemoryAccesses, Races, Spins, Spurious, StaleLoads, Strategy,
    Timers, Timing,
};

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
