//! Minimisation: fewer preemptions, then fewer switches, then fewer steps, and the same failure.
//!
//! Edits leave turns out, let preempted tasks run on, and take the ordinary outcome
//! of an operation: many at once first, then fewer (Zeller and Hildebrandt, TSE'02;
//! the edits are those of Jalbert and Sen, FSE'10). An edit stays if the execution
//! still fails in the same way and is smaller. It ends where no edit makes it
//! smaller, or where its runner says so.

use std::hash::{DefaultHasher, Hash, Hasher};
use std::ops::Range;

use super::follow::{Plan, Turn};
use super::hash_set::HashSet;
use crate::platform::memory::{EngineVec, engine_vec};

/// How large an execution is, what counts most first.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(crate) struct Measure {
    pub(crate) preemptions: u32,
    pub(crate) switches: u64,
    pub(crate) steps: u64,
}

/// An execution that fails, and what leads to it.
#[derive(Clone, Debug)]
pub(crate) struct Failing {
    pub(crate) plan: Plan,
    pub(crate) measure: Measure,
}

/// What came of following a plan.
pub(crate) enum Answer {
    /// The same failure.
    Same(Failing),
    /// None, or another one.
    Other,
    /// The plan was not followed: the budget is used up.
    Stop,
}

/// The smallest execution that edits of `first` lead to, as far as `run` goes.
pub(crate) fn minimise(first: Failing, run: &mut dyn FnMut(&Plan) -> Answer) -> Failing {
    let mut shrink = Shrink {
        best: first,
        run,
        tried: HashSet::new(),
        stopped: false,
    };
    shrink.edit();
    shrink.best
}

struct Shrink<'a> {
    best: Failing,
    run: &'a mut dyn FnMut(&Plan) -> Answer,
    /// Hashes of the plans that were followed.
    tried: HashSet,
    stopped: bool,
}

impl Shrink<'_> {
    fn edit(&mut self) {
        self.cut_off();
        loop {
            let before = self.best.measure;
            self.sweep(exact_turns, run_on);
            self.sweep(all_turns, leave_out);
            self.sweep(all_draws, draw_ordinarily);
            self.sweep(all_tasks, leave_out_task);
            self.sweep(all_turns, take_next_turn);
            self.move_turns();
            if self.stopped || self.best.measure == before {
                return;
            }
        }
    }

    /// Tries a plan; whether it is the best one now.
    fn attempt(&mut self, plan: &Plan) -> bool {
        let mut hasher = DefaultHasher::new();
        plan.hash(&mut hasher);
        if self.stopped || !self.tried.insert(hasher.finish()) {
            return false;
        }
        match (self.run)(plan) {
            Answer::Same(found) if found.measure < self.best.measure => {
                self.best = found;
                true
            }
            Answer::Same(_) | Answer::Other => false,
            Answer::Stop => {
                self.stopped = true;
                false
            }
        }
    }

    /// Follows the plan only a little: a long execution often fails early, and what
    /// does not fail is often short.
    fn cut_off(&mut self) {
        let mut kept = 0;
        while kept < self.best.plan.turns.len() {
            let mut plan = self.best.plan.clone();
            plan.turns.truncate(kept);
            if self.attempt(&plan) {
                return;
            }
            kept = (kept * 2).max(1);
        }
    }

    /// Moves each turn before each earlier one.
    fn move_turns(&mut self) {
        let mut from = 1;
        while from < self.best.plan.turns.len() && !self.stopped {
            for to in (0..from).rev() {
                let mut plan = self.best.plan.clone();
                let Some(turn) = plan.turns.get(from).copied() else {
                    break;
                };
                plan.turns.remove(from);
                plan.turns.insert(to, turn);
                self.attempt(&plan);
            }
            from += 1;
        }
    }

    /// Edits each of the plan's places, many at once first, the last ones first.
    fn sweep(&mut self, places: fn(&Plan) -> EngineVec<u32>, edit: fn(&mut Plan, &[u32])) {
        let mut size = places(&self.best.plan).len();
        while size > 0 && !self.stopped {
            let mut end = usize::MAX;
            loop {
                let all = places(&self.best.plan);
                end = end.min(all.len());
                let chosen: Range<usize> = end.saturating_sub(size)..end;
                if chosen.is_empty() {
                    break;
                }
                let mut plan = self.best.plan.clone();
                edit(&mut plan, &all[chosen.clone()]);
                self.attempt(&plan);
                end = chosen.start;
            }
            size /= 2;
        }
    }
}

fn numbers(count: usize) -> EngineVec<u32> {
    let mut all = engine_vec();
    all.extend(0..count as u32);
    all
}

fn all_turns(plan: &Plan) -> EngineVec<u32> {
    numbers(plan.turns.len())
}

fn all_draws(plan: &Plan) -> EngineVec<u32> {
    numbers(plan.draws.len())
}

fn all_tasks(plan: &Plan) -> EngineVec<u32> {
    let last = plan.turns.iter().map(|turn| turn.task.0 as usize).max();
    numbers(last.map_or(0, |last| last + 1))
}

/// The turns that end with a preemption, or begin with an early timeout.
fn exact_turns(plan: &Plan) -> EngineVec<u32> {
    let mut all = numbers(plan.turns.len());
    all.retain(|&at| {
        let turn = &plan.turns[at as usize];
        turn.exact || turn.early
    });
    all
}

fn keep_others<T>(items: &mut EngineVec<T>, places: &[u32]) {
    let mut at = 0;
    items.retain(|_| {
        at += 1;
        places.binary_search(&(at - 1)).is_err()
    });
}

/// The task does not give way where it could run on.
fn run_on(plan: &mut Plan, places: &[u32]) {
    for &place in places {
        let turn = &mut plan.turns[place as usize];
        turn.exact = false;
        turn.early = false;
    }
}

/// What the task would have done it does in its next turn.
fn leave_out(plan: &mut Plan, places: &[u32]) {
    keep_others(&mut plan.turns, places);
}

/// The task runs where no other can.
fn leave_out_task(plan: &mut Plan, tasks: &[u32]) {
    plan.turns
        .retain(|turn| tasks.binary_search(&turn.task.0).is_err());
}

/// What the task does in its next turn it does in this one already.
fn take_next_turn(plan: &mut Plan, places: &[u32]) {
    for &place in places.iter().rev() {
        let (before, after) = plan.turns.split_at_mut(place as usize + 1);
        let turn = &mut before[place as usize];
        if let Some(next) = after.iter().position(|next| next.task == turn.task) {
            let Turn { until, exact, .. } = after[next];
            turn.until = until;
            turn.exact = exact;
            plan.turns.remove(place as usize + 1 + next);
        }
    }
}

fn draw_ordinarily(plan: &mut Plan, places: &[u32]) {
    keep_others(&mut plan.draws, places);
}
