//! The program's heap while it is explored: an arena at a fixed address.
//!
//! The arena makes heap addresses the same in every execution and lets the
//! image drop all that an execution allocated at once. Within an execution,
//! freed blocks are poisoned and kept in quarantine before they are used again,
//! and a double or invalid free stops the program, as glibc's allocator does.
//! Outside an exploring process every call goes to glibc.

use core::ffi::{c_int, c_void};
use core::sync::atomic::{AtomicU8, AtomicU32, Ordering};

use super::sys;
use crate::execution;

/// Where the arena lies in every process.
pub(crate) const BASE: usize = 0x6000_0000_0000;
const SIZE: usize = 64 << 30;
const SMALL_SIZE: usize = 1 << 30;
const CLASSES: usize = 176;
/// Before each block: its class, or for an over-aligned one the way to its
/// true start; and whether it is live.
const HEADER: usize = 16;
const LIVE: usize = 0x4c49_5645_4c49_5645;
const FREED: usize = 0x4652_4545_4652_4545;
const ALIGNED: usize = 1 << 63;
/// Freed bytes that wait in quarantine within one execution.
const QUARANTINE: usize = 16 << 20;
/// Blocks beyond this size are used again at once.
const QUARANTINE_BLOCK: usize = 64 << 10;
const POISON: u8 = 0xdd;
const POISONED: usize = 512;

#[repr(C)]
#[derive(Clone, Copy)]
struct Lists {
    next: usize,
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
const _: () = assert!(size_of::<Control>() <= CONTROL_PAGES);

fn control() -> *mut Control {
    BASE as *mut Control
}

/// Who serves this process.
static MODE: AtomicU8 = AtomicU8::new(UNDECIDED);
const UNDECIDED: u8 = 0;
const GLIBC: u8 = 1;
const ARENA: u8 = 2;

unsafe extern "C" {
    static environ: *const *const u8;
    fn __libc_malloc(size: usize) -> *mut c_void;
    fn __libc_free(block: *mut c_void);
    fn __libc_calloc(count: usize, size: usize) -> *mut c_void;
    fn __libc_realloc(block: *mut c_void, size: usize) -> *mut c_void;
    fn __libc_memalign(align: usize, size: usize) -> *mut c_void;
}

/// Whether the arena serves this process. Decided once, from the environment:
/// allocations begin before any other code of ours runs.
#[inline]
fn arena() -> bool {
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
    if requested && !map() {
        // The explorer notices that its image has no heap, and says so.
        MODE.store(GLIBC, Ordering::Relaxed);
        return false;
    }
    MODE.store(if requested { ARENA } else { GLIBC }, Ordering::Relaxed);
    requested
}

fn map() -> bool {
    let size = if sys::map_fixed(BASE, SIZE, false) {
        SIZE
    } else if sys::map_fixed(BASE, SMALL_SIZE, false) {
        SMALL_SIZE
    } else {
        return false;
    };
    // SAFETY: just mapped, zeroed, and no other thread knows of it.
    unsafe {
        (*control()).end = BASE + size;
        (*control()).lists.next = BASE + CONTROL_PAGES;
    }
    true
}

/// Whether the arena serves this process' allocations.
pub(crate) fn is_arena() -> bool {
    MODE.load(Ordering::Relaxed) == ARENA
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

/// Forgets all that was allocated since [`freeze`].
#[inline]
pub(crate) fn reset() {
    // SAFETY: called between executions, on the only running thread.
    unsafe {
        let control = &mut *control();
        let lists = &mut control.lists;
        lists.next = control.baseline;
        lists.free = [0; CLASSES];
        lists.oldest = 0;
        lists.newest = 0;
        lists.quarantined = 0;
    }
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
fn allocate(size: usize) -> *mut c_void {
    if size > SIZE / 2 {
        return core::ptr::null_mut();
    }
    let class = class_of(size);
    let _locked = Locked::new();
    // SAFETY: the lock is held, or no other thread runs.
    unsafe {
        let control = &mut *control();
        let lists = &mut control.lists;
        let block = lists.free[class];
        let block = if block == 0 {
            let block = lists.next + HEADER;
            if block + class_size(class) > control.end {
                return core::ptr::null_mut();
            }
            lists.next = block + class_size(class);
            *((block - 16) as *mut usize) = class;
            block
        } else {
            lists.free[class] = *(block as *const usize);
            block
        };
        *((block - 8) as *mut usize) = LIVE;
        block as *mut c_void
    }
}

/// A block's true start, its class, and whether it is live; `None` where `block`
/// was never handed out.
unsafe fn inspect(block: usize) -> Option<(usize, usize, bool)> {
    // SAFETY: `block` lies in the arena, behind its control page.
    unsafe {
        if !block.is_multiple_of(16) || block < BASE + CONTROL_PAGES + HEADER {
            return None;
        }
        let mut start = block;
        let mut class = *((start - 16) as *const usize);
        if class & ALIGNED != 0 {
            start = class & !ALIGNED;
            if !contains(start) || start > block {
                return None;
            }
            class = *((start - 16) as *const usize);
        }
        let state = *((start - 8) as *const usize);
        let known = (1..CLASSES).contains(&class) && (state == LIVE || state == FREED);
        known.then_some((start, class, state == LIVE))
    }
}

unsafe fn release(block: usize) {
    let tasks = execution::active();
    // SAFETY: `block` lies in the arena; writes go to a block that was handed out.
    unsafe {
        let Some((start, class, live)) = inspect(block) else {
            execution::fatal(execution::Fatal::InvalidFree);
        };
        if !live {
            execution::fatal(execution::Fatal::DoubleFree);
        }
        *((start - 8) as *mut usize) = FREED;
        let size = class_size(class);
        let _locked = Locked::new();
        let lists = &mut (*control()).lists;
        if !tasks || size > QUARANTINE_BLOCK {
            *(start as *mut usize) = lists.free[class];
            lists.free[class] = start;
            return;
        }
        if size <= POISONED {
            core::ptr::write_bytes(start as *mut u8, POISON, size);
        }
        *(start as *mut usize) = 0;
        if lists.newest == 0 {
            lists.oldest = start;
        } else {
            *(lists.newest as *mut usize) = start;
        }
        lists.newest = start;
        lists.quarantined += size;
        while lists.quarantined > QUARANTINE {
            let oldest = lists.oldest;
            let class = *((oldest - 16) as *const usize);
            lists.oldest = *(oldest as *const usize);
            lists.quarantined -= class_size(class);
            *(oldest as *mut usize) = lists.free[class];
            lists.free[class] = oldest;
        }
    }
}

#[inline]
fn allocate_aligned(align: usize, size: usize) -> *mut c_void {
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
unsafe fn usable(block: usize) -> usize {
    // SAFETY: the caller passes a block of the arena.
    match unsafe { inspect(block) } {
        Some((start, class, _)) => start + class_size(class) - block,
        None => 0,
    }
}

fn set_no_memory() {
    sys::libc_result(-(sys::ENOMEM as isize));
}

/// C's `malloc`.
#[unsafe(no_mangle)]
unsafe extern "C" fn malloc(size: usize) -> *mut c_void {
    if !arena() {
        // SAFETY: glibc's own.
        return unsafe { __libc_malloc(size) };
    }
    let block = allocate(size);
    if block.is_null() {
        set_no_memory();
    }
    block
}

/// C's `free`.
#[unsafe(no_mangle)]
unsafe extern "C" fn free(block: *mut c_void) {
    if block.is_null() {
        return;
    }
    // SAFETY: the block goes back to the allocator that it came from.
    unsafe {
        if contains(block as usize) && is_arena() {
            release(block as usize);
        } else if !arena() {
            __libc_free(block);
        } else if execution::active() {
            execution::fatal(execution::Fatal::InvalidFree);
        }
        // Else: memory that the dynamic linker took before any allocator was
        // there; it cannot be given back.
    }
}

/// C's `calloc`.
#[unsafe(no_mangle)]
unsafe extern "C" fn calloc(count: usize, size: usize) -> *mut c_void {
    if !arena() {
        // SAFETY: glibc's own.
        return unsafe { __libc_calloc(count, size) };
    }
    let block = count
        .checked_mul(size)
        .map_or(core::ptr::null_mut(), allocate);
    if block.is_null() {
        set_no_memory();
    } else {
        // Earlier executions may have left something there.
        // SAFETY: the block has at least that many bytes.
        unsafe { core::ptr::write_bytes(block.cast::<u8>(), 0, count * size) };
    }
    block
}

/// C's `realloc`.
#[unsafe(no_mangle)]
unsafe extern "C" fn realloc(block: *mut c_void, size: usize) -> *mut c_void {
    if !arena() && !(contains(block as usize) && is_arena()) {
        // SAFETY: glibc's own.
        return unsafe { __libc_realloc(block, size) };
    }
    if block.is_null() {
        // SAFETY: as `malloc`.
        return unsafe { malloc(size) };
    }
    // SAFETY: the caller passes a live block; copies stay within both blocks.
    unsafe {
        let old = usable(block as usize);
        if old == 0 || !inspect(block as usize).is_some_and(|(_, _, live)| live) {
            execution::fatal(execution::Fatal::InvalidFree);
        }
        if size <= old && size >= old / 2 {
            return block;
        }
        let new = allocate(size);
        if new.is_null() {
            set_no_memory();
            return new;
        }
        core::ptr::copy_nonoverlapping(block.cast::<u8>(), new.cast::<u8>(), old.min(size));
        release(block as usize);
        new
    }
}

/// POSIX's `posix_memalign`.
#[unsafe(no_mangle)]
unsafe extern "C" fn posix_memalign(out: *mut *mut c_void, align: usize, size: usize) -> c_int {
    // SAFETY: as `memalign`; `out` is the caller's.
    unsafe {
        let block = memalign(align, size);
        if block.is_null() {
            return sys::ENOMEM;
        }
        *out = block;
    }
    0
}

/// C's `aligned_alloc`.
#[unsafe(no_mangle)]
unsafe extern "C" fn aligned_alloc(align: usize, size: usize) -> *mut c_void {
    // SAFETY: as `memalign`.
    unsafe { memalign(align, size) }
}

/// The old name of `aligned_alloc`.
#[unsafe(no_mangle)]
unsafe extern "C" fn memalign(align: usize, size: usize) -> *mut c_void {
    if !arena() {
        // SAFETY: glibc's own.
        return unsafe { __libc_memalign(align, size) };
    }
    let block = allocate_aligned(align, size);
    if block.is_null() {
        set_no_memory();
    }
    block
}

/// glibc's `malloc_usable_size`.
#[unsafe(no_mangle)]
unsafe extern "C" fn malloc_usable_size(block: *mut c_void) -> usize {
    // SAFETY: the caller passes null or a live block.
    unsafe {
        if block.is_null() {
            0
        } else if contains(block as usize) && is_arena() {
            usable(block as usize)
        } else {
            super::interpose::real::malloc_usable_size(block)
        }
    }
}
