//! The reports of tasks about plain memory: their accesses, and their calls of the allocator.

use super::Op;
use super::monitor_hooks::DataAccess;
use super::running::{running, with};
use crate::platform::heap::{Allocation, Block, Free};

/// Records an event for an access to plain memory. If `is_point`, there is a scheduling point
/// before the event, and the objects of the event are all granules (aligned groups of bytes) of the
/// accessed memory, so that accesses to the same granule depend on each other. If not `is_point`,
/// the event has only the first granule.
#[cold]
pub(crate) fn plain_access(access: DataAccess, is_point: bool) {
    const GRANULE: usize = 8;
    /// The maximum number of granules that one access touches individually.
    const MOST: usize = 64;
    let Some(execution) = running() else { return };
    let op = if access.is_write {
        Op::PlainWrite
    } else {
        Op::PlainRead
    };
    let (first, end) = (
        access.address & !(GRANULE - 1),
        access.address + access.size,
    );
    let object = execution.object(first);
    if !is_point {
        execution.step(|it| it.log_event(op, object, op.effect(), Some(access.site)));
        return;
    }
    execution.step(|it| it.arrive(op, object, Some(access.site)));
    execution.step(|it| it.record(op, object, op.effect(), Some(access.site)));
    for granule in (first..end).step_by(GRANULE).skip(1).take(MOST) {
        let object = execution.object(granule);
        execution.step(|it| it.touch(object, op.effect()));
    }
    if end - first > MOST * GRANULE {
        execution.with(|it| it.log.trace.is_irregular = true);
    }
}

/// Reports that the task allocated a block.
#[inline]
pub(crate) fn allocated(allocation: Allocation) {
    with(|execution| execution.report_allocation(allocation));
}

/// Reports that the task reallocated a block: it freed `old`, and allocated `new` in its place.
#[inline]
pub(crate) fn reallocated(old: Block, new: Block) {
    let Some(execution) = running() else { return };
    execution.step(|it| it.report_free(Free::Live(old)));
    let allocation = Allocation {
        block: new,
        is_reused: true,
    };
    execution.with(|it| it.report_allocation(allocation));
}

/// Records that the memory of the synchronization objects in a block may be free, because the task
/// frees the block.
#[cold]
pub(crate) fn frees_objects(start: usize, size: usize) {
    with(|execution| execution.objects.mark_maybe_freed(start, size));
}

/// Reports that the task is about to free memory. Does not return if a monitor ends the execution
/// because of this, for example because the free is invalid. `has_objects` (whether synchronization
/// objects lie there) and `class` are known only for live blocks. Returns whether the engine keeps
/// the block, so that the search may choose its reuse.
#[inline]
pub(crate) fn frees(free: Free, has_objects: bool, class: usize) -> bool {
    let Some(execution) = running() else {
        return false;
    };
    execution.step(|it| it.report_free(free));
    let Free::Live(block) = free else {
        return false;
    };
    execution.with(|it| {
        if has_objects {
            it.objects.mark_maybe_freed(block.start, block.size);
        }
        it.observers.of_pointers && it.keeps(block, class)
    })
}
