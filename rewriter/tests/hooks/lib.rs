//! Replacement for `__chess` without the facades.
//!
//! Compiled with `cfg(log)`, it prints each reported access to standard error: the line, the hook,
//! and the size of the place.

use std::panic::Location;

#[track_caller]
fn tell(hook: &str, size: Option<usize>) {
    if cfg!(log) {
        let line = Location::caller().line();
        match size {
            Some(size) => eprintln!("{line} {hook} {size}"),
            None => eprintln!("{line} {hook}"),
        }
    }
}

/// Returns the size of a place, if accesses are logged.
fn size<T: ?Sized>(place: *const T) -> Option<usize> {
    // SAFETY: The caller is about to access the place, and only its size is read here.
    cfg!(log).then(|| size_of_val(unsafe { &*place }))
}

macro_rules! places {
    ($($hook:ident -> $pointer:ty,)*) => {
        $(
            #[inline]
            #[track_caller]
            pub fn $hook<T: ?Sized>(place: *const T) -> $pointer {
                tell(stringify!($hook), size(place));
                place as $pointer
            }
        )*
    };
}

places! {
    read -> *const T,
    inspect -> *const T,
    borrow -> *const T,
    write -> *mut T,
    update -> *mut T,
    borrow_mut -> *mut T,
}

#[track_caller]
pub fn receive<T: ?Sized>(place: *const T) {
    tell("receive", size(place));
}

macro_rules! methods {
    ($($hook:ident,)*) => {
        $(
            #[inline]
            #[track_caller]
            pub fn $hook<R>(receiver: *const R) {
                tell(stringify!($hook), None);
                let _ = receiver;
            }
        )*
    };
}

methods! {
    read_through,
    write_through,
    update_through,
    borrow_through,
    borrow_mut_through,
    drop_through,
}

#[track_caller]
pub fn write_bytes_through<R>(_: *const R, count: usize) {
    tell("write_bytes_through", Some(count));
}

#[track_caller]
pub fn swap_through<R, A>(_: *const R, _: *const A) {
    tell("swap_through", None);
}

#[track_caller]
pub fn copy_from_through<R, A>(_: *const R, _: *const A, count: usize) {
    tell("copy_from_through", Some(count));
}

#[track_caller]
pub fn copy_to_through<R, A>(_: *const R, _: *const A, count: usize) {
    tell("copy_to_through", Some(count));
}
