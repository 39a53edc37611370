//! The progress of a run. On a terminal, lines are redrawn. Elsewhere, a line is printed from time
//! to time for each slow test.

use std::collections::BTreeMap;
use std::io::IsTerminal;
use std::time::{Duration, Instant};

use indicatif::{ProgressBar, ProgressStyle};

use super::run_state::{RunState, Running};
use crate::text::{GOOD, NOTE, cut, plural, status, thousands};

/// The interval between two lines about a running test, if lines are not redrawn.
const SLOW: Duration = Duration::from_secs(30);

/// The form in which progress is shown.
pub(super) enum Progress {
    /// Progress is not shown.
    None,
    /// Redrawn lines of this width, below the printed lines.
    Lines(ProgressBar, usize),
    /// A line is printed for a test each time its turn has lasted for another [`SLOW`]. Contains
    /// the number of these lines so far for each turn. A turn is identified by the test and its
    /// start.
    Slow(BTreeMap<(usize, Instant), u32>),
}

impl Progress {
    /// Progress on standard error: redrawn lines of `width` columns if it is a terminal that
    /// supports them, and printed lines otherwise.
    pub(super) fn on_stderr(width: usize) -> Self {
        let dumb = std::env::var_os("TERM").is_some_and(|term| term == "dumb");
        let unattended = std::env::var_os("CI").is_some();
        if dumb || unattended || !std::io::stderr().is_terminal() {
            return Self::Slow(BTreeMap::new());
        }
        let bar = ProgressBar::new_spinner();
        let style = ProgressStyle::with_template("{msg}").expect("the template is well formed");
        bar.set_style(style);
        bar.enable_steady_tick(Duration::from_millis(200));
        Self::Lines(bar, width)
    }

    /// Redraws the lines for `state`, or returns lines to print.
    pub(super) fn show(&mut self, state: &RunState, now: Instant) -> Option<String> {
        match self {
            Self::None => None,
            Self::Lines(bar, width) => {
                let lines = lines(state, now);
                let lines = lines.iter().map(|(verb, rest)| {
                    let rest = cut(rest, width.saturating_sub(VERB));
                    let style = if *verb == "Exploring" { GOOD } else { NOTE };
                    status(style, verb, rest)
                });
                bar.set_message(lines.collect::<String>().trim_end().to_owned());
                None
            }
            Self::Slow(reported) => {
                Some(slow(reported, state, now)).filter(|lines| !lines.is_empty())
            }
        }
    }

    /// Calls `print` while the redrawn lines are hidden.
    pub(super) fn around<T>(&self, print: impl FnOnce() -> T) -> T {
        match self {
            Self::Lines(bar, _) => bar.suspend(print),
            Self::None | Self::Slow(_) => print(),
        }
    }

    /// Removes the redrawn lines, and shows nothing from now on.
    pub(super) fn end(&mut self) {
        if let Self::Lines(bar, _) = self {
            bar.finish_and_clear();
        }
        *self = Self::None;
    }
}

impl Drop for Progress {
    fn drop(&mut self) {
        if let Self::Lines(bar, _) = self {
            bar.finish_and_clear();
        }
    }
}

/// The number of columns of the verb at the start of a line, and of the space after it.
const VERB: usize = 13;

/// The redrawn lines: one for the run, and one for each running test.
fn lines(state: &RunState, now: Instant) -> Vec<(&'static str, String)> {
    let mut run = format!(
        "{}/{} finished, {} running, {} waiting, round {}, {}, {} schedules/s",
        thousands(state.ended as u64),
        thousands(state.total as u64),
        state.running.len(),
        thousands(state.waiting() as u64),
        state.round(),
        clock(state.elapsed(now)),
        thousands(state.rate(now))
    );
    if let Some(left) = state.left(now) {
        run.push_str(", ");
        run.push_str(&clock(left));
        run.push_str(" left at most");
    }
    let tests = state
        .running
        .iter()
        .map(|test| ("Running", turn_state(test, now)));
    [("Exploring", run)].into_iter().chain(tests).collect()
}

/// A line for each test whose turn has lasted one more [`SLOW`] since its last line.
fn slow(reported: &mut BTreeMap<(usize, Instant), u32>, state: &RunState, now: Instant) -> String {
    let running: Vec<_> = state.running.iter().map(Running::turn).collect();
    reported.retain(|turn, _| running.contains(turn));
    let mut lines = String::new();
    for test in &state.running {
        let times = u32::try_from(test.elapsed(now).as_secs() / SLOW.as_secs()).unwrap_or(0);
        let reported = reported.entry(test.turn()).or_default();
        if times > *reported {
            *reported = times;
            lines += &status(NOTE, "Running", turn_state(test, now));
        }
    }
    lines
}

/// For example, `bank::t transfer (1m 05s, 20,000 schedules, bound 1, about 12 % explored)`.
fn turn_state(test: &Running, now: Instant) -> String {
    let mut parts = vec![clock(test.elapsed(now))];
    if test.schedules > 0 {
        parts.push(plural(test.schedules, "schedule"));
    }
    parts.extend(test.bound.map(|bound| format!("bound {bound}")));
    let percent = test.explored.map(|millionths| millionths / 10_000);
    parts.extend(percent.map(|percent| format!("about {percent} % explored")));
    format!("{} ({})", test.id, parts.join(", "))
}

/// For example, `5s` or `1m 05s`.
fn clock(time: Duration) -> String {
    match time.as_secs() {
        seconds @ 0..60 => format!("{seconds}s"),
        seconds => format!("{}m {:02}s", thousands(seconds / 60), seconds % 60),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::events::TestId;

    fn id(test: &str) -> TestId {
        TestId {
            package: "bank".into(),
            binary: "bank::t".into(),
            test: test.into(),
        }
    }

    fn state() -> RunState {
        let mut state = RunState::new(12, None);
        state.begin(0, &id("a"), 0);
        state.begin(1, &id("b"), 0);
        state.end(0, 700);
        state.begin(2, &id("c"), 1);
        state.advance(1, 20_000, Some(2), Some(123_456));
        state
    }

    #[test]
    fn the_lines_show_the_running_tests_and_their_progress() {
        let state = state();
        let now = Instant::now() + Duration::from_secs(65);
        let mut text = String::new();
        for (verb, rest) in lines(&state, now) {
            // The rate depends on the duration of this test.
            let rest = rest.split_once(" schedules/s").map_or(&*rest, |(left, _)| {
                left.rsplit_once(' ').expect("a number").0
            });
            text.extend([verb, " ", rest.trim_end(), "\n"]);
        }
        insta::assert_snapshot!(text, @r"
        Exploring 1/12 finished, 2 running, 9 waiting, round 2, 1m 05s,
        Running bank::t b (1m 05s, 20,000 schedules, bound 2, about 12 % explored)
        Running bank::t c (1m 05s)
        ");
    }

    #[test]
    fn a_slow_test_is_printed_every_half_minute() {
        let (state, mut reported) = (state(), BTreeMap::new());
        let start = Instant::now();
        let mut after = |seconds| {
            let lines = slow(&mut reported, &state, start + Duration::from_secs(seconds));
            lines.lines().count()
        };
        assert_eq!(
            [10, 31, 45, 59, 61, 62, 200].map(&mut after),
            [0, 2, 0, 0, 2, 0, 2]
        );
        let mut reported = BTreeMap::new();
        let lines = slow(&mut reported, &state, start + Duration::from_secs(31));
        insta::assert_snapshot!(anstream::adapter::strip_str(&lines), @r"
             Running bank::t b (31s, 20,000 schedules, bound 2, about 12 % explored)
             Running bank::t c (31s)
        ");
    }

    #[test]
    fn the_remaining_time_is_that_of_the_run_if_it_has_a_limit() {
        let mut state = RunState::new(2, Some(Duration::from_secs(100)));
        state.begin(0, &id("a"), 0);
        let now = Instant::now();
        let left = state.left(now + Duration::from_secs(30));
        let near = |left| (69..=70).contains(&Duration::as_secs(&left));
        assert!(left.is_some_and(near), "{left:?}");
    }
}
