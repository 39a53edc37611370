//! Tests of `icb` against brute force.

use std::collections::{BTreeMap, BTreeSet};

use super::super::testing::{self, Act, Explored, Program};
use super::*;

/// Two tasks that modify the same value.
fn rivals(steps: usize) -> Program {
    vec![vec![Act::Add(0); steps]; 2]
}

#[test]
fn each_schedule_is_run_once_and_fewer_preemptions_come_first() {
    let program = rivals(3);
    let mut search = Icb::new(10, u64::MAX);
    let (mut costs, mut graphs) = (Vec::new(), std::collections::BTreeSet::new());
    while search.begin() {
        let outcome = testing::execute(&program, &mut search);
        costs.push(outcome.preemptions);
        graphs.insert(outcome.graph);
    }
    assert!(costs.is_sorted());
    assert_eq!(costs.len(), 20, "6 choose 3 interleavings");
    assert_eq!(graphs.len(), 20);
    assert!(search.progress().complete);
}

#[test]
fn a_bound_holds() {
    let program = rivals(4);
    for bound in 0..4 {
        let mut search = Icb::new(bound, u64::MAX);
        while search.begin() {
            assert!(testing::execute(&program, &mut search).preemptions <= bound);
        }
        assert_eq!(search.progress().bound_completed, Some(bound));
        assert!(!search.progress().complete);
    }
}

/// Whether the search misses an end or a graph of `program` with up to `bound` preemptions.
pub(super) fn misses(program: &Program, all: &Explored, bound: u32) -> bool {
    !all.is_as(&testing::explore(program, &mut Icb::new(bound, u64::MAX)))
}

/// All ends and graphs of a program with up to `bound` preemptions.
pub(super) fn all(program: &Program, bound: u32) -> Option<Explored> {
    testing::explore_all(program, bound, 2_000)
}

#[test]
fn every_graph_and_every_end_within_a_bound_is_reached() {
    let mixed = testing::seeds().map(|seed| (seed, testing::random_program(seed)));
    let sections = testing::seeds().step_by(4);
    let sections = sections.map(|seed| (seed, testing::random_sections(seed)));
    let choices = testing::seeds().step_by(4);
    let choices = choices.map(|seed| (seed, testing::random_choices(seed)));
    reaches_all(mixed.chain(sections).chain(choices));
}

/// The ends also show whether two calls overlap that must not.
#[test]
fn every_graph_and_every_end_within_a_bound_is_reached_with_calls() {
    let calls = testing::seeds().step_by(2);
    reaches_all(calls.map(|seed| (seed, testing::random_calls(seed))));
}

/// All steps come before the end of an idle wait.
#[test]
fn every_graph_and_every_end_within_a_bound_is_reached_with_idle_waits() {
    let idle = testing::seeds().map(|seed| (seed, testing::random_idle_waits(seed)));
    reaches_all(idle);
}

/// The last task receives the only message only if it comes before the second task. The executions
/// in which the second task receives it must show this race, although the first task tries to
/// receive afterwards.
#[test]
fn a_step_after_an_idle_wait_hides_no_race_of_a_blocked_task() {
    let program = vec![
        vec![Act::Send(0), Act::UntilIdle, Act::TryRecv(0)],
        vec![Act::Recv(0)],
        vec![Act::Recv(0), Act::Add(0)],
    ];
    reaches_all([(0, program)].into_iter());
}

/// In these programs, the later operations of a step, and the reads at the end of an iteration that
/// awaits, depend on the results of earlier operations.
#[test]
fn every_graph_and_every_end_within_a_bound_is_reached_with_long_steps() {
    let long = testing::seeds().map(|seed| (seed, testing::random_long_steps(seed)));
    reaches_all(long);
}

/// Checks that no graph and no end of these programs within a bound is missed.
fn reaches_all(programs: impl Iterator<Item = (u64, Program)>) {
    for (seed, program) in programs {
        for bound in 0..=3 {
            let Some(all_of_it) = all(&program, bound) else {
                break;
            };
            let smallest = || {
                testing::shrink(&program, |program| {
                    all(program, bound).is_some_and(|all| misses(program, &all, bound))
                })
            };
            let missed = misses(&program, &all_of_it, bound);
            assert!(!missed, "seed {seed}, bound {bound}: {:?}", smallest());
        }
    }
}

/// A yield immediately after another yield of the same task is no scheduling point: every
/// execution that it allows is also possible with the first yield alone, with no more preemptions.
#[test]
fn yields_with_nothing_between_them_are_as_one() {
    let mut shorter = 0;
    for seed in testing::seeds() {
        let mut program = testing::random_program(seed);
        let mut rng = crate::base::rng::Rng::new(seed);
        for acts in &mut program {
            let place = rng.below(1 + acts.len() as u64) as usize;
            let count = rng.below(4) as usize;
            acts.splice(place..place, vec![Act::Yield; count]);
        }
        let mut each = program.clone();
        for act in each.iter_mut().flatten() {
            if *act == Act::Yield {
                *act = Act::GiveWay;
            }
        }
        for bound in 0..=2 {
            let (Some(all_of_it), Some(each)) = (all(&program, bound), all(&each, bound)) else {
                break;
            };
            let is_same = each.is_as(&all_of_it);
            assert!(is_same, "seed {seed}, bound {bound}: {program:?}");
            let smallest = || {
                testing::shrink(&program, |program| {
                    all(program, bound).is_some_and(|all| misses(program, &all, bound))
                })
            };
            let missed = misses(&program, &all_of_it, bound);
            assert!(!missed, "seed {seed}, bound {bound}: {:?}", smallest());
            shorter += u64::from(all_of_it.executions < each.executions);
        }
    }
    assert!(shorter > 0, "there are programs that yield in silence");
}

/// Explores a program in parts, with the earliest possible partition.
fn in_parts(program: &Program, bound: u32, count: u32) -> Vec<(Icb, Explored)> {
    let part = |index| {
        let mut search = Icb::new(bound, u64::MAX).of_early_part(Part { index, count });
        let explored = testing::explore(program, &mut search);
        (search, explored)
    };
    (0..count).map(part).collect()
}

/// The number of schedules that the parts explore. Schedules of several parts count once.
fn counted_once(parts: &[(Icb, Explored)]) -> u64 {
    let shares: Vec<Share> = parts
        .iter()
        .filter_map(|(search, _)| search.share())
        .collect();
    let all: u64 = parts.iter().map(|(_, explored)| explored.executions).sum();
    let late = || shares.iter().flat_map(|share| share.late.iter().copied());
    let once: BTreeMap<u64, u64> = late().collect();
    let named: u64 = late().map(|unit| unit.1).sum();
    all - shares[0].shared * (shares.len() as u64 - 1) - named + once.values().sum::<u64>()
}

#[test]
fn parts_explore_together_the_schedules_of_one_search() {
    for seed in testing::seeds().take(300) {
        let program = testing::random_program(seed);
        for bound in [1, 2, 3] {
            let mut search = Icb::new(bound, u64::MAX);
            let whole = testing::explore(&program, &mut search);
            for count in [2, 3, 5] {
                let parts = in_parts(&program, bound, count);
                let named = format!("seed {seed}, bound {bound}, {count} parts: {program:?}");
                assert_eq!(counted_once(&parts), whole.executions, "{named}");
                let ends = parts.iter().flat_map(|(_, part)| part.ends.clone());
                assert_eq!(ends.collect::<BTreeSet<_>>(), whole.ends, "{named}");
                let progress = || parts.iter().map(|(part, _)| part.progress());
                let all = search.progress();
                assert_eq!(progress().all(|it| it.complete), all.complete, "{named}");
                let unfinished = progress().filter(|it| !it.complete);
                if let Some(bound) = unfinished.map(|it| it.bound_completed).min() {
                    assert_eq!(bound, all.bound_completed, "{named}");
                }
                for (part, _) in &parts {
                    let share = part.share().expect("it is a part");
                    assert!(share.bound_completed <= all.bound_completed, "{named}");
                }
            }
        }
    }
}

#[test]
fn parts_share_the_work() {
    let program = vec![vec![Act::Add(0); 5]; 3];
    let whole = testing::explore(&program, &mut Icb::new(4, u64::MAX)).executions;
    for count in [2, 4] {
        for index in 0..count {
            let mut search = Icb::new(4, u64::MAX).of_part(Part { index, count });
            let part = testing::explore(&program, &mut search).executions;
            assert!(
                part * u64::from(count) < whole * 3 / 2,
                "{part} of {whole} are too much for one of {count}"
            );
        }
    }
}

#[test]
fn a_task_that_continues_after_a_yield_begins_a_turn() {
    let program = vec![
        vec![Act::Yield, Act::Choose(2), Act::Store(1, 3)],
        vec![Act::Await(1, 1)],
        vec![Act::Await(1, 1)],
    ];
    let all = all(&program, 0).expect("it is small");
    assert!(!misses(&program, &all, 0));
}

#[test]
fn the_rest_of_a_bound_is_estimated_from_the_schedules_that_were_run() {
    let program = vec![vec![Act::Add(0); 4]; 3];
    let mut search = Icb::new(4, u64::MAX);
    let mut estimates = BTreeMap::new();
    while search.begin() {
        testing::execute(&program, &mut search);
        let (bound, taken) = (search.bound, search.taken_of_bound());
        let all: &mut Vec<f64> = estimates.entry(bound).or_default();
        all.push(taken as f64 + search.rest_of_bound());
    }
    assert!(estimates[&4].len() > 1000);
    for (bound, estimates) in &estimates {
        let size = estimates.len() as f64;
        assert!(
            (estimates.last().unwrap() / size - 1.0).abs() < 1e-3,
            "{bound}"
        );
        let late = &estimates[estimates.len() / 2..];
        let is_near = |estimate: &&f64| **estimate > size / 4.0 && **estimate < size * 4.0;
        assert!(
            late.iter().all(|estimate| is_near(&estimate)),
            "{bound}: {late:?}"
        );
    }
}

/// There are 36 schedules of three tasks that lock one mutex twice, with at most two preemptions.
#[test]
fn a_first_step_that_touches_nothing_makes_no_difference() {
    let section = [Act::Lock(0), Act::Add(0), Act::Unlock(0)];
    let begin_at_once = vec![section.repeat(2); 3];
    let begin_idle = vec![[&[Act::Idle], &section.repeat(2)[..]].concat(); 3];
    for program in [begin_at_once, begin_idle] {
        let explored = testing::explore(&program, &mut Icb::new(2, u64::MAX));
        assert_eq!((explored.executions, explored.graphs.len()), (36, 36));
    }
}

/// While a writer waits for readers, no other reader can acquire the lock, but another writer can.
#[test]
fn readers_and_writers_come_in_every_order() {
    let write = [Act::Lock(0), Act::Unlock(0)];
    let read = [Act::Read(0), Act::EndRead(0)];
    let writes_first = [write, read, write, read].concat();
    let reads_first = [read, read, write, read].concat();
    let program = vec![writes_first, reads_first.clone(), reads_first];
    let all = testing::explore_all(&program, 2, 4_000).expect("it is small");
    assert_eq!(all.graphs.len(), 198);
    assert!(!misses(&program, &all, 2));
}

/// Reads commute: the order of the reads before a write, and of the reads after it, does not
/// change the graph.
#[test]
fn commuting_steps_are_not_tried_in_each_order() {
    let readers = |count: usize| {
        let mut program = vec![vec![Act::Add(0), Act::Load(1)]];
        program.resize(1 + count, vec![Act::Load(0)]);
        testing::explore(&program, &mut Icb::new(1, u64::MAX))
    };
    for count in 3..7 {
        let explored = readers(count);
        assert_eq!(explored.graphs.len(), 1_usize << count);
        assert!(
            explored.executions < 4_u64 << count,
            "{}",
            explored.executions
        );
    }
}

/// The second task's turn commutes with the third task's turn. With the other outcome, it does
/// not.
#[test]
fn a_turn_that_repeats_may_continue_with_another_outcome() {
    let program = vec![
        vec![],
        vec![Act::Choose(2), Act::SkipUnlessSeen(1), Act::Store(0, 3)],
        vec![Act::Load(0)],
    ];
    let all = all(&program, 0).expect("it is small");
    assert!(!misses(&program, &all, 0));
}

/// The task that must run first to reverse a race is asleep. The wanted order needs a step of
/// another task before it.
#[test]
fn a_task_before_a_sleeping_task_is_run_in_its_place() {
    let program = vec![
        vec![Act::Load(1), Act::Load(0)],
        vec![Act::Load(1)],
        vec![Act::Store(0, 3)],
        vec![Act::Store(1, 3)],
    ];
    let all = all(&program, 1).expect("it is small");
    assert!(!misses(&program, &all, 1));
}

/// As in `a_task_before_a_sleeping_task_is_run_in_its_place`, but the other task comes before a
/// later step of the sleeping turn.
#[test]
fn a_task_before_a_later_step_of_a_sleeping_turn_is_run() {
    let program = vec![
        vec![Act::Lock(1), Act::Add(1)],
        vec![Act::TryLock(0), Act::Add(0)],
        vec![Act::Load(1), Act::Load(0)],
        vec![Act::Lock(0), Act::Lock(1), Act::Unlock(1)],
    ];
    let all = all(&program, 1).expect("it is small");
    assert!(!misses(&program, &all, 1));
}

/// The turn of the first task, which sleeps, could be interrupted by the third task. But the third
/// task can continue only after the steps across which the turn would be moved.
#[test]
fn a_turn_that_repeats_may_be_interrupted_by_a_task_that_the_steps_before_it_enable() {
    let waits = vec![
        vec![Act::Recv(0), Act::Lock(0)],
        vec![Act::Recv(0)],
        vec![Act::Send(0), Act::Recv(1), Act::Lock(0)],
        vec![Act::Send(1)],
    ];
    let all_of_it = all(&waits, 0).expect("it is small");
    assert!(!misses(&waits, &all_of_it, 0));
    let sends_after_that = vec![
        vec![Act::Recv(1), Act::Add(1)],
        vec![Act::Send(1), Act::Recv(1)],
        vec![Act::Add(1), Act::Send(0)],
        vec![Act::Recv(0)],
    ];
    let all_of_it = all(&sends_after_that, 1).expect("it is small");
    assert!(!misses(&sends_after_that, &all_of_it, 1));
}

/// The last task is blocked for ever if the third task acquires the lock first. Otherwise, the
/// last task continues with a step that interrupts the turn of the first task, which sleeps.
#[test]
fn a_blocked_task_could_interrupt_a_turn_that_repeats() {
    let program = vec![
        vec![Act::Store(0, 1)],
        vec![Act::Store(1, 2)],
        vec![Act::Read(2), Act::EndRead(2), Act::Lock(2)],
        vec![Act::Exchange(1, 0, 4), Act::Read(2), Act::Load(0)],
    ];
    let all = all(&program, 1).expect("it is small");
    assert_eq!(all.ends.len(), 6);
    assert!(!misses(&program, &all, 1));
}

/// Runs the schedules of `listed` at `places`, the last one first, as a helper does.
fn help(
    helper: &mut Icb,
    program: &Program,
    round: u64,
    listed: &[Vec<Deviation>],
    found: &mut BTreeMap<(u64, usize), (Vec<BacktrackPoint>, u64)>,
    places: std::ops::Range<usize>,
) {
    for place in places.rev() {
        helper.follow(&listed[place], round as u32);
        testing::execute(program, helper);
        let findings = helper.findings();
        let backtrack_points = findings.backtrack_points.to_vec();
        found.insert((round, place), (backtrack_points, findings.possible));
        helper.note_reported();
    }
}

/// The deviations of each schedule of the round that begins, or of the round after it.
fn listed(search: &Icb, is_ahead: bool, count: usize) -> Vec<Vec<Deviation>> {
    let mut listed = Listed::new();
    let one = |number| {
        search.list(is_ahead, number, &mut listed);
        listed.last().to_vec()
    };
    (0..count).map(one).collect()
}

/// Explores a program. If `is_helped` is true, a helper runs some schedules of each round. Returns
/// the names of the schedules, the final numbers of the search, and the number of schedules whose
/// findings came from the helper.
fn explored_with_help(program: &Program, is_helped: bool) -> (Vec<Vec<u64>>, [u64; 2], usize) {
    let mut search = Icb::new(5, u64::MAX);
    let mut helper = Icb::new(5, u64::MAX);
    let (mut found, mut begun) = (BTreeMap::new(), 0);
    let (mut schedules, mut taken_over) = (Vec::new(), 0);
    let mut lengths = BTreeMap::new();
    while search.begin() {
        schedules.push(search.current.iter().map(|d| d.name()).collect());
        let (round, left) = search.round();
        if is_helped && begun != round {
            begun = round;
            let count = *lengths.entry(round).or_insert(left);
            let now = listed(&search, false, left);
            let next = listed(&search, true, search.ahead());
            if !next.is_empty() {
                lengths.insert(round + 1, next.len());
            }
            // If this round was listed ahead, the list contained the current schedule as well.
            let at_hand = count - left;
            let mut help = |round, listed: &[_], places| {
                help(&mut helper, program, round, listed, &mut found, places);
            };
            let shifted = [&vec![Vec::new(); at_hand][..], &now[..]].concat();
            help(round, &shifted, count / 2..count);
            help(round + 1, &next, next.len() * 3 / 4..next.len());
            help(round, &shifted, (count / 3).max(at_hand)..count / 2);
        }
        let place = lengths
            .get(&round)
            .and_then(|count| count.checked_sub(left + 1));
        let known = place.and_then(|place| found.remove(&(round, place)));
        if let Some((backtrack_points, possible)) = known {
            search.learn(&backtrack_points, possible);
            taken_over += 1;
        } else {
            testing::execute(program, &mut search);
        }
    }
    let progress = search.progress();
    assert!(progress.bound_completed == Some(5) || progress.complete);
    (
        schedules,
        [progress.pruned, search.opened.count()],
        taken_over,
    )
}

#[test]
fn a_search_with_a_helper_runs_the_schedules_of_one_without() {
    let program = vec![vec![Act::Add(0); 5]; 3];
    let (alone, reported, none) = explored_with_help(&program, false);
    let (together, reported_together, taken_over) = explored_with_help(&program, true);
    assert!(alone == together, "{} and {}", alone.len(), together.len());
    assert_eq!(reported, reported_together);
    assert_eq!(none, 0);
    assert!(
        taken_over > alone.len() / 3,
        "{taken_over} of {}",
        alone.len()
    );
}
