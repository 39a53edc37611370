//! One call of the real tool: one strategy with one seed on many programs.

use std::time::{Duration, Instant};

use end_to_end::Workspace;

use crate::programs::Program;

/// A call that takes longer is given up, and the league with it.
const PATIENCE: Duration = Duration::from_hours(2);

/// What is to be run.
#[derive(Clone, Copy)]
pub(crate) struct Trial<'a> {
    pub(crate) strategy: &'a str,
    pub(crate) seed: u64,
    /// The most schedules for each program.
    pub(crate) schedules: u64,
}

/// What one trial says of one program.
#[derive(Clone)]
pub(crate) struct Verdict {
    /// Its place among the programs.
    pub(crate) program: usize,
    /// How many schedules there were, the failing one included; none if nothing was found.
    pub(crate) found_after: Option<u64>,
    /// How it failed, if not as expected.
    pub(crate) other_kind: Option<String>,
}

impl Trial<'_> {
    /// Explores those `programs` that `selects` takes, `jobs` at once; nothing if the
    /// tool has no strategy of this name.
    pub(crate) fn run(
        &self,
        workspace: &Workspace,
        programs: &[Program],
        selects: impl Fn(&Program) -> bool,
        jobs: usize,
    ) -> Option<Vec<Verdict>> {
        let selected: Vec<_> = (0..)
            .zip(programs)
            .filter(|(_, one)| selects(one))
            .collect();
        if selected.is_empty() {
            return Some(Vec::new());
        }
        let started = Instant::now();
        let args = ["test", "--no-fail-fast", "--quiet", "--exact"];
        let mut call = workspace.chess(&args);
        for (_, program) in &selected {
            call = call.arg(&program.test);
        }
        // The bound is a guarantee of `icb`, and no budget: it goes on to the next.
        if self.strategy == "icb" {
            call = call.arg("--preemptions=100");
        }
        let run = call
            .arg("--message-format=json")
            .arg(format!("--strategy={}", self.strategy))
            .arg(format!("--seed={}", self.seed))
            .arg(format!("--schedules={}", self.schedules))
            .arg(format!("--jobs={jobs}"))
            .start()
            .finish(PATIENCE);
        if run.stdout.is_empty() && run.stderr.contains("for '--strategy <S>'") {
            return None;
        }
        eprintln!(
            "{} with seed {}: {} programs in {:.1} s",
            self.strategy,
            self.seed,
            selected.len(),
            started.elapsed().as_secs_f64(),
        );
        let verdicts = run.verdicts();
        let verdict_of = |program: &Program| {
            let found = verdicts.iter().find(|one| one["test"] == *program.test);
            found.unwrap_or_else(|| panic!("no verdict on {}: {run:?}", program.name))
        };
        let judge = |(number, program): &(usize, &Program)| {
            let verdict = verdict_of(program);
            let has_failed = verdict["outcome"] == "failed";
            let kind = verdict["kind"].as_str().filter(|_| has_failed);
            Verdict {
                program: *number,
                found_after: verdict["schedules"].as_u64().filter(|_| has_failed),
                other_kind: kind.filter(|kind| *kind != program.kind).map(str::to_owned),
            }
        };
        Some(selected.iter().map(judge).collect())
    }
}
