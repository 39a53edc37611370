//! The requested sizes of blocks, and the faults of accesses, on a real arena.

use core::cell::Cell;
use std::sync::{Mutex, MutexGuard, PoisonError};

use super::arena::{allocate, allocate_aligned, claim, control, release, renumber};
use super::block::HEADER;
use super::*;
use crate::base::rng::Rng;
use crate::base::sys;

/// The arena of this process, which one test at a time uses.
pub(super) fn arena() -> MutexGuard<'static, bool> {
    static IS_MAPPED: Mutex<bool> = Mutex::new(false);
    let mut is_mapped = IS_MAPPED.lock().unwrap_or_else(PoisonError::into_inner);
    if !*is_mapped {
        assert!(arena::map());
        *is_mapped = true;
    }
    is_mapped
}

thread_local! {
    /// The last block that was announced.
    static ANNOUNCED: Cell<Option<Block>> = const { Cell::new(None) };
    /// Whether the last block that was freed has synchronization objects.
    static HAS_OBJECTS: Cell<bool> = const { Cell::new(false) };
}

/// The hooks of the heap. The flag states whether the caller is a task.
struct Test<const IS_TASK: bool>;

impl<const IS_TASK: bool> Tasks for Test<IS_TASK> {
    fn is_task() -> bool {
        IS_TASK
    }

    fn reused(_: usize) -> Option<usize> {
        None
    }

    fn allocated(allocation: Allocation) {
        ANNOUNCED.set(Some(allocation.block));
    }

    fn frees(free: Free, has_objects: bool, _: usize) -> bool {
        assert!(matches!(free, Free::Live(_)), "{free:?}");
        HAS_OBJECTS.set(has_objects);
        false
    }

    fn frees_objects(_: usize, _: usize) {
        HAS_OBJECTS.set(true);
    }

    fn reallocated(_: Block, new: Block) {
        ANNOUNCED.set(Some(new));
    }
}

type Task = Test<true>;
type Other = Test<false>;

/// Sets whether allocations and frees take the fast path.
fn set_usual(is_usual: bool) {
    // SAFETY: this test alone uses the arena.
    unsafe { (*control()).lists.is_usual = is_usual };
}

fn take(size: usize, is_fast: bool) -> usize {
    set_usual(is_fast);
    let mut block = core::ptr::null_mut();
    if is_fast {
        block = fast_path::allocate::<Task>(size);
    }
    if block.is_null() {
        block = allocate::<Task>(size);
    }
    assert!(!block.is_null());
    block as usize
}

/// The bounds of the requested bytes of the live block at `block`.
fn requested(block: usize) -> (usize, usize) {
    let (found, is_live) = block_around(block).expect("it is a block");
    assert!(is_live);
    found.requested
}

#[track_caller]
fn assert_size(block: usize, size: usize) {
    assert_eq!(requested(block), (block, block + size), "{size} bytes");
    assert_eq!(fault_of(block, size.max(1)).is_some(), size == 0);
    for (address, length) in [(block, size + 1), (block + size, 1), (block - 1, 1)] {
        let Some(Fault::Outside(found, true)) = fault_of(address, length) else {
            panic!("{length} bytes at {address:x} are outside of {block:x}");
        };
        assert_eq!(found.requested, (block, block + size));
    }
}

#[test]
fn a_block_has_exactly_the_requested_bytes() {
    let _arena = arena();
    for size in (0..=512).chain([513, 640, 641, 4095, 65_537, 1 << 20]) {
        for is_fast in [true, false] {
            if is_fast && size > 512 {
                continue;
            }
            // Without this block, an empty block might come before the tested one. Its end might
            // then be nearer to an address between the two than the start of the tested one.
            take(16, false);
            ANNOUNCED.take();
            let block = take(size, is_fast);
            if let Some(announced) = ANNOUNCED.take() {
                assert_eq!(announced.requested, (block, block + size));
            } else {
                assert!(is_fast);
            }
            assert_size(block, size);
        }
    }
}

#[test]
fn a_block_that_grows_or_shrinks_in_place_has_the_new_size() {
    let _arena = arena();
    let block = take(30, true);
    put_object(block + 8);
    for size in [17, 32, 31, 0, 30] {
        set_usual(false);
        // SAFETY: a live block with 32 bytes.
        unsafe { renumber::<Task>(block, size) };
        assert_eq!(requested(block), (block, block + size));
        let announced = ANNOUNCED.take().unwrap();
        assert_eq!(announced.requested, (block, block + size));
    }
    HAS_OBJECTS.set(false);
    // SAFETY: it is live.
    unsafe { release::<Task>(block) };
    assert!(HAS_OBJECTS.get(), "they stay in the block");
}

#[test]
fn an_over_aligned_block_has_exact_bounds() {
    let _arena = arena();
    for align in [1, 16, 32, 64, 256, 4096, 1 << 16] {
        for size in [0, 1, 24, 100, 4097] {
            take(16, false);
            set_usual(false);
            let block = allocate_aligned::<Task>(align, size) as usize;
            assert!(block.is_multiple_of(align));
            assert_eq!(ANNOUNCED.take().unwrap().requested, (block, block + size));
            assert_size(block, size);
            // SAFETY: it is live, and has room for them.
            unsafe { renumber::<Task>(block, size / 2) };
            assert_size(block, size / 2);
            set_usual(true);
            if !fast_path::release::<Task>(block) {
                // SAFETY: it is live.
                unsafe { release::<Task>(block) };
            }
            assert!(matches!(fault_of(block, 1), Some(Fault::Freed(_))));
        }
    }
    let odd = allocate_aligned::<Task>(24, 10) as usize;
    assert!(odd.is_multiple_of(32), "as in glibc");
    assert!(allocate_aligned::<Task>(usize::MAX, 10).is_null());
    assert!(allocate_aligned::<Task>(64, usize::MAX).is_null());
}

#[test]
fn a_program_that_asks_for_the_usable_size_may_use_it() {
    let _arena = arena();
    let plain = take(20, true);
    let aligned = allocate_aligned::<Task>(128, 20) as usize;
    for block in [plain, aligned] {
        assert_eq!(requested(block), (block, block + 20));
        // SAFETY: it is live.
        let usable = unsafe { claim(block) };
        assert!(usable >= 20);
        assert_size(block, usable);
    }
    // SAFETY: it is live.
    unsafe { release::<Task>(plain) };
    let before = block_around(plain);
    // SAFETY: a block of the arena.
    assert_eq!(unsafe { claim(plain) }, 32);
    assert_eq!(block_around(plain), before, "a freed block does not change");
}

#[test]
fn a_block_that_is_used_again_has_its_own_size() {
    let _arena = arena();
    let first = take(100, false);
    // SAFETY: it is live. Code outside of tasks keeps no block in quarantine.
    unsafe { release::<Other>(first) };
    let second = allocate::<Other>(97) as usize;
    assert_eq!(first, second);
    assert_size(second, 97);
}

/// A block in the model of the arena.
#[derive(Clone, Copy)]
struct Known {
    block: Block,
    is_live: bool,
}

/// The fault of an access in the model, which looks at all blocks.
fn expected(all: &[Known], address: usize, size: usize) -> Option<Fault> {
    let distance = |block: &Block| {
        let (low, high) = block.requested;
        if address < low {
            low - address
        } else {
            address.saturating_sub(high)
        }
    };
    let end = all.last()?.block;
    if address < all[0].block.start || address >= end.start + end.size + HEADER {
        return None;
    }
    for Known { block, is_live } in all {
        if !(block.start..block.start + block.size).contains(&address) {
            continue;
        }
        let (low, high) = block.requested;
        return match is_live {
            false => Some(Fault::Freed(*block)),
            true if low <= address && address + size <= high => None,
            true => Some(Fault::Outside(*block, true)),
        };
    }
    let beside = all.iter().rev().filter(|known| {
        let (low, high) = (known.block.start, known.block.start + known.block.size);
        (low - HEADER..high + HEADER).contains(&address)
    });
    // Live blocks come first, then the nearest blocks, then the last block.
    let nearest = beside.min_by_key(|known| (!known.is_live, distance(&known.block)))?;
    Some(Fault::Outside(nearest.block, nearest.is_live))
}

#[test]
fn the_fault_of_an_access_is_that_of_a_table_of_all_blocks() {
    let _arena = arena();
    let mut rng = Rng::new(1);
    let mut faults = [0; 4];
    for _ in 0..200 {
        let mut all: Vec<Known> = Vec::new();
        for _ in 0..20 {
            let known = |block| {
                let (block, is_live) = block_around(block).unwrap();
                Known { block, is_live }
            };
            let size = rng.below(80) as usize;
            let chosen = rng.below(all.len() as u64 + 1) as usize;
            match (rng.below(6), all.get_mut(chosen)) {
                (0, _) => {
                    set_usual(false);
                    let align = 32 << rng.below(3);
                    all.push(known(allocate_aligned::<Task>(align, size) as usize));
                }
                (1, Some(old)) if old.is_live => {
                    set_usual(rng.below(2) == 0);
                    let block = old.block.requested.0;
                    if !fast_path::release::<Task>(block) {
                        // SAFETY: it is live.
                        unsafe { release::<Task>(block) };
                    }
                    let end = old.block.start + old.block.size;
                    old.block.requested = (old.block.start, end);
                    old.is_live = false;
                }
                (2, Some(old)) if old.is_live => {
                    set_usual(rng.below(2) == 0);
                    let (block, end) = (old.block.requested.0, old.block.start + old.block.size);
                    // SAFETY: it is live, and has room for them.
                    unsafe { renumber::<Task>(block, size.min(end - block)) };
                    old.block = known(block).block;
                    assert_eq!(old.block.requested, (block, block + size.min(end - block)));
                }
                _ => {
                    let block = take(size, rng.below(2) == 0);
                    all.push(known(block));
                    assert_eq!(requested(block), (block, block + size));
                }
            }
        }
        let (low, high) = (all[0].block.start, all[all.len() - 1].block.start + 200);
        for _ in 0..500 {
            let address = low + rng.below((high - low) as u64) as usize;
            let size = 1 + rng.below(40) as usize;
            let fault = fault_of(address, size);
            assert_eq!(
                fault,
                expected(&all, address, size),
                "{size} at {address:x}"
            );
            faults[match fault {
                None => 0,
                Some(Fault::Freed(_)) => 1,
                Some(Fault::Outside(_, true)) => 2,
                Some(Fault::Outside(_, false)) => 3,
            }] += 1;
        }
    }
    assert!(faults.iter().all(|&count| count > 100), "{faults:?}");
}

#[test]
fn a_zeroed_block_has_no_data_of_an_earlier_one() {
    let _arena = arena();
    for size in [
        100,
        zeroed::RETURNED - 1,
        zeroed::RETURNED,
        zeroed::RETURNED + 4_321,
    ] {
        let block = take(size, false);
        // SAFETY: the bytes of this block.
        let bytes = unsafe {
            core::ptr::write_bytes(block as *mut u8, 0x5a, size + 1);
            zero(block, size);
            core::slice::from_raw_parts(block as *const u8, size + 1)
        };
        assert!(bytes[..size].iter().all(|byte| *byte == 0), "{size}");
        assert_eq!(bytes[size], 0x5a, "{size}: a byte after the block");
    }
}

#[test]
fn a_large_zeroed_block_takes_no_memory_before_it_is_used() {
    let resident = || {
        let text = std::fs::read_to_string("/proc/self/statm").unwrap();
        let pages = text.split(' ').nth(1).unwrap();
        pages.parse::<usize>().unwrap() * sys::PAGE
    };
    let _arena = arena();
    let before = resident();
    let size = 256 << 20;
    let block = take(size, false);
    // SAFETY: the bytes of this block.
    unsafe { zero(block, size) };
    assert!(resident() < before + size / 2);
}
