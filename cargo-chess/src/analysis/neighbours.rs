//! The schedules nearest to a failing one. Each is equal to the failing schedule up to a decision,
//! takes another choice at this decision, and has no preemptions after it.

use std::fmt::Write as _;

use crate::protocol::Decided;

/// A schedule that differs from another one at a decision.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Neighbour {
    /// The index of the decision.
    pub(crate) decision: usize,
    /// The choice at this decision: a task, or an outcome.
    pub(crate) instead: u32,
    /// The decisions of the schedule, up to and including [`Self::instead`]. After these
    /// decisions, no task is preempted.
    pub(crate) decisions: String,
}

/// The neighbours of the schedule with the decisions `decided`. The most informative ones come
/// first. The first group avoids a choice that costs a preemption. The second group replaces a
/// free choice by another free choice. The third group replaces a free choice by one that costs a
/// preemption. In each group, late decisions come before early ones.
pub(crate) fn of(decided: &[Decided]) -> impl Iterator<Item = Neighbour> + '_ {
    let ranks = 0..3;
    ranks.flat_map(move |rank| {
        let decisions = (0..decided.len()).rev();
        decisions.flat_map(move |decision| {
            let taken = place_of_taken(&decided[decision]);
            let options = 0..decided[decision].options.len();
            options
                .filter(move |&place| {
                    place != taken && rank_of(&decided[decision], taken, place) == Some(rank)
                })
                .map(move |place| neighbour(decided, decision, place))
        })
    })
}

fn place_of_taken(decided: &Decided) -> usize {
    let taken = decided.task.or(decided.outcome);
    let mut options = decided.options.iter();
    options
        .position(|option| Some(*option) == taken)
        .unwrap_or(0)
}

/// The rank of the neighbour that takes the option at `place` instead of the one at `taken`.
/// Neighbours of lower ranks are more informative. `None` if the resulting schedule is no
/// neighbour.
fn rank_of(decided: &Decided, taken: usize, place: usize) -> Option<u32> {
    let costs = |place: usize| place >= decided.free;
    match (costs(taken), costs(place)) {
        // The only neighbour at a preemption has no preemption there.
        (true, _) => (place == 0).then_some(0),
        (false, false) => Some(1),
        (false, true) => Some(2),
    }
}

fn neighbour(decided: &[Decided], decision: usize, place: usize) -> Neighbour {
    let at = &decided[decision];
    let instead = at.options[place];
    let before = decided[..decision].iter();
    let before = before.map(|it| (it.task.is_some(), it.task.or(it.outcome).unwrap_or(0)));
    let all: Vec<(bool, u32)> = before.chain([(at.task.is_some(), instead)]).collect();
    Neighbour {
        decision,
        instead,
        decisions: encoded(&all),
    }
}

/// The text of the decisions of a schedule, run-length encoded: `0*12 1*3 ?1 0`. Each element of
/// `decisions` has two values: whether the decision chooses a task, and the number of the chosen
/// task or outcome.
fn encoded(decisions: &[(bool, u32)]) -> String {
    let mut text = String::new();
    let mut rest = decisions;
    while let Some(&(is_task, number)) = rest.first() {
        let same = rest.iter().take_while(|it| **it == rest[0]).count();
        let (mark, run) = if is_task { ("", same) } else { ("?", 1) };
        let _ = write!(text, "{mark}{number}");
        if run > 1 {
            let _ = write!(text, "*{run}");
        }
        text.push(' ');
        rest = &rest[run..];
    }
    text.truncate(text.trim_end().len());
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    fn task(task: u32, free: usize, options: &[u32]) -> Decided {
        Decided {
            event: 0,
            task: Some(task),
            outcome: None,
            free,
            options: options.to_vec(),
        }
    }

    fn outcome(outcome: u32, outcomes: u32) -> Decided {
        Decided {
            event: 0,
            task: None,
            outcome: Some(outcome),
            free: outcomes as usize,
            options: (0..outcomes).collect(),
        }
    }

    #[test]
    fn preemptions_are_left_out_first_and_the_last_one_before_the_others() {
        let decided = [
            task(0, 2, &[0, 1]),
            task(1, 1, &[0, 1]),
            task(1, 1, &[1, 0]),
            task(0, 1, &[1, 0]),
            outcome(1, 2),
        ];
        let all: Vec<String> = of(&decided).map(|it| it.decisions).collect();
        assert_eq!(
            all,
            ["0 1*3", "0*2", "0 1*2 0 ?0", "1", "0 1 0"],
            "two preemptions, two free choices, one more preemption"
        );
    }

    #[test]
    fn a_schedule_without_a_choice_has_no_neighbour() {
        assert_eq!(of(&[]).next(), None);
    }
}
