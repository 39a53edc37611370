//! The arena: size classes, headers, quarantine, and going back to a baseline.

use core::ffi::c_void;
use core::sync::atomic::{AtomicU32, Ordering};

use super::super::sys;
use super::{index, refuse};
use crate::execution;
use crate::monitor::{Allocation, Block, Free};

/// Where the arena lies in every process.
pub(crate) const BASE: usize = 0x6000_0000_0000;
pub(super) const SIZE: usize = 64 << 30;
const SMALL_SIZE: usize = 1 << 30;
const CLASSES: usize = 176;
/// Blocks begin at, and have as many bytes as, multiples of this.
pub(crate) const GRANULE: usize = 16;
/// Before each block: its class, or for an over-aligned one the way to its
/// true start; and whether it is live, with the number of its allocation above that.
const HEADER: usize = 16;
const LIVE: usize = 0x4c49_5645;
const FREED: usize = 0x4652_4545;
const STATE: usize = 0xffff_ffff;
const NUMBER_SHIFT: u32 = 32;
const ALIGNED: usize = 1 << 63;
/// In the header's first word: synchronization objects lie in the block.
const OBJECTS: usize = 1 << 62;
/// Freed bytes that wait in quarantine within one execution.
const QUARANTINE: usize = 16 << 20;
/// Blocks beyond this size are used again at once.
pub(crate) const QUARANTINE_BLOCK: usize = 64 << 10;
const POISON: u8 = 0xdd;
const POISONED: usize = 512;

#[repr(C)]
#[derive(Clone, Copy)]
struct Lists {
    next: usize,
    /// The number of the newest allocation.
    number: u32,
    free: [usize; CLASSES],
    oldest: usize,
    newest: usize,
    quarantined: usize,
}

/// The first page of the arena: not part of the image, put back by [`reset`].
#[repr(C)]
struct Control {
    lock: AtomicU32,
    end: usize,
    lists: Lists,
    /// [`Lists::next`] when the image was taken.
    baseline: usize,
}

const CONTROL_PAGES: usize = 4096;
/// Where the first block is.
pub(crate) const FIRST: usize = BASE + CONTROL_PAGES;
const _: () = assert!(size_of::<Control>() <= CONTROL_PAGES);

fn control() -> *mut Control {
    BASE as *mut Control
}

/// Maps the arena; whether the kernel agreed.
pub(super) fn map() -> bool {
    let size = if sys::map_fixed(BASE, SIZE, false) {
        SIZE
    } else if sys::map_fixed(BASE, SMALL_SIZE, false) {
        SMALL_SIZE
    } else {
        return false;
    };
    if !index::map(size) {
        return false;
    }
    // SAFETY: just mapped, zeroed, and no other thread knows of it.
    unsafe {
        (*control()).end = BASE + size;
        (*control()).lists.next = BASE + CONTROL_PAGES;
    }
    true
}

/// Whether `address` lies in the arena.
#[inline]
pub(crate) fn contains(address: usize) -> bool {
    address.wrapping_sub(BASE) < SIZE
}

/// Begins the image's view of the heap: returns the bytes that belong to the
/// image. What is allocated from now on lies behind them, on fresh pages.
pub(crate) fn freeze() -> (usize, usize) {
    // SAFETY: called outside executions, on the only running thread.
    unsafe {
        let control = &mut *control();
        control.baseline = control.lists.next.next_multiple_of(sys::PAGE);
        (BASE + CONTROL_PAGES, control.baseline)
    }
}

/// The bytes that were allocated from since [`freeze`].
pub(crate) fn grown() -> (usize, usize) {
    // SAFETY: called by the only task that runs.
    unsafe {
        let control = &*control();
        (control.baseline, control.lists.next.max(control.baseline))
    }
}

/// Forgets all that was allocated since [`freeze`].
#[inline]
pub(crate) fn reset() {
    // SAFETY: called between executions, on the only running thread.
    unsafe {
        let control = &mut *control();
        let lists = &mut control.lists;
        lists.next = control.baseline;
        lists.number = 0;
        lists.free = [0; CLASSES];
        lists.oldest = 0;
        lists.newest = 0;
        lists.quarantined = 0;
    }
}

/// The block that has `address`, and whether it is live; `None` where no block was
/// handed out, or between blocks.
#[inline]
pub(crate) fn block_around(address: usize) -> Option<(Block, bool)> {
    if !contains(address) {
        return None;
    }
    // SAFETY: called by the only task that runs; blocks follow each other.
    unsafe {
        let next = (*control()).lists.next;
        if address >= next {
            return None;
        }
        let mut header = index::start_of(address);
        while header + HEADER <= address && header < next {
            let start = header + HEADER;
            let class = class_at(start);
            if class == 0 || class >= CLASSES {
                return None;
            }
            header = start + class_size(class);
            if address < header {
                let state = *((start - 8) as *const usize);
                let block = Block {
                    start,
                    size: class_size(class),
                    number: (state >> NUMBER_SHIFT) as u32,
                };
                return Some((block, state & STATE == LIVE));
            }
        }
        None
    }
}

/// A synchronization object lies at `address` of the arena.
pub(crate) fn put_object(address: usize) {
    if let Some((block, true)) = block_around(address) {
        // SAFETY: a block's header.
        unsafe { *((block.start - 16) as *mut usize) |= OBJECTS };
    }
}

/// Behind the newest block.
pub(crate) fn end() -> usize {
    if !super::is_arena() {
        return BASE;
    }
    // SAFETY: called between executions, or by the only task that runs.
    unsafe { (*control()).lists.next }
}

/// Every block from `start` on, which is where [`end`] once was, and whether it is live.
pub(crate) fn blocks_from(start: usize) -> impl Iterator<Item = (Block, bool)> {
    let end = end();
    let mut header = start;
    core::iter::from_fn(move || {
        let next = (header < end).then(|| block_around(header + HEADER))??;
        header = next.0.start + next.0.size;
        Some(next)
    })
}

/// The number of the newest allocation; 0 where the arena does not serve.
pub(crate) fn allocations() -> u32 {
    if !super::is_arena() {
        return 0;
    }
    // SAFETY: called between executions, or by the only task that runs.
    unsafe { (*control()).lists.number }
}

/// The class of a size in bytes: steps of 16 up to 512, then four to a doubling.
#[inline]
fn class_of(size: usize) -> usize {
    if size <= 512 {
        return size.div_ceil(16).max(1);
    }
    let exponent = (usize::BITS - 1 - (size - 1).leading_zeros()) as usize;
    let quarter = ((size - 1) >> (exponent - 2)) & 3;
    33 + (exponent - 9) * 4 + quarter
}

#[inline]
fn class_size(class: usize) -> usize {
    if class <= 32 {
        return class * 16;
    }
    let (exponent, quarter) = ((class - 33) / 4 + 9, (class - 33) % 4);
    (quarter + 5) << (exponent - 2)
}

/// Holds the arena's lock, where more than one thread can be running.
struct Locked(bool);

impl Locked {
    #[inline]
    fn new() -> Self {
        // One task runs at a time: within an execution nobody else allocates.
        if execution::active() {
            return Self(false);
        }
        // SAFETY: the control page is mapped wherever the arena serves.
        let lock = unsafe { &(*control()).lock };
        while lock.swap(1, Ordering::Acquire) != 0 {
            // SAFETY: no arguments, no memory.
            unsafe { sys::syscall(sys::number::SCHED_YIELD, [0; 6]) };
        }
        Self(true)
    }
}

impl Drop for Locked {
    #[inline]
    fn drop(&mut self) {
        if self.0 {
            // SAFETY: as in `new`.
            unsafe { (*control()).lock.store(0, Ordering::Release) };
        }
    }
}

#[inline]
pub(super) fn allocate(size: usize) -> *mut c_void {
    if size > SIZE / 2 {
        return core::ptr::null_mut();
    }
    let class = class_of(size);
    let chosen = execution::reused(class);
    let _locked = Locked::new();
    // SAFETY: the lock is held, or no other thread runs.
    unsafe {
        let control = &mut *control();
        let lists = &mut control.lists;
        let free = lists.free[class];
        let is_reused = chosen.is_some() || free != 0;
        let block = if let Some(block) = chosen {
            link(block, class, 0);
            block
        } else if free == 0 {
            let block = lists.next + HEADER;
            if block + class_size(class) > control.end {
                return core::ptr::null_mut();
            }
            lists.next = block + class_size(class);
            index::note(block - HEADER, lists.next);
            *((block - 16) as *mut usize) = class;
            block
        } else {
            lists.free[class] = next_of(free);
            link(free, class, 0);
            free
        };
        lists.number = lists.number.wrapping_add(1);
        let number = lists.number;
        *((block - 8) as *mut usize) = LIVE | (number as usize) << NUMBER_SHIFT;
        execution::allocated(Allocation {
            block: Block {
                start: block,
                size: class_size(class),
                number,
            },
            is_reused,
        });
        block as *mut c_void
    }
}

/// The low bits of a header's first word are the block's class; those above, the
/// next block of a list. So a freed block's own bytes stay poisoned.
const CLASS_BITS: u32 = 12;

/// The class of the block at `start`.
unsafe fn class_at(start: usize) -> usize {
    // SAFETY: the caller passes the true start of a block of the arena.
    let word = unsafe { *((start - 16) as *const usize) };
    word & ((1 << CLASS_BITS) - 1)
}

/// The block after `start` in its list; 0 at the end.
unsafe fn next_of(start: usize) -> usize {
    // SAFETY: as `class_at`.
    let word = unsafe { *((start - 16) as *const usize) };
    (word & !OBJECTS) >> CLASS_BITS
}

/// Puts `next` behind the block at `start` in a list.
unsafe fn link(start: usize, class: usize, next: usize) {
    // SAFETY: as `class_at`.
    unsafe { *((start - 16) as *mut usize) = class | next << CLASS_BITS };
}

/// A block's true start, its class, and whether it is live; `None` where `block`
/// was never handed out.
pub(super) unsafe fn inspect(block: usize) -> Option<(usize, usize, bool)> {
    // SAFETY: `block` lies in the arena, behind its control page.
    unsafe {
        if !block.is_multiple_of(16) || block < BASE + CONTROL_PAGES + HEADER {
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

/// Takes back a block; stops the program if it is none, or free already.
pub(super) unsafe fn release(block: usize) {
    let tasks = execution::active();
    // SAFETY: `block` lies in the arena; writes go to a block that was handed out.
    unsafe {
        let Some((start, class, live)) = inspect(block) else {
            refuse(Free::Unknown(block));
        };
        let size = class_size(class);
        let state = *((start - 8) as *const usize);
        let number = (state >> NUMBER_SHIFT) as u32;
        let known = Block {
            start,
            size,
            number,
        };
        if !live {
            refuse(Free::Freed(known));
        }
        let mut is_kept = false;
        if tasks {
            let has_objects = *((start - 16) as *const usize) & OBJECTS != 0;
            is_kept = execution::frees(Free::Live(known), has_objects, class);
        }
        *((start - 8) as *mut usize) = state & !STATE | FREED;
        let _locked = Locked::new();
        let lists = &mut (*control()).lists;
        if !tasks || size > QUARANTINE_BLOCK {
            link(start, class, lists.free[class]);
            lists.free[class] = start;
            return;
        }
        if size <= POISONED {
            core::ptr::write_bytes(start as *mut u8, POISON, size);
        }
        link(start, class, 0);
        if is_kept {
            return;
        }
        if lists.newest == 0 {
            lists.oldest = start;
        } else {
            link(lists.newest, class_at(lists.newest), start);
        }
        lists.newest = start;
        lists.quarantined += size;
        while lists.quarantined > QUARANTINE {
            let oldest = lists.oldest;
            let class = class_at(oldest);
            lists.oldest = next_of(oldest);
            lists.quarantined -= class_size(class);
            link(oldest, class, lists.free[class]);
            lists.free[class] = oldest;
        }
    }
}

#[inline]
pub(super) fn allocate_aligned(align: usize, size: usize) -> *mut c_void {
    if align <= 16 {
        return allocate(size);
    }
    let Some(padded) = size.checked_add(align + HEADER) else {
        return core::ptr::null_mut();
    };
    let start = allocate(padded) as usize;
    if start == 0 {
        return core::ptr::null_mut();
    }
    let block = start.next_multiple_of(align);
    if block != start {
        // SAFETY: at least 16 bytes lie between the true start and the aligned one.
        unsafe { *((block - 16) as *mut usize) = start | ALIGNED };
    }
    block as *mut c_void
}

/// How many bytes may be used at `block`.
pub(super) unsafe fn usable(block: usize) -> usize {
    // SAFETY: the caller passes a block of the arena.
    match unsafe { inspect(block) } {
        Some((start, class, _)) => start + class_size(class) - block,
        None => 0,
    }
}
