//! The verdict on a test, as an event. `protocol/finished.rs` makes it from the line of a test
//! binary.

use std::fmt;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{Covered, Kind, Location, Outcome, TestId};
use crate::config::{Exploration, Spurious, Timers, Timing};
use crate::shard::Shard;

/// The verdict on a test, and the data of its exploration.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize, JsonSchema)]
#[expect(
    clippy::struct_excessive_bools,
    reason = "independent facts, not a state machine"
)]
pub(crate) struct TestFinished {
    /// The name of the test's package.
    pub package: String,
    /// The test's binary.
    pub binary: String,
    /// The test's path inside the binary.
    pub test: String,
    /// The verdict.
    pub outcome: Outcome,
    /// The kind of the failure.
    pub kind: Option<Kind>,
    /// The failure, as text.
    pub message: Option<String>,
    /// The source line of the failure.
    pub location: Option<Location>,
    /// The counts of the exploration.
    #[serde(flatten)]
    pub counts: Counts,
    /// The largest preemption bound that was finished.
    pub bound_completed: Option<u32>,
    /// The largest number of delays up to which every schedule was run. A delay skips the task
    /// that would run next.
    #[serde(default)]
    pub delays_completed: Option<u32>,
    /// Whether every schedule was explored without a bound, up to reduction.
    pub complete: bool,
    /// How much was explored of the schedules in which no timeout ends while another task can run.
    /// `None` if it is as much as of all schedules (`complete`, `bound_completed`,
    /// `delays_completed`).
    #[serde(default)]
    pub timers_last: Option<Reach>,
    /// The early timeouts of the reported schedule: timeouts and sleeps that end while another
    /// task can run.
    #[serde(default)]
    pub early: Vec<EarlyTimeout>,
    /// Whether the test passed with one thread and one schedule. If so, `complete` has no meaning.
    #[serde(default)]
    pub nothing_to_explore: bool,
    /// Whether a thread that repeatedly read unchanged values counted as waiting because it did so
    /// for long. Schedules in which it continues were not explored.
    #[serde(default)]
    pub long_spins: bool,
    /// Whether threads that yield repeatedly had to let other threads run. Schedules in which they
    /// continue were explored only in part.
    #[serde(default)]
    pub fair_only: bool,
    /// Whether a thread has read the clock so often that the order of its last reads was not
    /// explored: of each thread only the first 8 reads can be interleaved with those of others.
    #[serde(default)]
    pub misses_clock_reads: bool,
    /// The library whose runtime ran the test's futures on the test's own thread, if one did:
    /// `tokio`.
    #[serde(default)]
    pub one_thread_runtime: Option<String>,
    /// `complete`, `bound_completed`, `delays_completed`, `timers_last` and `atomic`, as text.
    pub coverage: String,
    /// The strategy that found the failure, or ran last.
    pub strategy: Option<String>,
    /// The seed of every random choice.
    pub seed: u64,
    /// Wall-clock time.
    pub duration_ms: u64,
    /// The saved schedule of the failure, relative to the workspace root.
    pub schedule: Option<String>,
    /// Further information for the reader.
    pub warnings: Vec<String>,
    /// Whether `--time` ended the search. The first warning then says so.
    #[serde(default)]
    pub time_ended: bool,
    /// The packages into which calls were single steps: those of the policy `atomic` whose code
    /// synchronized.
    #[serde(default)]
    pub atomic: Vec<String>,
    /// The dependencies with data races that are warnings.
    #[serde(default)]
    pub racing: Vec<String>,
    /// A sentence for each effect outside the scheduler's control.
    #[serde(default)]
    pub outside: Vec<String>,
    /// The other failures, with `--keep-going`.
    #[serde(default)]
    pub other_failures: Vec<OtherFailure>,
    /// The reduction of the failure's first schedule to the reported one.
    #[serde(default)]
    pub minimised: Option<Minimised>,
    /// The options that bounded the exploration, if the test was explored.
    #[serde(default)]
    pub options: Option<TestOptions>,
    /// The schedules in `chess-regressions/` for this test.
    #[serde(default)]
    pub regressions: Vec<RegressionRun>,
    /// Whether an earlier run of `gate` finished the exploration, and neither the test's binary
    /// nor its options have changed since. If so, the other fields are the results of that run.
    #[serde(default)]
    pub cached: bool,
    /// The last stage that the search finished, if the end of the run stopped it.
    #[serde(default)]
    pub stopped: Option<Stop>,
    /// The data for `cargo chess merge`, if this shard explores a part of the test's schedules.
    /// The other fields are about all schedules.
    #[serde(default)]
    pub part: Option<TestPart>,
}

/// The counts of an exploration. A test binary reports them, and the event has them unchanged.
#[derive(Clone, PartialEq, Debug, Default, Serialize, Deserialize, JsonSchema)]
pub(crate) struct Counts {
    /// Executions with a new schedule.
    pub schedules: u64,
    /// The work of these executions, in units that are the same on every machine.
    #[serde(default)]
    pub work: u64,
    /// Executions of the test's body, including repeated ones.
    pub executions: u64,
    /// Distinct happens-before graphs.
    pub distinct: u64,
    /// The covered part of the test, with `--coverage` or if the test observes states.
    #[serde(default)]
    pub covered: Option<Covered>,
    /// Schedules that a reduction proved redundant.
    pub pruned: u64,
    /// Schedules without a verdict, because an assumption of the test did not hold in them.
    #[serde(default)]
    pub unmet_assumptions: u64,
    /// Steps of all executions.
    pub steps: u64,
    /// Steps of the longest execution.
    pub max_steps_in_execution: u64,
    /// The highest number of tasks of one execution.
    pub threads: u32,
    /// Preemptions of the reported schedule: the lowest number that the search has found. Late
    /// effects count as preemptions.
    pub preemptions: Option<u32>,
    /// The late effects among these preemptions, under a weak memory model: loads of older stores
    /// than the newest, and stores that take their place before newer ones.
    #[serde(default)]
    pub late_effects: Option<u32>,
}

impl Counts {
    /// The counts of a test that was run once, without an exploration.
    pub(crate) fn of_one_run() -> Self {
        Self {
            executions: 1,
            ..Self::default()
        }
    }
}

/// The explored part of schedules.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize, JsonSchema)]
pub(crate) struct Reach {
    /// Whether all of these schedules were explored.
    pub complete: bool,
    /// The largest preemption bound that was finished.
    pub bound_completed: Option<u32>,
    /// The largest number of delays up to which every schedule was run.
    #[serde(default)]
    pub delays_completed: Option<u32>,
}

/// A timeout or sleep that ends while another task can run.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize, JsonSchema)]
pub(crate) struct EarlyTimeout {
    /// The wait.
    pub wait: EarlyOperation,
    /// The longest duration of the wait, in nanoseconds.
    pub length_ns: u64,
    /// The next operation of the task that would run if the timeout were not early.
    pub before: EarlyOperation,
}

/// An operation of a task.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize, JsonSchema)]
pub(crate) struct EarlyOperation {
    /// The task.
    pub task: u32,
    /// The operation, in the form of the events.
    pub operation: String,
    /// The source line of the operation, if it is known.
    pub location: Option<Location>,
    /// Whether this operation is a wait with a timeout, too. If no timeout were early, this wait
    /// would end first.
    pub waits: bool,
    /// Whether this is the start of the task.
    #[serde(default)]
    pub begins: bool,
}

/// A schedule in `chess-regressions/`, and its outcome.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize, JsonSchema)]
pub(crate) struct RegressionRun {
    /// The path of the schedule, relative to the workspace root.
    pub schedule: String,
    /// The outcome of the schedule.
    pub outcome: RegressionOutcome,
}

impl RegressionRun {
    /// A regression that this run has found and saved.
    pub(crate) fn saved(schedule: String) -> Self {
        Self {
            schedule,
            outcome: RegressionOutcome::Saved,
        }
    }
}

/// The outcome of a schedule in `chess-regressions/`.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub(crate) enum RegressionOutcome {
    /// The test fails under this schedule.
    Failed,
    /// The test passes under this schedule. If the program has changed, no search has found the
    /// failure either.
    Passed,
    /// The test does not fail under this schedule any more, but a search found the failure again.
    Refound,
    /// The schedule no longer fits the program, and no schedule with at most its number of
    /// preemptions fails.
    Searched,
    /// The schedule no longer fits the program, and the search ended too early for a result.
    Unknown,
    /// The schedule was not run, because its failure needs an option that is off now.
    Skipped,
    /// This run has found and saved the schedule.
    Saved,
}

/// The last stage of a test whose search was stopped by the end of the run.
#[derive(
    Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Stop {
    /// The first round, a short look at each test.
    Look,
    /// A later round.
    Round,
}

/// The exploration of one of several parts of a test's schedules.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize, JsonSchema)]
pub(crate) struct TestPart {
    /// The number of the part, from 1.
    pub index: u32,
    /// The number of parts.
    pub count: u32,
    /// The number of schedules that every part has.
    pub shared: u64,
    /// The number of schedules that a reduction proved redundant before the parts began to differ.
    pub shared_pruned: u64,
    /// Schedules that other parts may also have: the name of each group, and its number of
    /// schedules.
    pub late: Vec<(String, u64)>,
    /// The largest preemption bound that was finished in this part.
    pub bound_completed: Option<u32>,
    /// Whether this part is completely explored.
    pub complete: bool,
    /// The explored part of this part's schedules without early timeouts, if it differs from that
    /// of all schedules of this part.
    #[serde(default)]
    pub timers_last: Option<Reach>,
}

impl TestPart {
    /// The part of a shard whose result is not known.
    pub(crate) fn unknown(shard: Shard) -> Self {
        Self {
            index: shard.index(),
            count: shard.count(),
            shared: 0,
            shared_pruned: 0,
            late: Vec::new(),
            bound_completed: None,
            complete: false,
            timers_last: None,
        }
    }
}

/// The reduction of a failure's schedule.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize, JsonSchema)]
pub(crate) struct Minimised {
    /// The runs of the test's body that the reduction took.
    pub executions: u64,
    /// The size of the execution that the search found.
    pub from: Size,
    /// The size of the reported execution.
    pub to: Size,
    /// Whether it is certain that no schedule with fewer preemptions leads to this failure.
    pub fewest_preemptions: bool,
    /// Whether the failure certainly needs a weak memory model: each schedule that leads to it has
    /// late effects, or more preemptions than the reported one.
    #[serde(default)]
    pub weak: bool,
}

/// The size of an execution, in the order of importance.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize, JsonSchema)]
pub(crate) struct Size {
    /// Preemptions, and other choices of the same cost.
    pub preemptions: u32,
    /// The late effects among these choices.
    #[serde(default)]
    pub late_effects: u32,
    /// The number of switches to another task.
    pub switches: u64,
    /// Steps of all tasks.
    pub steps: u64,
}

/// The options of a test that limit its exploration.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize, JsonSchema)]
pub(crate) struct TestOptions {
    /// The largest preemption bound.
    pub preemptions: u32,
    /// The budget in schedules, if there is one.
    pub schedules: Option<u64>,
    /// The budget in units of work, if there is one.
    #[serde(default)]
    pub work: Option<u64>,
    /// The budget of an execution, in steps.
    pub max_steps: u64,
    /// The strategies, in their order of use.
    pub strategy: Vec<String>,
    /// The rule for timeouts: `any` or `last`.
    pub timers: String,
    /// The outcome of a failure that needs an early timeout.
    #[serde(default = "warn")]
    pub timing: String,
    /// Whether spurious wake-ups and failures were tried.
    #[serde(default = "any")]
    pub spurious: String,
    /// The calls that were allowed to fail.
    #[serde(default)]
    pub faults: Vec<String>,
    /// Whether the search continued after the first failure.
    pub keep_going: bool,
}

impl TestOptions {
    /// The options of `exploration`.
    pub(crate) fn of(exploration: &Exploration) -> Self {
        let strategies = exploration.strategy.iter();
        Self {
            preemptions: exploration.preemptions,
            schedules: exploration.schedules,
            work: exploration.work,
            max_steps: exploration.max_steps,
            strategy: strategies.map(ToString::to_string).collect(),
            timers: exploration.timers_explored().to_string(),
            timing: exploration.timing.to_string(),
            spurious: exploration.spurious.to_string(),
            faults: exploration.faults.iter().map(ToString::to_string).collect(),
            keep_going: exploration.keep_going,
        }
    }

    /// The limits that the options put on every coverage.
    pub(crate) fn limits(&self) -> impl Iterator<Item = &'static str> {
        let timers =
            (self.timers == Timers::Last.to_string()).then_some(", without early timeouts");
        let spurious =
            (self.spurious == Spurious::Never.to_string()).then_some(", without spurious events");
        timers.into_iter().chain(spurious)
    }
}

/// The value of `timing` for a record of an earlier version, which did not have this option.
fn warn() -> String {
    Timing::Warn.to_string()
}

/// The value of `spurious` for a record of an earlier version, which did not have this option.
fn any() -> String {
    Spurious::Any.to_string()
}

/// A failure of a test other than the one that its verdict describes.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize, JsonSchema)]
pub(crate) struct OtherFailure {
    /// The kind of the failure.
    pub kind: Kind,
    /// The failure, as text.
    pub message: Option<String>,
    /// The source line of the failure.
    pub location: Option<Location>,
    /// Preemptions of the failure's schedule: the lowest number that the search has found.
    pub preemptions: Option<u32>,
    /// The late effects among these preemptions.
    #[serde(default)]
    pub late_effects: Option<u32>,
    /// The number of early timeouts in the failure's schedule.
    #[serde(default)]
    pub early: u32,
    /// The saved schedule of the failure, relative to the workspace root.
    pub schedule: Option<String>,
}

impl OtherFailure {
    /// A failure of which only the kind is known.
    pub(crate) fn of_kind(kind: Kind) -> Self {
        Self {
            kind,
            message: None,
            location: None,
            preemptions: None,
            late_effects: None,
            early: 0,
            schedule: None,
        }
    }
}

/// Conditions that all explored executions of a test meet. As text: the end of a sentence about
/// these executions, empty without a condition.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default)]
#[expect(
    clippy::struct_excessive_bools,
    reason = "independent facts, not a state machine"
)]
pub(crate) struct Conditions {
    /// The test's own assumptions hold.
    assumptions: bool,
    /// As [`TestFinished::fair_only`].
    fair_only: bool,
    /// As [`TestFinished::long_spins`].
    long_spins: bool,
    /// As [`TestFinished::misses_clock_reads`].
    misses_clock_reads: bool,
}

impl fmt::Display for Conditions {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let threads = match (self.fair_only, self.long_spins) {
            (false, false) => "",
            (true, false) => "threads that yield repeatedly let other threads run",
            (false, true) => "threads that read unchanged values very often let other threads run",
            (true, true) => {
                "threads that yield repeatedly, or read unchanged values very often, let other \
                 threads run"
            }
        };
        let all = [
            (self.assumptions, "the test's assumptions hold"),
            (!threads.is_empty(), threads),
            (
                self.misses_clock_reads,
                "the order of clock reads does not matter after the first 8 of each thread",
            ),
        ];
        let met: Vec<_> = all.into_iter().filter(|(is_met, _)| *is_met).collect();
        for (at, (_, words)) in met.iter().enumerate() {
            f.write_str(match at {
                0 => ", where ",
                _ if at + 1 == met.len() => ", and ",
                _ => ", ",
            })?;
            f.write_str(words)?;
        }
        Ok(())
    }
}

impl TestFinished {
    /// The warning that the time ended the search, and all other warnings.
    pub(crate) fn warnings_of_time_and_others(&self) -> (&[String], &[String]) {
        let first = usize::from(self.time_ended).min(self.warnings.len());
        self.warnings.split_at(first)
    }

    /// The conditions on the explored executions.
    pub(crate) fn conditions(&self) -> Conditions {
        Conditions {
            assumptions: self.counts.unmet_assumptions > 0,
            fair_only: self.fair_only,
            long_spins: self.long_spins,
            misses_clock_reads: self.misses_clock_reads,
        }
    }

    /// The explored part of all schedules, according to this verdict.
    pub(crate) fn reach(&self) -> Reach {
        Reach {
            complete: self.complete,
            bound_completed: self.bound_completed,
            delays_completed: self.delays_completed,
        }
    }

    /// The explored part of the schedules that were to be explored. With `--shard`, this may be a
    /// part of all schedules.
    pub(crate) fn own_reach(&self) -> Reach {
        let all = self.reach();
        self.part.as_ref().map_or(all, |part| Reach {
            complete: all.complete || part.complete,
            bound_completed: all.bound_completed.max(part.bound_completed),
            ..all
        })
    }

    /// Sets `nothing_to_explore` if the test passed completely with one thread and one schedule.
    pub(crate) fn look_for_threads(&mut self) {
        let is_whole = self.outcome == Outcome::Passed && self.complete;
        self.nothing_to_explore =
            is_whole && self.counts.threads == 1 && self.counts.schedules == 1;
        if self.nothing_to_explore {
            self.coverage = self.of_one_thread();
        }
    }

    /// The coverage of a test for which `nothing_to_explore` is set.
    pub(crate) fn of_one_thread(&self) -> String {
        // There may have been threads outside control.
        let words = if self.outside.is_empty() {
            "one thread, nothing to explore"
        } else {
            "one thread under control, nothing to explore"
        };
        words.to_owned()
    }

    /// The same as [`Self::own_reach`], for the schedules without early timeouts. `None` if their
    /// reach does not differ from that of all schedules.
    pub(crate) fn own_reach_last(&self) -> Option<Reach> {
        let part = self.part.as_ref().and_then(|part| part.timers_last);
        let reach = self.timers_last?;
        let part = part.unwrap_or(reach);
        Some(Reach {
            complete: reach.complete || part.complete,
            bound_completed: reach.bound_completed.max(part.bound_completed),
            ..reach
        })
    }

    /// The identity of the test.
    pub(crate) fn id(&self) -> TestId {
        TestId {
            package: self.package.clone(),
            binary: self.binary.clone(),
            test: self.test.clone(),
        }
    }
}
