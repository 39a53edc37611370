//! The use of the locks of std's streams in one execution.

/// The use of the streams' locks in one execution.
pub(crate) struct StreamUse {
    /// The acquisition of such a lock is a scheduling point.
    pub(super) are_points: bool,
    /// The number of such locks that tasks hold now.
    pub(super) held: u32,
    /// The value of the engine's pulse (a count of scheduling points) when the first of the held
    /// locks was acquired.
    pub(super) since: u64,
    /// A task kept such a lock across a scheduling point, or a task acquired such a lock while
    /// another one was held.
    pub(super) was_kept: bool,
}

impl StreamUse {
    pub(super) const fn new() -> Self {
        Self {
            are_points: false,
            held: 0,
            since: 0,
            was_kept: false,
        }
    }

    /// Records that a task has acquired the lock of a stream. `pulse` is the engine's count of
    /// scheduling points so far.
    pub(super) fn acquired(&mut self, pulse: u64) {
        // If `held` is not 0, this task or another one holds the lock of another stream. Then other
        // tasks could have acquired the two locks in the opposite order.
        self.was_kept |= self.held > 0;
        if self.held == 0 {
            self.since = pulse;
        }
        self.held += 1;
    }

    /// Records that a task releases the lock of a stream. `pulse` is the engine's count of
    /// scheduling points so far.
    pub(super) fn released(&mut self, pulse: u64) {
        self.was_kept |= self.since != pulse;
        self.held -= 1;
    }

    /// Resets the state for a new execution. `are_points` states whether the acquisition of a
    /// stream's lock is a scheduling point.
    pub(crate) fn begin(&mut self, are_points: bool) {
        *self = Self {
            are_points,
            ..Self::new()
        };
    }
}
