//! The locks of std around its standard streams: their holders, and whether the order of their uses
//! matters.
//!
//! Nearly always a task acquires such a lock, prints, and releases it within one step. Then no
//! other task can find the lock held, and all its uses commute, so that they are no scheduling
//! points. If a task keeps a lock across a scheduling point, or while it acquires another one,
//! every use of a stream becomes a scheduling point, and the search begins anew
//! ([`Execution::has_kept_stream`]). This is sound: as long as no task has kept a lock in this way,
//! all orders of these uses have the same results.

use super::Op;
use super::mark::marked_line;
use super::running::running;
use super::scheduling_point::Arrival;
use super::state::Execution;
use super::streams::StreamUse;
use super::terms::{Mode, Site, Step};
use crate::platform::streams;
use crate::search::ObjectId;

impl Execution {
    /// Whether a task kept a stream's lock across a scheduling point, although the acquisition of
    /// such a lock is no scheduling point.
    pub(crate) fn has_kept_stream(&self) -> bool {
        let StreamUse {
            are_points,
            held,
            was_kept,
            ..
        } = self.streams;
        !are_points && (was_kept || held > 0)
    }

    /// The current task arrives before it acquires the lock of a stream. Called only if the
    /// acquisition is a scheduling point, or if another task holds the lock.
    fn arrive_to_lock_stream(&mut self, object: ObjectId, site: Option<Site>) -> Step {
        self.contend(object, Mode::Exclusive);
        let is_inside = self.announce_opaque(Op::StreamLock, object);
        if site.is_some() {
            self.running().site = site;
        }
        let arrival = if is_inside || !self.streams.are_points {
            Arrival::Inside
        } else {
            Arrival::Point
        };
        self.arrived_to_acquire(object, Mode::Exclusive, arrival)
    }
}

/// Acquires the lock of a stream for the current task. The futex word of the lock lies at `word`.
///
/// # Safety
/// `word` is the futex word of such a lock.
pub(crate) unsafe fn lock(word: usize) {
    let Some(execution) = running() else { return };
    let (op, mode, site) = (Op::StreamLock, Mode::Exclusive, marked_line());
    let object = execution.object(word);
    let (is_point, is_free) =
        execution.with(|it| (it.streams.are_points, it.is_free(object, mode)));
    if is_point || !is_free {
        execution.step(|it| {
            it.streams.was_kept |= !is_free;
            it.arrive_to_lock_stream(object, site)
        });
        while !execution.with(|it| it.is_free(object, mode)) {
            execution.step(|it| it.enter_queue(object, mode));
        }
    }
    execution.step(|it| {
        it.hold(object, mode, site);
        it.streams.acquired(it.pulse);
        if is_point {
            it.record(op, object, op.effect(), site)
        } else {
            Step::Continue
        }
    });
    // SAFETY: the caller's promise.
    unsafe { streams::open(word) };
}

/// Records that the current task has released the lock of a stream, whose futex word lies at
/// `word`.
///
/// There is no scheduling point before the release, because it commutes with all operations that
/// other tasks can perform before it.
///
/// # Safety
/// As [`lock`].
pub(crate) unsafe fn unlock(word: usize) {
    let Some(execution) = running() else { return };
    let op = Op::StreamUnlock;
    // SAFETY: the caller's promise.
    unsafe { streams::close(word) };
    let object = execution.object(word);
    let (is_point, site) = execution.with(|it| {
        it.streams.released(it.pulse);
        let task = it.running();
        task.op = op;
        task.object = object;
        (it.streams.are_points, it.held_at(object))
    });
    if is_point {
        execution.step(Execution::inside_step);
        execution.step(|it| it.record(op, object, op.effect(), site));
    }
    execution.with(|it| it.drop_lock(object, Mode::Exclusive));
}
