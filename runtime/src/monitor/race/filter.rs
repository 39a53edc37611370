//! Accesses of the running epoch that were looked at: to look again would show nothing new.
//!
//! One place for many granules, small enough for the processor's nearest cache, and asked
//! in the user's code, without a call. What it does not know is asked of shadow memory.

use super::clock::Epoch;
use super::shadow::GRANULE;

/// A power of two.
const PLACES: usize = 64;

#[derive(Clone, Copy)]
struct Entry {
    /// The address, and above it the size.
    place: usize,
    epoch: Epoch,
    has_written: bool,
}

const NONE: Entry = Entry {
    place: 0,
    epoch: 0,
    has_written: false,
};

/// The accesses. Epochs say of which task and execution each is.
pub(crate) struct Filter([Entry; PLACES]);

impl Filter {
    pub(super) const fn new() -> Self {
        Self([NONE; PLACES])
    }

    /// Whether these bytes, within a granule, were accessed in `epoch` in a way that makes a
    /// further read, or write, no news.
    #[inline(always)]
    #[expect(
        clippy::inline_always,
        reason = "it is asked before each access in the user's code"
    )]
    pub(super) fn knows(&self, address: usize, size: usize, epoch: Epoch, is_write: bool) -> bool {
        let entry = &self.0[address / GRANULE % PLACES];
        size <= GRANULE
            && entry.place == place(address, size)
            && entry.epoch == epoch
            && (!is_write || entry.has_written)
    }

    /// These bytes, within a granule, were accessed in `epoch`, and shadow memory knows.
    #[inline]
    pub(super) fn add(&mut self, address: usize, size: usize, epoch: Epoch, is_write: bool) {
        let place = place(address, size);
        let entry = &mut self.0[address / GRANULE % PLACES];
        let is_same = entry.place == place && entry.epoch == epoch;
        *entry = Entry {
            place,
            epoch,
            has_written: is_write || is_same && entry.has_written,
        };
    }

    /// Shadow memory knows of no access to these bytes any more.
    #[inline]
    pub(super) fn forget(&mut self, address: usize, size: usize) {
        let first = address / GRANULE;
        let end = address.saturating_add(size).div_ceil(GRANULE);
        for granule in first..end.min(first + PLACES) {
            self.0[granule % PLACES] = NONE;
        }
    }

    /// As [`Self::forget`], of all bytes.
    pub(super) fn clear(&mut self) {
        self.0 = [NONE; PLACES];
    }
}

/// Addresses of programs have 47 bits.
#[inline(always)]
#[expect(clippy::inline_always, reason = "as for `Filter::knows`")]
fn place(address: usize, size: usize) -> usize {
    address | size << 48
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn knows_what_was_accessed_in_the_epoch() {
        let mut filter = Filter::new();
        filter.add(0x1000, 8, 5, false);
        assert!(filter.knows(0x1000, 8, 5, false));
        assert!(!filter.knows(0x1000, 8, 5, true), "it was only read");
        assert!(!filter.knows(0x1000, 4, 5, false), "other bytes");
        assert!(!filter.knows(0x1004, 4, 5, false), "other bytes");
        assert!(!filter.knows(0x1000, 8, 6, false), "another epoch");
        assert!(!filter.knows(0x1000 + PLACES * GRANULE, 8, 5, false));
        filter.add(0x1000, 8, 5, true);
        filter.add(0x1000, 8, 5, false);
        assert!(filter.knows(0x1000, 8, 5, true), "it was written, too");
        filter.add(0x1000, 8, 6, false);
        assert!(!filter.knows(0x1000, 8, 6, true));
    }

    #[test]
    fn forgets_what_is_given_back() {
        let mut filter = Filter::new();
        for at in 0..4 {
            filter.add(0x1000 + at * 8, 8, 5, true);
        }
        filter.forget(0x1004, 12);
        let known = [0, 1, 2, 3].map(|at| filter.knows(0x1000 + at * 8, 8, 5, true));
        assert_eq!(known, [false, false, true, true]);
        filter.forget(0, usize::MAX);
        assert!(!filter.knows(0x1018, 8, 5, true));
    }
}
