//! What `std` is to code under cargo chess: the real one, with our concurrency
//! in its place. Macros and preludes are the real ones: they name none of ours.

pub use ::std::*;

pub use chess_runtime::shim::{cell, hint, ptr, sync, task, thread};
