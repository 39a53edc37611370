//! A crate without std: core's atomics and alloc's Arc.

#![no_std]

extern crate alloc;

use alloc::sync::Arc;
use alloc::task::Wake;
use core::cell::UnsafeCell;
use core::sync::atomic::{AtomicUsize, Ordering};

pub struct Counter {
    pub count: AtomicUsize,
    pub cell: UnsafeCell<bool>,
}

pub fn counter() -> Arc<Counter> {
    Arc::new(Counter { count: AtomicUsize::new(3), cell: UnsafeCell::new(true) })
}

pub fn wakes<W: Wake>(waker: &Arc<W>) {
    core::hint::spin_loop();
    waker.wake_by_ref();
}

pub fn take(counter: &Counter) -> usize {
    unsafe { core::arch::asm!("lock or dword ptr [rsp - 4], 0") };
    counter.count.load(Ordering::Relaxed)
}
