//! The number of accesses of an execution to plain memory, which determines the typical duration of
//! the program's code between two operations.
//!
//! Counting costs time, so only one execution of a search is counted. The fast path records no
//! access meanwhile: each access of the program then calls the monitor.

/// The number of accesses at which the counter stops, so that the execution is not slow for long.
const MOST: u64 = 1 << 20;
/// The number of bytes that a long access reads or writes in the time of a short access.
const BYTES: usize = 64;

/// The counter of the accesses of one execution.
pub(super) struct AccessCount {
    /// Whether the accesses of the next execution are counted.
    is_wanted: bool,
    accesses: u64,
}

impl AccessCount {
    pub(super) const fn new() -> Self {
        Self {
            is_wanted: false,
            accesses: 0,
        }
    }

    /// Counts the accesses of the next execution.
    pub(super) fn request(&mut self) {
        self.is_wanted = true;
    }

    /// Begins an execution. Returns whether its accesses are counted.
    pub(super) fn begin(&mut self) -> bool {
        let is_wanted = core::mem::take(&mut self.is_wanted);
        if is_wanted {
            self.accesses = 0;
        }
        is_wanted
    }

    /// Counts an access of `length` bytes. Returns whether further accesses are counted.
    pub(super) fn add(&mut self, length: usize) -> bool {
        self.accesses += 1 + (length / BYTES) as u64;
        self.accesses < MOST
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
        assert!(!count.begin());
        count.request();
        assert!(count.begin());
        assert!(count.add(1) && count.add(BYTES));
        assert!(!count.begin());
        assert_eq!(count.accesses(), 3);
        count.request();
        assert!(count.begin());
        assert!(!count.add(MOST as usize * BYTES));
    }
}
