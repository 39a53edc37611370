//! `std::task`: `Wake` over the shim of `Arc`. `Waker` and `Context` are those of `std`.

use std::mem::ManuallyDrop;

pub use std::task::*;

use super::sync::Arc;

/// See [`std::task::Wake`].
pub trait Wake {
    fn wake(self: Arc<Self>);

    fn wake_by_ref(self: &Arc<Self>) {
        self.clone().wake();
    }
}

impl<W: Wake + Send + Sync + 'static> From<Arc<W>> for Waker {
    fn from(waker: Arc<W>) -> Waker {
        // SAFETY: the functions below uphold the contract of `RawWakerVTable`: each `RawWaker` owns
        // one strong reference, and `W` is `Send + Sync`.
        unsafe { Waker::from_raw(raw_waker(waker)) }
    }
}

impl<W: Wake + Send + Sync + 'static> From<Arc<W>> for RawWaker {
    fn from(waker: Arc<W>) -> RawWaker {
        raw_waker(waker)
    }
}

fn raw_waker<W: Wake + Send + Sync + 'static>(waker: Arc<W>) -> RawWaker {
    RawWaker::new(Arc::into_raw(waker).cast(), vtable::<W>())
}

/// The functions of a waker for `W`. Never inlined, so that there is one address for each `W`:
/// `Waker::will_wake` compares the addresses.
#[inline(never)]
fn vtable<W: Wake + Send + Sync + 'static>() -> &'static RawWakerVTable {
    const {
        &RawWakerVTable::new(
            clone_waker::<W>,
            wake::<W>,
            wake_by_ref::<W>,
            drop_waker::<W>,
        )
    }
}

unsafe fn clone_waker<W: Wake + Send + Sync + 'static>(waker: *const ()) -> RawWaker {
    // SAFETY: `waker` is from `Arc::into_raw`, and its owner keeps it alive during the call.
    unsafe { Arc::increment_strong_count(waker.cast::<W>()) };
    RawWaker::new(waker, vtable::<W>())
}

unsafe fn wake<W: Wake + Send + Sync + 'static>(waker: *const ()) {
    // SAFETY: `waker` is from `Arc::into_raw`, and its owner passes on the reference.
    let waker = unsafe { Arc::from_raw(waker.cast::<W>()) };
    waker.wake();
}

unsafe fn wake_by_ref<W: Wake + Send + Sync + 'static>(waker: *const ()) {
    // SAFETY: `waker` is from `Arc::into_raw`, and its owner keeps it alive during the call.
    let waker = unsafe { ManuallyDrop::new(Arc::from_raw(waker.cast::<W>())) };
    waker.wake_by_ref();
}

unsafe fn drop_waker<W: Wake + Send + Sync + 'static>(waker: *const ()) {
    // SAFETY: `waker` is from `Arc::into_raw`, and its owner passes on the reference.
    unsafe { Arc::decrement_strong_count(waker.cast::<W>()) };
}
