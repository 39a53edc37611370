//! Shims for `std`'s concurrency, in a tree that mirrors the modules of `std`.
//!
//! Each module has all items of the module of `std` with the same name, with shims in place of the
//! types whose operations tasks can observe. A shim contains the real type, and has its layout,
//! traits and constness. Code that is not redirected, and threads that are not tasks, use a shim
//! as the real type. A method of a shim checks [`execution::active`](crate::execution::active)
//! once. Outside an execution the method calls the real method. Inside an execution it reaches a
//! scheduling point. Then it performs the real operation as soon as this operation cannot block,
//! because only the engine may block tasks.
//!
//! To add a shim, write the newtype here under its path in `std`, and declare its operations in
//! `vocabulary/src/op.rs`; `runtime/facades/chess_std/tests` reports missing items.

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
