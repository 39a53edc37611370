//! Sleep sets of `icb`: an execution needs fewer backtrack points if one of its turns could have
//! run earlier.
//!
//! A turn is a run of consecutive steps of one task. A sleep set contains tasks that need not run,
//! because another schedule covers their next turn (Godefroid 1996). A decision puts the tasks to
//! sleep whose choices come before the choice that it takes: other schedules take these choices. A
//! sleeping task wakes up at the first step that depends on its next turn. If a task still sleeps
//! when its turn begins, the turn could have run at the decision that put the task to sleep, with
//! the same effect.
//!
//! Single steps would not suffice: sleep sets of single steps are unsound under a bound on
//! preemptions (Coons, Musuvathi and McKinley, OOPSLA'13). A whole turn costs no more at the
//! earlier decision: that decision switches tasks in any case, and the end of the turn is
//! unchanged. The sleep sets are computed after an execution, because only then its turns are
//! known.
//!
//! Without a bound, sleep sets of single steps are sound: see `dpor/sleep_sets.rs`.

use core::ops::Range;

use super::{Icb, OUTCOMES, Point};
use crate::races::Race;
use crate::{Trace, TraceStep};
use chess_vocabulary::TaskId;

/// A turn of the last execution that could have run at an earlier decision, with the same effect
/// and no more preemptions.
pub(super) struct Repeat {
    /// The steps of the turn.
    pub(super) turn: Range<u32>,
    /// The decision at which the turn could have run.
    entry: SleepEntry,
}

/// A decision at which a task fell asleep.
struct SleepEntry {
    /// The index of the decision.
    place: u32,
    /// The choice of the task at the decision. It comes before the choice that was taken.
    choice: u32,
    /// The step that begins with the decision.
    from: u32,
}

/// The largest number of steps that [`Icb::open_initials`] inspects for a race. If there are more
/// steps, it may add backtrack points that are not needed.
const PATIENCE: u32 = 128;

impl Icb {
    /// The first turn of the execution that could have run earlier. Inspects the turn of the step
    /// `fresh` and all later turns. Returns `None` if the trace has timers.
    pub(super) fn find_repeat(&self, trace: &Trace, fresh: u32) -> Option<Repeat> {
        // With timers the cost of a switch depends on the other enabled tasks.
        if self.current.is_empty() || trace.has_timers {
            return None;
        }
        let count = trace.steps.len() as u32;
        let mut first = if fresh < count {
            self.happens_before.turn_of(fresh)
        } else {
            count
        };
        while first < count && trace.steps[first as usize].decision != TraceStep::NEVER {
            let is_same_turn = |&step: &u32| self.happens_before.turn_of(step) == first;
            let end = first + 1 + (first + 1..count).take_while(is_same_turn).count() as u32;
            let repeat = self.could_run_earlier(trace, first..end);
            if repeat.is_some() {
                return repeat;
            }
            first = end;
        }
        None
    }

    fn could_run_earlier(&self, trace: &Trace, turn: Range<u32>) -> Option<Repeat> {
        // The later operations of a step depend on the results of its first operation. The reads
        // at the end of an iteration that awaits depend on earlier reads. If a step of another
        // task changes these results, the execution does not show the races of these operations.
        // They are found only in executions to which the backtrack points of this execution lead.
        let steps = &trace.steps[turn.start as usize..turn.end as usize];
        if steps
            .iter()
            .any(|step| step.awaits || step.has_several_operations)
        {
            return None;
        }
        let task = trace.steps[turn.start as usize].task;
        let last = self.happens_before.previous(turn.start);
        let entry = self
            .sleep_entries(task, last, turn.start)
            .take_while(|it| it.from >= self.happens_before.known_of_others(turn.end - 1))
            .find(|it| self.costs_no_more(trace, it.from, &turn));
        entry.map(|entry| Repeat { turn, entry })
    }

    /// The decisions between the steps `last` and `until` at which `task` fell asleep, the latest
    /// first. `last` is the last step of `task` before `until`, or [`TraceStep::NONE`] to include
    /// all earlier decisions.
    fn sleep_entries(
        &self,
        task: TaskId,
        last: u32,
        until: u32,
    ) -> impl Iterator<Item = SleepEntry> {
        let begins = last.wrapping_add(1);
        let decisions = self.current.iter().rev();
        let deviations = decisions.map(|it| (it, self.points[it.index as usize]));
        deviations
            .skip_while(move |(_, point)| point.step >= until)
            .take_while(move |(_, point)| point.step >= begins)
            .filter(|(_, point)| point.options != OUTCOMES)
            .filter_map(move |(deviation, point)| {
                let options = &self.options[point.options as usize..];
                let taken = &options[..deviation.choice as usize];
                let choice = taken.iter().position(|&option| option == task)? as u32;
                let (place, from) = (deviation.index, point.step);
                Some(SleepEntry {
                    place,
                    choice,
                    from,
                })
            })
    }

    /// Whether the execution costs no more preemptions if `turn` runs before the step `from`. The
    /// turn must depend on no step from `from` to its start.
    fn costs_no_more(&self, trace: &Trace, from: u32, turn: &Range<u32>) -> bool {
        let steps = &trace.steps;
        if steps[from as usize..turn.end as usize]
            .iter()
            .any(|step| step.yields)
        {
            return false;
        }
        // If a switch was free, the task that ran before it could not continue. The move does not
        // change that, unless the turn conflicts with the next step of that task.
        (turn.end..steps.len() as u32).all(|next| {
            let previous = self.happens_before.previous(next);
            let mut others = match previous {
                TraceStep::NONE => 0..0,
                previous if turn.contains(&previous) => from..turn.start,
                previous if (from..turn.start).contains(&previous) => turn.clone(),
                _ => 0..0,
            };
            others.is_empty()
                || !steps[next as usize].comes_last
                    && !others.any(|other| conflict(trace, other, next))
        })
    }

    /// Removes the backtrack points that the execution with the earlier turn shows as well, and
    /// adds those that lead to that execution. Changes nothing if the number of backtrack points
    /// would not fall. `outcomes` contains the decisions that may have decided outcomes.
    pub(super) fn leave_out(&mut self, trace: &Trace, repeat: &Repeat, outcomes: Range<usize>) {
        let (count, shows_beyond) = (self.findings.backtrack_points.len(), self.shows_beyond);
        self.shows_beyond = self.beyond;
        self.open_outcomes(outcomes, repeat.turn.end);
        for at in 0..self.happens_before.races.len() {
            let race = self.happens_before.races[at];
            if !self.is_shown_earlier(trace, repeat, race) {
                self.open_for_race(trace, race);
            }
        }
        self.open_in_place_of(trace, repeat);
        let rest = self.backtrack_points_within(count);
        let all = self.backtrack_points_within(0) - rest;
        if rest < all {
            self.findings.backtrack_points.drain(..count);
        } else {
            self.findings.backtrack_points.truncate(count);
            self.shows_beyond = shows_beyond;
        }
    }

    /// Whether the execution with the earlier turn shows a race of this execution as well. Two
    /// conditions must hold. First, the second step of the race is in the turn or after it.
    /// Second, that step is in the turn, or happened after the first step of the turn, or another
    /// free choice is explored [in place of](Self::instead) the turn.
    fn is_shown_earlier(&self, trace: &Trace, repeat: &Repeat, race: Race) -> bool {
        let start = repeat.turn.start;
        race.second >= start
            && (self.instead(trace, repeat).is_some()
                || self.happens_before.precedes(start, race.second))
    }

    /// Adds the backtrack points that lead to the execution with the earlier turn, and to the
    /// executions that only this execution would lead to. The latter are at the start of the turn:
    /// the next free choice, and the tasks whose later steps race with a step of the turn.
    fn open_in_place_of(&mut self, trace: &Trace, repeat: &Repeat) {
        let Repeat { turn, entry } = repeat;
        self.add_backtrack_point(entry.place as usize, entry.choice);
        if let Some((place, choice)) = self.instead(trace, repeat) {
            self.add_backtrack_point(place, choice);
        }
        for at in 0..self.happens_before.races.len() {
            let Race { first, second, .. } = self.happens_before.races[at];
            if turn.contains(&first) {
                self.open_before(trace, turn.start, second);
            }
        }
    }

    /// The decision at the start of the turn, and the choice after the one that was taken there.
    /// `None` if one of the two choices costs a preemption, or if there is no such decision or
    /// choice.
    fn instead(&self, trace: &Trace, repeat: &Repeat) -> Option<(usize, u32)> {
        let TraceStep { task, decision, .. } = trace.steps[repeat.turn.start as usize];
        let point = self.points.get(decision as usize)?;
        let options = &self.options[point.options as usize..][..point.free as usize];
        let next = options.iter().position(|&option| option == task)? + 1;
        (next < options.len()).then_some((decision as usize, next as u32))
    }

    /// Adds further backtrack points at the decision `place` if the task of the step `second` may
    /// sleep there. A sleeping task is perhaps not chosen. Then the reversed order is reached only
    /// if another task runs first.
    ///
    /// Adds the initials: the tasks whose next step before `second` depends on no step of other
    /// tasks since the decision. If the search for initials is too expensive or would miss some,
    /// adds all choices that cost no more than the choice of the task of `second`.
    pub(super) fn open_initials(&mut self, trace: &Trace, place: usize, second: u32) {
        let TraceStep { task, .. } = trace.steps[second as usize];
        let start = self.points[place].step;
        if trace.has_timers || !self.may_sleep(task, second, start) {
            return;
        }
        let happens_before = &self.happens_before;
        let own = trace.steps[start as usize].task;
        let between = start + 1..second;
        let is_led_to = |step| {
            trace.steps[step as usize].task != own
                && happens_before.precedes(start, step)
                && happens_before.precedes(step, second)
        };
        if between.len() > PATIENCE as usize || between.clone().any(is_led_to) {
            self.open_like(place, task);
            return;
        }
        for step in between {
            let previous = self.happens_before.previous(step);
            let is_next = previous == TraceStep::NONE || previous < start;
            let TraceStep { task, .. } = trace.steps[step as usize];
            if is_next && task != own && self.happens_before.known_of_others(step) <= start {
                self.open_task(place, task);
            }
        }
    }

    /// Whether the task of the step `second` may have fallen asleep before the step `start`.
    fn may_sleep(&self, task: TaskId, second: u32, start: u32) -> bool {
        let mut last = self.happens_before.previous(second);
        for _ in 0..PATIENCE {
            if last == TraceStep::NONE || last < start {
                break;
            }
            last = self.happens_before.previous(last);
        }
        if last != TraceStep::NONE && last >= start {
            last = TraceStep::NONE;
        }
        self.sleep_entries(task, last, start).next().is_some()
    }

    /// Adds the choice of a task at a decision to the backtrack points, if the task was enabled.
    fn open_task(&mut self, place: usize, task: TaskId) {
        let Point { options, count, .. } = self.points[place];
        let options = &self.options[options as usize..][..count as usize];
        if let Some(choice) = options.iter().position(|&option| option == task) {
            self.add_backtrack_point(place, choice as u32);
        }
    }

    /// Adds all choices at a decision that cost no more than the choice of `task`.
    fn open_like(&mut self, place: usize, task: TaskId) {
        let Point {
            options,
            count,
            free,
            ..
        } = self.points[place];
        let is_free = self.options[options as usize..][..free as usize].contains(&task);
        for choice in 1..if is_free { free } else { count } {
            self.add_backtrack_point(place, choice);
        }
    }
}

/// Whether two steps have touches that do not commute.
fn conflict(trace: &Trace, one: u32, other: u32) -> bool {
    let (one, other) = (
        trace.touches_of(one as usize),
        trace.touches_of(other as usize),
    );
    one.iter().any(|touch| {
        let mut others = other.iter();
        others.any(|other| touch.object == other.object && !touch.effect.commutes(other.effect))
    })
}
