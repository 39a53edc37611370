//! The verdict on a test, as its event tells it.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{Kind, Location, Outcome, TestId};
use crate::config::{Exploration, Spurious, Timers, Timing};
use crate::shard::Shard;

/// The verdict on a test and how it was reached.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize, JsonSchema)]
#[expect(
    clippy::struct_excessive_bools,
    reason = "independent facts, not a state machine"
)]
pub struct TestFinished {
    /// The name of the test's package.
    pub package: String,
    /// The test's binary.
    pub binary: String,
    /// The test's path inside the binary.
    pub test: String,
    /// The verdict.
    pub outcome: Outcome,
    /// What kind of failure was found.
    pub kind: Option<Kind>,
    /// The failure in words.
    pub message: Option<String>,
    /// The source line of the failure.
    pub location: Option<Location>,
    /// Executions that took a new schedule.
    pub schedules: u64,
    /// The work that they took, in units that are the same on every machine.
    #[serde(default)]
    pub work: u64,
    /// All runs of the test's body.
    pub executions: u64,
    /// Distinct happens-before graphs.
    pub distinct: u64,
    /// Schedules that a reduction proved redundant.
    pub pruned: u64,
    /// Steps taken over all executions.
    pub steps: u64,
    /// Steps of the longest execution.
    pub max_steps_in_execution: u64,
    /// The most tasks that one execution had.
    pub threads: u32,
    /// Preemptions of the reported schedule: the fewest that the search knows of.
    pub preemptions: Option<u32>,
    /// The largest preemption bound that was finished.
    pub bound_completed: Option<u32>,
    /// Whether every schedule was explored without a bound, up to reduction.
    pub complete: bool,
    /// How far the schedules were explored in which time passes only when nothing else can
    /// run, where that is not what `complete` and `bound_completed` say of all schedules.
    #[serde(default)]
    pub timers_last: Option<Reach>,
    /// The timeouts and sleeps that end early in the reported schedule: while another task
    /// can run.
    #[serde(default)]
    pub early: Vec<EarlyTimeout>,
    /// Whether the test passed in one thread, and had one schedule: `complete` says nothing
    /// then.
    #[serde(default)]
    pub nothing_to_explore: bool,
    /// The library whose runtime ran the test's futures on the test's own thread, where one
    /// did: `tokio`.
    #[serde(default)]
    pub one_thread_runtime: Option<String>,
    /// `complete` and `bound_completed` in words.
    pub coverage: String,
    /// The strategy that found the failure, or ran last.
    pub strategy: Option<String>,
    /// The seed of every random choice.
    pub seed: u64,
    /// Wall-clock time.
    pub duration_ms: u64,
    /// The saved schedule of the failure, relative to the workspace root.
    pub schedule: Option<String>,
    /// What the reader should know besides.
    pub warnings: Vec<String>,
    /// Whether the time of `--time` ended the search: the first warning says so.
    #[serde(default)]
    pub time_ended: bool,
    /// The packages into which calls were taken as single steps: those of the
    /// policy `atomic` whose code synchronized.
    #[serde(default)]
    pub atomic: Vec<String>,
    /// What happened outside the scheduler's control, a sentence each.
    #[serde(default)]
    pub outside: Vec<String>,
    /// What else was found, with `--keep-going`.
    #[serde(default)]
    pub other_failures: Vec<OtherFailure>,
    /// How the schedule of the failure got smaller than the search had found it.
    #[serde(default)]
    pub minimised: Option<Minimised>,
    /// The options that bounded the exploration, where there was one.
    #[serde(default)]
    pub options: Option<TestOptions>,
    /// The schedules in `chess-regressions/` that are for this test.
    #[serde(default)]
    pub regressions: Vec<RegressionRun>,
    /// Whether an earlier run of `gate` had finished the exploration, and neither the test's
    /// binary nor its options have changed since: the rest is what that run found.
    #[serde(default)]
    pub cached: bool,
    /// How far the test was explored, if the end of the run stopped its search.
    #[serde(default)]
    pub stopped: Option<Stop>,
    /// With `--shard`, where each shard explores a part of this test's schedules: what
    /// `cargo chess merge` needs. What is said above holds for all schedules.
    #[serde(default)]
    pub part: Option<TestPart>,
}

/// How far schedules were explored.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize, JsonSchema)]
pub struct Reach {
    /// Whether every one was.
    pub complete: bool,
    /// The largest preemption bound that was finished.
    pub bound_completed: Option<u32>,
}

/// A timeout or sleep that ends while another task can run.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize, JsonSchema)]
pub struct EarlyTimeout {
    /// The wait.
    pub wait: EarlyOperation,
    /// How long it waits at most, in nanoseconds.
    pub length_ns: u64,
    /// The next operation of the task that runs where time passes last: it had not happened yet.
    pub before: EarlyOperation,
}

/// An operation of a task.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize, JsonSchema)]
pub struct EarlyOperation {
    /// The task.
    pub task: u32,
    /// The operation, as events name it.
    pub operation: String,
    /// Its source line, if it is known.
    pub location: Option<Location>,
    /// Whether this operation is itself a wait, whose time would have ended first.
    pub waits: bool,
    /// Whether it is the begin of the task.
    #[serde(default)]
    pub begins: bool,
}

/// A schedule that is kept in `chess-regressions/`, and what became of it.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize, JsonSchema)]
pub struct RegressionRun {
    /// Its file, relative to the workspace root.
    pub schedule: String,
    /// What became of it.
    pub outcome: RegressionOutcome,
}

impl RegressionRun {
    /// One that this run has found.
    pub(crate) fn saved(schedule: String) -> Self {
        Self {
            schedule,
            outcome: RegressionOutcome::Saved,
        }
    }
}

/// What became of a schedule in `chess-regressions/`.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum RegressionOutcome {
    /// The test fails under it.
    Failed,
    /// The test passes under it. Where the program has changed, the search did not find its
    /// failure either.
    Passed,
    /// It leads the changed program elsewhere, and a search found its failure again.
    Refound,
    /// It no longer fits the program, and of all schedules with as many preemptions
    /// none fails.
    Searched,
    /// It no longer fits the program, and the search ended too early to tell.
    Unknown,
    /// It was not run: its failure needs an option that is off now.
    Skipped,
    /// This run has found and kept it.
    Saved,
}

/// How far a test was explored when the end of the run stopped its search.
#[derive(
    Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "lowercase")]
pub enum Stop {
    /// Its first, short look alone.
    Look,
    /// Further rounds.
    Round,
}

/// How one of several parts of a test's schedules was explored.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize, JsonSchema)]
pub struct TestPart {
    /// Which one, from 1.
    pub index: u32,
    /// How many there are.
    pub count: u32,
    /// Schedules that every part has.
    pub shared: u64,
    /// Those that a reduction proved redundant before the parts began to differ.
    pub shared_pruned: u64,
    /// Schedules that other parts may have, too: the name of each group, and their number.
    pub late: Vec<(String, u64)>,
    /// The largest preemption bound that was finished in this part.
    pub bound_completed: Option<u32>,
    /// Whether nothing of this part is left.
    pub complete: bool,
    /// As `timers_last` of the test, of this part.
    #[serde(default)]
    pub timers_last: Option<Reach>,
}

impl TestPart {
    /// That of a shard of which nothing else is known.
    pub fn unknown(shard: Shard) -> Self {
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

/// How the schedule of a failure got smaller than the search had found it.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize, JsonSchema)]
pub struct Minimised {
    /// The runs of the test's body that it took.
    pub executions: u64,
    /// What the search found.
    pub from: Size,
    /// What is reported.
    pub to: Size,
    /// Whether it is known that no schedule with fewer preemptions fails so.
    pub fewest_preemptions: bool,
}

/// The size of an execution, what counts most first.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize, JsonSchema)]
pub struct Size {
    /// Preemptions, and what costs as they do.
    pub preemptions: u32,
    /// How often another task went on.
    pub switches: u64,
    /// Steps of all tasks.
    pub steps: u64,
}

/// The options of a test that say how far it was to be explored.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize, JsonSchema)]
pub struct TestOptions {
    /// The largest preemption bound.
    pub preemptions: u32,
    /// The budget in schedules, if there is one.
    pub schedules: Option<u64>,
    /// The budget in units of work, if there is one.
    #[serde(default)]
    pub work: Option<u64>,
    /// The budget of an execution, in steps.
    pub max_steps: u64,
    /// The strategies, tried in turn.
    pub strategy: Vec<String>,
    /// When timeouts fire.
    pub timers: String,
    /// The outcome of a failure that exists only if a timeout or a sleep ends early.
    #[serde(default = "warn")]
    pub timing: String,
    /// Whether what may happen for no reason was tried.
    #[serde(default = "any")]
    pub spurious: String,
    /// Whether the search went on after the first failure.
    pub keep_going: bool,
}

impl TestOptions {
    /// Those of `exploration`.
    pub fn of(exploration: &Exploration) -> Self {
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
            keep_going: exploration.keep_going,
        }
    }

    /// What they take away from any coverage.
    pub fn limits(&self) -> impl Iterator<Item = &'static str> {
        let timers = (self.timers == Timers::Last.to_string())
            .then_some(", with timeouts that end only when nothing else can run");
        let spurious = (self.spurious == Spurious::Never.to_string())
            .then_some(", where nothing wakes up or fails for no reason");
        timers.into_iter().chain(spurious)
    }
}

/// The value of `timing` in records of versions that had no such option.
fn warn() -> String {
    Timing::Warn.to_string()
}

/// The value of such options in records of versions that did not have them.
fn any() -> String {
    Spurious::Any.to_string()
}

/// A failure of a test besides the one that its verdict describes.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize, JsonSchema)]
pub struct OtherFailure {
    /// What kind of failure it is.
    pub kind: Kind,
    /// The failure in words.
    pub message: Option<String>,
    /// Its source line.
    pub location: Option<Location>,
    /// Preemptions of its schedule: the fewest that the search knows of.
    pub preemptions: Option<u32>,
    /// How many timeouts and sleeps end early in its schedule.
    #[serde(default)]
    pub early: u32,
    /// Its saved schedule, relative to the workspace root.
    pub schedule: Option<String>,
}

impl TestFinished {
    /// The warning that the time ended the search, and all others.
    pub(crate) fn warnings_of_time_and_others(&self) -> (&[String], &[String]) {
        let first = usize::from(self.time_ended).min(self.warnings.len());
        self.warnings.split_at(first)
    }

    /// Whether all that was to be explored was, and the largest bound that was finished
    /// of it: with `--shard`, that may be but a part of all schedules.
    pub fn own_reach(&self) -> (bool, Option<u32>) {
        let (complete, bound) = (self.complete, self.bound_completed);
        self.part.as_ref().map_or((complete, bound), |part| {
            (complete || part.complete, bound.max(part.bound_completed))
        })
    }

    /// Says of a test that passed in one thread, and had one schedule, that nothing was
    /// explored.
    pub(crate) fn look_for_threads(&mut self) {
        let is_whole = self.outcome == Outcome::Passed && self.complete;
        self.nothing_to_explore = is_whole && self.threads == 1 && self.schedules == 1;
        if self.nothing_to_explore {
            self.coverage = self.of_one_thread();
        }
    }

    /// What is said of a test of one thread, in which nothing was explored.
    pub(crate) fn of_one_thread(&self) -> String {
        // Others may have run that nobody controls.
        let words = if self.outside.is_empty() {
            "one thread, nothing to explore"
        } else {
            "one thread under control, nothing to explore"
        };
        words.to_owned()
    }

    /// As [`Self::own_reach`], of the schedules in which time passes only when nothing else
    /// can run, where that is not the same.
    pub fn own_reach_last(&self) -> Option<(bool, Option<u32>)> {
        let part = self.part.as_ref().and_then(|part| part.timers_last);
        let reach = self.timers_last?;
        let part = part.unwrap_or(reach);
        Some((
            reach.complete || part.complete,
            reach.bound_completed.max(part.bound_completed),
        ))
    }

    /// The identity of the test.
    pub fn id(&self) -> TestId {
        TestId {
            package: self.package.clone(),
            binary: self.binary.clone(),
            test: self.test.clone(),
        }
    }
}
