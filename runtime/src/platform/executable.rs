//! The place of the executable in memory.
//!
//! The linker defines symbols for the bounds of the file that contains the runtime. They are of no
//! use here: if the program links a crate dynamically, the runtime may be in a dynamic library.

use core::ops::ControlFlow;
use core::sync::atomic::{AtomicUsize, Ordering};

use crate::base::{loaded_objects, sys};

/// The result of [`find`].
static BOUNDS: [AtomicUsize; 2] = [AtomicUsize::new(0), AtomicUsize::new(0)];

/// Finds the bounds of the executable, and stores them for [`bounds`]. Call it once, before the
/// first fork. An execution must not call it, because a write to a static changes the program's
/// state.
pub(crate) fn find() {
    let (low, high) = search();
    BOUNDS[0].store(low, Ordering::Relaxed);
    BOUNDS[1].store(high, Ordering::Relaxed);
}

/// The lowest address of the executable, and the address after its last byte.
pub(crate) fn bounds() -> (usize, usize) {
    let [low, high] = &BOUNDS;
    match (low.load(Ordering::Relaxed), high.load(Ordering::Relaxed)) {
        (0, 0) => search(),
        bounds => bounds,
    }
}

fn search() -> (usize, usize) {
    let mut bounds = (usize::MAX, 0);
    loaded_objects::visit(|object, headers| {
        for header in headers.iter().filter(|h| h.kind == sys::PT_LOAD) {
            let start = (object.base + header.virtual_address) as usize;
            bounds.0 = bounds.0.min(start & !(sys::PAGE - 1));
            bounds.1 = bounds.1.max(start + header.memory_size as usize);
        }
        // The first visited object is the executable.
        ControlFlow::Break(())
    });
    bounds
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_executable_contains_its_functions_and_places() {
        let (low, high) = bounds();
        find();
        assert_eq!(bounds(), (low, high));
        let place = core::ptr::from_ref(core::panic::Location::caller());
        for address in [bounds as *const () as usize, place.addr()] {
            assert!((low..high).contains(&address));
        }
        assert!(!(low..high).contains(&(&raw const low).addr()));
    }
}
