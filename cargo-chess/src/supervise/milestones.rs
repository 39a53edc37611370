//! When a test's progress is told: at fixed numbers of schedules.
//!
//! Test binaries tell of their progress by the clock; two runs of the same test
//! shall print the same events.

/// Schedules between two events.
const EVERY: u64 = 10_000;

/// What is told of a test on its way.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(super) struct Milestone {
    /// Schedules so far.
    pub(super) schedules: u64,
    /// The bound that they lie in, if there is one.
    pub(super) bound: Option<u32>,
    /// Which part of the space they are, if it can be estimated.
    pub(super) explored: Option<f64>,
}

/// The milestones of a test that were told.
#[derive(Default)]
pub(super) struct Milestones {
    told: u64,
}

impl Milestones {
    /// The milestones reached with `schedules` and not told yet. `bound_starts` says
    /// how many schedules were explored before each bound, `explored` how many
    /// millionths of the space at each milestone that is known of.
    pub(super) fn passed(
        &mut self,
        schedules: u64,
        bound_starts: &[u64],
        explored: &[Option<u64>],
    ) -> Vec<Milestone> {
        let mut passed = Vec::new();
        // A process that is being listened to may have counted a schedule, and not yet
        // said what part of the space that makes.
        let known = explored.len() as u64 * EVERY;
        while self.told + EVERY <= schedules.min(known) {
            self.told += EVERY;
            let begun = bound_starts
                .iter()
                .filter(|start| **start < self.told)
                .count();
            let bound = begun.checked_sub(1).and_then(|bound| bound.try_into().ok());
            #[expect(clippy::cast_precision_loss, reason = "at most a million")]
            let part = |millionths: u64| millionths as f64 / 1e6;
            let place = usize::try_from(self.told / EVERY - 1).unwrap_or(usize::MAX);
            passed.push(Milestone {
                schedules: self.told,
                bound,
                explored: explored.get(place).copied().flatten().map(part),
            });
        }
        passed
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn milestones_do_not_depend_on_when_progress_is_heard_of() {
        let starts = [0, 1, 20_000];
        let mut often = Milestones::default();
        let mut all = Vec::new();
        for (schedules, parts) in [
            (3, 0),
            (9_999, 0),
            (10_000, 0),
            (10_001, 1),
            (19_000, 1),
            (25_000, 2),
            (30_000, 2),
            (35_000, 3),
        ] {
            let known = starts.iter().copied().filter(|start| *start < schedules);
            let parts = &[Some(2500), Some(5000), None][..parts];
            all.extend(often.passed(schedules, &known.collect::<Vec<_>>(), parts));
        }
        let mut once = Milestones::default();
        assert_eq!(
            all,
            once.passed(35_000, &starts, &[Some(2500), Some(5000), None])
        );
        let milestone = |schedules, bound, explored| Milestone {
            schedules,
            bound: Some(bound),
            explored,
        };
        assert_eq!(
            all,
            [
                milestone(10_000, 1, Some(0.0025)),
                milestone(20_000, 1, Some(0.005)),
                milestone(30_000, 2, None)
            ]
        );
    }

    #[test]
    fn an_unknown_bound_or_part_is_not_made_up() {
        let unknown = Milestone {
            schedules: 10_000,
            bound: None,
            explored: None,
        };
        assert_eq!(
            Milestones::default().passed(10_000, &[], &[None]),
            [unknown]
        );
        assert_eq!(Milestones::default().passed(10_000, &[], &[]), []);
    }
}
