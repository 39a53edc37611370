//! The arena: the allocation and the release of blocks, and the reset to a baseline.
//! `quarantine.rs` holds freed blocks back.

use core::ffi::c_void;
use core::sync::atomic::{AtomicU32, Ordering};

use super::allocation::{Allocation, Block, Free};
use super::block::{
    CLASSES, FREED, HEADER, LIVE, NUMBER_SHIFT, OBJECTS, STATE, block_at, class_at, class_of,
    class_size, inspect, link, next_of, open, resize,
};
use super::index;
use super::place::{BASE, CONTROL_PAGES, FIRST, SIZE, SMALL_SIZE, contains, is_arena};
use super::quarantine::{POISON, POISONED, QUARANTINE_BLOCK, Quarantine};
use super::tasks::Tasks;
use crate::base::sys;

#[repr(C)]
#[derive(Clone, Copy)]
pub(super) struct Lists {
    pub(super) next: usize,
    /// The first chunk at or after `next` that is not in the index (`index.rs`).
    pub(super) unknown: usize,
    /// The number of the newest allocation.
    pub(super) number: u32,
    /// Whether the fast path may be used: no monitor needs the allocations and frees of tasks, and
    /// no block is in `free`.
    pub(super) is_usual: bool,
    /// Whether a block was put into `free` since the last [`reset`].
    is_listed: bool,
    free: [usize; CLASSES],
    pub(super) quarantine: Quarantine,
}

/// The first page of the arena. It is not part of the image: [`reset`] restores its lists.
#[repr(C)]
pub(super) struct Control {
    lock: AtomicU32,
    pub(super) end: usize,
    pub(super) lists: Lists,
    /// [`Lists::next`] when the image was taken.
    pub(super) baseline: usize,
    /// The end of the memory that executions may have written to since the last [`clean`]. The
    /// running execution does not count.
    soiled: usize,
    /// The end of the memory that executions may ever have written to. The running execution does
    /// not count.
    highest: usize,
}

const _: () = assert!(size_of::<Control>() <= CONTROL_PAGES);

pub(super) fn control() -> *mut Control {
    BASE as *mut Control
}

/// Maps the arena. Returns whether the kernel agreed.
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
    // SAFETY: just mapped, zeroed, and unknown to other threads.
    unsafe {
        (*control()).end = BASE + size;
        (*control()).lists.next = FIRST;
        (*control()).lists.unknown = FIRST;
    }
    true
}

/// Sets the baseline of the heap: later allocations come after it, on fresh pages. Returns the
/// bounds of the memory before the baseline, which belongs to the image.
pub(crate) fn freeze() -> (usize, usize) {
    // SAFETY: called outside executions, on the only running thread.
    unsafe {
        let control = &mut *control();
        control.baseline = control.lists.next.next_multiple_of(sys::PAGE);
        control.soiled = control.highest;
        (BASE + CONTROL_PAGES, control.baseline)
    }
}

/// The bounds of the memory that the running execution has used for allocations. This memory
/// begins at the baseline, which [`freeze`] sets.
pub(crate) fn grown() -> (usize, usize) {
    // SAFETY: called by the running task, and no other one runs.
    unsafe {
        let control = &*control();
        (control.baseline, control.lists.next.max(control.baseline))
    }
}

/// Drops all blocks that were allocated after the baseline, which [`freeze`] sets.
#[inline]
pub(crate) fn reset() {
    // SAFETY: called between executions, on the only running thread.
    unsafe {
        let control = &mut *control();
        let lists = &mut control.lists;
        control.soiled = control.soiled.max(lists.next);
        control.highest = control.highest.max(lists.next);
        lists.next = control.baseline;
        lists.unknown = control.baseline;
        lists.number = 0;
        if lists.is_listed {
            lists.free = [0; CLASSES];
            lists.is_listed = false;
        }
        lists.quarantine = Quarantine::EMPTY;
    }
}

/// Clears the first `most` bytes after the baseline, as far as executions wrote to them. Without
/// this, memory that an execution does not initialize would contain data of an earlier execution.
/// Call it after [`reset`].
pub(crate) fn clean(most: usize) {
    // SAFETY: as `reset`; the bytes belong to no block, and stay mapped.
    unsafe {
        let control = &mut *control();
        let low = control.baseline;
        let high = control.soiled.min(low + most);
        if low < high {
            core::ptr::write_bytes(low as *mut u8, 0, high - low);
        }
        control.soiled = low;
    }
}

/// Prepares the heap for an execution. `is_reported` states whether a monitor needs the
/// allocations and frees of tasks: then the fast path is not used.
#[inline]
pub(crate) fn begin(is_reported: bool) {
    if is_arena() {
        // SAFETY: as `reset`.
        let lists = unsafe { &mut (*control()).lists };
        lists.is_usual = !is_reported && !lists.is_listed;
    }
}

/// The block that contains `address`, and whether it is live; `None` if `address` is in a header,
/// or outside all blocks.
#[inline]
pub(crate) fn block_around(address: usize) -> Option<(Block, bool)> {
    // SAFETY: a block of the arena.
    start_around(address).map(|start| unsafe { block_at(start) })
}

/// The start of the block that contains `address`. `None` if `address` is in a header, or outside
/// all blocks. The address that the program received for an over-aligned block is not the start.
#[inline]
pub(super) fn start_around(address: usize) -> Option<usize> {
    if !contains(address) {
        return None;
    }
    // SAFETY: called by the running task, and no other one runs; blocks follow each other.
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
                return Some(start);
            }
        }
        None
    }
}

/// Marks the live block that contains `address` as a block with synchronization objects. Does
/// nothing if no live block of the arena contains `address`.
pub(crate) fn put_object(address: usize) {
    if let Some((block, true)) = block_around(address) {
        // SAFETY: a block's header.
        unsafe { *((block.start - 16) as *mut usize) |= OBJECTS };
    }
}

/// The end of the newest block.
pub(crate) fn end() -> usize {
    if !is_arena() {
        return BASE;
    }
    // SAFETY: called between executions, or by the only running task.
    unsafe { (*control()).lists.next }
}

/// All blocks after `start`, which is an earlier result of [`end`], each with a flag that states
/// whether it is live.
pub(crate) fn blocks_from(start: usize) -> impl Iterator<Item = (Block, bool)> {
    let end = end();
    let mut header = start;
    core::iter::from_fn(move || {
        let next = (header < end).then(|| block_around(header + HEADER))??;
        header = next.0.start + next.0.size;
        Some(next)
    })
}

/// The number of the newest allocation; 0 if the arena is not in use.
pub(crate) fn allocations() -> u32 {
    if !is_arena() {
        return 0;
    }
    // SAFETY: called between executions, or by the only running task.
    unsafe { (*control()).lists.number }
}

/// The arena's lock. It is held only outside tasks: within an execution, no other thread
/// allocates.
struct Locked(bool);

impl Locked {
    #[inline]
    fn new<T: Tasks>() -> Self {
        // One task runs at a time: within an execution no other thread allocates.
        if T::is_task() {
            return Self(false);
        }
        // SAFETY: the control page is mapped if the arena is in use.
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
pub(crate) fn allocate<T: Tasks>(size: usize) -> *mut c_void {
    allocate_in::<T>(size, HEADER, size)
}

/// Allocates a block with at least `room` bytes, in which `size` bytes fit at a multiple of
/// `align`. Returns the address of these bytes; null if there is no room in the arena.
#[inline]
fn allocate_in<T: Tasks>(room: usize, align: usize, size: usize) -> *mut c_void {
    if room > SIZE / 2 {
        return core::ptr::null_mut();
    }
    let class = class_of(room);
    let chosen = T::reused(class);
    let _locked = Locked::new::<T>();
    // SAFETY: the lock is held, or no other thread runs.
    unsafe {
        let control = &mut *control();
        let lists = &mut control.lists;
        let free = lists.free[class];
        let is_reused = chosen.is_some() || free != 0;
        let start = if let Some(start) = chosen {
            start
        } else if free == 0 {
            let start = lists.next + HEADER;
            if start + class_size(class) > control.end {
                return core::ptr::null_mut();
            }
            lists.next = start + class_size(class);
            index::note(start - HEADER, lists.next);
            lists.unknown = lists.next.next_multiple_of(index::CHUNK);
            start
        } else {
            lists.free[class] = next_of(free);
            free
        };
        let block = open(start, class, align, size);
        lists.number = lists.number.wrapping_add(1);
        let number = lists.number;
        *((start - 8) as *mut usize) = LIVE | (number as usize) << NUMBER_SHIFT;
        T::allocated(Allocation {
            block: Block {
                start,
                size: class_size(class),
                requested: (block, block + size),
                number,
            },
            is_reused,
        });
        block as *mut c_void
    }
}

/// Reports an invalid free. If a task made the free, its execution ends. Otherwise the process
/// ends.
#[cold]
pub(crate) fn refuse<T: Tasks>(free: Free) -> ! {
    T::frees(free, false, 0);
    // As glibc's allocator does.
    // SAFETY: the process ends itself.
    unsafe {
        let own = sys::syscall(sys::number::GETPID, [0; 6]).cast_unsigned();
        sys::syscall(sys::number::KILL, [own, sys::SIGABRT as usize, 0, 0, 0, 0]);
    }
    sys::exit_now(134)
}

/// Frees the block at the address `block`. If no live block is there, the free is invalid: see
/// [`refuse`].
pub(crate) unsafe fn release<T: Tasks>(block: usize) {
    let tasks = T::is_task();
    // SAFETY: `block` is in the arena; only blocks that were allocated are written to.
    unsafe {
        let Some((start, class, live)) = inspect(block) else {
            refuse::<T>(Free::Unknown(block));
        };
        let size = class_size(class);
        let state = *((start - 8) as *const usize);
        let known = block_at(start).0;
        if !live {
            refuse::<T>(Free::Freed(known));
        }
        let mut is_kept = false;
        if tasks {
            let has_objects = *((start - 16) as *const usize) & OBJECTS != 0;
            is_kept = T::frees(Free::Live(known), has_objects, class);
        }
        *((start - 8) as *mut usize) = state & !STATE | FREED;
        let _locked = Locked::new::<T>();
        let lists = &mut (*control()).lists;
        if !tasks || size > QUARANTINE_BLOCK {
            lists.list(start, class);
            return;
        }
        if size <= POISONED {
            core::ptr::write_bytes(start as *mut u8, POISON, size);
        }
        link(start, class, 0);
        if is_kept {
            return;
        }
        link(start, class, lists.quarantine.newest);
        lists.quarantine.add(start, size);
        if !lists.quarantine.has_room(0) {
            lists.release_oldest();
        }
    }
}

impl Lists {
    /// Puts a free block into the list of its class, from which allocations take blocks.
    unsafe fn list(&mut self, start: usize, class: usize) {
        // SAFETY: the caller passes a free block, and no other thread runs.
        unsafe { link(start, class, self.free[class]) };
        self.free[class] = start;
        self.is_listed = true;
        self.is_usual = false;
    }

    /// Releases the oldest blocks from quarantine, until it has room.
    #[cold]
    unsafe fn release_oldest(&mut self) {
        // SAFETY: as `list`; blocks in quarantine are free.
        unsafe {
            while let Some((oldest, class)) = self.quarantine.release_oldest() {
                self.list(oldest, class);
            }
        }
    }
}

/// Turns a live block into another allocation of `size` bytes at the same address. The bytes must
/// fit into the block.
pub(crate) unsafe fn renumber<T: Tasks>(block: usize, size: usize) {
    // SAFETY: the caller passes a live block of the arena; the lock is held, or no other thread
    // runs.
    unsafe {
        let Some((start, ..)) = inspect(block) else {
            return;
        };
        let _locked = Locked::new::<T>();
        let lists = &mut (*control()).lists;
        let old = block_at(start).0;
        resize(start, block, size);
        lists.number = lists.number.wrapping_add(1);
        *((start - 8) as *mut usize) = LIVE | (lists.number as usize) << NUMBER_SHIFT;
        if !lists.is_usual {
            T::reallocated(old, block_at(start).0);
        }
    }
}

#[inline]
pub(crate) fn allocate_aligned<T: Tasks>(align: usize, size: usize) -> *mut c_void {
    if align <= HEADER {
        return allocate::<T>(size);
    }
    // As glibc does.
    let room = align
        .checked_next_power_of_two()
        .and_then(|align| Some((align, size.checked_add(align)?.checked_add(HEADER)?)));
    match room {
        Some((align, room)) => allocate_in::<T>(room, align, size),
        None => core::ptr::null_mut(),
    }
}

/// The number of usable bytes from `block`, the address of an allocation, on; 0 if there is no
/// such allocation.
pub(crate) unsafe fn usable(block: usize) -> usize {
    // SAFETY: the caller passes a block of the arena.
    match unsafe { inspect(block) } {
        Some((start, class, _)) => start + class_size(class) - block,
        None => 0,
    }
}

/// As [`usable`], but also records that the program has requested all of these bytes, so that it
/// may use them from now on.
pub(crate) unsafe fn claim(block: usize) -> usize {
    // SAFETY: as `usable`.
    unsafe {
        let usable = usable(block);
        if let Some((start, _, true)) = inspect(block) {
            resize(start, block, usable);
        }
        usable
    }
}
