//! `pthread_exit`: the end of a task before its functions have returned.
//!
//! glibc's own function would unwind to the first frame of the donor (the thread that lends its
//! stack to the task), and end the donor's kernel thread. Here the same forced unwinding stops at
//! the task's first frame. It runs the clean-ups of C++, and of C that is compiled with
//! `-fexceptions`. If C code is compiled without this flag, its handlers of `pthread_cleanup_push`
//! do not run, because only glibc knows them.

use core::ffi::{c_int, c_void};

use crate::base::memory::EngineMemory;
use crate::base::real;
use crate::execution::{self, active};

/// The exception with which the task unwinds. It begins with the header of the unwinder.
#[repr(C, align(16))]
struct Exception {
    class: u64,
    clean_up: Option<unsafe extern "C" fn(c_int, *mut Exception)>,
    private: [u64; 2],
    /// The result for `pthread_join`.
    result: *mut c_void,
}

type Stop = unsafe extern "C" fn(
    version: c_int,
    actions: c_int,
    class: u64,
    exception: *mut Exception,
    context: *mut c_void,
    parameter: *mut c_void,
) -> c_int;

unsafe extern "C-unwind" {
    fn _Unwind_ForcedUnwind(exception: *mut Exception, stop: Stop, parameter: *mut c_void)
    -> c_int;
}

/// libc's `pthread_exit`.
#[unsafe(no_mangle)]
pub(super) unsafe extern "C-unwind" fn pthread_exit(result: *mut c_void) -> ! {
    if !active() {
        // SAFETY: the caller's argument is that of the real function.
        unsafe { real::pthread_exit(result) };
    }
    // The exception must not be on the stack, because clean-ups overwrite the stack.
    let exception = Box::new_in(
        Exception {
            class: 0,
            clean_up: None,
            private: [0; 2],
            result,
        },
        EngineMemory,
    );
    let (exception, _) = Box::into_raw_with_allocator(exception);
    // SAFETY: the exception lives until the task has ended. The call returns only if a
    // frame cannot be unwound: the frames below then stay unchanged.
    unsafe {
        _Unwind_ForcedUnwind(exception, stop, core::ptr::null_mut());
        end(exception)
    }
}

/// The unwinder calls this at each frame. Unwinding continues until no frame of the task is left.
/// Then the task ends.
unsafe extern "C" fn stop(
    _version: c_int,
    actions: c_int,
    _class: u64,
    exception: *mut Exception,
    _context: *mut c_void,
    _parameter: *mut c_void,
) -> c_int {
    const CONTINUE: c_int = 0;
    const END_OF_STACK: c_int = 16;
    if actions & END_OF_STACK != 0 {
        // SAFETY: no frame of the program is left.
        unsafe { end(exception) };
    }
    CONTINUE
}

unsafe fn end(exception: *mut Exception) -> ! {
    // SAFETY: made by `pthread_exit`, and not used again; the frames of the task are
    // abandoned.
    unsafe {
        let exception = Box::from_raw_in(exception, EngineMemory);
        let result = exception.result;
        drop(exception);
        execution::end_task(result)
    }
}
