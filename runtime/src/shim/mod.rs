//! What stands where `std`'s concurrency was: a tree that mirrors `std`'s modules.
//!
//! Each module shows all that its namesake shows, and puts its own types in the
//! place of those whose operations tasks can observe. A type of ours is the real
//! one inside, with its layout, traits and constness; code that is not
//! redirected, and threads that are no tasks, use it as the real thing. A method
//! asks [`execution::active`](crate::execution::active) once. Outside an
//! execution it is the real method. Inside, it reaches a scheduling point, then
//! performs the real operation where that cannot block; all blocking is the
//! engine's.
//!
//! A new shim: write the newtype here under its path in `std`, declare its
//! operations in `execution/op.rs`; `runtime/facades/chess_std/tests` says what
//! is missing.

#![allow(
    missing_docs,
    clippy::missing_safety_doc,
    reason = "an item here is documented at its namesake in std"
)]

pub mod access;
pub mod any;
pub mod arch;
pub mod asm;
pub mod cell;
pub mod env;
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
