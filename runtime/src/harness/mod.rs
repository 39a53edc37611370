//! The exploration of one test: the loop over executions, the process around it,
//! and what is told to the supervisor.

mod body;
mod counters;
pub(crate) mod debugger;
mod difference;
mod explore;
mod failures;
mod foreign;
mod helpers;
mod json;
mod mailbox;
mod minimise;
mod names;
mod process;
mod report;
mod request;
mod run;
mod saved;
mod silence;
mod state;
mod tell;
pub(crate) mod trace;
mod wire;
mod work;
mod zygote;

use core::sync::atomic::{AtomicBool, Ordering};

pub(crate) use report::{called, line_of, line_of_place, short_path};
pub use request::{Request, VARIABLE};
pub use zygote::serve;

use crate::base::memory::{EngineVec, engine_vec};
use crate::base::stored;
use crate::interpose::Elsewhere;
pub use crate::monitor::Expectation;
use crate::monitor::race::Learnt;
use crate::monitor::{BodyOutcome, Failure};
use crate::search::{Decision, Divergence, HashSet, Progress, Share};
use debugger::Debugger;
use explore::phases::Phases;
use failures::Found;
use mailbox::Mailbox;
use minimise::Minimised;
use saved::Saved;
use trace::Trace;

/// A test of the binary, as libtest's harness describes it.
#[derive(Clone, Copy)]
pub struct Test {
    /// Its path, as `--exact` takes it.
    pub name: &'static str,
    /// The function; an error is a failed `-> Result` test.
    pub run: fn() -> Result<(), String>,
    /// What its attributes ask for.
    pub expectation: Expectation,
}

/// What became known of the exploration so far. Kept in the engine's memory, so
/// that the zygote can tell it when the explorer has died.
#[expect(
    clippy::struct_excessive_bools,
    reason = "independent facts, not a state machine"
)]
pub(crate) struct Exploration {
    /// The explorer has said all that it had to say.
    pub(crate) finished: bool,
    /// Why the explorer could not go on, in words.
    pub(crate) broke_off: EngineVec<u8>,
    /// The kernel thread that explores.
    pub(crate) kernel_thread: i32,
    pub(crate) failure: Option<Failure>,
    /// The decisions of the failing schedule.
    pub(crate) decisions: EngineVec<Decision>,
    pub(crate) preemptions: u32,
    /// What became of the schedule that the search found.
    pub(crate) minimised: Option<Minimised>,
    /// What else was found, where the search went on.
    pub(crate) others: EngineVec<Found>,
    /// There are more failures than are told.
    pub(crate) more_failures: bool,
    /// The bound in which an execution was first cut short: by the step limit.
    pub(crate) cut_short: Option<u32>,
    /// Schedules that passed the step limit.
    pub(crate) long: u64,
    /// Those of them that were given up: nothing says that they would not end.
    pub(crate) too_long: u64,
    /// Schedules in which a task that computes without end was set aside or cut off.
    pub(crate) endless: u64,
    /// The first such task in words: what it last did, and where.
    pub(crate) first_endless: EngineVec<u8>,
    /// Schedules in which races were looked for only until there were too many tasks.
    pub(crate) many_tasks: u64,
    /// Or until too much memory was accessed.
    pub(crate) much_memory: u64,
    /// Or until tasks had synchronized too often.
    pub(crate) many_releases: u64,
    pub(crate) schedules: u64,
    /// The [work](work) that they took.
    pub(crate) work: u64,
    /// The search stopped before its end: it has done as much work as it was asked for.
    pub(crate) paused: Option<Paused>,
    /// How many there were when the search last began anew.
    pub(crate) begun: u64,
    /// What was known of races when the failure was found.
    pub(crate) learnt: Learnt,
    /// Races that only warn, in words.
    pub(crate) warned: EngineVec<EngineVec<u8>>,
    pub(crate) executions: u64,
    pub(crate) distinct: HashSet,
    pub(crate) steps: u64,
    pub(crate) max_steps: u64,
    pub(crate) threads: usize,
    /// The library whose runtime ran tasks of its own on the thread that waits for them.
    pub(crate) one_thread_runtime: &'static str,
    pub(crate) progress: Progress,
    /// Whether time may pass early, now and before.
    pub(crate) phases: Phases,
    pub(crate) strategy: &'static str,
    /// Schedules that could not be repeated.
    pub(crate) diverged: u64,
    /// The first schedule ran differently the second time.
    pub(crate) unstable: bool,
    /// Where two runs of one schedule came apart, if that is known.
    pub(crate) difference: EngineVec<u8>,
    /// In replays: where the schedule stopped to fit.
    pub(crate) divergence: Option<Divergence>,
    /// The last execution confirmed the failure, so its events are the failure's.
    pub(crate) confirmed: bool,
    pub(crate) body: BodyOutcome,
    /// The address of the access that killed the program.
    pub(crate) fault: Option<usize>,
    /// Set by the zygote when the time budget is used up.
    pub(crate) out_of_time: AtomicBool,
    /// The program has a global allocator of its own.
    pub(crate) foreign_heap: bool,
    /// Each execution has a process of its own.
    pub(crate) has_processes: bool,
    /// The function because of which it has, if it was not asked for.
    pub(crate) changes_process: Option<&'static str>,
    /// What happened outside the scheduler's control, in words, each once.
    pub(crate) outside: EngineVec<&'static str>,
    /// The paths that the test writes outside its own directory.
    pub(crate) elsewhere: Elsewhere,
    /// The state of the search, for a run that goes on after a kill.
    pub(crate) saved: Saved,
    /// What was explored, if only a part of the space is to be.
    pub(crate) share: Option<Share>,
    /// The same of the phase before.
    pub(crate) share_last: Option<Share>,
    /// How many processes may explore.
    pub(crate) mailbox: Mailbox,
    /// Where lines for the supervisor go.
    pub(crate) told_to: i32,
    pub(crate) debugger: Debugger,
    pub(crate) trace: Trace,
    /// How far the search was after each [`Exploration::EVERY`] schedules.
    pub(crate) milestones: EngineVec<Milestone>,
}

/// How far a search was after a number of schedules.
#[derive(Clone, Copy)]
pub(crate) struct Milestone {
    /// The preemption bound of the last schedule.
    pub(crate) bound: Option<u32>,
    /// The part of the space that was explored, in millionths, if the strategy estimates it.
    pub(crate) explored: Option<u64>,
}

stored::stored!(Milestone { bound, explored });

/// How a search stopped that is to go on in another process.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Paused {
    /// Its state is written down.
    Resumable,
    /// It cannot be written down: the search has to begin anew.
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
            preemptions: 0,
            minimised: None,
            others: engine_vec(),
            more_failures: false,
            cut_short: None,
            long: 0,
            too_long: 0,
            endless: 0,
            first_endless: engine_vec(),
            many_tasks: 0,
            much_memory: 0,
            many_releases: 0,
            schedules: 0,
            work: 0,
            paused: None,
            begun: 0,
            learnt: Learnt::NOTHING,
            warned: engine_vec(),
            executions: 0,
            distinct: HashSet::new(),
            steps: 0,
            max_steps: 0,
            threads: 0,
            one_thread_runtime: "",
            progress: Progress::NONE,
            phases: Phases::NONE,
            strategy: "icb",
            diverged: 0,
            unstable: false,
            difference: engine_vec(),
            divergence: None,
            confirmed: false,
            body: BodyOutcome::Unfinished,
            fault: None,
            out_of_time: AtomicBool::new(false),
            foreign_heap: false,
            has_processes: false,
            changes_process: None,
            outside: engine_vec(),
            elsewhere: Elsewhere::new(),
            saved: Saved::new(),
            share: None,
            share_last: None,
            mailbox: Mailbox::new(),
            told_to: -1,
            debugger: Debugger::new(),
            trace: Trace::new(),
            milestones: engine_vec(),
        }
    }

    /// The supervisor tells of a search's progress after so many schedules each.
    const EVERY: u64 = 10_000;

    /// One more schedule was explored, which took so much `work`, and with it `part` of all.
    #[inline]
    pub(crate) fn count_schedule(&mut self, work: u64, part: impl FnOnce() -> Option<f64>) {
        self.schedules += 1;
        self.work += work;
        if self.schedules.is_multiple_of(Self::EVERY) {
            if self.milestones.capacity() == 0 {
                // The zygote reads them meanwhile: it is not to find them moving.
                self.milestones.reserve(1 << 10);
            }
            self.milestones.push(Milestone {
                bound: self.progress.bound,
                explored: part().map(|part| (part * 1e6) as u64),
            });
        }
    }

    /// The search is so far as the next schedule begins.
    #[inline]
    pub(crate) fn note_progress(&mut self, progress: Progress) {
        self.progress = Progress {
            // No other schedule may be left, but this one has still to run.
            complete: false,
            ..progress.after(self.progress)
        };
    }

    /// Whether the time budget is used up.
    #[inline]
    pub(crate) fn is_out_of_time(&self) -> bool {
        self.out_of_time.load(Ordering::Relaxed)
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
            complete: true,
        });
        assert!(!exploration.progress.complete);
    }
}
