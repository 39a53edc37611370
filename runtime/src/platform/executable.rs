//! The place of the executable in memory.
//!
//! The symbols that the linker defines would be those of a dynamic library, if the runtime is in
//! one, because the program links a crate dynamically.

use core::ffi::{c_int, c_void};
use core::sync::atomic::{AtomicUsize, Ordering};

use crate::base::sys;

/// The address of the executable in memory.
pub(crate) fn start() -> usize {
    static START: AtomicUsize = AtomicUsize::new(0);
    match START.load(Ordering::Relaxed) {
        0 => {
            let start = bounds().0;
            START.store(start, Ordering::Relaxed);
            start
        }
        start => start,
    }
}

/// The lowest address of the executable, and the address after it.
pub(crate) fn bounds() -> (usize, usize) {
    /// Stores the bounds of the first object.
    unsafe extern "C" fn visit(
        object: *mut sys::LoadedObject,
        _size: usize,
        data: *mut c_void,
    ) -> c_int {
        // SAFETY: `dl_iterate_phdr` passes a valid object; `data` is our pair.
        unsafe {
            let (low, high) = &mut *data.cast::<(usize, usize)>();
            let object = &*object;
            let headers = core::slice::from_raw_parts(object.headers, object.header_count.into());
            for header in headers.iter().filter(|h| h.kind == sys::PT_LOAD) {
                let start = (object.base + header.virtual_address) as usize;
                *low = (*low).min(start & !(sys::PAGE - 1));
                *high = (*high).max(start + header.memory_size as usize);
            }
        }
        1 // the executable comes first: stop here
    }
    let mut bounds = (usize::MAX, 0);
    // SAFETY: the visitor writes to `bounds` while the call lasts.
    unsafe { sys::dl_iterate_phdr(visit, (&raw mut bounds).cast()) };
    bounds
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_executable_contains_its_functions_and_places() {
        let (low, high) = bounds();
        let place = core::ptr::from_ref(core::panic::Location::caller());
        for address in [bounds as *const () as usize, place.addr()] {
            assert!((low..high).contains(&address));
        }
        assert!(!(low..high).contains(&(&raw const low).addr()));
    }
}
