//! The counts of a run, and the exit code that follows from them.

use crate::error::{Error, Result, exit_code};
use crate::events::{NOT_EXPLORED, Outcome, RunFinished, Stop, TestFinished};

/// The outcomes of the tests reported so far.
#[derive(Default)]
pub(crate) struct Tally {
    /// The counts.
    pub(crate) counts: RunFinished,
    /// Tests that passed without finishing their preemption bound.
    incomplete: Vec<String>,
    /// The number of tests that were run and not explored.
    not_explored: usize,
}

impl Tally {
    /// Counts a test marked `#[ignore]`.
    pub(crate) fn add_ignored(&mut self) {
        self.counts.skipped += 1;
        self.counts.ignored += 1;
    }

    /// Counts the verdict on a test that was selected.
    pub(crate) fn add(&mut self, test: &TestFinished) {
        match test.outcome {
            Outcome::Passed => self.counts.passed += 1,
            Outcome::Failed => self.counts.failed += 1,
            Outcome::Timing => self.counts.timing += 1,
            Outcome::Skipped => self.counts.skipped += 1,
            Outcome::Timeout => self.counts.timeout += 1,
        }
        self.counts.stopped += usize::from(test.stopped.is_some());
        self.counts.only_looked_at += usize::from(test.stopped == Some(Stop::Look));
        self.counts.nothing_to_explore += usize::from(test.nothing_to_explore);
        let wanted = test.options.as_ref().map(|options| options.preemptions);
        let reach = test.own_reach();
        let bound_done = reach.complete || reach.bound_completed >= wanted;
        if test.coverage == NOT_EXPLORED {
            self.not_explored += 1;
        } else if test.outcome == Outcome::Passed && !bound_done {
            self.incomplete.push(format!("`{}`", test.id()));
        }
    }

    /// Counts the tests without a verdict. `selected` is the number of selected tests.
    pub(crate) fn end(&mut self, selected: usize) {
        let counts = &mut self.counts;
        let reported =
            counts.passed + counts.failed + counts.timing + counts.skipped + counts.timeout;
        counts.not_run = selected + counts.ignored - reported;
    }

    /// Whether the run is complete: all selected tests have their final verdicts, and no interrupt
    /// was requested.
    pub(crate) fn is_whole(&self) -> bool {
        self.counts.not_run == 0 && self.counts.stopped == 0 && !self.counts.interrupted
    }

    /// The number of tests that were run and not explored.
    pub(crate) fn not_explored(&self) -> usize {
        self.not_explored
    }

    /// The exit code, as far as the counts decide it.
    pub(crate) fn exit_code(&self) -> u8 {
        if self.counts.interrupted {
            exit_code::INTERRUPTED
        } else if self.counts.failed + self.counts.timeout > 0 {
            exit_code::FAILURE_FOUND
        } else {
            exit_code::OK
        }
    }

    /// Fails if a preemption bound was not finished.
    pub(crate) fn require_complete(&self) -> Result<()> {
        if self.incomplete.is_empty() {
            return Ok(());
        }
        Err(Error::Incomplete(format!(
            "--require-complete: the search up to the preemption bound was not finished for {}.\n\
             Give more --work, or a smaller bound with --preemptions.",
            self.incomplete.join(", ")
        )))
    }
}
