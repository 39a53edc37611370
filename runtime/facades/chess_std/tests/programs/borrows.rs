//! The code that is inserted before borrows, in all positions of unsafe code.

use std::cell::UnsafeCell;
use std::mem::MaybeUninit;

mod inner {
    pub struct Node {
        pub next: *mut Node,
        pub values: [u32; 2],
    }

    pub unsafe fn last<'a>(p: *mut Node) -> &'a u32 {
        &*__chess::borrow(&raw const (*(*p).next).values[1])
    }
}

fn main() {
    let mut node = inner::Node {
        next: std::ptr::null_mut(),
        values: [1, 2],
    };
    let p: *mut inner::Node = &mut node;
    let cell = UnsafeCell::new(6);
    let mut slot = MaybeUninit::new(7);
    let name: *mut String = Box::into_raw(Box::new(String::from("name")));
    unsafe {
        (*p).next = p;
        let slice: *mut [u32] = &mut *__chess::borrow_mut(&raw mut (*p).values);
        *&mut *__chess::borrow_mut(&raw mut (*slice)[0]) = 5;
        let six = &*match (cell.get()){__chess_p=>{__chess::borrow(&raw const *__chess_p);__chess_p}};
        *({__chess::borrow_mut_through(&raw const slot);},slot.assume_init_mut()).1 += 1;
        let eight = ({__chess::borrow_through(&raw const slot);},slot.assume_init_ref()).1;
        let length = (match (name.cast_const()){__chess_p=>{__chess::borrow_through(&raw const __chess_p);__chess_p}}).as_ref().unwrap().len();
        ({__chess::drop_through(&raw const name);},name.drop_in_place()).1;
        drop(Box::from_raw(name.cast::<MaybeUninit<String>>()));
        println!(
            "{} {:?} {} {} {}",
            inner::last(p),
            &*__chess::borrow(&raw const *slice),
            six,
            eight,
            length
        );
    }
}
