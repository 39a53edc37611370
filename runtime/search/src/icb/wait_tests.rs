//! Tests of `icb` on programs in which tasks wait for locks, against brute force.

use super::super::testing::Act;
use super::tests::{all, misses};

/// In its first step, the last task begins to wait for the lock. With one preemption, it does so
/// while the first task reads. From then on, the second task cannot read.
#[test]
fn a_task_that_comes_first_may_wait_for_readers_to_leave() {
    let program = vec![
        vec![Act::Read(2), Act::EndRead(2), Act::Read(2)],
        vec![Act::Lock(2), Act::Idle, Act::Unlock(2), Act::Read(2)],
        vec![Act::Lock(2)],
    ];
    let all_of_it = all(&program, 1).expect("a small program");
    assert!(!misses(&program, &all_of_it, 1));
}

/// A task acquires a lock twice, and holds it at the start of the turn that contains the second
/// acquisition. The last task must come before the second acquisition. It cannot run at the start
/// of this turn. To run in the middle of the turn costs one preemption more than to run before the
/// first acquisition.
#[test]
fn a_turn_may_begin_with_the_lock_of_an_earlier_one() {
    let program = vec![
        vec![Act::Read(3), Act::TryRead(2), Act::EndRead(3)],
        vec![
            Act::TryLock(2),
            Act::Lock(3),
            Act::Unlock(2),
            Act::TryLock(2),
        ],
        vec![
            Act::Read(2),
            Act::EndRead(2),
            Act::TryRead(2),
            Act::EndRead(2),
        ],
    ];
    let all_of_it = all(&program, 1).expect("a small program");
    assert!(!misses(&program, &all_of_it, 1));
    let shared = vec![
        vec![Act::Lock(2), Act::Downgrade(2), Act::TryRead(3)],
        vec![Act::Lock(3), Act::Read(2), Act::Unlock(3), Act::Read(3)],
        vec![Act::Lock(3), Act::Unlock(3)],
    ];
    let all_of_it = all(&shared, 1).expect("a small program");
    assert!(!misses(&shared, &all_of_it, 1));
}

/// As in `a_turn_may_begin_with_the_lock_of_an_earlier_one`, but another task holds the lock
/// shared between the two acquisitions. The last task, which reads, commutes with this task.
#[test]
fn a_reader_does_not_hide_the_holder_from_another_reader() {
    let program = vec![
        vec![
            Act::Lock(2),
            Act::Downgrade(2),
            Act::TryRead(3),
            Act::EndRead(3),
            Act::EndRead(2),
            Act::Read(3),
        ],
        vec![
            Act::TryLock(3),
            Act::Lock(2),
            Act::Unlock(3),
            Act::Lock(3),
            Act::Downgrade(3),
        ],
        vec![Act::Read(3), Act::EndRead(3)],
    ];
    let all_of_it = all(&program, 1).expect("a small program");
    assert!(!misses(&program, &all_of_it, 1));
}

/// In one schedule with one preemption, the second task waits for the first one, so that the third
/// task continues before the second one. In the schedules that lead to this schedule, the second
/// task comes later, and blocks the third task for ever.
#[test]
fn a_task_that_waits_earlier_may_not_block_another_one() {
    let program = vec![
        vec![Act::TryLock(3), Act::Unlock(3)],
        vec![Act::TryLock(2), Act::Read(3), Act::EndRead(3), Act::Lock(3)],
        vec![
            Act::TryLock(2),
            Act::Read(3),
            Act::EndRead(3),
            Act::Unlock(2),
            Act::Lock(3),
            Act::Unlock(3),
            Act::TryLock(3),
        ],
    ];
    let all_of_it = all(&program, 1).expect("a small program");
    assert!(!misses(&program, &all_of_it, 1));
}

/// The first task acquires the lock twice. The second task waits while the first task holds it.
/// The second task could come before the first acquisition. The search must not miss this because
/// of the second acquisition.
#[test]
fn a_task_that_waits_for_a_lock_could_have_had_it_before() {
    let program = vec![
        vec![Act::TryLock(0), Act::Add(0), Act::Unlock(0), Act::Lock(0)],
        vec![Act::Load(0), Act::Lock(0)],
    ];
    let all = all(&program, 1).expect("it is small");
    assert_eq!(all.ends.len(), 4);
    assert!(!misses(&program, &all, 1));
}

/// The second task waits for a lock of the first task. Later it releases another lock, which the
/// first task tries to acquire. If the second task waits earlier, the try fails, although all
/// steps of the second task came before the try.
#[test]
fn a_task_that_waits_earlier_keeps_others_from_its_locks() {
    let second = [
        Act::Lock(0),
        Act::Lock(1),
        Act::Unlock(0),
        Act::Lock(0),
        Act::Wait(0, 0),
    ];
    let program = vec![
        vec![Act::Lock(1), Act::Unlock(1), Act::TryLock(0)],
        second.to_vec(),
    ];
    let all = all(&program, 1).expect("it is small");
    assert_eq!(all.ends.len(), 4);
    assert!(!misses(&program, &all, 1));
}

/// The third task waits until the first one releases the lock. From then on, no task can read, so
/// that the second task reads only after the third one has held the lock. The search must not miss
/// the executions in which the second task reads before the third one begins to wait.
#[test]
fn a_reader_could_have_entered_before_another_task_waited_for_readers_to_leave() {
    let program = vec![
        vec![Act::Read(2), Act::Load(0), Act::EndRead(2)],
        vec![Act::Read(2)],
        vec![Act::Read(2), Act::Load(0), Act::EndRead(2), Act::Lock(2)],
        vec![Act::Store(0, 3)],
    ];
    let all = all(&program, 1).expect("it is small");
    assert!(!misses(&program, &all, 1));
}

/// While the second task reads, all other tasks read, and then begin to wait for the second task.
/// After one of them has begun to wait, the others cannot read.
#[test]
fn a_reader_could_have_entered_before_the_first_of_those_that_wait() {
    let reads_and_waits = vec![Act::Read(2), Act::EndRead(2), Act::Lock(2)];
    let program = vec![
        reads_and_waits.clone(),
        vec![Act::Read(2), Act::Park],
        reads_and_waits.clone(),
        reads_and_waits,
    ];
    let all = all(&program, 2).expect("it is small");
    assert!(!misses(&program, &all, 2));
}

/// The third task begins to wait for the first one before the second one reads twice. The third
/// task could also have begun to wait between the two reads.
#[test]
fn a_reader_could_have_entered_before_another_task_waited_where_it_came_later() {
    let reads_twice = [Act::Read(2), Act::Read(2), Act::EndRead(2), Act::EndRead(2)];
    let program = vec![
        vec![Act::Read(2), Act::Load(0), Act::EndRead(2)],
        [&[Act::Add(1)], &reads_twice[..]].concat(),
        vec![Act::Store(0, 3), Act::Lock(2)],
    ];
    let all = all(&program, 2).expect("it is small");
    assert!(!misses(&program, &all, 2));
}

/// The first task acquires the lock by a try, yields, releases the lock and acquires it again. The
/// second task may acquire the lock before the try. It may also acquire it between the release and
/// the second acquisition, but that costs a preemption more.
#[test]
fn a_task_could_have_locked_before_the_first_of_the_tasks_that_locked_meanwhile() {
    let takes_twice = vec![Act::TryLock(0), Act::GiveWay, Act::Unlock(0), Act::Lock(0)];
    let yields_first = vec![takes_twice.clone(), vec![Act::GiveWay, Act::Lock(0)]];
    let all_of_it = all(&yields_first, 1).expect("it is small");
    assert!(!misses(&yields_first, &all_of_it, 1));
    let begins_with_it = vec![vec![], takes_twice, vec![Act::Lock(0)]];
    let all_of_it = all(&begins_with_it, 0).expect("it is small");
    assert_eq!(all_of_it.ends.len(), 2);
    assert!(!misses(&begins_with_it, &all_of_it, 0));
}

/// If the third task waits for lock 0 earlier, the first task acquires this lock without a
/// preemption. Then the first task is not blocked for ever, and releases lock 1, which the third
/// task has tried to acquire.
#[test]
fn a_task_that_waits_earlier_gives_way_to_a_task_that_would_be_blocked() {
    let program = vec![
        vec![Act::Lock(1), Act::Lock(0), Act::Unlock(1)],
        vec![Act::TryLock(0), Act::Unlock(0)],
        vec![Act::TryLock(1), Act::Lock(0)],
        vec![Act::Lock(1), Act::Unlock(1), Act::Lock(0)],
    ];
    let all = all(&program, 2).expect("it is small");
    assert!(!misses(&program, &all, 2));
}

/// The first task could perform its exchange earlier, and then wait for the lock. This does not
/// conflict with the exchange of the second task, because that exchange fails. But it would
/// succeed if the first task still waited.
#[test]
fn a_task_that_waits_earlier_may_come_before_an_exchange_that_would_succeed() {
    let program = vec![
        vec![Act::Exchange(1, 0, 1), Act::Lock(1), Act::Add(1)],
        vec![
            Act::TryLock(1),
            Act::Add(1),
            Act::Unlock(1),
            Act::Exchange(1, 1, 2),
        ],
    ];
    let all = all(&program, 2).expect("it is small");
    assert!(!misses(&program, &all, 2));
}

/// While the second task waits for the first one, no other task can read. So the last task blocks
/// after its exchange, and the switch away from it is free. Then the first task writes the value.
#[test]
fn a_task_that_waits_for_readers_keeps_others_out() {
    let program = vec![
        vec![Act::Read(3), Act::EndRead(3), Act::Store(1, 1)],
        vec![Act::Read(3), Act::EndRead(3), Act::Lock(3), Act::Unlock(3)],
        vec![
            Act::Exchange(1, 1, 0),
            Act::Read(3),
            Act::Load(1),
            Act::EndRead(3),
        ],
    ];
    let all = all(&program, 1).expect("it is small");
    assert_eq!(all.ends.len(), 3);
    assert!(!misses(&program, &all, 1));
}

/// The first task loads value 1 and then value 0. Only if value 0 is zero, it loads value 1 again:
/// this is the check. The store of the second task hides the check. If the search assumes that the
/// check runs earlier, it misses one execution: the third task reads before the fourth one writes,
/// and both come before the check.
#[test]
fn a_check_of_an_await_runs_after_two_other_tasks() {
    let program = vec![
        vec![Act::Add(1), Act::Await(1, 0)],
        vec![Act::Swap(0, 2, true)],
        vec![Act::Spin(1, 2)],
        vec![Act::Store(1, 4)],
    ];
    let all = all(&program, 1).expect("it is small");
    assert_eq!(all.graphs.len(), 42);
    assert!(!misses(&program, &all, 1));
}

/// As in `a_check_of_an_await_runs_after_two_other_tasks`, but with a step of two loads. The
/// second load is performed only if the first one returns 0.
#[test]
fn a_step_with_a_second_operation_runs_after_two_other_tasks() {
    let program = vec![
        vec![Act::LoadOneOrBoth(0, 1)],
        vec![Act::Load(0), Act::Await(0, 1)],
        vec![Act::Add(0)],
        vec![Act::Add(1)],
    ];
    let all = all(&program, 2).expect("it is small");
    assert!(!misses(&program, &all, 2));
}
