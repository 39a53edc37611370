//! `surw`: selectively uniform random walk (Zhao, Wolff, Mathur and Roychoudhury, ASPLOS'25,
//! section 3).
//!
//! Each execution draws a set of interesting steps: the accesses to one object on which tasks were
//! seen to race, or to all such objects. Then the task that takes the next interesting step is
//! drawn. The probability of a task is in proportion to the number of interesting steps that are
//! left to the task and to the tasks that it will still spawn. Until the drawn task takes its
//! step, all tasks run by priorities like those of [`super::pos`], but the other tasks wait before
//! their own interesting steps. So all orders of the interesting steps are equally likely, if the
//! numbers are exact and no task blocks. The numbers are the largest ones of earlier executions:
//! see [`super::surw_profile`].

use super::pos::Priorities;
use super::sampler::{Rule, Sampler};
use super::surw_profile::Profile;
use super::{Ended, Past, SchedulingPoint};
use crate::base::codec::kept_between_executions;
use crate::base::memory::{EngineVec, engine_vec};
use crate::base::rng::Rng;
use chess_vocabulary::{Op, TaskId};

/// A task in the current execution.
#[derive(Clone, Copy)]
struct Walker {
    /// The number of interesting steps that are left to the task and the tasks that it will spawn.
    left: u32,
    is_known: bool,
}

/// The search.
pub type Surw = Sampler<Walkers>;

/// The tasks of one execution, and the profile of the program.
pub struct Walkers {
    profile: Profile,
    /// The priorities of the next operations of the tasks, as in [`super::pos`].
    priorities: Priorities,
    tasks: EngineVec<Walker>,
    /// The task that takes the next interesting step.
    intended: Option<TaskId>,
    /// The number of steps of the trace that were counted.
    steps: usize,
}

impl Default for Walkers {
    fn default() -> Self {
        Self {
            profile: Profile::new(),
            priorities: Priorities::default(),
            tasks: engine_vec(),
            intended: None,
            steps: 0,
        }
    }
}

impl Walkers {
    /// Counts the steps since the last decision: reduces the numbers of interesting steps that are
    /// left to their tasks.
    fn count_steps(&mut self, rng: &mut Rng, past: Past<'_>) {
        let steps = &past.trace.steps;
        for (at, step) in steps.iter().enumerate().skip(self.steps) {
            self.meet(rng, step.task);
            let touch = past.trace.touches_of(at).first();
            if touch.is_some_and(|touch| self.profile.is_of_interest((past.name)(touch.object))) {
                let left = &mut self.tasks[step.task.0 as usize].left;
                *left = left.saturating_sub(1);
            }
        }
        self.steps = steps.len();
    }

    /// If `task` is new, subtracts the interesting steps that it is expected to take from those
    /// that are left to its parent. If the parent was drawn for the next interesting step, `task`
    /// may take this step instead.
    fn meet(&mut self, rng: &mut Rng, task: TaskId) {
        let at = task.0 as usize;
        while self.tasks.len() <= at {
            self.tasks.push(Walker {
                left: self.profile.expected(self.tasks.len()),
                is_known: false,
            });
        }
        if core::mem::replace(&mut self.tasks[at].is_known, true) {
            return;
        }
        let share = self.tasks[at].left;
        let Some(parent) = self.profile.parent(task) else {
            return;
        };
        let left = &mut self.tasks[parent.0 as usize].left;
        let of_both = (*left).max(1);
        *left = left.saturating_sub(share);
        if self.intended == Some(parent) && rng.below(of_both.into()) < u64::from(share) {
            self.intended = Some(task);
        }
    }

    /// Draws the task that takes the next interesting step, among the tasks that have not ended.
    /// Called if `task` could take this step.
    fn draw(&mut self, rng: &mut Rng, task: TaskId, has_ended: impl Fn(TaskId) -> bool) -> TaskId {
        for (at, walker) in self.tasks.iter_mut().enumerate() {
            if has_ended(TaskId(at as u32)) {
                walker.left = 0;
            }
        }
        let own = &mut self.tasks[task.0 as usize].left;
        *own = (*own).max(1);
        let known = || self.tasks.iter().filter(|walker| walker.is_known);
        let all: u64 = known().map(|walker| u64::from(walker.left)).sum();
        let mut ticket = rng.below(all);
        for (at, walker) in self.tasks.iter().enumerate() {
            if walker.is_known {
                let left = u64::from(walker.left);
                if ticket < left {
                    return TaskId(at as u32);
                }
                ticket -= left;
            }
        }
        task
    }

    /// The index of the option with the highest priority, among those for which `may_run` holds.
    /// `None` if there is no such option.
    fn first(&self, options: &[TaskId], may_run: impl Fn(TaskId) -> bool) -> Option<usize> {
        let may_run = |place: &usize| may_run(options[*place]);
        let places = (0..options.len()).filter(may_run);
        places.max_by_key(|&place| self.priorities.priority_of(options[place]))
    }

    /// Selects the option that runs next. All options are known, and have priorities.
    fn select(&mut self, rng: &mut Rng, point: &SchedulingPoint<'_>) -> usize {
        let options = point.options;
        let pending = |task| (point.pending)(task);
        let first = self.first(options, |_| true).unwrap_or(0);
        if !self.profile.is_of_interest(pending(options[first]).object) {
            return first;
        }
        let intended = self
            .intended
            .unwrap_or_else(|| self.draw(rng, options[first], |task| pending(task).op == Op::Exit));
        self.intended = Some(intended);
        let may_run = |task| task == intended || !self.profile.is_of_interest(pending(task).object);
        let Some(selected) = self.first(options, may_run) else {
            self.intended = None;
            return self.redraw(rng, options);
        };
        if options[selected] == intended && self.profile.is_of_interest(pending(intended).object) {
            self.intended = None;
        }
        selected
    }

    /// Draws one of `options`, and returns its index. Called if all options are held back, because
    /// the task that was drawn for the next interesting step is not enabled.
    fn redraw(&self, rng: &mut Rng, options: &[TaskId]) -> usize {
        let left = |task: &TaskId| u64::from(self.tasks[task.0 as usize].left.max(1));
        let mut ticket = rng.below(options.iter().map(left).sum());
        let drawn = options.iter().position(|task| {
            let is_drawn = ticket < left(task);
            ticket = ticket.saturating_sub(left(task));
            is_drawn
        });
        drawn.unwrap_or(0)
    }
}

impl Rule for Walkers {
    const NAME: &'static str = "surw";
    const WANTS_TRACE: bool = true;

    fn begin(&mut self, rng: &mut Rng) {
        self.tasks.clear();
        self.intended = None;
        self.steps = 0;
        self.priorities.begin(rng);
        self.profile.select(rng);
    }

    fn choose(&mut self, rng: &mut Rng, point: &SchedulingPoint<'_>) -> usize {
        self.count_steps(rng, point.past);
        for &task in point.options {
            self.meet(rng, task);
        }
        self.priorities.rank(rng, point);
        let chosen = self.select(rng, point);
        self.priorities.perform(point.options[chosen]);
        chosen
    }

    fn learn(&mut self, execution: &Ended<'_>) {
        if !execution.is_cut {
            self.profile.read(execution.past);
        }
    }

    kept_between_executions!(profile);
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::super::Strategy;
    use super::super::testing::{self, Act, Program};
    use super::*;

    /// Returns the sum of a chi-square test of the orders of racing steps, and the number of orders.
    /// The sum is small if all orders are equally likely.
    fn spread(program: &Program, runs: u32) -> (f64, usize) {
        let mut search = Surw::new(11);
        let mut seen: BTreeMap<_, f64> = BTreeMap::new();
        // The first execution has no profile.
        search.begin();
        testing::execute(program, &mut search);
        for _ in 0..runs {
            search.begin();
            *seen
                .entry(testing::execute(program, &mut search).graph)
                .or_default() += 1.0;
        }
        let expected = f64::from(runs) / seen.len() as f64;
        let square = |count: f64| (count - expected).powi(2) / expected;
        (seen.values().map(|&count| square(count)).sum(), seen.len())
    }

    #[test]
    fn each_order_of_the_interesting_steps_is_equally_likely() {
        let (spread, orders) = spread(&vec![vec![Act::Add(0); 3]; 2], 4000);
        assert_eq!(orders, 20, "6 choose 3");
        // The sum is larger than this with a probability of 1 in 1000.
        assert!(spread < 43.8, "{spread}");
    }

    #[test]
    fn other_steps_and_unequal_counts_do_not_matter() {
        let busy = |own, steps, noise| {
            let mut acts = vec![Act::Add(own); noise];
            acts.extend(vec![Act::Add(0); steps]);
            acts
        };
        let program = vec![busy(1, 1, 6), busy(2, 2, 0), busy(3, 3, 2)];
        let (spread, orders) = spread(&program, 6000);
        assert_eq!(orders, 60, "6! / (1! 2! 3!)");
        assert!(spread < 99.0, "{spread}");
    }

    #[test]
    fn counts_that_are_wrong_and_tasks_that_block_end_no_execution() {
        for seed in 0..300 {
            let program = testing::random_program(seed);
            let mut search = Surw::new(seed);
            for _ in 0..20 {
                search.begin();
                testing::execute(&program, &mut search);
            }
        }
    }

    #[test]
    fn uninteresting_steps_run_by_priorities() {
        // No step is interesting yet. In a random walk the long task comes first in one of 2048
        // executions; with priorities, in one of twelve: see `pos`.
        let mut long = vec![Act::Add(1); 10];
        long.push(Act::Add(0));
        let program = vec![long, vec![Act::Add(0)]];
        let mut orders: BTreeMap<_, u32> = BTreeMap::new();
        for seed in 0..2000 {
            let mut search = Surw::new(seed);
            search.begin();
            *orders
                .entry(testing::execute(&program, &mut search).graph)
                .or_default() += 1;
        }
        assert!(orders.values().all(|&times| times > 80), "{orders:?}");
    }
}
