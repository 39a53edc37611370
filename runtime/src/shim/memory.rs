//! The common entry of all announcements of references to raw memory: those of rewritten code, and
//! those of `ptr::drop_in_place`.

use crate::execution::Site;
use crate::monitor::race;

#[inline(always)]
#[expect(
    clippy::inline_always,
    reason = "it runs before each access of the user's code"
)]
fn is_noted(
    address: usize,
    length: usize,
    kind: (bool, bool),
    (site, is_explored): (Site, bool),
) -> bool {
    if is_explored {
        race::is_noted(address, length, kind, || Some(site))
    } else {
        race::is_noted_at(address, length, kind, site)
    }
}

/// Declares the functions that announce borrows of one kind: shared or unique.
macro_rules! announcements {
    ($($(#[$doc:meta])* $name:ident, $check:ident, $call:ident = $kind:expr;)*) => {
        $(
            $(#[$doc])*
            // Always inlined: in most cases it only checks that the borrow is already recorded,
            // without a call.
            #[inline(always)]
            pub(super) fn $name(address: *const u8, size: usize, line: (Site, bool)) {
                // `ub_checks` is true if the user's crate is compiled with debug assertions, and so
                // usually without optimisation. Then the check is faster in a function of this
                // crate, which is always optimised.
                if core::intrinsics::ub_checks() {
                    $check(address, size, line.0, line.1);
                } else if !is_noted(address.addr(), size, $kind, line) {
                    $call(address, size, line.0, line.1);
                }
            }

            #[inline(never)]
            fn $check(address: *const u8, size: usize, site: Site, is_explored: bool) {
                let line = (site, is_explored);
                if !is_noted(address.addr(), size, $kind, line) {
                    race::report_access(address.addr(), size, $kind, line);
                }
            }

            #[inline(never)]
            fn $call(address: *const u8, size: usize, site: Site, is_explored: bool) {
                race::report_access(address.addr(), size, $kind, (site, is_explored));
            }
        )*
    };
}

announcements! {
    /// Announces a shared reference to `size` bytes at `address`. The flag of `line` says whether
    /// the code of the line is known to be explored.
    borrow, check_borrow, call_borrow = (false, true);
    /// Does the same as [`borrow`], for a unique reference.
    borrow_mut, check_borrow_mut, call_borrow_mut = (true, true);
}
