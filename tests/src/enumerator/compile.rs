//! Translation of nested operations into a list of steps for each task.

use super::objects::{Lock, Mode};
use super::{Op, Program};

/// One step of a task. Each step is indivisible. There is a scheduling point before it, except
/// before the steps of `machine/passing.rs`.
#[derive(Clone, Debug)]
pub(super) enum Step {
    Acquire {
        lock: Lock,
        mode: Mode,
    },
    /// Like `Acquire`, but the task does not observe the number that the lock protects.
    LockGate {
        gate: usize,
    },
    /// Tries to acquire the lock. Continues at `otherwise` if the lock is not free.
    Attempt {
        lock: Lock,
        mode: Mode,
        otherwise: usize,
    },
    Release {
        lock: Lock,
    },
    Downgrade {
        lock: Lock,
    },
    /// Poisons the lock, and releases it.
    Panic {
        lock: Lock,
    },
    IsPoisoned {
        lock: Lock,
    },
    ClearPoison {
        lock: Lock,
    },
    Load(usize),
    Store(usize),
    FetchAdd(usize),
    Swap(usize),
    CompareExchange(usize),
    CLoad(usize),
    CStore(usize),
    CAdd(usize),
    SemWait(usize),
    SemTryWait(usize),
    SemPost(usize),
    SocketRead(usize),
    SocketTryRead(usize),
    SocketWrite(usize),
    /// Releases the lock of a gate, waits for a notification, and acquires the lock again.
    Wait {
        gate: usize,
    },
    /// Continues at `otherwise` if the number of a gate is not 0. The task holds the lock of the
    /// gate, so this is not a scheduling point.
    SkipUnlessZero {
        gate: usize,
        otherwise: usize,
    },
    /// Observes the number of a gate, and decrements it if `take` is set. This is not a scheduling
    /// point.
    SeeGate {
        gate: usize,
        take: bool,
    },
    Notify {
        gate: usize,
        all: bool,
    },
    Send(usize),
    TrySend(usize),
    Recv(usize),
    TryRecv(usize),
    /// Drops the task's sender. If the task has no sender, this has no effect and is not a
    /// scheduling point.
    DropSender(usize),
    DropReceiver(usize),
    /// Waits while another task initializes the cell. If the cell then has a value, the task
    /// observes it and continues at `otherwise`. If not, the task begins to initialize the cell.
    BeginInit {
        cell: usize,
        otherwise: usize,
    },
    EndInit {
        cell: usize,
    },
    Get(usize),
    Set(usize),
    BarrierWait,
    Park,
    Unpark(usize),
    Join(usize),
    /// Like `Join`, but has no effect if the task was joined before.
    JoinRest(usize),
    IsFinished(usize),
    StrongCount,
    Upgrade {
        otherwise: usize,
    },
    DropUpgraded,
    TryUnwrap,
    DropArc,
    /// Acquires and releases the lock of a stream.
    Flush(Lock),
    CreateNew(usize),
    Remove(usize),
    Exists(usize),
    Rename(usize),
    Append(usize),
    Length(usize),
    SetVar(usize),
    Var(usize),
    RemoveVar(usize),
    Exit,
}

/// Returns the steps of each task.
pub(super) fn compile(program: &Program) -> Vec<Vec<Step>> {
    let tasks = 0..program.tasks.len();
    tasks.map(|task| steps_of(program, task)).collect()
}

fn steps_of(program: &Program, task: usize) -> Vec<Step> {
    let mut steps = Vec::new();
    push_all(&mut steps, &program.tasks[task]);
    for channel in 0..3 {
        steps.push(Step::DropSender(channel));
        steps.push(Step::DropReceiver(channel));
    }
    steps.push(Step::DropArc);
    if task == 0 {
        steps.extend((1..program.tasks.len()).map(Step::JoinRest));
    }
    steps.push(Step::Exit);
    steps
}

fn push_all(steps: &mut Vec<Step>, ops: &[Op]) {
    for op in ops {
        push(steps, op);
    }
}

/// Adds the step `first`, the steps of `body`, and the steps `last`. The step `first` gets the
/// index after all these steps: it can skip them.
fn branch(
    steps: &mut Vec<Step>,
    first: impl Fn(usize) -> Step,
    body: &[Op],
    last: impl IntoIterator<Item = Step>,
) {
    let at = steps.len();
    steps.push(first(0));
    push_all(steps, body);
    steps.extend(last);
    steps[at] = first(steps.len());
}

#[expect(clippy::too_many_lines, reason = "one arm for each operation")]
fn push(steps: &mut Vec<Step>, op: &Op) {
    use Mode::{Exclusive, Shared};
    let acquire = |steps: &mut Vec<Step>, lock, mode, body: &[Op]| {
        branch(
            steps,
            |_| Step::Acquire { lock, mode },
            body,
            [Step::Release { lock }],
        );
    };
    let attempt = |steps: &mut Vec<Step>, lock, mode, body: &[Op]| {
        let first = |otherwise| Step::Attempt {
            lock,
            mode,
            otherwise,
        };
        branch(steps, first, body, [Step::Release { lock }]);
    };
    match op {
        Op::Load(at) => steps.push(Step::Load(*at)),
        Op::Store(at) | Op::CStoreAt(at) => steps.push(Step::Store(*at)),
        Op::FetchAdd(at) | Op::CAddAt(at) => steps.push(Step::FetchAdd(*at)),
        Op::Swap(at) => steps.push(Step::Swap(*at)),
        Op::CompareExchange(at) => steps.push(Step::CompareExchange(*at)),
        Op::Lock(at, body) => acquire(steps, Lock::mutex(*at), Exclusive, body),
        Op::TryLock(at, body) => attempt(steps, Lock::mutex(*at), Exclusive, body),
        Op::LockAndPanic(at, body) => {
            let lock = Lock::mutex(*at);
            steps.push(Step::Acquire {
                lock,
                mode: Exclusive,
            });
            push_all(steps, body);
            steps.push(Step::Panic { lock });
        }
        Op::IsPoisoned(at) => steps.push(Step::IsPoisoned {
            lock: Lock::mutex(*at),
        }),
        Op::ClearPoison(at) => steps.push(Step::ClearPoison {
            lock: Lock::mutex(*at),
        }),
        Op::Read(at, body) => acquire(steps, Lock::rwlock(*at), Shared, body),
        Op::Write(at, body) => acquire(steps, Lock::rwlock(*at), Exclusive, body),
        Op::TryRead(at, body) => attempt(steps, Lock::rwlock(*at), Shared, body),
        Op::TryWrite(at, body) => attempt(steps, Lock::rwlock(*at), Exclusive, body),
        Op::Downgrade(at, body) => {
            let lock = Lock::rwlock(*at);
            steps.push(Step::Acquire {
                lock,
                mode: Exclusive,
            });
            steps.push(Step::Downgrade { lock });
            push_all(steps, body);
            steps.push(Step::Release { lock });
        }
        Op::Raise(at, body) => acquire(steps, Lock::gate(*at), Exclusive, body),
        Op::WaitWhile(gate) | Op::Wait(gate) => {
            let (gate, lock) = (*gate, Lock::gate(*gate));
            steps.push(Step::LockGate { gate });
            let take = matches!(op, Op::WaitWhile(_));
            if take {
                let otherwise = steps.len() + 2;
                steps.push(Step::SkipUnlessZero { gate, otherwise });
            }
            steps.push(Step::Wait { gate });
            steps.push(Step::SeeGate { gate, take });
            steps.push(Step::Release { lock });
        }
        Op::NotifyOne(gate) => steps.push(Step::Notify {
            gate: *gate,
            all: false,
        }),
        Op::NotifyAll(gate) => steps.push(Step::Notify {
            gate: *gate,
            all: true,
        }),
        Op::Send(at) => steps.push(Step::Send(*at)),
        Op::TrySend(at) => steps.push(Step::TrySend(*at)),
        Op::Recv(at) => steps.push(Step::Recv(*at)),
        Op::TryRecv(at) => steps.push(Step::TryRecv(*at)),
        Op::DropSender(at) => steps.push(Step::DropSender(*at)),
        Op::DropReceiver(at) => steps.push(Step::DropReceiver(*at)),
        Op::GetOrInit(cell, body) => {
            let cell = *cell;
            let first = |otherwise| Step::BeginInit { cell, otherwise };
            branch(steps, first, body, [Step::EndInit { cell }]);
        }
        Op::Get(at) => steps.push(Step::Get(*at)),
        Op::Set(at) => steps.push(Step::Set(*at)),
        Op::BarrierWait => steps.push(Step::BarrierWait),
        Op::Park => steps.push(Step::Park),
        Op::Unpark(at) => steps.push(Step::Unpark(*at)),
        Op::Join(at) => steps.push(Step::Join(*at)),
        Op::IsFinished(at) => steps.push(Step::IsFinished(*at)),
        Op::StrongCount => steps.push(Step::StrongCount),
        Op::Upgrade(body) => {
            let first = |otherwise| Step::Upgrade { otherwise };
            branch(steps, first, body, [Step::DropUpgraded]);
        }
        Op::TryUnwrap => steps.push(Step::TryUnwrap),
        Op::DropArc => steps.push(Step::DropArc),
        Op::Stdio(at, body) => acquire(steps, Lock::stream(*at), Exclusive, body),
        Op::Flush(at) => steps.push(Step::Flush(Lock::stream(*at))),
        Op::CreateNew(at) => steps.push(Step::CreateNew(*at)),
        Op::Remove(at) => steps.push(Step::Remove(*at)),
        Op::Exists(at) => steps.push(Step::Exists(*at)),
        Op::Rename(at) => steps.push(Step::Rename(*at)),
        Op::Append(at) => steps.push(Step::Append(*at)),
        Op::Length(at) => steps.push(Step::Length(*at)),
        Op::FileLock(at, body) => acquire(steps, Lock::file(*at), Exclusive, body),
        Op::FileTryLock(at, body) => attempt(steps, Lock::file(*at), Exclusive, body),
        Op::FileLockShared(at, body) => acquire(steps, Lock::file(*at), Shared, body),
        Op::FileTryLockShared(at, body) => attempt(steps, Lock::file(*at), Shared, body),
        Op::SetVar(at) => steps.push(Step::SetVar(*at)),
        Op::Var(at) => steps.push(Step::Var(*at)),
        Op::RemoveVar(at) => steps.push(Step::RemoveVar(*at)),
        Op::Sealed(at, body) => acquire(steps, Lock::sealed(*at), Exclusive, body),
        Op::SealedTry(at, body) => attempt(steps, Lock::sealed(*at), Exclusive, body),
        Op::CLoad(at) => steps.push(Step::CLoad(*at)),
        Op::CStore(at) => steps.push(Step::CStore(*at)),
        Op::CAdd(at) => steps.push(Step::CAdd(*at)),
        Op::SemWait(at) => steps.push(Step::SemWait(*at)),
        Op::SemTryWait(at) => steps.push(Step::SemTryWait(*at)),
        Op::SemPost(at) => steps.push(Step::SemPost(*at)),
        Op::SocketRead(at) => steps.push(Step::SocketRead(*at)),
        Op::SocketTryRead(at) => steps.push(Step::SocketTryRead(*at)),
        Op::SocketWrite(at) => steps.push(Step::SocketWrite(*at)),
        Op::CLock(at, body) => acquire(steps, Lock::c_mutex(*at), Exclusive, body),
        Op::CTryLock(at, body) => attempt(steps, Lock::c_mutex(*at), Exclusive, body),
        Op::CRead(at, body) => acquire(steps, Lock::c_rwlock(*at), Shared, body),
        Op::CWrite(at, body) => acquire(steps, Lock::c_rwlock(*at), Exclusive, body),
        Op::CTryRead(at, body) => attempt(steps, Lock::c_rwlock(*at), Shared, body),
        Op::CTryWrite(at, body) => attempt(steps, Lock::c_rwlock(*at), Exclusive, body),
    }
}
