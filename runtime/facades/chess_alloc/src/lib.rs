//! The facade of `alloc`: code under cargo chess is compiled against this crate in place of
//! `alloc`.
//!
//! It has all items of `alloc`. `Arc`, its `Weak`, and `Wake` are shims of the runtime.

extern crate alloc as real;

pub use real::*;

#[doc(hidden)]
pub use chess_runtime::{__chess_mark, shim::overlay as __chess};

/// See [`alloc::sync`](real::sync).
pub mod sync {
    pub use crate::real::sync::*;

    pub use chess_runtime::shim::sync::{Arc, Weak};
}

/// See [`alloc::task`](real::task).
pub mod task {
    pub use crate::real::task::*;

    pub use chess_runtime::shim::task::Wake;
}
