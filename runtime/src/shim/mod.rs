//! Shims for `std`'s concurrency, in a tree that mirrors the modules of `std`.
//!
//! A module that has the name of a module of `std` has all items of that module, with shims in place
//! of the items whose operations tasks can observe. Only `arch`, `panic` and `time` lack the other
//! items. A shim has the layout, the traits and the constness of the real type, and in most cases
//! contains the real type. A method of a shim checks
//! [`execution::active`](crate::execution::active) first. For a thread that is not a task, the
//! method behaves as the real method. For a task it reaches a scheduling point. Then it performs the
//! real operation as soon as this operation cannot block, because only the engine may block tasks.
//!
//! To add a shim, write the newtype here under its path in `std`, and declare its operations in
//! `vocabulary/src/op.rs`. The test `std_api` in `runtime/tests` reports missing items.

#![allow(
    missing_docs,
    clippy::missing_safety_doc,
    reason = "an item here is documented at its namesake in std"
)]

pub mod any;
pub mod arch;
pub mod asm;
pub mod borrows;
pub mod cell;
mod component;
pub mod env;
pub mod exclusive;
pub mod hint;
mod memory;
pub mod overlay;
pub mod panic;
pub mod parking;
pub mod ptr;
pub mod sync;
pub mod task;
pub mod thread;
mod time;
