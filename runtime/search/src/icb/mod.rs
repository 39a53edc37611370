//! `icb`: iterative context bounding (Musuvathi and Qadeer, PLDI'07).
//!
//! Every schedule with `c` preemptions runs before any schedule with `c + 1`. So the first failure
//! has the fewest preemptions. If a bound is finished without a failure, no schedule within this
//! bound fails.
//!
//! A schedule is a list of deviations from the default schedule. At each decision, the default
//! schedule takes the first option: the current task, if it is enabled and did not yield. Each
//! schedule runs once. A deviation is free if the current task is blocked or has yielded. Free
//! deviations are explored depth first within the bound. Deviations that cost a preemption are
//! queued, in order, for the next bound. The runtime decides which deviations are free
//! (`runtime/src/execution/preemption.rs`).
//!
//! Most decisions of an execution need no other choices (bounded partial-order reduction by Coons,
//! Musuvathi and McKinley, OOPSLA'13). Each race needs other choices at two decisions: before the
//! first step of the race, and at the start of the turn that contains this step. A turn is a run
//! of consecutive steps of one task. A switch at its start may cost less than a switch in its
//! middle. An execution needs fewer other choices if one of its turns only repeats a turn of
//! another schedule: see [`sleep_sets`].
//!
//! A timeout is a step of the waiting task. A timeout that fires while another task could run
//! costs as much as a preemption. So all choices of a decision that are not free have the same
//! cost. If the trace of an execution is incomplete, all choices at all its decisions are
//! explored. The trace is incomplete, for example, if fairness held a task back.

mod backtrack_points;
mod partition;
mod rounds;
mod sleep_sets;

use self::partition::Partition;
pub use self::partition::{Part, Share};
pub(crate) use self::rounds::Findings;
pub use self::rounds::{BacktrackPoint, Deviation, Listed};
use super::chunked_vec::{ChunkedVec, Plain};
use super::hash_set::{HashSet, RecentHashes};
use super::races::HappensBefore;
use super::{ChoicePoint, Ended, Outcomes, Progress, SchedulingPoint, Strategy};
use crate::base::codec::kept_between_executions;
use crate::base::memory::{EngineVec, engine_vec};
use chess_vocabulary::TaskId;

/// A schedule that was or will be run: the deviations of its parent, and one more. All schedules
/// form one tree, so that each one takes only a few bytes.
#[derive(Clone, Copy)]
#[repr(C)]
struct Node {
    parent: u32,
    /// The estimated share of this schedule and its descendants in the schedules of the bound.
    part: f32,
    deviation: Deviation,
}

// SAFETY: it consists of integers and a float, without padding.
unsafe impl Plain for Node {}
const _: () = assert!(size_of::<Node>() == 3 * size_of::<u64>());

/// The schedule without deviations: the root of the tree.
const DEFAULT: u32 = u32::MAX;

/// A decision of the current execution.
#[derive(Clone, Copy)]
struct Point {
    /// The index of a step. If the decision chose a task, the task performs this step next. If it
    /// chose an outcome, this is the step of the operation with the outcome.
    step: u32,
    count: u32,
    /// The first `free` choices cost nothing.
    free: u32,
    /// The number of preemptions before the decision.
    cost: u32,
    /// The index of its first option in [`Icb::options`], or [`OUTCOMES`].
    options: u32,
    prefix: u64,
}

impl Point {
    /// The number of choices that cost at most `bound` preemptions in all, without the default
    /// choice.
    fn others(&self, bound: u32) -> u32 {
        let within = if self.cost < bound {
            self.count
        } else {
            self.free
        };
        within - 1
    }
}

/// The value of [`Point::options`] if the decision chose the outcome of an operation. Outcomes are
/// not listed.
const OUTCOMES: u32 = u32::MAX;

/// The search, up to a largest preemption bound.
#[expect(clippy::struct_excessive_bools, reason = "independent facts")]
pub struct Icb {
    largest_bound: u32,
    bound: u32,
    completed: Option<u32>,
    nodes: ChunkedVec<Node>,
    /// The schedules that are left in this round. The last element runs next. Schedules that are
    /// found during the round run in a later round.
    round: EngineVec<u32>,
    /// The schedules of the round after `round`.
    ahead: EngineVec<u32>,
    rounds: u64,
    /// The schedules of this bound that are in no round yet. The last element runs next.
    now: EngineVec<u32>,
    /// The schedules of the next bound, in order.
    next: EngineVec<u32>,
    /// The number of schedules of this bound that were run.
    taken: u64,
    /// The estimated share of the schedules of this bound that were run.
    explored: f64,
    /// The largest length of `now` and of `next`. It equals the budget of executions.
    keep: usize,
    /// The lowest bound that cannot be finished, because some of its schedules were dropped.
    dropped: Option<u32>,
    /// A schedule beyond the largest bound is known to exist, so the search is not complete.
    beyond: bool,
    /// `beyond` is true, or the last execution shows that a schedule beyond the largest bound
    /// exists. One such schedule is enough: further ones are not recorded.
    shows_beyond: bool,
    /// The choices that were queued: for each one, a hash of the choice and of the execution
    /// before the choice ([`Deviation::name`]).
    opened: HashSet,
    happens_before: HappensBefore,
    /// The deviations of the schedule whose trace `happens_before` read last.
    last_read: EngineVec<Deviation>,
    /// Whether `happens_before` has read a trace.
    has_read: bool,
    /// The findings of the last execution.
    findings: Findings,
    /// The number of choices that must be explored, because executions have shown backtrack points
    /// for them. Only choices within the largest bound count, and no default choices.
    needed: u64,
    /// The number of all choices at the decisions of the executions, needed or not. Only choices
    /// within the largest bound count, and no default choices.
    possible: u64,
    /// The deviations of the running schedule.
    current: EngineVec<Deviation>,
    /// The node of each deviation of the running schedule.
    path: EngineVec<u32>,
    followed: usize,
    cost: u32,
    points: EngineVec<Point>,
    /// The options of all decisions between tasks, concatenated.
    options: EngineVec<TaskId>,
    diverged: bool,
    started: bool,
    /// The partition, if only a part of the space is explored.
    partition: Option<Partition>,
    /// The search explores no late effects: atomic operations meet only the newest stores.
    without_late_effects: bool,
    /// The highest permitted sum of the test's choices of data in an execution.
    most_data: u64,
    /// The sum of the test's choices of data in the current execution.
    data: u64,
    /// This is the search of a helper process. It finds backtrack points, and queues no schedules.
    only_finds: bool,
    /// In the search of a helper process: the round of the schedule that it runs.
    serves: u16,
    /// In the search of a helper process: the backtrack points that it recently reported to the
    /// search that it serves.
    reported: RecentHashes,
}

impl Icb {
    /// A search up to `largest_bound` preemptions that will run at most
    /// `budget` executions.
    pub fn new(largest_bound: u32, budget: u64) -> Self {
        Self {
            largest_bound,
            bound: 0,
            completed: None,
            nodes: ChunkedVec::new(),
            round: engine_vec(),
            ahead: engine_vec(),
            rounds: 0,
            now: engine_vec(),
            next: engine_vec(),
            taken: 0,
            explored: 0.0,
            keep: usize::try_from(budget).unwrap_or(usize::MAX),
            dropped: None,
            beyond: false,
            shows_beyond: false,
            opened: HashSet::new(),
            happens_before: HappensBefore::new(true),
            last_read: engine_vec(),
            has_read: false,
            findings: Findings {
                backtrack_points: engine_vec(),
                possible: 0,
            },
            needed: 0,
            possible: 0,
            current: engine_vec(),
            path: engine_vec(),
            followed: 0,
            cost: 0,
            points: engine_vec(),
            options: engine_vec(),
            diverged: false,
            started: false,
            partition: None,
            without_late_effects: false,
            most_data: u64::MAX,
            data: 0,
            only_finds: false,
            serves: 0,
            reported: RecentHashes::new(),
        }
    }

    /// Restricts the search to sequentially consistent executions: operations meet only the newest
    /// stores.
    pub fn without_late_effects(mut self) -> Self {
        self.without_late_effects = true;
        self
    }

    /// Restricts the search to executions whose choices of data have a lower sum than `data`.
    pub fn with_less_data(mut self, data: u64) -> Self {
        self.most_data = data.saturating_sub(1);
        self
    }

    /// Records the decision `point`. Returns the choice that the schedule prescribes there, or the
    /// default choice 0.
    #[inline]
    fn decide(&mut self, mut point: Point) -> u32 {
        point.cost = self.cost;
        let index = self.points.len() as u32;
        self.points.push(point);
        let Some(deviation) = self.current.get(self.followed) else {
            return 0;
        };
        if deviation.index != index {
            return 0;
        }
        self.followed += 1;
        self.diverged |= deviation.prefix != point.prefix || deviation.choice >= point.count;
        let choice = deviation.choice.min(point.count - 1);
        self.cost += u32::from(choice >= point.free);
        choice
    }

    /// Makes `current` the deviations of the schedule `node`, which runs next.
    fn unfold(&mut self, node: u32) {
        let Node {
            parent, deviation, ..
        } = self.nodes[node as usize];
        // In most cases the parent is the last schedule, or an ancestor of the last schedule.
        if let Some(place) = self.path.iter().rposition(|&it| it == parent) {
            self.path.truncate(place + 1);
            self.current.truncate(place + 1);
        } else {
            self.climb_from(parent);
        }
        self.path.push(node);
        self.current.push(deviation);
    }

    fn climb_from(&mut self, mut node: u32) {
        self.current.clear();
        self.path.clear();
        while node != DEFAULT {
            self.path.push(node);
            let Node {
                parent, deviation, ..
            } = self.nodes[node as usize];
            self.current.push(deviation);
            node = parent;
        }
        self.current.reverse();
        self.path.reverse();
    }
}

impl Strategy for Icb {
    fn name(&self) -> &'static str {
        "icb"
    }

    fn begin(&mut self) -> bool {
        self.retry();
        if !core::mem::replace(&mut self.started, true) {
            self.count_for_part();
            return true;
        }
        while self.round.is_empty() && self.ahead.is_empty() && self.now.is_empty() {
            if self.dropped.is_none_or(|bound| self.bound < bound) {
                self.completed = Some(self.bound);
            }
            if self.next.is_empty() || self.bound == self.largest_bound {
                return false;
            }
            self.bound += 1;
            core::mem::swap(&mut self.now, &mut self.next);
            self.now.reverse();
            self.divide();
            self.begin_bound();
        }
        if self.round.is_empty() {
            self.fill_round();
        }
        let next = self.round.pop().expect("not empty");
        self.unfold(next);
        self.count_for_part();
        true
    }

    #[inline]
    fn choose_task(&mut self, point: &SchedulingPoint<'_>) -> usize {
        let options = self.options.len() as u32;
        // There are few options, and a loop is faster than a block copy.
        for &option in point.options {
            self.options.push(option);
        }
        self.decide(Point {
            step: point.step,
            count: point.options.len() as u32,
            free: point.free,
            cost: 0,
            options,
            prefix: point.prefix,
        }) as usize
    }

    #[inline]
    fn choose_outcome(&mut self, point: &ChoicePoint<'_>) -> u32 {
        let count = match point.kind {
            Outcomes::Late(_) if self.without_late_effects => 1,
            Outcomes::Data => {
                let left = u32::try_from(self.most_data - self.data).unwrap_or(u32::MAX);
                point.outcomes.min(left.saturating_add(1))
            }
            _ => point.outcomes,
        };
        let outcome = self.decide(Point {
            step: point.past.trace.steps.len() as u32 - 1,
            count,
            free: if point.costs() { 1 } else { point.outcomes },
            cost: 0,
            options: OUTCOMES,
            prefix: point.prefix,
        });
        if matches!(point.kind, Outcomes::Data) {
            self.data += u64::from(outcome);
        }
        outcome
    }

    fn retry(&mut self) {
        self.followed = 0;
        self.cost = 0;
        self.data = 0;
        self.points.clear();
        self.options.clear();
        self.diverged = false;
    }

    fn end(&mut self, execution: &Ended<'_>) {
        self.findings.backtrack_points.clear();
        self.findings.possible = 0;
        if !execution.diverged {
            self.expand(execution);
        }
        if self.only_finds {
            self.leave_out_known();
            return;
        }
        let backtrack_points =
            core::mem::replace(&mut self.findings.backtrack_points, engine_vec());
        self.learn(&backtrack_points, self.findings.possible);
        self.findings.backtrack_points = backtrack_points;
    }

    fn wants_trace(&self) -> bool {
        true
    }

    fn share(&self) -> Option<Share> {
        self.share_of_part()
    }

    fn as_icb(&mut self) -> Option<&mut Icb> {
        Some(self)
    }

    /// The explored part of the current bound, not of the whole space.
    fn explored(&self) -> Option<f64> {
        Some(self.explored.min(1.0))
    }

    fn diverged(&self) -> bool {
        self.diverged || self.followed < self.current.len()
    }

    fn progress(&self) -> Progress {
        let queues = [&self.round, &self.ahead, &self.now, &self.next];
        let finished = queues.iter().all(|queue| queue.is_empty());
        Progress {
            bound: Some(self.bound),
            bound_completed: self.completed,
            pruned: self.possible.saturating_sub(self.needed),
            complete: finished
                && !self.beyond
                && self.dropped.is_none()
                && self.completed.is_some(),
            delays_completed: None,
        }
    }

    kept_between_executions!(
        bound, completed, nodes, round, ahead, rounds, now, next, taken, explored, keep, dropped,
        beyond, needed, possible, started, partition;
        write_opened, read_opened
    );
}

#[cfg(test)]
mod tests;
#[cfg(test)]
mod wait_tests;
