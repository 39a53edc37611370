//! Steps that are not scheduling points.

use super::{GONE, Phase, State, bit};
use crate::enumerator::compile::Step;
use crate::enumerator::objects::Lock;

impl State {
    /// Performs the next steps of all tasks, up to the next scheduling point of each task. Most of
    /// these steps concern only the state of their own task, so their order does not matter. An
    /// exception is the release of a stream's lock, which affects other tasks. So only the current
    /// task performs it. A task whose step was completed by another task releases such a lock when
    /// it runs again.
    pub(super) fn settle(&mut self, steps: &[Vec<Step>]) {
        for task in 0..self.tasks.len() {
            while self.ended & bit(task) == 0 && self.pass(steps, task) {}
        }
    }

    fn pass(&mut self, steps: &[Vec<Step>], task: usize) -> bool {
        if self.tasks[task].phase != Phase::Ready {
            return false;
        }
        match *self.step(steps, task) {
            Step::SkipUnlessZero { gate, otherwise } => {
                if self.locks[Lock::gate(gate).index()].number == 0 {
                    self.next(task);
                } else {
                    self.go_to(task, otherwise);
                }
                return true;
            }
            Step::SeeGate { gate, take } => {
                let number = self.locks[Lock::gate(gate).index()].number;
                if take && number == 0 {
                    // The task was notified, but the number of the gate is 0: it waits again.
                    self.tasks[task].at -= 1;
                    return true;
                }
                self.locks[Lock::gate(gate).index()].number -= u8::from(take);
                self.see(task, number);
            }
            Step::Release { lock } if lock.is_of_stream() && task == self.current => {
                self.locks[lock.index()].release();
            }
            // If a task already holds the lock, the acquisition does not affect other tasks.
            Step::Acquire { lock, mode } if self.has_again(lock, task) => {
                self.locks[lock.index()].take(mode, task);
            }
            Step::Flush(lock) if self.has_again(lock, task) => {}
            Step::DropSender(at) if self.channels[at].senders & bit(task) == 0 => {}
            Step::DropReceiver(at) if !self.has_receiver(task, at) => {}
            Step::DropArc if self.owners & bit(task) == 0 => {}
            Step::JoinRest(other) if self.joined & bit(other) != 0 => {}
            Step::Send(at) | Step::TrySend(at) if self.channels[at].senders & bit(task) == 0 => {
                self.see(task, GONE);
            }
            Step::Recv(at) | Step::TryRecv(at) if !self.has_receiver(task, at) => {
                self.see(task, GONE);
            }
            Step::Join(other) | Step::IsFinished(other) if self.joined & bit(other) != 0 => {
                self.see(task, GONE);
            }
            Step::TryUnwrap if self.owners & bit(task) == 0 => self.see(task, GONE),
            _ => return false,
        }
        self.next(task);
        true
    }

    fn has_again(&self, lock: Lock, task: usize) -> bool {
        lock.is_reentrant() && usize::from(self.locks[lock.index()].owner) == task + 1
    }

    fn has_receiver(&self, task: usize, at: usize) -> bool {
        self.channels[at].receiver.map(usize::from) == Some(task)
    }
}
