//! The number of accesses of an execution to plain memory, which determines the typical duration of
//! the program's code between two operations.
//!
//! Counting costs time, so only one execution of a search is counted. Each access of the program
//! then calls the runtime, before it may take the fast path.

/// The number of accesses at which the counter stops, so that the execution is not slow for long.
const MOST: u64 = 1 << 20;
/// The number of bytes that a long access reads or writes in the time of a short access.
const BYTES: usize = 64;

/// The counter of the accesses of one execution.
pub(super) struct AccessCount {
    /// Whether the accesses of the next execution are counted.
    is_wanted: bool,
    /// Whether the accesses of this execution are counted.
    is_on: bool,
    accesses: u64,
}

impl AccessCount {
    pub(super) const fn new() -> Self {
        Self {
            is_wanted: false,
            is_on: false,
            accesses: 0,
        }
    }

    /// Counts the accesses of the next execution.
    pub(super) fn request(&mut self) {
        self.is_wanted = true;
    }

    /// Begins an execution. `is_watched`: whether its accesses are watched.
    pub(super) fn begin(&mut self, is_watched: bool) {
        self.is_on = core::mem::take(&mut self.is_wanted) && is_watched;
        if self.is_on {
            self.accesses = 0;
        }
    }

    /// Whether accesses are counted now.
    pub(super) fn is_on(&self) -> bool {
        self.is_on
    }

    /// Counts an access of `length` bytes.
    pub(super) fn add(&mut self, length: usize) {
        self.accesses += 1 + (length / BYTES) as u64;
        self.is_on = self.accesses < MOST;
    }

    /// The number of accesses in the last counted execution. A long access counts as several. The
    /// number is not much above a million, although the execution may have had more.
    pub(super) fn accesses(&self) -> u64 {
        self.accesses
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_requested_execution_is_counted() {
        let mut count = AccessCount::new();
        count.begin(true);
        assert!(!count.is_on());
        count.request();
        count.begin(true);
        assert!(count.is_on());
        count.add(1);
        count.add(BYTES);
        count.begin(true);
        assert!(!count.is_on());
        assert_eq!(count.accesses(), 3);
        count.request();
        count.begin(true);
        count.add(MOST as usize * BYTES);
        assert!(!count.is_on());
    }
}
