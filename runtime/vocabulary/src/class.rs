//! The classes of operations that explanations word alike.

/// The class of an operation. Explanations word all operations of a class alike, whichever library
/// they belong to.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Class {
    /// Takes a lock for its task alone; waits while it cannot.
    Lock,
    /// Takes a lock for its task alone, or fails.
    TryLock,
    /// Takes the lock of a condition variable again, after the wait.
    Relock,
    /// Takes a lock that others may share; waits while it cannot.
    SharedLock,
    /// Takes a lock that others may share, or fails.
    TrySharedLock,
    /// Gives a lock back.
    Unlock,
    /// Makes a lock that its task holds alone one that is shared.
    Downgrade,
    /// Waits for a notification, and gives the lock back meanwhile.
    CondvarWait,
    /// Notifies one task that waits.
    NotifyOne,
    /// Notifies all tasks that wait.
    NotifyAll,
    /// Anything else.
    Other,
}
