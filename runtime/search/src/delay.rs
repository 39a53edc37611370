//! `delay`: delay bounding (Emmi, Qadeer and Rakamarić, POPL'11, section 3).
//!
//! A deterministic scheduler continues the current task. If that task cannot run, or yields, the
//! next enabled task in the cyclic order of creation runs. A schedule may skip tasks that the
//! scheduler would run. Each skipped task costs one delay. An outcome of an operation that is not
//! the ordinary one also costs one delay. The schedule without delays runs first, then all
//! schedules with one delay, and so on. Each schedule runs once. The number of schedules within a
//! bound grows with the steps of the program, and hardly with its tasks.

use super::{ChoicePoint, Draw, Ended, Estimate, Progress, SchedulingPoint, Strategy};
use crate::base::codec::{codec, kept_between_executions};
use crate::base::memory::{EngineVec, engine_vec};
use chess_vocabulary::TaskId;

/// A schedule: the deviations of its parent, and one more. At decision `index`, it takes `choice`
/// instead of the scheduler's choice.
#[derive(Clone, Copy)]
struct Node {
    parent: u32,
    /// The number of the decision.
    index: u32,
    /// The number of delays at the decision, or the chosen outcome of the operation.
    choice: u32,
    /// The hash of the execution before the decision.
    prefix: u64,
}

codec!(Node {
    parent,
    index,
    choice,
    prefix
});

/// The schedule without delays: the root of the tree.
const DEFAULT: u32 = u32::MAX;

/// A decision of the current execution.
#[derive(Clone, Copy)]
struct Point {
    index: u32,
    count: u32,
    /// The number of delays before the decision.
    cost: u32,
    prefix: u64,
    is_outcome: bool,
}

impl Point {
    /// The number of delays that a choice costs.
    fn delays(&self, choice: u32) -> u32 {
        if self.is_outcome {
            choice.min(1)
        } else {
            choice
        }
    }
}

/// The search, with 0, 1, 2, ... delays.
pub struct Delay {
    bound: u32,
    nodes: EngineVec<Node>,
    /// The queues of the schedules to run: with `bound` delays, with `bound + 1`, and so on. The
    /// last element of the first queue runs next.
    queues: EngineVec<EngineVec<u32>>,
    /// The largest length of each queue. It equals the budget.
    keep: usize,
    /// The smallest number of delays that cannot be finished, because some of its schedules were
    /// dropped.
    dropped: Option<u32>,
    started: bool,
    /// No schedule with `bound` delays was started yet.
    is_new_bound: bool,
    /// The nodes of the running schedule, from its first deviation to its last.
    current: EngineVec<u32>,
    node: u32,
    followed: usize,
    cost: u32,
    points: EngineVec<Point>,
    diverged: bool,
    last: TaskId,
    estimate: Estimate,
}

impl Delay {
    /// A search that will run at most `budget` executions.
    pub fn new(budget: u64) -> Self {
        Self {
            bound: 0,
            nodes: engine_vec(),
            queues: engine_vec(),
            keep: usize::try_from(budget).unwrap_or(usize::MAX),
            dropped: None,
            started: false,
            is_new_bound: true,
            current: engine_vec(),
            node: DEFAULT,
            followed: 0,
            cost: 0,
            points: engine_vec(),
            diverged: false,
            last: TaskId(0),
            estimate: Estimate::new(Draw::Even),
        }
    }

    /// Raises `bound` to the smallest number of delays of a queued schedule. If no schedule is
    /// queued, raises it beyond the largest number of delays for which there is a queue.
    pub(super) fn advance(&mut self) {
        while self.started && self.queues.first().is_some_and(EngineVec::is_empty) {
            self.queues.remove(0);
            self.bound += 1;
            self.is_new_bound = true;
        }
    }

    /// The bound and the number of its schedules. `None` if one of these schedules was started, or
    /// if the search has not begun.
    pub(super) fn new_bound(&self) -> Option<(u32, usize)> {
        let count = self.queues.first().map_or(0, EngineVec::len);
        (self.started && self.is_new_bound).then_some((self.bound, count))
    }

    /// Records the decision `point`. Returns the choice that the schedule prescribes there, or 0 if
    /// it prescribes none.
    #[inline]
    fn decide(&mut self, mut point: Point) -> u32 {
        self.estimate.chose(point.count);
        point.cost = self.cost;
        self.points.push(point);
        let Some(&node) = self.current.get(self.followed) else {
            return 0;
        };
        let node = self.nodes[node as usize];
        if node.index != point.index {
            return 0;
        }
        self.followed += 1;
        self.diverged |= node.prefix != point.prefix || node.choice >= point.count;
        let choice = node.choice.min(point.count - 1);
        self.cost += point.delays(choice);
        choice
    }

    /// Queues the other choices at the decisions after the last prescribed one.
    fn expand(&mut self) {
        let fresh = match self.current.last() {
            Some(&node) => self.nodes[node as usize].index + 1,
            None => 0,
        };
        let fresh = self.points.partition_point(|point| point.index < fresh);
        for at in fresh..self.points.len() {
            let point = self.points[at];
            for choice in 1..point.count {
                let beyond = (point.cost + point.delays(choice) - self.bound) as usize;
                while self.queues.len() <= beyond {
                    self.queues.push(engine_vec());
                }
                if self.queues[beyond].len() >= self.keep {
                    let delays = self.bound + beyond as u32;
                    self.dropped = Some(self.dropped.map_or(delays, |least| least.min(delays)));
                    continue;
                }
                self.queues[beyond].push(self.nodes.len() as u32);
                self.nodes.push(Node {
                    parent: self.node,
                    index: point.index,
                    choice,
                    prefix: point.prefix,
                });
            }
        }
    }

    /// The index of the option that runs if the first `delays` options in the order of the
    /// scheduler are skipped.
    fn option(&self, point: &SchedulingPoint<'_>, delays: usize) -> usize {
        let options = point.options;
        // Options that only time out come last, in their own order. If the current task can
        // continue, it is the first option, and the others follow it.
        let (first, from) = match point.free {
            1 => (1, options[0]),
            _ => (0, self.last),
        };
        if delays < first {
            return delays;
        }
        let rest = &options[first..];
        let round = match point.free {
            1 => rest.windows(2).take_while(|pair| pair[0] < pair[1]).count() + 1,
            free => free as usize,
        };
        let round = round.min(rest.len());
        if delays - first >= round {
            return delays;
        }
        let distance = |task: TaskId| task.0.wrapping_sub(from.0).wrapping_sub(1);
        let place_of = |option: &TaskId| {
            let closer = rest[..round].iter();
            closer
                .filter(|other| distance(**other) < distance(*option))
                .count()
        };
        let found = rest[..round]
            .iter()
            .position(|option| place_of(option) == delays - first);
        first + found.unwrap_or(delays - first)
    }
}

impl Strategy for Delay {
    fn name(&self) -> &'static str {
        "delay"
    }

    fn begin(&mut self) -> bool {
        self.advance();
        if core::mem::replace(&mut self.started, true) {
            let Some(node) = self.queues.first_mut().and_then(EngineVec::pop) else {
                return false;
            };
            self.is_new_bound = false;
            self.node = node;
            self.current.clear();
            let mut node = node;
            while node != DEFAULT {
                self.current.push(node);
                node = self.nodes[node as usize].parent;
            }
            self.current.reverse();
        }
        self.retry();
        true
    }

    #[inline]
    fn choose_task(&mut self, point: &SchedulingPoint<'_>) -> usize {
        let delays = self.decide(Point {
            index: point.index,
            count: point.options.len() as u32,
            cost: 0,
            prefix: point.prefix,
            is_outcome: false,
        });
        let chosen = self.option(point, delays as usize);
        self.last = point.options[chosen];
        chosen
    }

    fn choose_outcome(&mut self, point: &ChoicePoint<'_>) -> u32 {
        self.decide(Point {
            index: point.index,
            count: point.outcomes,
            cost: 0,
            prefix: point.prefix,
            is_outcome: true,
        })
    }

    fn retry(&mut self) {
        self.followed = 0;
        self.cost = 0;
        self.points.clear();
        self.diverged = false;
        self.last = TaskId(0);
        self.estimate.begin();
    }

    fn end(&mut self, execution: &Ended<'_>) {
        if !execution.diverged {
            self.estimate.observe();
            self.expand();
        }
    }

    fn diverged(&self) -> bool {
        self.diverged || self.followed < self.current.len()
    }

    fn estimate(&self) -> Option<&Estimate> {
        Some(&self.estimate)
    }

    fn explored(&self) -> Option<f64> {
        Some(self.estimate.covered())
    }

    fn progress(&self) -> Progress {
        let finished = self.queues.iter().all(EngineVec::is_empty);
        let below = self
            .dropped
            .map_or(self.bound, |least| least.min(self.bound));
        Progress {
            delays_completed: below.checked_sub(1),
            complete: self.started && finished && self.dropped.is_none(),
            ..Progress::default()
        }
    }

    kept_between_executions!(
        bound,
        nodes,
        queues,
        keep,
        dropped,
        started,
        is_new_bound,
        estimate
    );
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::super::testing::{self, Act, Exhaustive, Program};
    use super::*;

    /// The number of schedules with 0, 1, ... delays.
    fn counts(program: &Program) -> Vec<usize> {
        let mut search = Delay::new(u64::MAX);
        let mut counts = Vec::new();
        while search.begin() {
            testing::execute(program, &mut search);
            counts.resize(search.bound as usize + 1, 0);
            counts[search.bound as usize] += 1;
        }
        assert!(search.progress().complete);
        counts
    }

    #[test]
    fn one_schedule_has_no_delay_whatever_the_number_of_tasks() {
        for tasks in 1..5 {
            assert_eq!(counts(&vec![vec![Act::Add(0)]; tasks])[0], 1);
        }
    }

    #[test]
    fn two_tasks_take_each_interleaving_once_in_the_order_of_delays() {
        // Each task has two steps, and its end is one of them. A switch costs a delay, unless it
        // is at the end of a task. A start with B costs a delay. So AABB costs none, ABBA and BBAA
        // cost one, ABAB and BAAB two, and BABA three.
        assert_eq!(counts(&vec![vec![Act::Add(0)]; 2]), [1, 2, 2, 1]);
    }

    #[test]
    fn the_next_task_in_the_round_runs_when_one_ends() {
        let mut search = Delay::new(u64::MAX);
        let store = |value| vec![Act::Store(0, value)];
        let program = vec![store(1), store(2), store(3)];
        let mut ends = Vec::new();
        while search.begin() {
            let outcome = testing::execute(&program, &mut search);
            ends.push((search.bound, outcome.end.values()[0]));
        }
        assert_eq!(ends[0], (0, 3));
        // With one delay, any task can be the last one to store.
        let with_one: BTreeSet<u64> = ends
            .iter()
            .filter(|(bound, _)| *bound == 1)
            .map(|(_, value)| *value)
            .collect();
        assert_eq!(with_one, BTreeSet::from([1, 2, 3]));
    }

    #[test]
    fn the_whole_space_is_explored_with_enough_delays() {
        for seed in 0..300 {
            let program = testing::random_program(seed);
            let mut brute = Exhaustive::new(u32::MAX / 2);
            let mut ends = Vec::new();
            while ends.len() <= 500 && brute.begin() {
                ends.push(testing::execute(&program, &mut brute).end);
            }
            if ends.len() > 500 {
                continue;
            }
            let mut search = Delay::new(u64::MAX);
            let delayed = testing::explore(&program, &mut search);
            assert!(search.progress().complete);
            let each_once = delayed.executions == ends.len() as u64;
            assert!(each_once, "seed {seed}: {program:?}");
            assert_eq!(ends.into_iter().collect::<BTreeSet<_>>(), delayed.ends);
        }
    }

    /// All schedules. Counts the delays of each one by the paper's definition.
    struct Counting {
        all: Exhaustive,
        delays: u32,
        last: TaskId,
    }

    impl Strategy for Counting {
        fn name(&self) -> &'static str {
            "counting"
        }

        fn begin(&mut self) -> bool {
            (self.delays, self.last) = (0, TaskId(0));
            self.all.begin()
        }

        fn choose_task(&mut self, point: &SchedulingPoint<'_>) -> usize {
            let chosen = self.all.choose_task(point);
            // The order of the scheduler: the current task if it continues, then the tasks with
            // larger numbers, then those with smaller numbers.
            let current = if point.free == 1 {
                point.options[0]
            } else {
                self.last
            };
            let round = (1..=64).map(|distance| (current.0 + distance) % 64);
            let others = round.filter(|&task| point.free != 1 || task != current.0);
            let order = (point.free == 1)
                .then_some(current.0)
                .into_iter()
                .chain(others);
            let enabled = order.filter(|&task| point.options.contains(&TaskId(task)));
            let skipped = enabled.take_while(|&task| task != point.options[chosen].0);
            self.delays += skipped.count() as u32;
            self.last = point.options[chosen];
            chosen
        }

        fn choose_outcome(&mut self, point: &ChoicePoint<'_>) -> u32 {
            let outcome = self.all.choose_outcome(point);
            self.delays += u32::from(outcome > 0);
            outcome
        }

        fn end(&mut self, ended: &Ended<'_>) {
            self.all.end(ended);
        }

        fn progress(&self) -> Progress {
            Progress::default()
        }
    }

    #[test]
    fn a_number_of_delays_is_finished_after_the_last_of_its_schedules() {
        let mut finished = 0;
        for seed in 0..300 {
            let program = testing::random_program(seed);
            let mut brute = Counting {
                all: Exhaustive::new(u32::MAX / 2),
                delays: 0,
                last: TaskId(0),
            };
            let mut all = Vec::new();
            while all.len() <= 500 && brute.begin() {
                let graph = testing::execute(&program, &mut brute).graph;
                all.push((brute.delays, graph));
            }
            if all.len() > 500 {
                continue;
            }
            let mut search = Delay::new(u64::MAX);
            let mut seen = BTreeSet::new();
            while search.begin() {
                if let Some(delays) = search.progress().delays_completed {
                    let within = all.iter().filter(|(cost, _)| *cost <= delays);
                    let missing = within.filter(|(_, graph)| !seen.contains(graph)).count();
                    assert_eq!(missing, 0, "seed {seed}, {delays} delays: {program:?}");
                    finished += 1;
                }
                seen.insert(testing::execute(&program, &mut search).graph);
            }
        }
        assert!(finished > 1_000, "{finished}");
    }

    #[test]
    fn no_number_of_delays_is_finished_of_which_schedules_were_dropped() {
        let program = vec![vec![Act::Add(0); 4]; 3];
        let keep = 10;
        let counts = counts(&program);
        let is_kept = |count: &&usize| **count <= keep;
        let finished = counts.iter().take_while(is_kept).count() as u32 - 1;
        let mut search = Delay::new(keep as u64);
        while search.begin() {
            testing::execute(&program, &mut search);
            assert!(search.progress().delays_completed <= Some(finished));
        }
        assert_eq!(search.progress().delays_completed, Some(finished));
    }

    #[test]
    fn a_small_budget_is_not_taken_for_the_whole() {
        let program = vec![vec![Act::Add(0); 4]; 3];
        let mut search = Delay::new(10);
        for _ in 0..10 {
            assert!(search.begin());
            testing::execute(&program, &mut search);
        }
        assert!(!search.progress().complete);
    }
}
