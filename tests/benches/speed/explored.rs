//! Measurements of cargo chess, from the output of the real tool in a workspace.

use std::cell::RefCell;
use std::collections::HashMap;

use end_to_end::Workspace;
use serde_json::Value;

use crate::processor::time_of_children;
use crate::sample::{Profile, Sample};

/// The number of executions of the shorter exploration of a sample.
const SHORT: u64 = 50_000;
/// The number of executions of the longer exploration of a sample.
const LONG: u64 = 450_000;
/// The highest number of searches that one command line names. The system limits the length of a
/// command line.
const MOST_SEARCHES: u64 = 30_000;
/// The bound on preemptions of the bounded searches.
const BOUND: u32 = 2;

/// A search of cargo chess that is measured.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) enum Search {
    /// All schedules with up to two preemptions, repeatedly.
    Bounded,
    Random,
}

/// The workloads, as tests in a workspace.
pub(crate) struct Explored<'a> {
    workspace: &'a Workspace,
    profile: Profile,
    /// The value of `--spurious`: whether spurious events are explored.
    spurious: &'static str,
    /// The number of schedules of each workload within a bound, and whether these are all
    /// schedules.
    spaces: RefCell<HashMap<(String, u32), (u64, bool)>>,
}

impl<'a> Explored<'a> {
    /// Builds everything in advance, so that no sample includes a build.
    pub(crate) fn new(workspace: &'a Workspace, profile: Profile) -> Self {
        let explored = Self {
            workspace,
            profile,
            spurious: "any",
            spaces: RefCell::default(),
        };
        explored.explore("one_task", BOUND, "icb", 1);
        explored
    }

    /// Returns the same workloads, explored without spurious events. loom has no such events.
    pub(crate) fn without_spurious(&self) -> Self {
        Self {
            spurious: "never",
            spaces: RefCell::default(),
            ..*self
        }
    }

    /// Returns the executions and the time by which a longer exploration of `workload` exceeds a
    /// shorter one.
    pub(crate) fn sample(&self, workload: &str, search: Search) -> Sample {
        let [short, long] = [SHORT, LONG].map(|executions| match search {
            Search::Random => self.explore(workload, BOUND, "random", executions),
            Search::Bounded => {
                let (bound, schedules) = self.repeatable(workload);
                let times = executions.div_ceil(schedules).min(MOST_SEARCHES);
                let times = usize::try_from(times).expect("a small number");
                self.explore(workload, bound, &vec!["icb"; times].join(","), u64::MAX)
            }
        });
        long.beyond(&short)
    }

    /// Returns the number of schedules of `workload` with up to two preemptions.
    pub(crate) fn space(&self, workload: &str) -> u64 {
        self.space_within(workload, BOUND).0
    }

    /// Returns the largest bound up to [`BOUND`] that does not cover all schedules of `workload`,
    /// and the number of schedules within this bound. A search that has covered all schedules is
    /// not repeated.
    fn repeatable(&self, workload: &str) -> (u32, u64) {
        let mut bounds = (0..=BOUND).rev();
        let found = bounds.find_map(|bound| {
            let (schedules, is_all) = self.space_within(workload, bound);
            (!is_all).then_some((bound, schedules))
        });
        found.expect("a workload has schedules with preemptions")
    }

    fn space_within(&self, workload: &str, bound: u32) -> (u64, bool) {
        let mut spaces = self.spaces.borrow_mut();
        let key = (workload.to_owned(), bound);
        *spaces.entry(key).or_insert_with(|| {
            let verdict = self.verdict(workload, bound, "icb", u64::MAX);
            assert_eq!(verdict["bound_completed"], bound, "{verdict}");
            (count(&verdict, "schedules"), verdict["complete"] == true)
        })
    }

    /// Returns the numbers of executions and of milliseconds that a search without a bound needs
    /// for all schedules of `workload`. Returns `None` if the search is not complete after `most`
    /// executions.
    pub(crate) fn exhaust(&self, workload: &str, most: u64) -> Option<(u64, u64)> {
        let verdict = self.verdict(workload, BOUND, "dpor", most);
        let is_complete = verdict["complete"] == true;
        is_complete.then(|| (count(&verdict, "schedules"), count(&verdict, "duration_ms")))
    }

    fn explore(&self, workload: &str, bound: u32, strategy: &str, schedules: u64) -> Sample {
        let before = time_of_children();
        let verdict = self.verdict(workload, bound, strategy, schedules);
        #[expect(clippy::cast_precision_loss, reason = "far below 2^52")]
        Sample {
            executions: count(&verdict, "executions") as f64,
            points: count(&verdict, "steps") as f64,
            time: time_of_children().saturating_sub(before),
        }
    }

    fn verdict(&self, workload: &str, bound: u32, strategy: &str, schedules: u64) -> Value {
        let (bound, schedules) = (bound.to_string(), schedules.to_string());
        let profile = self.profile.name();
        let fixed = [
            "chess",
            "test",
            "-q",
            "--message-format",
            "json",
            "-p",
            "explored",
        ];
        let run = self
            .workspace
            .chess(&fixed)
            .arg("--cargo-profile")
            .arg(profile)
            .arg("--exact")
            .arg(workload)
            .arg("--preemptions")
            .arg(bound)
            .arg("--spurious")
            .arg(self.spurious)
            .arg("--strategy")
            .arg(strategy)
            .arg("--schedules")
            .arg(schedules)
            .args(["--jobs", "1"])
            .run();
        run.assert_code(0);
        run.verdict()
    }
}

fn count(verdict: &Value, field: &str) -> u64 {
    verdict[field]
        .as_u64()
        .unwrap_or_else(|| panic!("no {field} in {verdict}"))
}
