//! Every form of access, and the contents of the memory afterwards.

use std::cell::UnsafeCell;
use std::mem::{ManuallyDrop, MaybeUninit};
use std::ops::AddAssign;
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

impl AddAssign for Pair {
    fn add_assign(&mut self, other: Self) {
        self.left += other.left;
        self.right += other.right;
    }
}

struct Node {
    next: *mut Node,
    state: State,
    pair: Pair,
    values: [u8; 4],
    items: Vec<u32>,
    name: Option<String>,
    call: fn(u32) -> u32,
    inner: Box<Pair>,
}

fn double(value: u32) -> u32 {
    value * 2
}

fn node(next: *mut Node) -> Node {
    Node {
        next,
        state: State::Full(7),
        pair: Pair { left: 1, right: 2 },
        values: [1, 2, 3, 4],
        items: vec![10, 20],
        name: Some("node".to_string()),
        call: double,
        inner: Box::new(Pair { left: 8, right: 9 }),
    }
}

unsafe fn reads(p: *mut Node, index: usize) {
    let pair = (*p).pair;
    let left: u32 = (*p).pair.left;
    let value = (*p).values[index + 1] as u64 + (*p).pair.right;
    let further = (*(*p).next).pair.right;
    let boxed = (*(*p).inner).left;
    let through_box = (*p).inner.right;
    println!("{:?} {} {} {} {} {}", pair, left, value, further, boxed, through_box);
    println!("{}", -((*p).values[0] as i32) + !(*p).pair.left as i32);
    let array = [(*p).pair.left; 2];
    let built = Pair { left: (*p).pair.left, ..(*p).pair };
    println!("{array:?} {built:?}");
    if (*p).pair.left == 1 && (*p).pair <= (*(*p).next).pair {
        println!("equal");
    }
    for value in (*p).values {
        print!("{value} ");
    }
    for turn in 0..(*p).pair.right {
        print!("{turn} ");
    }
    println!("{}", if (*p).items.is_empty() { 0 } else { (*p).values[(*p).values[0] as usize] });
}

unsafe fn writes(p: *mut Node, index: usize) {
    (*p).pair.left = 5;
    (*p).values[index] = (*p).values[index + 1];
    (*(*p).next).pair.right = 77;
    (*p).pair.right += 3;
    (*p).pair.left <<= 2;
    (*p).pair += Pair { left: 1, right: 1 };
    (*p).name = Some(String::from("other"));
    *(*p).inner = Pair { left: 3, right: 4 };
    (*p).inner.left += 1;
    ((*p).pair.left, (*p).values[3]) = (6, 9);
    let old = std::mem::replace(&mut (*p).state, State::Empty);
    println!("{old:?} {:?} {:?} {:?} {:?}", (*p).pair, (*p).values, (*p).name, (*p).inner);
}

unsafe fn borrows(p: *mut Node) {
    let shared = &(*p).values;
    let slice = &(*p).values[1..3];
    println!("{shared:?} {slice:?}");
    let unique = &mut (*p).items;
    unique.push(30);
    let dynamic: &dyn std::fmt::Debug = &(*p).pair;
    println!("{dynamic:?}");
    let text: &str = &*(*p).name.as_ref().unwrap();
    println!("{text}");
    match (*p).state {
        State::Empty => println!("empty"),
        State::Full(ref mut value) => {
            *value += 1;
            println!("full {value}");
        }
    }
    match (*p).name {
        Some(ref name) if name.len() > 3 => println!("{name}"),
        _ => {}
    }
    if let State::Full(value) = (*p).state {
        println!("{value}");
    }
    let Pair { left, .. } = (*p).pair;
    let ref right = (*p).pair.right;
    let _ = (*p).pair;
    println!("{left} {right}");
}

unsafe fn receivers(p: *mut Node) {
    (*p).items.push((*p).items.len() as u32);
    (*p).items.extend_from_slice(&[1, 2]);
    println!("{} {:?}", (*p).items.len(), (*p).items.iter().max());
    println!("{}", ((*p).call)(4));
    (*p).items[0] = 99;
    (*p).name.as_mut().unwrap().push('!');
    let taken = (*p).name.take();
    println!("{taken:?} {:?}", (*p).name);
    (*p).name = taken;
}

unsafe fn methods(p: *mut Pair, q: *mut Pair) {
    let first = p.read();
    p.write(Pair { left: 11, right: 12 });
    let old = p.replace(first);
    p.swap(q);
    q.add(0).write_volatile(old);
    println!("{:?} {:?} {:?}", p.read_volatile(), q.read_unaligned(), (*q).left);
    p.copy_from(q, 1);
    p.copy_to_nonoverlapping(q.add(1), 1);
    q.write_bytes(0, 1);
    println!("{:?} {:?}", *q, *q.add(1));
    arguments(p, q);
    let not_null = NonNull::new(p).unwrap();
    println!("{:?} {:?}", not_null.as_ref(), p.as_ref().map(|it| it.right));
    let mut slot = MaybeUninit::<Box<Pair>>::uninit();
    slot.write(Box::new(Pair { left: 1, right: 1 }));
    slot.assume_init_mut().left = 2;
    println!("{:?}", slot.assume_init_ref());
    slot.assume_init_drop();
    let mut many: [MaybeUninit<String>; 2] = [const { MaybeUninit::uninit() }; 2];
    many[1].write("many".to_owned());
    println!("{}", many[1].assume_init_read());
    let kept = ManuallyDrop::new(String::from("kept"));
    let pointer: *mut String = Box::into_raw(Box::new(String::from("dropped")));
    pointer.drop_in_place();
    drop(Box::from_raw(pointer.cast::<ManuallyDrop<String>>()));
    println!("{}", *kept);
    drop(ManuallyDrop::into_inner(kept));
}

unsafe fn arguments(p: *mut Pair, q: *mut Pair) {
    struct Pointers {
        first: *mut Pair,
        all: [*const Pair; 2],
    }
    const SAMPLE: Pair = Pair { left: 21, right: 22 };
    let pointers = Pointers {
        first: p,
        all: [q, p],
    };
    let mut local = Pair { left: 31, right: 32 };
    pointers.first.copy_from(pointers.all[0], 1);
    p.swap(&mut local);
    p.copy_to(&mut local, 1);
    p.copy_from(&SAMPLE, 1);
    let unique = &mut local;
    p.swap(unique);
    NonNull::new(p).unwrap().swap(NonNull::new_unchecked(q));
    println!("{:?} {:?} {local:?}", *p, *q);
    let mut one = [1, 2, 3];
    one.swap(0, 2);
    let cell = std::cell::Cell::new(4);
    cell.swap(&std::cell::Cell::new(5));
    println!("{one:?} {}", cell.get());
}

unsafe fn statics() {
    COUNT += 1;
    TABLE[COUNT] = 7;
    let table = &raw const TABLE;
    println!("{} {:?} {}", COUNT, *table, TABLE[1]);
    let count = COUNT;
    HEAD = Box::into_raw(Box::new(node(ptr::null_mut())));
    (*HEAD).pair.left = count as u32;
    println!("{:?} {}", (*HEAD).pair, (*HEAD).items.len());
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
        println!("{} {}", *field, (*(*p).next).values[2]);
        assert_eq!((*(*p).next).values[2], 200, "it is {}", *field);
        assert!((*p).pair.left > 0, "no message");
        println!("{}", matches!((*p).state, State::Full(_)));
        fails(|| assert!((*p).pair.left  !=  (*p).pair.right as u32));
        fails(|| debug_assert!(!(*p).items.is_empty() && (*p).next.is_null(),));
        fails(|| assert_eq!((*p).pair.left, 0));
        println!("{}", either!((*p).pair.left > 0, { (*p).pair.right }, (*p).values[0] as u64));
    }
}

fn cells() {
    let cell = UnsafeCell::new(Pair { left: 1, right: 2 });
    let slots: Vec<UnsafeCell<u32>> = (0..3).map(UnsafeCell::new).collect();
    unsafe {
        *cell.get() = Pair { left: 3, right: 4 };
        (*cell.get()).left += 1;
        let shared = &*cell.get();
        println!("{shared:?} {}", (*cell.get()).right);
        let index = 1;
        *slots[index].get() = 8;
        let sum: u32 = slots.iter().map(|slot| *slot.get()).sum();
        println!("{sum} {:?}", cell.get().read());
    }
}

fn main() {
    let mut last = node(ptr::null_mut());
    let mut first = node(&mut last);
    let p: *mut Node = &mut first;
    unsafe {
        reads(p, 1);
        writes(p, 2);
        borrows(&mut last);
        borrows(p);
        receivers(p);
        let mut pairs = [Pair { left: 1, right: 2 }; 4];
        let pairs = pairs.as_mut_ptr();
        methods(pairs, pairs.add(2));
        statics();
    }
    addresses(p);
    cells();
}
