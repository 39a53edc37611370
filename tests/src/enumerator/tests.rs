//! Tests of the enumerator with outcomes that were worked out by hand.

use std::collections::BTreeSet;

use super::Op::{
    Append, BarrierWait, CTryRead, CWrite, ClearPoison, CreateNew, Downgrade, Exists, FetchAdd,
    Flush, Get, GetOrInit, IsFinished, IsPoisoned, Length, Load, Lock, LockAndPanic, NotifyOne,
    Park, Raise, Read, Recv, SemPost, SemTryWait, SemWait, Send, SocketRead, SocketTryRead,
    SocketWrite, Stdio, Store, StrongCount, TryLock, TryRead, TryRecv, TrySend, TryUnwrap,
    TryWrite, Unpark, Wait, WaitWhile, Write,
};
use super::{Kind, Op, Outcomes, Program, enumerate, random_program, shrink};

const RENDEZVOUS: usize = 2;

fn program(tasks: &[&[Op]]) -> Program {
    Program {
        tasks: tasks.iter().map(|ops| ops.to_vec()).collect(),
    }
}

fn outcomes(tasks: &[&[Op]]) -> Outcomes {
    enumerate(&program(tasks), 100_000).expect("small programs")
}

/// Returns the observations of the tasks, each with its smallest number of preemptions.
fn seen(outcomes: &Outcomes) -> BTreeSet<(&str, usize)> {
    let seen = outcomes.ends.iter().map(|(end, fewest)| {
        let (seen, _) = end
            .split_once("]] ")
            .expect("what is seen, then the objects");
        (&seen[1..], *fewest)
    });
    seen.collect()
}

fn set<const N: usize>(ends: [(&'static str, usize); N]) -> BTreeSet<(&'static str, usize)> {
    ends.into()
}

#[test]
fn an_update_is_lost_with_one_preemption() {
    let update = [Load(0), Store(0)];
    let all = outcomes(&[&[], &update, &update]);
    let expected = [("[], [0], [0", 1), ("[], [0], [2", 0), ("[], [3], [0", 0)];
    assert_eq!(seen(&all), set(expected));
    assert_eq!(all.deadlock, None);
    assert_eq!(seen(&all.up_to(0)).len(), 2);
}

#[test]
fn a_semaphore_has_one_unit_and_those_that_are_posted() {
    let all = outcomes(&[&[], &[SemWait(0), SemPost(0)], &[SemTryWait(0)]]);
    // The task with `SemTryWait` does not post the unit that it has acquired.
    assert_eq!(all.deadlock, Some(0));
    let taken = set([("[], [], [1", 0), ("[], [], [77", 1)]);
    assert_eq!(seen(&all), taken);
    let posted = outcomes(&[&[], &[SemWait(0), SemWait(0)], &[SemPost(0)]]);
    assert_eq!(posted.deadlock, None);
}

#[test]
fn a_socket_has_one_byte_and_those_that_are_written() {
    let all = outcomes(&[&[], &[SocketRead(0), SocketWrite(0)], &[SocketTryRead(0)]]);
    assert_eq!(all.deadlock, Some(0));
    let expected = [("[], [0], [2", 0), ("[], [0], [77", 1)];
    assert_eq!(seen(&all), set(expected));
    let written = outcomes(&[&[], &[SocketRead(0), SocketRead(0)], &[SocketWrite(0)]]);
    assert_eq!(written.deadlock, None);
}

#[test]
fn locks_in_opposite_orders_deadlock_with_one_preemption() {
    let all = outcomes(&[
        &[],
        &[Lock(0, vec![Lock(1, vec![])])],
        &[Lock(1, vec![Lock(0, vec![])])],
    ]);
    assert_eq!(all.deadlock, Some(1));
    assert_eq!(
        seen(&all),
        set([("[], [0, 0], [1, 1", 0), ("[], [1, 1], [0, 0", 0)])
    );
}

#[test]
fn a_lock_is_seen_held_by_an_attempt_alone() {
    let all = outcomes(&[&[], &[Lock(0, vec![])], &[TryLock(0, vec![])]]);
    let expected = [("[], [0], [1", 0), ("[], [0], [77", 1), ("[], [1], [0", 0)];
    assert_eq!(seen(&all), set(expected));
}

#[test]
fn failures_to_write_beside_one_reader_follow_each_other() {
    for (attempts, patterns) in [(1, 2), (2, 4), (3, 7)] {
        let tries = vec![TryWrite(0, vec![]); attempts];
        let all = outcomes(&[&tries, &[Read(0, vec![])]]);
        let failed = |end: &str| {
            let own = end.split(']').next().expect("a list").to_owned();
            let own = own
                .trim_start_matches('[')
                .split(", ")
                .map(|seen| seen == "77");
            own.collect::<Vec<_>>()
        };
        let found: BTreeSet<_> = seen(&all).iter().map(|(end, _)| failed(end)).collect();
        assert_eq!(found.len(), patterns, "{found:?}");
    }
}

#[test]
fn a_writer_that_waits_may_keep_readers_from_an_rwlock_and_not_from_that_of_c() {
    let all = outcomes(&[
        &[],
        &[Read(0, vec![TryRead(0, vec![])])],
        &[Write(0, vec![])],
    ]);
    assert!(seen(&all).contains(&("[], [0, 77], [0", 1)), "{all:?}");
    let all = outcomes(&[
        &[],
        &[Op::CRead(0, vec![CTryRead(0, vec![])])],
        &[CWrite(0, vec![])],
    ]);
    assert_eq!(seen(&all), set([("[], [1], [", 0)]));
}

#[test]
fn a_downgrade_admits_readers_but_no_writer() {
    let all = outcomes(&[
        &[],
        &[Downgrade(0, vec![Load(0)])],
        &[TryRead(0, vec![Store(0)]), TryWrite(0, vec![])],
    ]);
    let ends = seen(&all);
    assert!(ends.contains(&("[], [0, 3], [1, 77", 1)), "{ends:?}");
    // The third task runs before the second one, or after it.
    assert!(ends.contains(&("[], [1, 3], [0, 0", 0)), "{ends:?}");
    assert!(ends.contains(&("[], [0, 0], [1, 1", 0)), "{ends:?}");
}

#[test]
fn a_notification_that_comes_first_is_lost_unless_a_number_records_it() {
    let all = outcomes(&[&[], &[Wait(0)], &[NotifyOne(0)]]);
    assert_eq!(all.deadlock, Some(0));
    assert_eq!(seen(&all), set([("[], [0], [", 0)]));
    let all = outcomes(&[&[], &[WaitWhile(0)], &[Raise(0, vec![NotifyOne(0)])]]);
    assert_eq!(all.deadlock, None);
}

#[test]
fn a_notification_wakes_either_of_two() {
    let wait = [Wait(0), FetchAdd(0)];
    let all = outcomes(&[&[], &wait, &wait, &[NotifyOne(0), NotifyOne(0)]]);
    assert!(
        seen(&all).contains(&("[], [0, 0], [0, 2], [", 0)),
        "{all:?}"
    );
    assert!(
        seen(&all).contains(&("[], [0, 3], [0, 0], [", 0)),
        "{all:?}"
    );
}

#[test]
fn a_rendezvous_is_tried_with_success_only_where_the_other_waits() {
    let all = outcomes(&[&[], &[TrySend(RENDEZVOUS)], &[TryRecv(RENDEZVOUS)]]);
    let expected = [
        ("[], [77], [77", 1),
        ("[], [77], [88", 0),
        ("[], [0], [77", 0),
    ];
    assert_eq!(seen(&all), set(expected));
    let all = outcomes(&[&[], &[TrySend(RENDEZVOUS)], &[Recv(RENDEZVOUS)]]);
    assert_eq!(seen(&all), set([("[], [1], [2", 0), ("[], [77], [88", 0)]));
    let all = outcomes(&[
        &[],
        &[Send(RENDEZVOUS), Load(0)],
        &[Store(0), Recv(RENDEZVOUS)],
    ]);
    assert_eq!(seen(&all), set([("[], [1, 3], [2", 0)]));
}

#[test]
fn a_cell_is_empty_while_it_is_initialized() {
    let all = outcomes(&[&[], &[GetOrInit(0, vec![Store(0)])], &[Load(0), Get(0)]]);
    let ends = seen(&all);
    assert!(ends.contains(&("[], [2], [2, 77", 1)), "{ends:?}");
}

#[test]
fn a_permit_is_kept_and_does_not_add_up() {
    let all = outcomes(&[&[Park, Park], &[Unpark(0), Unpark(0)]]);
    // Both unparks come before the first park: deadlock. Or one comes before each park.
    assert_eq!(all.deadlock, Some(0));
    assert_eq!(seen(&all), set([("[], [", 1)]));
}

#[test]
fn a_wait_at_a_channel_takes_the_permit() {
    // The receive waits, and takes the permit: deadlock. Or it begins after the send.
    for channel in [0, 1, 2] {
        let all = outcomes(&[&[Recv(channel), Park], &[Unpark(0), Send(channel)]]);
        assert_eq!(all.deadlock, Some(0));
        assert_eq!(seen(&all), set([("[2], [1", 1)]));
    }
    // The permit comes after the wait, or before its end.
    let all = outcomes(&[&[Recv(0), Park], &[Send(0), Unpark(0)]]);
    assert_eq!(all.deadlock, Some(0));
    assert_eq!(seen(&all), set([("[2], [1", 1)]));
}

#[test]
fn a_barrier_of_two_holds_up_one_alone() {
    assert_eq!(outcomes(&[&[], &[BarrierWait]]).deadlock, Some(0));
    let all = outcomes(&[&[Store(0), BarrierWait], &[BarrierWait, Load(0)]]);
    assert_eq!(seen(&all), set([("[], [1", 0)]));
}

#[test]
fn a_task_is_finished_at_its_very_end() {
    let all = outcomes(&[&[Load(0), IsFinished(1)], &[Store(0)]]);
    let expected = [
        ("[0, 0], [", 0),
        ("[0, 1], [", 1),
        ("[2, 0], [", 2),
        ("[2, 1], [", 1),
    ];
    assert_eq!(seen(&all), set(expected));
}

#[test]
fn the_last_owner_unwraps() {
    let all = outcomes(&[&[StrongCount], &[TryUnwrap]]);
    let expected = [("[2], [1", 0), ("[1], [77", 1), ("[2], [77", 1)];
    assert_eq!(seen(&all), set(expected));
}

#[test]
fn streams_may_be_locked_again_but_stdin() {
    let own = [Stdio(0, vec![Stdio(0, vec![])])];
    assert_eq!(outcomes(&[&[], &own]).deadlock, None);
    let own = [Stdio(2, vec![Stdio(2, vec![])])];
    assert_eq!(outcomes(&[&[], &own]).deadlock, Some(0));
}

#[test]
fn a_stream_is_given_back_with_the_last_operation_under_its_lock() {
    // The release of the lock is not a scheduling point. The other task therefore has to run
    // before the acquisition, and then be preempted itself.
    let all = outcomes(&[&[Stdio(1, vec![])], &[StrongCount, Flush(1), StrongCount]]);
    let expected = [("[], [1, 1", 0), ("[], [2, 1", 2), ("[], [2, 2", 1)];
    assert_eq!(seen(&all), set(expected));
    let all = outcomes(&[
        &[Stdio(0, vec![Lock(0, vec![])])],
        &[Lock(0, vec![Flush(0)])],
    ]);
    assert_eq!(all.deadlock, Some(1));
}

#[test]
fn a_panic_poisons_until_that_is_cleared() {
    let all = outcomes(&[&[], &[LockAndPanic(0, vec![])], &[Lock(0, vec![])]]);
    assert_eq!(seen(&all), set([("[], [0], [101", 0), ("[], [1], [0", 0)]));
    let all = outcomes(&[
        &[],
        &[LockAndPanic(0, vec![]), ClearPoison(0)],
        &[IsPoisoned(0)],
    ]);
    assert_eq!(seen(&all), set([("[], [0], [0", 0), ("[], [0], [1", 1)]));
}

#[test]
fn files_are_made_once_and_written_to_in_order() {
    let all = outcomes(&[&[], &[CreateNew(0)], &[CreateNew(0)]]);
    assert_eq!(seen(&all), set([("[], [0], [1", 0), ("[], [1], [0", 0)]));
    let all = outcomes(&[&[], &[Append(0), Length(0)], &[Append(0)]]);
    let ends: Vec<_> = all.ends.keys().map(|end| &end[..12]).collect();
    // The last two have the same observations, but different final contents.
    assert_eq!(ends, ["[[], [1], []", "[[], [2], []", "[[], [2], []"]);
}

#[test]
fn the_smallest_program_that_fails_is_had_from_a_larger_one() {
    let large = program(&[
        &[Exists(0)],
        &[Lock(0, vec![Load(1), Store(0)]), Load(0)],
        &[Load(1)],
    ]);
    let mut fails = |less: &Program| less.has(&|op| *op == Store(0));
    assert_eq!(shrink(large, &mut fails), program(&[&[], &[Store(0)]]));
}

#[test]
fn random_programs_of_each_kind_have_outcomes_and_repeat() {
    for kind in Kind::ALL {
        for seed in 0..20 {
            let program = random_program(seed, &[kind]);
            assert_eq!(program, random_program(seed, &[kind]));
            let found = enumerate(&program, 200_000).expect("small programs");
            assert!(!found.ends.is_empty() || found.deadlock.is_some());
        }
    }
}

#[test]
fn a_sender_releases_its_stream_when_it_runs_again() {
    let all = outcomes(&[
        &[],
        &[TryRecv(RENDEZVOUS), Stdio(0, vec![])],
        &[Stdio(0, vec![Send(RENDEZVOUS)]), TrySend(RENDEZVOUS)],
    ]);
    // In the first outcome, the receiver waits for the lock of the stream. So the channel still has
    // a receiver at the second send, which fails with 77. Without a receiver it fails with 0.
    let expected = set([("[], [3], [1, 77", 0), ("[], [77], [0, 0", 0)]);
    assert_eq!(seen(&all.up_to(0)), expected);
}
