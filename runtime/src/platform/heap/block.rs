//! A block's header: its class, whether it is live, and what comes next in its list.

use super::arena::{FIRST, contains};

/// How many classes of sizes there are; no block is of class 0.
pub(super) const CLASSES: usize = 176;
/// Before each block: its class, or for an over-aligned one the way to its
/// true start; and whether it is live, with the number of its allocation above that.
pub(super) const HEADER: usize = 16;
pub(super) const LIVE: usize = 0x4c49_5645;
pub(super) const FREED: usize = 0x4652_4545;
pub(super) const STATE: usize = 0xffff_ffff;
pub(super) const NUMBER_SHIFT: u32 = 32;
pub(super) const ALIGNED: usize = 1 << 63;
/// In the header's first word: synchronization objects lie in the block.
pub(super) const OBJECTS: usize = 1 << 62;

/// The class of a size in bytes: steps of 16 up to 512, then four to a doubling.
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

/// The low bits of a header's first word are the block's class; those above, the
/// next block of a list. So a freed block's own bytes stay poisoned.
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

/// Puts `next` behind the block at `start` in a list.
pub(super) unsafe fn link(start: usize, class: usize, next: usize) {
    // SAFETY: as `class_at`.
    unsafe { *((start - 16) as *mut usize) = class | next << CLASS_BITS };
}

/// A block's true start, its class, and whether it is live; `None` where `block`
/// was never handed out.
pub(super) unsafe fn inspect(block: usize) -> Option<(usize, usize, bool)> {
    // SAFETY: `block` lies in the arena, behind its control page.
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
