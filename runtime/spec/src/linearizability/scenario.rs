//! The calls of each thread, as choices.

use super::Limits;
use crate::choose;
use crate::plain;

/// The source of choices: the search, or random numbers in a plain run.
pub(super) struct Choices(Option<u64>);

impl Choices {
    /// The choices of the search, or those of a plain run with this `seed`.
    pub(super) fn new(seed: u64) -> Self {
        let is_plain = !plain::is_explored();
        // The state must not be 0: from 0, xorshift generates only zeros.
        Self(is_plain.then(|| seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1))
    }

    /// A number below `count`.
    #[track_caller]
    fn below(&mut self, count: usize) -> usize {
        match &mut self.0 {
            None => choose(count),
            Some(state) => {
                // Xorshift (Marsaglia, JSS'03).
                *state ^= *state << 13;
                *state ^= *state >> 7;
                *state ^= *state << 17;
                (*state >> 33) as usize % count
            }
        }
    }
}

impl Choices {
    /// Chooses up to `most` calls, each of them a number below `count`.
    #[track_caller]
    fn calls(&mut self, most: usize, count: usize) -> Vec<usize> {
        let length = self.below(most + 1);
        let mut calls = Vec::new();
        for _ in 0..length {
            calls.push(self.below(count));
        }
        calls
    }
}

/// The calls of a scenario, as indices into the list of all calls.
pub(super) struct Scenario {
    pub(super) before: Vec<usize>,
    pub(super) threads: Vec<Vec<usize>>,
    pub(super) after: Vec<usize>,
}

impl Scenario {
    /// The number of calls of the scenario.
    pub(super) fn count(&self) -> usize {
        let threads = self.threads.iter().map(Vec::len).sum::<usize>();
        self.before.len() + threads + self.after.len()
    }

    /// Chooses a scenario. Its calls are numbers below `count`. Small scenarios come first. The
    /// threads are interchangeable, so only scenarios are chosen in which the programs of the
    /// threads are in ascending order.
    #[track_caller]
    pub(super) fn choose(limits: Limits, count: usize, choices: &mut Choices) -> Self {
        let programs = programs(limits.calls, count);
        let mut first = 0;
        let mut threads = Vec::new();
        for _ in 0..limits.threads {
            first += choices.below(programs.len() - first);
            threads.push(programs[first].clone());
        }
        Self {
            before: choices.calls(limits.before, count),
            after: choices.calls(limits.after, count),
            threads,
        }
    }
}

/// All sequences of one to `most` numbers below `count`, the short ones first.
fn programs(most: usize, count: usize) -> Vec<Vec<usize>> {
    let mut all: Vec<Vec<usize>> = Vec::new();
    let mut last = vec![Vec::new()];
    for _ in 0..most {
        let longer = last.iter().flat_map(|program: &Vec<usize>| {
            (0..count).map(move |call| {
                let mut program = program.clone();
                program.push(call);
                program
            })
        });
        last = longer.collect();
        all.extend_from_slice(&last);
    }
    all
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn short_programs_come_first_and_each_is_there_once() {
        let all = programs(2, 3);
        assert_eq!(all.len(), 3 + 9);
        assert_eq!(all[..4], [vec![0], vec![1], vec![2], vec![0, 0]]);
        let mut sorted = all.clone();
        sorted.sort();
        sorted.dedup();
        assert_eq!(sorted.len(), all.len());
    }

    #[test]
    fn plain_scenarios_keep_to_the_limits_and_differ() {
        let limits = Limits {
            threads: 3,
            calls: 2,
            before: 1,
            after: 2,
        };
        let mut lengths = Vec::new();
        for seed in 0..50 {
            let scenario = Scenario::choose(limits, 4, &mut Choices::new(seed));
            assert_eq!(scenario.threads.len(), 3);
            assert!(scenario.threads.iter().all(|it| [1, 2].contains(&it.len())));
            assert!(scenario.before.len() <= 1 && scenario.after.len() <= 2);
            lengths.push((scenario.before.len(), scenario.threads));
        }
        lengths.sort();
        lengths.dedup();
        assert!(lengths.len() > 20);
    }
}
