//! The one place where plain memory accesses are told: what rewritten code calls before
//! an access, and `ptr` functions, come here.

use std::panic::Location;

use crate::execution::Site;
use crate::monitor::race;
use crate::platform::observers::observes_accesses;

/// Declares functions that are told of accesses of a kind.
macro_rules! told {
    ($($(#[$doc:meta])* $name:ident, $tell:ident, $ask:ident, $call:ident = $kind:expr $(, after $before:expr)?;)*) => {
        $(
            $(#[$doc])*
            #[inline]
            #[track_caller]
            pub(super) const fn $name(address: *const u8, size: usize) {
                #[inline(always)]
                fn tell(address: *const u8, size: usize, site: Site) {
                    $tell(address, size, (site, false));
                }

                core::intrinsics::const_eval_select(
                    (address, size, Location::caller()),
                    nothing,
                    tell,
                );
            }

            /// The same, where it is known that the program runs; and maybe, that the code of the
            /// line is explored.
            // Inlined always: mostly it is a question without a call.
            #[inline(always)]
            pub(super) fn $tell(address: *const u8, size: usize, line: (Site, bool)) {
                // Where the user's crate is compiled without optimisation, as its checks
                // tell, the question is asked in a call: this crate never is.
                if core::intrinsics::ub_checks() {
                    $ask(address, size, line.0, line.1);
                } else if !race::is_noted(address.addr(), size, $kind, line) {
                    $call(address, size, line.0, line.1);
                }
            }

            #[inline(never)]
            fn $ask(address: *const u8, size: usize, site: Site, is_explored: bool) {
                let line = (site, is_explored);
                if !race::is_noted(address.addr(), size, $kind, line) {
                    $(race::told(address.addr(), size, $before, line);)?
                    race::told(address.addr(), size, $kind, line);
                }
            }

            #[inline(never)]
            fn $call(address: *const u8, size: usize, site: Site, is_explored: bool) {
                let line = (site, is_explored);
                $(race::told(address.addr(), size, $before, line);)?
                race::told(address.addr(), size, $kind, line);
            }
        )*
    };
}

const READ: (bool, bool) = (false, false);
const WRITE: (bool, bool) = (true, false);

told! {
    /// `size` bytes at `address` are about to be read.
    read, tell_read, ask_read, call_read = READ;
    /// `size` bytes at `address` are about to be written.
    write, tell_write, ask_write, call_write = WRITE;
    /// They are about to be read and written: where there is nothing to judge about a write, there
    /// is nothing about a read.
    update, tell_update, ask_update, call_update = WRITE, after READ;
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
