//! The header of a block: its class, its state, and the next block of its list.

use super::place::{FIRST, contains};

/// The number of size classes; no block has class 0.
pub(super) const CLASSES: usize = 176;
/// The bytes before each block. The first word is its class, or the true start of an over-aligned
/// block. The second word says whether it is live; its upper half is the number of its allocation.
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

/// The low bits of the first word are the block's class, and those above the next block of a list.
/// So the bytes of a freed block stay poisoned.
pub(super) const CLASS_BITS: u32 = 12;

/// The class of the block at `start`.
pub(super) unsafe fn class_at(start: usize) -> usize {
    // SAFETY: the caller passes the true start of a block of the arena.
    let word = unsafe { *((start - 16) as *const usize) };
    word & ((1 << CLASS_BITS) - 1)
}

/// The block after `start` in its list; 0 at the end.
pub(super) unsafe fn next_of(start: usize) -> usize {
    // SAFETY: as `class_at`.
    let word = unsafe { *((start - 16) as *const usize) };
    (word & !OBJECTS) >> CLASS_BITS
}

/// Links `next` after the block at `start` in a list.
pub(super) unsafe fn link(start: usize, class: usize, next: usize) {
    // SAFETY: as `class_at`.
    unsafe { *((start - 16) as *mut usize) = class | next << CLASS_BITS };
}

/// The true start of a block, its class, and whether it is live; `None` if `block` was never
/// allocated.
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
