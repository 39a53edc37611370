//! The handler of page faults. A page fault is the first write to a page of the memory image, or
//! an invalid access of the program.

use core::ffi::{c_int, c_void};

use super::disposition::fault_handler;
use crate::base::{real, sys};
use crate::execution;
use crate::platform::image::image;

/// Installs the handler of SIGSEGV.
pub(crate) fn install_fault_handler() {
    let handler: unsafe extern "C" fn(c_int, *mut sys::siginfo_t, *mut c_void) = on_fault;
    let action = sys::sigaction_t {
        handler: handler as usize,
        mask: [0; 16],
        flags: sys::SA_SIGINFO | sys::SA_ONSTACK | sys::SA_NODEFER,
        restorer: 0,
    };
    // SAFETY: a valid action; the former one (std's message about stack overflow)
    // cannot know tasks.
    unsafe { real::sigaction(sys::SIGSEGV, &raw const action, core::ptr::null_mut()) };
}

unsafe extern "C" fn on_fault(signal: c_int, info: *mut sys::siginfo_t, context: *mut c_void) {
    // SAFETY: the kernel passes valid information; the engine is mapped, and
    // the faulting code is the program's, not the engine's.
    unsafe {
        let address = (*info).address;
        if (*info).code == sys::SEGV_ACCERR && (*image()).allows_write(address) {
            return;
        }
        execution::note_fault(address);
        if let Some(handler) = fault_handler() {
            let handler: unsafe extern "C" fn(c_int, *mut sys::siginfo_t, *mut c_void) =
                core::mem::transmute(handler);
            // The handler runs on the alternate stack, where no scheduling point may be reached.
            execution::detached(|| handler(signal, info, context));
            return;
        }
        // After the return, the access faults again, and the default action of SIGSEGV ends the
        // process.
        sys::reset_signal(signal);
    }
}
