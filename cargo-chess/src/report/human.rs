//! The reporter for people, on standard error, in cargo's style.

use std::io::{self, Write};
use std::time::Instant;

use camino::{Utf8Path, Utf8PathBuf};

use super::common;
use super::covered::{self, CoveredByRun};
use super::early_timeouts;
use super::explanation::explanation;
use super::failure::{Style, failure};
use super::outside_effects::OutsideEffects;
use super::progress::Progress;
use super::racing_dependencies::RacingDependencies;
use super::reporter::Reporter;
use super::run_state::RunState;
use super::summary::{Guarantee, counts};
use super::verdict_line::{line, seconds, statistics};
use crate::analysis::Detail;
use crate::analysis::Explanation;
use crate::cli::RunOptions;
use crate::events::{Event, Outcome, RunFinished, RunStarted, TestFinished};
use crate::shard::{Part, Shard};
use crate::text::{BAD, GOOD, NOTE, WARN, grouped, plural, status, styled, thousands, units};

/// The width of output that does not go to a terminal.
const PLAIN_WIDTH: usize = 100;

/// Prints lines for people to `W`.
pub(crate) struct Human<W> {
    out: W,
    color: bool,
    verbosity: i8,
    fail_fast: bool,
    style: Style,
    /// The workspace's root, for source lines.
    root: Utf8PathBuf,
    progress: Progress,
    /// Tests that failed or got no verdict. They are reported at the end.
    failures: Vec<(TestFinished, Detail)>,
    guarantee: Guarantee,
    outside: OutsideEffects,
    racing: RacingDependencies,
    covered: CoveredByRun,
    /// The shard that this run explores, if `--shard` is given.
    shard: Option<Shard>,
}

impl Human<io::Stderr> {
    /// Prints to standard error.
    pub(crate) fn on_stderr(options: &RunOptions, workspace_root: &Utf8Path) -> Self {
        let width = terminal_size::terminal_size_of(io::stderr())
            .map_or(PLAIN_WIDTH, |(width, _)| usize::from(width.0));
        let progress = if options.verbosity < 0 || options.no_capture {
            Progress::None
        } else {
            Progress::on_stderr(width)
        };
        Self::new(io::stderr(), options, workspace_root, width, progress)
    }
}

impl<W: Write> Human<W> {
    fn new(
        out: W,
        options: &RunOptions,
        workspace_root: &Utf8Path,
        width: usize,
        progress: Progress,
    ) -> Self {
        Self {
            out,
            color: options.color,
            verbosity: options.verbosity,
            fail_fast: options.fail_fast,
            style: Style {
                width: width.max(40),
                whole: options.verbosity >= 2,
                saved: options.print_saved,
                inline: options.verbosity >= 1,
            },
            root: workspace_root.to_owned(),
            progress,
            failures: Vec::new(),
            guarantee: Guarantee::default(),
            outside: OutsideEffects::default(),
            racing: RacingDependencies::default(),
            covered: CoveredByRun::default(),
            shard: None,
        }
    }

    /// Prints the whole report on one failure now.
    pub(crate) fn failure(&mut self, test: &TestFinished, detail: &Detail) -> io::Result<()> {
        let report = failure(&self.root, test, detail, self.style);
        self.print(&(report + "\n"))
    }

    /// Prints the explanation of a failure.
    pub(crate) fn explanation(&mut self, explained: &Explanation) -> io::Result<()> {
        let report = explanation(&self.root, explained, self.style);
        self.print(&report)
    }

    fn print(&mut self, text: &str) -> io::Result<()> {
        let Self {
            out,
            color,
            progress,
            ..
        } = self;
        let printed = progress.around(|| {
            if *color {
                out.write_all(text.as_bytes())?;
            } else {
                write!(out, "{}", anstream::adapter::strip_str(text))?;
            }
            out.flush()
        });
        match printed {
            // If the reader has closed the stream, the run continues.
            Err(error) if error.kind() == io::ErrorKind::BrokenPipe => Ok(()),
            printed => printed,
        }
    }

    fn started(&mut self, run: &RunStarted) -> io::Result<()> {
        self.shard = run.shard.as_ref().map(Part::shard);
        if self.verbosity < 0 {
            return Ok(());
        }
        let shard = run.shard.as_ref().map_or_else(String::new, |part| {
            let all = plural(part.tests as u64, "test");
            format!(", shard {} of {all}", part.shard())
        });
        let schedules = run.schedules.map(|count| plural(count, "schedule"));
        let work = run.work.map(|work| format!("{} of work", units(work)));
        let budgets: Vec<String> = schedules.into_iter().chain(work).collect();
        let budget = match budgets.join(" or ") {
            none if none.is_empty() => none,
            budget => format!(", {budget} per test"),
        };
        self.print(&status(
            GOOD,
            "Exploring",
            format!(
                "{} in {}{} (up to {}{budget}, strategy {}, seed {})",
                plural(run.tests as u64, "test"),
                plural_binaries(run.binaries),
                shard,
                plural(run.preemptions.into(), "preemption"),
                run.strategy.join(","),
                run.seed
            ),
        ))
    }

    fn test_finished(&mut self, test: &TestFinished, detail: &Detail) -> io::Result<()> {
        let is_short = self.guarantee.add(test, detail);
        self.outside.add(test);
        self.racing.add(test);
        let is_asked = detail.exploration.coverage;
        let covered = test.counts.covered.as_ref().filter(|_| is_asked);
        if let Some(covered) = covered {
            self.covered.add(covered);
        }
        let bad = test.outcome.fails_run();
        if bad {
            self.failures.push((test.clone(), detail.clone()));
        }
        if self.verbosity < 0 && !bad && test.outcome != Outcome::Timing {
            return Ok(());
        }
        let mut lines = line(test, detail);
        if self.verbosity > 0 && test.outcome != Outcome::Skipped {
            lines += &status(NOTE, "Note", statistics(test));
        }
        if let Some(covered) = covered {
            lines += &status(NOTE, "Covered", covered::counts(covered));
            for pair in covered::blind(&covered.pairs) {
                lines += &status(NOTE, "One order", pair);
            }
        }
        let (of_time, others) = test.warnings_of_time_and_others();
        // The summary or the message of the failure already says that the time ended.
        let is_reported = is_short || test.outcome == Outcome::Timeout;
        let of_time = of_time.iter().filter(|_| !is_reported);
        for warning in of_time.chain(others) {
            lines += &warning_line(&format!("{}: {}", test.id(), grouped(warning)));
        }
        self.print(&lines)
    }

    fn finished(&mut self, run: &RunFinished) -> io::Result<()> {
        self.progress.end();
        if self.verbosity >= 0 || !self.failures.is_empty() {
            self.print("\n")?;
        }
        let failures = std::mem::take(&mut self.failures);
        for (test, detail) in &failures {
            self.failure(test, detail)?;
        }
        let style = if run.interrupted {
            WARN
        } else if run.failed + run.timeout > 0 {
            BAD
        } else {
            GOOD
        };
        let verb = if run.interrupted {
            "Interrupted"
        } else {
            "Finished"
        };
        let shard = self.shard.map_or_else(String::new, |shard| {
            format!(" (shard {shard}; `cargo chess merge` joins the shards' JSON)")
        });
        let time = seconds(run.duration_ms);
        let summary = format!("{} in {time}{shard}", counts(run));
        let mut text = status(style, verb, summary);
        let has_left_some = run.not_run + run.stopped > 0 && self.fail_fast;
        if has_left_some && run.failed + run.timeout > 0 && !run.interrupted {
            text += &status(
                NOTE,
                "Note",
                "--no-fail-fast also runs the tests after the first failure",
            );
        }
        if run.stopped > 0 {
            text += &status(WARN, "Stopped", stopped(run));
        }
        if run.timing > 0 {
            let ran = run.passed + run.failed + run.timing + run.timeout;
            text += &status(WARN, "Timing", early_timeouts::summary(run.timing, ran));
        }
        for sentence in common::sentences(failures.iter().map(|(test, _)| test)) {
            text += &status(NOTE, "In common", sentence);
        }
        for sentence in self.guarantee.cut_short() {
            text += &status(WARN, "Unfinished", sentence);
        }
        for sentence in self.guarantee.sentences() {
            text += &status(NOTE, "Guarantee", sentence);
        }
        for sentence in self.outside.sentences() {
            text += &status(WARN, "Outside", sentence);
        }
        for sentence in self.covered.sentences() {
            text += &status(NOTE, "All tests", sentence);
        }
        for sentence in self.racing.sentences() {
            text += &status(WARN, "Race", sentence);
        }
        self.print(&text)
    }
}

impl<W: Write> Reporter for Human<W> {
    fn event(&mut self, event: &Event, detail: Option<&Detail>) -> io::Result<()> {
        match (event, detail) {
            (Event::RunStarted(run), _) => self.started(run),
            (Event::TestFinished(test), Some(detail)) => self.test_finished(test, detail),
            // An ignored test has no other data.
            (Event::TestFinished(test), None) if self.verbosity > 0 => {
                self.print(&status(NOTE, "Ignored", test.id()))
            }
            (Event::RunFinished(run), _) => self.finished(run),
            (Event::TestStarted(_) | Event::Progress(_) | Event::TestFinished(_), _) => Ok(()),
        }
    }

    fn state(&mut self, state: &RunState) {
        if let Some(lines) = self.progress.show(state, Instant::now()) {
            // A closed standard error cannot be reported.
            let _ = self.print(&lines);
        }
    }

    fn warn(&mut self, message: &str) {
        // A closed standard error cannot be reported.
        let _ = self.print(&warning_line(message));
    }
}

/// The numbers of tests that are finished, that were not run, and whose search was not finished, in
/// words.
fn stopped(run: &RunFinished) -> String {
    let tests = run.passed + run.failed + run.timing + run.timeout + run.not_run;
    let finished = tests - run.stopped - run.not_run;
    let looks = match run.only_looked_at as u64 {
        0 => String::new(),
        looks => format!(
            " ({} of these had only the short first round)",
            thousands(looks)
        ),
    };
    let not_run = match run.not_run as u64 {
        0 => String::new(),
        count => format!(", {} not run", thousands(count)),
    };
    format!(
        "{} of {} finished{not_run}; the run ended before the search of {} was complete{looks}",
        thousands(finished as u64),
        plural(tests as u64, "test"),
        plural(run.stopped as u64, "test")
    )
}

fn warning_line(message: &str) -> String {
    format!("{}: {message}\n", styled(WARN, "warning"))
}

fn plural_binaries(count: usize) -> String {
    match count {
        1 => "1 binary".to_owned(),
        n => format!("{} binaries", thousands(n as u64)),
    }
}

#[cfg(test)]
mod tests {
    use super::super::samples;
    use super::*;
    use crate::cli::OutputArgs;
    use crate::protocol::Finished;

    /// The source that the samples' locations point into.
    const SOURCE: &str = "fn transfer() {\n    // ...\n    assert_eq!(total, 120);\n}\n";

    fn report(width: usize, output: &OutputArgs, tests: &[(&str, Finished, &str)]) -> String {
        let root = tempfile::tempdir().expect("a directory");
        std::fs::create_dir(root.path().join("src")).expect("a directory");
        std::fs::write(root.path().join("src/lib.rs"), SOURCE).expect("a file");
        let root = Utf8Path::from_path(root.path()).expect("a path in UTF-8");
        let options = RunOptions::new(output, Some(1));
        let mut human = Human::new(Vec::new(), &options, root, width, Progress::None);
        let start = Event::RunStarted(RunStarted {
            version: "0.1.0".into(),
            tests: tests.len(),
            binaries: 1,
            seed: 0,
            strategy: vec!["auto".into()],
            preemptions: 2,
            schedules: None,
            work: Some(20_000_000),
            max_steps: 20_000,
            shard: None,
        });
        human.event(&start, None).expect("memory takes it");
        let mut run = RunFinished {
            duration_ms: 412,
            ..RunFinished::default()
        };
        for (name, finished, stderr) in tests {
            let (event, detail) = samples::test(name, finished.clone(), stderr);
            match event.outcome {
                Outcome::Passed => run.passed += 1,
                Outcome::Failed => run.failed += 1,
                Outcome::Timing => run.timing += 1,
                Outcome::Skipped => run.skipped += 1,
                Outcome::Timeout => run.timeout += 1,
            }
            let event = Event::TestFinished(Box::new(event));
            human.event(&event, Some(&detail)).expect("memory takes it");
        }
        human
            .event(&Event::RunFinished(run), None)
            .expect("memory takes it");
        String::from_utf8(human.out).expect("text")
    }

    fn plain() -> OutputArgs {
        OutputArgs {
            color: Some(crate::cli::ColorWhen::Never),
            ..OutputArgs::default()
        }
    }

    #[test]
    fn a_run_without_failures_states_its_guarantee() {
        insta::assert_snapshot!(report(
            100,
            &plain(),
            &[
                ("one_task", samples::passed(None, true), ""),
                ("corrected", samples::passed(Some(2), false), ""),
                ("main", samples::skipped(), ""),
            ]
        ));
    }

    #[test]
    fn a_stopped_run_says_how_many_tests_were_finished() {
        let run = RunFinished {
            passed: 1,
            failed: 1,
            timing: 1,
            not_run: 2,
            stopped: 1,
            only_looked_at: 1,
            ..RunFinished::default()
        };
        insta::assert_snapshot!(stopped(&run), @"2 of 5 tests finished, 2 not run; the run ended before the search of 1 test was complete (1 of these had only the short first round)");
    }

    #[test]
    fn a_panic_is_printed_with_source_line_interleaving_output_and_replay_command() {
        insta::assert_snapshot!(report(
            100,
            &plain(),
            &[
                ("corrected", samples::passed(Some(2), false), ""),
                ("transfer_is_atomic", samples::panic(), ""),
            ]
        ));
    }

    #[test]
    fn a_deadlock_is_printed_with_its_cycle() {
        insta::assert_snapshot!(report(100, &plain(), &[("abba", samples::deadlock(), "")]));
    }

    #[test]
    fn a_deadlock_is_printed_on_a_narrow_terminal() {
        insta::assert_snapshot!(report(60, &plain(), &[("abba", samples::deadlock(), "")]));
    }

    #[test]
    fn a_crash_is_printed_with_the_output_of_the_process() {
        let stderr = "free(): double free detected in tcache 2\n";
        insta::assert_snapshot!(report(
            100,
            &plain(),
            &[("crashes", samples::crash(), stderr)]
        ));
    }

    #[test]
    fn a_timeout_is_printed_with_the_last_event() {
        insta::assert_snapshot!(report(100, &plain(), &[("hangs", samples::timeout(), "")]));
    }

    #[test]
    fn other_failures_are_printed_in_short() {
        insta::assert_snapshot!(report(
            100,
            &plain(),
            &[("transfer_is_atomic", samples::many_failures(), "")]
        ));
    }

    #[test]
    fn a_resumed_search_prints_the_total_number_of_schedules() {
        let tests = [("transfer_is_atomic", samples::many_failures(), "")];
        let text = report(100, &plain(), &tests);
        assert!(text.contains("panic and 3 other failures (17 schedules, "));
        assert!(!text.contains("(schedule 17"));
    }

    #[test]
    fn quiet_shows_failures_and_the_summary_only() {
        let output = OutputArgs {
            quiet: true,
            ..plain()
        };
        let text = report(
            100,
            &output,
            &[
                ("corrected", samples::passed(Some(2), false), ""),
                ("crashes", samples::crash(), ""),
            ],
        );
        assert!(!text.contains("Passed"));
        assert!(!text.contains("Exploring"));
        assert!(text.contains("Failed bank::t crashes"));
        assert!(text.contains("Finished 1 passed, 1 failed"));
    }

    #[test]
    fn verbose_adds_the_schedule_as_one_word() {
        let output = OutputArgs {
            verbose: 1,
            ..plain()
        };
        let text = report(100, &output, &[("abba", samples::deadlock(), "")]);
        assert!(text.contains("cargo chess replay chess1:"));
    }

    #[test]
    fn verbose_adds_the_work_of_the_search_and_the_calls_that_were_single_steps() {
        let output = OutputArgs {
            verbose: 1,
            ..plain()
        };
        let locks = samples::with_atomic("parking_lot 0.12.5", samples::passed(Some(2), false));
        insta::assert_snapshot!(report(100, &output, &[("locks", locks, "")]));
    }

    #[test]
    fn a_test_that_is_not_deterministic_gets_no_guarantee() {
        let tests = [("sometimes", samples::unstable(), "")];
        insta::assert_snapshot!(report(100, &plain(), &tests));
    }

    #[test]
    fn the_end_of_the_time_is_printed_once() {
        let tests = [("slow", samples::out_of_time(), "")];
        insta::assert_snapshot!(report(100, &plain(), &tests));
    }

    #[test]
    fn colour_is_used_where_it_is_asked_for_and_only_there() {
        let colour = OutputArgs {
            color: Some(crate::cli::ColorWhen::Always),
            ..OutputArgs::default()
        };
        let tests = [("abba", samples::deadlock(), "")];
        let coloured = report(100, &colour, &tests);
        assert!(coloured.contains('\u{1b}'));
        let stripped = anstream::adapter::strip_str(&coloured).to_string();
        assert_eq!(stripped, report(100, &plain(), &tests));
    }
}
