//! The reporter for GitHub Actions. It annotates failures at their source lines, and writes a
//! summary of the step.

use std::env;
use std::fmt::Write as _;
use std::fs::OpenOptions;
use std::io::{self, Write};

use camino::Utf8PathBuf;

use super::early_timeouts;
use super::plain::{Plain, preemptions};
use super::reporter::Reporter;
use super::repository::Repository;
use super::summary::counts;
use crate::analysis::Detail;
use crate::events::{Event, Outcome, RunFinished, TestFinished};
use crate::schedule::replay_command;

/// Prints workflow commands to `W`, and appends to the summary of the step.
pub(super) struct GitHub<W> {
    out: W,
    /// The file whose text the runner shows as the summary of the step.
    summary: Option<Utf8PathBuf>,
    repository: Repository,
    plain: Plain,
    /// The rows of the summary. There is a row for each failure, followed by the report on the
    /// failure.
    rows: String,
    reports: String,
}

impl GitHub<io::Stderr> {
    /// The reporter, if this process is part of a workflow on GitHub Actions.
    ///
    /// Commands go to standard error, which the runner also reads. Standard output is only for
    /// programs.
    pub(super) fn find(repository: Repository, plain: Plain) -> Option<Self> {
        let is_there = env::var_os("GITHUB_ACTIONS").is_some_and(|value| value == "true");
        let summary = env::var("GITHUB_STEP_SUMMARY").ok();
        is_there.then(|| Self::new(io::stderr(), summary.map(Into::into), repository, plain))
    }
}

impl<W: Write> GitHub<W> {
    fn new(out: W, summary: Option<Utf8PathBuf>, repository: Repository, plain: Plain) -> Self {
        Self {
            out,
            summary,
            repository,
            plain,
            rows: String::new(),
            reports: String::new(),
        }
    }

    fn failed(&mut self, test: &TestFinished, detail: &Detail) -> io::Result<()> {
        let kind = test.kind.map_or("no verdict", |kind| kind.name());
        let id = test.id();
        let mut message = detail.message(test).unwrap_or_default().to_owned();
        for sentence in early_timeouts::needs(test)
            .into_iter()
            .chain(preemptions(&detail.finished))
        {
            message = format!("{message}\n{sentence}");
        }
        let schedule = detail.schedule.as_ref();
        let replay = schedule.map(|schedule| replay_command(schedule.to_inline()));
        if let Some(replay) = &replay {
            message = format!("{message}\n{replay}");
        }
        let location = test.location.as_ref();
        let at = location.and_then(|at| Some((self.repository.path_of(&at.file)?, at)));
        let place = at.as_ref().map_or_else(String::new, |(path, at)| {
            format!(
                "file={},line={},col={},",
                property(path),
                at.line,
                at.column
            )
        });
        let title = property(&format!("{kind}: {id}"));
        let level = match test.outcome {
            Outcome::Timing => "warning",
            _ => "error",
        };
        let line = format!("::{level} {place}title={title}::{}\n", data(&message));
        self.out.write_all(line.as_bytes())?;

        let shown = at.map_or_else(String::new, |(path, at)| format!("`{path}:{}`", at.line));
        let preemptions = test
            .counts
            .preemptions
            .map_or_else(String::new, |n| n.to_string());
        let printed = writeln!(
            self.rows,
            "| `{id}` | {kind} | {shown} | {preemptions} | {} |",
            test.counts.schedules
        );
        printed.expect("memory takes every byte");
        let report = self.plain.failure(test, detail);
        // The fence is longer than every sequence of backticks in the report.
        let fence = "`".repeat(longest_run(&report, '`').max(2) + 1);
        let printed = write!(
            self.reports,
            "\n<details><summary>{kind}: {id}</summary>\n\n{fence}text\n{report}{fence}\n\n</details>\n"
        );
        printed.expect("memory takes every byte");
        Ok(())
    }

    fn end(&mut self, run: &RunFinished) -> io::Result<()> {
        let Some(path) = &self.summary else {
            return Ok(());
        };
        let text = anstream::adapter::strip_str(&counts(run)).to_string();
        let mut summary = format!("### cargo chess\n\n{}\n", text.trim());
        if !self.rows.is_empty() {
            summary += "\n| test | failure | at | preemptions | schedules |\n";
            summary += "|---|---|---|---|---|\n";
            summary += &self.rows;
            summary += &self.reports;
        }
        let mut file = OpenOptions::new().create(true).append(true).open(path)?;
        file.write_all(summary.as_bytes())
    }
}

impl<W: Write> Reporter for GitHub<W> {
    fn event(&mut self, event: &Event, detail: Option<&Detail>) -> io::Result<()> {
        match (event, detail) {
            (Event::TestFinished(test), Some(detail))
                if matches!(
                    test.outcome,
                    Outcome::Failed | Outcome::Timing | Outcome::Timeout
                ) =>
            {
                self.failed(test, detail)
            }
            (Event::RunFinished(run), _) => self.end(run),
            _ => Ok(()),
        }
    }
}

/// The length of the longest run of `wanted` in `text`.
fn longest_run(text: &str, wanted: char) -> usize {
    let runs = text.split(|c| c != wanted).map(str::len);
    runs.max().unwrap_or(0)
}

/// Escapes `text` for the message of a workflow command.
fn data(text: &str) -> String {
    let text = text.replace('%', "%25");
    text.replace('\r', "%0D").replace('\n', "%0A")
}

/// Escapes `text` for a property of a workflow command.
fn property(text: &str) -> String {
    data(text).replace(':', "%3A").replace(',', "%2C")
}

#[cfg(test)]
mod tests {
    use camino::Utf8Path;

    use super::super::samples;
    use super::*;

    #[test]
    fn a_failure_is_annotated_at_its_line_and_listed_in_the_summary() {
        let directory = tempfile::tempdir().unwrap();
        let root = Utf8Path::from_path(directory.path()).unwrap();
        std::fs::create_dir_all(root.join(".git")).unwrap();
        std::fs::create_dir_all(root.join("rust/src")).unwrap();
        std::fs::write(root.join("rust/src/lib.rs"), "").unwrap();
        let workspace = root.join("rust");
        let summary = root.join("summary.md");
        std::fs::write(&summary, "Of another step.\n").unwrap();
        let mut out = Vec::new();
        let mut github = GitHub::new(
            &mut out,
            Some(summary.clone()),
            Repository::around(&workspace),
            Plain::new(&workspace),
        );
        let (panic, detail) = samples::test("transfer", samples::panic(), "");
        let event = Event::TestFinished(Box::new(panic));
        github.event(&event, Some(&detail)).unwrap();
        let (passed, detail) = samples::test("other", samples::passed(Some(2), true), "");
        let event = Event::TestFinished(Box::new(passed));
        github.event(&event, Some(&detail)).unwrap();
        let run = RunFinished {
            passed: 1,
            failed: 1,
            ..RunFinished::default()
        };
        github.event(&Event::RunFinished(run), None).unwrap();
        insta::assert_snapshot!("github_commands", String::from_utf8(out).unwrap());
        insta::assert_snapshot!("github_summary", std::fs::read_to_string(summary).unwrap());
    }

    #[test]
    fn special_characters_of_commands_are_escaped() {
        assert_eq!(data("50% done\r\n: a, b"), "50%25 done%0D%0A: a, b");
        assert_eq!(property("a: b, c%"), "a%3A b%2C c%25");
        assert_eq!(longest_run("a ``` b `", '`'), 3);
    }
}
