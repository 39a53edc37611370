//! Accesses outside of the bytes that the program requested.

use super::allocation::Block;
use super::arena::{block_around, start_around};
use super::block::{HEADER, block_at};
use super::place::contains;

/// The fault of an access to the heap.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Fault {
    /// The access begins in a free block.
    Freed(Block),
    /// The access is not within the requested bytes of one live block. The fields are a block, and
    /// whether it is live. If the first byte of the access is in a block, the field is this block.
    /// Otherwise the field is a block next to this byte. Of two such blocks, it is the live one, or
    /// the nearer one if both are live or both are free.
    Outside(Block, bool),
}

/// The fault of an access to `size` bytes at `address`; `size` is not 0. `None` if all these bytes
/// are requested bytes of one live block, or if the first byte is neither in a block nor next to
/// one.
#[inline]
pub(crate) fn fault_of(address: usize, size: usize) -> Option<Fault> {
    if !contains(address) {
        return None;
    }
    let Some(start) = start_around(address) else {
        return beside(address);
    };
    // SAFETY: a block of the arena.
    let (block, is_live) = unsafe { block_at(start) };
    let (low, high) = block.requested;
    if !is_live {
        Some(Fault::Freed(block))
    } else if low <= address && size <= high.saturating_sub(address) {
        None
    } else {
        Some(Fault::Outside(block, true))
    }
}

/// The fault of an access whose first byte is in no block. The byte may be in a header, or
/// directly after the newest block. `None` if no block is next to the byte.
#[cold]
fn beside(address: usize) -> Option<Fault> {
    let header = address - address % HEADER;
    let before = block_around(header - 1);
    let after = block_around(header + HEADER);
    let after = after.filter(|(block, _)| block.start == header + HEADER);
    let ((before, is_live_before), (after, is_live_after)) = match (before, after) {
        (Some(before), Some(after)) => (before, after),
        (Some((block, is_live)), None) | (None, Some((block, is_live))) => {
            return Some(Fault::Outside(block, is_live));
        }
        (None, None) => return None,
    };
    let is_nearer = address - before.requested.1 < after.requested.0 - address;
    let is_before = if is_live_before == is_live_after {
        is_nearer
    } else {
        is_live_before
    };
    Some(if is_before {
        Fault::Outside(before, is_live_before)
    } else {
        Fault::Outside(after, is_live_after)
    })
}
