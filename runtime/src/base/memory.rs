//! The engine's own memory: a region apart from the program's heap, shared with the zygote (the
//! process that forks the explorer).
//!
//! The program's image is restored before each execution, so the engine must not keep state in it.
//! And a program may have a global allocator of its own, which must not contain the engine's data.
//! The region is shared memory: when the exploring process dies, the zygote reads the state of the
//! exploration from it.

use core::marker::PhantomData;

use chess_search::base::memory::{BASE, HEADER_SIZE, begin, extent};
pub(crate) use chess_search::base::memory::{EngineMemory, EngineVec, engine_vec};

use super::sys;

/// The sizes of the region in bytes. The largest is tried first. A machine that limits address
/// space (by strict overcommit or `ulimit -v`) may refuse it.
const SIZES: [usize; 3] = [16 << 30, 2 << 30, 256 << 20];
/// The offset of the first free byte. The bytes before it belong to the allocator's header and to
/// the engine's parts.
const FIRST_FREE: usize = 1 << 20;

/// Maps the region. Must be called once, in the zygote, before the zygote forks.
///
/// # Errors
/// A sentence for the user if the kernel refuses the mapping.
pub(crate) fn map() -> Result<(), &'static str> {
    let Some(size) = SIZES
        .into_iter()
        .find(|&size| sys::map_fixed(BASE, size, true))
    else {
        return Err(
            "the kernel refused address space for the explorer, which needs 256 MiB in addition to the \
             test: the limit of address space (`ulimit -v`) may be too low",
        );
    };
    // SAFETY: the region was just mapped, zeroed, and only this thread exists.
    unsafe { begin(BASE + FIRST_FREE, BASE + size) };
    Ok(())
}

/// Whether the address lies in the region, or after it in the range of the largest region.
#[inline]
pub(crate) fn contains(address: usize) -> bool {
    address.wrapping_sub(BASE) < SIZES[0]
}

/// Replaces the region by a private copy in this process. Returns whether the kernel
/// agreed. All other processes with the region must wait in the meantime.
pub(crate) fn make_private() -> bool {
    // SAFETY: the region is mapped, and no process writes there now.
    unsafe {
        let (next, end) = extent();
        sys::make_private(BASE, end - BASE, next - BASE)
    }
}

/// The address of the engine's parts, after the allocator's header.
const PARTS: usize = BASE + HEADER_SIZE;
/// The number of bytes for all parts.
const PARTS_SIZE: usize = FIRST_FREE - HEADER_SIZE;

/// The place of one part of the engine in the engine's memory.
///
/// Each part has a fixed address, so that its own module finds it without a structure that contains
/// all parts. The address holds in every process: the zygote reads the parts there after the
/// explorer's death. The parts lie one after another, as the fields of a `repr(C)` structure do.
pub(crate) struct Place<T> {
    offset: usize,
    part: PhantomData<fn() -> T>,
}

impl<T> Place<T> {
    /// The place of the first part.
    pub(crate) const FIRST: Self = Self::at(0);

    /// The place after the place of another part.
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

    /// The address of the part. It is valid once the engine was created in this process, or in a
    /// process from which this one was forked.
    #[inline]
    pub(crate) fn get(&self) -> *mut T {
        (PARTS + self.offset) as *mut T
    }
}
