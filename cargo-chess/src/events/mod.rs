//! The events of a run, as `--message-format json` prints them: one object on each line.
//!
//! Their fields are part of the contract with scripts and CI: fields may be added, but never
//! changed. Every field is always printed. A field that does not apply is `null`.

mod covered;
mod finished;

use std::fmt;
use std::time::Duration;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

pub(crate) use self::covered::{Covered, Growth, OrderedPair, PairedOperation, Pairs};
pub(crate) use self::finished::{
    Conditions, Counts, EarlyOperation, EarlyTimeout, Minimised, OtherFailure, Reach,
    RegressionOutcome, RegressionRun, Stop, TestFinished, TestOptions, TestPart,
};
use crate::shard::Part;

/// One event of a run. The variants are in the order of the output.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "type", rename_all = "kebab-case")]
pub(crate) enum Event {
    /// The tests are listed, and the exploration begins.
    RunStarted(RunStarted),
    /// The exploration or the report of this test begins. The events up to its `test-finished` are
    /// about this test.
    TestStarted(TestId),
    /// A test is still being explored.
    Progress(Progress),
    /// The verdict on a test.
    TestFinished(Box<TestFinished>),
    /// The last event of a run.
    RunFinished(RunFinished),
}

/// The plan of a run.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize, JsonSchema)]
pub(crate) struct RunStarted {
    /// The version of cargo-chess.
    pub version: String,
    /// The number of selected tests.
    pub tests: usize,
    /// The number of test binaries that contain these tests.
    pub binaries: usize,
    /// The seed of every random choice.
    pub seed: u64,
    /// The strategies, in their order of use.
    pub strategy: Vec<String>,
    /// The largest preemption bound.
    pub preemptions: u32,
    /// The budget of a test in schedules, if it has one.
    pub schedules: Option<u64>,
    /// The budget of a test in units of work, if it has one.
    #[serde(default)]
    pub work: Option<u64>,
    /// The budget of an execution, in steps.
    pub max_steps: u64,
    /// With `--shard`: the part of the run that this shard explores.
    #[serde(default)]
    pub shard: Option<Part>,
}

/// The identity of a test, stable across runs and machines.
#[derive(
    Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize, JsonSchema,
)]
pub(crate) struct TestId {
    /// The name of the test's package.
    pub package: String,
    /// The test's binary: `bank`, `bank::t`, `bank::bin/x`, `bank::example/x`.
    pub binary: String,
    /// The test's path inside the binary.
    pub test: String,
}

impl fmt::Display for TestId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {}", self.binary, self.test)
    }
}

/// The progress of the exploration of a test.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize, JsonSchema)]
pub(crate) struct Progress {
    /// The name of the test's package.
    pub package: String,
    /// The test's binary.
    pub binary: String,
    /// The test's path inside the binary.
    pub test: String,
    /// Schedules explored so far.
    pub schedules: u64,
    /// The preemption bound being explored.
    pub bound: Option<u32>,
    /// The explored fraction of the space, if it can be estimated.
    pub estimate: Option<f64>,
}

/// The end of a run.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize, Deserialize, JsonSchema)]
pub(crate) struct RunFinished {
    /// Tests in which no failure was found.
    pub passed: usize,
    /// The passed tests that had one thread and one schedule, so that there was nothing to explore.
    #[serde(default)]
    pub nothing_to_explore: usize,
    /// Tests whose search was stopped by the end of the run. Their verdicts are about the part
    /// that was explored before.
    #[serde(default)]
    pub stopped: usize,
    /// The stopped tests whose search was stopped after the first round, the short look.
    #[serde(default)]
    pub only_looked_at: usize,
    /// Tests with a failure.
    pub failed: usize,
    /// Tests that fail only with an early timeout, if the option `timing` is `warn`. They do not
    /// make the run fail.
    #[serde(default)]
    pub timing: usize,
    /// Tests that were not explored.
    pub skipped: usize,
    /// The skipped tests that are marked `#[ignore]`.
    #[serde(default)]
    pub ignored: usize,
    /// Tests that had no verdict when their time ended.
    pub timeout: usize,
    /// Tests that were selected, but not run, because the run ended before.
    pub not_run: usize,
    /// Whether the user interrupted the run.
    pub interrupted: bool,
    /// Wall-clock time.
    pub duration_ms: u64,
}

/// A verdict.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Outcome {
    /// No failure in the explored schedules.
    Passed,
    /// A failing schedule exists.
    Failed,
    /// A failing schedule exists, and all known failing schedules need an early timeout: a timeout
    /// or sleep that ends while another task can run.
    Timing,
    /// Not explored.
    Skipped,
    /// No verdict: the budget ended inside the first execution, a task did not return to the
    /// scheduler, or the system denied a resource that the exploration needs.
    #[default]
    Timeout,
}

impl Outcome {
    /// Whether a test with this outcome makes the run fail, and ends it unless `--no-fail-fast` is
    /// given.
    pub(crate) const fn fails_run(self) -> bool {
        matches!(self, Self::Failed | Self::Timeout)
    }
}

macro_rules! kinds {
    ($($(#[doc = $doc:literal])* $variant:ident = $name:literal;)*) => {
        /// The kind of a failure.
        #[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize, JsonSchema)]
        #[serde(rename_all = "kebab-case")]
        pub(crate) enum Kind {
            $($(#[doc = $doc])* $variant,)*
        }

        impl Kind {
            /// Every kind.
            pub(crate) const ALL: &[Kind] = &[$(Kind::$variant,)*];

            /// Its name in JSON, in schedule files and in reports.
            pub(crate) const fn name(self) -> &'static str {
                match self { $(Kind::$variant => $name,)* }
            }

            /// The description, as a sentence.
            pub(crate) const fn description(self) -> &'static str {
                match self { $(Kind::$variant => concat!($($doc),*).trim_ascii(),)* }
            }
        }
    };
}

kinds! {
    /// A panic that the test does not expect.
    Panic = "panic";
    /// Every remaining task waits for another.
    Deadlock = "deadlock";
    /// A fair execution that passes `max-steps`.
    Livelock = "livelock";
    /// A task that runs without yielding while other tasks could run.
    Spin = "spin";
    /// Two accesses to one memory location, one a write, with no order between them.
    Race = "race";
    /// A failure reachable only under the weaker memory model.
    Weak = "weak";
    /// Memory that nothing refers to at the end.
    Leak = "leak";
    /// Two tasks are in calls of one object that exclude each other.
    ThreadSafety = "thread-safety";
    /// An invariant of the test did not hold after an operation.
    Invariant = "invariant";
    /// The execution ended while a liveness property of the test was hot.
    Liveness = "liveness";
    /// An assumption of the test that holds in no schedule.
    Assumption = "assumption";
    /// An access to freed memory.
    UseAfterFree = "use-after-free";
    /// An access that is not within the bytes of one block of memory.
    OutOfBounds = "out-of-bounds";
    /// An access to the stack frame of a function that has returned, or of a thread that has ended.
    UseAfterReturn = "use-after-return";
    /// A second free of the same memory.
    DoubleFree = "double-free";
    /// A free of memory that was never allocated.
    InvalidFree = "invalid-free";
    /// The process died: a signal, an abort, an exit.
    Crash = "crash";
    /// One schedule led to two different executions.
    Nondeterminism = "nondeterminism";
    /// An outcome that no sequential execution has.
    Refinement = "refinement";
    /// A monitor of the user reported a failure.
    Monitor = "monitor";
}

impl Kind {
    /// Whether the program has undefined behaviour.
    pub(crate) fn is_undefined_behaviour(self) -> bool {
        use chess_vocabulary::Token as _;

        let of_runtime = chess_vocabulary::Kind::of_token(self.name());
        of_runtime.is_some_and(chess_vocabulary::Kind::is_undefined_behaviour)
    }
}

impl fmt::Display for Kind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// A place in a source file.
#[derive(
    Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize, JsonSchema,
)]
pub(crate) struct Location {
    /// The path in the compiler's form: relative to the workspace root for its members.
    pub file: String,
    /// The line, from 1.
    pub line: u32,
    /// The column, from 1.
    pub column: u32,
}

impl fmt::Display for Location {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}", self.file, self.line)
    }
}

/// A duration in milliseconds, the unit of events.
pub(crate) fn millis(duration: Duration) -> u64 {
    u64::try_from(duration.as_millis()).unwrap_or(u64::MAX)
}

/// The explored part of the schedules, as the text of `coverage`. `all` is the explored part of
/// all schedules. `timers_last` is that of the schedules without early timeouts, if it differs.
/// `atomic` lists the packages into which each call is a single step.
pub(crate) fn coverage(
    outcome: Outcome,
    all: Reach,
    timers_last: Option<Reach>,
    atomic: &[String],
) -> String {
    if outcome == Outcome::Skipped {
        return NOT_EXPLORED.to_owned();
    }
    let words = |reach: Reach| match (reach.bound_completed, reach.delays_completed) {
        _ if reach.complete => "complete".to_owned(),
        (Some(bound), _) => format!("preemptions<={bound}"),
        (None, Some(delays)) => format!("delays<={delays}"),
        (None, None) => "sampled".to_owned(),
    };
    let mut explored = words(all);
    if let Some(last) = timers_last.filter(|_| !all.complete) {
        let last = words(last);
        if last != explored {
            explored = format!("{last} without early timeouts, {explored} with them");
        }
    }
    if atomic.is_empty() {
        return explored;
    }
    let packages = atomic.join(", ");
    format!("{explored}, calls into {packages} as single steps")
}

/// The coverage of a test that was not explored.
pub(crate) const NOT_EXPLORED: &str = "not explored";

/// The coverage of a test whose executions differ under the same schedule.
pub(crate) const NOT_DETERMINISTIC: &str = "not deterministic";

#[cfg(test)]
mod tests {
    use super::finished::Size;
    use super::*;
    use crate::config::Layer;

    #[test]
    fn each_kind_of_the_runtime_is_a_kind_of_the_contract() {
        use chess_vocabulary::Token as _;

        for kind in chess_vocabulary::Kind::ALL {
            let own: Kind = serde_json::from_value(kind.token().into()).expect("a kind");
            assert_eq!(own.name(), kind.token());
        }
    }

    fn finished() -> TestFinished {
        TestFinished {
            package: "bank".into(),
            binary: "bank::t".into(),
            test: "transfer_is_atomic".into(),
            outcome: Outcome::Failed,
            kind: Some(Kind::Panic),
            message: Some("assertion `left == right` failed".into()),
            location: Some(Location {
                file: "src/lib.rs".into(),
                line: 42,
                column: 9,
            }),
            counts: Counts {
                schedules: 17,
                work: 1234,
                executions: 19,
                distinct: 11,
                covered: None,
                pruned: 4,
                unmet_assumptions: 0,
                steps: 412,
                max_steps_in_execution: 61,
                threads: 3,
                preemptions: Some(1),
                late_effects: Some(0),
            },
            bound_completed: Some(0),
            delays_completed: None,
            complete: false,
            timers_last: None,
            early: Vec::new(),
            nothing_to_explore: false,
            long_spins: false,
            fair_only: false,
            misses_clock_reads: false,
            one_thread_runtime: None,
            coverage: coverage(
                Outcome::Failed,
                Reach {
                    complete: false,
                    bound_completed: Some(0),
                    delays_completed: None,
                },
                None,
                &["parking_lot 0.12.5".into()],
            ),
            strategy: Some("icb".into()),
            seed: 0,
            duration_ms: 3,
            schedule: Some("target/chess/failures/bank-t-transfer_is_atomic-7f3a.chess".into()),
            time_ended: false,
            warnings: vec![],
            atomic: vec!["parking_lot 0.12.5".into()],
            racing: Vec::new(),
            outside: vec!["waited for a child process".into()],
            other_failures: vec![OtherFailure {
                kind: Kind::Deadlock,
                message: Some("no task can continue".into()),
                location: None,
                preemptions: Some(2),
                late_effects: Some(0),
                early: 0,
                schedule: Some("target/chess/failures/bank-t-transfer_is_atomic-81c0.chess".into()),
            }],
            minimised: Some(Minimised {
                executions: 6,
                from: Size {
                    preemptions: 2,
                    late_effects: 0,
                    switches: 9,
                    steps: 70,
                },
                to: Size {
                    preemptions: 1,
                    late_effects: 0,
                    switches: 4,
                    steps: 61,
                },
                fewest_preemptions: true,
                weak: false,
            }),
            options: Some(TestOptions::of(&Layer::default().resolve())),
            regressions: Vec::new(),
            cached: false,
            stopped: None,
            part: None,
        }
    }

    #[test]
    fn events_have_the_fields_of_the_contract() {
        let events = [
            Event::RunStarted(RunStarted {
                version: "0.1.0".into(),
                tests: 12,
                binaries: 2,
                seed: 0,
                strategy: vec!["auto".into()],
                preemptions: 2,
                schedules: None,
                work: Some(25_000_000),
                max_steps: 20_000,
                shard: None,
            }),
            Event::TestStarted(finished().id()),
            Event::Progress(Progress {
                package: "bank".into(),
                binary: "bank::t".into(),
                test: "transfer_is_atomic".into(),
                schedules: 1200,
                bound: Some(1),
                estimate: None,
            }),
            Event::TestFinished(Box::new(finished())),
            Event::RunFinished(RunFinished {
                passed: 11,
                failed: 1,
                skipped: 2,
                ignored: 1,
                duration_ms: 412,
                ..RunFinished::default()
            }),
        ];
        let lines: Vec<String> = events
            .iter()
            .map(|event| serde_json::to_string(event).expect("an event is plain data"))
            .collect();
        insta::assert_snapshot!(lines.join("\n"));
        for (line, event) in lines.iter().zip(&events) {
            let back: Event = serde_json::from_str(line).expect("what was printed can be read");
            assert_eq!(&back, event);
        }
    }

    #[test]
    fn an_event_without_a_count_is_an_error() {
        let mut event = serde_json::to_value(finished()).expect("plain data");
        let fields = event.as_object_mut().expect("an object");
        fields.remove("distinct").expect("a count");
        assert!(serde_json::from_value::<TestFinished>(event).is_err());
    }

    #[test]
    fn a_kind_is_named_alike_in_json_and_in_words() {
        for kind in Kind::ALL {
            let json = serde_json::to_string(kind).expect("a kind is plain data");
            assert_eq!(json, format!("\"{kind}\""));
        }
    }

    #[test]
    fn coverage_never_says_more_than_was_explored() {
        let reach = |complete, bound_completed, delays_completed| Reach {
            complete,
            bound_completed,
            delays_completed,
        };
        let passed = |reach| coverage(Outcome::Passed, reach, None, &[]);
        assert_eq!(passed(reach(true, Some(2), None)), "complete");
        assert_eq!(passed(reach(false, Some(2), Some(1))), "preemptions<=2");
        assert_eq!(passed(reach(false, None, Some(1))), "delays<=1");
        assert_eq!(passed(reach(false, None, None)), "sampled");
        let atomic = ["parking_lot 0.12.5".to_owned(), "dashmap 6.1.0".to_owned()];
        assert_eq!(
            coverage(Outcome::Passed, reach(true, None, None), None, &atomic),
            "complete, calls into parking_lot 0.12.5, dashmap 6.1.0 as single steps"
        );
        assert_eq!(
            coverage(Outcome::Skipped, reach(false, None, None), None, &atomic),
            "not explored"
        );
    }
}
