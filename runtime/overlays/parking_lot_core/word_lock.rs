//! Replaces the lock that `parking_lot_core` has for each queue by a lock of the engine.

pub struct WordLock(::std::__chess::parking::Lock);

impl WordLock {
    pub const fn new() -> Self {
        WordLock(::std::__chess::parking::Lock::new())
    }

    #[inline]
    #[track_caller]
    pub fn lock(&self) {
        self.0.lock();
    }

    #[inline]
    pub unsafe fn unlock(&self) {
        self.0.unlock();
    }
}
