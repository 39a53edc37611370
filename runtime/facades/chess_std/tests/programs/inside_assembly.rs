//! Tests to explore: inline assembly that synchronizes, and the random draws of executors. The
//! names have the same meaning as in `inside_locks.rs`.

use std::arch::asm;
use std::cell::UnsafeCell;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering::*};
use std::thread;

/// Plain memory. An access is no scheduling point: another task can run between two accesses only
/// if an operation is between them.
struct Plain(UnsafeCell<[usize; 2]>);

unsafe impl Sync for Plain {}

impl Plain {
    const fn new() -> Self {
        Plain(UnsafeCell::new([0; 2]))
    }

    fn set(&self, at: usize) {
        unsafe { (*self.0.get())[at] = 1 }
    }

    /// Whether both halves are set, or neither.
    fn is_even(&self) -> bool {
        let [first, second] = unsafe { *self.0.get() };
        first == second
    }
}

/// Sets both halves, with `between` in the middle. Another task must not see only one half set.
fn sets_both(between: fn()) {
    let plain = Plain::new();
    thread::scope(|s| {
        s.spawn(|| {
            plain.set(0);
            between();
            plain.set(1);
        });
        s.spawn(|| assert!(plain.is_even()));
    });
}

#[test]
fn passed_nothing_comes_between_instructions_that_order_nothing() {
    sets_both(|| unsafe { asm!("nop", "xchg {0}, {1}", inout(reg) 1 => _, inout(reg) 2 => _) });
}

#[test]
fn fails_by_panic_mfence_is_a_scheduling_point() {
    sets_both(|| unsafe { asm!("mfence", options(nostack, preserves_flags)) });
}

#[test]
fn fails_by_panic_so_it_is_by_its_other_paths() {
    sets_both(|| unsafe { core::arch::asm!("mfence") });
}

#[test]
fn fails_by_panic_a_locked_instruction_on_the_stack_is_a_fence() {
    sets_both(|| unsafe { asm!("lock or dword ptr [rsp - 4], 0") });
}

#[test]
fn fails_by_panic_so_is_one_on_a_local_variable() {
    sets_both(|| {
        let dummy = UnsafeCell::new(0_usize);
        unsafe { asm!("lock not qword ptr [{0}]", in(reg) dummy.get(), options(nostack, preserves_flags)) };
    });
}

#[test]
fn fails_by_panic_an_exchange_with_memory_is_a_scheduling_point() {
    static PLACE: AtomicUsize = AtomicUsize::new(0);
    sets_both(|| unsafe { asm!("xchg [{}], {}", in(reg) PLACE.as_ptr(), inout(reg) 1_usize => _) });
}

#[test]
fn passed_a_call_of_the_kernel_is_no_scheduling_point() {
    sets_both(|| {
        const GETPID: usize = 39;
        unsafe { asm!("syscall", inout("rax") GETPID => _, out("rcx") _, out("r11") _) };
    });
}

#[test]
fn passed_the_processors_clock_moves_as_the_others_do() {
    use std::arch::x86_64::_rdtsc;

    let read = || unsafe { _rdtsc() };
    let (first, second, third) = (read(), read(), read());
    assert!(second > first);
    assert_eq!(third - second, second - first, "real time went by");
    thread::sleep(std::time::Duration::from_secs(1));
    assert!(unsafe { core::arch::x86_64::_rdtsc() } - third > 1_000_000_000);
}

/// Runs two tasks that must not be in their critical sections at once.
fn dekker(raises_first: bool) {
    let raised = [AtomicBool::new(false), AtomicBool::new(false)];
    let inside = AtomicUsize::new(0);
    thread::scope(|s| {
        for own in 0..2 {
            let (raised, inside) = (&raised, &inside);
            s.spawn(move || {
                if raises_first {
                    raised[own].store(true, Relaxed);
                }
                unsafe { asm!("mfence") };
                let free = !raised[1 - own].load(Relaxed);
                if !raises_first {
                    raised[own].store(true, Relaxed);
                }
                if free {
                    assert_eq!(inside.fetch_add(1, Relaxed), 0, "both are inside");
                }
            });
        }
    });
}

#[test]
fn passed_dekkers_flags_exclude_with_a_fence_between() {
    dekker(true);
}

#[test]
fn fails_by_panic_flags_that_are_raised_too_late_do_not() {
    dekker(false);
}

#[test]
fn fails_by_panic_a_draw_has_its_last_outcome() {
    assert_ne!(std::__chess::draw(5_usize), Some(4));
}

#[test]
fn fails_by_panic_two_draws_differ_if_the_search_wants() {
    let draw = || std::__chess::draw(2_u32).unwrap();
    assert!(draw() == 0 || draw() == 0);
}

#[test]
fn passed_a_draw_has_no_outcome_beyond_its_number() {
    assert!(std::__chess::draw(3_u64).unwrap() < 3);
    assert_eq!(std::__chess::draw(1_u64), Some(0));
    assert_eq!(std::__chess::draw(0_u64), None);
}
