//! A search of all interleavings of a program, in ascending order of preemptions.

use std::collections::{BTreeMap, HashSet};

use super::Program;
use super::compile::compile;
use super::machine::State;

/// The possible outcomes of a program, each with its smallest number of preemptions.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Outcomes {
    /// The outcomes in which all tasks end.
    pub ends: BTreeMap<String, usize>,
    /// The smallest number of preemptions of a deadlock, or `None` if no deadlock is possible. In
    /// a deadlock, no task is enabled, and some task has not ended.
    pub deadlock: Option<usize>,
}

impl Outcomes {
    /// Returns the outcomes with at most `bound` preemptions.
    #[must_use]
    pub fn up_to(&self, bound: usize) -> Self {
        let ends = self.ends.iter().filter(|(_, fewest)| **fewest <= bound);
        Self {
            ends: ends.map(|(end, fewest)| (end.clone(), *fewest)).collect(),
            deadlock: self.deadlock.filter(|fewest| *fewest <= bound),
        }
    }

    /// Returns the highest number of preemptions that an outcome needs.
    pub fn deepest(&self) -> usize {
        let ends = self.ends.values().copied();
        ends.chain(self.deadlock).max().unwrap_or_default()
    }
}

/// Returns the possible outcomes of `program`, or `None` if it has more than `limit` states.
///
/// A preemption is a switch away from an enabled task. A switch away from a task that waits or has
/// ended is free.
pub fn enumerate(program: &Program, limit: usize) -> Option<Outcomes> {
    let steps = compile(program);
    let mut outcomes = Outcomes::default();
    let mut visited = HashSet::new();
    let mut level = vec![State::first(program, &steps)];
    let mut preemptions = 0;
    while !level.is_empty() {
        let mut beyond = Vec::new();
        while let Some(state) = level.pop() {
            if visited.contains(&state) {
                continue;
            }
            let tasks = 0..program.tasks.len();
            let enabled: Vec<usize> = tasks
                .filter(|task| state.is_enabled(&steps, *task))
                .collect();
            if enabled.is_empty() {
                if state.has_ended() {
                    let end = state.outcome(program);
                    outcomes.ends.entry(end).or_insert(preemptions);
                } else {
                    outcomes.deadlock.get_or_insert(preemptions);
                }
            }
            let is_current_enabled = enabled.contains(&state.current);
            for task in enabled {
                let preempts = is_current_enabled && task != state.current;
                let next = if preempts { &mut beyond } else { &mut level };
                next.extend(state.after(&steps, task));
            }
            visited.insert(state);
            if visited.len() > limit {
                return None;
            }
        }
        level = beyond;
        preemptions += 1;
    }
    Some(outcomes)
}
