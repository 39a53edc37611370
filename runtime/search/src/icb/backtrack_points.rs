//! Backtrack points: the decisions of an execution at which another choice must be explored.

use core::ops::Range;

use super::{BacktrackPoint, Deviation, Icb, OUTCOMES, Point};
use crate::races::Race;
use crate::{Ended, Trace};

impl Icb {
    /// Records the backtrack points of the last execution in the findings.
    pub(super) fn expand(&mut self, execution: &Ended<'_>) {
        // The decisions and steps before the last deviation are those of the parent schedule. The
        // execution of the parent has shown their backtrack points.
        let last = self
            .current
            .last()
            .map(|deviation| deviation.index as usize);
        let fresh = last.map_or(0, |index| index + 1);
        let fresh_step = last.map_or(0, |index| self.points[index].step as usize);
        let largest = self.largest_bound;
        let (mut possible, mut has_outcomes) = (0, false);
        for point in &self.points[fresh..] {
            possible += u64::from(point.others(largest));
            has_outcomes |= point.options == OUTCOMES;
        }
        self.findings.possible = possible;
        self.shows_beyond = self.beyond;
        if execution.is_cut || execution.past.trace.is_irregular {
            for place in 0..self.points.len() {
                self.open_all(place);
            }
            return;
        }
        let trace = execution.past.trace;
        let shared = self.shared_steps();
        self.happens_before.read_on(trace, shared, fresh_step);
        let outcomes = if has_outcomes {
            fresh..self.points.len()
        } else {
            0..0
        };
        self.open_outcomes(outcomes.clone(), u32::MAX);
        for at in 0..self.happens_before.races.len() {
            self.open_for_race(trace, self.happens_before.races[at]);
        }
        if self.backtrack_points_within(0) > 0
            && let Some(repeat) = self.find_repeat(trace, fresh_step as u32)
        {
            self.leave_out(trace, &repeat, outcomes);
        }
    }

    /// The number of backtrack points, from index `from` on, within the largest bound.
    pub(super) fn backtrack_points_within(&self, from: usize) -> usize {
        let backtrack_points = self.findings.backtrack_points[from..].iter();
        backtrack_points
            .filter(|point| point.cost <= self.largest_bound)
            .count()
    }

    /// Adds the backtrack points that reverse a race, if the reversal matters.
    pub(super) fn open_for_race(&mut self, trace: &Trace, race: Race) {
        // A switch before the first step of the race may be a preemption, while a switch at the
        // start of the turn of this step may be free. So both are added (Coons, Musuvathi and
        // McKinley, OOPSLA'13).
        let (first, turn) = (race.first, self.happens_before.turn_of(race.first));
        let matters = !race.waits
            || (self.may_backtrack_before(trace, first) || self.may_backtrack_before(trace, turn))
                && self.happens_before.matters(trace, race);
        if matters {
            if !self.begins_without_accesses(trace, turn, first) {
                self.open_before(trace, first, race.second);
            }
            if turn != first {
                self.open_before(trace, turn, race.second);
            }
        }
    }

    /// Adds all other outcomes of operations to the backtrack points. Only the decisions at
    /// `places` that belong to steps before `end` count.
    pub(super) fn open_outcomes(&mut self, places: Range<usize>, end: u32) {
        for place in places {
            let Point { options, step, .. } = self.points[place];
            if options == OUTCOMES && step < end {
                self.open_all(place);
            }
        }
    }

    /// Whether the steps of a turn before the step `first` touch nothing, and equally many tasks
    /// could run at the start of the turn and before `first`. Then a switch at the start of the
    /// turn has the same results as a switch before `first`, and costs no more.
    fn begins_without_accesses(&self, trace: &Trace, turn: u32, first: u32) -> bool {
        let touches_nothing = |step: u32| trace.touches_of(step as usize).is_empty();
        let options = |step: u32| {
            let decision = trace.steps[step as usize].decision;
            self.points.get(decision as usize).map(|point| point.count)
        };
        turn != first
            && !trace.has_timers
            && (turn..first).all(touches_nothing)
            && options(turn) == options(first)
    }

    /// Whether a backtrack point at the decision before a step may be of use. It is of no use if
    /// all other choices are beyond the largest bound, and a choice beyond this bound is already
    /// known.
    fn may_backtrack_before(&self, trace: &Trace, step: u32) -> bool {
        let place = trace.steps[step as usize].decision;
        let point = self.points.get(place as usize);
        point.is_some_and(|point| !self.shows_beyond || point.others(self.largest_bound) > 0)
    }

    /// Adds a backtrack point at the decision before `step`: the choice of the task of `second`.
    /// Adds nothing if there was no decision, or if the backtrack point would be of no use.
    pub(super) fn open_before(&mut self, trace: &Trace, step: u32, second: u32) {
        if self.may_backtrack_before(trace, step) {
            let place = trace.steps[step as usize].decision;
            self.open_for(trace, place as usize, second);
        }
    }

    /// Returns the number of steps that the running schedule shares with the schedule whose trace
    /// was read last. Then records the running schedule as the last one that was read.
    fn shared_steps(&mut self) -> usize {
        let (last, current) = (&self.last_read, &self.current);
        let same = |(one, other): &(&Deviation, &Deviation)| one == other;
        let common = last.iter().zip(current).take_while(same).count();
        let next = [last, current].map(|list| list.get(common));
        let parted = next.iter().flatten().map(|deviation| deviation.index).min();
        let parting = parted.and_then(|index| self.points.get(index as usize));
        let steps = parting
            .filter(|_| self.has_read)
            .map_or(0, |point| point.step as usize);
        self.last_read.truncate(common);
        self.last_read.extend_from_slice(&self.current[common..]);
        self.has_read = true;
        steps
    }

    /// Adds a backtrack point at the decision `place`: the choice of the task of the step
    /// `second`. Adds all choices if that task was not enabled, or if the trace has timers and the
    /// choice costs a preemption. With timers, a timeout at this decision costs no more than the
    /// preemption, and a switch to any task is free after the task that timed out has ended.
    fn open_for(&mut self, trace: &Trace, place: usize, second: u32) {
        let task = trace.steps[second as usize].task;
        let Point {
            options,
            count,
            free,
            ..
        } = self.points[place];
        let options = &self.options[options as usize..][..count as usize];
        match options.iter().position(|&option| option == task) {
            Some(choice) if !trace.has_timers || (choice as u32) < free => {
                self.add_backtrack_point(place, choice as u32);
                self.open_initials(trace, place, second);
            }
            _ => self.open_all(place),
        }
    }

    fn open_all(&mut self, place: usize) {
        for choice in 1..self.points[place].count {
            self.add_backtrack_point(place, choice);
        }
    }

    /// Records that a choice at a decision must be explored.
    #[inline]
    pub(super) fn add_backtrack_point(&mut self, place: usize, choice: u32) {
        if choice == 0 {
            return;
        }
        let Point {
            cost, free, prefix, ..
        } = self.points[place];
        let cost = cost + u32::from(choice >= free);
        let is_beyond = cost > self.largest_bound;
        if is_beyond && core::mem::replace(&mut self.shows_beyond, true) {
            return;
        }
        let deviation = Deviation {
            index: place as u32,
            choice,
            prefix,
        };
        self.findings
            .backtrack_points
            .push(BacktrackPoint { deviation, cost });
    }
}
