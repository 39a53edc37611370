//! The program's heap while it is explored: an arena at a fixed address.
//!
//! The arena makes heap addresses equal in every execution, and lets the image drop all allocations
//! of an execution at once. Within an execution, freed blocks are poisoned and kept in quarantine
//! before they are reused, and a double or invalid free stops the program, as in glibc's allocator.
//! Outside an exploring process every call is forwarded to glibc.

mod allocation;
mod arena;
mod block;
mod index;
mod usual;

pub(crate) use allocation::{Allocation, Block, Free};

use core::ffi::{c_int, c_void};
use core::sync::atomic::{AtomicU8, Ordering};

use crate::base::sys;
use crate::execution;
pub(crate) use arena::{
    FIRST, QUARANTINE_BLOCK, allocations, begin, block_around, blocks_from, clean, contains, end,
    freeze, grown, put_object, reset,
};
use arena::{allocate, allocate_aligned, map, release, renumber, usable};
use block::inspect;

/// The allocator of this process.
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

/// Whether this process uses the arena. Decided once, from the environment, because allocations
/// begin before any other code of the runtime.
#[inline]
fn serves() -> bool {
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
        // The explorer notices that its image has no heap, and reports it.
        MODE.store(GLIBC, Ordering::Relaxed);
        return false;
    }
    MODE.store(if requested { ARENA } else { GLIBC }, Ordering::Relaxed);
    requested
}

/// Whether this process uses the arena, if that is decided.
pub(crate) fn is_arena() -> bool {
    MODE.load(Ordering::Relaxed) == ARENA
}

fn set_no_memory() {
    sys::libc_result(-(sys::ENOMEM as isize));
}

/// Refuses an invalid free: ends the execution, or the process if no task runs.
#[cold]
fn refuse(free: Free) -> ! {
    execution::frees(free, false, 0);
    // As glibc's allocator does.
    // SAFETY: the process ends itself.
    unsafe {
        let own = sys::syscall(sys::number::GETPID, [0; 6]).cast_unsigned();
        sys::syscall(sys::number::KILL, [own, sys::SIGABRT as usize, 0, 0, 0, 0]);
    }
    sys::exit_now(134)
}

/// C's `malloc`.
#[unsafe(no_mangle)]
unsafe extern "C" fn malloc(size: usize) -> *mut c_void {
    if is_arena() {
        let block = usual::allocate(size);
        if !block.is_null() {
            return block;
        }
    }
    allocate_any(size)
}

/// Not inlined: the usual case of [`malloc`] needs no frame.
#[inline(never)]
fn allocate_any(size: usize) -> *mut c_void {
    if !serves() {
        // SAFETY: the function of glibc.
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
    if is_arena() && usual::release(block as usize) {
        return;
    }
    // SAFETY: the caller passes null or a live block.
    unsafe { release_any(block) }
}

/// As [`allocate_any`].
#[inline(never)]
unsafe fn release_any(block: *mut c_void) {
    if block.is_null() {
        return;
    }
    // SAFETY: the block is returned to the allocator that it came from.
    unsafe {
        if contains(block as usize) && is_arena() {
            release(block as usize);
        } else if !serves() {
            __libc_free(block);
        } else if execution::active() {
            refuse(Free::Unknown(block as usize));
        }
        // Otherwise it is memory that the dynamic linker allocated before any allocator existed; it
        // cannot be freed.
    }
}

/// A block of the arena, which is in use.
fn take(size: usize) -> *mut c_void {
    let block = usual::allocate(size);
    if block.is_null() {
        return allocate(size);
    }
    block
}

/// C's `calloc`.
#[unsafe(no_mangle)]
unsafe extern "C" fn calloc(count: usize, size: usize) -> *mut c_void {
    if !serves() {
        // SAFETY: the function of glibc.
        return unsafe { __libc_calloc(count, size) };
    }
    let block = count.checked_mul(size).map_or(core::ptr::null_mut(), take);
    if block.is_null() {
        set_no_memory();
    } else {
        // Earlier executions may have left data there.
        // SAFETY: the block has at least that many bytes.
        unsafe { core::ptr::write_bytes(block.cast::<u8>(), 0, count * size) };
    }
    block
}

/// C's `realloc`.
#[unsafe(no_mangle)]
unsafe extern "C" fn realloc(block: *mut c_void, size: usize) -> *mut c_void {
    if !serves() {
        // SAFETY: the function of glibc.
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
            refuse(Free::Unknown(block as usize));
        }
        if size <= old && size >= old / 2 {
            renumber(block as usize);
            return block;
        }
        let new = take(size);
        if new.is_null() {
            set_no_memory();
            return new;
        }
        core::ptr::copy_nonoverlapping(block.cast::<u8>(), new.cast::<u8>(), old.min(size));
        if !usual::release(block as usize) {
            release(block as usize);
        }
        new
    }
}

/// POSIX's `posix_memalign`.
#[unsafe(no_mangle)]
unsafe extern "C" fn posix_memalign(out: *mut *mut c_void, align: usize, size: usize) -> c_int {
    // SAFETY: as `memalign`; the caller passes a writable `out`.
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
    if !serves() {
        // SAFETY: the function of glibc.
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
            crate::base::real::malloc_usable_size(block)
        }
    }
}
