//! `std::sync::atomic`: each operation is one step at one scheduling point.
//!
//! A method that is one operation is not inlined. The compiler would compile an inlined method with
//! the settings of the user's crate, which may be without optimisation. This crate is always optimised.

mod boolean;
mod fence;
mod integer;
mod of_c;
mod operations;
mod pointer;
mod weak;

pub use std::sync::atomic::*;

pub use boolean::AtomicBool;
#[allow(deprecated, reason = "std still exports it")]
pub use fence::{ATOMIC_BOOL_INIT, ATOMIC_ISIZE_INIT, ATOMIC_USIZE_INIT, spin_loop_hint};
pub use fence::{compiler_fence, fence};
pub use integer::{
    AtomicI8, AtomicI16, AtomicI32, AtomicI64, AtomicIsize, AtomicU8, AtomicU16, AtomicU32,
    AtomicU64, AtomicUsize,
};
pub use pointer::AtomicPtr;
