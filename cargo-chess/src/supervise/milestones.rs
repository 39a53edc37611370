//! When a test's progress is told: at fixed numbers of schedules.
//!
//! Test binaries tell of their progress by the clock; two runs of the same test
//! shall print the same events.

/// Schedules between two events.
const EVERY: u64 = 10_000;

/// The milestones of a test that were told.
#[derive(Default)]
pub(super) struct Milestones {
    told: u64,
}

impl Milestones {
    /// The milestones reached with `schedules` and not told yet, each with the
    /// bound that it lies in, if `bound_starts` says how many schedules were
    /// explored before each bound.
    pub(super) fn passed(
        &mut self,
        schedules: u64,
        bound_starts: &[u64],
    ) -> Vec<(u64, Option<u32>)> {
        let mut passed = Vec::new();
        while self.told + EVERY <= schedules {
            self.told += EVERY;
            let begun = bound_starts
                .iter()
                .filter(|start| **start < self.told)
                .count();
            let bound = begun.checked_sub(1).and_then(|bound| bound.try_into().ok());
            passed.push((self.told, bound));
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
        for schedules in [3, 9_999, 10_000, 10_001, 19_000, 25_000, 35_000] {
            let known = starts.iter().copied().filter(|start| *start < schedules);
            all.extend(often.passed(schedules, &known.collect::<Vec<_>>()));
        }
        let mut once = Milestones::default();
        assert_eq!(all, once.passed(35_000, &starts));
        assert_eq!(
            all,
            [(10_000, Some(1)), (20_000, Some(1)), (30_000, Some(2))]
        );
    }

    #[test]
    fn an_unknown_bound_is_not_made_up() {
        assert_eq!(Milestones::default().passed(10_000, &[]), [(10_000, None)]);
    }
}
