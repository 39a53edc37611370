//! Tests of `icb` on programs in which tasks wait for locks, against brute force.

use super::super::testing::Act;
use super::tests::{all, misses};

/// With one preemption, the last task comes to wait while the first one reads, and keeps the second
/// one out once that has released the lock. It has taken no step before.
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

/// The last task is to come before an acquisition of a lock whose task acquires it again, in a turn
/// that begins while it holds the lock. The last task cannot come before that turn. To come in the
/// middle of it costs a preemption more than to come before the first acquisition.
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

/// The same with a task that holds the lock shared in between. The last task, which reads, commutes
/// with it.
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

/// With one preemption, the second task comes to wait for the first one, which lets the third task
/// continue before it. In the schedules that show this, the second task comes later, and blocks the
/// third one for ever.
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

/// The second task waits for the lock while the first one holds it, which acquires it twice. The
/// search must not forget, because of the second acquisition, that the second task could come
/// before the first one.
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

/// The second task waits for a lock that the first one holds, and later releases the lock that the
/// first one then only tries to acquire. If it waits earlier, the try fails, even though all steps
/// of the second task came before the try.
#[test]
fn a_task_that_waits_sooner_keeps_others_from_what_it_has() {
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

/// The third task waits for the first one to leave; from then on no task enters. The second one
/// could have entered before, and keeps the third one waiting. The search must not forget this
/// because the second one cannot enter until the third one has had the lock.
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

/// While the second task reads, all others come to wait for its end, each after a read of its own.
/// Such a read is impossible once the first of them waits.
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

/// The third task waits for the first one to leave before the second one reads twice. It could also
/// have come between the two reads.
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

/// The second task is ready to acquire the lock when the first one tries to, which then yields
/// while it holds it. The second one needs one more preemption to come before the second
/// acquisition by the first one.
#[test]
fn a_task_could_have_had_a_lock_before_the_first_of_those_who_took_it_meanwhile() {
    let takes_twice = vec![Act::TryLock(0), Act::GiveWay, Act::Unlock(0), Act::Lock(0)];
    let yields_first = vec![takes_twice.clone(), vec![Act::GiveWay, Act::Lock(0)]];
    let all_of_it = all(&yields_first, 1).expect("it is small");
    assert!(!misses(&yields_first, &all_of_it, 1));
    let begins_with_it = vec![vec![], takes_twice, vec![Act::Lock(0)]];
    let all_of_it = all(&begins_with_it, 0).expect("it is small");
    assert_eq!(all_of_it.ends.len(), 2);
    assert!(!misses(&begins_with_it, &all_of_it, 0));
}

/// If the third task waits for the first lock earlier, the first task gets it for free. Then the
/// first task is not blocked for ever, and releases the lock that the third one has tried.
#[test]
fn a_task_that_waits_sooner_gives_way_to_who_would_be_blocked() {
    let program = vec![
        vec![Act::Lock(1), Act::Lock(0), Act::Unlock(1)],
        vec![Act::TryLock(0), Act::Unlock(0)],
        vec![Act::TryLock(1), Act::Lock(0)],
        vec![Act::Lock(1), Act::Unlock(1), Act::Lock(0)],
    ];
    let all = all(&program, 2).expect("it is small");
    assert!(!misses(&program, &all, 2));
}

/// If the first task performs its exchange earlier, and then waits for the lock, this does not
/// conflict with the exchange of the second one, which fails. But the second exchange would succeed
/// if the first task still waited.
#[test]
fn a_task_that_waits_sooner_may_come_before_what_would_succeed() {
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

/// The second task keeps readers out while it waits for the first one to leave. So the switch away
/// from the last one is free, after that has read the value that the first one then writes.
#[test]
fn who_waits_for_readers_to_leave_keeps_others_out() {
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

/// The first task looks at the second value, and only if that is 0, checks the first one again. The
/// store of the second task hides this. In the only execution that is missed if the check is taken to
/// run earlier, the third task reads before the fourth one writes, and both come before the check.
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

/// The same with a step of two loads, the second of which is made only if the first value is 0.
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
