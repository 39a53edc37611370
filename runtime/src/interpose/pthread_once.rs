//! `pthread_once` and barriers of C code.

use core::ffi::{c_int, c_void};
use core::sync::atomic::{AtomicI32, Ordering};

use crate::base::real;
use crate::base::sys::OnceRoutine;
use crate::execution::{self, Effect, Op, active, opaque};

/// The values of glibc's `pthread_once_t`.
const NEW: c_int = 0;
const RUNNING: c_int = 1;
const DONE: c_int = 2;

/// libc's `pthread_once`.
///
/// If the routine was completed before the execution began, the call is not recorded, because the
/// unwinder makes such a call at every panic.
#[unsafe(no_mangle)]
pub(super) unsafe extern "C-unwind" fn pthread_once(
    control: *mut c_int,
    routine: OnceRoutine,
) -> c_int {
    let object = control.addr();
    // SAFETY: the caller's arguments are those of the real function.
    unsafe {
        if !active() {
            return real::pthread_once(control, routine);
        }
        let state = AtomicI32::from_ptr(control);
        if state.load(Ordering::Acquire) == DONE && !opaque::is_known(object) {
            return 0;
        }
        opaque::arrive(Op::PthreadOnce, object);
        while state.load(Ordering::Acquire) & RUNNING != 0 {
            opaque::sleep(Op::PthreadOnce, object, None);
        }
        if state.load(Ordering::Acquire) == DONE {
            opaque::record(Op::PthreadOnce, object, Effect::Read);
            return 0;
        }
        opaque::record(Op::PthreadOnce, object, Effect::Write);
        state.store(RUNNING, Ordering::Release);
        opaque::own(object);
        let mut running = Running {
            state,
            ends_as: NEW,
        };
        routine();
        running.ends_as = DONE;
    }
    0
}

/// The routine of a `pthread_once` while it runs. If the routine unwinds, the next caller of
/// `pthread_once` runs it again.
struct Running<'a> {
    state: &'a AtomicI32,
    ends_as: c_int,
}

impl Drop for Running<'_> {
    fn drop(&mut self) {
        let object = self.state.as_ptr().addr();
        opaque::arrive(Op::PthreadOnceComplete, object);
        self.state.store(self.ends_as, Ordering::Release);
        execution::disown(object);
        execution::wake_all(object);
        opaque::record(Op::PthreadOnceComplete, object, Effect::Write);
    }
}

/// The beginning of glibc's barrier.
#[repr(C)]
struct Barrier {
    arrived: u32,
    round: u32,
    /// The number of threads that the barrier waits for.
    count: u32,
}

/// libc's `pthread_barrier_wait`. The engine counts the tasks that have arrived.
#[unsafe(no_mangle)]
unsafe extern "C" fn pthread_barrier_wait(barrier: *mut c_void) -> c_int {
    const SERIAL_THREAD: c_int = -1;
    let object = barrier.addr();
    // SAFETY: the caller's argument is that of the real function.
    unsafe {
        if !active() {
            return real::pthread_barrier_wait(barrier);
        }
        opaque::arrive(Op::PthreadBarrierWait, object);
        opaque::record(Op::PthreadBarrierWait, object, Effect::Write);
        if opaque::join_barrier(object) >= (*barrier.cast::<Barrier>()).count {
            opaque::open_barrier(object);
            return SERIAL_THREAD;
        }
    }
    opaque::sleep(Op::PthreadBarrierWait, object, None);
    opaque::record(Op::PthreadBarrierWait, object, Effect::Read);
    0
}
