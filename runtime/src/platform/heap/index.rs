//! Which block has an address: of each 512 bytes of the arena it is known in which block
//! the first of them lies, and from there on blocks follow each other.
//!
//! Blocks are carved from the arena one behind the other, and their headers stay where
//! they are for the rest of the execution. So this costs an allocation next to nothing,
//! and a free nothing at all.

use super::arena::{BASE, GRANULE, SIZE};
use crate::base::sys;

/// Where the words lie in every process: a word for each chunk, the granule at which the
/// header of its block begins.
const WORDS: usize = 0x6400_0000_0000;
pub(super) const CHUNK: usize = 512;

/// Maps words for an arena of so many bytes; whether the kernel agreed.
pub(super) fn map(arena: usize) -> bool {
    const _: () = assert!(SIZE / GRANULE <= 1 << u32::BITS);
    sys::map_fixed(WORDS, arena / CHUNK * size_of::<u32>(), false)
}

fn word(chunk: usize) -> *mut u32 {
    (WORDS as *mut u32).wrapping_add(chunk)
}

/// A block was carved: its header begins at `header`, and behind its bytes is `end`.
#[inline]
pub(super) fn note(header: usize, end: usize) {
    let first = (header - BASE).div_ceil(CHUNK);
    let last = (end - BASE).div_ceil(CHUNK);
    if first != last {
        note_chunks(first, last, ((header - BASE) / GRANULE) as u32);
    }
}

/// The chunk at `start` begins in the block whose header is at `header`.
#[inline]
pub(super) fn note_chunk(start: usize, header: usize) {
    // SAFETY: as below.
    unsafe { *word((start - BASE) / CHUNK) = ((header - BASE) / GRANULE) as u32 };
}

#[cold]
fn note_chunks(first: usize, last: usize, block: u32) {
    // SAFETY: each chunk of a mapped arena has its word, and whoever carves blocks is
    // alone.
    unsafe { core::slice::from_raw_parts_mut(word(first), last - first).fill(block) };
}

/// The header of the block in which the chunk around `address` begins.
#[inline]
pub(super) fn start_of(address: usize) -> usize {
    // SAFETY: as above.
    let block = unsafe { *word((address - BASE) / CHUNK) };
    BASE + block as usize * GRANULE
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_chunk_leads_to_the_block_that_has_its_first_byte() {
        assert!(map(1 << 20));
        let blocks = [48, 400, 1600, 32, 64, 432, 16];
        let mut headers = Vec::new();
        let mut next = BASE + 4096;
        for size in blocks {
            note(next, next + size);
            headers.push((next, next + size));
            next += size;
        }
        for chunk in (BASE + 4096..next).step_by(CHUNK) {
            let expected = headers.iter().find(|(_, end)| chunk < *end);
            assert_eq!(start_of(chunk + 511), expected.unwrap().0, "{chunk:x}");
        }
    }
}
