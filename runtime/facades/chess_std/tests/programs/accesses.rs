//! The code that is inserted before accesses, in all positions of unsafe code.

use std::cell::UnsafeCell;
use std::mem::MaybeUninit;

mod inner {
    pub struct Node {
        pub next: *mut Node,
        pub values: [u32; 2],
    }

    pub unsafe fn last(p: *mut Node) -> u32 {
        ({__chess::read(&raw const (*p).next);__chess::read(&raw const (*(*p).next).values[1]);(*(*p).next).values[1]})
    }
}

fn main() {
    let mut node = inner::Node {
        next: std::ptr::null_mut(),
        values: [1, 2],
    };
    let p: *mut inner::Node = &mut node;
    let cell = UnsafeCell::new(6);
    let mut slot = MaybeUninit::uninit();
    unsafe {
        *__chess::write(&raw mut (*p).next) = p;
        *__chess::update(&raw mut (*p).values[1]) += 1;
        let last = inner::last(p);
        let slice: *mut [u32] = &mut *__chess::borrow_mut(&raw mut (*p).values);
        *__chess::write(&raw mut (*slice)[0]) = 5;
        *__chess::write({__chess::read(&raw const (*p).next);&raw mut (*(*p).next).values[1]}) = *match (cell.get()){__chess_p=>{__chess::read(&raw const *__chess_p);__chess_p}};
        ({__chess::write_through(&raw const slot);},slot.write(7)).1;
        let seven = ({__chess::read_through(&raw const slot);},slot.assume_init_read()).1;
        let mut one = 8;
        let mut other = 9;
        let (one, other): (*mut u32, *mut u32) = (&mut one, &mut other);
        ({__chess::swap_through(&raw const one,&other);},one.swap(other)).1;
        ({__chess::copy_from_through(&raw const one,&other,1);},one.copy_from(other, 1)).1;
        let is_empty = ({__chess::receive(&raw const (*slice));},(*slice).iter()).1.next().is_some();
        println!(
            "{} {:?} {} {} {}",
            last,
            &*__chess::borrow(&raw const *slice),
            seven,
            *__chess::borrow(&raw const *one),
            is_empty
        );
    }
}
