//! The checkpoint of a search: its own bytes, and memory that the search lends to it.
//!
//! Most of the state of a large search does not change after it was computed. The
//! checkpoint does not copy this part, because the copy would delay the search. The part
//! is read in place while the search continues.

use super::memory::{EngineVec, engine_vec};

/// The smallest length of lent memory in bytes. Shorter pieces are copied.
const WORTH_LENDING: usize = 1 << 16;

/// The state of a search, in pieces: copied bytes, and memory that the search lends. When the
/// search ends, the explorer withdraws the state, because the lent memory may change then.
pub struct Checkpoint {
    bytes: EngineVec<u8>,
    lent: EngineVec<Lent>,
}

/// Memory that the search lends to the checkpoint.
struct Lent {
    /// The piece comes after this number of bytes of [`Checkpoint::bytes`].
    after: usize,
    piece: Piece,
}

/// Consecutive bytes of the state. After the state is withdrawn, the memory can still be read,
/// but the bytes may have changed.
#[derive(Clone, Copy)]
pub struct Piece {
    /// The address of the first byte.
    pub address: *const u8,
    /// The number of bytes.
    pub length: usize,
}

impl Piece {
    fn of(bytes: &[u8]) -> Self {
        Self {
            address: bytes.as_ptr(),
            length: bytes.len(),
        }
    }

    /// Returns the rest of the piece after its first `count` bytes.
    pub fn after(self, count: usize) -> Self {
        Self {
            address: self.address.wrapping_add(count),
            length: self.length - count,
        }
    }
}

impl Checkpoint {
    /// A state without pieces.
    pub const fn new() -> Self {
        Self {
            bytes: engine_vec(),
            lent: engine_vec(),
        }
    }

    /// Removes all pieces.
    pub fn clear(&mut self) {
        self.bytes.clear();
        self.lent.clear();
    }

    /// Appends a copy of `bytes`.
    #[inline]
    pub fn extend_from_slice(&mut self, bytes: &[u8]) {
        self.bytes.extend_from_slice(bytes);
    }

    /// Appends `bytes`. They are copied only if they are few. The caller must keep `bytes` until
    /// the state is withdrawn or another state is requested. Until then the caller may change them
    /// only in ways that make no difference to a search that loads this state.
    pub fn lend(&mut self, bytes: &[u8]) {
        if bytes.len() < WORTH_LENDING {
            self.bytes.extend_from_slice(bytes);
            return;
        }
        self.lent.push(Lent {
            after: self.bytes.len(),
            piece: Piece::of(bytes),
        });
    }

    /// Returns all pieces in order.
    pub fn pieces(&self) -> impl Iterator<Item = Piece> {
        let starts = core::iter::once(0).chain(self.lent.iter().map(|lent| lent.after));
        let ends = self.lent.iter().map(|lent| lent.after);
        let own = starts.zip(ends.chain([self.bytes.len()]));
        let own = own.map(|(start, end)| Piece::of(&self.bytes[start..end]));
        let lent = self.lent.iter().map(|lent| Some(lent.piece)).chain([None]);
        own.zip(lent)
            .flat_map(|(own, lent)| core::iter::once(own).chain(lent))
    }

    /// Returns a copy of the whole state.
    #[cfg(any(test, feature = "testing"))]
    pub fn to_bytes(&self) -> Vec<u8> {
        let copy = |Piece { address, length }| {
            // SAFETY: tests withdraw no state.
            unsafe { core::slice::from_raw_parts(address, length) }
        };
        self.pieces().flat_map(copy).copied().collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lent_parts_have_their_place() {
        let (first, second) = (vec![1; WORTH_LENDING], vec![2; WORTH_LENDING + 3]);
        let mut checkpoint = Checkpoint::new();
        let mut expected = Vec::new();
        for turn in 0..2 {
            let parts: [&[u8]; 5] = [&first, &[3, 4], &second, &second, &[5][turn..]];
            for part in parts {
                if part.len() > 2 {
                    checkpoint.lend(part);
                } else {
                    checkpoint.extend_from_slice(part);
                }
            }
            expected.extend(parts.concat());
            assert_eq!(checkpoint.to_bytes(), expected);
            assert_eq!(checkpoint.lent.len(), 3 * (turn + 1));
        }
        checkpoint.clear();
        checkpoint.lend(&[6]);
        assert!(checkpoint.lent.is_empty());
        assert_eq!(checkpoint.to_bytes(), [6]);
    }
}
