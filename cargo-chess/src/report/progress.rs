//! The progress line: the only part that moves, on a terminal only.

use std::io::IsTerminal;
use std::time::Duration;

use indicatif::{ProgressBar, ProgressStyle};

use super::live::{Live, Running};
use super::text::thousands;

/// A line below what was printed, or nothing.
pub(super) struct ProgressLine(Option<ProgressBar>);

impl ProgressLine {
    /// No line.
    pub(super) fn none() -> Self {
        Self(None)
    }

    /// A line on standard error, if that is a terminal that can show one.
    pub(super) fn on_stderr() -> Self {
        let dumb = std::env::var_os("TERM").is_some_and(|term| term == "dumb");
        let unattended = std::env::var_os("CI").is_some();
        if dumb || unattended || !std::io::stderr().is_terminal() {
            return Self::none();
        }
        let bar = ProgressBar::new_spinner();
        let style = ProgressStyle::with_template("{prefix:>12.cyan.bold} {wide_msg}")
            .expect("the template is well formed");
        bar.set_style(style);
        bar.set_prefix("Exploring");
        bar.enable_steady_tick(Duration::from_millis(200));
        Self(Some(bar))
    }

    /// Shows `live`.
    pub(super) fn show(&self, live: &Live) {
        if let Some(bar) = &self.0 {
            bar.set_message(message(live));
        }
    }

    /// Prints with the line out of the way.
    pub(super) fn around<T>(&self, print: impl FnOnce() -> T) -> T {
        match &self.0 {
            Some(bar) => bar.suspend(print),
            None => print(),
        }
    }

    /// Takes the line away for good.
    pub(super) fn end(&mut self) {
        if let Some(bar) = self.0.take() {
            bar.finish_and_clear();
        }
    }
}

impl Drop for ProgressLine {
    fn drop(&mut self) {
        self.end();
    }
}

/// `3/12: bank::t transfer (20,000 schedules, bound 1, about 12 % explored), bank::t other`
fn message(live: &Live) -> String {
    let tests: Vec<String> = live.running.iter().map(state).collect();
    format!("{}/{}: {}", live.ended, live.total, tests.join(", "))
}

fn state(test: &Running) -> String {
    if test.schedules == 0 {
        return test.id.to_string();
    }
    let mut parts = vec![format!("{} schedules", thousands(test.schedules))];
    parts.extend(test.bound.map(|bound| format!("bound {bound}")));
    let percent = test.explored.map(|millionths| millionths / 10_000);
    parts.extend(percent.map(|percent| format!("about {percent} % explored")));
    format!("{} ({})", test.id, parts.join(", "))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::events::TestId;

    #[test]
    fn the_line_says_what_runs_and_how_far_it_is() {
        let id = |test: &str| TestId {
            package: "bank".into(),
            binary: "bank::t".into(),
            test: test.into(),
        };
        let mut live = Live::new(12);
        live.begin(0, &id("a"));
        live.begin(1, &id("b"));
        live.end(0);
        live.begin(2, &id("c"));
        live.advance(1, 1200, Some(1), None);
        insta::assert_snapshot!(message(&live), @"1/12: bank::t b (1,200 schedules, bound 1), bank::t c");
        live.advance(1, 20_000, Some(2), Some(123_456));
        live.advance(2, 10_000, None, Some(900));
        insta::assert_snapshot!(message(&live), @"1/12: bank::t b (20,000 schedules, bound 2, about 12 % explored), bank::t c (10,000 schedules, about 0 % explored)");
    }
}
