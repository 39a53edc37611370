//! `pct`: random priorities with a few random changes (Burckhardt, Kothari, Musuvathi and
//! Nagarakatte, ASPLOS'10, section 3).
//!
//! Each task has a random priority, and the enabled task with the highest priority runs. At `d -
//! 1` random decisions, the priority of the next task drops below the priorities of all tasks that
//! have not dropped yet. If `d` orderings of steps suffice for a failure, an execution of depth
//! `d` finds the failure with a probability of at least `1 / (n * k^(d - 1))`. Here `n` is the
//! number of tasks, and `k` is the number of decisions of the execution. The depths 1, 2, ...
//! [`DEPTHS`] alternate. The search uses the `k` of the longest execution so far. Only points with
//! a choice count as decisions: if only one task can run, a drop has the same effect at the next
//! choice.

use super::random::is_unusual;
use super::sampler::{Rule, Sampler};
use super::{Ended, SchedulingPoint};
use crate::base::codec::kept_between_executions;
use crate::base::memory::{EngineVec, engine_vec};
use crate::base::rng::Rng;
use chess_vocabulary::{Op, TaskId};

/// The largest depth.
const DEPTHS: u64 = 5;

/// The priority of a task that has not been seen in this execution.
const UNSEEN: i64 = 0;
/// The lowest initial priority of a task.
const FIRST: i64 = 1 << 62;

/// The rank of a task in this execution.
#[derive(Clone, Copy)]
struct Rank {
    /// Initially random, and at least [`FIRST`]. After a change: the number of the change. After a
    /// yield: negative.
    priority: i64,
    /// The next operation of the task is a yield or a timed wait, and was handled: the priority
    /// was lowered for it, or deliberately kept.
    gave_way: bool,
}

/// The search.
pub type Pct = Sampler<Ranks>;

/// The ranks of the tasks in one execution, and counters of the earlier executions.
pub struct Ranks {
    /// The number of executions that did not diverge.
    executions: u64,
    /// The largest number of decisions between tasks in an execution.
    longest: u32,
    /// The tasks of this execution.
    tasks: EngineVec<Rank>,
    /// The decisions at which a priority drops. The new priority is the index in this list plus
    /// one.
    changes: EngineVec<u32>,
    points: u32,
    /// The priority of the task that yielded last.
    lowest: i64,
    last: Option<TaskId>,
}

impl Default for Ranks {
    fn default() -> Self {
        Self {
            executions: 0,
            longest: 0,
            tasks: engine_vec(),
            changes: engine_vec(),
            points: 0,
            lowest: UNSEEN,
            last: None,
        }
    }
}

impl Ranks {
    /// The depth of the current execution.
    fn depth(&self) -> u64 {
        self.executions % DEPTHS + 1
    }

    #[inline]
    fn rank(&mut self, rng: &mut Rng, task: TaskId) -> &mut Rank {
        let at = task.0 as usize;
        if at >= self.tasks.len() {
            let unseen = Rank {
                priority: UNSEEN,
                gave_way: false,
            };
            self.tasks.resize(at + 1, unseen);
        }
        let rank = &mut self.tasks[at];
        if rank.priority == UNSEEN {
            // A task that is seen for the first time gets a random place in the order.
            rank.priority = FIRST | (rng.next() >> 2).cast_signed();
        }
        rank
    }

    /// The index of the option whose task has the highest priority.
    #[inline]
    fn first(&mut self, rng: &mut Rng, options: &[TaskId]) -> usize {
        let (mut first, mut highest) = (0, i64::MIN);
        for (place, &task) in options.iter().enumerate() {
            let priority = self.rank(rng, task).priority;
            if priority > highest {
                (first, highest) = (place, priority);
            }
        }
        first
    }

    fn fall(&mut self, task: TaskId) {
        self.lowest -= 1;
        let at = task.0 as usize;
        self.tasks[at] = Rank {
            priority: self.lowest,
            gave_way: true,
        };
    }

    /// Lowers the priority of the task that yields at `point`, if any. With the highest priority,
    /// this task would spin for ever. Usually also lowers the priority of a task that begins a
    /// timed wait.
    #[inline]
    fn lower_yielding_task(&mut self, rng: &mut Rng, point: &SchedulingPoint<'_>) {
        let continues = point.options.first() == self.last.as_ref();
        if continues {
            return;
        }
        // The engine lists the yielding task as the last of the free options.
        let yielder = point.options[point.free as usize - 1];
        if point.free > 1 && !self.rank(rng, yielder).gave_way {
            let op = (point.pending)(yielder).op;
            let is_atomic = (Op::AtomicLoad as u8..Op::Fence as u8).contains(&(op as u8));
            let spins = self.last == Some(yielder) && is_atomic;
            if spins || matches!(op, Op::YieldNow | Op::SpinLoop) {
                self.fall(yielder);
            }
        }
        // Programs expect other tasks to run before a time limit expires. An early expiry has the
        // probability of an unusual outcome.
        if let Some(last) = self.last
            && !self.rank(rng, last).gave_way
            && is_timed((point.pending)(last).op)
        {
            if is_unusual(rng) {
                self.rank(rng, last).gave_way = true;
            } else {
                self.fall(last);
            }
        }
    }
}

/// Whether `op` waits with a time limit.
fn is_timed(op: Op) -> bool {
    matches!(
        op,
        Op::Sleep
            | Op::ParkTimeout
            | Op::CondvarWaitTimeout
            | Op::ChannelRecvTimeout
            | Op::Poll
            | Op::EpollWait
            | Op::PthreadMutexTimedLock
            | Op::PthreadCondTimedWait
            | Op::SemTimedWait
    )
}

impl Rule for Ranks {
    const NAME: &'static str = "pct";

    fn begin(&mut self, rng: &mut Rng) {
        self.tasks.clear();
        self.changes.clear();
        self.points = 0;
        self.lowest = UNSEEN;
        self.last = None;
        if self.longest > 0 {
            for _ in 1..self.depth() {
                let change = rng.below(self.longest.into());
                self.changes.push(change as u32);
            }
        }
    }

    #[inline]
    fn choose(&mut self, rng: &mut Rng, point: &SchedulingPoint<'_>) -> usize {
        self.lower_yielding_task(rng, point);
        for level in 0..self.changes.len() {
            if self.changes[level] == self.points {
                let first = self.first(rng, point.options);
                self.rank(rng, point.options[first]).priority = level as i64 + 1;
            }
        }
        self.points += 1;
        let chosen = self.first(rng, point.options);
        let task = point.options[chosen];
        self.rank(rng, task).gave_way = false;
        self.last = Some(task);
        chosen
    }

    fn learn(&mut self, execution: &Ended<'_>) {
        self.executions += 1;
        if !execution.is_cut {
            self.longest = self.longest.max(self.points);
        }
    }

    kept_between_executions!(executions, longest);
}

#[cfg(test)]
mod tests {
    use super::super::testing::{self, Act, Program};
    use super::super::{Past, Pending, Strategy};
    use super::*;
    use crate::Trace;

    /// The share of the executions of a depth that end with `value`, and the largest number of
    /// decisions of an execution of any depth.
    fn share(program: &Program, value: u64, depth: u64) -> (f64, u32) {
        let (mut hits, mut all, mut search) = (0.0, 0.0, Pct::new(7));
        for _ in 0..2000 * DEPTHS {
            search.begin();
            let at = search.rule.depth();
            let outcome = testing::execute(program, &mut search);
            if at == depth {
                all += 1.0;
                hits += f64::from(u8::from(outcome.end.values()[0] == value));
            }
        }
        (hits / all, search.rule.longest)
    }

    /// One task adds 20 times. The other task stores 100 if the value is `at`.
    fn needle(at: u64) -> Program {
        vec![vec![Act::Add(0); 20], vec![Act::Exchange(0, at, 100)]]
    }

    #[test]
    fn what_one_ordering_suffices_for_is_found_at_depth_1_once_in_n() {
        let (share, _) = share(&needle(0), 120, 1);
        assert!((0.46..0.54).contains(&share), "{share}");
    }

    #[test]
    fn what_two_orderings_suffice_for_is_found_at_depth_2_as_often_as_the_paper_says() {
        let (share, k) = share(&needle(10), 110, 2);
        let bound = 1.0 / (2.0 * f64::from(k));
        assert!(share > bound * 0.8, "{share} of at least {bound}");
        let at_depth_1 = self::share(&needle(10), 110, 1).0;
        assert!(at_depth_1 < f64::EPSILON, "{at_depth_1}");
    }

    #[test]
    fn a_task_that_yields_lets_others_go_first() {
        for seed in 0..50 {
            let mut search = Pct::new(seed);
            search.begin();
            let mut choose = |options: &[TaskId], free, op| {
                let chosen = search.choose_task(&SchedulingPoint {
                    index: 0,
                    options,
                    free,
                    may_overstay: false,
                    prefix: 0,
                    step: 0,
                    event: 0,
                    pending: &|task| Pending {
                        op: [op, Op::AtomicLoad][task.0 as usize],
                        object: 1,
                    },
                    past: Past {
                        trace: &Trace::new(),
                        name: &|_| 0,
                    },
                });
                options[chosen]
            };
            let [spinner, other] = [TaskId(0), TaskId(1)];
            for _ in 0..10 {
                let next = choose(&[other, spinner], 2, Op::YieldNow);
                assert_eq!(next, other);
                let next = choose(&[other, spinner], 1, Op::YieldNow);
                assert_eq!(next, other, "it stays behind");
            }
        }
    }
}
