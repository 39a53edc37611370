//! Finds the tests of the built binaries by libtest's `--list` option.

use std::collections::HashSet;
use std::time::Duration;

use super::child_process::{End, Flow, Invocation, watch};
use super::exit_status;
use crate::build::{NotExplored, TestBinary};
use crate::cli::{RunIgnored, RunOptions};
use crate::error::{Error, Result};
use crate::events::TestId;
use crate::interrupt::Interrupt;

/// The name of the only test of a binary with its own harness.
pub(crate) const OWN_HARNESS: &str = "main";

/// The time in which a binary must list its tests. Without a limit, a binary whose constructor
/// hangs would block the run.
const PATIENCE: Duration = Duration::from_mins(1);

/// A test and its binary.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct ListedTest {
    /// The identity of the test.
    pub id: TestId,
    /// The index of the test's binary in the build.
    pub binary: usize,
    /// Whether the test is marked `#[ignore]`.
    pub ignored: bool,
    /// The reason why the test cannot be explored, if there is one.
    pub not_explored: Option<NotExplored>,
}

/// Lists all tests of `binaries`, in the order of the binaries and of each binary's own list.
pub(crate) fn list(binaries: &[TestBinary], interrupt: &Interrupt) -> Result<Vec<ListedTest>> {
    let mut tests = Vec::new();
    for (index, binary) in binaries.iter().enumerate() {
        if !binary.harness {
            tests.push(ListedTest {
                id: id(binary, OWN_HARNESS.to_owned()),
                binary: index,
                ignored: false,
                not_explored: binary.why_not,
            });
            continue;
        }
        let names = names(binary, false, interrupt)?;
        let ignored: HashSet<String> = if names.is_empty() {
            HashSet::new()
        } else {
            names_ignored(binary, interrupt)?
        };
        tests.extend(names.into_iter().map(|name| ListedTest {
            ignored: ignored.contains(&name),
            id: id(binary, name),
            binary: index,
            not_explored: binary.why_not,
        }));
    }
    Ok(tests)
}

/// The tests that `options` select.
pub(crate) fn select(tests: Vec<ListedTest>, options: &RunOptions) -> Vec<ListedTest> {
    tests
        .into_iter()
        .filter(|test| match options.run_ignored {
            RunIgnored::Default => !test.ignored,
            RunIgnored::IgnoredOnly => test.ignored,
            RunIgnored::All => true,
        })
        .filter(|test| options.selects(&test.id.test))
        .collect()
}

/// The tests that `options` would select if they were not marked `#[ignore]`.
pub(super) fn ignored(tests: &[ListedTest], options: &RunOptions) -> Vec<TestId> {
    if options.run_ignored != RunIgnored::Default {
        return Vec::new();
    }
    tests
        .iter()
        .filter(|test| test.ignored && options.selects(&test.id.test))
        .map(|test| test.id.clone())
        .collect()
}

fn id(binary: &TestBinary, test: String) -> TestId {
    TestId {
        package: binary.package.clone(),
        binary: binary.id.clone(),
        test,
    }
}

fn names_ignored(binary: &TestBinary, interrupt: &Interrupt) -> Result<HashSet<String>> {
    Ok(names(binary, true, interrupt)?.into_iter().collect())
}

fn names(binary: &TestBinary, ignored: bool, interrupt: &Interrupt) -> Result<Vec<String>> {
    names_within(PATIENCE, binary, ignored, interrupt)
}

fn names_within(
    patience: Duration,
    binary: &TestBinary,
    ignored: bool,
    interrupt: &Interrupt,
) -> Result<Vec<String>> {
    let mut args = vec!["--list", "--format", "terse"];
    args.extend(ignored.then_some("--ignored"));
    let invocation = Invocation::new(binary, args);
    let mut names = Vec::new();
    let mut unknown = None;
    let ended = watch(
        invocation,
        Some(patience),
        &|| interrupt.requested(),
        &mut |line| {
            let line = String::from_utf8_lossy(line);
            match line.rsplit_once(": ") {
                Some((name, "test")) => names.push(name.to_owned()),
                Some((_, "benchmark")) => {}
                None if line.is_empty() => {}
                _ => unknown = unknown.take().or_else(|| Some(line.into_owned())),
            }
            Flow::Continue
        },
    )
    .map_err(Error::io("run", &binary.path))?;
    let problem = match ended.end {
        End::Stopped => return Err(Error::Interrupted),
        End::Silent => format!(
            "it printed nothing for {} s, and was killed; perhaps code that runs before `main` waits",
            patience.as_secs_f64()
        ),
        End::Exited(status) if !status.success() => format!("it {}", exit_status::in_words(status)),
        End::Exited(_) => match unknown {
            None => return Ok(names),
            Some(line) => format!("expected lines like `path::of::test: test`, found `{line}`"),
        },
    };
    let stderr = ended.stderr.trim_end();
    Err(Error::Build(format!(
        "could not list the tests of `{}` with `--list --format terse`: {problem}.{}\n\
         If the target has its own test harness, set `harness = false` for the target in Cargo.toml.",
        binary.id,
        if stderr.is_empty() {
            String::new()
        } else {
            format!("\nIts standard error was:\n{stderr}")
        },
    )))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::supervise::tests::fake::Fakes;

    #[test]
    fn a_binary_that_never_lists_its_tests_is_ended_and_reported() {
        let fakes = Fakes::new().script("t", "exec sleep 1000");
        let patience = Duration::from_millis(100);
        let error = names_within(patience, &fakes.binaries[0], false, &fakes.interrupt);
        insta::assert_snapshot!(error.expect_err("no names"), @r"
        could not list the tests of `bank::t` with `--list --format terse`: it printed nothing for 0.1 s, and was killed; perhaps code that runs before `main` waits.
        If the target has its own test harness, set `harness = false` for the target in Cargo.toml.
        ");
    }
}
