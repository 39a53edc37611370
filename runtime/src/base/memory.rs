//! The engine's own memory: a region apart from the program's heap, shared with the zygote.
//!
//! The program's image is restored before each execution, so the engine must not keep
//! state in it. And a program with a global allocator of its own must not find the
//! engine's data there. The region is shared memory: when the exploring process dies,
//! the zygote reads the state of the exploration from it.

use core::alloc::{AllocError, Allocator, Layout};
use core::marker::PhantomData;
use core::ptr::NonNull;

use super::sys;

/// The address of the region in every process, so that pointers into it hold across
/// forks.
pub(crate) const BASE: usize = 0x5a00_0000_0000;
/// The largest size is tried first: machines that account for address space grant less.
const SIZES: [usize; 3] = [16 << 30, 2 << 30, 256 << 20];
const CLASSES: usize = 48;
/// The offset of the first free byte. The bytes before it belong to [`Header`] and to
/// the engine's parts.
const FIRST_FREE: usize = 1 << 20;

#[repr(C)]
struct Header {
    next: usize,
    end: usize,
    free: [usize; CLASSES],
}

/// Maps the region; call once, in the zygote, before it forks.
///
/// # Errors
/// A sentence for the user if the kernel refuses the mapping.
pub(crate) fn map() -> Result<(), &'static str> {
    let Some(size) = SIZES
        .into_iter()
        .find(|&size| sys::map_fixed(BASE, size, true))
    else {
        return Err(
            "the kernel refused address space for the explorer: it needs 256 MiB beside the test; is \
             RLIMIT_AS set (`ulimit -v`)?",
        );
    };
    // SAFETY: the region was just mapped, zeroed, and only this thread exists.
    unsafe {
        (*header()).next = BASE + FIRST_FREE;
        (*header()).end = BASE + size;
    }
    Ok(())
}

/// Whether the address lies in the region.
#[inline]
pub(crate) fn contains(address: usize) -> bool {
    address.wrapping_sub(BASE) < SIZES[0]
}

/// Replaces the region by a private copy in this process. Returns whether the kernel
/// agreed. All other processes with the region must wait in the meantime.
pub(crate) fn make_private() -> bool {
    // SAFETY: the region is mapped, and no process writes there now.
    unsafe {
        let (next, end) = ((*header()).next, (*header()).end);
        sys::make_private(BASE, end - BASE, next - BASE)
    }
}

/// The address of the engine's parts, after the allocator's header.
const PARTS: usize = BASE + 4096;
/// The number of bytes for all parts.
const PARTS_SIZE: usize = FIRST_FREE - 4096;

/// The place of one part of the engine in this memory.
///
/// Each part has a fixed address, so that its own module finds it without a structure that knows
/// all parts. The address holds in every process: the zygote reads the parts there after the
/// explorer's death. The parts lie in the order of `repr(C)`.
pub(crate) struct Place<T> {
    offset: usize,
    part: PhantomData<fn() -> T>,
}

impl<T> Place<T> {
    /// The place of the first part.
    pub(crate) const FIRST: Self = Self::at(0);

    /// The place after that of another part.
    pub(crate) const fn after<U>(before: &Place<U>) -> Self {
        Self::at((before.offset + size_of::<U>()).next_multiple_of(align_of::<T>()))
    }

    const fn at(offset: usize) -> Self {
        assert!(
            offset + size_of::<T>() <= PARTS_SIZE,
            "the parts of the engine need more room before `FIRST_FREE`"
        );
        assert!(
            align_of::<T>() <= 4096,
            "the first part is aligned to a page"
        );
        Self {
            offset,
            part: PhantomData,
        }
    }

    /// The distance of this part from the first one.
    pub(crate) const fn offset(&self) -> usize {
        self.offset
    }

    /// The address of the part. It is valid once the engine was created in this process or in one
    /// that it was forked from.
    #[inline]
    pub(crate) fn get(&self) -> *mut T {
        (PARTS + self.offset) as *mut T
    }
}

fn header() -> *mut Header {
    BASE as *mut Header
}

/// An allocator over the region, for the engine's own collections.
///
/// Only one thread at a time runs engine code, so it takes no lock.
#[derive(Clone, Copy, Default, Debug)]
pub(crate) struct EngineMemory;

/// A vector in the engine's memory.
pub(crate) type EngineVec<T> = Vec<T, EngineMemory>;

/// An empty [`EngineVec`].
pub(crate) const fn engine_vec<T>() -> EngineVec<T> {
    Vec::new_in(EngineMemory)
}

fn class_of(layout: Layout) -> usize {
    let size = layout.size().max(layout.align()).max(16);
    size.next_power_of_two().trailing_zeros() as usize
}

// SAFETY: blocks are disjoint, sized and aligned to their power-of-two class (up
// to a page, which is the largest alignment asked for), and stay valid until
// deallocated; copies of the allocator are the same allocator.
unsafe impl Allocator for EngineMemory {
    fn allocate(&self, layout: Layout) -> Result<NonNull<[u8]>, AllocError> {
        // Unit tests run on many threads, and without a zygote.
        #[cfg(test)]
        return std::alloc::Global.allocate(layout);
        #[cfg(not(test))]
        take(layout)
    }

    unsafe fn deallocate(&self, block: NonNull<u8>, layout: Layout) {
        // SAFETY: the caller returns a block of this layout.
        unsafe {
            #[cfg(test)]
            return std::alloc::Global.deallocate(block, layout);
            #[cfg(not(test))]
            give_back(block, layout);
        }
    }
}

#[cfg_attr(test, expect(dead_code, reason = "unit tests use the ordinary heap"))]
#[inline]
fn take(layout: Layout) -> Result<NonNull<[u8]>, AllocError> {
    let class = class_of(layout);
    let size = 1usize << class;
    // SAFETY: the region is mapped, and engine code runs on one thread at a time.
    let header = unsafe { &mut *header() };
    let block = header.free[class];
    let block = if block == 0 {
        let block = header.next.next_multiple_of(size.min(sys::PAGE));
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

#[cfg_attr(test, expect(dead_code, reason = "unit tests use the ordinary heap"))]
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
