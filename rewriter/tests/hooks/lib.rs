//! A replacement for `__chess`, the module of the facades that has the hooks.
//!
//! Compiled with `cfg(log)`, it prints each reported borrow to standard error: the line, the hook,
//! and the size of the place.

use std::panic::Location;

#[track_caller]
fn report(hook: &str, size: Option<usize>) {
    if cfg!(log) {
        let line = Location::caller().line();
        match size {
            Some(size) => eprintln!("{line} {hook} {size}"),
            None => eprintln!("{line} {hook}"),
        }
    }
}

/// Returns the size of a place, if borrows are logged.
fn size<T: ?Sized>(place: *const T) -> Option<usize> {
    // SAFETY: The caller is about to borrow the place, and only its size is read here.
    cfg!(log).then(|| size_of_val(unsafe { &*place }))
}

#[inline]
#[track_caller]
pub fn borrow<T: ?Sized>(place: *const T) -> *const T {
    report("borrow", size(place));
    place
}

#[inline]
#[track_caller]
pub fn borrow_mut<T: ?Sized>(place: *const T) -> *mut T {
    report("borrow_mut", size(place));
    place.cast_mut()
}

macro_rules! methods {
    ($($hook:ident,)*) => {
        $(
            #[inline]
            #[track_caller]
            pub fn $hook<R>(receiver: *const R) {
                report(stringify!($hook), None);
                let _ = receiver;
            }
        )*
    };
}

methods! {
    borrow_through,
    borrow_mut_through,
    drop_through,
}

pub fn reserve<N>(additional: N) -> N {
    additional
}
