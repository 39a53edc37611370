//! The one place where plain memory accesses are told: what rewritten code calls before
//! an access, and `ptr` functions, come here.

use std::panic::Location;

use crate::execution::Site;
use crate::monitor::race;
use crate::platform::observers::observes_accesses;

/// Declares a function that is told of accesses of a kind.
macro_rules! told {
    ($($(#[$doc:meta])* $name:ident, $work:ident, $ask:ident, $call:ident = ($is_write:literal, $is_borrow:literal);)*) => {
        $(
            $(#[$doc])*
            #[inline]
            #[track_caller]
            pub(super) const fn $name(address: *const u8, size: usize) {
                core::intrinsics::const_eval_select(
                    (address, size, Location::caller()),
                    nothing,
                    $work,
                );
            }

            /// The same, where it is known that the program runs.
            // Inlined always: mostly it is a question without a call.
            #[inline(always)]
            pub(super) fn $work(address: *const u8, size: usize, site: Site) {
                // Where the user's crate is compiled without optimisation, as its checks
                // tell, the question is asked in a call: this crate never is.
                if core::intrinsics::ub_checks() {
                    $ask(address, size, site);
                } else if !race::is_noted(address.addr(), size, $is_write, $is_borrow, site) {
                    $call(address, size, site);
                }
            }

            #[inline(never)]
            fn $ask(address: *const u8, size: usize, site: Site) {
                if !race::is_noted(address.addr(), size, $is_write, $is_borrow, site) {
                    race::told(address.addr(), size, $is_write, $is_borrow, site);
                }
            }

            #[inline(never)]
            fn $call(address: *const u8, size: usize, site: Site) {
                race::told(address.addr(), size, $is_write, $is_borrow, site);
            }
        )*
    };
}

told! {
    /// `size` bytes at `address` are about to be read.
    read, tell_read, ask_read, call_read = (false, false);
    /// `size` bytes at `address` are about to be written.
    write, tell_write, ask_write, call_write = (true, false);
    /// A shared reference to `size` bytes at `address` is made.
    borrow, tell_borrow, ask_borrow, call_borrow = (false, true);
    /// A unique reference to `size` bytes at `address` is made.
    borrow_mut, tell_borrow_mut, ask_borrow_mut, call_borrow_mut = (true, true);
}

const fn nothing(_: *const u8, _: usize, _: Site) {}

/// Stands in every function that tells of an access, where the caller's code is made.
#[inline(always)]
#[expect(clippy::inline_always, reason = "it makes no instructions")]
pub(super) const fn tells() {
    core::intrinsics::const_eval_select((), tells_nothing, observes_accesses);
}

const fn tells_nothing() {}
