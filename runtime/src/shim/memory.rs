//! The common entry of all announcements of plain memory accesses: those of rewritten code, and
//! those of the functions of `ptr`.

use std::panic::Location;

use crate::execution::Site;
use crate::monitor::race;
use crate::platform::observers::observes_accesses;

/// Declares the functions that announce accesses of a kind.
macro_rules! announcements {
    ($($(#[$doc:meta])* $name:ident, $announce:ident, $check:ident, $call:ident = $kind:expr $(, after $before:expr)?;)*) => {
        $(
            $(#[$doc])*
            #[inline]
            #[track_caller]
            pub(super) const fn $name(address: *const u8, size: usize) {
                #[inline(always)]
                fn announce(address: *const u8, size: usize, site: Site) {
                    $announce(address, size, (site, false));
                }

                core::intrinsics::const_eval_select(
                    (address, size, Location::caller()),
                    nothing,
                    announce,
                );
            }

            /// The same, if the code is known to run outside constant evaluation. The flag of
            /// `line` says whether the code of the line is explored.
            // Always inlined: in most cases it is a check without a call.
            #[inline(always)]
            pub(super) fn $announce(address: *const u8, size: usize, line: (Site, bool)) {
                // If the user's crate is compiled without optimisation, in which case it has UB
                // checks, the check is a call: this crate is always optimised.
                if core::intrinsics::ub_checks() {
                    $check(address, size, line.0, line.1);
                } else if !race::is_noted(address.addr(), size, $kind, line) {
                    $call(address, size, line.0, line.1);
                }
            }

            #[inline(never)]
            fn $check(address: *const u8, size: usize, site: Site, is_explored: bool) {
                let line = (site, is_explored);
                if !race::is_noted(address.addr(), size, $kind, line) {
                    $(race::report_access(address.addr(), size, $before, line);)?
                    race::report_access(address.addr(), size, $kind, line);
                }
            }

            #[inline(never)]
            fn $call(address: *const u8, size: usize, site: Site, is_explored: bool) {
                let line = (site, is_explored);
                $(race::report_access(address.addr(), size, $before, line);)?
                race::report_access(address.addr(), size, $kind, line);
            }
        )*
    };
}

const READ: (bool, bool) = (false, false);
const WRITE: (bool, bool) = (true, false);

announcements! {
    /// Announces a read of `size` bytes at `address`.
    read, announce_read, check_read, call_read = READ;
    /// Announces a write to `size` bytes at `address`.
    write, announce_write, check_write, call_write = WRITE;
    /// Announces a read, followed by a write. If the write needs no check, the read needs none
    /// either.
    update, announce_update, check_update, call_update = WRITE, after READ;
    /// Announces a shared reference to `size` bytes at `address`.
    borrow, announce_borrow, check_borrow, call_borrow = (false, true);
    /// Announces a unique reference to `size` bytes at `address`.
    borrow_mut, announce_borrow_mut, check_borrow_mut, call_borrow_mut = (true, true);
}

const fn nothing(_: *const u8, _: usize, _: Site) {}

/// Must be in every function that announces an access, and inlined into the caller's code.
#[inline(always)]
#[expect(clippy::inline_always, reason = "it makes no instructions")]
pub(super) const fn announces() {
    core::intrinsics::const_eval_select((), announces_nothing, observes_accesses);
}

const fn announces_nothing() {}
