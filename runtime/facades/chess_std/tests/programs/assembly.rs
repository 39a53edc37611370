//! Inline assembly, by every path and with several kinds of operands.

extern crate core as bare;

use std::arch::asm;
use std::cell::UnsafeCell;
use std::sync::atomic::{AtomicU64, Ordering};

mod glob {
    use std::arch::*;

    pub fn sum(a: u64, b: u64) -> u64 {
        let mut sum = a;
        unsafe { asm!("add {sum}, {b}", sum = inout(reg) sum, b = in(reg) b) };
        sum
    }
}

macro_rules! locked {
    ($instruction:literal, $place:expr, $value:expr) => {{
        let previous: u64;
        asm!(
            concat!("lock ", $instruction, " qword ptr [{place}], {value}"),
            place = in(reg) $place,
            value = inout(reg) $value => previous,
        );
        previous
    }};
}

fn full_fence() {
    let dummy = UnsafeCell::new(0_usize);
    unsafe { asm!("lock not qword ptr [{0}]", in(reg) dummy.get(), options(nostack, preserves_flags)) };
    unsafe { bare::arch::asm!("mfence") }
}

fn kernel_thread() -> i64 {
    let result: i64;
    unsafe {
        ::std::arch::asm!(
            "syscall",
            inlateout("rax") 39_i64 => result,
            lateout("rcx") _, lateout("r11") _,
            options(nostack, preserves_flags)
        );
    }
    result
}

fn never() -> ! {
    unsafe { asm!("ud2", options(noreturn)) }
}

// `global_asm!` is left unchanged, because it is not a statement.
std::arch::global_asm!(".globl answer", "answer: mov eax, 42", "ret");

unsafe extern "C" {
    fn answer() -> u32;
}

fn main() {
    println!("{}", glob::sum(40, 2));
    full_fence();
    let place = AtomicU64::new(5);
    println!("{} {}", unsafe { locked!("xadd", place.as_ptr(), 3_u64) }, place.load(Ordering::SeqCst));
    assert_eq!(kernel_thread(), i64::from(std::process::id()));
    println!("{}", unsafe { answer() });
    let word: u16;
    unsafe {
        asm!(
            "mov {word:x}, 7",
            // An operand may have an attribute, too.
            word = out(reg) word,
        );
    }
    println!("{}", word);
    let unit = unsafe { asm!("/*{0}*/", in(reg) &String::from("lives until the end"), options(nomem)) };
    println!("{:?}", unit);
    if word == 8 {
        never();
    }
}
