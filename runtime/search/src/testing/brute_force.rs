//! Brute force: all schedules of a program within a bound, without reduction.

use std::collections::BTreeSet;

use super::super::races::HappensBefore;
use super::super::{ChoicePoint, Ended, Labelled, Progress, SchedulingPoint, Strategy, Trace};
use super::{Final, Graph, Machine, Program, graph, run};

/// A depth-first search over all decisions, with at most `bound` preemptions.
pub struct Exhaustive {
    bound: u32,
    /// The decisions of the execution. Each decision has four numbers: its number of choices, its
    /// number of free choices, the choice that was taken, and the cost before the decision.
    stack: Vec<(u32, u32, u32, u32)>,
    at: usize,
    started: bool,
}

impl Exhaustive {
    /// A search that has not begun.
    pub fn new(bound: u32) -> Self {
        Self {
            bound,
            stack: Vec::new(),
            at: 0,
            started: false,
        }
    }

    fn decide(&mut self, count: u32, free: u32) -> u32 {
        if self.at == self.stack.len() {
            let cost = match self.stack.last() {
                Some(&(_, free, choice, cost)) => cost + u32::from(choice >= free),
                None => 0,
            };
            self.stack.push((count, free, 0, cost));
        }
        self.at += 1;
        self.stack[self.at - 1].2
    }
}

impl Strategy for Exhaustive {
    fn name(&self) -> &'static str {
        "exhaustive"
    }

    fn begin(&mut self) -> bool {
        self.at = 0;
        if !std::mem::replace(&mut self.started, true) {
            return true;
        }
        while let Some((count, free, choice, cost)) = self.stack.pop() {
            let next = choice + 1;
            if next < count && cost + u32::from(next >= free) <= self.bound {
                self.stack.push((count, free, next, cost));
                return true;
            }
        }
        false
    }

    fn choose_task(&mut self, point: &SchedulingPoint<'_>) -> usize {
        self.decide(point.options.len() as u32, point.free) as usize
    }

    fn choose_outcome(&mut self, point: &ChoicePoint<'_>) -> u32 {
        let free = if point.costs() { 1 } else { point.outcomes };
        self.decide(point.outcomes, free)
    }

    fn end(&mut self, _: &Ended<'_>) {}

    fn progress(&self) -> Progress {
        Progress::default()
    }
}

/// The executions of a program that a search ran.
#[derive(Default)]
pub struct Explored {
    /// The number of executions.
    pub executions: u64,
    /// The ends of the executions.
    pub ends: BTreeSet<Final>,
    /// The happens-before graphs of the executions.
    pub graphs: BTreeSet<Graph>,
}

impl Explored {
    /// Whether both searches reached the same ends and graphs.
    pub fn is_as(&self, other: &Self) -> bool {
        self.ends == other.ends && self.graphs == other.graphs
    }
}

/// Runs `search` to its end.
pub fn explore(program: &Program, search: &mut dyn Strategy) -> Explored {
    explore_up_to(program, search, u64::MAX).expect("there is no limit")
}

/// Runs all executions with at most `bound` preemptions, by brute force. Returns `None` if there
/// are more than `most` executions.
pub fn explore_all(program: &Program, bound: u32, most: u64) -> Option<Explored> {
    explore_up_to(program, &mut Exhaustive::new(bound), most)
}

/// Runs `search` to its end. Returns `None` if that takes more than `most` executions.
pub fn explore_up_to(program: &Program, search: &mut dyn Strategy, most: u64) -> Option<Explored> {
    let mut explored = Explored::default();
    let mut machine = Machine::new(program);
    let mut happens_before = HappensBefore::new(false);
    while search.begin() {
        run(&mut machine, search);
        explored.executions += 1;
        explored.ends.insert(machine.end());
        explored.graphs.insert(graph(&mut happens_before, &machine));
        if explored.executions > most {
            return None;
        }
    }
    Some(explored)
}

/// One execution of a program.
pub struct Executed<'a> {
    /// Its steps.
    pub trace: &'a Trace,
    /// The line of each touch.
    pub labels: &'a [Labelled],
}

/// Runs `search` to its end, and calls `each` after each execution. Returns `None` if that takes
/// more than `most` executions.
pub fn visit(
    program: &Program,
    search: &mut dyn Strategy,
    most: u64,
    mut each: impl FnMut(&Executed<'_>),
) -> Option<()> {
    let mut machine = Machine::new(program);
    let mut executions = 0;
    while search.begin() {
        run(&mut machine, search);
        executions += 1;
        if executions > most {
            return None;
        }
        each(&Executed {
            trace: &machine.trace,
            labels: &machine.labels,
        });
    }
    Some(())
}
