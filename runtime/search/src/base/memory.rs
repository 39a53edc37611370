//! The allocator of the engine's own memory: a region apart from the program's heap.
//!
//! The program's memory is restored before each execution, so the engine must not keep state in
//! that memory. The engine also cannot use the program's global allocator, because the program may
//! define one itself. The runtime maps the region, and passes it to [`begin`].

use core::alloc::{AllocError, Allocator, Layout};
use core::ptr::NonNull;

/// The address of the region. It is the same in every process, so that a pointer into the region
/// is valid in all processes.
pub const BASE: usize = 0x5a00_0000_0000;
const PAGE: usize = 4096;
const CLASSES: usize = 48;

/// The state of the allocator, at the beginning of the region.
#[repr(C)]
struct Header {
    next: usize,
    end: usize,
    free: [usize; CLASSES],
}

/// The number of bytes at the beginning of the region that belong to the allocator.
pub const HEADER_SIZE: usize = PAGE;
const _: () = assert!(size_of::<Header>() <= HEADER_SIZE);

#[inline]
fn header() -> *mut Header {
    BASE as *mut Header
}

/// Starts the allocator, with the free bytes from the address `next` to the address `end`.
///
/// # Safety
/// The region was just mapped at [`BASE`], zeroed, and only this thread exists.
pub unsafe fn begin(next: usize, end: usize) {
    // SAFETY: the caller's promise.
    unsafe {
        (*header()).next = next;
        (*header()).end = end;
    }
}

/// The address after the last byte that was ever allocated, and the end of the region.
///
/// # Safety
/// The allocator was [started](begin), and no other thread allocates.
pub unsafe fn extent() -> (usize, usize) {
    // SAFETY: the caller's promise.
    unsafe { ((*header()).next, (*header()).end) }
}

/// An allocator over the region, for the engine's own collections.
///
/// Only one thread at a time runs engine code, so it needs no lock.
#[derive(Clone, Copy, Default, Debug)]
pub struct EngineMemory;

/// A vector in the engine's memory.
pub type EngineVec<T> = Vec<T, EngineMemory>;

/// An empty [`EngineVec`].
#[inline]
pub const fn engine_vec<T>() -> EngineVec<T> {
    Vec::new_in(EngineMemory)
}

#[inline]
fn class_of(layout: Layout) -> usize {
    let size = layout.size().max(layout.align()).max(16);
    size.next_power_of_two().trailing_zeros() as usize
}

// SAFETY: blocks are disjoint. Their size is a power of two. They are aligned to this size, but at
// most to a page, which is the largest requested alignment. They stay valid until they are
// deallocated. All copies of the allocator are the same allocator.
unsafe impl Allocator for EngineMemory {
    #[inline]
    fn allocate(&self, layout: Layout) -> Result<NonNull<[u8]>, AllocError> {
        // Unit tests run on many threads, and have no region.
        #[cfg(any(test, feature = "testing"))]
        return std::alloc::Global.allocate(layout);
        #[cfg(not(any(test, feature = "testing")))]
        take(layout)
    }

    #[inline]
    unsafe fn deallocate(&self, block: NonNull<u8>, layout: Layout) {
        // SAFETY: the caller returns a block of this layout.
        unsafe {
            #[cfg(any(test, feature = "testing"))]
            return std::alloc::Global.deallocate(block, layout);
            #[cfg(not(any(test, feature = "testing")))]
            give_back(block, layout);
        }
    }
}

#[cfg_attr(
    any(test, feature = "testing"),
    expect(dead_code, reason = "unit tests use the ordinary heap")
)]
#[inline]
fn take(layout: Layout) -> Result<NonNull<[u8]>, AllocError> {
    let class = class_of(layout);
    let size = 1usize << class;
    // SAFETY: the region is mapped, and engine code runs on one thread at a time.
    let header = unsafe { &mut *header() };
    let block = header.free[class];
    let block = if block == 0 {
        let block = header.next.next_multiple_of(size.min(PAGE));
        if block + size > header.end {
            return Err(AllocError);
        }
        header.next = block + size;
        block
    } else {
        // SAFETY: a free block's first word links to the next one.
        header.free[class] = unsafe { *(block as *const usize) };
        block
    };
    let block = NonNull::new(block as *mut u8).ok_or(AllocError)?;
    Ok(NonNull::slice_from_raw_parts(block, size))
}

#[cfg_attr(
    any(test, feature = "testing"),
    expect(dead_code, reason = "unit tests use the ordinary heap")
)]
#[inline]
unsafe fn give_back(block: NonNull<u8>, layout: Layout) {
    let class = class_of(layout);
    let block = block.as_ptr() as usize as *mut usize;
    // SAFETY: the caller returns a block of this class; engine code runs on one thread
    // at a time.
    unsafe {
        let header = &mut *header();
        *block = header.free[class];
        header.free[class] = block as usize;
    }
}
