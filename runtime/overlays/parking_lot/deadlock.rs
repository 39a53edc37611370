//! Replaces the module in which `parking_lot` reports its locks to its deadlock detection: also
//! announces the locks to the engine.

#[cfg(feature = "deadlock_detection")]
pub use parking_lot_core::deadlock::check_deadlock;

#[inline]
#[track_caller]
pub(crate) unsafe fn acquire_resource(key: usize) {
    ::std::__chess::parking::acquired(key);
    #[cfg(feature = "deadlock_detection")]
    unsafe {
        parking_lot_core::deadlock::acquire_resource(key);
    }
}

#[inline]
pub(crate) unsafe fn release_resource(key: usize) {
    ::std::__chess::parking::released(key);
    #[cfg(feature = "deadlock_detection")]
    unsafe {
        parking_lot_core::deadlock::release_resource(key);
    }
}
