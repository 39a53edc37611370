//! The checkpoint of a search: its own bytes, and memory of the search that it borrows.
//!
//! Most of the state of a large search never changes once it is stored. A copy would delay the
//! search. So the process that sends the checkpoint reads that memory in place, while the search
//! continues.

use crate::platform::memory::{EngineVec, engine_vec};

/// Smaller pieces are copied.
const WORTH_LENDING: usize = 1 << 16;

/// A checkpoint, in pieces.
pub(crate) struct Written {
    bytes: EngineVec<u8>,
    lent: EngineVec<Lent>,
}

/// Borrowed memory that follows the first `after` own bytes of the checkpoint.
struct Lent {
    after: usize,
    piece: Piece,
}

/// Consecutive bytes of the checkpoint. They belong to it only until it is withdrawn, but they can
/// be read at any time.
#[derive(Clone, Copy)]
pub(crate) struct Piece {
    pub(crate) address: *const u8,
    pub(crate) length: usize,
}

impl Piece {
    fn of(bytes: &[u8]) -> Self {
        Self {
            address: bytes.as_ptr(),
            length: bytes.len(),
        }
    }

    /// The rest after its first `count` bytes.
    pub(crate) fn after(self, count: usize) -> Self {
        Self {
            address: self.address.wrapping_add(count),
            length: self.length - count,
        }
    }
}

impl Written {
    pub(crate) const fn new() -> Self {
        Self {
            bytes: engine_vec(),
            lent: engine_vec(),
        }
    }

    /// Removes everything.
    pub(crate) fn clear(&mut self) {
        self.bytes.clear();
        self.lent.clear();
    }

    /// Appends a copy.
    #[inline]
    pub(crate) fn extend_from_slice(&mut self, bytes: &[u8]) {
        self.bytes.extend_from_slice(bytes);
    }

    /// Appends memory by reference. It must not change, in a way that would make a difference,
    /// before the checkpoint is withdrawn or replaced.
    pub(super) fn lend(&mut self, bytes: &[u8]) {
        if bytes.len() < WORTH_LENDING {
            self.bytes.extend_from_slice(bytes);
            return;
        }
        self.lent.push(Lent {
            after: self.bytes.len(),
            piece: Piece::of(bytes),
        });
    }

    /// All pieces, in order.
    pub(crate) fn pieces(&self) -> impl Iterator<Item = Piece> {
        let starts = core::iter::once(0).chain(self.lent.iter().map(|lent| lent.after));
        let ends = self.lent.iter().map(|lent| lent.after);
        let own = starts.zip(ends.chain([self.bytes.len()]));
        let own = own.map(|(start, end)| Piece::of(&self.bytes[start..end]));
        let lent = self.lent.iter().map(|lent| Some(lent.piece)).chain([None]);
        own.zip(lent)
            .flat_map(|(own, lent)| core::iter::once(own).chain(lent))
    }

    /// A copy of all pieces.
    #[cfg(test)]
    pub(crate) fn to_bytes(&self) -> Vec<u8> {
        let copy = |Piece { address, length }| {
            // SAFETY: tests withdraw no checkpoint, so the memory is live and unchanged.
            unsafe { core::slice::from_raw_parts(address, length) }
        };
        self.pieces().flat_map(copy).copied().collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_lent_has_its_place() {
        let (first, second) = (vec![1; WORTH_LENDING], vec![2; WORTH_LENDING + 3]);
        let mut written = Written::new();
        let mut expected = Vec::new();
        for turn in 0..2 {
            let parts: [&[u8]; 5] = [&first, &[3, 4], &second, &second, &[5][turn..]];
            for part in parts {
                if part.len() > 2 {
                    written.lend(part);
                } else {
                    written.extend_from_slice(part);
                }
            }
            expected.extend(parts.concat());
            assert_eq!(written.to_bytes(), expected);
            assert_eq!(written.lent.len(), 3 * (turn + 1));
        }
        written.clear();
        written.lend(&[6]);
        assert!(written.lent.is_empty());
        assert_eq!(written.to_bytes(), [6]);
    }
}
