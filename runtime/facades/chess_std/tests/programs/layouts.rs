//! Sizes, alignments, niches and destructors of what must look as std's does.

use std::cell::UnsafeCell;
use std::mem::{align_of, needs_drop, size_of};
use std::sync::atomic::*;
use std::sync::{Arc, Condvar, LazyLock, Mutex, Once, OnceLock, RwLock, Weak};
use std::thread::ThreadId;

macro_rules! show {
    ($($T:ty,)*) => {
        $(println!(
            "{}: {} {} {} {}",
            stringify!($T),
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
        Arc<u8>, Arc<[u8]>, Arc<dyn Send>, Weak<u8>, Weak<str>, ThreadId, Header, Wraps,
    }
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
