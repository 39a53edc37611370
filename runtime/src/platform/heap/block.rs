//! The header of a block: its class, its state, its requested size, and the next block of its list.

use super::allocation::Block;
use super::place::{FIRST, SIZE, contains};

/// The number of size classes; no block has class 0.
pub(super) const CLASSES: usize = 176;
/// The size of the header before each block, in bytes. The first word has the class of the block,
/// and other data above [`CLASS_BITS`]. Before the aligned address in an over-aligned block there
/// is a second header, whose first word is the true start of the block, with the bit [`ALIGNED`].
/// The second word of a header is [`LIVE`] or [`FREED`]; its upper half is the number of the
/// allocation.
pub(super) const HEADER: usize = 16;
pub(super) const LIVE: usize = 0x4c49_5645;
pub(super) const FREED: usize = 0x4652_4545;
pub(super) const STATE: usize = 0xffff_ffff;
pub(super) const NUMBER_SHIFT: u32 = 32;
pub(super) const ALIGNED: usize = 1 << 63;
/// A bit of the first word: the block contains synchronization objects.
pub(super) const OBJECTS: usize = 1 << 62;

/// The class of a size in bytes: steps of 16 up to 512, then four classes for each doubling.
#[inline]
pub(super) fn class_of(size: usize) -> usize {
    if size <= 512 {
        return size.div_ceil(16).max(1);
    }
    let exponent = (usize::BITS - 1 - (size - 1).leading_zeros()) as usize;
    let quarter = ((size - 1) >> (exponent - 2)) & 3;
    33 + (exponent - 9) * 4 + quarter
}

#[inline]
pub(super) fn class_size(class: usize) -> usize {
    if class <= 32 {
        return class * 16;
    }
    let (exponent, quarter) = ((class - 33) / 4 + 9, (class - 33) % 4);
    (quarter + 5) << (exponent - 2)
}

/// The number of low bits of a header's first word that are the class of the block. In a free
/// block, the bits above the class are the address of the next block of its list. The bytes of the
/// block do not contain this address, because they stay poisoned. In a live block, the bits above
/// the class are its slack and its alignment.
pub(super) const CLASS_BITS: u32 = 12;
pub(super) const CLASS: usize = (1 << CLASS_BITS) - 1;

/// The number of bits of the slack of a live block: the number of its bytes after the last
/// requested one.
const SLACK_BITS: u32 = 36;
/// The position of the alignment in the first word of a live block. It is stored as its binary
/// logarithm if the block is over-aligned, otherwise as 0.
const ALIGN_AT: u32 = CLASS_BITS + SLACK_BITS;
const ALIGN_BITS: u32 = 6;

// The slack of a block is smaller than the arena, in which the block lies.
const _: () = assert!(SIZE <= 1 << SLACK_BITS);
const _: () = assert!(1 << (ALIGN_AT + ALIGN_BITS) <= OBJECTS);

/// The first word of a live block whose alignment is [`HEADER`].
#[inline]
pub(super) fn live_word(class: usize, slack: usize) -> usize {
    class | slack << CLASS_BITS
}

/// The address that the program has received for the block at `start`. `word` is the first word of
/// its header.
#[inline]
fn given(start: usize, word: usize) -> usize {
    let align = word >> ALIGN_AT & ((1 << ALIGN_BITS) - 1);
    start.next_multiple_of(1 << align)
}

/// Writes the class, the slack (the number of bytes after the last requested one) and the
/// alignment of the block at `start`. The program has requested `size` bytes at a multiple of
/// `align`, a power of two. These bytes must fit into the block. Returns the address of the first
/// of them.
#[inline]
pub(super) unsafe fn open(start: usize, class: usize, align: usize, size: usize) -> usize {
    let align = if align <= HEADER { 0 } else { align.ilog2() };
    let word = (align as usize) << ALIGN_AT;
    let block = given(start, word);
    let slack = start + class_size(class) - (block + size);
    // SAFETY: the caller passes the true start of a block of the arena that it just took. If they
    // differ, at least 16 bytes are between the true start and the aligned one.
    unsafe {
        *((start - 16) as *mut usize) = live_word(class, slack) | word;
        if block != start {
            *((block - 16) as *mut usize) = start | ALIGNED;
        }
    }
    block
}

/// Changes the requested size of the live block at `start` to `size`. `block` is the address of
/// the first requested byte.
pub(super) unsafe fn resize(start: usize, block: usize, size: usize) {
    const SLACK: usize = ((1 << SLACK_BITS) - 1) << CLASS_BITS;
    let word = (start - 16) as *mut usize;
    // SAFETY: as `class_at`.
    unsafe {
        let slack = start + class_size(*word & CLASS) - (block + size);
        *word = *word & !SLACK | slack << CLASS_BITS;
    }
}

/// The block whose usable bytes begin at `start`, and whether it is live.
#[inline]
pub(super) unsafe fn block_at(start: usize) -> (Block, bool) {
    // SAFETY: as `class_at`.
    let (word, state) = unsafe {
        (
            *((start - 16) as *const usize),
            *((start - 8) as *const usize),
        )
    };
    let size = class_size(word & CLASS);
    let is_live = state & STATE == LIVE;
    let mut requested = (start, start + size);
    if is_live {
        let slack = word >> CLASS_BITS & ((1 << SLACK_BITS) - 1);
        requested = (given(start, word), start + size - slack);
    }
    let block = Block {
        start,
        size,
        requested,
        number: (state >> NUMBER_SHIFT) as u32,
    };
    (block, is_live)
}

/// The class of the block at `start`.
pub(super) unsafe fn class_at(start: usize) -> usize {
    // SAFETY: the caller passes the true start of a block of the arena.
    let word = unsafe { *((start - 16) as *const usize) };
    word & CLASS
}

/// The next block in the list of the free block at `start`; 0 at the end of the list.
pub(super) unsafe fn next_of(start: usize) -> usize {
    // SAFETY: as `class_at`.
    let word = unsafe { *((start - 16) as *const usize) };
    (word & !OBJECTS) >> CLASS_BITS
}

/// Links `next` after the free block at `start` in a list.
pub(super) unsafe fn link(start: usize, class: usize, next: usize) {
    // SAFETY: as `class_at`.
    unsafe { *((start - 16) as *mut usize) = class | next << CLASS_BITS };
}

/// For `block`, an address that an allocation returned: the true start of the block, its class,
/// and whether it is live. `None` if no allocation returned this address.
pub(super) unsafe fn inspect(block: usize) -> Option<(usize, usize, bool)> {
    // SAFETY: `block` is in the arena, after its control page.
    unsafe {
        if !block.is_multiple_of(16) || block < FIRST + HEADER {
            return None;
        }
        let mut start = block;
        let word = *((start - 16) as *const usize);
        if word & ALIGNED != 0 {
            start = word & !ALIGNED;
            if !contains(start) || start > block {
                return None;
            }
        }
        let class = class_at(start);
        let state = *((start - 8) as *const usize);
        let is_live = state & STATE == LIVE;
        let known = (1..CLASSES).contains(&class) && (is_live || state & STATE == FREED);
        known.then_some((start, class, is_live))
    }
}

/// Whether `block`, an address of the arena after its control page, is a live block.
pub(crate) unsafe fn is_live(block: usize) -> bool {
    // SAFETY: the caller's promise.
    unsafe { inspect(block) }.is_some_and(|(_, _, is_live)| is_live)
}
