//! A wait for a signal that fails, and one that finds a signal.

use std::ffi::c_int;

unsafe extern "C" {
    fn sigwait(set: *const u64, signal: *mut c_int) -> c_int;
    fn sigprocmask(how: c_int, set: *const u64, old: *mut u64) -> c_int;
    fn raise(signal: c_int) -> c_int;
}

const SIG_BLOCK: c_int = 0;
const SIGUSR1: c_int = 10;

fn main() {
    let mut signal = 0;
    // Sets have 1,024 bits in libc.
    let mut set = [0; 16];
    set[0] = 1 << (SIGUSR1 - 1);
    // SAFETY: the kernel rejects the invalid address of a set; the other arguments are valid.
    unsafe {
        let error = sigwait(8 as *const u64, &raw mut signal);
        println!("an invalid address: error {error}");
        assert_eq!(sigprocmask(SIG_BLOCK, set.as_ptr(), std::ptr::null_mut()), 0);
        assert_eq!(raise(SIGUSR1), 0);
        let error = sigwait(set.as_ptr(), &raw mut signal);
        println!("a pending signal: error {error}, signal {signal}");
    }
}
