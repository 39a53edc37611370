//! The operations of all atomic types.

use std::cell::{Cell, UnsafeCell};
use std::mem::{align_of, size_of};
use std::panic::catch_unwind;
use std::sync::atomic::*;
use std::sync::atomic::Ordering::*;

static FLAG: AtomicBool = AtomicBool::new(true);
static OLD: AtomicUsize = ATOMIC_USIZE_INIT;
const EXTRACTED: i64 = AtomicI64::new(-3).into_inner();

macro_rules! integers {
    ($($Atomic:ident $int:ty)*) => {
        $({
            let a = $Atomic::new(5);
            let mut seen: Vec<$int> = vec![
                a.load(SeqCst),
                a.swap(6, AcqRel),
                a.fetch_add(3, Relaxed),
                a.fetch_sub(1, Release),
                a.fetch_and(12, Acquire),
                a.fetch_nand(4, SeqCst),
                a.fetch_or(1, SeqCst),
                a.fetch_xor(3, SeqCst),
                a.fetch_max(7, SeqCst),
                a.fetch_min(2, SeqCst),
                a.compare_and_swap(0, 1, SeqCst),
            ];
            a.store(9, Release);
            seen.push(a.load(Acquire));
            println!("{} {seen:?}", stringify!($Atomic));
            println!("{:?} {:?}", a.compare_exchange(9, 10, SeqCst, Relaxed), a.compare_exchange(9, 11, AcqRel, Acquire));
            while a.compare_exchange_weak(10, 12, SeqCst, SeqCst).is_err() {}
            println!("{:?}", a.compare_exchange_weak(10, 13, SeqCst, SeqCst));
            println!("{:?} {:?}", a.fetch_update(SeqCst, SeqCst, |n| n.checked_add(1)), a.fetch_update(SeqCst, SeqCst, |_| None));
            println!("{:?} {}", a.try_update(SeqCst, SeqCst, |n| Some(n / 2)), a.update(SeqCst, SeqCst, |n| n + 1));
            let mut a = a;
            *a.get_mut() += 1;
            unsafe { *a.as_ptr() += 1 };
            println!("{a:?} {:?} {:?}", $Atomic::default(), $Atomic::from(3));
            println!("{}", a.into_inner());
            println!("{} {}", size_of::<$Atomic>(), align_of::<$Atomic>());
            let mut plain: $int = 1;
            unsafe { $Atomic::from_ptr(&mut plain).fetch_add(1, SeqCst) };
            println!("{plain}");
        })*
    };
}

union Overlay {
    atomic: std::mem::ManuallyDrop<AtomicU32>,
    plain: u32,
}

fn main() {
    std::panic::set_hook(Box::new(|info| println!("panic: {}", info.payload_as_str().unwrap_or("?"))));
    integers! {
        AtomicI8 i8 AtomicU8 u8 AtomicI16 i16 AtomicU16 u16 AtomicI32 i32 AtomicU32 u32
        AtomicI64 i64 AtomicU64 u64 AtomicIsize isize AtomicUsize usize
    }
    booleans();
    pointers();
    fence(SeqCst);
    compiler_fence(AcqRel);
    spin_loop_hint();
    std::hint::spin_loop();
    println!("{} {EXTRACTED}", OLD.load(Relaxed));
    println!("{}", catch_unwind(|| OLD.load(Release)).is_err());
    println!("{}", catch_unwind(|| OLD.store(1, Acquire)).is_err());
    println!("{}", catch_unwind(|| OLD.compare_exchange(0, 1, SeqCst, AcqRel)).is_err());
    println!("{}", catch_unwind(|| fence(Relaxed)).is_err());
    unsafe {
        let cell = UnsafeCell::new(4u32);
        let atomic: &AtomicU32 = &*cell.get().cast();
        atomic.fetch_add(1, SeqCst);
        let overlay = Overlay { plain: 6 };
        println!("{} {:?}", cell.into_inner(), *overlay.atomic);
        let zeroed: [AtomicU16; 3] = std::mem::zeroed();
        println!("{zeroed:?}");
        let words: [u32; 2] = std::mem::transmute([AtomicU32::new(1), AtomicU32::new(2)]);
        println!("{words:?}");
        let counter = Cell::new(1u8);
        (*(&counter as *const Cell<u8> as *const AtomicU8)).fetch_add(1, SeqCst);
        println!("{counter:?}");
    }
}

fn booleans() {
    let old = (FLAG.fetch_and(false, SeqCst), FLAG.fetch_nand(true, SeqCst), FLAG.fetch_or(false, SeqCst));
    println!("{old:?} {} {}", FLAG.fetch_xor(true, SeqCst), FLAG.fetch_not(SeqCst));
    println!("{:?} {:?}", FLAG.compare_exchange(true, false, SeqCst, SeqCst), FLAG.compare_and_swap(true, true, AcqRel));
    println!("{:?} {:?} {}", FLAG.fetch_update(SeqCst, SeqCst, |b| Some(!b)), AtomicBool::default(), FLAG.update(SeqCst, SeqCst, |b| b));
    println!("{:?} {:?}", AtomicBool::from(true), ATOMIC_BOOL_INIT);
    let mut flag = AtomicBool::new(false);
    *flag.get_mut() = true;
    println!("{} {}", unsafe { *flag.as_ptr() }, flag.into_inner());
}

fn pointers() {
    let mut values = [1u32, 2, 3];
    let start = values.as_mut_ptr();
    let p = AtomicPtr::new(start);
    let offset = |p: *mut u32| unsafe { p.byte_offset_from(start) };
    println!("{} {}", offset(p.fetch_ptr_add(2, SeqCst)), offset(p.fetch_ptr_sub(1, SeqCst)));
    println!("{} {}", offset(p.fetch_byte_add(4, SeqCst)), offset(p.fetch_byte_sub(8, SeqCst)));
    println!("{} {}", offset(p.fetch_or(1, SeqCst)), offset(p.fetch_and(!1, SeqCst)));
    println!("{} {}", offset(p.fetch_xor(0, SeqCst)), offset(p.swap(start, SeqCst)));
    println!("{:?}", p.compare_exchange(start, start, SeqCst, SeqCst).map(offset));
    println!("{}", p.fetch_update(SeqCst, SeqCst, |p| Some(p.wrapping_add(1))).is_ok());
    println!("{} {}", format!("{p:?}") == format!("{p:p}"), AtomicPtr::<u8>::default().load(SeqCst).is_null());
    println!("{}", unsafe { *p.load(Acquire) });
}
