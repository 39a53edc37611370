//! What `core` is to code under cargo chess: the real one, with our atomics,
//! cells, pointer functions and spin hints in their place.

pub use ::core::*;

pub use chess_runtime::shim::{cell, hint, ptr};

/// See [`core::sync`].
pub mod sync {
    pub use ::core::sync::*;

    pub use chess_runtime::shim::sync::atomic;
}
