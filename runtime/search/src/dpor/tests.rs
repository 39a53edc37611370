//! Tests of `dpor`: exact counts, and random programs against brute force.

use super::super::testing::{self, Act, Program};
use super::*;

/// The number of executions of the search. Checks that no two of them have the same graph.
fn count(program: &Program) -> u64 {
    let mut search = Dpor::new();
    let explored = testing::explore(program, &mut search);
    assert!(search.progress().complete);
    assert_eq!((search.redundant, search.planned), (0, 0));
    assert_eq!(explored.graphs.len() as u64, explored.executions);
    explored.executions
}

fn locked(tasks: usize, times: usize) -> Program {
    let section = [Act::Lock(0), Act::Add(0), Act::Unlock(0)];
    vec![section.repeat(times); tasks]
}

#[test]
fn takes_as_many_executions_as_there_are_graphs() {
    assert_eq!(count(&locked(2, 3)), 20);
    assert_eq!(count(&locked(3, 1)), 6);
    assert_eq!(count(&locked(3, 2)), 90);
    assert_eq!(count(&vec![vec![Act::Add(0); 5]; 2]), 252);
    let apart = (0..3).map(|own| vec![Act::Add(own); 2]);
    assert_eq!(count(&apart.collect()), 1);
    let read = [Act::Read(0), Act::EndRead(0)];
    assert_eq!(count(&vec![read.to_vec(); 3]), 1);
    let write = [Act::Lock(0), Act::Unlock(0)];
    assert_eq!(
        count(&vec![[read, write].concat(), [write, read].concat()]),
        5
    );
}

#[test]
fn the_explored_part_grows_to_the_whole() {
    let mut search = Dpor::new();
    let program = locked(3, 2);
    let mut parts = vec![0.0];
    while search.begin() {
        testing::execute(&program, &mut search);
        parts.extend(search.explored());
    }
    assert_eq!(parts.len(), 91);
    assert!((parts[90] - 1.0).abs() < 1e-9, "{parts:?}");
    // A third of the space is estimated as at least a fifth and at most a half.
    assert!((0.2..0.5).contains(&parts[30]), "{parts:?}");
}

#[test]
fn takes_as_many_executions_as_litmus_tests_have() {
    let store_buffering = vec![
        vec![Act::Store(0, 1), Act::Load(1)],
        vec![Act::Store(1, 1), Act::Load(0)],
    ];
    assert_eq!(count(&store_buffering), 3);
    let message_passing = vec![
        vec![Act::Store(0, 1), Act::Store(1, 1)],
        vec![Act::Load(1), Act::Load(0)],
    ];
    assert_eq!(count(&message_passing), 3);
    let independent_reads = vec![
        vec![Act::Store(0, 1)],
        vec![Act::Store(1, 1)],
        vec![Act::Load(0), Act::Load(1)],
        vec![Act::Load(1), Act::Load(0)],
    ];
    assert_eq!(count(&independent_reads), 15);
}

/// The first task loads value 1 a second time only if the second task has not written value 0 yet.
/// This second load conflicts with the addition of the third task.
#[test]
fn a_conflict_that_depends_on_a_read_value_is_reversed() {
    let program = vec![
        vec![Act::Store(1, 1), Act::Await(1, 0)],
        vec![Act::Store(0, 2)],
        vec![Act::Add(1)],
    ];
    assert!(!misses(&program));
}

/// A race is reversed in several executions, because its sequences differ in the order of the
/// stores of the other tasks. Without all of these sequences, some executions in which the
/// exchange of the first task comes late are missed.
#[test]
fn a_race_is_reversed_again_with_other_steps_before_it() {
    let program = vec![
        vec![Act::Exchange(0, 2, 1), Act::Load(0), Act::Load(1)],
        vec![Act::Store(1, 2)],
        vec![Act::Store(0, 3)],
        vec![Act::Load(0), Act::Store(1, 3)],
    ];
    let all = testing::explore_all(&program, u32::MAX, 200_000).expect("a small program");
    let mut search = Dpor::new();
    let reduced = testing::explore(&program, &mut search);
    assert!(reduced.is_as(&all));
    assert_eq!(reduced.executions, reduced.graphs.len() as u64);
}

/// Whether the ends of a program's executions follow from their graphs. Graphs do not show the
/// outcomes of operations, the waits of tasks, attempts to read that fail because a task waits,
/// and the last owner of an object.
fn shows_all(program: &Program) -> bool {
    let hidden = |act: &Act| {
        matches!(
            act,
            Act::Recv(_)
                | Act::Park
                | Act::Choose(_)
                | Act::Pick(_)
                | Act::Rarely
                | Act::Assume
                | Act::NotifyOne(_)
                | Act::TryRead(_)
                | Act::Drop(_)
                | Act::Init(_)
                | Act::InitSet(_)
                | Act::InitWait(_)
                | Act::Barrier(_)
        ) || matches!(act, Act::Send(channel) if *channel >= testing::BOUNDED)
    };
    !program.iter().flatten().any(hidden)
}

/// Whether the search misses a graph or an end of `program`.
fn misses(program: &Program) -> bool {
    let all = testing::explore_all(program, u32::MAX, 3_000);
    all.is_some_and(|all| !testing::explore(program, &mut Dpor::new()).is_as(&all))
}

/// When the search plans the reads, the exchange may still be a write. It is a read if it comes
/// first. The search must not miss the execution with both reads before the store, and the
/// exchange after the store.
#[test]
fn an_exchange_that_fails_may_come_after_a_store_that_two_reads_precede() {
    let program = vec![
        vec![Act::Store(0, 3)],
        vec![Act::Exchange(0, 1, 1)],
        vec![Act::Load(0)],
        vec![Act::Load(0)],
    ];
    assert_eq!(count(&program), 8);
}

/// The first task waits until the second one has released the lock. After this wait has begun, the
/// second task cannot acquire the lock again. But the second task could have acquired it twice
/// before this wait, without a switch in between.
#[test]
fn one_may_enter_again_before_another_comes_to_wait() {
    let program = vec![
        vec![Act::Read(2), Act::Send(0), Act::EndRead(2), Act::Lock(2)],
        vec![Act::Read(2), Act::Recv(0), Act::EndRead(2), Act::Read(2)],
    ];
    let mut search = Dpor::new();
    let explored = testing::explore(&program, &mut search);
    assert_eq!((explored.executions, explored.graphs.len()), (5, 5));
    assert!(!misses(&program));
}

/// The second task has read the value that the first one leaves unchanged, and waits for ever. Its
/// next read cannot come earlier. So no sequence may begin with this read in place of a step of
/// the third task.
#[test]
fn a_step_that_cannot_begin_replaces_no_other() {
    let program = vec![
        vec![Act::Swap(1, 0, true), Act::Swap(0, 1, true)],
        vec![Act::Await(1, 0)],
        vec![Act::Store(0, 3), Act::Await(0, 1)],
    ];
    let mut search = Dpor::new();
    let explored = testing::explore(&program, &mut search);
    assert_eq!((explored.executions, explored.graphs.len()), (10, 10));
    assert!(!misses(&program));
}

/// The second task begins to wait while the third one holds the lock as a reader. So the second
/// attempt to read fails, although the lock is free. The step that begins a wait for readers does
/// not commute with the step in which a reader releases the lock.
#[test]
fn an_attempt_to_read_fails_while_another_task_waits() {
    let program = vec![
        vec![Act::Add(0)],
        vec![Act::Lock(0)],
        vec![
            Act::TryRead(0),
            Act::EndRead(0),
            Act::TryRead(0),
            Act::EndRead(0),
            Act::TryLock(0),
            Act::Add(0),
        ],
    ];
    assert_eq!(missed_ends(&program), []);
}

/// The second task waits for the third task, which reads. So the first task cannot read, and waits
/// for the second one. The third task waits for the first one.
#[test]
fn tasks_that_wait_for_readers_to_leave_can_deadlock() {
    let program = vec![
        vec![Act::Read(2), Act::Read(3), Act::EndRead(3), Act::EndRead(2)],
        vec![Act::Lock(3), Act::Unlock(3)],
        vec![Act::Read(3), Act::Lock(2), Act::Unlock(2), Act::EndRead(3)],
    ];
    assert_eq!(missed_ends(&program), []);
}

/// The largest number of executions of a search that is compared with brute force.
const MOST: u64 = 10_000;

/// The ends of `program` with at most two preemptions that the search misses. Programs with many
/// graphs are skipped, because a few of them would take most of the time.
fn missed_ends(program: &Program) -> Vec<testing::Final> {
    let missed = || {
        let few = testing::explore_all(program, 2, 3_000)?;
        let found = testing::explore_up_to(program, &mut Dpor::new(), MOST)?;
        Some(few.ends.difference(&found.ends).cloned().collect())
    };
    missed().unwrap_or_default()
}

#[test]
fn every_end_of_few_preemptions_is_reached_at_a_lock() {
    for seed in testing::seeds().step_by(4) {
        let program = testing::random_sections(seed);
        let misses = |program: &Program| !missed_ends(program).is_empty();
        let smallest = || testing::shrink(&program, misses);
        assert!(!misses(&program), "seed {seed}: {:?}", smallest());
    }
}

#[test]
fn every_graph_and_every_end_is_reached() {
    let (mut executions, mut graphs) = (0, 0);
    let programs = testing::seeds().map(|seed| (seed, testing::random_program(seed)));
    let choices = testing::seeds().step_by(2);
    let choices = choices.map(|seed| (seed, testing::random_choices(seed)));
    for (seed, program) in programs.chain(choices) {
        let Some(all) = testing::explore_all(&program, u32::MAX, 3_000) else {
            continue;
        };
        let mut search = Dpor::new();
        let reduced = testing::explore(&program, &mut search);
        let is_as = reduced.is_as(&all);
        assert!(
            is_as,
            "seed {seed}: {:?}",
            testing::shrink(&program, misses)
        );
        if shows_all(&program) {
            assert_eq!(search.redundant, 0, "seed {seed}: {program:?}");
            executions += reduced.executions;
            graphs += reduced.graphs.len() as u64;
        }
    }
    // With nested locks, a few graphs have two executions.
    let more = executions - graphs;
    assert!(more * 200 < graphs, "{more} more than the {graphs} graphs");
}

/// Checks that no graph and no end of a program is missed, unless the search gives up.
fn reaches_all(seed: u64, program: &Program) {
    let differs = |program: &Program| {
        let Some(all) = testing::explore_all(program, u32::MAX, 3_000) else {
            return false;
        };
        let mut search = Dpor::new();
        let reduced = testing::explore(program, &mut search);
        !search.gave_up && !reduced.is_as(&all)
    };
    assert!(
        !differs(program),
        "seed {seed}: {:?}",
        testing::shrink(program, differs)
    );
}

/// The ends also show whether two calls overlap that must not.
#[test]
fn every_graph_and_every_end_is_reached_with_calls() {
    for seed in testing::seeds().step_by(2) {
        reaches_all(seed, &testing::random_calls(seed));
    }
}

/// Two calls on one object by two tasks have six orders. In two of them, one call ends before the
/// other begins. In four, the calls overlap: two orders of the starts, times two orders of the
/// ends. Shared calls commute.
#[test]
fn each_order_of_starts_and_ends_is_one_graph() {
    let call = |is_shared| vec![Act::Begin(0, is_shared), Act::End(0, is_shared)];
    for (first, second, graphs) in [(false, false, 6), (false, true, 6), (true, true, 1)] {
        let program = vec![call(first), call(second)];
        let found = testing::explore(&program, &mut Dpor::new());
        assert_eq!(found.executions, graphs);
        assert_eq!(found.graphs.len() as u64, graphs);
    }
    let locked = [vec![Act::Lock(0)], call(false), vec![Act::Unlock(0)]].concat();
    let found = testing::explore(&vec![locked; 3], &mut Dpor::new());
    assert_eq!(found.executions, 6, "the orders of the lock");
    assert_eq!(found.ends.len(), 1, "no call overlaps another one");
}

/// All steps come before the end of an idle wait. If this can hide a race from the search, the
/// search gives up.
#[test]
fn every_graph_and_every_end_is_reached_with_idle_waits() {
    let (mut finished, mut unfinished) = (0, 0);
    for seed in testing::seeds() {
        let program = testing::random_idle_waits(seed);
        reaches_all(seed, &program);
        let mut search = Dpor::new();
        if testing::explore_up_to(&program, &mut search, 3_000).is_some() {
            unfinished += u32::from(search.gave_up);
            finished += u32::from(!search.gave_up);
        }
    }
    assert!(unfinished * 10 < finished, "{unfinished} beside {finished}");
}

/// Without the last act of the first task, the search finds both ends. With this act, an execution
/// in which one receiving task stays blocked does not show the race of the two receiving tasks.
#[test]
fn a_step_after_an_idle_wait_does_not_hide_a_race() {
    let receive = |last: &[Act]| {
        vec![
            [&[Act::Send(0), Act::UntilIdle], last].concat(),
            vec![Act::Recv(0)],
            vec![Act::Recv(0), Act::Add(0)],
        ]
    };
    let explored = |program: &Program| {
        let mut search = Dpor::new();
        let all = testing::explore_all(program, u32::MAX, 3_000).expect("a small program");
        let is_all = testing::explore(program, &mut search).is_as(&all);
        (is_all, search.gave_up)
    };
    assert_eq!(explored(&receive(&[])), (true, false));
    let (is_all, gave_up) = explored(&receive(&[Act::TryRecv(0)]));
    assert!(is_all || gave_up);
}

/// In these programs, the later operations of a step, and the reads at the end of an iteration that
/// awaits, depend on the results of earlier operations.
#[test]
fn every_graph_and_every_end_is_reached_with_long_steps() {
    for seed in testing::seeds() {
        reaches_all(seed, &testing::random_long_steps(seed));
    }
}

/// Sequences of long executions are partial.
#[test]
fn every_graph_and_every_end_is_reached_by_partial_sequences() {
    let partial = || Dpor {
        long: 0,
        ..Dpor::new()
    };
    for seed in testing::seeds() {
        let program = testing::random_program(seed);
        let differs = |program: &Program| {
            let all = testing::explore_all(program, u32::MAX, 3_000);
            all.is_some_and(|all| !testing::explore(program, &mut partial()).is_as(&all))
        };
        assert!(
            !differs(&program),
            "seed {seed}: {:?}",
            testing::shrink(&program, differs)
        );
    }
}
