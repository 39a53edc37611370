//! Names, sizes, alignments, niches and destructors of the shims, which must equal those of std, and
//! the functions of `UnsafeCell` and `ptr`.

use std::any::type_name;
use std::cell::UnsafeCell;
use std::mem::{align_of, needs_drop, size_of};
use std::sync::atomic::*;
use std::sync::mpsc::{IntoIter, Iter, Receiver, Sender, SyncSender, TryIter};
use std::sync::{Arc, Barrier, BarrierWaitResult, Condvar, LazyLock, Mutex, MutexGuard, Once};
use std::sync::{OnceLock, OnceState, RwLock, RwLockReadGuard, RwLockWriteGuard};
use std::sync::{WaitTimeoutResult, Weak};
use std::thread::{Builder, JoinHandle, ScopedJoinHandle, Thread, ThreadId};

macro_rules! show {
    ($($T:ty,)*) => {
        $(println!(
            "{}: {} {} {} {}",
            type_name::<$T>().trim_start_matches(concat!(module_path!(), "::")),
            size_of::<$T>(),
            align_of::<$T>(),
            size_of::<Option<$T>>(),
            needs_drop::<$T>()
        );)*
    };
}

#[repr(C)]
struct Header {
    lock: Mutex<u8>,
    count: AtomicU16,
    cell: UnsafeCell<u32>,
}

#[repr(transparent)]
struct Wraps(UnsafeCell<bool>);

fn coerce<'a>(cell: UnsafeCell<&'a [u8; 2]>) -> UnsafeCell<&'a [u8]> {
    cell
}

fn main() {
    show! {
        Mutex<()>, Mutex<u8>, Mutex<u64>, Mutex<String>, Mutex<[u8; 3]>, Mutex<&u8>,
        RwLock<()>, RwLock<u8>, RwLock<u64>, RwLock<String>,
        Condvar, Once, OnceLock<()>, OnceLock<u8>, OnceLock<Box<u8>>, OnceLock<u64>,
        LazyLock<u8>, LazyLock<String>, LazyLock<u8, ()>,
        AtomicBool, AtomicPtr<u8>, AtomicU64,
        UnsafeCell<u8>, UnsafeCell<bool>, UnsafeCell<Box<u8>>, UnsafeCell<String>,
        MutexGuard<()>, MutexGuard<u8>, MutexGuard<u64>, MutexGuard<[u8]>, MutexGuard<dyn Send>,
        RwLockReadGuard<u8>, RwLockReadGuard<str>, RwLockWriteGuard<u8>, RwLockWriteGuard<str>,
        Barrier, BarrierWaitResult, WaitTimeoutResult, OnceState,
        Sender<u8>, SyncSender<u8>, Receiver<u8>, Iter<u8>, TryIter<u8>, IntoIter<u8>,
        Thread, JoinHandle<()>, JoinHandle<String>, ScopedJoinHandle<u8>, Builder,
        Option<Vec<Thread>>, Result<Arc<Mutex<u8>>, Box<dyn Fn(&AtomicBool) -> Weak<u8>>>,
        Arc<u8>, Arc<[u8]>, Arc<dyn Send>, Weak<u8>, Weak<str>, ThreadId, Header, Wraps,
    }
    println!("{}", std::any::type_name_of_val(&Some(Mutex::new(1_u8))));
    println!("{}", core::any::type_name::<Once>());
    let boxed: Box<UnsafeCell<[u8]>> = Box::new(UnsafeCell::new([1, 2]));
    println!("{} {boxed:?}", unsafe { &*boxed.get() }.len());
    println!("{}", coerce(UnsafeCell::new(&[1, 2])).into_inner().len());
    let mut value = 3;
    let cell = UnsafeCell::from_mut(&mut value);
    *cell.get_mut() += 1;
    unsafe { *UnsafeCell::raw_get(cell) += 1 };
    println!("{value} {:?}", UnsafeCell::<u8>::default().into_inner());
    const READ: u8 = unsafe { std::ptr::read(&4) };
    let mut pair = [1, 2];
    unsafe {
        let first = pair.as_mut_ptr();
        std::ptr::swap(first, first.add(1));
        println!("{READ} {pair:?} {}", std::ptr::replace(first, 9));
        std::ptr::copy(first, first.add(1), 1);
        std::ptr::write_volatile(first, std::ptr::read_volatile(first) + 1);
    }
    println!("{pair:?} {}", std::ptr::null::<u8>().is_null());
    let swapped: Vec<unsafe fn(*mut String)> = vec![std::ptr::drop_in_place::<String>];
    println!("{}", swapped.len());
}
