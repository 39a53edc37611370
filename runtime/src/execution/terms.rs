//! The small types that all parts of an execution share.

use super::TaskId;

use core::panic::Location;

/// The source line of an event: the caller of the shim.
pub type Site = &'static Location<'static>;

/// The line of operations whose line is unknown. It is a static so that it has one address, by
/// which [`Access`](super::Access) compares lines.
pub(crate) static NO_LINE: Site = Location::caller();

/// The mode in which a lock is held.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Mode {
    /// By one task alone.
    Exclusive,
    /// Together with other shared holders.
    Shared,
}

/// The reason why a blocked task continues.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Wake {
    /// Another task woke it.
    Notified,
    /// Its deadline passed.
    TimedOut,
    /// For no reason, as the documentation of `Condvar::wait` and `park` allows.
    Spurious,
}

/// The decision of a scheduling point.
#[derive(Clone, Copy)]
pub(crate) enum Step {
    /// The current task continues.
    Continue,
    /// Another task runs.
    Switch(TaskId),
    /// The current task spins, and the next decision depends on its state.
    Spin,
    /// The execution ends.
    End,
}
