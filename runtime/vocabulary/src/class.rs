//! Classes of operations: explanations use the same words for all operations of a class.

use crate::{Effect, Hold, Op};

/// The class of an operation. Explanations use the same words for all operations of a class,
/// whichever library the operations belong to.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Class {
    /// Acquires a lock exclusively. Blocks until this is possible.
    Lock,
    /// Acquires a lock exclusively, or fails.
    TryLock,
    /// Acquires the mutex of a condition variable again, at the end of a wait.
    Relock,
    /// Acquires a lock in shared mode. Blocks until this is possible.
    SharedLock,
    /// Acquires a lock in shared mode, or fails.
    TrySharedLock,
    /// Releases a lock.
    Unlock,
    /// Changes an exclusive hold of a lock to a shared one.
    Downgrade,
    /// Releases the lock and waits for a notification.
    CondvarWait,
    /// Notifies one waiting task.
    NotifyOne,
    /// Notifies all waiting tasks.
    NotifyAll,
    /// Anything else.
    Other,
}

impl Op {
    /// The class of this operation.
    pub const fn class(self) -> Class {
        match self {
            Self::MutexLock
            | Self::RwLockWrite
            | Self::PthreadMutexLock
            | Self::PthreadSpinLock
            | Self::PthreadRwLockWrite => Class::Lock,
            Self::MutexTryLock
            | Self::RwLockTryWrite
            | Self::PthreadMutexTimedLock
            | Self::PthreadMutexTryLock
            | Self::PthreadSpinTryLock
            | Self::PthreadRwLockTryWrite => Class::TryLock,
            Self::MutexRelock | Self::PthreadMutexRelock => Class::Relock,
            Self::RwLockRead | Self::PthreadRwLockRead => Class::SharedLock,
            Self::RwLockTryRead | Self::PthreadRwLockTryRead => Class::TrySharedLock,
            Self::MutexUnlock
            | Self::StreamUnlock
            | Self::RwLockReadUnlock
            | Self::RwLockWriteUnlock
            | Self::FileUnlock
            | Self::PthreadMutexUnlock
            | Self::PthreadMutexOwnerEnd
            | Self::PthreadSpinUnlock
            | Self::PthreadRwLockUnlock => Class::Unlock,
            Self::RwLockDowngrade => Class::Downgrade,
            Self::CondvarWait
            | Self::CondvarWaitTimeout
            | Self::PthreadCondWait
            | Self::PthreadCondTimedWait => Class::CondvarWait,
            Self::NotifyOne | Self::PthreadCondSignal => Class::NotifyOne,
            Self::NotifyAll | Self::PthreadCondBroadcast => Class::NotifyAll,
            _ => Class::Other,
        }
    }

    /// The change of the task's hold of a lock, if this operation on the lock had the effect
    /// `effect`. `None` for a failed attempt, and for operations that neither acquire, release nor
    /// downgrade a lock.
    pub const fn hold(self, effect: Effect) -> Option<Hold> {
        let has_failed = matches!(effect, Effect::Read | Effect::Fail);
        match self.class() {
            Class::Unlock => Some(Hold::Gives),
            Class::Downgrade => Some(Hold::Downgrades),
            Class::TryLock | Class::TrySharedLock if has_failed => None,
            Class::Lock | Class::Relock | Class::TryLock => Some(Hold::Takes),
            Class::SharedLock | Class::TrySharedLock => Some(Hold::Shares),
            Class::CondvarWait | Class::NotifyOne | Class::NotifyAll | Class::Other => None,
        }
    }

    /// Whether this operation acquires a lock, or tries to. File locks do not count.
    pub const fn takes_lock(self) -> bool {
        matches!(self, Self::StreamLock)
            || matches!(
                self.class(),
                Class::Lock
                    | Class::TryLock
                    | Class::Relock
                    | Class::SharedLock
                    | Class::TrySharedLock
            )
    }
}
