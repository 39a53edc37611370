//! The interface of a machine to memory under a memory model. The runtime implements it.

use core::sync::atomic::Ordering;

use super::Atomic;
use crate::Trace;
use chess_vocabulary::Op;

/// The stores of the values of a machine, and the stores that each task has seen.
pub trait Memory {
    /// Begins an execution with this number of tasks.
    fn begin(&mut self, tasks: usize);

    /// The number of stores that the access of `task` to the value `v` may meet.
    fn offer(&mut self, task: usize, v: u32, access: Atomic, current: u64, trace: &Trace) -> u32;

    /// The name of one of the stores that the last [`Self::offer`] counted: the store number
    /// `choice`.
    fn name(&self, v: u32, access: Atomic, choice: u32) -> u64;

    /// Performs the access of the last [`Self::offer`]. Returns the values that it reads and
    /// writes.
    fn perform(
        &mut self,
        task: usize,
        v: u32,
        access: Atomic,
        choice: u32,
        step: u32,
    ) -> (Option<u64>, Option<u64>);

    /// Performs a fence of `task`.
    fn fence(&mut self, task: usize, order: Ordering);

    /// Records that `task` acquires the lock.
    fn lock(&mut self, task: usize, lock: u32);

    /// Records that `task` releases the lock.
    fn unlock(&mut self, task: usize, lock: u32);

    /// The numbers that identify the graph of the execution.
    fn graph(&self) -> Vec<u64>;
}

impl Atomic {
    /// The operation that the access represents.
    pub fn op(self) -> Op {
        match self {
            Self::Load(_) => Op::AtomicLoad,
            Self::Store(..) => Op::AtomicStore,
            Self::Add(..) => Op::AtomicFetchAdd,
            Self::Swap(..) => Op::AtomicSwap,
            Self::Exchange(..) => Op::AtomicCompareExchange,
        }
    }

    /// The value that the access writes if it meets a store of the value `met`. `None` if it does
    /// not write.
    pub fn written(self, met: u64) -> Option<u64> {
        match self {
            Self::Load(_) => None,
            Self::Store(value, _) | Self::Swap(value, _) => Some(value),
            Self::Add(value, _) => Some(met + value),
            Self::Exchange(from, to, ..) => (met == from).then_some(to),
        }
    }

    /// The ordering of the access. `writes`: whether the access writes. This matters only to an
    /// exchange.
    pub fn order(self, writes: bool) -> Ordering {
        match self {
            Self::Load(order)
            | Self::Store(_, order)
            | Self::Add(_, order)
            | Self::Swap(_, order) => order,
            Self::Exchange(_, _, success, failure) => [failure, success][usize::from(writes)],
        }
    }
}
