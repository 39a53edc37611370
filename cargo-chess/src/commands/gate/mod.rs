//! `cargo chess gate`: the check of a change before it is merged.
//!
//! The gate gets the changes since a commit from git, and finds the affected members by cargo's
//! graph. It checks the reviewed rewrites of the workspace, and the saved regressions and the tests
//! of these members. A test is first explored with preemptions at the changed lines only. A test
//! whose binary and options have not changed since a finished exploration gets the result of that
//! exploration.

mod affected;
mod default_base;
mod diff;
mod git;

use std::collections::BTreeSet;
use std::fs;
use std::io;

use camino::{Utf8Path, Utf8PathBuf};

use super::rewrite;
use crate::analysis::Detail;
use crate::cli::{CargoArgs, GateArgs, NoTests, RunOptions};
use crate::error::{Result, exit_code};
use crate::events::{Event, Outcome, RegressionOutcome, TestFinished};
use crate::interrupt::Interrupt;
use crate::plan::Plan;
use crate::report::{self, Reporter, RunState};
use crate::session::Session;
use crate::shell::Shell;
use crate::supervise::{self, Gating};
use crate::text::plural;
use affected::{Affected, Reason, affected, changed_in_lock};
use diff::Changes;
use git::{Base, Git};

/// Checks the members that `args` select. The exit code contains the result.
pub(crate) fn run(args: &GateArgs, interrupt: &Interrupt) -> Result<u8> {
    let shell = args.output.shell();
    let mut cargo = args.cargo();
    let session = Session::open(
        &cargo,
        args.explore.profile.as_deref(),
        &args.reports.over(args.explore.to_layer()),
    )?;
    let root = &session.plan.workspace_root;
    let git = Git::around(root)?;
    let base = default_base::find(&git, args.base.as_deref())?;
    let changes = git.changes(&base)?;
    print_base(shell, &base, &changes);
    let found = find_affected(&session, &git, &base, &changes)?;
    print_affected(shell, &session, &found);

    let (diffs, rewritten) = rewrite::check(&session, shell)?;
    if let Some(error) = &rewritten {
        shell.error(error);
        Shell::text(&diffs);
    }
    let explored = if found.members.is_empty() {
        exit_code::OK
    } else {
        cargo.packages.package = found.members.keys().cloned().collect();
        explore(args, &cargo, &session, &git, &changes, interrupt)?
    };
    if explored != exit_code::OK {
        return Ok(explored);
    }
    if let Some(error) = rewritten {
        // The error was printed above, with the diff.
        shell.failure("the rewritten code differs from its snapshots: see the diff above");
        return Ok(error.exit_code());
    }
    let passed = match found.members.len() {
        0 => "passed: the change affects no test",
        _ => "passed",
    };
    shell.status("Gate", passed);
    Ok(explored)
}

/// Explores the tests of the packages that `cargo` selects.
fn explore(
    args: &GateArgs,
    cargo: &CargoArgs,
    session: &Session,
    git: &Git,
    changes: &Changes,
    interrupt: &Interrupt,
) -> Result<u8> {
    let options = RunOptions {
        reports: args.reports.clone(),
        fail_fast: false,
        no_tests: NoTests::Pass,
        require_complete: args.require_complete,
        ..RunOptions::new(&args.output, args.build.jobs)
    };
    let mut counter = VerdictCounter {
        reporter: report::reporter(&options, &session.plan.workspace_root)?,
        new: 0,
        regressions: 0,
        timeouts: 0,
    };
    let build = session.build(cargo, &args.output, interrupt)?;
    let gating = Gating {
        changed: changed_lines(&session.plan, git, changes),
        budget: args.budget,
        use_results: !args.no_cache,
    };
    let inputs = supervise::Inputs {
        plan: &session.plan,
        config: &session.config,
        build: &build,
        cargo_flags: &cargo.build_flags(),
        options: &options,
        gating: Some(&gating),
        interrupt,
    };
    let code = supervise::run(inputs, &mut counter)?;
    let shell = args.output.shell();
    if code == exit_code::FAILURE_FOUND {
        shell.failure(counter.verdict());
    }
    Ok(code)
}

/// The changed lines in rustc's form. Paths of members are relative to the workspace's root.
fn changed_lines(plan: &Plan, git: &Git, changes: &Changes) -> Vec<String> {
    let mut lines = Vec::new();
    let is_rust = |path: &str| Utf8Path::new(path).extension() == Some("rs");
    let named = |path: &str| {
        let path = absolute(plan, git, path);
        let inside = path.strip_prefix(&plan.workspace_root);
        inside.unwrap_or(&path).to_string()
    };
    for (path, changed) in changes.lines.iter().filter(|(path, _)| is_rust(path)) {
        let name = named(path);
        lines.extend(changed.iter().map(|line| format!("{name}:{line}")));
    }
    for path in changes.untracked.iter().filter(|path| is_rust(path)) {
        let source = fs::read_to_string(git.root().join(path));
        let count = source.map_or(0, |source| source.lines().count());
        let name = named(path);
        lines.extend((1..=count).map(|line| format!("{name}:{line}")));
    }
    lines
}

/// The absolute path of the file that git calls `path`. If the file is below the workspace's root,
/// the result begins with the path that cargo uses for the root. Cargo's path may contain symbolic
/// links, and git's paths contain none.
fn absolute(plan: &Plan, git: &Git, path: &str) -> Utf8PathBuf {
    let path = git.root().join(path);
    let root = &plan.workspace_root;
    let canonical = root.canonicalize_utf8();
    let canonical = canonical.as_ref().unwrap_or(root);
    match path.strip_prefix(canonical) {
        Ok(inside) => root.join(inside),
        Err(_) => path,
    }
}

fn find_affected(session: &Session, git: &Git, base: &Base, changes: &Changes) -> Result<Affected> {
    let plan = &session.plan;
    let all = changes.files.iter().chain(&changes.untracked);
    let mut in_lock = BTreeSet::new();
    let mut paths = Vec::new();
    for name in all {
        let path = absolute(plan, git, name);
        if path == plan.workspace_root.join("Cargo.lock") {
            let before = git.before(base, name)?.unwrap_or_default();
            let now = fs::read_to_string(&path).unwrap_or_default();
            in_lock = changed_in_lock(&before, &now);
        }
        if !path.starts_with(&plan.target_dir) {
            paths.push(path);
        }
    }
    Ok(affected(&plan.metadata, &paths, &in_lock))
}

fn print_base(shell: Shell, base: &Base, changes: &Changes) {
    let Base { name, commit, .. } = base;
    let short = commit.get(..9).unwrap_or(commit);
    let which = match base.is_fork_point {
        _ if name.starts_with(short) => format!("commit {short}"),
        true => format!("{name}, which this branch left at {short}"),
        false => format!("{name} itself ({short})"),
    };
    let count = plural(
        (changes.files.len() + changes.untracked.len()) as u64,
        "changed file",
    );
    shell.status("Comparing", format!("with {which}: {count}"));
    if !base.is_fork_point {
        shell.warn(format!(
            "the commit at which this branch left {name} is unknown, perhaps because the clone is shallow: \
             later changes of {name} count as changes of this branch, too"
        ));
    }
}

fn print_affected(shell: Shell, session: &Session, found: &Affected) {
    let members = session.plan.metadata.workspace_packages().len();
    let affected = found.members.values().map(|(name, why)| match why {
        Reason::Changed => format!("{name} (changed)"),
        Reason::DependsOn(other) => format!("{name} (uses {other})"),
        Reason::Everything(file) => format!("{name} ({file} changed)"),
    });
    let mut affected: Vec<String> = affected.collect();
    affected.sort();
    let count = affected.len();
    let names = match count {
        0 => "no package".to_owned(),
        _ => affected.join(", "),
    };
    shell.status("Affected", format!("{count} of {members}: {names}"));
    if let Some(first) = found.of_none.first() {
        let others = match found.of_none.len() - 1 {
            0 => String::new(),
            more => format!(" and {more} more"),
        };
        let first = first
            .strip_prefix(&session.plan.workspace_root)
            .unwrap_or(first);
        shell.status("Ignored", format!("{first}{others}: in no package"));
    }
}

/// A reporter that passes everything to another reporter, and counts the verdicts for the summary.
struct VerdictCounter {
    reporter: Box<dyn Reporter>,
    /// The number of tests that fail, although none of their saved schedules does.
    new: usize,
    /// The number of saved schedules that fail.
    regressions: usize,
    timeouts: usize,
}

impl VerdictCounter {
    fn count(&mut self, test: &TestFinished) {
        let is_back = |outcome| {
            matches!(
                outcome,
                RegressionOutcome::Failed | RegressionOutcome::Refound
            )
        };
        let back = test.regressions.iter().filter(|it| is_back(it.outcome));
        let back = back.count();
        self.regressions += back;
        self.new += usize::from(test.outcome == Outcome::Failed && back == 0);
        self.timeouts += usize::from(test.outcome == Outcome::Timeout);
    }

    fn verdict(&self) -> String {
        failures(self.regressions, self.new, self.timeouts)
    }
}

/// `1 saved regression fails, 2 tests fail`
fn failures(regressions: usize, new: usize, timeouts: usize) -> String {
    let parts = [
        (
            regressions,
            "saved regression fails",
            "saved regressions fail",
        ),
        (new, "test fails", "tests fail"),
        (timeouts, "test has no verdict", "tests have no verdict"),
    ];
    let parts = parts.iter().filter(|(count, ..)| *count > 0);
    let parts = parts.map(|(count, one, many)| match count {
        1 => format!("1 {one}"),
        _ => format!("{count} {many}"),
    });
    parts.collect::<Vec<_>>().join(", ")
}

impl Reporter for VerdictCounter {
    fn event(&mut self, event: &Event, detail: Option<&Detail>) -> io::Result<()> {
        if let Event::TestFinished(test) = event {
            self.count(test);
        }
        self.reporter.event(event, detail)
    }

    fn state(&mut self, state: &RunState) {
        self.reporter.state(state);
    }

    fn warn(&mut self, message: &str) {
        self.reporter.warn(message);
    }
}

#[cfg(test)]
mod tests {
    use super::failures;

    #[test]
    fn the_failures_that_close_the_gate_are_counted() {
        assert_eq!(
            failures(1, 1, 1),
            "1 saved regression fails, 1 test fails, 1 test has no verdict"
        );
        assert_eq!(
            failures(2, 3, 4),
            "2 saved regressions fail, 3 tests fail, 4 tests have no verdict"
        );
        assert_eq!(failures(0, 2, 0), "2 tests fail");
    }
}
