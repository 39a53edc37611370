//! Fast path: small allocations and frees by tasks, if no monitor watches them.
//!
//! Most executions end before a freed block leaves the quarantine, so no free block can be reused.
//! Then a new block comes from the arena's end, and a freed block is added to the quarantine.

use core::ffi::c_void;

use super::arena::control;
use super::block::{
    ALIGNED, CLASS, CLASS_BITS, FREED, HEADER, LIVE, NUMBER_SHIFT, OBJECTS, STATE, class_of,
    class_size, live_word,
};
use super::index::{self, CHUNK};
use super::place::{FIRST, GRANULE};
use super::quarantine::{POISON, POISONED};
use super::tasks::Tasks;

const _: () = assert!(POISONED <= CHUNK);

/// Does the same as [`super::arena::allocate`], if a task allocates a small block and `is_usual`
/// is set. In all other cases, and if the arena has no room or the index must grow by more than a
/// chunk, returns null and changes nothing. Call it only if the arena is in use.
#[inline(always)]
#[expect(clippy::inline_always, reason = "a part of malloc")]
pub(crate) fn allocate<T: Tasks>(size: usize) -> *mut c_void {
    // SAFETY: one task runs at a time, and no other thread allocates within an execution.
    unsafe {
        let control = &mut *control();
        let lists = &mut control.lists;
        if size > POISONED || !lists.is_usual || !T::is_task() {
            return core::ptr::null_mut();
        }
        let class = class_of(size);
        let header = lists.next;
        let usable = class_size(class);
        let end = header + HEADER + usable;
        if end > lists.unknown {
            if end > lists.unknown + CHUNK || end > control.end {
                return core::ptr::null_mut();
            }
            index::note_chunk(lists.unknown, header);
            lists.unknown += CHUNK;
        }
        lists.next = end;
        lists.number = lists.number.wrapping_add(1);
        let words = header as *mut usize;
        *words = live_word(class, usable - size);
        *words.add(1) = LIVE | (lists.number as usize) << NUMBER_SHIFT;
        words.add(HEADER / size_of::<usize>()).cast()
    }
}

/// Does the same as [`super::arena::release`], and returns `true`, if a task frees a small live
/// block, `is_usual` is set, and the quarantine has room. In all other cases returns `false`, and
/// changes nothing. Call it only if the arena is in use.
#[inline(always)]
#[expect(clippy::inline_always, reason = "a part of free")]
pub(crate) fn release<T: Tasks>(block: usize) -> bool {
    // SAFETY: as `allocate`; the memory between the first block and the end of the last one is
    // readable, and is written to only if it is a live block.
    unsafe {
        let lists = &mut (*control()).lists;
        let is_block =
            block.is_multiple_of(GRANULE) && (FIRST + HEADER..lists.next).contains(&block);
        if !is_block || !lists.is_usual || !T::is_task() {
            return false;
        }
        let words = (block - HEADER) as *mut usize;
        let has_objects = *words & OBJECTS != 0;
        // If `block` is the aligned address in an over-aligned block, the bit `ALIGNED` is set,
        // and the comparison below fails.
        let class = *words & (ALIGNED | CLASS);
        let state = *words.add(1);
        if class.wrapping_sub(1) >= POISONED / GRANULE || state & STATE != LIVE {
            return false;
        }
        let size = class_size(class);
        if !lists.quarantine.has_room(size) {
            return false;
        }
        *words = class | lists.quarantine.newest << CLASS_BITS;
        *words.add(1) = state ^ LIVE ^ FREED;
        lists.quarantine.add(block, size);
        if has_objects {
            T::frees_objects(block, size);
        }
        core::ptr::write_bytes(block as *mut u8, POISON, size);
        true
    }
}
