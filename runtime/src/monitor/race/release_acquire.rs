//! Release and acquire: the order of tasks through atomic operations and fences.
//!
//! A location has the clock that its newest store releases. The task of a load that acquires learns
//! the clock at once. The task of any other load learns it at its next acquiring fence. A store
//! that releases replaces the clock by the clock of its task. A relaxed store replaces it by the
//! clock of its task's last releasing fence. Both stores end a release sequence. A
//! read-modify-write only adds to the clock: it continues the release sequence of the store that it
//! reads, whatever its own ordering is.
//!
//! With older stores (`weak.rs`), `memory/perform.rs` applies the same rules to the store that was
//! read.

use core::sync::atomic::Ordering;

use super::Races;
use super::clock::Clock;
use super::task_order::TaskOrder;
use crate::execution::{How, Op, Site, TaskId};
use crate::memory::{acquires, releases};

/// Whether a sequentially consistent exchange is a fence of the machine. This holds on x86: the
/// exchange is one locked instruction, and the compiler moves no access over it either. Rust's
/// memory model gives no such guarantee. But published schemes of memory reclamation
/// (crossbeam-epoch, sdd) rely on the fence, in code that they compile on x86 only. A race that
/// exists only without the fence would be a false alarm there.
pub(super) const IS_X86: bool = cfg!(any(target_arch = "x86", target_arch = "x86_64"));

impl TaskOrder {
    /// Orders an atomic operation of the task on a location. `released` is the clock that tasks
    /// which read the location may learn. Returns whether the operations of the task so far are
    /// released now.
    pub(super) fn synchronize(&mut self, released: &mut Clock, how: How, order: Ordering) -> bool {
        let is_fence = IS_X86 && how == How::Exchange && order == Ordering::SeqCst;
        if is_fence {
            self.clock.join(&self.readable);
        }
        if how != How::Store {
            if acquires(order) {
                self.clock.join(released);
            } else {
                self.readable.join(released);
            }
        }
        let ends_epoch = how != How::Load && releases(order);
        let passed_on = if ends_epoch {
            &self.clock
        } else {
            &self.released
        };
        match how {
            How::Load => {}
            How::Store => released.assign(passed_on),
            How::Exchange => released.join(passed_on),
        }
        if is_fence {
            self.released.assign(&self.clock);
        }
        ends_epoch
    }
}

impl Races {
    /// Records a fence of `task`.
    pub(crate) fn fence(&mut self, task: TaskId, order: Ordering, site: Option<Site>) {
        let own = self.tasks.get_mut(task);
        if acquires(order) {
            own.clock.join(&own.readable);
        }
        self.log_fence(task, order);
        let own = self.tasks.get_mut(task);
        if releases(order) {
            own.released.assign(&own.clock);
            own.has_released_by_exchange = false;
            self.end_epoch(task, Op::Fence, site);
        }
    }
}
