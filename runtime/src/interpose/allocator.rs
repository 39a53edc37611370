//! The functions of C's allocator: the entry points of the heap.

use core::ffi::{c_int, c_void};

use crate::base::{real, sys};
use crate::execution::{self, active};
use crate::platform::heap::{self, Allocation, Block, Free, Tasks, fast_path};

unsafe extern "C" {
    fn __libc_malloc(size: usize) -> *mut c_void;
    fn __libc_free(block: *mut c_void);
    fn __libc_calloc(count: usize, size: usize) -> *mut c_void;
    fn __libc_realloc(block: *mut c_void, size: usize) -> *mut c_void;
    fn __libc_memalign(align: usize, size: usize) -> *mut c_void;
}

/// The functions of the engine that the heap calls.
struct Known;

impl Tasks for Known {
    #[inline]
    fn is_task() -> bool {
        active()
    }

    #[inline]
    fn reused(class: usize) -> Option<usize> {
        execution::reused(class)
    }

    #[inline]
    fn allocated(allocation: Allocation) {
        execution::allocated(allocation);
    }

    #[inline]
    fn frees(free: Free, has_objects: bool, class: usize) -> bool {
        execution::frees(free, has_objects, class)
    }

    #[inline]
    fn frees_objects(start: usize, size: usize) {
        execution::frees_objects(start, size);
    }

    #[inline]
    fn reallocated(old: Block, new: Block) {
        execution::reallocated(old, new);
    }
}

fn set_no_memory() {
    sys::libc_failure(sys::ENOMEM);
}

/// C's `malloc`.
#[unsafe(no_mangle)]
unsafe extern "C" fn malloc(size: usize) -> *mut c_void {
    if heap::is_arena() {
        let block = fast_path::allocate::<Known>(size);
        if !block.is_null() {
            return block;
        }
    }
    allocate_any(size)
}

/// `malloc` in all cases that the fast path does not cover. This function is not inlined, so that
/// the fast path in `malloc` needs no stack frame.
#[inline(never)]
fn allocate_any(size: usize) -> *mut c_void {
    if !heap::serves() {
        // SAFETY: the function of glibc.
        return unsafe { __libc_malloc(size) };
    }
    let block = heap::allocate::<Known>(size);
    if block.is_null() {
        set_no_memory();
    }
    block
}

/// C's `free`.
#[unsafe(no_mangle)]
unsafe extern "C" fn free(block: *mut c_void) {
    if heap::is_arena() && fast_path::release::<Known>(block as usize) {
        return;
    }
    // SAFETY: the caller passes null or a live block.
    unsafe { release_any(block) }
}

/// `free` in all cases that the fast path does not cover. This function is not inlined, so that
/// the fast path in `free` needs no stack frame.
#[inline(never)]
unsafe fn release_any(block: *mut c_void) {
    if block.is_null() {
        return;
    }
    // SAFETY: the block is returned to the allocator that it came from.
    unsafe {
        if heap::contains(block as usize) && heap::is_arena() {
            heap::release::<Known>(block as usize);
        } else if !heap::serves() {
            __libc_free(block);
        } else if active() {
            heap::refuse::<Known>(Free::Unknown(block as usize));
        }
        // Otherwise the dynamic linker allocated the memory before any allocator existed. Such
        // memory cannot be freed.
    }
}

/// Allocates a block of the arena. Must be called only if the process uses the arena.
fn take(size: usize) -> *mut c_void {
    let block = fast_path::allocate::<Known>(size);
    if block.is_null() {
        return heap::allocate::<Known>(size);
    }
    block
}

/// C's `calloc`.
#[unsafe(no_mangle)]
unsafe extern "C" fn calloc(count: usize, size: usize) -> *mut c_void {
    if !heap::serves() {
        // SAFETY: the function of glibc.
        return unsafe { __libc_calloc(count, size) };
    }
    let block = count.checked_mul(size).map_or(core::ptr::null_mut(), take);
    if block.is_null() {
        set_no_memory();
    } else {
        // Earlier executions may have left data in the block.
        // SAFETY: the block has at least that many bytes.
        unsafe { heap::zero(block as usize, count * size) };
    }
    block
}

/// C's `realloc`.
#[unsafe(no_mangle)]
unsafe extern "C" fn realloc(block: *mut c_void, size: usize) -> *mut c_void {
    if !heap::serves() {
        // SAFETY: the function of glibc.
        return unsafe { __libc_realloc(block, size) };
    }
    if block.is_null() {
        // SAFETY: as `malloc`.
        return unsafe { malloc(size) };
    }
    // SAFETY: the caller passes a live block; copies stay within both blocks.
    unsafe {
        let old = heap::usable(block as usize);
        if old == 0 || !heap::is_live(block as usize) {
            heap::refuse::<Known>(Free::Unknown(block as usize));
        }
        if size <= old && size >= old / 2 {
            heap::renumber::<Known>(block as usize, size);
            return block;
        }
        let new = take(size);
        if new.is_null() {
            set_no_memory();
            return new;
        }
        core::ptr::copy_nonoverlapping(block.cast::<u8>(), new.cast::<u8>(), old.min(size));
        if !fast_path::release::<Known>(block as usize) {
            heap::release::<Known>(block as usize);
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
    if !heap::serves() {
        // SAFETY: the function of glibc.
        return unsafe { __libc_memalign(align, size) };
    }
    let block = heap::allocate_aligned::<Known>(align, size);
    if block.is_null() {
        set_no_memory();
    }
    block
}

/// glibc's `malloc_usable_size`. The program may use all of the returned number of bytes
/// afterwards.
#[unsafe(no_mangle)]
unsafe extern "C" fn malloc_usable_size(block: *mut c_void) -> usize {
    // SAFETY: the caller passes null or a live block.
    unsafe {
        if block.is_null() {
            0
        } else if heap::contains(block as usize) && heap::is_arena() {
            heap::claim(block as usize)
        } else {
            real::malloc_usable_size(block)
        }
    }
}
