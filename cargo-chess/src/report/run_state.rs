//! The current state of a run, for the redrawn lines on a terminal.

use std::time::{Duration, Instant};

use crate::events::TestId;

/// The running tests and their progress.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct RunState {
    /// The number of selected tests.
    pub total: usize,
    /// The number of tests with a final verdict.
    pub ended: usize,
    /// The running tests, in the order in which their turns began.
    pub running: Vec<Running>,
    /// The start of the run.
    start: Instant,
    /// The number of the round, from 0.
    round: usize,
    /// The longest duration of the run, if there is a limit.
    time_total: Option<Duration>,
    /// The number of schedules of each test so far.
    schedules: Vec<u64>,
}

/// A test that runs.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Running {
    index: usize,
    /// The identity of the test.
    pub id: TestId,
    /// The number of the test's schedules so far.
    pub schedules: u64,
    /// The preemption bound being explored.
    pub bound: Option<u32>,
    /// The explored share at the last milestone, in millionths. It is a share of the schedules of
    /// that milestone's bound. If the milestone has no bound, it is a share of all schedules.
    pub explored: Option<u64>,
    /// The start of the test's turn.
    since: Instant,
}

impl RunState {
    /// The state before the first of `total` tests. `time_total` is the time limit of all tests
    /// together.
    pub(crate) fn new(total: usize, time_total: Option<Duration>) -> Self {
        Self {
            total,
            ended: 0,
            running: Vec::new(),
            start: Instant::now(),
            round: 0,
            time_total,
            schedules: vec![0; total],
        }
    }

    /// The number of tests that wait for a turn.
    pub(super) fn waiting(&self) -> usize {
        (self.total - self.ended).saturating_sub(self.running.len())
    }

    /// The number of the round, from 1.
    pub(super) fn round(&self) -> usize {
        self.round + 1
    }

    /// The duration of the run so far.
    pub(super) fn elapsed(&self, now: Instant) -> Duration {
        now.saturating_duration_since(self.start)
    }

    /// The remaining time of the run until its limit; `None` without a limit.
    pub(super) fn left(&self, now: Instant) -> Option<Duration> {
        let total = self.time_total?;
        Some(total.saturating_sub(self.elapsed(now)))
    }

    /// The average number of schedules per second, of all tests together.
    pub(super) fn rate(&self, now: Instant) -> u64 {
        let millis = self.elapsed(now).as_millis().max(1);
        let schedules = u128::from(self.schedules.iter().sum::<u64>());
        u64::try_from(schedules * 1000 / millis).unwrap_or(u64::MAX)
    }

    pub(crate) fn begin(&mut self, index: usize, id: &TestId, round: usize) {
        self.round = round;
        self.running.push(Running {
            index,
            id: id.clone(),
            schedules: self.schedules[index],
            bound: None,
            explored: None,
            since: Instant::now(),
        });
    }

    pub(crate) fn advance(
        &mut self,
        index: usize,
        schedules: u64,
        bound: Option<u32>,
        explored: Option<u64>,
    ) {
        self.schedules[index] = schedules;
        if let Some(test) = self.running.iter_mut().find(|test| test.index == index) {
            test.schedules = schedules;
            test.bound = bound;
            test.explored = explored;
        }
    }

    pub(crate) fn pause(&mut self, index: usize, schedules: u64) {
        self.schedules[index] = schedules;
        self.running.retain(|test| test.index != index);
    }

    pub(crate) fn end(&mut self, index: usize, schedules: u64) {
        self.pause(index, schedules);
        self.ended += 1;
    }
}

impl Running {
    /// The index of the test, and the start of the turn. Together they identify the turn.
    pub(super) fn turn(&self) -> (usize, Instant) {
        (self.index, self.since)
    }

    /// The duration of the test's turn so far.
    pub(super) fn elapsed(&self, now: Instant) -> Duration {
        now.saturating_duration_since(self.since)
    }
}
