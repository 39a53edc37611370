//! The programs of fixtures/sctbench that have a bug, with the published results for the originals.

use end_to_end::{Expected, Workspace};

/// The strategies of other tools that have published results. They are named as the columns of
/// `published.csv`.
pub(crate) const COLUMNS: [&str; 6] = ["SURW", "PCT-3", "PCT-10", "POS", "random walk", "RFF"];

/// The number of published trials of each strategy on each program.
pub(crate) const TRIALS: usize = 20;

/// The published results. Each line has the results of one program: see [`Published`].
const FILE: &str = include_str!("published.csv");

/// One program with its bug.
pub(crate) struct Program {
    /// The binary and the module, for instance `cs reorder_10`.
    pub(crate) name: String,
    /// The path of the test.
    pub(crate) test: String,
    /// The kind of the expected failure.
    pub(crate) kind: String,
    /// The published results for each of [`COLUMNS`].
    pub(crate) published: Vec<Option<Published>>,
}

/// Published results: trials with at most 10,000 schedules each, and 1,000,000 for `SafeStack`.
///
/// The artifacts of SURW (ASPLOS 2025) and RFF (ASPLOS 2024) have the raw data.
#[derive(Clone, Copy)]
pub(crate) struct Published {
    /// The mean number of schedules to the first failure.
    pub(crate) schedules: u64,
    /// The number of trials that found the failure.
    pub(crate) found: usize,
}

impl Program {
    /// Whether this is `SafeStack`, which has its own budget.
    pub(crate) fn is_safestack(&self) -> bool {
        self.name.starts_with("safestack ")
    }

    /// Returns every program of `workspace` that is expected to fail.
    pub(crate) fn all(workspace: &Workspace) -> Vec<Self> {
        let lines: Vec<Vec<&str>> = FILE.lines().map(|line| line.split(',').collect()).collect();
        assert_eq!(lines[0][4..], COLUMNS, "the columns of published.csv");
        let of = |name: &str| {
            let line = lines.iter().find(|line| line[..2].join(" ") == name);
            let line = line.unwrap_or_else(|| panic!("published.csv has no line for {name}"));
            line[4..]
                .iter()
                .map(|cell| Published::parse(cell))
                .collect()
        };
        let expected = Expected::of(workspace.root()).test.into_iter();
        let buggy = expected.filter(|test| test.outcome == "failed");
        buggy
            .map(|test| {
                let suite = test.binary.rsplit("::").next().unwrap_or_default();
                let module = test.test.rsplit("::").nth(1).unwrap_or_default();
                let name = format!("{suite} {module}");
                Self {
                    published: of(&name),
                    name,
                    test: test.test,
                    kind: test.kind.expect("a failure has a kind"),
                }
            })
            .collect()
    }
}

impl Published {
    /// Parses `schedules/trials`. Returns `None` for an empty cell, which means that nothing was
    /// measured.
    fn parse(cell: &str) -> Option<Self> {
        let (schedules, found) = cell.split_once('/')?;
        Some(Self {
            schedules: schedules.parse().expect("a number of schedules"),
            found: found.parse().expect("a number of trials"),
        })
    }
}
