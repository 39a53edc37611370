//! Vector clocks of the steps of a trace.

use crate::base::memory::{EngineVec, engine_vec};

/// Four numbers of a clock, whose length is a multiple of [`LANE`].
type Lane = [u32; 4];
const LANE: usize = 4;

/// The index of the first number of a clock in [`Clocks::lanes`].
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default)]
pub(super) struct Clock(u32);

/// Vector clocks. A clock covers the steps that happened before a step. The entry of a task is the
/// length of the shortest prefix of the trace that contains the covered steps of this task. A
/// clock covers all steps of its own task, so that these steps share one clock until they
/// synchronize with another task.
pub(super) struct Clocks {
    /// All clocks, one after another.
    lanes: EngineVec<Lane>,
    /// The number of lanes of each clock.
    width: usize,
}

/// The entry of a task all of whose steps are covered.
const ALL: u32 = u32::MAX;

impl Clocks {
    pub(super) const fn new() -> Self {
        Self {
            lanes: engine_vec(),
            width: 0,
        }
    }

    /// Removes the clocks that are newer than this one.
    #[inline]
    pub(super) fn forget_after(&mut self, newest: Clock) {
        self.lanes.truncate(newest.0 as usize / LANE + self.width);
    }

    /// The start of the next clock.
    #[inline]
    fn end(&self) -> Clock {
        Clock((self.lanes.len() * LANE) as u32)
    }

    /// Whether `clock` covers `step`, which is a step of `task`.
    #[inline]
    pub(super) fn knows(&self, clock: Clock, task: u32, step: u32) -> bool {
        self.lanes.as_flattened()[clock.0 as usize + task as usize] > step
    }

    /// The length of the shortest prefix of the trace that contains all steps of tasks other than
    /// `task` that `clock` covers.
    pub(super) fn latest_but(&self, clock: Clock, task: u32) -> u32 {
        let all = &self.lanes.as_flattened()[clock.0 as usize..][..self.width * LANE];
        let others = all
            .iter()
            .enumerate()
            .filter(|(of, _)| *of != task as usize);
        others.map(|(_, steps)| *steps).max().unwrap_or(0)
    }

    /// Adds a clock that covers only the steps of `task`. There must be [room](Self::make_room)
    /// for this task.
    #[inline]
    pub(super) fn begin(&mut self, task: u32) -> Clock {
        let clock = self.end();
        for _ in 0..self.width {
            self.lanes.push([0; LANE]);
        }
        self.lanes.as_flattened_mut()[clock.0 as usize + task as usize] = ALL;
        clock
    }

    /// Adds a clock that covers the steps of `one` and those of `other`.
    #[inline]
    pub(super) fn of_both(&mut self, one: Clock, other: Clock) -> Clock {
        let both = self.end();
        let [mut one, mut other] = [one, other].map(|clock| clock.0 as usize / LANE);
        // Most clocks have one lane.
        loop {
            let latest = latest(self.lanes[one], self.lanes[other]);
            self.lanes.push(latest);
            if self.lanes.len() == both.0 as usize / LANE + self.width {
                return both;
            }
            one += 1;
            other += 1;
        }
    }

    /// Adds the steps that `other` covers to `clock`.
    #[inline]
    pub(super) fn join(&mut self, clock: Clock, other: Clock) {
        let [own, other] = [clock, other].map(|clock| clock.0 as usize / LANE);
        for lane in 0..self.width {
            self.lanes[own + lane] = latest(self.lanes[own + lane], self.lanes[other + lane]);
        }
    }

    /// Makes `clock` cover the steps of `task` up to `step`, and no later steps of `task`.
    #[inline]
    pub(super) fn note(&mut self, clock: Clock, task: u32, step: u32) {
        self.lanes.as_flattened_mut()[clock.0 as usize + task as usize] = step + 1;
    }

    /// Makes room for `tasks` tasks. This may move all clocks. `clocks` are the clocks in use,
    /// which are updated.
    pub(super) fn make_room<'a>(
        &mut self,
        tasks: usize,
        clocks: impl Iterator<Item = &'a mut Clock>,
    ) {
        let (old, needed) = (self.width, tasks.div_ceil(LANE));
        if needed <= old {
            return;
        }
        // A test may spawn thousands of tasks, one after another. The room grows by half each time,
        // so that all clocks are moved a few times only, and not with every fourth task.
        let new = needed.max(old + old / 2);
        let mut wider = engine_vec();
        for clock in self.lanes.chunks(old.max(1)) {
            wider.extend_from_slice(clock);
            wider.resize(wider.len() + new - old, [0; LANE]);
        }
        for clock in clocks {
            clock.0 = clock.0 / old as u32 * new as u32;
        }
        (self.lanes, self.width) = (wider, new);
    }
}

#[inline]
fn latest(one: Lane, other: Lane) -> Lane {
    core::array::from_fn(|task| one[task].max(other[task]))
}

#[cfg(test)]
mod tests {
    use super::{Clock, Clocks};

    #[test]
    fn clocks_move_rarely_and_keep_their_contents() {
        let mut clocks = Clocks::new();
        let mut all: Vec<Clock> = Vec::new();
        let mut moves = 0;
        for task in 0..2_000 {
            let width = clocks.width;
            clocks.make_room(task as usize + 1, all.iter_mut());
            moves += usize::from(clocks.width != width);
            assert!(clocks.width * super::LANE > task as usize);
            let own = clocks.begin(task);
            clocks.note(own, task / 2, task);
            all.push(own);
        }
        assert!(moves < 20, "{moves}");
        for (clock, task) in all.iter().zip(0..) {
            assert!(clocks.knows(*clock, task / 2, task));
            assert!(!clocks.knows(*clock, task / 2, task + 1) || task / 2 == task);
            assert_eq!(
                clocks.latest_but(*clock, task / 2),
                if task == 0 { 0 } else { u32::MAX }
            );
        }
    }

    #[test]
    fn small_tests_have_no_room_to_spare() {
        for tasks in 1..=12 {
            let mut clocks = Clocks::new();
            (1..=tasks).for_each(|tasks| clocks.make_room(tasks, [].iter_mut()));
            assert_eq!(clocks.width, tasks.div_ceil(super::LANE));
        }
    }
}
