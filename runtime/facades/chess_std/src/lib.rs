//! The facade of `std`: code under cargo chess is compiled against this crate in place of `std`.
//!
//! It has all items of `std`. The items that concern concurrency are shims of the runtime. The
//! preludes and macros of `std` name no type that has a shim, so the facade has the real items and
//! macros. The exception is `asm!`, whose shim inspects the text of the assembly.

pub use ::std::*;

pub use chess_runtime::shim::{any, cell, env, hint, ptr, sync, task, thread};

#[doc(hidden)]
pub use chess_runtime::{__chess_mark, shim::overlay as __chess};

/// See [`std::arch`].
pub mod arch {
    pub use ::std::arch::*;

    pub use chess_runtime::__chess_asm as asm;

    /// See [`std::arch::x86_64`].
    pub mod x86_64 {
        pub use ::std::arch::x86_64::*;

        pub use chess_runtime::shim::arch::{__rdtscp, _mm_pause, _rdtsc};
    }
}

/// See [`std::panic`](mod@std::panic).
pub mod panic {
    pub use ::std::panic::*;

    pub use chess_runtime::shim::panic::{set_hook, take_hook};
}

/// See [`std::prelude`].
pub mod prelude {
    /// Each prelude has the items of the real one, and the names that inserted code uses.
    macro_rules! preludes {
        ($($edition:ident)*) => {
            $(
                /// See [`std::prelude`].
                pub mod $edition {
                    pub use ::std::prelude::$edition::*;

                    #[doc(hidden)]
                    pub use chess_runtime::{__chess_mark, shim::overlay as __chess};
                }
            )*
        };
    }

    preludes!(v1 rust_2015 rust_2018 rust_2021 rust_2024);
}
