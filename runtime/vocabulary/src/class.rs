//! The classes of operations that explanations word alike.

use crate::{Effect, Hold, Op};

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

impl Op {
    /// Its class.
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

    /// The lock that its task holds or releases, if the operation had this effect. A failed attempt
    /// changes nothing.
    pub const fn hold(self, effect: Effect) -> Option<Hold> {
        let is_in_vain = matches!(effect, Effect::Read | Effect::Fail);
        match self.class() {
            Class::Unlock => Some(Hold::Gives),
            Class::Downgrade => Some(Hold::Downgrades),
            Class::TryLock | Class::TrySharedLock if is_in_vain => None,
            Class::Lock | Class::Relock | Class::TryLock => Some(Hold::Takes),
            Class::SharedLock | Class::TrySharedLock => Some(Hold::Shares),
            Class::CondvarWait | Class::NotifyOne | Class::NotifyAll | Class::Other => None,
        }
    }

    /// Whether it takes a lock, or tries to.
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
