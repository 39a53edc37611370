//! The program's heap while it is explored: an arena at a fixed address.
//!
//! The arena makes heap addresses equal in every execution, and lets the image drop all
//! allocations of an execution at once. Within an execution, freed blocks are poisoned and kept in
//! quarantine before they are reused, and a double or invalid free stops the program, as in
//! glibc's allocator. The header of each live block has the requested size, so that accesses
//! outside of the requested bytes are found. Outside an exploring process every call is forwarded
//! to glibc.
//!
//! The entry points are in `interpose/allocator.rs`. They pass an implementation of [`Tasks`], by
//! which the heap calls the engine.

mod allocation;
mod arena;
mod block;
mod bounds;
pub(crate) mod fast_path;
mod index;
mod place;
mod quarantine;
mod tasks;
#[cfg(test)]
mod tests;
mod zeroed;

use core::sync::atomic::Ordering;

pub(crate) use allocation::{Allocation, Block, Free};
pub(crate) use arena::{
    allocate, allocate_aligned, allocations, begin, block_around, blocks_from, claim, clean, end,
    freeze, grown, put_object, refuse, release, renumber, reset, usable,
};
pub(crate) use block::is_live;
pub(crate) use bounds::{Fault, fault_of};
use place::{ARENA, GLIBC, MODE};
pub(crate) use place::{FIRST, contains, is_arena};
pub(crate) use quarantine::QUARANTINE_BLOCK;
pub(crate) use tasks::Tasks;
pub(crate) use zeroed::zero;

unsafe extern "C" {
    static environ: *const *const u8;
}

/// Whether this process uses the arena. The first call decides this from the environment, because
/// allocations begin before any other code of the runtime.
#[inline]
pub(crate) fn serves() -> bool {
    match MODE.load(Ordering::Relaxed) {
        ARENA => true,
        GLIBC => false,
        _ => decide(),
    }
}

#[cold]
fn decide() -> bool {
    const KEY: &[u8] = b"CHESS_REQUEST=";
    // SAFETY: `environ` is null or a null-terminated array of C strings.
    let requested = unsafe {
        let mut at = environ;
        if at.is_null() {
            false
        } else {
            loop {
                let entry = *at;
                if entry.is_null() {
                    break false;
                }
                if (0..KEY.len()).all(|i| *entry.add(i) == KEY[i]) {
                    break true;
                }
                at = at.add(1);
            }
        }
    };
    if requested && !arena::map() {
        // The explorer notices that its image has no heap, and reports it.
        MODE.store(GLIBC, Ordering::Relaxed);
        return false;
    }
    MODE.store(if requested { ARENA } else { GLIBC }, Ordering::Relaxed);
    requested
}
