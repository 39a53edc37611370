//! The calls by which tasks start and observe child processes, and the engine's waits for these
//! processes.

use core::ffi::c_int;

use chess_vocabulary::OutsideEffect;

use super::descriptors::Descriptors;
use super::outside_waits::note;
use super::running::with;
use super::state::Execution;
use crate::base::sys::{self, number};
use crate::platform::signals_in_flight::are_in_flight;

/// The usual time, in nanoseconds, that the start of a process takes.
const START_OF_PROCESS: u64 = 1_000_000;
/// The bit of SIGCHLD.
const SIGCHLD: u64 = 1 << 16;
/// The number of naps (of a millisecond each) by which SIGCHLD may be late. The signal certainly
/// arrives unless all threads block it, but the thread that receives it may wait for a processor.
const LATE: u32 = 1000;
/// The number of naps after which a pending SIGCHLD counts as blocked by all threads.
const LATE_IF_BLOCKED: u32 = 20;

impl Descriptors {
    /// Whether this execution has started children, and the engine stops them while tasks can run.
    pub(super) fn stops_children(&self) -> bool {
        self.processes > 0 && !self.children.are_free()
    }
}

impl Execution {
    /// Lets the children run until each of them has ended or waits, or until the patience of the
    /// engine is over. Does not stop the children again: call [`Self::stop_children`].
    pub(super) fn let_children_run(&mut self) {
        if !self.descriptors.children.is_empty() {
            self.descriptors.wait_in_kernel(|it| it.children.run());
        }
    }

    /// Records that a task has yielded while another task is enabled. Lets the children run after
    /// many such yields, because all enabled tasks may wait in loops for an effect of a child.
    pub(super) fn yielded_beside_children(&mut self) {
        if self.descriptors.children.must_run_after_yield() {
            self.let_children_run();
            self.stop_children();
        }
    }

    /// Stops the children until [`Self::let_children_run`].
    pub(super) fn stop_children(&mut self) {
        if !self.descriptors.children.is_empty() {
            self.descriptors.children.stop();
        }
    }

    /// Waits for the arrival of signals that children have sent, and of SIGCHLD if children have
    /// ended: another thread may not have run the handler yet. After this wait, a task handles the
    /// signal before other tasks see the end of the child.
    pub(super) fn wait_for_signals_of_children(&mut self) {
        let descriptors = &mut self.descriptors;
        if descriptors.processes > 0 && descriptors.arrivals.are_open() {
            let caught = descriptors.arrivals.caught();
            let mut naps = 0..LATE;
            while are_in_flight(caught) && naps.next().is_some() {
                sys::nap();
            }
        }
        // A child that ends before the program has a handler counts as signalled: its SIGCHLD had
        // no effect.
        let are_new = descriptors.children.note_ends();
        if !are_new || descriptors.arrivals.caught() & SIGCHLD == 0 {
            return;
        }
        for nap in 0..LATE {
            let is_blocked = nap > LATE_IF_BLOCKED && is_pending(SIGCHLD);
            if is_blocked || descriptors.arrivals.are_there() {
                return;
            }
            sys::nap();
        }
    }
}

/// Whether the signal with the bit `bit` is pending in the kernel.
fn is_pending(bit: u64) -> bool {
    let mut pending = 0u64;
    let at = &raw mut pending as usize;
    // SAFETY: the kernel writes the set, which has eight bytes.
    unsafe { sys::syscall(number::RT_SIGPENDING, [at, 8, 0, 0, 0, 0]) };
    pending & bit != 0
}

/// Records a new child process, for which the tasks may wait. Its start takes virtual time: a test
/// that starts processes until a second is over would otherwise start a million. `stops_itself`
/// states that the child stops before its program begins. Otherwise the engine stops it.
pub(crate) fn add_child(child: c_int, stops_itself: bool) {
    with(|execution| {
        execution.clock += START_OF_PROCESS;
        execution.descriptors.processes += 1;
        execution.descriptors.watchful = true;
        execution.descriptors.children.add(child, stops_itself);
    });
}

/// Records that SIGCHLD has been sent for all children that have ended: the program had no handler
/// for it yet, so the engine waits for no such signal.
pub(crate) fn earlier_ends_are_signalled() {
    with(|execution| execution.descriptors.children.note_ends());
}

/// Forgets `child`, for which a task has waited.
pub(crate) fn forget_child(child: c_int) {
    with(|execution| execution.descriptors.children.remove(child));
}

/// Kills a child by SIGKILL when it may run next. Returns `false` if this is not possible: the
/// caller then sends the signal at once.
pub(crate) fn kill_child(child: c_int) -> bool {
    with(|execution| execution.descriptors.children.kill(child)).unwrap_or(false)
}

/// Calls `visit` with the children for which no task has waited.
pub(crate) fn for_each_child(visit: impl FnMut(c_int)) {
    with(|execution| execution.descriptors.children.ids().for_each(visit));
}

/// Whether tasks see that a child has ended. `child` is the id of the child; `None` stands for any
/// child. Returns `None` if the engine does not know such a child.
pub(crate) fn has_child_ended(child: Option<c_int>) -> Option<bool> {
    with(|execution| execution.descriptors.children.has_ended(child)).flatten()
}

/// The first child that tasks see as ended.
pub(crate) fn ended_child() -> Option<c_int> {
    with(|execution| execution.descriptors.children.first_ended()).flatten()
}

/// Lets the children of this execution run freely from now on: a task observes when they stop or
/// continue, or it stops one itself.
pub(crate) fn let_children_run_freely() {
    with(|execution| execution.descriptors.children.run_freely());
}

/// Records that a task waits for a child process.
pub(crate) fn note_wait_for_child() {
    note(OutsideEffect::Child);
}
