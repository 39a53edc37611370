//! Every form of borrow, and the contents of the memory afterwards.

use std::cell::UnsafeCell;
use std::mem::{ManuallyDrop, MaybeUninit};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::ptr::{self, NonNull};

static mut COUNT: usize = 1;
static mut TABLE: [u16; 4] = [1, 2, 3, 4];
static mut HEAD: *mut Node = ptr::null_mut();

#[derive(Clone, Copy, PartialEq, Debug)]
enum State {
    Empty,
    Full(u32),
}

#[derive(Clone, Copy, PartialEq, PartialOrd, Debug)]
struct Pair {
    left: u32,
    right: u64,
}

struct Node {
    next: *mut Node,
    state: State,
    pair: Pair,
    values: [u8; 4],
    items: Vec<u32>,
    name: Option<String>,
    inner: Box<Pair>,
}

fn node(next: *mut Node) -> Node {
    Node {
        next,
        state: State::Full(7),
        pair: Pair { left: 1, right: 2 },
        values: [1, 2, 3, 4],
        items: vec![10, 20],
        name: Some("node".to_string()),
        inner: Box::new(Pair { left: 8, right: 9 }),
    }
}

/// Neither of these accesses needs a report.
unsafe fn loads_and_stores(p: *mut Node, index: usize) {
    (*p).pair.left = 5;
    (*p).values[index] = (*(*p).next).values[index + 1];
    (*p).pair.right += 3;
    (*p).items.push((*p).items.len() as u32);
    p.write(p.read());
    let state = (*p).state;
    println!("{state:?} {:?} {:?} {:?}", (*p).pair, (*p).values, (*p).items);
}

unsafe fn shared(p: *mut Node, index: usize) {
    let values = &(*p).values;
    let slice = &(*p).values[index..3];
    let element = &(*(*p).next).values[index + 1];
    println!("{values:?} {slice:?} {element}");
    let dynamic: &dyn std::fmt::Debug = &(*p).pair;
    println!("{dynamic:?} {:?}", &*(*p).inner);
    let text: &str = &*(*p).name.as_ref().unwrap();
    println!("{text}");
    let ref right = (*p).pair.right;
    println!("{right}");
}

unsafe fn unique(p: *mut Node) {
    let items = &mut (*p).items;
    items.push(30);
    (&mut (*(*p).next).items).push(40);
    let ref mut left = (*p).pair.left;
    *left += 1;
    let old = std::mem::replace(&mut (*p).state, State::Empty);
    println!("{old:?} {:?} {:?} {:?}", (*p).state, (*p).items, (*p).pair);
    (*p).name.as_mut().unwrap().push('!');
    println!("{:?} {:?}", (*p).name, (*(*p).next).items);
}

/// The borrowed part depends on the value.
unsafe fn patterns(p: *mut Node) {
    match (*p).state {
        State::Empty => println!("empty"),
        State::Full(ref mut value) => {
            *value += 1;
            println!("full {value}");
        }
    }
    match (*p).name {
        ref name if name.is_none() => println!("none"),
        Some(ref name) if name.len() > 3 => println!("{name}"),
        _ => {}
    }
    let Pair { ref left, .. } = (*p).pair;
    let _ = (*p).pair;
    println!("{left}");
}

unsafe fn methods(p: *mut Pair, q: *mut Pair) {
    let not_null = NonNull::new(p).unwrap();
    println!("{:?} {:?}", not_null.as_ref(), p.as_ref().map(|it| it.right));
    q.add(1).as_mut().unwrap().left = 3;
    println!("{:?}", q.wrapping_add(1).as_ref());
    let mut slot = MaybeUninit::<Box<Pair>>::uninit();
    slot.write(Box::new(Pair { left: 1, right: 1 }));
    slot.assume_init_mut().left = 2;
    println!("{:?}", slot.assume_init_ref());
    slot.assume_init_drop();
    let mut many: [MaybeUninit<String>; 2] = [const { MaybeUninit::uninit() }; 2];
    many[1].write("many".to_owned());
    println!("{}", many[1].assume_init_ref());
    many[0 + 1].assume_init_drop();
    let kept = ManuallyDrop::new(String::from("kept"));
    let pointer: *mut String = Box::into_raw(Box::new(String::from("dropped")));
    pointer.drop_in_place();
    drop(Box::from_raw(pointer.cast::<ManuallyDrop<String>>()));
    println!("{}", kept.as_str());
    drop(ManuallyDrop::into_inner(kept));
    println!("{:?} {:?}", Some(1).as_ref(), Box::new([1, 2]).as_mut());
}

unsafe fn statics() {
    *&mut COUNT += 1;
    let table = &mut TABLE[COUNT..];
    table[0] = 7;
    println!("{} {:?}", &COUNT, &TABLE);
    HEAD = Box::into_raw(Box::new(node(ptr::null_mut())));
    HEAD.as_mut().unwrap().pair.left = *&COUNT as u32;
    println!("{:?} {}", &(*HEAD).pair, (*HEAD).items.len());
    drop(Box::from_raw(HEAD));
}

macro_rules! either {
    ($condition:expr, $one:expr, $other:expr) => {
        if $condition { $one } else { $other }
    };
}

fn fails(assertion: impl FnOnce()) {
    std::panic::set_hook(Box::new(|_| {}));
    let payload = catch_unwind(AssertUnwindSafe(assertion)).unwrap_err();
    let message = payload.downcast_ref::<String>().map(String::as_str);
    println!("{}", message.or(payload.downcast_ref::<&str>().copied()).unwrap());
    drop(std::panic::take_hook());
}

fn addresses(p: *mut Node) {
    let field = unsafe { ptr::addr_of!((*p).pair.right) };
    let next = unsafe { &raw mut (*(*p).next).values[2] };
    unsafe {
        next.write(200);
        println!("{} {}", &*field, (*(*p).next).values[2]);
        assert_eq!(&(*(*p).next).values[2], &200, "it is {}", &*field);
        assert!(&(*p).pair.left > &0, "no message");
        println!("{}", matches!(&(*p).state, State::Empty));
        fails(|| assert!(&(*p).pair.left  ==  &((*p).pair.right as u32)));
        fails(|| debug_assert!((&(*p).items).is_empty() && (*p).next.is_null(),));
        fails(|| assert_eq!(&(*p).pair.left, &0));
        println!("{}", either!((*p).pair.left > 0, { &(*p).pair.right }, &0));
        println!("{}", either!(*&(*p).values[0] > 0, &*next, &(*p).values[0]));
    }
}

fn cells() {
    let cell = UnsafeCell::new(Pair { left: 1, right: 2 });
    let slots: Vec<UnsafeCell<u32>> = (0..3).map(UnsafeCell::new).collect();
    unsafe {
        (&mut *cell.get()).left += 1;
        let shared = &*cell.get();
        println!("{shared:?} {}", &(*cell.get()).right);
        let index = 1;
        *&mut *slots[index].get() = 8;
        let sum: u32 = slots.iter().map(|slot| &*slot.get()).sum();
        println!("{sum} {:?}", cell.get().as_ref());
    }
}

fn main() {
    let mut last = node(ptr::null_mut());
    let mut first = node(&mut last);
    let p: *mut Node = &mut first;
    unsafe {
        loads_and_stores(p, 2);
        shared(p, 1);
        patterns(p);
        unique(p);
        patterns(p);
        let mut pairs = [Pair { left: 1, right: 2 }; 4];
        let pairs = pairs.as_mut_ptr();
        methods(pairs, pairs.add(2));
        statics();
    }
    addresses(p);
    cells();
}
