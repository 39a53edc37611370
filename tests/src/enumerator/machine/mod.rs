//! The states of a program, and the effect of each step on them, by std's documentation.

mod channels;
mod passing;

use super::compile::Step;
use super::objects::{Cell, Channel, LOCKS, Lock, LockState, Mode};
use super::{Op, Program};

/// The observed value of a failed attempt.
const FAILED: u8 = 77;
/// The number that is added to each observed value of a poisoned lock.
const POISONED: u8 = 100;
/// The observed value of an attempt that failed because its channel is disconnected.
const DISCONNECTED: u8 = 88;
/// The observed value if the task has dropped an object that the operation needs.
const GONE: u8 = 66;
/// The owner of a receiver that no task uses.
const KEPT: u8 = u8::MAX;

/// The phase of a task within its step.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum Phase {
    /// The task has not begun the step.
    Ready,
    /// The task waits for a step of another task. The step is a notification, the send or the
    /// receipt of a message, the end of a channel, the arrival at a barrier, or the release of an
    /// `RwLock` by a reader.
    Waits,
    /// The wait is over. A task that waits for a condition variable has yet to acquire the lock
    /// again. A task that waits at a channel without a buffer has yet to run again.
    Notified,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct Task {
    at: u16,
    phase: Phase,
    seen: Vec<u8>,
}

/// A state of the whole program.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) struct State {
    /// The task that made the last step.
    pub(super) current: usize,
    tasks: Vec<Task>,
    locks: [LockState; LOCKS],
    channels: [Channel; 3],
    cells: [Cell; 2],
    atomics: [u8; 2],
    c_numbers: [u8; 2],
    /// The free units of each semaphore.
    semaphores: [u8; 2],
    /// The bytes that each socket buffers.
    sockets: [Vec<u8>; 2],
    /// The set of the tasks that wait at the barrier: one bit for each task.
    barrier: u8,
    /// The set of the tasks that were unparked.
    tokens: u8,
    ended: u8,
    joined: u8,
    /// The set of the tasks that own a part of the `Arc`.
    owners: u8,
    /// The number of additional owners, which `upgrade` created.
    upgraded: u8,
    /// The set of the files that exist.
    files: u8,
    logs: [Vec<u8>; 2],
    variables: [u8; 2],
}

fn bit(at: usize) -> u8 {
    1 << at
}

fn name(task: usize) -> u8 {
    u8::try_from(task + 1).expect("few tasks")
}

impl State {
    /// Returns the state before the first step. The current task is the test's own thread.
    pub(super) fn first(program: &Program, steps: &[Vec<Step>]) -> Self {
        let channel = |at, capacity| Channel {
            capacity,
            messages: Vec::new(),
            senders: mask(
                program,
                &|op| matches!(*op, Op::Send(to) | Op::TrySend(to) | Op::DropSender(to) if to == at),
            ),
            receiver: {
                let tasks = mask(
                    program,
                    &|op| matches!(*op, Op::Recv(of) | Op::TryRecv(of) | Op::DropReceiver(of) if of == at),
                );
                assert!(tasks.count_ones() <= 1, "a receiver has one task");
                Some(u8::try_from(tasks.trailing_zeros()).expect("small"))
                    .filter(|_| tasks != 0)
                    .or(Some(KEPT))
            },
            offers: Vec::new(),
            is_awaited: false,
        };
        let has_arc = program.has(&|op| {
            matches!(
                op,
                Op::StrongCount | Op::Upgrade(_) | Op::TryUnwrap | Op::DropArc
            )
        });
        let task = Task {
            at: 0,
            phase: Phase::Ready,
            seen: Vec::new(),
        };
        let mut state = Self {
            current: 0,
            tasks: vec![task; steps.len()],
            locks: [LockState::default(); LOCKS],
            channels: [channel(0, None), channel(1, Some(1)), channel(2, Some(0))],
            cells: Default::default(),
            atomics: [0; 2],
            c_numbers: [0; 2],
            semaphores: [1; 2],
            sockets: [vec![0], vec![0]],
            barrier: 0,
            tokens: 0,
            ended: 0,
            joined: 0,
            owners: if has_arc { bit(steps.len()) - 1 } else { 0 },
            upgraded: 0,
            files: 0,
            logs: Default::default(),
            variables: [FAILED; 2],
        };
        state.settle(steps);
        state
    }

    fn step<'a>(&self, steps: &'a [Vec<Step>], task: usize) -> &'a Step {
        &steps[task][usize::from(self.tasks[task].at)]
    }

    /// Whether `task` is enabled.
    pub(super) fn is_enabled(&self, steps: &[Vec<Step>], task: usize) -> bool {
        if self.ended & bit(task) != 0 {
            return false;
        }
        let step = self.step(steps, task);
        match (self.tasks[task].phase, step) {
            (Phase::Waits, Step::Acquire { lock, mode }) => self.is_free(*lock, *mode, task),
            (Phase::Waits, Step::Send(at)) => self.can_send(*at),
            (Phase::Waits, Step::Recv(at)) => self.can_receive(*at),
            (Phase::Waits, _) => false,
            (Phase::Ready, Step::Acquire { lock, mode }) => {
                let is_read = self.locks[lock.index()].readers > 0;
                let waits = lock.prefers_writers() && *mode == Mode::Exclusive && is_read;
                waits || self.is_admitted(steps, *lock, *mode, task)
            }
            (Phase::Notified, Step::Wait { gate }) | (Phase::Ready, Step::LockGate { gate }) => {
                self.is_free(Lock::gate(*gate), Mode::Exclusive, task)
            }
            (Phase::Notified, Step::Send(_) | Step::Recv(_)) => true,
            (Phase::Notified, _) => unreachable!("only condition variables and channels notify"),
            (Phase::Ready, Step::Flush(lock)) => self.is_free(*lock, Mode::Exclusive, task),
            (Phase::Ready, Step::BeginInit { cell, .. } | Step::Set(cell)) => {
                self.cells[*cell] != Cell::Begun
            }
            (Phase::Ready, Step::SemWait(at)) => self.semaphores[*at] > 0,
            (Phase::Ready, Step::SocketRead(at)) => !self.sockets[*at].is_empty(),
            (Phase::Ready, Step::Park) => self.tokens & bit(task) != 0,
            (Phase::Ready, Step::Join(other) | Step::JoinRest(other)) => {
                self.ended & bit(*other) != 0
            }
            (Phase::Ready, _) => true,
        }
    }

    fn is_free(&self, lock: Lock, mode: Mode, task: usize) -> bool {
        self.locks[lock.index()].is_free_for(lock, mode, task)
    }

    /// Whether the lock is free, and no waiting writer blocks a reader.
    fn is_admitted(&self, steps: &[Vec<Step>], lock: Lock, mode: Mode, task: usize) -> bool {
        let keeps = |other: usize| {
            let step = self.step(steps, other);
            self.tasks[other].phase == Phase::Waits
                && matches!(step, Step::Acquire { lock: of, .. } if *of == lock)
        };
        let is_kept =
            mode == Mode::Shared && lock.prefers_writers() && (0..self.tasks.len()).any(keeps);
        !is_kept && self.is_free(lock, mode, task)
    }

    /// Whether all tasks have ended.
    pub(super) fn has_ended(&self) -> bool {
        usize::try_from(self.ended.count_ones()) == Ok(self.tasks.len())
    }

    /// Returns the observations of the tasks and the final states of the objects.
    pub(super) fn outcome(&self, program: &Program) -> String {
        let seen: Vec<_> = self.tasks.iter().map(|task| &task.seen).collect();
        let numbered = [Lock::mutex, Lock::rwlock, Lock::gate];
        let numbered = numbered.iter().flat_map(|of| [of(0), of(1)]);
        let mut finals: Vec<u8> = numbered
            .map(|lock| self.locks[lock.index()].number)
            .collect();
        finals.extend(self.atomics);
        finals.extend(self.c_numbers);
        if program.has(&|op| {
            matches!(
                op,
                Op::CreateNew(_) | Op::Remove(_) | Op::Exists(_) | Op::Rename(_)
            )
        }) {
            finals.extend([0, 1].map(|file| u8::from(self.files & bit(file) != 0)));
        }
        if program.has(&|op| matches!(op, Op::SetVar(_) | Op::Var(_) | Op::RemoveVar(_))) {
            finals.extend(self.variables);
        }
        finals.extend(self.logs.concat());
        format!("{seen:?} {finals:?}")
    }

    /// Returns the possible states after the next step of `task`. The task must be enabled.
    pub(super) fn after(&self, steps: &[Vec<Step>], task: usize) -> Vec<Self> {
        let mut state = self.clone();
        state.current = task;
        if let Step::Notify { gate, all } = *self.step(steps, task) {
            return state.notify(steps, task, gate, all);
        }
        state.perform(steps, self.step(steps, task), task);
        state.settle(steps);
        vec![state]
    }

    /// Returns the possible states after a notification. `notify_one` may wake any waiting task.
    fn notify(mut self, steps: &[Vec<Step>], task: usize, gate: usize, all: bool) -> Vec<Self> {
        self.tasks[task].at += 1;
        let waits = |other: &usize| {
            let step = self.step(steps, *other);
            self.ended & bit(*other) == 0
                && self.tasks[*other].phase == Phase::Waits
                && matches!(step, Step::Wait { gate: of } if *of == gate)
        };
        let waiting: Vec<usize> = (0..self.tasks.len()).filter(waits).collect();
        let woken: Vec<Vec<usize>> = match (all, waiting.is_empty()) {
            (false, false) => waiting.into_iter().map(|other| vec![other]).collect(),
            _ => vec![waiting],
        };
        let states = woken.into_iter().map(|woken| {
            let mut state = self.clone();
            for other in woken {
                state.tasks[other].phase = Phase::Notified;
            }
            state.settle(steps);
            state
        });
        states.collect()
    }

    fn see(&mut self, task: usize, value: u8) {
        self.tasks[task].seen.push(value);
    }

    /// Ends the current step of `task`. Either this task or another one has performed the step.
    fn next(&mut self, task: usize) {
        self.tasks[task].at += 1;
        self.tasks[task].phase = Phase::Ready;
    }

    fn take(&mut self, lock: Lock, mode: Mode, task: usize) {
        let state = &mut self.locks[lock.index()];
        state.take(mode, task);
        let number = state.number + if state.is_poisoned { POISONED } else { 0 };
        if lock.has_number() {
            if mode == Mode::Exclusive {
                state.number += 1;
            }
            self.see(task, number);
        }
    }

    fn go_to(&mut self, task: usize, at: usize) {
        self.tasks[task].at = u16::try_from(at).expect("short programs");
    }

    fn owners(&self) -> u8 {
        u8::try_from(self.owners.count_ones()).expect("few tasks") + self.upgraded
    }

    #[expect(clippy::too_many_lines, reason = "one arm for each step")]
    fn perform(&mut self, steps: &[Vec<Step>], step: &Step, task: usize) {
        match *step {
            Step::Acquire { lock, mode } => {
                if !self.is_free(lock, mode, task) {
                    self.tasks[task].phase = Phase::Waits;
                    return;
                }
                self.take(lock, mode, task);
            }
            Step::LockGate { gate } => {
                self.locks[Lock::gate(gate).index()].take(Mode::Exclusive, task);
            }
            Step::Attempt {
                lock,
                mode,
                otherwise,
            } => {
                if self.is_admitted(steps, lock, mode, task) {
                    self.take(lock, mode, task);
                    if !lock.has_number() {
                        self.see(task, 1);
                    }
                } else {
                    self.see(task, FAILED);
                    return self.go_to(task, otherwise);
                }
            }
            Step::Release { lock } => self.locks[lock.index()].release(),
            Step::Panic { lock } => {
                self.locks[lock.index()].is_poisoned = true;
                self.locks[lock.index()].release();
            }
            Step::IsPoisoned { lock } => {
                self.see(task, u8::from(self.locks[lock.index()].is_poisoned));
            }
            Step::ClearPoison { lock } => self.locks[lock.index()].is_poisoned = false,
            Step::Downgrade { lock } => self.locks[lock.index()].downgrade(),
            Step::Load(at) => self.see(task, self.atomics[at]),
            Step::Store(at) => self.atomics[at] = name(task),
            Step::FetchAdd(at) => {
                self.see(task, self.atomics[at]);
                self.atomics[at] += name(task);
            }
            Step::Swap(at) => {
                self.see(task, self.atomics[at]);
                self.atomics[at] = name(task);
            }
            Step::CompareExchange(at) => {
                if self.atomics[at] == 0 {
                    self.atomics[at] = name(task);
                    self.see(task, 1);
                } else {
                    self.see(task, FAILED);
                }
            }
            Step::CLoad(at) => self.see(task, self.c_numbers[at]),
            Step::CStore(at) => self.c_numbers[at] = name(task),
            Step::CAdd(at) => {
                self.see(task, self.c_numbers[at]);
                self.c_numbers[at] += name(task);
            }
            Step::Wait { gate } => {
                let lock = &mut self.locks[Lock::gate(gate).index()];
                if self.tasks[task].phase == Phase::Ready {
                    lock.release();
                    self.tasks[task].phase = Phase::Waits;
                    return;
                }
                // The next step, `SeeGate`, checks the number again.
                lock.take(Mode::Exclusive, task);
            }
            Step::Send(at) | Step::TrySend(at) => {
                let tries = matches!(step, Step::TrySend(_));
                return self.send(task, at, tries);
            }
            Step::Recv(at) => return self.receive(task, at, false),
            Step::TryRecv(at) => return self.receive(task, at, true),
            Step::DropSender(at) => self.drop_sender(task, at),
            Step::DropReceiver(at) => self.drop_receiver(at),
            Step::BeginInit { cell, otherwise } => {
                if let Cell::Full(value) = self.cells[cell] {
                    self.see(task, value);
                    return self.go_to(task, otherwise);
                }
                self.cells[cell] = Cell::Begun;
            }
            Step::EndInit { cell } => {
                self.cells[cell] = Cell::Full(name(task));
                self.see(task, name(task));
            }
            Step::Get(at) => match self.cells[at] {
                Cell::Full(value) => self.see(task, value),
                Cell::Empty | Cell::Begun => self.see(task, FAILED),
            },
            Step::Set(at) => {
                if self.cells[at] == Cell::Empty {
                    self.cells[at] = Cell::Full(name(task));
                    self.see(task, 1);
                } else {
                    self.see(task, FAILED);
                }
            }
            Step::BarrierWait => return self.barrier(task),
            Step::Park => self.tokens &= !bit(task),
            Step::Unpark(other) => self.tokens |= bit(other),
            Step::Join(other) | Step::JoinRest(other) => self.joined |= bit(other),
            Step::IsFinished(other) => self.see(task, u8::from(self.ended & bit(other) != 0)),
            Step::StrongCount => self.see(task, self.owners()),
            Step::Upgrade { otherwise } => {
                if self.owners() == 0 {
                    self.see(task, FAILED);
                    return self.go_to(task, otherwise);
                }
                self.upgraded += 1;
                self.see(task, 1);
            }
            Step::DropUpgraded => self.upgraded -= 1,
            Step::TryUnwrap => {
                if self.owners() == 1 {
                    self.owners = 0;
                    self.see(task, 1);
                } else {
                    self.see(task, FAILED);
                }
            }
            Step::DropArc => self.owners &= !bit(task),
            Step::Flush(_) => {}
            Step::SemWait(at) => self.semaphores[at] -= 1,
            Step::SemTryWait(at) if self.semaphores[at] > 0 => {
                self.semaphores[at] -= 1;
                self.see(task, 1);
            }
            Step::SemTryWait(_) => self.see(task, FAILED),
            Step::SemPost(at) => self.semaphores[at] += 1,
            Step::SocketTryRead(at) if self.sockets[at].is_empty() => self.see(task, FAILED),
            Step::SocketRead(at) | Step::SocketTryRead(at) => {
                let byte = self.sockets[at].remove(0);
                self.see(task, byte);
            }
            Step::SocketWrite(at) => self.sockets[at].push(name(task)),
            Step::CreateNew(at) => {
                self.see(task, u8::from(self.files & bit(at) == 0));
                self.files |= bit(at);
            }
            Step::Remove(at) => {
                self.see(task, u8::from(self.files & bit(at) != 0));
                self.files &= !bit(at);
            }
            Step::Exists(at) => self.see(task, u8::from(self.files & bit(at) != 0)),
            Step::Rename(at) => {
                let is_there = self.files & bit(at) != 0;
                self.see(task, u8::from(is_there));
                if is_there {
                    self.files = bit(1 - at);
                }
            }
            Step::Append(at) => self.logs[at].push(b'0' + name(task)),
            Step::Length(at) => {
                let length = self.logs[at].len();
                self.see(task, u8::try_from(length).expect("short programs"));
            }
            Step::SetVar(at) => self.variables[at] = name(task),
            Step::Var(at) => self.see(task, self.variables[at]),
            Step::RemoveVar(at) => self.variables[at] = FAILED,
            Step::Exit => {
                self.ended |= bit(task);
                return;
            }
            Step::SkipUnlessZero { .. } | Step::SeeGate { .. } | Step::Notify { .. } => {
                unreachable!("done elsewhere: {step:?}")
            }
        }
        self.next(task);
    }

    /// Performs the arrival of `task` at the barrier. The second task that arrives releases both.
    fn barrier(&mut self, task: usize) {
        if self.barrier == 0 {
            self.barrier = bit(task);
            self.tasks[task].phase = Phase::Waits;
            return;
        }
        let other = self.barrier.trailing_zeros() as usize;
        self.barrier = 0;
        self.next(other);
        self.next(task);
    }
}

/// Returns the tasks that have an operation for which `is` holds.
fn mask(program: &Program, is: &dyn Fn(&Op) -> bool) -> u8 {
    let tasks = 0..program.tasks.len();
    let bits = tasks.filter(|task| program.task_has(*task, is)).map(bit);
    bits.sum()
}
