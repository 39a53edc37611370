//! The results of all trials of a strategy, by program.

use crate::programs::{Program, Published, TRIALS};
use crate::trial::Verdict;

/// The trials of one strategy.
pub(crate) struct Results {
    /// The name of the strategy.
    pub(crate) strategy: String,
    /// The number of schedules to the first failure of each trial of each program. `None` if the
    /// trial found no failure.
    trials: Vec<Vec<Option<u64>>>,
    /// Descriptions of the failures of an unexpected kind.
    pub(crate) remarks: Vec<String>,
}

/// The number of trials of a program, the number of trials that found its bug, and the mean number
/// of schedules to the bug.
#[derive(Clone, Copy)]
pub(crate) struct Score {
    pub(crate) trials: usize,
    pub(crate) found: usize,
    /// The mean over the trials that found the bug, rounded.
    pub(crate) schedules: u64,
}

impl Results {
    pub(crate) fn new(strategy: &str, programs: usize) -> Self {
        Self {
            strategy: strategy.to_owned(),
            trials: vec![Vec::new(); programs],
            remarks: Vec::new(),
        }
    }

    pub(crate) fn add(&mut self, programs: &[Program], verdicts: Vec<Verdict>) {
        for verdict in verdicts {
            let program = &programs[verdict.program];
            self.trials[verdict.program].push(verdict.found_after);
            if let Some(kind) = verdict.other_kind {
                let (strategy, name) = (&self.strategy, &program.name);
                let expected = &program.kind;
                let remark = format!("{strategy}, {name}: {kind} instead of {expected}");
                if !self.remarks.contains(&remark) {
                    self.remarks.push(remark);
                }
            }
        }
    }

    /// Returns the score of the program with the index `program`, or `None` if it has no trials.
    pub(crate) fn score(&self, program: usize) -> Option<Score> {
        let trials = &self.trials[program];
        let found: Vec<u64> = trials.iter().flatten().copied().collect();
        let number = u64::try_from(found.len()).expect("a count");
        (!trials.is_empty()).then(|| Score {
            trials: trials.len(),
            found: found.len(),
            schedules: (found.iter().sum::<u64>() + number / 2) / number.max(1),
        })
    }
}

impl From<Published> for Score {
    fn from(published: Published) -> Self {
        Self {
            trials: TRIALS,
            found: published.found,
            schedules: published.schedules,
        }
    }
}

/// The numbers of bugs that a strategy found in a set of programs.
#[derive(Clone, Copy, Default)]
pub(crate) struct Total {
    pub(crate) programs: usize,
    /// The number of bugs that at least one trial found.
    pub(crate) ever: usize,
    /// The mean number of bugs per trial.
    pub(crate) mean: f64,
}

impl Total {
    /// Returns the total of all `scores` that are not `None`.
    pub(crate) fn of(scores: impl Iterator<Item = Option<Score>>) -> Self {
        scores.flatten().fold(Self::default(), |total, score| {
            let [found, trials] = [score.found, score.trials]
                .map(|count| f64::from(u32::try_from(count).expect("a count")));
            Self {
                programs: total.programs + 1,
                ever: total.ever + usize::from(score.found > 0),
                mean: total.mean + found / trials,
            }
        })
    }
}
