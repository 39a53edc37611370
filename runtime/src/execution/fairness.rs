//! The fair scheduler of Musuvathi and Qadeer (PLDI'08, "Fair Stateless Model Checking").
//!
//! The window of a task is the time since its last yield. A task that yields has starved another
//! task in two cases: the other task did not run in the window although it was enabled throughout
//! it, or the yielding task disabled the other task in the window, and the other task did not run
//! in it. The yielding task may not run again while a task that it has starved is enabled and has
//! not run since.
//!
//! The paper keeps three sets for each task, E, D and S, and updates them at every step. Here E and
//! S are derived from two step numbers for each task, so that a step costs nothing and a yield
//! costs one pass over the tasks.
//!
//! `execution/step_limit.rs` orders the tasks past the step limit, and `monitor/livelock.rs` judges
//! executions that do not end.

use super::TaskId;
use super::task_set::TaskSet;
use crate::base::memory::{EngineVec, engine_vec};

/// After this number of yields without progress, a task gives way also to a task that sleeps or
/// waits with a timeout. Loops that spin before they block yield less often: two runs of
/// crossbeam's `Backoff` yield 22 times, a loop of kanal up to 191 times.
const ITERATIONS: u32 = 256;

/// After this number of yields, a task gives way also to a task that sleeps or waits with a
/// timeout, even if the yielding task makes progress. A loop that counts until a sleeping task
/// stops it reaches this number; a few waits for spin locks do not.
const MOST_ITERATIONS: u32 = 4 * ITERATIONS;

/// As [`MOST_ITERATIONS`], for a task that waits for an event with a timeout of at least
/// [`LONG_TIMEOUT`]. A test has such a timeout in case the event never happens. A thread pool that
/// works natively for a second may yield hundreds of thousands of times.
const LONG_ITERATIONS: u32 = 1 << 18;

/// A long timeout, in nanoseconds of virtual time.
pub(super) const LONG_TIMEOUT: u64 = 10_000_000_000;

/// A task that overstays must give way after further yields and reads of this total cost: 64
/// yields, 256 repeated reads, or 16 repeated polls.
const MOST_OVERSTAYING: u32 = 256;
/// The cost of a yield of a task that overstays.
pub(super) const YIELD_COST: u32 = 4;
/// The cost of a repeated read of a task that overstays.
pub(super) const READ_COST: u32 = 1;
/// The cost of a repeated poll of a task that overstays. The iterations of loops that poll are
/// long.
pub(super) const POLL_COST: u32 = 16;

/// The scheduler's state for one task.
struct Window {
    /// The step of the last yield: the window's start.
    began: u64,
    /// The task has not yielded yet. The first yield adds no task to `waits_for`.
    first: bool,
    /// D: tasks that this one disabled in its window.
    disabled: TaskSet,
    /// The step at which the task last ran.
    ran: u64,
    /// The step at which the task last became enabled.
    enabled: u64,
    /// P: tasks that this one must wait for while they are enabled.
    waits_for: TaskSet,
    /// The number of yields since this task last had to wait for a sleeping task, or last became
    /// enabled.
    iterations: u32,
    /// The number of the yields in `iterations` that came after the last progress of the task.
    idle_iterations: u32,
    /// The remaining cost of yields and reads, after which the task does not overstay any more.
    overstays_for: u32,
    /// The step at which the task last began to overstay; 0 if it never did. It overstays only
    /// until another task runs.
    overstays_since: u64,
}

/// The state of the fair scheduler in one execution.
pub(crate) struct Fairness {
    windows: EngineVec<Window>,
    /// The number of tasks whose `waits_for` is not empty.
    restrained: u32,
}

impl Fairness {
    pub(crate) const fn new() -> Self {
        Self {
            windows: engine_vec(),
            restrained: 0,
        }
    }

    #[inline]
    pub(crate) fn clear(&mut self, tasks: usize) {
        for window in self.windows.iter_mut().take(tasks) {
            window.disabled.clear();
            window.waits_for.clear();
        }
        self.restrained = 0;
    }

    /// Adds a new task, enabled at `step`.
    #[inline]
    pub(crate) fn add(&mut self, task: TaskId, step: u64) {
        let at = task.0 as usize;
        if let Some(window) = self.windows.get_mut(at) {
            window.began = step;
            window.first = true;
            window.ran = 0;
            window.enabled = step;
            window.iterations = 0;
            window.idle_iterations = 0;
            window.overstays_for = 0;
            window.overstays_since = 0;
        } else {
            self.windows.push(Window {
                began: step,
                first: true,
                disabled: TaskSet::new(),
                ran: 0,
                enabled: step,
                waits_for: TaskSet::new(),
                iterations: 0,
                idle_iterations: 0,
                overstays_for: 0,
                overstays_since: 0,
            });
        }
    }

    /// Records that `task` became enabled at `step`.
    #[inline]
    pub(crate) fn enabled(&mut self, task: TaskId, step: u64) {
        let window = &mut self.windows[task.0 as usize];
        window.enabled = step;
        window.iterations = 0;
        window.idle_iterations = 0;
    }

    /// Records that `by` disabled `task`.
    #[inline]
    pub(crate) fn disabled(&mut self, task: TaskId, by: TaskId) {
        self.windows[by.0 as usize].disabled.insert(task);
    }

    /// Records that `task` runs at `step`: no task waits for it any more.
    #[inline]
    pub(crate) fn ran(&mut self, task: TaskId, step: u64) {
        self.windows[task.0 as usize].ran = step;
        if self.restrained != 0 {
            self.serve(task);
        }
    }

    #[cold]
    fn serve(&mut self, task: TaskId) {
        for window in &mut self.windows {
            if window.waits_for.contains(task) {
                window.waits_for.remove(task);
                if window.waits_for.is_empty() {
                    self.restrained -= 1;
                }
            }
        }
    }

    /// Whether `task` may begin to overstay: see `execution/overstay.rs`. The last switch to
    /// another task was at the step `last_switch`.
    #[inline]
    pub(crate) fn may_overstay(&self, task: TaskId, last_switch: u64) -> bool {
        let overstays_since = self.windows[task.0 as usize].overstays_since;
        overstays_since == 0 || last_switch > overstays_since
    }

    /// From `step` on, `task` overstays.
    #[cold]
    pub(crate) fn overstay(&mut self, task: TaskId, step: u64) {
        let window = &mut self.windows[task.0 as usize];
        if !window.waits_for.is_empty() {
            window.waits_for.clear();
            self.restrained -= 1;
        }
        (window.overstays_for, window.overstays_since) = (MOST_OVERSTAYING, step);
    }

    /// Whether `task` overstays. The last switch to another task was at the step `last_switch`.
    #[inline]
    pub(crate) fn overstays(&self, task: TaskId, last_switch: u64) -> bool {
        let window = &self.windows[task.0 as usize];
        window.overstays_for != 0 && last_switch <= window.overstays_since
    }

    /// Counts a yield or a repeated read of `task`, which overstays.
    pub(crate) fn count_overstaying(&mut self, task: TaskId, cost: u32) {
        let left = &mut self.windows[task.0 as usize].overstays_for;
        *left = left.saturating_sub(cost);
    }

    /// Records that `task` yields at `step`. `progressed` states whether `task` made progress since
    /// its last yield. `enabled` are the enabled tasks. The `late` ones among them sleep, or wait
    /// with a timeout. Many loops spin for a while before they block, usually for a much shorter
    /// time than a sleep. Therefore a task gives way to a sleeping task only after [`ITERATIONS`]
    /// yields without progress, or after [`MOST_ITERATIONS`] yields: [`LONG_ITERATIONS`] if
    /// `has_long_timeout` is true for the other task.
    pub(crate) fn yielded(
        &mut self,
        task: TaskId,
        progressed: bool,
        step: u64,
        enabled: &TaskSet,
        late: &TaskSet,
        has_long_timeout: impl Fn(TaskId) -> bool,
    ) {
        let at = task.0 as usize;
        let window = &mut self.windows[at];
        if progressed {
            window.idle_iterations = 0;
        }
        window.iterations += 1;
        window.idle_iterations += 1;
        let (idle, iterations, began) = (window.idle_iterations, window.iterations, window.began);
        let is_patient = |other: TaskId| {
            let most = if iterations >= MOST_ITERATIONS && has_long_timeout(other) {
                LONG_ITERATIONS
            } else {
                MOST_ITERATIONS
            };
            idle < ITERATIONS && iterations < most
        };
        if self.windows[at].first {
            self.windows[at].first = false;
        } else {
            let mut starved = core::mem::replace(&mut self.windows[at].disabled, TaskSet::new());
            for other in enabled.iter() {
                if self.windows[other.0 as usize].enabled <= began {
                    starved.insert(other);
                }
            }
            let was_free = self.windows[at].waits_for.is_empty();
            for other in starved.iter() {
                let sleeps = late.contains(other);
                if other == task || sleeps && is_patient(other) {
                    continue;
                }
                if self.windows[other.0 as usize].ran <= began {
                    self.windows[at].waits_for.insert(other);
                    if sleeps {
                        self.windows[at].iterations = 0;
                        self.windows[at].idle_iterations = 0;
                    }
                }
            }
            if was_free && !self.windows[at].waits_for.is_empty() {
                self.restrained += 1;
            }
        }
        self.windows[at].disabled.clear();
        self.windows[at].began = step;
    }

    /// The step at which `task` last ran.
    pub(crate) fn last_ran(&self, task: TaskId) -> u64 {
        self.windows[task.0 as usize].ran
    }

    /// Whether any task must wait for another one.
    #[inline]
    pub(crate) fn restrains(&self) -> bool {
        self.restrained != 0
    }

    /// Whether `task` may run while `enabled` are the enabled tasks.
    pub(crate) fn allows(&self, task: TaskId, enabled: &TaskSet) -> bool {
        !self.windows[task.0 as usize].waits_for.intersects(enabled)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::base::rng::Rng;
    use std::collections::BTreeSet;

    type Tasks = BTreeSet<u32>;

    /// The paper's algorithm, literally: three sets for each task, updated at each step.
    #[derive(Default)]
    struct Literal {
        enabled: Vec<Tasks>,
        disabled: Vec<Tasks>,
        scheduled: Vec<Option<Tasks>>,
        waits_for: Vec<Tasks>,
    }

    impl Literal {
        fn step(&mut self, task: u32, before: &Tasks, after: &Tasks, yields: bool) {
            for edges in &mut self.waits_for {
                edges.remove(&task);
            }
            for at in 0..self.enabled.len() {
                self.enabled[at] = &self.enabled[at] & after;
                if let Some(scheduled) = &mut self.scheduled[at] {
                    scheduled.insert(task);
                }
            }
            let own = task as usize;
            let lost = before - after;
            self.disabled[own].extend(&lost);
            if yields {
                if let Some(scheduled) = &self.scheduled[own] {
                    let starved = &(&self.enabled[own] | &self.disabled[own]) - scheduled;
                    self.waits_for[own].extend(starved.iter().filter(|&&t| t != task));
                }
                self.enabled[own].clone_from(after);
                self.disabled[own].clear();
                self.scheduled[own] = Some(Tasks::new());
            }
        }
    }

    fn set(tasks: &Tasks) -> TaskSet {
        let mut set = TaskSet::new();
        for &task in tasks {
            set.insert(TaskId(task));
        }
        set
    }

    #[test]
    fn restrains_the_same_tasks_as_the_papers_three_sets() {
        const TASKS: u32 = 4;
        for seed in 0..2000 {
            let mut rng = Rng::new(seed);
            let mut fair = Fairness::new();
            let mut literal = Literal::default();
            let mut enabled: Tasks = (0..TASKS).collect();
            for task in 0..TASKS {
                fair.add(TaskId(task), 0);
                literal.enabled.push(Tasks::new());
                literal.disabled.push(Tasks::new());
                literal.scheduled.push(None);
                literal.waits_for.push(Tasks::new());
            }
            for step in 1..60 {
                let allowed: Vec<u32> = enabled
                    .iter()
                    .copied()
                    .filter(|&t| fair.allows(TaskId(t), &set(&enabled)))
                    .collect();
                let expected: Vec<u32> = enabled
                    .iter()
                    .copied()
                    .filter(|&t| literal.waits_for[t as usize].is_disjoint(&enabled))
                    .collect();
                assert_eq!(allowed, expected, "seed {seed}, step {step}");
                let Some(&task) = allowed.get(rng.below(allowed.len().max(1) as u64) as usize)
                else {
                    break;
                };
                let before = enabled.clone();
                fair.ran(TaskId(task), step * 2);
                // Some steps disable or enable another task.
                let other = rng.below(TASKS.into()) as u32;
                if other != task && rng.below(3) == 0 {
                    if enabled.remove(&other) {
                        fair.disabled(TaskId(other), TaskId(task));
                    } else {
                        enabled.insert(other);
                        fair.enabled(TaskId(other), step * 2);
                    }
                }
                let yields = rng.below(2) == 0;
                if yields {
                    fair.yielded(
                        TaskId(task),
                        false,
                        step * 2,
                        &set(&enabled),
                        &TaskSet::new(),
                        |_| false,
                    );
                }
                literal.step(task, &before, &enabled, yields);
            }
        }
    }

    #[test]
    fn a_spinner_gives_way_to_the_task_that_it_starves() {
        let mut fair = Fairness::new();
        let both: Tasks = [0, 1].into();
        fair.add(TaskId(0), 0);
        fair.add(TaskId(1), 0);
        fair.ran(TaskId(0), 1);
        fair.yielded(TaskId(0), false, 1, &set(&both), &TaskSet::new(), |_| false);
        assert!(!fair.restrains(), "the first yield adds no edge");
        fair.ran(TaskId(0), 2);
        fair.yielded(TaskId(0), false, 2, &set(&both), &TaskSet::new(), |_| false);
        assert!(!fair.allows(TaskId(0), &set(&both)));
        assert!(
            fair.allows(TaskId(0), &set(&[0].into())),
            "only while task 1 is enabled"
        );
        fair.ran(TaskId(1), 3);
        assert!(fair.allows(TaskId(0), &set(&both)), "task 1 was served");
    }

    #[test]
    fn a_spinner_gives_way_to_a_sleeper_after_many_iterations_only() {
        let cases = [
            (false, false, ITERATIONS),
            (false, true, ITERATIONS),
            (true, false, MOST_ITERATIONS),
            (true, true, LONG_ITERATIONS),
        ];
        for (progressed, is_long, patience) in cases {
            let mut fair = Fairness::new();
            let [both, sleeper] = [set(&[0, 1].into()), set(&[1].into())];
            fair.add(TaskId(0), 0);
            fair.add(TaskId(1), 0);
            for iteration in 1..=2 * patience {
                fair.ran(TaskId(0), iteration.into());
                fair.yielded(
                    TaskId(0),
                    progressed,
                    iteration.into(),
                    &both,
                    &sleeper,
                    |_| is_long,
                );
                let waits = iteration % patience == 0;
                assert_eq!(fair.allows(TaskId(0), &both), !waits, "{iteration}");
                if iteration == patience {
                    fair.ran(TaskId(1), iteration.into());
                }
            }
        }
    }

    #[test]
    fn a_task_overstays_once_until_another_task_runs() {
        let (task, other) = (TaskId(0), TaskId(1));
        let mut fairness = Fairness::new();
        fairness.add(task, 1);
        fairness.add(other, 1);
        let mut enabled = TaskSet::new();
        enabled.insert(task);
        enabled.insert(other);
        let none = TaskSet::new();
        for step in [2, 3] {
            fairness.yielded(task, true, step, &enabled, &none, |_| false);
        }
        assert!(!fairness.allows(task, &enabled) && fairness.may_overstay(task, 1));
        fairness.overstay(task, 3);
        assert!(fairness.allows(task, &enabled) && !fairness.restrains());
        for _ in 0..64 {
            assert!(fairness.overstays(task, 1));
            fairness.count_overstaying(task, YIELD_COST);
        }
        assert!(!fairness.overstays(task, 1));
        fairness.yielded(task, true, 200, &enabled, &none, |_| false);
        assert!(!fairness.allows(task, &enabled), "it gives way again");
        assert!(!fairness.may_overstay(task, 1));
        fairness.ran(other, 201);
        assert!(fairness.allows(task, &enabled) && fairness.may_overstay(task, 201));
    }
}
