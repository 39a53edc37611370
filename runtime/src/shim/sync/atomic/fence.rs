//! Fences, and the deprecated items of the module.

use std::panic::Location;
use std::sync::atomic::Ordering;

use super::{AtomicBool, AtomicIsize, AtomicUsize};
use crate::execution::{self, Op, Site};
use crate::monitor::race;

/// See [`std::sync::atomic::fence`].
#[track_caller]
pub fn fence(order: Ordering) {
    fence_at(order, Location::caller());
}

/// As [`fence`], at the line `site`.
#[inline]
pub(crate) fn fence_at(order: Ordering, site: Site) {
    if execution::active() {
        execution::access(Op::Fence, 0, site);
        race::fence(order, site);
    }
    std::sync::atomic::fence(order);
}

/// See [`std::sync::atomic::compiler_fence`]. It orders accesses only within one thread, so it is
/// no scheduling point.
#[inline]
#[track_caller]
pub fn compiler_fence(order: Ordering) {
    std::sync::atomic::compiler_fence(order);
}

/// See [`std::sync::atomic::spin_loop_hint`].
#[inline]
#[track_caller]
#[deprecated(since = "1.51.0", note = "use hint::spin_loop instead")]
pub fn spin_loop_hint() {
    crate::shim::hint::spin_loop();
}

/// See [`std::sync::atomic::ATOMIC_BOOL_INIT`].
#[deprecated(since = "1.34.0", note = "the `new` function is now preferred")]
#[allow(clippy::declare_interior_mutable_const, reason = "so it is in std")]
pub const ATOMIC_BOOL_INIT: AtomicBool = AtomicBool::new(false);

/// See [`std::sync::atomic::ATOMIC_ISIZE_INIT`].
#[deprecated(since = "1.34.0", note = "the `new` function is now preferred")]
#[allow(clippy::declare_interior_mutable_const, reason = "so it is in std")]
pub const ATOMIC_ISIZE_INIT: AtomicIsize = AtomicIsize::new(0);

/// See [`std::sync::atomic::ATOMIC_USIZE_INIT`].
#[deprecated(since = "1.34.0", note = "the `new` function is now preferred")]
#[allow(clippy::declare_interior_mutable_const, reason = "so it is in std")]
pub const ATOMIC_USIZE_INIT: AtomicUsize = AtomicUsize::new(0);
