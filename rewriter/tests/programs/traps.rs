//! Borrows whose context matters: temporary values, moves, alignment, order.

use std::cell::{RefCell, UnsafeCell};
use std::future::Future;
use std::ops::{Deref, DerefMut};
use std::pin::pin;
use std::ptr;
use std::sync::Arc;
use std::task::{Context, Poll, Wake, Waker};

/// Prints a message when it is used and when it is dropped, like the guard of a lock.
struct Guard<T>(&'static str, T);

impl<T> Deref for Guard<T> {
    type Target = T;

    fn deref(&self) -> &T {
        &self.1
    }
}

impl<T> DerefMut for Guard<T> {
    fn deref_mut(&mut self) -> &mut T {
        &mut self.1
    }
}

impl<T> Drop for Guard<T> {
    fn drop(&mut self) {
        println!("drop {}", self.0);
    }
}

struct Noisy(&'static str);

impl Drop for Noisy {
    fn drop(&mut self) {
        println!("drop {}", self.0);
    }
}

struct Holder {
    pointer: *mut u32,
}

macro_rules! same {
    ($value:expr) => {
        $value
    };
}

fn guards(pointer: *mut u32) {
    unsafe {
        let shared = &*Guard("shared", 1);
        println!("shared {shared}");
        let unique = &mut *Guard("unique", 2);
        *unique += 1;
        println!("unique {unique}");
        let inner = &*Guard("inner", Holder { pointer }).pointer;
        println!("inner {inner}");
        let deep = &mut *(*Guard("deep", Holder { pointer })).pointer;
        *deep += 1;
        println!("deep {deep}");
        let some = Some(&*Guard("some", 3));
        println!("some {some:?}");
        let part = Some(&*Guard("part of some", Holder { pointer }).pointer);
        println!("part {part:?}");
        let both = (&*Guard("left", 1), *Guard("right", 2));
        println!("both {both:?}");
        let value = *&*Guard("value", 4);
        println!("value {value}");
        let read = *&*(*Guard("read", Holder { pointer })).pointer;
        println!("read {read}");
        *&mut *Guard("assigned", 5) = 6;
        *&mut *Guard("pointed", Holder { pointer }).pointer = 9;
        match &*Guard("matched", 10) {
            10 => println!("ten"),
            _ => println!("other"),
        }
        match *Guard("ten", 10) {
            ref mut ten => println!("{ten}"),
        }
        if let Some(number) = Some(&*Guard("scrutinee", Holder { pointer }).pointer) {
            println!("number {number}");
        }
        if &*Guard("condition", 11) == &11 {
            println!("eleven");
        }
        println!("argument {}", &*Guard("argument", 12));
        let ref bound = *Guard("bound", 13);
        println!("bound {bound}");
        let block = { &*Guard("block", 14) };
        println!("block {block}");
        let same = same!(&*Guard("macro", Holder { pointer }).pointer);
        println!("same {same}");
        let method = (*Guard("method", Holder { pointer })).pointer.as_ref().unwrap();
        println!("method {method}");
    }
}

fn tail(pointer: *mut u32) -> u32 {
    let _local = Noisy("local of tail");
    unsafe { *&*Guard("tail", Holder { pointer }).pointer }
}

fn moves() {
    unsafe {
        let boxed = Box::into_raw(Box::new(Noisy("moved out")));
        println!("borrowed {}", (&*boxed).0);
        let moved = *Box::from_raw(boxed);
        println!("moved {}", moved.0);
        println!("from raw {}", (&*Box::from_raw(Box::into_raw(Box::new(Noisy("raw"))))).0);
        let boxed = Box::new((Noisy("first"), Noisy("second")));
        let first = (*boxed).0;
        println!("first {}", first.0);
        drop(first);
        let boxed = Box::new(Noisy("whole"));
        let whole = *boxed;
        println!("whole {}", whole.0);
        let mut boxed = Box::new(Noisy("before"));
        *boxed = Noisy("after");
        println!("boxed {}", boxed.0);
        let pointer = Box::into_raw(Box::new(Some(Noisy("taken"))));
        let taken = (&mut *pointer).take();
        println!("taken {}", taken.is_some());
        *&mut *pointer = Some(Noisy("replaced"));
        pointer.drop_in_place();
        pointer.write(None);
        drop(Box::from_raw(pointer));
    }
}

#[repr(C, packed)]
struct Packed {
    tag: u8,
    wide: u64,
    many: [u32; 2],
}

fn packed() {
    let mut value = Packed { tag: 1, wide: 2, many: [3, 4] };
    let p: *mut Packed = &mut value;
    unsafe {
        let tag = &mut (*p).tag;
        *tag += 1;
        let Packed { ref tag, wide, .. } = *p;
        println!("{tag} {wide}");
        let ref whole = *p;
        println!("{}", { whole.wide });
        (*p).wide += 1;
        (*p).many[1] = 9;
        let wide = (*p).wide;
        let one = (*p).many[1];
        match (*p).wide {
            3 => println!("three"),
            _ => println!("other"),
        }
        println!("{} {wide} {one} {}", (*p).tag, { (*p).many[0] });
        let cell = UnsafeCell::new(value);
        println!("{} {}", { (*cell.get()).wide }, &(*cell.get()).tag);
    }
}

fn order() {
    let trace = RefCell::new(Vec::new());
    let note = |what: &'static str, value: usize| {
        trace.borrow_mut().push(what);
        value
    };
    let mut values = [1_usize, 2, 3, 4];
    let p = values.as_mut_ptr();
    let slice = ptr::slice_from_raw_parts_mut(p, 4);
    unsafe {
        *&mut *p.add(note("place", 1)) = note("value", 5);
        *&mut (*slice)[note("index", 2)] += note("addend", 6);
        let sum = *&*p + { *p = 30; *&*p } + *p;
        println!("{sum}");
        let both = (*&*p, { *p = 40; *&*p });
        println!("{both:?} {}", &*p == &{ *p = 50; 40 });
        *&mut (*slice)[note("left", 0)] = *&(*slice)[note("right", 1)];
        (&mut *slice).swap(note("one", 0), note("other", 3));
        let last = p.add(note("last", 3)).as_ref().unwrap();
        println!("{last} {}", &(*ptr::slice_from_raw_parts(p, 4))[note("third", 2)]);
    }
    println!("{values:?} {:?}", trace.borrow());
}

fn two_phases() {
    let mut list = vec![1, 2, 3];
    let p: *mut Vec<usize> = &mut list;
    let unique = &mut list;
    unsafe {
        (*unique).push((&*unique).len());
        (&mut *p).push((*p).len());
        (*p).push((&*p).len());
        let length = (*p).len();
        (*p)[length - 1] += (*p)[0];
        let taken = std::mem::take(&mut *p);
        println!("{taken:?} {:?}", *p);
    }
}

fn lives_on<'a>(p: *mut Vec<u32>, fallback: &'a mut Vec<u32>) -> &'a mut Vec<u32> {
    unsafe {
        if let Some(list) = p.as_mut() {
            return &mut *list;
        }
        &mut *fallback
    }
}

fn captured() {
    let mut pair = (1, String::from("captured"));
    let p = &raw mut pair;
    let mut write = || unsafe { *&mut (*p).0 += 1 };
    write();
    write();
    let read = move || unsafe { (&(*p).1).len() + (*p).0 };
    println!("{}", read());
    let nested = |index: usize| unsafe { (&(*p).1).as_bytes()[index] };
    println!("{}", nested(2));
}

struct Quiet;

impl Wake for Quiet {
    fn wake(self: Arc<Self>) {}
}

struct Shared(*mut u32);

unsafe impl Send for Shared {}
unsafe impl Sync for Shared {}

async fn ready(value: u32) -> u32 {
    value
}

async fn awaits(shared: &Shared) -> u32 {
    unsafe {
        *shared.0 = ready(5).await;
        *shared.0 += ready(6).await;
        (&*shared.0).pow(ready(2).await)
    }
}

fn sendable<F: Future + Send>(future: F) -> F::Output {
    let mut future = pin!(future);
    let waker = Waker::from(Arc::new(Quiet));
    loop {
        if let Poll::Ready(output) = future.as_mut().poll(&mut Context::from_waker(&waker)) {
            return output;
        }
    }
}

const fn constant(p: *const u32) -> u32 {
    unsafe { *&*p }
}

static FIXED: u32 = constant(&7);

fn main() {
    let mut number = 0;
    guards(&mut number);
    println!("{}", tail(&mut number));
    moves();
    packed();
    order();
    two_phases();
    println!("{:?}", lives_on(ptr::null_mut(), &mut vec![1]));
    captured();
    println!("{}", sendable(awaits(&Shared(&mut number))));
    println!("{FIXED} {}", constant(&8));
}
