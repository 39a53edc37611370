//! The objects that tasks share, and their states.

/// A lock of any kind, by its index. Its methods state the differences between the kinds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Lock(pub(super) usize);

/// The mode in which a lock is held.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Mode {
    Exclusive,
    Shared,
}

/// The number of locks.
pub(super) const LOCKS: usize = 17;

impl Lock {
    pub(super) fn mutex(at: usize) -> Self {
        Self(at)
    }

    pub(super) fn rwlock(at: usize) -> Self {
        Self(2 + at)
    }

    pub(super) fn gate(at: usize) -> Self {
        Self(4 + at)
    }

    pub(super) fn sealed(at: usize) -> Self {
        Self(6 + at)
    }

    pub(super) fn stream(at: usize) -> Self {
        Self(8 + at)
    }

    pub(super) fn file(at: usize) -> Self {
        Self(11 + at)
    }

    pub(super) fn c_mutex(at: usize) -> Self {
        Self(13 + at)
    }

    pub(super) fn c_rwlock(at: usize) -> Self {
        Self(15 + at)
    }

    /// Whether the owner may acquire the lock again. True for stdout and stderr, but not for
    /// stdin.
    pub(super) fn is_reentrant(self) -> bool {
        self == Self::stream(0) || self == Self::stream(1)
    }

    /// Whether the lock is inside std. The acquisition of such a lock is a scheduling point, and
    /// the release is not: a call that std completes by itself is one step.
    pub(super) fn is_of_stream(self) -> bool {
        (Self::stream(0).0..=Self::stream(2).0).contains(&self.0)
    }

    /// Whether the lock protects a number. Each holder observes the number, and exclusive holders
    /// increment it.
    pub(super) fn has_number(self) -> bool {
        self.0 < 8
    }

    /// Whether new readers must wait while a task waits to write. std's documentation allows this
    /// for `RwLock`.
    pub(super) fn prefers_writers(self) -> bool {
        self == Self::rwlock(0) || self == Self::rwlock(1)
    }

    /// Returns the index of the lock among all locks.
    pub(super) fn index(self) -> usize {
        self.0
    }
}

/// The state of a lock.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub(super) struct LockState {
    /// The task that holds the lock exclusively, counted from 1, or 0 if there is none.
    pub(super) owner: u8,
    /// The number of times that the owner has acquired the lock.
    pub(super) depth: u8,
    /// The number of tasks that hold the lock shared.
    pub(super) readers: u8,
    /// The number that the lock protects.
    pub(super) number: u8,
    pub(super) is_poisoned: bool,
}

impl LockState {
    /// Whether `task` could acquire `lock` in this state.
    pub(super) fn is_free_for(self, lock: Lock, mode: Mode, task: usize) -> bool {
        let own = usize::from(self.owner) == task + 1 && lock.is_reentrant();
        match mode {
            Mode::Exclusive => own || (self.owner == 0 && self.readers == 0),
            Mode::Shared => self.owner == 0,
        }
    }

    pub(super) fn take(&mut self, mode: Mode, task: usize) {
        match mode {
            Mode::Exclusive => {
                self.owner = u8::try_from(task + 1).expect("few tasks");
                self.depth += 1;
            }
            Mode::Shared => self.readers += 1,
        }
    }

    pub(super) fn release(&mut self) {
        if self.owner == 0 {
            self.readers -= 1;
        } else {
            self.depth -= 1;
            if self.depth == 0 {
                self.owner = 0;
            }
        }
    }

    pub(super) fn downgrade(&mut self) {
        self.release();
        self.readers += 1;
    }
}

/// The state of a channel.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) struct Channel {
    /// The number of messages that the channel can buffer. `None` if the number is unlimited.
    pub(super) capacity: Option<usize>,
    pub(super) messages: Vec<u8>,
    /// The tasks that have a sender, one bit each.
    pub(super) senders: u8,
    /// The task that has the receiver. `None` if the receiver was dropped. If no task uses the
    /// receiver, this is not the number of a task: the program keeps the receiver to its end.
    pub(super) receiver: Option<u8>,
    /// The tasks that wait until their message is received, in order. Only for a channel with
    /// capacity 0.
    pub(super) offers: Vec<u8>,
    /// Whether the receiver waits for a message. Only for a channel with capacity 0.
    pub(super) is_awaited: bool,
}

/// The state of a `OnceLock`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub(super) enum Cell {
    #[default]
    Empty,
    /// A task is initializing the cell.
    Begun,
    Full(u8),
}
