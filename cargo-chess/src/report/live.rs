//! The state of a run at this moment, for a progress line.

use crate::events::TestId;

/// Which tests run now, and how far they are.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Live {
    /// Tests selected.
    pub total: usize,
    /// Tests that have ended.
    pub ended: usize,
    /// Tests that run, the one begun first in front.
    pub running: Vec<Running>,
}

/// A test that runs.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Running {
    index: usize,
    /// Its identity.
    pub id: TestId,
    /// Schedules so far.
    pub schedules: u64,
    /// The preemption bound being explored.
    pub bound: Option<u32>,
    /// How much was explored, by the last estimate, in millionths: of a bound where one
    /// is finished first.
    pub explored: Option<u64>,
}

impl Live {
    /// Nothing has begun of `total` tests.
    pub fn new(total: usize) -> Self {
        Self {
            total,
            ..Self::default()
        }
    }

    pub(crate) fn begin(&mut self, index: usize, id: &TestId) {
        self.running.push(Running {
            index,
            id: id.clone(),
            schedules: 0,
            bound: None,
            explored: None,
        });
    }

    pub(crate) fn advance(
        &mut self,
        index: usize,
        schedules: u64,
        bound: Option<u32>,
        explored: Option<u64>,
    ) {
        if let Some(test) = self.running.iter_mut().find(|test| test.index == index) {
            test.schedules = schedules;
            test.bound = bound;
            test.explored = explored;
        }
    }

    pub(crate) fn end(&mut self, index: usize) {
        self.running.retain(|test| test.index != index);
        self.ended += 1;
    }
}
