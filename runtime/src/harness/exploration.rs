//! The results of the exploration of one test so far.

use super::checkpoint_handover::CheckpointHandover;
use super::covered::Covered;
use super::debugger;
use super::failures::FoundFailure;
use super::nondeterminism::{Difference, Performed};
use super::phase::Phases;
use super::shared_file::SharedFile;
use crate::base::codec;
use crate::base::memory::{EngineVec, Place, engine_vec};
use crate::base::source_path::Place as SourcePlace;
use crate::monitor::race::Learnt;
use crate::monitor::{BodyOutcome, Failure};
use crate::search::{Cost, Decision, Divergence, HashSet, Measure, Progress, Share};

/// The result of the minimisation of a failing schedule.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Minimised {
    /// The number of executions that it took.
    pub(crate) executions: u64,
    pub(crate) from: Measure,
    pub(crate) to: Measure,
    /// Every schedule with fewer preemptions is known not to have this failure.
    pub(crate) fewest: bool,
    /// Every schedule with no more preemptions and without a late effect is known not to have this
    /// failure.
    pub(crate) is_weak: bool,
}

/// The results of the exploration so far. They are in the engine's memory, so that the zygote can
/// report them after the explorer has died.
#[expect(
    clippy::struct_excessive_bools,
    reason = "independent facts, not a state machine"
)]
pub(crate) struct Exploration {
    /// The explorer has reached its end.
    pub(crate) finished: bool,
    /// The reason why the explorer could not continue, in words.
    pub(crate) broke_off: EngineVec<u8>,
    /// The kernel thread that explores.
    pub(crate) kernel_thread: i32,
    pub(crate) failure: Option<Failure>,
    /// The decisions of the failing schedule.
    pub(crate) decisions: EngineVec<Decision>,
    /// The cost of the failing execution.
    pub(crate) cost: Cost,
    /// The result of the minimisation of the failing schedule.
    pub(crate) minimised: Option<Minimised>,
    /// The other failures, if the search continued.
    pub(crate) others: EngineVec<FoundFailure>,
    /// There are more failures than are reported.
    pub(crate) more_failures: bool,
    /// The bound in which the step limit first cut an execution short.
    pub(crate) cut_short: Option<u32>,
    /// The number of schedules that passed the step limit.
    pub(crate) long: u64,
    /// The number of schedules that passed the step limit and were abandoned: it is unknown
    /// whether they would end.
    pub(crate) too_long: u64,
    /// The number of schedules in which a task that computes without end was set aside or cut off.
    pub(crate) endless: u64,
    /// The last operation of the first task that was set aside or cut off, and its place.
    pub(crate) first_endless: Option<Performed>,
    /// The number of schedules in which an assumption of the test did not hold.
    pub(crate) unmet: u64,
    /// The place of the first assumption that did not hold.
    pub(crate) first_unmet: Option<SourcePlace>,
    /// In some execution, the search for operations that could have late effects may have missed
    /// some of them.
    pub(crate) unclear_loads: bool,
    /// The number of schedules in which some late effects were not offered.
    pub(crate) few_stores: u64,
    /// The number of schedules in which races were only detected until there were too many tasks.
    pub(crate) many_tasks: u64,
    /// The number of schedules in which races were only detected until too much memory was
    /// accessed.
    pub(crate) much_memory: u64,
    /// The number of schedules in which races were only detected until tasks had synchronized too
    /// often.
    pub(crate) many_releases: u64,
    pub(crate) schedules: u64,
    /// The [work](super::work) of the schedules so far.
    pub(crate) work: u64,
    /// The search stopped before its end, after the requested amount of work.
    pub(crate) paused: Option<Paused>,
    /// The number of schedules when the search last restarted.
    pub(crate) begun: u64,
    /// The knowledge about races when the failure was found.
    pub(crate) learnt: Learnt,
    /// Races at the level of a warning, in words.
    pub(crate) warned: EngineVec<EngineVec<u8>>,
    /// The source files of the code with these races, each once.
    pub(crate) racing_files: EngineVec<EngineVec<u8>>,
    pub(crate) executions: u64,
    pub(crate) distinct: HashSet,
    pub(crate) covered: Covered,
    pub(crate) steps: u64,
    pub(crate) max_steps: u64,
    pub(crate) threads: usize,
    pub(crate) progress: Progress,
    /// The current phase, which states whether early timeouts are explored, and the results of the
    /// phase before.
    pub(crate) phases: Phases,
    pub(crate) strategy: &'static str,
    /// The number of schedules that could not be repeated.
    pub(crate) diverged: u64,
    /// Two runs of the first schedule differed.
    pub(crate) unstable: bool,
    /// The first difference between two runs of one schedule, if it is known.
    pub(crate) difference: Option<Difference>,
    /// In replays: the first decision that did not fit.
    pub(crate) divergence: Option<Divergence>,
    /// The last execution confirmed the failure, so that its events are those of the failure.
    pub(crate) confirmed: bool,
    pub(crate) body: BodyOutcome,
    /// The signal that killed the program; 0 if there was none.
    pub(crate) signal: i32,
    /// The program has its own global allocator.
    pub(crate) foreign_heap: bool,
    /// The function that requires a process for each execution, if this was not requested.
    pub(crate) changes_process: Option<&'static str>,
    /// The states of the search, from which it can continue after a kill.
    pub(crate) checkpoints: CheckpointHandover,
    /// The results of this part, if only a part of the space is explored.
    pub(crate) share: Option<Share>,
    /// As `share`, for the phase before.
    pub(crate) share_last: Option<Share>,
    /// The file that is shared with the supervisor. It has the number of processes that may
    /// explore.
    pub(crate) shared_file: SharedFile,
    /// The extent of the search after each [`Exploration::EVERY`] schedules.
    pub(crate) milestones: EngineVec<Milestone>,
}

/// The place of the results.
pub(crate) const PLACE: Place<Exploration> = Place::after(&debugger::PLACE);

/// The results of the exploration so far. The pointer may be used as a unique reference while no
/// other reference to the same field is held: one thread runs code of the engine at a time.
#[inline]
pub(crate) fn exploration() -> *mut Exploration {
    PLACE.get()
}

/// The extent of a search after a number of schedules.
#[derive(Clone, Copy)]
pub(crate) struct Milestone {
    /// The preemption bound of the last schedule.
    pub(crate) bound: Option<u32>,
    /// The part of the space that was explored, in millionths, if the strategy estimates it.
    pub(crate) explored: Option<u64>,
}

codec::codec!(Milestone { bound, explored });

/// The way in which a search stopped, so that another process continues it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Paused {
    /// Its state is saved.
    Resumable,
    /// Its state cannot be saved, so that the search must restart.
    Lost,
}

impl Exploration {
    pub(crate) const fn new() -> Self {
        Self {
            finished: false,
            broke_off: engine_vec(),
            kernel_thread: 0,
            failure: None,
            decisions: engine_vec(),
            cost: Cost {
                preemptions: 0,
                late_effects: 0,
            },
            minimised: None,
            others: engine_vec(),
            more_failures: false,
            cut_short: None,
            long: 0,
            too_long: 0,
            endless: 0,
            first_endless: None,
            unmet: 0,
            first_unmet: None,
            unclear_loads: false,
            few_stores: 0,
            many_tasks: 0,
            much_memory: 0,
            many_releases: 0,
            schedules: 0,
            work: 0,
            paused: None,
            begun: 0,
            learnt: Learnt::NOTHING,
            warned: engine_vec(),
            racing_files: engine_vec(),
            executions: 0,
            distinct: HashSet::new(),
            covered: Covered::new(),
            steps: 0,
            max_steps: 0,
            threads: 0,
            progress: Progress::NONE,
            phases: Phases::NONE,
            strategy: "icb",
            diverged: 0,
            unstable: false,
            difference: None,
            divergence: None,
            confirmed: false,
            body: BodyOutcome::Unfinished,
            signal: 0,
            foreign_heap: false,
            changes_process: None,
            checkpoints: CheckpointHandover::new(),
            share: None,
            share_last: None,
            shared_file: SharedFile::new(),
            milestones: engine_vec(),
        }
    }

    /// The number of schedules after which the supervisor reports the progress of a search.
    const EVERY: u64 = 10_000;

    /// Counts a schedule with its `work`. `part` returns the explored part of the space so far.
    #[inline]
    pub(crate) fn count_schedule(&mut self, work: u64, part: impl FnOnce() -> Option<f64>) {
        self.schedules += 1;
        self.work += work;
        self.covered
            .count_schedule(self.schedules, self.distinct.count());
        if self.schedules.is_multiple_of(Self::EVERY) {
            if self.milestones.capacity() == 0 {
                // The zygote may read the milestones at any time, so they must not move.
                self.milestones.reserve(1 << 10);
            }
            self.milestones.push(Milestone {
                bound: self.progress.bound,
                explored: part().map(|part| (part * 1e6) as u64),
            });
        }
    }

    /// Records the progress of the search before the next schedule.
    #[inline]
    pub(crate) fn note_progress(&mut self, progress: Progress) {
        self.progress = Progress {
            // There may be no other schedule left, but this one must still run.
            complete: false,
            ..progress.after(self.progress)
        };
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_search_is_not_complete_before_its_last_schedule_has_run() {
        let mut exploration = Exploration::new();
        exploration.note_progress(Progress {
            bound: Some(1),
            pruned: 0,
            bound_completed: Some(0),
            delays_completed: None,
            complete: true,
        });
        assert!(!exploration.progress.complete);
    }
}
