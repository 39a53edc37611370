//! Kernel threads of the exploring process that nobody here started: they run
//! beside the tasks, when and as they like.

use super::request::Isolation;
use crate::base::sys::{self, number};
use crate::engine::Engine;
use crate::execution;
use crate::platform::handover::Backend;

const SENTENCE: &str = "started a kernel thread without pthread_create";

/// Tells the user of foreign threads. Looking costs a system call, so it is done
/// after the first executions and ever more seldom.
pub(super) fn look_after_execution(engine: &Engine, isolation: Isolation) {
    let executions = engine.exploration.executions;
    if executions == 0 || executions.is_power_of_two() {
        look(engine, isolation);
    }
}

/// Tells the user of foreign threads in this process.
pub(super) fn look(engine: &Engine, isolation: Isolation) {
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
        execution::note_outside(SENTENCE);
    }
}

/// The kernel threads of this process: the links of their directory, besides its
/// own two.
fn count() -> Option<usize> {
    const LINKS_AT: usize = 2;
    let mut status = [0usize; 18];
    let path = c"/proc/self/task".as_ptr() as usize;
    let at = &raw mut status as usize;
    // SAFETY: a path that ends in a zero; `status` is as large as the kernel's structure.
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
        // The harness' own threads may come and go; these two are here.
        assert!(count().is_some_and(|threads| threads >= 2));
        drop(stop);
        assert!(thread.join().unwrap().is_err());
    }
}
