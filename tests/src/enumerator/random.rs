//! Random programs.

use super::{Kind, Op, Program};

struct Random(u64);

impl Random {
    fn below(&mut self, n: usize) -> usize {
        // splitmix64
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^= z >> 31;
        let n = u64::try_from(n).expect("small");
        usize::try_from(z % n).expect("small")
    }
}

/// The operations that are possible at a point of a task.
struct Place<'a> {
    random: &'a mut Random,
    kinds: &'a [Kind],
    task: usize,
    tasks: usize,
    /// The tasks that own the receivers.
    receivers: [usize; 3],
    /// The held objects, by kind and number, that must not be acquired again.
    held: Vec<(Kind, usize)>,
    /// The number of further operations that the program may have.
    left: &'a mut usize,
}

/// Returns the program of `seed` with objects of these kinds.
pub fn random_program(seed: u64, kinds: &[Kind]) -> Program {
    let mut random = Random(seed);
    // Programs with few kinds of objects have more races.
    let count = 1 + random.below(3);
    let chosen: Vec<Kind> = (0..count)
        .map(|_| kinds[random.below(kinds.len())])
        .collect();
    let tasks = 2 + random.below(2);
    let receivers = [0; 3].map(|_| random.below(tasks));
    let mut left = 5 + random.below(3);
    let mut program = vec![Vec::new(); tasks];
    // The last tasks come first, because the test's own thread may have no operations.
    for task in (0..tasks).rev() {
        let most = if task == 0 { 3 } else { 4 };
        let mut place = Place {
            random: &mut random,
            kinds: &chosen,
            task,
            tasks,
            receivers,
            held: Vec::new(),
            left: &mut left,
        };
        let least = usize::from(task != 0);
        let count = least + place.random.below(most);
        program[task] = place.ops(count, 2);
        without_spins(&mut program[task], &mut Vec::new());
    }
    Program { tasks: program }
}

/// Removes each operation that the task has already performed three times. If a task performs an
/// operation without effect for the fourth time, the tool treats it as a spinning loop, and a switch
/// before this operation is not a preemption.
fn without_spins(ops: &mut Vec<Op>, before: &mut Vec<Op>) {
    const TURNS: usize = 3;
    ops.retain_mut(|op| {
        let mut bare = op.clone();
        if let Some(body) = bare.body_mut() {
            body.clear();
        }
        let same = before.iter().filter(|&other| *other == bare);
        let may_stay = same.count() < TURNS;
        before.push(bare);
        if let Some(body) = op.body_mut().filter(|_| may_stay) {
            without_spins(body, before);
        }
        may_stay
    });
}

impl Place<'_> {
    fn ops(&mut self, count: usize, depth: usize) -> Vec<Op> {
        let mut ops = Vec::new();
        for _ in 0..count {
            if *self.left == 0 {
                break;
            }
            // For some kinds, no operation is possible at this point.
            if let Some(op) = (0..4).find_map(|_| self.op(depth)) {
                ops.push(op);
            }
        }
        ops
    }

    /// Returns operations to perform while an object is held.
    fn body(&mut self, depth: usize, held: Option<(Kind, usize)>) -> Vec<Op> {
        if depth == 0 {
            return Vec::new();
        }
        self.held.extend(held);
        let count = self.random.below(3);
        let ops = self.ops(count, depth - 1);
        self.held
            .truncate(self.held.len() - usize::from(held.is_some()));
        ops
    }

    /// Returns an operation that acquires and holds object `at`, or `None` if the object is
    /// already held.
    fn holds(
        &mut self,
        depth: usize,
        (kind, at): (Kind, usize),
        op: fn(usize, Vec<Op>) -> Op,
    ) -> Option<Op> {
        if self.held.contains(&(kind, at)) {
            return None;
        }
        *self.left -= 1;
        Some(op(at, self.body(depth, Some((kind, at)))))
    }

    #[expect(
        clippy::unnecessary_wraps,
        reason = "as `holds`, beside which it stands"
    )]
    fn one(&mut self, op: Op) -> Option<Op> {
        *self.left -= 1;
        Some(op)
    }

    #[expect(clippy::too_many_lines, reason = "one arm for each kind")]
    fn op(&mut self, depth: usize) -> Option<Op> {
        let kind = self.kinds[self.random.below(self.kinds.len())];
        let at = match kind {
            Kind::Stdio => 0,
            _ => self.random.below(2),
        };
        let which = |this: &mut Self, n| this.random.below(n);
        let object = match kind {
            Kind::Poison | Kind::ClearPoison => (Kind::Mutex, at),
            Kind::Downgrade => (Kind::RwLock, at),
            _ => (kind, at),
        };
        match kind {
            Kind::Atomic => {
                let op = match which(self, 5) {
                    0 => Op::Load(at),
                    1 => Op::Store(at),
                    2 => Op::FetchAdd(at),
                    3 => Op::Swap(at),
                    _ => Op::CompareExchange(at),
                };
                self.one(op)
            }
            Kind::ClearPoison if which(self, 6) == 0 => self.one(Op::ClearPoison(at)),
            Kind::Poison | Kind::ClearPoison if which(self, 2) == 0 => match which(self, 3) {
                0 | 1 => self.holds(depth, object, Op::LockAndPanic),
                _ => self.one(Op::IsPoisoned(at)),
            },
            Kind::Mutex | Kind::Poison | Kind::ClearPoison => match which(self, 3) {
                0 | 1 => self.holds(depth, object, Op::Lock),
                _ => self.holds(depth, object, Op::TryLock),
            },
            Kind::Downgrade if which(self, 3) == 0 => self.holds(depth, object, Op::Downgrade),
            Kind::RwLock | Kind::Downgrade => match which(self, 5) {
                0 | 1 => self.holds(depth, object, Op::Read),
                2 => self.holds(depth, object, Op::Write),
                3 => self.holds(depth, object, Op::TryRead),
                _ => self.holds(depth, object, Op::TryWrite),
            },
            Kind::Condvar => match which(self, 6) {
                0 | 1 => self.holds(depth, object, Op::Raise),
                2 if !self.held.contains(&object) => self.one(Op::WaitWhile(at)),
                3 if !self.held.contains(&object) => self.one(Op::Wait(at)),
                4 => self.one(Op::NotifyOne(at)),
                _ => self.one(Op::NotifyAll(at)),
            },
            Kind::Channel | Kind::SyncChannel | Kind::Rendezvous => {
                let at = match kind {
                    Kind::Channel => 0,
                    Kind::SyncChannel => 1,
                    _ => 2,
                };
                let op = if self.receivers[at] == self.task && which(self, 4) > 0 {
                    match which(self, 6) {
                        0..=2 => Op::Recv(at),
                        3 | 4 => Op::TryRecv(at),
                        _ => Op::DropReceiver(at),
                    }
                } else {
                    match which(self, 6) {
                        0..=2 => Op::Send(at),
                        3 | 4 => Op::TrySend(at),
                        _ => Op::DropSender(at),
                    }
                };
                self.one(op)
            }
            Kind::Once => match which(self, 4) {
                0 | 1 => self.holds(depth, object, Op::GetOrInit),
                2 => self.one(Op::Get(at)),
                // An initialization that uses its own cell would wait for itself.
                _ if self.held.contains(&object) => None,
                _ => self.one(Op::Set(at)),
            },
            Kind::Barrier => self.one(Op::BarrierWait),
            Kind::Park => {
                let other = match self.task {
                    0 => 1 + which(self, self.tasks - 1),
                    _ => 0,
                };
                let op = if which(self, 2) == 0 {
                    Op::Park
                } else {
                    Op::Unpark(other)
                };
                self.one(op)
            }
            Kind::Thread if self.task == 0 => {
                let other = 1 + which(self, self.tasks - 1);
                let op = if which(self, 3) == 0 {
                    Op::Join(other)
                } else {
                    Op::IsFinished(other)
                };
                self.one(op)
            }
            Kind::Thread => None,
            Kind::Arc => match which(self, 5) {
                0 => self.one(Op::StrongCount),
                1 | 2 => {
                    *self.left -= 1;
                    Some(Op::Upgrade(self.body(depth, None)))
                }
                3 => self.one(Op::TryUnwrap),
                _ => self.one(Op::DropArc),
            },
            Kind::Streams if which(self, 3) == 0 => self.holds(depth, (kind, 2), Op::Stdio),
            Kind::Stdio | Kind::Streams if which(self, 3) == 0 => self.one(Op::Flush(at)),
            // These locks are reentrant.
            Kind::Stdio | Kind::Streams => {
                *self.left -= 1;
                Some(Op::Stdio(at, self.body(depth, None)))
            }
            Kind::File => {
                let op = match which(self, 5) {
                    0 | 1 => Op::CreateNew(at),
                    2 => Op::Remove(at),
                    3 => Op::Exists(at),
                    _ => Op::Rename(at),
                };
                self.one(op)
            }
            Kind::Log => match which(self, 2) {
                0 => self.one(Op::Append(at)),
                _ => self.one(Op::Length(at)),
            },
            Kind::FileLock => match which(self, 4) {
                0 => self.holds(depth, object, Op::FileLock),
                1 => self.holds(depth, object, Op::FileTryLock),
                2 => self.holds(depth, object, Op::FileLockShared),
                _ => self.holds(depth, object, Op::FileTryLockShared),
            },
            Kind::Env => {
                let op = match which(self, 3) {
                    0 => Op::SetVar(at),
                    1 => Op::Var(at),
                    _ => Op::RemoveVar(at),
                };
                self.one(op)
            }
            Kind::Sealed => match which(self, 3) {
                0 | 1 => self.holds(depth, object, Op::Sealed),
                _ => self.holds(depth, object, Op::SealedTry),
            },
            Kind::Pthread => match which(self, 3) {
                0 | 1 => self.holds(depth, object, Op::CLock),
                _ => self.holds(depth, object, Op::CTryLock),
            },
            Kind::Semaphore => {
                let op = match which(self, 4) {
                    0 | 1 => Op::SemWait(at),
                    2 => Op::SemPost(at),
                    _ => Op::SemTryWait(at),
                };
                self.one(op)
            }
            Kind::Socket => {
                let op = match which(self, 4) {
                    0 | 1 => Op::SocketRead(at),
                    2 => Op::SocketWrite(at),
                    _ => Op::SocketTryRead(at),
                };
                self.one(op)
            }
            Kind::CMemory => {
                let op = match which(self, 3) {
                    0 => Op::CLoad(at),
                    1 => Op::CStore(at),
                    _ => Op::CAdd(at),
                };
                self.one(op)
            }
            Kind::CAtomic => {
                let op = match which(self, 5) {
                    0 => Op::Load(at),
                    1 => Op::Store(at),
                    2 => Op::CompareExchange(at),
                    3 => Op::CStoreAt(at),
                    _ => Op::CAddAt(at),
                };
                self.one(op)
            }
            Kind::PthreadRwLock => match which(self, 4) {
                0 => self.holds(depth, object, Op::CRead),
                1 => self.holds(depth, object, Op::CWrite),
                2 => self.holds(depth, object, Op::CTryRead),
                _ => self.holds(depth, object, Op::CTryWrite),
            },
        }
    }
}
