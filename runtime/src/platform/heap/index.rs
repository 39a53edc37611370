//! Index from addresses to blocks: for each chunk of 512 bytes of the arena, the block that
//! contains its first byte. The later blocks of the chunk follow this block without gaps.
//!
//! New blocks come one after the other, and their headers do not move during an execution. So an
//! allocation changes the index only if the block reaches a new chunk, and a free never changes
//! it.

use super::place::{BASE, GRANULE, SIZE};
use crate::base::sys;

/// The address of the index in every process. The index has a word for each chunk: the number of
/// the granule at which the header of the chunk's block begins.
const WORDS: usize = 0x6400_0000_0000;
pub(super) const CHUNK: usize = 512;

/// Maps the index of an arena of `arena` bytes. Returns whether the kernel agreed.
pub(super) fn map(arena: usize) -> bool {
    const _: () = assert!(SIZE / GRANULE <= 1 << u32::BITS);
    sys::map_fixed(WORDS, arena / CHUNK * size_of::<u32>(), false)
}

fn word(chunk: usize) -> *mut u32 {
    (WORDS as *mut u32).wrapping_add(chunk)
}

/// Records a new block, from its header at `header` to `end`.
#[inline]
pub(super) fn note(header: usize, end: usize) {
    let first = (header - BASE).div_ceil(CHUNK);
    let last = (end - BASE).div_ceil(CHUNK);
    if first != last {
        note_chunks(first, last, ((header - BASE) / GRANULE) as u32);
    }
}

/// Records that the chunk at `start` begins in the block whose header is at `header`.
#[inline]
pub(super) fn note_chunk(start: usize, header: usize) {
    // SAFETY: as below.
    unsafe { *word((start - BASE) / CHUNK) = ((header - BASE) / GRANULE) as u32 };
}

#[cold]
fn note_chunks(first: usize, last: usize, block: u32) {
    // SAFETY: each chunk of a mapped arena has its word, and no other thread allocates blocks.
    unsafe { core::slice::from_raw_parts_mut(word(first), last - first).fill(block) };
}

/// The address of the header of the block that contains the first byte of the chunk of `address`.
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
        let _arena = crate::platform::heap::tests::arena();
        // Far from the blocks of other tests.
        let first = BASE + (512 << 20);
        let blocks = [48, 400, 1600, 32, 64, 432, 16];
        let mut headers = Vec::new();
        let mut next = first;
        for size in blocks {
            note(next, next + size);
            headers.push((next, next + size));
            next += size;
        }
        for chunk in (first..next).step_by(CHUNK) {
            let expected = headers.iter().find(|(_, end)| chunk < *end);
            assert_eq!(start_of(chunk + 511), expected.unwrap().0, "{chunk:x}");
        }
    }
}
