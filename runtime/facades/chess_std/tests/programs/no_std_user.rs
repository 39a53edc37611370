//! A program that uses the crate `no_std`, and names the types of that crate by the paths of std.

extern crate no_std;

use std::cell::UnsafeCell;
use std::sync::atomic::AtomicUsize;
use std::sync::Arc;
use std::task::Wake;

struct Wakes;

impl Wake for Wakes {
    fn wake(self: Arc<Self>) {}
}

fn main() {
    let counter: Arc<no_std::Counter> = no_std::counter();
    let count: &AtomicUsize = &counter.count;
    let cell: &UnsafeCell<bool> = &counter.cell;
    no_std::wakes(&Arc::new(Wakes));
    println!("{} {}", no_std::take(&counter) + count.fetch_add(0, std::sync::atomic::Ordering::SeqCst) - 3, unsafe { *cell.get() });
}
