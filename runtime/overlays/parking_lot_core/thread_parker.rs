//! Replaces the thread parker of `parking_lot_core`: a parked thread is a blocked task.

use std::time::Instant;

use ::std::__chess::parking::{Parker, Unpark};

pub struct ThreadParker(Parker);

pub struct UnparkHandle(Unpark);

impl super::ThreadParkerT for ThreadParker {
    type UnparkHandle = UnparkHandle;

    const IS_CHEAP_TO_CONSTRUCT: bool = true;

    fn new() -> ThreadParker {
        ThreadParker(Parker::new())
    }

    unsafe fn prepare_park(&self) {
        self.0.prepare();
    }

    unsafe fn timed_out(&self) -> bool {
        self.0.is_parked()
    }

    #[track_caller]
    unsafe fn park(&self) {
        self.0.park();
    }

    #[track_caller]
    unsafe fn park_until(&self, timeout: Instant) -> bool {
        self.0.park_until(timeout)
    }

    unsafe fn unpark_lock(&self) -> UnparkHandle {
        UnparkHandle(self.0.unpark())
    }
}

impl super::UnparkHandleT for UnparkHandle {
    #[track_caller]
    unsafe fn unpark(self) {
        self.0.wake();
    }
}

pub fn thread_yield() {
    std::thread::yield_now();
}
