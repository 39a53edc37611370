//! The results of the exploration of one test so far.

use super::checkpoint_handover::CheckpointHandover;
use super::covered::Covered;
use super::debugger;
use super::distinct_failures::FoundFailure;
use super::nondeterminism::{Difference, Performed};
use super::phase::Phases;
use super::shared_file::SharedFile;
use super::work::{PER_CHILD, Usual};
use crate::base::codec;
use crate::base::memory::{EngineVec, Place, engine_vec};
use crate::base::source_path::Place as SourcePlace;
use crate::monitor::race::Learnt;
use crate::monitor::{BodyOutcome, Failure};
use crate::search::{Cost, Decision, Divergence, HashSet, Measure, Progress, Share};

/// The result of the minimisation of a failing schedule.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Minimised {
    /// The number of executions of the minimisation.
    pub(crate) executions: u64,
    pub(crate) from: Measure,
    pub(crate) to: Measure,
    /// Whether it is known that no schedule with fewer preemptions has this failure.
    pub(crate) fewest: bool,
    /// Whether it is known that the failure needs a late effect: no schedule without late effects
    /// has the failure with as few preemptions.
    pub(crate) is_weak: bool,
}

/// The results of the exploration so far. They are in the engine's memory, so that the zygote can
/// report them after the explorer has died.
#[expect(
    clippy::struct_excessive_bools,
    reason = "independent facts, not a state machine"
)]
pub(crate) struct Exploration {
    /// Whether the explorer has completed its work.
    pub(crate) finished: bool,
    /// The reason why the explorer could not continue, in words; empty if it could.
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
    /// The failures after the first one, if the search continues after a failure.
    pub(crate) others: EngineVec<FoundFailure>,
    /// Whether there are more failures than are reported.
    pub(crate) more_failures: bool,
    /// The preemption bound in which a limit, such as the step limit, first cut an execution
    /// short.
    pub(crate) cut_short: Option<u32>,
    /// The number of schedules that passed the step limit.
    pub(crate) long: u64,
    /// The number of schedules that passed the step limit and were abandoned: it is unknown
    /// whether they would end.
    pub(crate) too_long: u64,
    /// The number of schedules in which a task that computes without end was set aside (the other
    /// tasks continued without it) or cut off (the execution ended).
    pub(crate) endless: u64,
    /// The last operation of the first task that computed without end, and its place.
    pub(crate) first_endless: Option<Performed>,
    /// The number of schedules in which an assumption of the test did not hold.
    pub(crate) unmet: u64,
    /// The place of the first assumption that did not hold.
    pub(crate) first_unmet: Option<SourcePlace>,
    /// Whether fairness has excluded an enabled task in some execution. Fairness excludes a task
    /// that yields repeatedly, so that other tasks run.
    pub(crate) fair_only: bool,
    /// Whether a task has read the clock so often in some execution that its last reads were no
    /// scheduling points.
    pub(crate) misses_clock_reads: bool,
    /// Whether the search for operations that could have late effects may have missed some of them
    /// in some execution.
    pub(crate) unclear_loads: bool,
    /// The number of schedules in which the search could not choose among all late effects,
    /// because of a limit.
    pub(crate) few_stores: u64,
    /// The number of schedules in which the detection of data races ended early, because there
    /// were too many tasks.
    pub(crate) many_tasks: u64,
    /// The number of schedules in which the detection of data races ended early, because too much
    /// memory was accessed.
    pub(crate) much_memory: u64,
    /// The number of schedules in which the detection of data races ended early, because tasks had
    /// synchronized too often.
    pub(crate) many_releases: u64,
    pub(crate) schedules: u64,
    /// The [work](super::work) of the schedules so far.
    pub(crate) work: u64,
    /// The work of the program's code between two steps: see
    /// [`between_steps`](super::work::between_steps).
    pub(crate) work_between: u64,
    /// The work of each child process: see [`per_child`](super::work::per_child).
    pub(crate) work_per_child: u64,
    /// Set if the search paused before its end, after the requested amount of work or time.
    pub(crate) paused: Option<Paused>,
    /// The number of schedules when the search last restarted.
    pub(crate) begun: u64,
    /// The state of the search when it found the failure: the scheduling points that it had learnt,
    /// and the races that it no longer reported.
    pub(crate) learnt: Learnt,
    /// Races at the level of a warning, in words.
    pub(crate) warned: EngineVec<EngineVec<u8>>,
    /// The source files of the code with the races of `warned`, each once.
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
    /// Whether two runs of the first schedule differed.
    pub(crate) unstable: bool,
    /// The first difference between two runs of one schedule, if it is known.
    pub(crate) difference: Option<Difference>,
    /// The first decision of the replayed schedule that does not fit the execution.
    pub(crate) divergence: Option<Divergence>,
    /// Whether the last execution confirmed the failure, so that its events are those of the
    /// failure.
    pub(crate) confirmed: bool,
    pub(crate) body: BodyOutcome,
    /// The signal that killed the program; 0 if there was none.
    pub(crate) signal: i32,
    /// Whether the program has its own global allocator.
    pub(crate) foreign_heap: bool,
    /// The function whose call has changed the process permanently. Since that call, each execution
    /// has its own process, although the request did not ask for this. `None` if there was no such
    /// call.
    pub(crate) changes_process: Option<&'static str>,
    /// The handover of states of the search to the supervisor. After a kill, a later run can
    /// continue from such a state.
    pub(crate) checkpoints: CheckpointHandover,
    /// The results of this part, if only a part of the space is explored.
    pub(crate) share: Option<Share>,
    /// As `share`, for the phase before the current one.
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

/// The way in which another process can continue a search that paused.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Paused {
    /// From the state of the search, which is saved.
    Resumable,
    /// The search must restart, because its state cannot be saved.
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
            fair_only: false,
            misses_clock_reads: false,
            unclear_loads: false,
            few_stores: 0,
            many_tasks: 0,
            much_memory: 0,
            many_releases: 0,
            schedules: 0,
            work: 0,
            work_between: 0,
            work_per_child: PER_CHILD,
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

    /// The work that is the same in all executions of this test.
    pub(super) fn usual_work(&self, has_process: bool) -> Usual {
        Usual {
            between: self.work_between,
            per_child: self.work_per_child,
            has_process,
        }
    }

    /// The number of schedules between two [`Milestone`]s, which the supervisor reports.
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
