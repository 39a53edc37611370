//! The place of the arena in memory, and whether this process uses it.

use core::sync::atomic::{AtomicU8, Ordering};

/// The address of the arena in every process.
pub(crate) const BASE: usize = 0x6000_0000_0000;
pub(super) const SIZE: usize = 64 << 30;
pub(super) const SMALL_SIZE: usize = 1 << 30;
/// The addresses and sizes of blocks are multiples of this.
pub(crate) const GRANULE: usize = 16;
pub(super) const CONTROL_PAGES: usize = 4096;
/// The address of the first block.
pub(crate) const FIRST: usize = BASE + CONTROL_PAGES;

/// Whether `address` is in the arena.
#[inline]
pub(crate) fn contains(address: usize) -> bool {
    address.wrapping_sub(BASE) < SIZE
}

/// The allocator of this process.
pub(super) static MODE: AtomicU8 = AtomicU8::new(UNDECIDED);
const UNDECIDED: u8 = 0;
pub(super) const GLIBC: u8 = 1;
pub(super) const ARENA: u8 = 2;

/// Whether this process uses the arena; `false` also if no allocation has decided this yet.
pub(crate) fn is_arena() -> bool {
    MODE.load(Ordering::Relaxed) == ARENA
}
