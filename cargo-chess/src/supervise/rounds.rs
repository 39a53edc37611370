//! The rounds of a run: a short look at every test, then rounds of growing size.
//!
//! The tests of a round and their order depend on findings and on budgets of work. They do not
//! depend on the number of tests that run at once. They depend on time only if the run has a time
//! limit, or if a test takes fifty times as long as is usual for its work. The turn of such a test
//! ends early, and the next round continues its search.

use std::cmp::Reverse;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use serde::{Deserialize, Serialize};

use super::pool::Turn;
use super::request::Pause;
use super::test_process::Verdict;
use crate::config::Exploration;
use crate::events::Stop;
use crate::protocol::Finished;

/// The moment at which the first round pauses a test.
///
/// The work takes some 40 ms of a usual processor. In this time, a search runs thousands of
/// executions of a dozen steps, or dozens of executions of thousands of steps. The start of a
/// test's process takes some 5 ms. The time limits tests that compute or copy much between their
/// steps, because work does not count this. Without the time, the looks at some tests of
/// `ipc-channel` would take a minute each.
const LOOK: Pause = Pause {
    work: 400_000,
    time: Duration::from_secs(2),
};

/// The moment at which the search that preempts only at changed lines ends. This search runs before
/// the first round's search of the test.
pub(super) const CHANGED: Pause = Pause {
    work: 4 * LOOK.work,
    time: Duration::from_secs(8),
};

/// The factor between the work and the time at the pauses of a round and those of the previous
/// round. With this factor, the third round after the look reaches the end of the default budget. A
/// search that has to begin anew in each round does a third more work.
const GROWTH: u32 = 4;

/// The lowest time limit of a slice, even if no time is left. A limit of zero would mean no limit.
const LEAST: Duration = Duration::from_millis(1);

/// The progress of a search at a pause. It determines the rank of the test in the next round.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub(super) struct Look {
    /// The largest finished preemption bound.
    bound: Option<u32>,
    /// The explored share of the next bound, in millionths, by the last estimate.
    explored: Option<u64>,
}

impl Look {
    pub(super) fn of(finished: &Finished) -> Self {
        Self {
            bound: finished.bound_completed,
            explored: finished.milestones.last().and_then(|last| last.explored),
        }
    }

    /// The rank among the tests of a round. The tests with the largest finished bounds come first,
    /// and among these the tests that have explored most of the next bound. The tests that have
    /// finished the bound `preemptions` come last: they only use up their budget.
    fn rank(self, preemptions: u32) -> impl Ord {
        let is_done = self.bound.is_some_and(|bound| bound >= preemptions);
        (is_done, Reverse(self.bound), Reverse(self.explored))
    }
}

/// The progress of a test through the rounds.
enum State {
    /// The test was neither paused nor reported.
    Waiting,
    /// The test was paused. Contains the number of the round of the last pause, the progress at
    /// this pause, and the verdict so far.
    Paused(usize, Look, Box<Verdict>),
    /// The verdict on the test was reported.
    Reported,
}

/// The tests of a run, and their progress through its rounds.
pub(super) struct Rounds<'a> {
    explorations: &'a [Exploration],
    /// The number of finished rounds.
    round: usize,
    /// Whether there is only one round, which explores everything.
    is_single: bool,
    states: Vec<State>,
}

impl<'a> Rounds<'a> {
    /// Creates the rounds of tests with these options. A single test needs no rounds.
    pub(super) fn new(explorations: &'a [Exploration]) -> Self {
        Self {
            explorations,
            round: 0,
            is_single: explorations.len() == 1,
            states: explorations.iter().map(|_| State::Waiting).collect(),
        }
    }

    /// The number of this round, from 0.
    pub(super) fn round(&self) -> usize {
        self.round
    }

    /// The moment at which a search pauses in this round; `None` if it runs to its end. A search
    /// whose budget ends earlier does not pause.
    pub(super) fn pause(&self) -> Option<Pause> {
        let exponent = u32::try_from(self.round).unwrap_or(u32::MAX);
        let by = GROWTH.checked_pow(exponent).filter(|_| !self.is_single)?;
        Some(Pause {
            work: LOOK.work.checked_mul(by.into())?,
            time: LOOK.time.checked_mul(by)?,
        })
    }

    /// The tests of this round in their order.
    pub(super) fn turns(&self) -> Vec<Turn> {
        let mut open: Vec<usize> = (0..self.states.len())
            .filter(|test| !matches!(self.states[*test], State::Reported))
            .collect();
        open.sort_by_key(|test| match &self.states[*test] {
            State::Paused(_, look, _) => Some(look.rank(self.explorations[*test].preemptions)),
            State::Waiting | State::Reported => None,
        });
        let turn = |test| Turn {
            test,
            is_last: self.pause().is_none(),
        };
        open.into_iter().map(turn).collect()
    }

    /// Begins the next round, after all tests of this round had their turn.
    pub(super) fn next(&mut self) {
        self.round += 1;
    }

    /// Records the pause of a test.
    pub(super) fn paused(&mut self, test: usize, look: Look, so_far: Verdict) {
        let is_longer =
            |known: &Verdict| known.finished.counts.schedules > so_far.finished.counts.schedules;
        match &self.states[test] {
            // The earlier verdict stays: the state of the search could not be saved, and the time
            // ended before the search reached the earlier number of schedules again.
            State::Paused(.., known) if is_longer(known) => {}
            _ => self.states[test] = State::Paused(self.round, look, Box::new(so_far)),
        }
    }

    /// Records that the verdict on a test was reported.
    pub(super) fn mark_reported(&mut self, test: usize) {
        self.states[test] = State::Reported;
    }

    /// Ends the rounds. Returns the tests that were explored and not reported, each with its
    /// verdict so far, and with the last stage that it finished. The stage is `None` if the
    /// verdict is final.
    pub(super) fn stopped(&mut self) -> Vec<(usize, Verdict, Option<Stop>)> {
        let mut stopped = Vec::new();
        for (test, state) in self.states.iter_mut().enumerate() {
            match std::mem::replace(state, State::Reported) {
                State::Paused(round, _, verdict) => {
                    let stop = if round == 0 { Stop::Look } else { Stop::Round };
                    let stop = verdict.finished.paused.then_some(stop);
                    stopped.push((test, *verdict, stop));
                }
                other => *state = other,
            }
        }
        stopped
    }
}

/// The remaining time of all tests together.
pub(super) struct Clock {
    ends: Option<Instant>,
    /// Whether a test process has reported the end of the time.
    has_ended: AtomicBool,
}

/// The time limit of a slice of a test's search.
#[derive(Clone, Copy)]
pub(super) struct Time {
    /// The time limit of the slice, if there is one.
    pub(super) limit: Option<Duration>,
    /// Whether the limit is the run's, and not the test's own.
    pub(super) is_of_run: bool,
}

impl Clock {
    /// Starts the clock. `total` is the time limit of the run, if there is one.
    pub(super) fn start(total: Option<Duration>) -> Self {
        Self {
            ends: total.map(|total| Instant::now() + total),
            has_ended: AtomicBool::new(false),
        }
    }

    /// Records that a test process has used up the rest of the time.
    pub(super) fn end(&self) {
        self.has_ended.store(true, Ordering::Relaxed);
    }

    /// Whether no time is left.
    pub(super) fn is_over(&self) -> bool {
        self.has_ended.load(Ordering::Relaxed)
            || self.ends.is_some_and(|ends| ends <= Instant::now())
    }

    /// The time limit of the next slice of a test. `own` is the limit of the test, and `spent` the
    /// time of its earlier slices. The limit of the run does not apply to a look (the slice of the
    /// first round). A look has its own limits of work and time.
    pub(super) fn slice(&self, own: Option<Duration>, spent: Duration, is_look: bool) -> Time {
        let left = |ends: Instant| ends.saturating_duration_since(Instant::now()).max(LEAST);
        let rest = self.ends.filter(|_| !is_look).map(left);
        let own = own.map(|own| own.saturating_sub(spent).max(LEAST));
        let is_of_run = rest.is_some_and(|rest| own.is_none_or(|own| rest < own));
        Time {
            limit: if is_of_run { rest } else { own },
            is_of_run,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::Layer;
    use crate::events::Outcome;

    fn look(bound: Option<u32>, explored: Option<u64>) -> Look {
        Look { bound, explored }
    }

    fn so_far() -> Verdict {
        Verdict {
            finished: Finished {
                paused: true,
                ..Finished::new(Outcome::Passed)
            },
            stderr: String::new(),
            duration: Duration::ZERO,
        }
    }

    fn order(rounds: &Rounds<'_>) -> Vec<usize> {
        rounds.turns().iter().map(|turn| turn.test).collect()
    }

    #[test]
    fn a_round_has_those_first_that_lack_least_of_their_bound() {
        let explorations = vec![Layer::default().resolve(); 6];
        let mut rounds = Rounds::new(&explorations);
        assert_eq!(order(&rounds), [0, 1, 2, 3, 4, 5]);
        rounds.paused(0, look(Some(2), None), so_far());
        rounds.paused(1, look(None, None), so_far());
        rounds.paused(2, look(Some(1), Some(100)), so_far());
        rounds.mark_reported(3);
        rounds.paused(4, look(Some(1), Some(200)), so_far());
        rounds.paused(5, look(Some(1), Some(100)), so_far());
        rounds.next();
        assert_eq!(order(&rounds), [4, 2, 5, 1, 0]);
        let stopped = rounds.stopped();
        let tests: Vec<usize> = stopped.iter().map(|(test, ..)| *test).collect();
        assert_eq!(tests, [0, 1, 2, 4, 5]);
        assert!(stopped.iter().all(|(_, _, stop)| *stop == Some(Stop::Look)));
        assert_eq!(rounds.turns(), []);
    }

    #[test]
    fn each_round_pauses_at_four_times_as_much_until_all_goes_to_its_end() {
        let explorations = vec![Layer::default().resolve(); 2];
        let mut rounds = Rounds::new(&explorations);
        let mut pauses = Vec::new();
        while let Some(pause) = rounds.pause() {
            pauses.push(pause);
            rounds.next();
        }
        let work: Vec<u64> = pauses.iter().map(|pause| pause.work).collect();
        let time: Vec<Duration> = pauses.iter().map(|pause| pause.time).collect();
        assert_eq!((work[0], time[0]), (LOOK.work, LOOK.time));
        assert!(work.windows(2).all(|two| two[1] == 4 * two[0]));
        assert!(time.windows(2).all(|two| two[1] == 4 * two[0]));
        assert!(rounds.turns()[0].is_last);
    }

    #[test]
    fn one_test_alone_is_explored_at_once() {
        let explorations = [Layer::default().resolve()];
        assert_eq!(Rounds::new(&explorations).pause(), None);
    }

    #[test]
    fn a_slice_has_the_time_that_is_left_of_the_tests_or_the_runs() {
        let seconds = Duration::from_secs;
        let slice = |total: Option<Duration>, own, spent, is_look| {
            Clock::start(total).slice(own, spent, is_look)
        };
        let free = slice(None, None, seconds(9), false);
        assert_eq!((free.limit, free.is_of_run), (None, false));
        let own = slice(Some(seconds(1000)), Some(seconds(5)), seconds(2), false);
        assert_eq!((own.limit, own.is_of_run), (Some(seconds(3)), false));
        let of_run = slice(Some(seconds(1000)), Some(seconds(5000)), seconds(2), false);
        assert!(of_run.is_of_run && of_run.limit <= Some(seconds(1000)));
        let used_up = slice(Some(Duration::ZERO), None, seconds(1), false);
        assert_eq!((used_up.limit, used_up.is_of_run), (Some(LEAST), true));
        let look = slice(Some(Duration::ZERO), None, Duration::ZERO, true);
        assert_eq!(look.limit, None);
        assert!(Clock::start(Some(Duration::ZERO)).is_over());
        assert!(!Clock::start(None).is_over());
    }
}
