//! The edits of a schedule that minimise its failing execution: first fewer early timeouts, then
//! fewer preemptions, fewer late effects, smaller choices of data, fewer switches and fewer steps,
//! with the same failure.
//!
//! Edits remove turns, let preempted tasks continue, and choose the ordinary outcome of an
//! operation or a smaller one (Jalbert and Sen, FSE'10). An edit is first applied to many places
//! at once, then to fewer (Zeller and Hildebrandt, TSE'02). An edit is kept if the execution still
//! fails in the same way and is smaller. The minimisation ends when no edit makes the execution
//! smaller, or when the runner stops it: `harness/minimise_failures.rs` runs the executions, and
//! limits their number.

use std::hash::{DefaultHasher, Hash, Hasher};
use std::ops::Range;

use super::guided_replay::{Plan, Turn};
use super::hash_set::HashSet;
use crate::base::memory::{EngineVec, engine_vec};

/// The cost of an execution. The numbers are compared in the order of the fields.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default, Debug)]
pub struct Cost {
    /// The number of preemptions, and of all other choices of the same cost.
    pub preemptions: u32,
    /// The number of late effects. Each of them also counts as a preemption.
    pub late_effects: u32,
}

/// The size of an execution. The numbers are compared in the order of the fields.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct Measure {
    /// The number of timeouts that fire while another task could run. Each of them also counts as
    /// a preemption.
    pub early: u32,
    /// The cost of its choices.
    pub cost: Cost,
    /// The sum of the test's choices of data.
    pub data: u64,
    /// The number of switches between tasks.
    pub switches: u64,
    /// The number of steps.
    pub steps: u64,
}

/// A failing execution, and the plan that leads to it.
#[derive(Clone, Debug)]
pub struct Failing {
    /// The plan.
    pub plan: Plan,
    /// The size of the execution.
    pub measure: Measure,
}

/// The result of an execution along a plan.
pub enum Answer {
    /// The same failure.
    Same(Failing),
    /// No failure, or another one.
    Other,
    /// The plan was not executed, because the budget is used up.
    Stop,
}

/// Returns the smallest execution that was found by edits of `first`. Ends early if `run` returns
/// [`Answer::Stop`].
pub fn minimise(first: Failing, run: &mut dyn FnMut(&Plan) -> Answer) -> Failing {
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
    /// The hashes of the plans that were tried.
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
            self.sweep(all_draws, draw_half);
            self.sweep(all_draws, draw_the_one_before);
            self.sweep(all_tasks, leave_out_task);
            self.sweep(all_turns, take_next_turn);
            self.move_turns();
            if self.stopped || self.best.measure == before {
                return;
            }
        }
    }

    /// Tries a plan. Returns whether it is the best one now.
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

    /// Tries prefixes of the plan, the shortest first. A long execution often fails early. And an
    /// execution that does not fail is often short, so that these attempts are cheap.
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

    /// Tries to move each turn before each earlier turn.
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

    /// Tries an edit at all places of the plan: first at many places at once, then at fewer. In
    /// each pass, the last places come first.
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

/// The turns that end with a preemption, or begin with an early timeout or an unfair continuation.
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

/// Lets the tasks of the turns continue instead of being preempted, and removes early timeouts and
/// unfair continuations.
fn run_on(plan: &mut Plan, places: &[u32]) {
    for &place in places {
        let turn = &mut plan.turns[place as usize];
        turn.exact = false;
        turn.early = false;
    }
}

/// Removes turns. The task of a removed turn takes its steps in its next turn.
fn leave_out(plan: &mut Plan, places: &[u32]) {
    keep_others(&mut plan.turns, places);
}

/// Removes all turns of some tasks. These tasks then run only if no other task can run.
fn leave_out_task(plan: &mut Plan, tasks: &[u32]) {
    plan.turns
        .retain(|turn| tasks.binary_search(&turn.task.0).is_err());
}

/// Merges the next turn of the same task into each of these turns.
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

/// Halves the outcomes. This is of use for choices of data, which are numbers.
fn draw_half(plan: &mut Plan, places: &[u32]) {
    change_outcomes(plan, places, |outcome| outcome / 2);
}

fn draw_the_one_before(plan: &mut Plan, places: &[u32]) {
    change_outcomes(plan, places, |outcome| outcome - 1);
}

fn change_outcomes(plan: &mut Plan, places: &[u32], change: fn(u32) -> u32) {
    for &place in places {
        let outcome = &mut plan.draws[place as usize].outcome;
        *outcome = change(*outcome);
    }
    plan.draws.retain(|draw| draw.outcome != 0);
}

#[cfg(test)]
mod tests {
    use std::cell::RefCell;
    use std::rc::Rc;

    use super::super::guided_replay::{GuidedReplay, GuidedReplayStrategy, Source};
    use super::super::testing::{self, Exhaustive, Final, Program};
    use super::super::{ChoicePoint, Decision, Ended, Progress, Random, SchedulingPoint, Strategy};
    use super::*;
    use crate::base::memory::EngineMemory;

    /// The number of random programs. One random execution of each program is minimised.
    const PROGRAMS: u64 = 300;

    /// Runs one execution along `source`.
    fn follow(program: &Program, source: Source) -> (Failing, Final) {
        let shared = Rc::new_in(RefCell::new(GuidedReplay::new(source)), EngineMemory);
        let mut search = GuidedReplayStrategy(Rc::clone(&shared));
        assert!(search.begin());
        let outcome = testing::execute(program, &mut search);
        let replay = shared.borrow();
        let measure = Measure {
            early: 0,
            cost: Cost {
                preemptions: outcome.preemptions,
                late_effects: 0,
            },
            data: outcome.data,
            switches: replay.switches(),
            steps: 0,
        };
        let plan = replay.plan().clone();
        (Failing { plan, measure }, outcome.end)
    }

    fn nothing() -> Plan {
        Plan {
            turns: engine_vec(),
            draws: engine_vec(),
        }
    }

    /// A random walk, and its schedule.
    struct Walk(Random, EngineVec<Decision>);

    impl Strategy for Walk {
        fn name(&self) -> &'static str {
            self.0.name()
        }

        fn begin(&mut self) -> bool {
            self.0.begin()
        }

        fn choose_task(&mut self, point: &SchedulingPoint<'_>) -> usize {
            let chosen = self.0.choose_task(point);
            self.1.push(Decision::Task(point.options[chosen]));
            chosen
        }

        fn choose_outcome(&mut self, point: &ChoicePoint<'_>) -> u32 {
            let outcome = self.0.choose_outcome(point);
            self.1.push(Decision::Outcome(outcome));
            outcome
        }

        fn end(&mut self, _: &Ended<'_>) {}

        fn progress(&self) -> Progress {
            self.0.progress()
        }
    }

    /// Executions of random programs by a random walk, and their ends.
    fn walks() -> impl Iterator<Item = (Program, Failing, Final)> {
        (0..PROGRAMS).map(|seed| {
            let program = if seed % 4 == 0 {
                testing::random_choices(seed)
            } else {
                testing::random_program(seed)
            };
            let mut walk = Walk(Random::new(seed), engine_vec());
            testing::execute(&program, &mut walk);
            let (found, end) = follow(&program, Source::Schedule(walk.1));
            (program, found, end)
        })
    }

    #[test]
    fn a_plan_leads_to_its_execution_again() {
        for (program, found, end) in walks() {
            let (again, same) = follow(&program, Source::Plan(found.plan.clone()));
            assert_eq!((again.measure, same), (found.measure, end), "{program:?}");
            assert_eq!(again.plan, found.plan);
        }
    }

    #[test]
    fn without_a_plan_nothing_is_preempted() {
        for (program, ..) in walks() {
            let (found, _) = follow(&program, Source::Plan(nothing()));
            assert_eq!(found.measure.cost.preemptions, 0);
            assert_eq!(found.plan, nothing());
        }
    }

    #[test]
    fn the_same_end_is_reached_with_the_fewest_preemptions_nearly_always() {
        let (mut fewest, mut all) = (0, 0);
        for (program, found, end) in walks() {
            let from = found.measure;
            let mut executions = 0;
            let smallest = minimise(found, &mut |plan| {
                executions += 1;
                let (found, other) = follow(&program, Source::Plan(plan.clone()));
                if other == end {
                    Answer::Same(found)
                } else {
                    Answer::Other
                }
            });
            assert!(smallest.measure <= from);
            assert!(executions < 2_000);
            let mut fewer = 0..smallest.measure.cost.preemptions;
            let has_fewer = fewer.any(|bound| {
                let explored = testing::explore(&program, &mut Exhaustive::new(bound));
                explored.ends.contains(&end)
            });
            all += 1;
            fewest += u64::from(!has_fewer);
        }
        // If the edits do not find the fewest preemptions, a search for fewer preemptions follows.
        assert!(fewest * 100 >= all * 95, "{fewest} of {all}");
    }

    #[test]
    fn it_stops_when_its_runner_does() {
        for (program, found, end) in walks().take(20) {
            let mut asked = 0;
            minimise(found, &mut |plan| {
                asked += 1;
                assert!(asked <= 3, "it was asked to stop");
                let (found, other) = follow(&program, Source::Plan(plan.clone()));
                match asked {
                    3 => Answer::Stop,
                    _ if other == end => Answer::Same(found),
                    _ => Answer::Other,
                }
            });
        }
    }
}
