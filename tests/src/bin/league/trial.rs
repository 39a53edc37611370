//! A trial: one call of the real tool, with one strategy and one seed on many programs.

use std::time::{Duration, Instant};

use end_to_end::Workspace;

use crate::programs::Program;

/// The time limit of a call. When it is exceeded, the whole league fails.
const PATIENCE: Duration = Duration::from_hours(2);

/// The parameters of a trial.
#[derive(Clone, Copy)]
pub(crate) struct Trial<'a> {
    pub(crate) strategy: &'a str,
    pub(crate) seed: u64,
    /// The highest number of schedules for each program.
    pub(crate) schedules: u64,
}

/// The result of one trial for one program.
#[derive(Clone)]
pub(crate) struct Verdict {
    /// The index of the program.
    pub(crate) program: usize,
    /// The number of schedules up to and including the failing one, or `None` if no failure was
    /// found.
    pub(crate) found_after: Option<u64>,
    /// The kind of the failure, if it is not the expected one.
    pub(crate) other_kind: Option<String>,
}

impl Trial<'_> {
    /// Explores those `programs` that `selects` accepts, `jobs` at once. Returns `None` if the tool
    /// has no strategy of this name.
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
        // Without this, `icb` would end at its default bound. A trial ends only when it has found
        // the failure or used up its schedules.
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
