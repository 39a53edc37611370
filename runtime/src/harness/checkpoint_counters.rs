//! The part of a checkpoint that does not belong to the strategy: the counters of the search.
//! `--resume` continues from a checkpoint.

use crate::base::checkpoint::Checkpoint;
use crate::base::codec::Codec;
use crate::harness::engine::Engine;

macro_rules! is_kept {
    ($($owner:ident.$($part:ident).+ as $name:ident),* $(,)?) => {
        /// Appends the counters of the search and the remaining `budget` to `out`. Returns `false`
        /// if the search has found a failure, because failures are not saved.
        pub(super) fn write(engine: &Engine, budget: u64, out: &mut Checkpoint) -> bool {
            budget.write(out);
            $(engine.$owner.$($part).+.write(out);)*
            engine.exploration.failure.is_none()
        }

        /// Reads the counters of the search from `input` into `engine`. Returns the remaining
        /// budget. If `input` is invalid, returns `None` and does not change `engine`.
        pub(super) fn read(engine: &mut Engine, input: &mut &[u8]) -> Option<u64> {
            let budget = Codec::read(input)?;
            $(let $name = Codec::read(input)?;)*
            $(engine.$owner.$($part).+ = $name;)*
            Some(budget)
        }
    };
}

is_kept!(
    exploration.schedules as schedules,
    exploration.work as work,
    exploration.work_between as work_between,
    exploration.work_per_child as work_per_child,
    exploration.begun as begun,
    exploration.warned as warned,
    exploration.racing_files as racing_files,
    exploration.executions as executions,
    exploration.distinct as distinct,
    exploration.covered as covered,
    exploration.steps as steps,
    exploration.max_steps as max_steps,
    exploration.threads as threads,
    exploration.progress as progress,
    execution.could_be_early as could_be_early,
    exploration.milestones as milestones,
    exploration.cut_short as cut_short,
    exploration.long as long,
    exploration.too_long as too_long,
    exploration.endless as endless,
    exploration.first_endless as first_endless,
    exploration.unmet as unmet,
    exploration.first_unmet as first_unmet,
    exploration.few_stores as few_stores,
    exploration.fair_only as fair_only,
    exploration.misses_clock_reads as misses_clock_reads,
    exploration.unclear_loads as unclear_loads,
    exploration.many_tasks as many_tasks,
    exploration.much_memory as much_memory,
    exploration.many_releases as many_releases,
    exploration.diverged as diverged,
    exploration.unstable as unstable,
    exploration.difference as difference,
    execution.outside as outside,
    execution.one_thread_runtime as one_thread_runtime,
    exploration.changes_process as changes_process,
    exploration.strategy as strategy,
    exploration.share as share,
    exploration.share_last as share_last,
    execution.budget.longest as longest,
    execution.endless.known as known_endless,
    monitors.outcome.intended as intended,
    monitors.races.points as points,
    monitors.races.known as known,
    monitors.races.forgiven as forgiven,
    monitors.spins.known as spins,
    monitors.races.memory.stale.found as stale_loads,
    execution.policies.atomic_files as atomic_files,
);
