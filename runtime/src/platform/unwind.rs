//! The return addresses on the stack of the calling thread.

use core::ffi::{c_int, c_void};

#[repr(C)]
struct Context([u8; 0]);

type Visit = unsafe extern "C" fn(context: *mut Context, argument: *mut c_void) -> c_int;

unsafe extern "C" {
    fn _Unwind_Backtrace(visit: Visit, argument: *mut c_void) -> c_int;
    fn _Unwind_GetIP(context: *mut Context) -> usize;
}

const CONTINUE: c_int = 0;
const STOP: c_int = 5;

/// The found return addresses, and their number.
struct Found<'a> {
    addresses: &'a mut [usize],
    count: usize,
}

/// Writes the return addresses on the stack of the calling thread into `addresses`, the innermost
/// first, and returns their number. Addresses for which there is no room are left out. This
/// function allocates nothing.
#[inline(never)]
pub(crate) fn return_addresses(addresses: &mut [usize]) -> usize {
    let mut found = Found {
        addresses,
        count: 0,
    };
    // SAFETY: `visit` is called with this argument only, before the call returns.
    unsafe { _Unwind_Backtrace(visit, (&raw mut found).cast()) };
    found.count
}

unsafe extern "C" fn visit(context: *mut Context, argument: *mut c_void) -> c_int {
    // SAFETY: the argument is the one that `return_addresses` passed, which has no other user.
    let found = unsafe { &mut *argument.cast::<Found<'_>>() };
    let Some(slot) = found.addresses.get_mut(found.count) else {
        return STOP;
    };
    // SAFETY: the unwinder's own context.
    *slot = unsafe { _Unwind_GetIP(context) };
    found.count += 1;
    CONTINUE
}

#[cfg(test)]
mod tests {
    use super::*;

    #[inline(never)]
    fn deep(levels: usize, addresses: &mut [usize]) -> usize {
        let count = match levels {
            0 => return_addresses(addresses),
            levels => deep(levels - 1, addresses),
        };
        core::hint::black_box(count)
    }

    #[test]
    fn each_function_that_has_not_returned_has_an_address() {
        let mut addresses = [0; 256];
        let few = deep(1, &mut addresses);
        let many = deep(11, &mut addresses);
        assert_eq!(many, few + 10);
        assert!(
            addresses[..few]
                .iter()
                .all(|&it| it == 0 || it > crate::platform::executable::bounds().0)
        );
    }

    #[test]
    fn addresses_without_room_are_left_out() {
        assert_eq!(deep(9, &mut [0; 4]), 4);
    }
}
