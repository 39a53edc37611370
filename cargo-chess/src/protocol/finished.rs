//! The line with the verdict of a test binary on a test.

use std::time::Duration;

use chess_vocabulary::{TaskId, Wait, WarningKind, deadlock, line_of};
use serde::{Deserialize, Serialize};

use super::early_timeouts::EarlyWait;
use super::warned::{Spin, StaleLoad};
use super::warning::Warning;
use super::{Blocked, Call, Decided, Divergence, Hot, Milestone, OutsideEffect, Panic, Step, Task};
use crate::events::{
    Counts, Kind, Location, Minimised, NOT_DETERMINISTIC, OtherFailure, Outcome, Reach,
    RegressionRun, TestFinished, TestId, TestPart, coverage, millis,
};

/// The warning that the time of `--time` was over.
const TIME_ENDED: &str = "the time budget ended the search";

/// The message for a test whose time ended before its first execution did.
const TIME_ENDED_AT_ONCE: &str =
    "the time limit was reached before the first execution ended: use a larger --time";

/// The verdict of a test binary on one test. Its line always has an outcome and counts, and other
/// fields only if they apply.
#[derive(Clone, PartialEq, Debug, Default, Serialize, Deserialize)]
#[expect(
    clippy::struct_excessive_bools,
    reason = "independent flags, not a state machine"
)]
pub(crate) struct Finished {
    /// The verdict.
    pub outcome: Outcome,
    /// The kind of the failure.
    #[serde(default)]
    pub kind: Option<Kind>,
    /// The failure in words.
    #[serde(default)]
    pub message: Option<String>,
    /// The source line of the failure.
    #[serde(default)]
    pub location: Option<Location>,
    /// The counts of the exploration.
    #[serde(flatten)]
    pub counts: Counts,
    /// Whether the search paused because the request has a pause. Such a search is neither
    /// finished nor at the end of its budget. It has no failure, unless it continues after
    /// failures.
    #[serde(default)]
    pub paused: bool,
    /// Whether the state of a paused search is not in the file that the test process shares with
    /// the supervisor. If so, the search must begin again.
    #[serde(default)]
    pub lost: bool,
    /// The library whose runtime ran futures on the thread that waits for the result of these
    /// futures.
    #[serde(default)]
    pub one_thread_runtime: Option<String>,
    /// The largest preemption bound that was finished.
    #[serde(default)]
    pub bound_completed: Option<u32>,
    /// The largest number of delays with which every schedule was run.
    #[serde(default)]
    pub delays_completed: Option<u32>,
    /// The progress of the search after each 10,000 schedules.
    #[serde(default)]
    pub milestones: Vec<Milestone>,
    /// Whether every schedule was explored without a bound.
    #[serde(default)]
    pub complete: bool,
    /// The coverage of the schedules without early timeouts, if it differs from that of all
    /// schedules.
    #[serde(default)]
    pub timers_last: Option<TimersLast>,
    /// The rule for timeouts in the failing schedule: `any` or `last`.
    #[serde(default)]
    pub timers: Option<String>,
    /// The waits that ended early in the failing schedule.
    #[serde(default)]
    pub early: Vec<EarlyWait>,
    /// Whether one schedule led to two different executions, so that nothing is guaranteed.
    #[serde(default)]
    pub unstable: bool,
    /// The strategy that found the failure, or ran last.
    #[serde(default)]
    pub strategy: Option<String>,
    /// The seed of every random choice.
    #[serde(default)]
    pub seed: u64,
    /// The failing schedule.
    #[serde(default)]
    pub decisions: Option<String>,
    /// The lines whose accesses to plain memory were scheduling points of the failing schedule.
    #[serde(default)]
    pub points: Vec<String>,
    /// The places of the panics in the first schedule that no join received. Panics at these
    /// places are not failures in any schedule.
    #[serde(default)]
    pub intended: Vec<String>,
    /// Whether the time of `--time` ended the search.
    #[serde(default)]
    pub time_ended: bool,
    /// The signal that killed the process.
    #[serde(default)]
    pub signal: Option<i32>,
    /// Warnings about the exploration.
    #[serde(default)]
    pub warnings: Vec<Warning>,
    /// Warnings of this tool, in words. No test binary reports them.
    #[serde(default)]
    pub own_warnings: Vec<String>,
    /// Loops that wait without yielding, if they are only warnings.
    #[serde(default)]
    pub spins: Vec<Spin>,
    /// Atomic operations for which the language's memory model allows a late effect: a stale load,
    /// or a late store.
    #[serde(default)]
    pub stale_loads: Vec<StaleLoad>,
    /// Whether fairness has excluded schedules: threads that yield repeatedly let others run.
    #[serde(default)]
    pub fair_only: bool,
    /// Whether a thread has read the clock so often that the order of its last reads was not
    /// explored.
    #[serde(default)]
    pub misses_clock_reads: bool,
    /// Whether there may be more operations with a late effect than those in `stale_loads`.
    #[serde(default)]
    pub unclear_loads: bool,
    /// Source files of code under the policy `atomic` that synchronized.
    #[serde(default)]
    pub atomic: Vec<String>,
    /// Source files of code with data races that are warnings.
    #[serde(default)]
    pub racing: Vec<String>,
    /// The effects outside the scheduler's control.
    #[serde(default)]
    pub outside: Vec<OutsideEffect>,
    /// The paths that the test created, wrote, removed or locked, without those in its own
    /// directory for temporary files. A path that ends in `/` also stands for all paths below it.
    #[serde(default)]
    pub written: Vec<String>,
    /// The paths that the test read, looked for or listed, without those in its own directory for
    /// temporary files. A path that ends in `/` also stands for all paths below it.
    #[serde(default)]
    pub read: Vec<String>,
    /// The tasks of the reported execution: the failing execution, or that of a replay.
    #[serde(default)]
    pub tasks: Vec<Task>,
    /// The events of the reported execution, in order.
    #[serde(default)]
    pub events: Vec<Step>,
    /// The number of later events of the reported execution, which were not recorded.
    #[serde(default)]
    pub events_left_out: u64,
    /// The number of steps after which the choices of the reported execution were not explored.
    /// `None` if there are no such choices.
    #[serde(default)]
    pub choices_end: Option<u64>,
    /// The calls in progress at the events of the reported execution. They are removed after the
    /// callers in the user's code are found.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub calls: Vec<Call>,
    /// The decisions of a replay.
    #[serde(default)]
    pub decided: Vec<Decided>,
    /// The tasks that wait at the end of the reported execution.
    #[serde(default)]
    pub blocked: Vec<Blocked>,
    /// The tasks of the wait-for cycle.
    #[serde(default)]
    pub cycle: Vec<u32>,
    /// The liveness properties that are hot at the end of the reported execution.
    #[serde(default)]
    pub hot: Vec<Hot>,
    /// The panics of the reported execution, in order.
    #[serde(default)]
    pub panics: Vec<Panic>,
    /// The output of the reported execution.
    #[serde(default)]
    pub output: String,
    /// The other failures, if the search continued after the first one.
    #[serde(default)]
    pub others: Vec<Other>,
    /// The result of the minimisation of the schedule.
    #[serde(default)]
    pub minimised: Option<Minimised>,
    /// The schedules in `chess-regressions/` for this test. No test binary reports them.
    #[serde(default)]
    pub regressions: Vec<RegressionRun>,
    /// Whether this is the stored verdict of an earlier run that finished the exploration, and the
    /// inputs have not changed since.
    #[serde(default)]
    pub cached: bool,
    /// The result of the part that was explored, if the shards explore parts of the test's
    /// schedules.
    #[serde(default)]
    pub part: Option<TestPart>,
    /// The place at which a replayed schedule no longer fits the program.
    #[serde(default)]
    pub diverged: Option<Divergence>,
}

impl Finished {
    /// The message of the failure. The message of a deadlock is made from the data of the waiting
    /// tasks.
    fn message_in_words(&self) -> Option<String> {
        if self.kind == Some(Kind::Deadlock) && !self.blocked.is_empty() {
            return Some(self.deadlock());
        }
        self.message.clone()
    }

    /// The sentence about the waiting tasks of a deadlock, in the same words as the runtime's.
    pub(crate) fn deadlock(&self) -> String {
        let line = |it: &Location| line_of(&it.file, it.line);
        let waits = self.blocked.iter().map(|it| Wait {
            task: TaskId(it.task),
            op: it.op,
            object: it.object.as_ref().map(ToString::to_string),
            place: it
                .location()
                .or_else(|| it.after.clone())
                .as_ref()
                .map(line),
            holder: it.holder.map(TaskId),
            held_at: it.held_at.as_ref().map(line),
        });
        let cycle: Vec<TaskId> = self.cycle.iter().copied().map(TaskId).collect();
        let hot = self.hot.iter();
        let hot = hot.map(|it| {
            let since = line(&it.since);
            format!(
                "; the liveness property \"{}\" has been hot since {since}",
                it.name
            )
        });
        let hot: Vec<String> = hot.collect();
        deadlock(&waits.collect::<Vec<_>>(), &cycle) + &hot.concat()
    }

    /// The number of events of the reported execution, with those that were not recorded.
    pub(crate) fn event_count(&self) -> u64 {
        self.events.len() as u64 + self.events_left_out
    }

    /// Whether the search ended only because it explores no choices past the step limit.
    pub(crate) fn was_ended_by_steps(&self) -> bool {
        let others = [
            WarningKind::Abandoned,
            WarningKind::Crashed,
            WarningKind::Endless,
            WarningKind::EndedEarly,
            WarningKind::FewStores,
            WarningKind::Unrepeatable,
        ];
        let has = |kinds: &[WarningKind]| self.warnings.iter().any(|it| kinds.contains(&it.kind));
        has(&[WarningKind::Long]) && !has(&others)
    }

    /// A verdict with `outcome`. All other fields have their defaults.
    pub(crate) fn new(outcome: Outcome) -> Self {
        Self {
            outcome,
            ..Self::default()
        }
    }
}

impl Finished {
    /// The messages of failures and panics, and the output. The program has written parts of them.
    pub(crate) fn texts(&mut self) -> impl Iterator<Item = &mut String> {
        let others = self
            .others
            .iter_mut()
            .filter_map(|it| it.failure.message.as_mut());
        let panics = self.panics.iter_mut().map(|it| &mut it.message);
        let message = self.message.iter_mut();
        message
            .chain(others)
            .chain(panics)
            .chain([&mut self.output])
    }

    /// Whether one schedule led to two different executions, so that nothing is known of the
    /// schedules that were not run.
    pub(crate) fn is_unstable(&self) -> bool {
        self.unstable
    }

    /// Whether the test found no failure and ended only because its time was used up.
    pub(crate) fn was_out_of_time(&self) -> bool {
        match self.outcome {
            Outcome::Passed | Outcome::Timeout => self.time_ended,
            Outcome::Failed | Outcome::Timing | Outcome::Skipped => false,
        }
    }

    /// Sets the message that the time was too short, if a test without a verdict has no message.
    pub(crate) fn explain_timeout(&mut self) {
        if self.outcome == Outcome::Timeout && self.message.is_none() {
            self.message = Some(TIME_ENDED_AT_ONCE.to_owned());
            self.time_ended = true;
        }
    }

    /// Marks the search as paused, and not as ended by its time, because a later run can continue
    /// the search.
    pub(crate) fn pause(&mut self) {
        self.paused = true;
        self.time_ended = false;
    }

    /// Whether a warning must say that the time ended the search. A test without a verdict has a
    /// message about this instead.
    fn time_ended_the_search(&self) -> bool {
        self.time_ended && self.outcome != Outcome::Timeout
    }

    /// All warnings. The warning that the time ended the search comes first.
    fn all_warnings(&self) -> Vec<String> {
        let time = self.time_ended_the_search().then(|| TIME_ENDED.to_owned());
        time.into_iter()
            .chain(self.warnings.iter().map(Warning::sentence))
            .chain(self.own_warnings.iter().cloned())
            .collect()
    }

    /// The event for this verdict on `test`. `atomic` are the packages into which calls were
    /// single steps. The caller adds the path of the saved schedule and the racing dependencies.
    pub(crate) fn to_event(
        &self,
        test: &TestId,
        duration: Duration,
        atomic: Vec<String>,
    ) -> TestFinished {
        let stable = !self.is_unstable();
        let reach = Reach {
            complete: self.complete && stable,
            bound_completed: self.bound_completed.filter(|_| stable),
            delays_completed: self.delays_completed.filter(|_| stable),
        };
        let mut event = TestFinished {
            package: test.package.clone(),
            binary: test.binary.clone(),
            test: test.test.clone(),
            outcome: self.outcome,
            kind: self.kind,
            message: self.message_in_words(),
            location: self.location.clone(),
            counts: self.counts.clone(),
            bound_completed: reach.bound_completed,
            delays_completed: reach.delays_completed,
            complete: reach.complete,
            timers_last: self.timers_last.filter(|_| stable).map(TimersLast::of_all),
            early: Vec::new(),
            nothing_to_explore: false,
            fair_only: self.fair_only,
            misses_clock_reads: self.misses_clock_reads,
            long_spins: self.spins.iter().any(|spin| !spin.waits),
            one_thread_runtime: self.one_thread_runtime.clone(),
            coverage: if stable {
                let last = self.timers_last.map(TimersLast::of_all);
                coverage(self.outcome, reach, last, &atomic)
            } else {
                NOT_DETERMINISTIC.to_owned()
            },
            strategy: self.strategy.clone(),
            seed: self.seed,
            duration_ms: millis(duration),
            schedule: None,
            warnings: self.all_warnings(),
            time_ended: self.time_ended_the_search(),
            atomic,
            racing: Vec::new(),
            outside: self.outside.iter().map(OutsideEffect::sentence).collect(),
            other_failures: self.others.iter().map(|it| it.failure.clone()).collect(),
            minimised: self.minimised,
            options: None,
            regressions: self.regressions.clone(),
            cached: self.cached,
            stopped: None,
            part: self.part.clone().map(|part| TestPart {
                timers_last: self.timers_last.filter(|_| stable).map(TimersLast::of_part),
                ..part
            }),
        };
        if self.outcome == Outcome::Timing || self.kind.is_some() {
            event.early = self.early.iter().map(EarlyWait::to_event).collect();
        }
        event.look_for_threads();
        event
    }
}

/// The explored part of the schedules without early timeouts.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub(crate) struct TimersLast {
    /// Whether all schedules without early timeouts were explored.
    complete: bool,
    /// The largest preemption bound that was finished for these schedules.
    bound_completed: Option<u32>,
    /// The largest number of delays that was finished for these schedules.
    #[serde(default)]
    delays_completed: Option<u32>,
    /// Whether this shard has explored all of its part of these schedules.
    part_complete: bool,
    /// The largest preemption bound that was finished in this shard's part of these schedules.
    part_bound_completed: Option<u32>,
}

impl TimersLast {
    fn of_all(self) -> Reach {
        Reach {
            complete: self.complete,
            bound_completed: self.bound_completed,
            delays_completed: self.delays_completed,
        }
    }

    fn of_part(self) -> Reach {
        Reach {
            complete: self.part_complete,
            bound_completed: self.part_bound_completed,
            // If a bound on delays is finished, it is finished for all parts.
            delays_completed: self.delays_completed,
        }
    }
}

/// A failure other than the one that the verdict describes.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub(crate) struct Other {
    /// The failure. The path of its saved schedule is not known yet.
    #[serde(flatten)]
    pub failure: OtherFailure,
    /// The decisions of the failure's schedule.
    pub decisions: String,
    /// The lines whose accesses to plain memory were scheduling points of this schedule.
    #[serde(default)]
    pub points: Vec<String>,
    /// The rule for timeouts in this schedule.
    #[serde(default)]
    pub timers: Option<String>,
    /// Whether data races are not failures of this schedule, because they were already reported.
    #[serde(default)]
    pub forgives_races: bool,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_spin_is_printed_with_its_line_and_in_a_dependency_with_the_package() {
        let spin = |file: &str| Spin {
            operation: "load".into(),
            location: Some(Location {
                file: file.into(),
                line: 12,
                column: 16,
            }),
            waits: true,
        };
        insta::assert_snapshot!(spin("src/lib.rs").warning(None), @"src/lib.rs:12: a loop repeats `load` without yielding until another thread changes the value, which keeps a core busy; call std::thread::yield_now or std::hint::spin_loop in the loop, or wait on a condition variable or a channel");
        let file = "/home/u/.cargo/registry/src/index-0123456789abcdef/flags-0.2.3/src/lib.rs";
        insta::assert_snapshot!(spin(file).warning(Some("flags 0.2.3")), @r#"flags-0.2.3/src/lib.rs:12 of flags 0.2.3: a loop repeats `load` without yielding until another thread changes the value, which keeps a core busy; report this to the authors of the package, or set spins = "allow" for the package in Chess.toml"#);
        let long = Spin {
            waits: false,
            ..spin("src/lib.rs")
        };
        insta::assert_snapshot!(long.warning(None), @"src/lib.rs:12: a thread repeats `load` many times, and reads the same unchanged value; from then on this counts as waiting: other threads run first, and schedules in which the thread continues are not explored");
    }

    #[test]
    fn of_a_test_that_is_not_deterministic_nothing_is_known() {
        let test = TestId {
            package: "bank".into(),
            binary: "bank::t".into(),
            test: "sometimes".into(),
        };
        let finished = Finished {
            complete: true,
            bound_completed: Some(2),
            unstable: true,
            ..Finished::new(Outcome::Passed)
        };
        let event = finished.to_event(&test, Duration::ZERO, Vec::new());
        assert_eq!(
            (event.complete, event.bound_completed, &*event.coverage),
            (false, None, "not deterministic")
        );
    }
}
