//! `icb`: iterative context bounding (Musuvathi and Qadeer, PLDI'07).
//!
//! Every schedule with `c` preemptions is explored before any with `c + 1`, so the
//! first failure has the fewest preemptions, and a finished bound is a guarantee.
//!
//! A schedule is named by its deviations from the default one, which continues
//! the current task and takes the first option where that is impossible. The
//! children of an execution are its deviations plus one more, later than all of
//! them: so each schedule is run exactly once. Free deviations (the current task
//! blocked or yielded) are explored depth first within the bound, those that
//! preempt wait for the next bound, in order.

use super::{ChoicePoint, Progress, SchedulingPoint, Strategy};
use crate::platform::memory::{EngineVec, engine_vec};

/// One decision that is not the default one.
#[derive(Clone, Copy)]
struct Deviation {
    index: u32,
    /// The option's place, or the operation's outcome.
    choice: u32,
    /// The hash of what led to this decision when it was found.
    prefix: u64,
}

/// A schedule that was or will be run: its last deviation, after those of its
/// parent. All schedules are one tree, so that each costs a few bytes.
#[derive(Clone, Copy)]
struct Node {
    parent: u32,
    deviation: Deviation,
}

/// The schedule without deviations: every tree's root.
const DEFAULT: u32 = u32::MAX;

/// A decision after the last deviation of the current execution.
#[derive(Clone, Copy)]
struct Alternatives {
    index: u32,
    count: u32,
    /// So many of the first choices cost nothing.
    free: u32,
    prefix: u64,
}

/// The search, up to a largest preemption bound.
pub(crate) struct Icb {
    largest_bound: u32,
    bound: u32,
    completed: Option<u32>,
    nodes: EngineVec<Node>,
    /// Schedules of this bound, the next one last.
    now: EngineVec<u32>,
    /// Schedules of the next bound, in order.
    next: EngineVec<u32>,
    /// How many schedules of the next bound are worth keeping: the budget.
    keep: usize,
    /// The least bound of which schedules were dropped: it cannot be finished.
    dropped: Option<u32>,
    /// A schedule beyond the largest bound exists.
    beyond: bool,
    /// The schedule that is running, and its deviations.
    running: u32,
    current: EngineVec<Deviation>,
    followed: usize,
    found: EngineVec<Alternatives>,
    diverged: bool,
    started: bool,
}

impl Icb {
    /// A search up to `largest_bound` preemptions that will run at most
    /// `budget` executions.
    pub(crate) fn new(largest_bound: u32, budget: u64) -> Self {
        Self {
            largest_bound,
            bound: 0,
            completed: None,
            nodes: engine_vec(),
            now: engine_vec(),
            next: engine_vec(),
            keep: usize::try_from(budget).unwrap_or(usize::MAX),
            dropped: None,
            beyond: false,
            running: DEFAULT,
            current: engine_vec(),
            followed: 0,
            found: engine_vec(),
            diverged: false,
            started: false,
        }
    }

    /// The prescribed choice at this decision, or 0 with a note of what else
    /// could be chosen.
    #[inline]
    fn decide(&mut self, index: u32, count: u32, free: u32, prefix: u64) -> u32 {
        let Some(deviation) = self.current.get(self.followed) else {
            self.found.push(Alternatives {
                index,
                count,
                free,
                prefix,
            });
            return 0;
        };
        if deviation.index != index {
            return 0;
        }
        self.followed += 1;
        if deviation.prefix != prefix || deviation.choice >= count {
            self.diverged = true;
            return deviation.choice.min(count - 1);
        }
        deviation.choice
    }

    /// Lists the deviations of the schedule that runs next.
    fn unfold(&mut self) {
        self.current.clear();
        let mut at = self.running;
        while at != DEFAULT {
            let node = self.nodes[at as usize];
            self.current.push(node.deviation);
            at = node.parent;
        }
        self.current.reverse();
    }

    /// Queues the children of the execution that just ended.
    fn expand(&mut self) {
        let within = self.bound < self.largest_bound;
        for at in 0..self.found.len() {
            let point = self.found[at];
            for choice in 1..point.count {
                let costs = choice >= point.free;
                if costs && !within {
                    self.beyond = true;
                    break;
                }
                if costs && self.next.len() >= self.keep {
                    self.dropped.get_or_insert(self.bound + 1);
                    break;
                }
                let deviation = Deviation {
                    index: point.index,
                    choice,
                    prefix: point.prefix,
                };
                let child = self.nodes.len() as u32;
                self.nodes.push(Node {
                    parent: self.running,
                    deviation,
                });
                let queue = if costs { &mut self.next } else { &mut self.now };
                queue.push(child);
            }
        }
    }
}

impl Strategy for Icb {
    fn name(&self) -> &'static str {
        "icb"
    }

    fn begin(&mut self) -> bool {
        self.followed = 0;
        self.found.clear();
        self.diverged = false;
        if !core::mem::replace(&mut self.started, true) {
            return true;
        }
        while self.now.is_empty() {
            if self.dropped.is_none_or(|bound| self.bound < bound) {
                self.completed = Some(self.bound);
            }
            if self.next.is_empty() || self.bound == self.largest_bound {
                return false;
            }
            self.bound += 1;
            core::mem::swap(&mut self.now, &mut self.next);
            self.now.reverse();
        }
        self.running = self.now.pop().expect("not empty");
        self.unfold();
        true
    }

    #[inline]
    fn choose_task(&mut self, point: &SchedulingPoint<'_>) -> usize {
        let count = point.options.len() as u32;
        self.decide(point.index, count, point.free, point.prefix) as usize
    }

    #[inline]
    fn choose_outcome(&mut self, point: &ChoicePoint) -> u32 {
        let free = if point.costs { 1 } else { point.outcomes };
        self.decide(point.index, point.outcomes, free, point.prefix)
    }

    fn retry(&mut self) {
        self.followed = 0;
        self.found.clear();
        self.diverged = false;
    }

    fn end(&mut self, diverged: bool) {
        if !diverged {
            self.expand();
        }
    }

    fn diverged(&self) -> bool {
        self.diverged || self.followed < self.current.len()
    }

    fn progress(&self) -> Progress {
        let finished = self.now.is_empty() && self.next.is_empty();
        Progress {
            bound: Some(self.bound),
            bound_completed: self.completed,
            complete: finished
                && !self.beyond
                && self.dropped.is_none()
                && self.completed.is_some(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::execution::TaskId;
    use std::collections::BTreeSet;

    /// Two tasks of `steps` steps each, no blocking: returns the interleavings
    /// and their number of preemptions, in the order of the search.
    fn interleavings(steps: u32, bound: u32) -> Vec<(Vec<u32>, u32)> {
        let mut search = Icb::new(bound, u64::MAX);
        let mut all = Vec::new();
        while search.begin() {
            let (mut left, mut current, mut run, mut cost) = ([steps; 2], 0, Vec::new(), 0);
            let mut index = 0;
            while left != [0, 0] {
                let other = 1 - current;
                if left[current] == 0 {
                    current = other;
                } else if left[other] != 0 {
                    let options = [TaskId(current as u32), TaskId(other as u32)];
                    let point = SchedulingPoint {
                        index,
                        options: &options,
                        free: 1,
                        prefix: 0,
                    };
                    index += 1;
                    if search.choose_task(&point) == 1 {
                        current = other;
                        cost += 1;
                    }
                }
                left[current] -= 1;
                run.push(current as u32);
            }
            assert!(!search.diverged());
            search.end(false);
            all.push((run, cost));
        }
        all
    }

    #[test]
    fn each_schedule_is_run_once_and_fewer_preemptions_come_first() {
        let all = interleavings(3, 10);
        let distinct: BTreeSet<_> = all.iter().map(|(run, _)| run.clone()).collect();
        assert_eq!(all.len(), distinct.len());
        assert!(all.is_sorted_by_key(|(_, cost)| *cost));
        // Those that begin with task 0: the start is no decision here, and task 1
        // may still go first by a preemption before task 0's first step.
        assert_eq!(all.len(), 20, "6 choose 3 interleavings");
    }

    #[test]
    fn a_bound_holds() {
        for bound in 0..4 {
            let all = interleavings(4, bound);
            assert!(all.iter().all(|(_, cost)| *cost <= bound));
            let unbounded = interleavings(4, 99);
            let expected = unbounded.iter().filter(|(_, cost)| *cost <= bound).count();
            assert_eq!(all.len(), expected);
        }
    }
}
