//! The dependences of a lock's operations, compared with the behaviour of a model lock.

use super::{Dependence, Effect};

const TASKS: usize = 3;

/// A read-write lock.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct Lock {
    writer: Option<usize>,
    reads: [bool; TASKS],
    /// Tasks that wait for readers to leave.
    queued: [bool; TASKS],
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Call {
    Read,
    TryRead,
    EndRead,
    Write,
    TryWrite,
    EndWrite,
    Downgrade,
}

const CALLS: [Call; 7] = [
    Call::Read,
    Call::TryRead,
    Call::EndRead,
    Call::Write,
    Call::TryWrite,
    Call::EndWrite,
    Call::Downgrade,
];

impl Lock {
    /// All states of the lock.
    fn all() -> Vec<Self> {
        let sets = || (0..1 << TASKS).map(|set| std::array::from_fn(|task| set >> task & 1 == 1));
        let writers = [None, Some(0), Some(1), Some(2)];
        let mut all = Vec::new();
        for writer in writers {
            for reads in sets() {
                for queued in sets() {
                    all.push(Self {
                        writer,
                        reads,
                        queued,
                    });
                }
            }
        }
        all.retain(|lock| lock.writer.is_none() || lock.reads == [false; TASKS]);
        all
    }

    fn is_read(&self) -> bool {
        self.reads.contains(&true)
    }

    /// The step of `task` by `call`: its effect, and the state after it. `None` if `task` cannot
    /// make this step now.
    fn step(mut self, task: usize, call: Call) -> Option<(Effect, Self)> {
        let awaited = self.queued.contains(&true);
        let may_read = self.writer.is_none() && !awaited;
        let may_write = self.writer.is_none() && !self.is_read();
        // A second read hold of one task would add no behaviour.
        let reads_again = self.reads[task] && matches!(call, Call::Read | Call::TryRead);
        if reads_again || self.queued[task] && call != Call::Write {
            return None;
        }
        let effect = match call {
            Call::Read if may_read => Effect::Enter,
            Call::TryRead if may_read => Effect::TryEnter,
            Call::TryRead => Effect::Fail,
            Call::TryWrite if !may_write => Effect::Fail,
            Call::Write if may_write => Effect::Acquire,
            Call::Write if self.is_read() && !self.queued[task] => Effect::Queue,
            Call::TryWrite => Effect::Write,
            Call::EndRead if self.reads[task] => Effect::Leave,
            Call::EndWrite | Call::Downgrade if self.writer == Some(task) => Effect::Release,
            _ => return None,
        };
        match effect {
            Effect::Enter | Effect::TryEnter => self.reads[task] = true,
            Effect::Acquire | Effect::Write => {
                self.writer = Some(task);
                self.queued[task] = false;
            }
            Effect::Queue => self.queued[task] = true,
            Effect::Leave => self.reads[task] = false,
            Effect::Release => {
                self.writer = None;
                self.reads[task] = call == Call::Downgrade;
            }
            _ => {}
        }
        Some((effect, self))
    }
}

/// Whether the steps of two tasks have the same effects and lead to the same state in both orders.
fn commute(lock: Lock, first: (usize, Call), second: (usize, Call)) -> bool {
    let in_order = |(one, call): (usize, Call), (other, next): (usize, Call)| {
        let (effect, lock) = lock.step(one, call)?;
        let (later, lock) = lock.step(other, next)?;
        Some((effect, later, lock))
    };
    let turned = in_order(second, first);
    let turned = turned.map(|(second, first, lock)| (first, second, lock));
    in_order(first, second) == turned
}

#[test]
fn operations_that_commute_on_a_lock_do_so_in_each_of_its_states() {
    let mut seen = 0;
    for lock in Lock::all() {
        for (first, second) in CALLS
            .into_iter()
            .flat_map(|one| CALLS.map(|two| (one, two)))
        {
            let Some((earlier, between)) = lock.step(0, first) else {
                continue;
            };
            let Some((later, _)) = between.step(1, second) else {
                continue;
            };
            seen += 1;
            let could_come_first = lock.step(1, second).map(|(effect, _)| effect);
            let named = format!("{first:?}, then {second:?}: {earlier:?}, {later:?}, {lock:?}");
            match later.depends(earlier) {
                // The order in which a task queues and the last reader leaves only affects the
                // tasks that enter in between.
                Dependence::None if earlier == Effect::Queue && later == Effect::Leave => {}
                Dependence::None => {
                    assert!(commute(lock, (0, first), (1, second)), "{named}");
                }
                // A race with the operation that enables the other one would hide the real race.
                Dependence::Races => assert!(could_come_first.is_some(), "{named}"),
                Dependence::Enables => {
                    let waits = matches!(could_come_first, None | Some(Effect::Queue));
                    assert!(waits, "{named}");
                }
            }
        }
    }
    assert!(seen > 100, "{seen}");
}
