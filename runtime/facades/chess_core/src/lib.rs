//! The facade of `core`: code under cargo chess is compiled against this crate in place of `core`.
//!
//! It has all items of `core`. Atomics, `UnsafeCell`, `ptr::drop_in_place`, type names, spin hints and
//! some processor instructions are shims of the runtime. So is `asm!`, which inspects the text of the
//! assembly.

pub use ::core::*;

pub use chess_runtime::shim::{any, cell, hint, ptr};

#[doc(hidden)]
pub use chess_runtime::{__chess_mark, shim::overlay as __chess};

/// See [`core::arch`].
pub mod arch {
    pub use ::core::arch::*;

    pub use chess_runtime::__chess_asm as asm;

    /// See [`core::arch::x86_64`].
    pub mod x86_64 {
        pub use ::core::arch::x86_64::*;

        pub use chess_runtime::shim::arch::{__rdtscp, _mm_pause, _rdtsc};
    }
}

/// See [`core::prelude`].
pub mod prelude {
    /// Each prelude has the items of the real one, and the names that inserted code uses.
    macro_rules! preludes {
        ($($edition:ident)*) => {
            $(
                /// See [`core::prelude`].
                pub mod $edition {
                    pub use ::core::prelude::$edition::*;

                    #[doc(hidden)]
                    pub use chess_runtime::{__chess_mark, shim::overlay as __chess};
                }
            )*
        };
    }

    preludes!(v1 rust_2015 rust_2018 rust_2021 rust_2024);
}

/// See [`core::sync`].
pub mod sync {
    pub use ::core::sync::*;

    pub use chess_runtime::shim::sync::atomic;
}
