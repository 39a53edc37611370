//! The hooks for atomic operations of C code that is instrumented.
//!
//! If C code is compiled with `-fsanitize=thread`, the compiler replaces each atomic operation by a
//! call of one of these functions. They do the same as the methods of the atomic types: the
//! operation is a step of the task, at the line of the C code.

use core::ffi::c_int;
use std::sync::atomic::Ordering;

use super::fence::fence_at;
use super::{AtomicU8, AtomicU16, AtomicU32, AtomicU64};
use crate::execution::{self, Op, Site, opaque};
use crate::interpose::entry;
use crate::platform::places;

/// The line of the operation that returns to `caller`. `None` if the operation is no step of a
/// task. If the line is unknown, the operation counts as a call into code that the engine does not
/// see, because the linker's stubs may not have announced the calls of this code.
fn site_of(caller: usize) -> Option<Site> {
    if !execution::active() {
        return None;
    }
    let Some(place) = places::of_call_if_mapped(caller) else {
        opaque::enter_foreign();
        return None;
    };
    let is_of_program = !place.is_of_library() && !place.is_ignored();
    is_of_program.then(|| place.site())
}

/// The ordering of an operation that reads and writes, for C's number of a memory order.
fn order(number: c_int) -> Ordering {
    // The upper bits have hints for the processor.
    match number & 0x7fff {
        0 => Ordering::Relaxed,
        1 | 2 => Ordering::Acquire,
        3 => Ordering::Release,
        4 => Ordering::AcqRel,
        _ => Ordering::SeqCst,
    }
}

/// The ordering of a load. C does not allow an ordering that releases.
fn order_of_load(number: c_int) -> Ordering {
    match order(number) {
        Ordering::Release => Ordering::Relaxed,
        Ordering::AcqRel => Ordering::Acquire,
        order => order,
    }
}

/// The ordering of a store. C does not allow an ordering that acquires.
fn order_of_store(number: c_int) -> Ordering {
    match order(number) {
        Ordering::Acquire => Ordering::Relaxed,
        Ordering::AcqRel => Ordering::Release,
        order => order,
    }
}

/// Defines a module with the operations on atomics of one size. The last argument of each function
/// is the address to which the call returns.
macro_rules! operations {
    ($($size:ident: $Atomic:ident, $value:ty;)*) => {
        $(mod $size {
            use super::*;

            type Real = std::sync::atomic::$Atomic;

            /// # Safety
            ///
            /// `address` is that of an atomic of C code. So it is aligned, and the atomic lives
            /// during the call.
            unsafe fn atomic<'a>(address: *mut $value) -> &'a $Atomic {
                // SAFETY: the caller's promise.
                unsafe { $Atomic::from_ptr(address) }
            }

            pub(super) unsafe extern "C" fn load(
                address: *mut $value,
                order: c_int,
                caller: usize,
            ) -> $value {
                // SAFETY: C code has an atomic at this address.
                let atomic = unsafe { atomic(address) };
                let order = order_of_load(order);
                match site_of(caller) {
                    Some(site) => atomic.load_at(order, site),
                    None => real(atomic).load(order),
                }
            }

            pub(super) unsafe extern "C" fn store(
                address: *mut $value,
                value: $value,
                order: c_int,
                caller: usize,
            ) {
                // SAFETY: C code has an atomic at this address.
                let atomic = unsafe { atomic(address) };
                let order = order_of_store(order);
                match site_of(caller) {
                    Some(site) => atomic.store_at(value, order, site),
                    None => real(atomic).store(value, order),
                }
            }

            operations! {
                @updates $Atomic, $value;
                exchange = AtomicSwap, swap;
                fetch_add = AtomicFetchAdd, fetch_add;
                fetch_sub = AtomicFetchSub, fetch_sub;
                fetch_and = AtomicFetchAnd, fetch_and;
                fetch_or = AtomicFetchOr, fetch_or;
                fetch_xor = AtomicFetchXor, fetch_xor;
                fetch_nand = AtomicFetchNand, fetch_nand;
            }

            /// The atomic without its shim.
            fn real(atomic: &$Atomic) -> &Real {
                // SAFETY: the shim is transparent over the real atomic.
                unsafe { Real::from_ptr(atomic.as_ptr()) }
            }

            /// Replaces `current` by `new`. Returns the previous value, and whether it was equal
            /// to `current`.
            unsafe fn exchange_if(
                address: *mut $value,
                [current, new]: [$value; 2],
                orders: [c_int; 2],
                is_weak: bool,
                caller: usize,
            ) -> ($value, bool) {
                // SAFETY: C code has an atomic at this address.
                let atomic = unsafe { atomic(address) };
                let (success, failure) = (order(orders[0]), order_of_load(orders[1]));
                let result = match site_of(caller) {
                    Some(site) if is_weak => {
                        let op = Op::AtomicCompareExchangeWeak;
                        atomic.exchange_weak(op, current, new, success, failure, site)
                    }
                    Some(site) => {
                        let op = Op::AtomicCompareExchange;
                        atomic.exchange(op, current, new, success, failure, site)
                    }
                    None => real(atomic).compare_exchange(current, new, success, failure),
                };
                match result {
                    Ok(previous) => (previous, true),
                    Err(previous) => (previous, false),
                }
            }

            operations! {
                @exchanges $value;
                compare_exchange_strong, false;
                compare_exchange_weak, true;
            }

            pub(super) unsafe extern "C" fn compare_exchange_val(
                address: *mut $value,
                current: $value,
                new: $value,
                success: c_int,
                failure: c_int,
                caller: usize,
            ) -> $value {
                let orders = [success, failure];
                // SAFETY: C code has an atomic at this address.
                unsafe { exchange_if(address, [current, new], orders, false, caller) }.0
            }
        })*
    };
    (@updates $Atomic:ident, $value:ty; $($name:ident = $op:ident, $method:ident;)*) => {
        $(
            pub(super) unsafe extern "C" fn $name(
                address: *mut $value,
                operand: $value,
                number: c_int,
                caller: usize,
            ) -> $value {
                // SAFETY: C code has an atomic at this address.
                let atomic = unsafe { atomic(address) };
                let order = order(number);
                let update = |atomic: &Real| atomic.$method(operand, order);
                match site_of(caller) {
                    Some(site) => atomic.update_at(Op::$op, order, site, update),
                    None => update(real(atomic)),
                }
            }
        )*
    };
    (@exchanges $value:ty; $($name:ident, $is_weak:literal;)*) => {
        $(
            pub(super) unsafe extern "C" fn $name(
                address: *mut $value,
                expected: *mut $value,
                new: $value,
                success: c_int,
                failure: c_int,
                caller: usize,
            ) -> c_int {
                // SAFETY: C code has an atomic at `address` and its own variable at `expected`.
                unsafe {
                    let values = [expected.read(), new];
                    let orders = [success, failure];
                    let (previous, is_done) =
                        exchange_if(address, values, orders, $is_weak, caller);
                    if !is_done {
                        expected.write(previous);
                    }
                    c_int::from(is_done)
                }
            }
        )*
    };
}

operations! {
    bits_8: AtomicU8, u8;
    bits_16: AtomicU16, u16;
    bits_32: AtomicU32, u32;
    bits_64: AtomicU64, u64;
}

extern "C" fn fence(number: c_int, caller: usize) {
    let order = order(number);
    if order == Ordering::Relaxed {
        return;
    }
    match site_of(caller) {
        Some(site) => fence_at(order, site),
        None => std::sync::atomic::fence(order),
    }
}

// It orders accesses only within one thread.
#[unsafe(no_mangle)]
extern "C" fn __tsan_atomic_signal_fence(_order: c_int) {}

macro_rules! entries {
    ($($name:ident, $inner:path, $address:literal;)*) => {
        // The frame pointer is not needed. So it goes to `rax`, which passes no argument.
        $(entry!($name, $inner, $address, "rax");)*
    };
}

entries! {
    __tsan_atomic_thread_fence, fence, "rsi";
    __tsan_atomic8_load, bits_8::load, "rdx";
    __tsan_atomic8_store, bits_8::store, "rcx";
    __tsan_atomic8_exchange, bits_8::exchange, "rcx";
    __tsan_atomic8_fetch_add, bits_8::fetch_add, "rcx";
    __tsan_atomic8_fetch_sub, bits_8::fetch_sub, "rcx";
    __tsan_atomic8_fetch_and, bits_8::fetch_and, "rcx";
    __tsan_atomic8_fetch_or, bits_8::fetch_or, "rcx";
    __tsan_atomic8_fetch_xor, bits_8::fetch_xor, "rcx";
    __tsan_atomic8_fetch_nand, bits_8::fetch_nand, "rcx";
    __tsan_atomic8_compare_exchange_strong, bits_8::compare_exchange_strong, "r9";
    __tsan_atomic8_compare_exchange_weak, bits_8::compare_exchange_weak, "r9";
    __tsan_atomic8_compare_exchange_val, bits_8::compare_exchange_val, "r9";
    __tsan_atomic16_load, bits_16::load, "rdx";
    __tsan_atomic16_store, bits_16::store, "rcx";
    __tsan_atomic16_exchange, bits_16::exchange, "rcx";
    __tsan_atomic16_fetch_add, bits_16::fetch_add, "rcx";
    __tsan_atomic16_fetch_sub, bits_16::fetch_sub, "rcx";
    __tsan_atomic16_fetch_and, bits_16::fetch_and, "rcx";
    __tsan_atomic16_fetch_or, bits_16::fetch_or, "rcx";
    __tsan_atomic16_fetch_xor, bits_16::fetch_xor, "rcx";
    __tsan_atomic16_fetch_nand, bits_16::fetch_nand, "rcx";
    __tsan_atomic16_compare_exchange_strong, bits_16::compare_exchange_strong, "r9";
    __tsan_atomic16_compare_exchange_weak, bits_16::compare_exchange_weak, "r9";
    __tsan_atomic16_compare_exchange_val, bits_16::compare_exchange_val, "r9";
    __tsan_atomic32_load, bits_32::load, "rdx";
    __tsan_atomic32_store, bits_32::store, "rcx";
    __tsan_atomic32_exchange, bits_32::exchange, "rcx";
    __tsan_atomic32_fetch_add, bits_32::fetch_add, "rcx";
    __tsan_atomic32_fetch_sub, bits_32::fetch_sub, "rcx";
    __tsan_atomic32_fetch_and, bits_32::fetch_and, "rcx";
    __tsan_atomic32_fetch_or, bits_32::fetch_or, "rcx";
    __tsan_atomic32_fetch_xor, bits_32::fetch_xor, "rcx";
    __tsan_atomic32_fetch_nand, bits_32::fetch_nand, "rcx";
    __tsan_atomic32_compare_exchange_strong, bits_32::compare_exchange_strong, "r9";
    __tsan_atomic32_compare_exchange_weak, bits_32::compare_exchange_weak, "r9";
    __tsan_atomic32_compare_exchange_val, bits_32::compare_exchange_val, "r9";
    __tsan_atomic64_load, bits_64::load, "rdx";
    __tsan_atomic64_store, bits_64::store, "rcx";
    __tsan_atomic64_exchange, bits_64::exchange, "rcx";
    __tsan_atomic64_fetch_add, bits_64::fetch_add, "rcx";
    __tsan_atomic64_fetch_sub, bits_64::fetch_sub, "rcx";
    __tsan_atomic64_fetch_and, bits_64::fetch_and, "rcx";
    __tsan_atomic64_fetch_or, bits_64::fetch_or, "rcx";
    __tsan_atomic64_fetch_xor, bits_64::fetch_xor, "rcx";
    __tsan_atomic64_fetch_nand, bits_64::fetch_nand, "rcx";
    __tsan_atomic64_compare_exchange_strong, bits_64::compare_exchange_strong, "r9";
    __tsan_atomic64_compare_exchange_weak, bits_64::compare_exchange_weak, "r9";
    __tsan_atomic64_compare_exchange_val, bits_64::compare_exchange_val, "r9";
}
