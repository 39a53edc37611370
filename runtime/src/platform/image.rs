//! The program's image: statics and heap, which `harness/explore/mod.rs` restores before each
//! execution.
//!
//! The writable segments of the executable and of its libraries, and the initial heap, are copied
//! once and write-protected. They must be restored together, because they point to each other:
//! libc, for instance, has its environment and its exit handlers on the heap. A pointer between
//! memory that is restored and memory that is not would dangle. The dynamic linker is left out,
//! because its allocations are elsewhere. The first write to a page faults: the handler unprotects
//! the page, and marks it dirty permanently. Before each execution the dirty pages are copied
//! back. In the steady state this takes a few page copies and no system call. The image does not
//! contain stacks and thread-local blocks, which belong to the donors (`stack_pool.rs`).

use core::ops::ControlFlow;

use super::abort::abort_with;
use super::heap;
use crate::base::memory::{EngineVec, Place, engine_vec};
use crate::base::{fingerprint, loaded_objects, sys};

/// The maximum number of bytes of statics and heap that are hashed for a state.
const MOST: usize = 1 << 20;

/// A range of pages that belongs to the image.
struct Region {
    low: usize,
    high: usize,
    copy: *mut u8,
}

/// A page that executions write to, and its copy.
#[derive(Clone, Copy)]
struct DirtyPage {
    page: usize,
    copy: usize,
}

/// The saved image.
pub(crate) struct Image {
    regions: EngineVec<Region>,
    dirty: EngineVec<DirtyPage>,
    taken: bool,
}

/// The place of the image, the first part of the engine.
pub(crate) const PLACE: Place<Image> = Place::FIRST;

/// The saved statics and heap of the program. The pointer may be used as a unique reference while
/// no task and no fault handler uses it.
#[inline]
pub(crate) fn image() -> *mut Image {
    PLACE.get()
}

impl Image {
    pub(crate) const fn new() -> Self {
        Self {
            regions: engine_vec(),
            dirty: engine_vec(),
            taken: false,
        }
    }

    /// Saves the image. Call it only between executions, while no other thread runs.
    pub(crate) fn take(&mut self) {
        for (low, high) in writable_segments() {
            self.add(low, high);
        }
        let (low, high) = heap::freeze();
        self.add(low, high);
        // After the protection, nothing may be allocated in the image. So the protection comes
        // last.
        self.dirty.reserve(4096);
        self.taken = true;
        for region in &self.regions {
            // SAFETY: writes to these pages fault into `on_fault`, which permits them.
            unsafe { sys::protect(region.low, region.high - region.low, false) };
        }
    }

    /// Ends the protection of the image, and forgets the image. Then donors (the threads that lend
    /// their stacks to tasks) can be created, and the image can be taken again.
    pub(crate) fn discard(&mut self) {
        self.taken = false;
        for region in self.regions.drain(..) {
            // SAFETY: restores the access that `take` removed.
            unsafe { sys::protect(region.low, region.high - region.low, true) };
        }
        self.dirty.clear();
    }

    /// Permits all writes to the image. Does not write to the engine's memory, because the caller
    /// is the child of a fork, which shares that memory with its parent.
    pub(crate) fn open(&self) {
        for region in &self.regions {
            // SAFETY: restores the access that `take` removed.
            unsafe { sys::protect(region.low, region.high - region.low, true) };
        }
    }

    /// Whether the image is taken: writes to it are observed, and executions start from it.
    pub(crate) fn is_taken(&self) -> bool {
        self.taken
    }

    /// Restores the image. If `cleans`, also clears the part of the heap after the image that
    /// [`Self::fingerprint`] reads.
    #[inline]
    pub(crate) fn restore(&self, cleans: bool) {
        if !self.taken {
            return;
        }
        for dirty in &self.dirty {
            // SAFETY: both pages stay mapped; the page is writable since it is dirty,
            // and no task runs.
            unsafe {
                core::ptr::copy_nonoverlapping(
                    dirty.copy as *const u8,
                    dirty.page as *mut u8,
                    sys::PAGE,
                );
            }
        }
        heap::reset();
        if cleans {
            heap::clean(MOST);
        }
    }

    /// Calls `part` with the bounds of each part of the image in which an execution may have
    /// stored pointers: the dirty pages if the image is taken, otherwise all writable segments,
    /// which do not include the heap.
    pub(crate) fn written(&self, mut part: impl FnMut(usize, usize)) {
        if self.taken {
            for dirty in &self.dirty {
                part(dirty.page, dirty.page + sys::PAGE);
            }
            return;
        }
        for (low, high) in writable_segments() {
            part(low, high);
        }
    }

    /// A hash of the changes to the program's statics and heap since the image was taken; `None`
    /// if more than [`MOST`] bytes have changed.
    pub(crate) fn fingerprint(&self) -> Option<u64> {
        let (low, high) = heap::grown();
        let mut left = MOST.checked_sub(high - low)?;
        // SAFETY: pages stay mapped, and only the calling task runs.
        let bytes =
            |page: usize| unsafe { core::slice::from_raw_parts(page as *const u8, sys::PAGE) };
        let mut all: u64 = 0;
        for dirty in &self.dirty {
            let page = bytes(dirty.page);
            // The hash must not depend on which pages earlier executions wrote to, nor on the
            // order of the pages.
            if page != bytes(dirty.copy) {
                left = left.checked_sub(sys::PAGE)?;
                all = all.wrapping_add(fingerprint::of(dirty.page as u64, page));
            }
        }
        // SAFETY: as above.
        let new = unsafe { core::slice::from_raw_parts(low as *const u8, high - low) };
        Some(fingerprint::of(all, new))
    }

    /// Unprotects the pages of the image that contain any of the `length` bytes at `address`,
    /// because the kernel is about to write to them in a system call. If the kernel writes to a
    /// protected page, no fault reaches the handler, and the system call fails.
    #[inline]
    pub(crate) fn admit(&self, address: usize, length: usize) {
        let end = address.saturating_add(length);
        let meets = |r: &&Region| r.low < end && address < r.high;
        if let Some(region) = self.regions.iter().find(meets) {
            let (low, high) = (address.max(region.low), end.min(region.high));
            for page in (low & !(sys::PAGE - 1)..high).step_by(sys::PAGE) {
                let byte = page.max(low) as *mut u8;
                // SAFETY: a byte of the program that the caller is about to have changed; the write
                // goes through the fault handler if necessary.
                unsafe { byte.write_volatile(byte.read_volatile()) };
            }
        }
    }

    /// Handles a fault of a write to `address`. If the address is in the image, unprotects its
    /// page and returns `true`: then the write may be repeated.
    pub(crate) fn allows_write(&mut self, address: usize) -> bool {
        self.taken && self.mark(address)
    }

    /// Unprotects the page at `address`, and marks it dirty. Returns `false` if the page does not
    /// belong to the image.
    fn mark(&mut self, address: usize) -> bool {
        let page = address & !(sys::PAGE - 1);
        let Some(region) = self
            .regions
            .iter()
            .find(|r| (r.low..r.high).contains(&page))
        else {
            return false;
        };
        let copy = region.copy as usize + (page - region.low);
        // SAFETY: the page gets the access that it had before `take`.
        unsafe { sys::protect(page, sys::PAGE, true) };
        if !self.dirty.iter().any(|d| d.page == page) {
            self.dirty.push(DirtyPage { page, copy });
        }
        true
    }

    fn add(&mut self, low: usize, high: usize) {
        if low == high {
            return;
        }
        let copy = sys::map_anywhere(high - low);
        if copy.is_null() {
            abort_with(format!(
                "the system refused memory for a copy of the program's writable memory ({} MiB): the \
                 memory may be limited (`ulimit -v`)",
                (high - low) >> 20
            ));
        }
        // SAFETY: the range is readable, and the copy is new and has the same length.
        unsafe { core::ptr::copy_nonoverlapping(low as *const u8, copy, high - low) };
        self.regions.push(Region { low, high, copy });
    }
}

/// The writable pages of the executable and its libraries. The dynamic linker is left out, and so
/// are the pages that it made read-only after relocation.
fn writable_segments() -> EngineVec<(usize, usize)> {
    let mut segments: EngineVec<(usize, usize)> = engine_vec();
    loaded_objects::visit(|object, headers| {
        if object.is_linker() {
            return ControlFlow::Continue(());
        }
        let range = |header: &sys::ProgramHeader| {
            let low = (object.base + header.virtual_address) as usize;
            (low, low + header.memory_size as usize)
        };
        let read_only = headers
            .iter()
            .find(|h| h.kind == sys::PT_GNU_RELRO)
            .map(range);
        for header in headers
            .iter()
            .filter(|h| h.kind == sys::PT_LOAD && h.flags & sys::PF_W != 0)
        {
            let (low, high) = range(header);
            let mut low = low & !(sys::PAGE - 1);
            if let Some((first, last)) = read_only
                && (low..high).contains(&first)
            {
                low = low.max(last & !(sys::PAGE - 1));
            }
            segments.push((low, high.next_multiple_of(sys::PAGE)));
        }
        ControlFlow::Continue(())
    });
    segments.retain(|(low, high)| low < high);
    segments
}

#[cfg(test)]
mod tests {
    use std::panic::{AssertUnwindSafe, catch_unwind};

    use super::*;
    use crate::platform::abort;

    #[test]
    fn memory_that_the_system_does_not_map_is_reported() {
        let mut image = Image::new();
        // No machine has that much memory; nothing is read before there is room for the copy.
        let refused = catch_unwind(AssertUnwindSafe(|| image.add(sys::PAGE, 1 << 60)));
        let why = abort::message_of(&*refused.expect_err("there is no room"));
        assert!(why.starts_with("the system refused memory for a copy"));
        assert!(
            why.ends_with("MiB): the memory may be limited (`ulimit -v`)"),
            "{why}"
        );
    }
}
