//! The milestones of a test: the fixed numbers of schedules at which its progress is printed.
//!
//! A test binary reports its progress at times that depend on the clock. If its reports were
//! printed, two runs of the same test would print different events. The milestones are the same in
//! each run.

use crate::protocol::Milestone;

/// The number of schedules between two milestones.
const EVERY: u64 = 10_000;

/// The printed milestones of a test.
#[derive(Default)]
pub(super) struct Milestones {
    printed: u64,
}

impl Milestones {
    /// Returns the milestones up to `schedules` that were not printed yet, each with its number of
    /// schedules. Counts them as printed. `known` has all milestones that the search has reported.
    pub(super) fn passed(&mut self, schedules: u64, known: &[Milestone]) -> Vec<(u64, Milestone)> {
        let first = usize::try_from(self.printed / EVERY).unwrap_or(usize::MAX);
        let mut passed = Vec::new();
        // A running process may have counted the schedules of a milestone that it has not reported
        // yet.
        for milestone in known.get(first..).unwrap_or_default() {
            if self.printed + EVERY > schedules {
                break;
            }
            self.printed += EVERY;
            passed.push((self.printed, *milestone));
        }
        passed
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn milestones_do_not_depend_on_when_progress_is_reported() {
        let milestone = |bound, explored| Milestone {
            bound: Some(bound),
            explored,
        };
        let known = [
            milestone(1, Some(2500)),
            milestone(1, Some(5000)),
            milestone(2, None),
        ];
        let mut often = Milestones::default();
        let mut all = Vec::new();
        for (schedules, count) in [
            (3, 0),
            (9_999, 0),
            (10_000, 0),
            (10_001, 1),
            (19_000, 1),
            (25_000, 2),
            (30_000, 2),
            (35_000, 3),
        ] {
            all.extend(often.passed(schedules, &known[..count]));
        }
        assert_eq!(all, Milestones::default().passed(35_000, &known));
        let numbered = [(10_000, known[0]), (20_000, known[1]), (30_000, known[2])];
        assert_eq!(all, numbered);
    }

    #[test]
    fn a_milestone_that_is_not_known_yet_is_not_made_up() {
        assert_eq!(Milestones::default().passed(10_000, &[]), []);
    }
}
