//! Foreign threads: kernel threads of the exploring process that the engine did not start. They run
//! outside control, in parallel to the tasks.

use chess_vocabulary::OutsideEffect;

use super::request::Isolation;
use crate::base::sys::{self, number};
use crate::execution;
use crate::harness::engine::Engine;
use crate::platform::handover::Backend;

/// Reports foreign threads to the user, if there are any. The check costs a system call. So it runs
/// only if the number of executions so far is 0 or a power of two.
pub(super) fn check_after_execution(engine: &Engine, isolation: Isolation) {
    let executions = engine.exploration.executions;
    if executions == 0 || executions.is_power_of_two() {
        check(engine, isolation);
    }
}

/// Reports foreign threads of this process to the user, if there are any.
pub(super) fn check(engine: &Engine, isolation: Isolation) {
    let donors = match (isolation, engine.pool.backend()) {
        // Kernel threads do not survive a fork.
        (Isolation::Fork, Backend::Fibers) => 0,
        _ => engine.pool.count(),
    };
    let own = match isolation {
        Isolation::Fork => 1,
        // The main thread waits.
        Isolation::Image | Isolation::Tls => 2,
    };
    if count().is_some_and(|threads| threads > donors + own) {
        execution::note_outside(OutsideEffect::KernelThread);
    }
}

/// The number of kernel threads of this process: the number of links of their directory, without
/// the two that every directory has.
fn count() -> Option<usize> {
    const LINKS_AT: usize = 2;
    let mut status = [0usize; 18];
    let path = c"/proc/self/task".as_ptr() as usize;
    let at = &raw mut status as usize;
    // SAFETY: the path ends in a zero; `status` is as large as the kernel's structure.
    let result = unsafe { sys::syscall(number::STAT, [path, at, 0, 0, 0, 0]) };
    (result == 0).then(|| status[LINKS_AT].saturating_sub(2))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::thread;

    #[test]
    fn a_thread_more_is_counted() {
        let (stop, stopped) = std::sync::mpsc::channel::<()>();
        let thread = thread::spawn(move || stopped.recv());
        // The threads of the test harness may come and go; these two exist.
        assert!(count().is_some_and(|threads| threads >= 2));
        drop(stop);
        assert!(thread.join().unwrap().is_err());
    }
}
