//! Mappings of memory. The end of a mapping is an access to all of its memory: it races with
//! another task's access that is not ordered with it. Memory that was just mapped or unmapped has
//! no history: the kernel may give the address to another task later, and that task's accesses do
//! not race with the earlier ones.

use core::ffi::{c_int, c_void};

use chess_vocabulary::OutsideEffect;

use super::files;
use crate::base::real;
use crate::base::sys;
use crate::execution::{active, note_outside};
use crate::monitor::race;

/// The result of a failed `mmap` or `mremap`.
const FAILED: usize = usize::MAX;

const MAP_SHARED: c_int = 1;

/// Forgets the accesses to new memory.
fn mapped(start: *mut c_void, length: usize) {
    with_pages(start, length, race::forget);
}

/// Reports the end of a mapping, or of a part of it.
fn unmapped(start: *mut c_void, length: usize) {
    with_pages(start, length, |low, high| {
        race::unmapped(low, high);
        files::shared_maps().unmapped(low, high);
    });
}

/// Calls `report` with the bounds of the pages of this memory.
fn with_pages(start: *mut c_void, length: usize, report: impl FnOnce(usize, usize)) {
    let start = start.addr();
    if active() && start != FAILED && length != 0 {
        let end = start.saturating_add(length);
        report(
            start,
            end.checked_next_multiple_of(sys::PAGE).unwrap_or(end),
        );
    }
}

/// libc's `mmap`.
#[unsafe(no_mangle)]
unsafe extern "C" fn mmap(
    address: *mut c_void,
    length: usize,
    protection: c_int,
    flags: c_int,
    descriptor: c_int,
    offset: i64,
) -> *mut c_void {
    // SAFETY: the caller's arguments are those of the real function.
    let start = unsafe { real::mmap(address, length, protection, flags, descriptor, offset) };
    mapped(start, length);
    if flags & MAP_SHARED != 0 && descriptor >= 0 {
        with_pages(start, length, |low, high| {
            if files::shared_maps().mapped(descriptor, offset, (low, high)) {
                note_outside(OutsideEffect::SecondMapping);
            }
        });
    }
    if flags & MAP_SHARED != 0 && descriptor >= 0 && active() {
        files::others_write();
    }
    start
}

/// libc's `mmap64`.
#[unsafe(no_mangle)]
unsafe extern "C" fn mmap64(
    address: *mut c_void,
    length: usize,
    protection: c_int,
    flags: c_int,
    descriptor: c_int,
    offset: i64,
) -> *mut c_void {
    // SAFETY: as in `mmap`, which is the same function on this platform.
    unsafe { mmap(address, length, protection, flags, descriptor, offset) }
}

/// libc's `munmap`.
#[unsafe(no_mangle)]
unsafe extern "C" fn munmap(address: *mut c_void, length: usize) -> c_int {
    // SAFETY: the caller's arguments are those of the real function.
    let result = unsafe { real::munmap(address, length) };
    if result == 0 {
        unmapped(address, length);
    }
    result
}

/// libc's `mremap`. The function has a fifth argument if `flags` has `MREMAP_FIXED`.
#[unsafe(no_mangle)]
unsafe extern "C" fn mremap(
    address: *mut c_void,
    length: usize,
    new_length: usize,
    flags: c_int,
    new_address: *mut c_void,
) -> *mut c_void {
    // SAFETY: the caller's arguments are those of the real function, which ignores the fifth one
    // unless the flags ask for it.
    let moved = unsafe { real::mremap(address, length, new_length, flags, new_address) };
    if moved == address {
        let old_end = address.wrapping_byte_add(length);
        mapped(old_end, new_length.saturating_sub(length));
        let new_end = address.wrapping_byte_add(new_length);
        unmapped(new_end, length.saturating_sub(new_length));
    } else if moved.addr() != FAILED {
        unmapped(address, length);
        mapped(moved, new_length);
    }
    moved
}
