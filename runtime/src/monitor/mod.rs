//! Monitors: they watch executions, and decide whether an execution failed.
//!
//! The engine calls a monitor for each event of interest, as in CHESS ("Writing a CHESS Monitor" in
//! its tutorial; OSDI'08 section 4.5): the start and the end of an execution, each scheduling
//! point, each synchronization access, each data access, each allocation and free. A monitor sees
//! tasks, objects and operations, but no fibers, shims or memory of the program. One task runs at a
//! time, so calls of a monitor never overlap.
//!
//! **A monitor must not depend on the order of operations that commute.** Of all schedules with the
//! same happens-before graph, a search runs only one. If a monitor finds a failure in only some of
//! these schedules, the search may miss it, and the verdict "complete" is wrong. So a verdict must
//! follow from the happens-before relation (objects, effects, the order of one task), not from the
//! order in which two tasks happened to run.
//!
//! All monitors are fields of [`Monitors`], which calls each of them. There is no dynamic dispatch,
//! so a hook that no monitor implements costs nothing. The state of a monitor is in the engine's
//! memory (`EngineVec`), which is not restored with the program's memory. So [`Monitor::begin`]
//! must reset the state of the previous execution. A hook that runs in a task must use only the
//! engine's memory: any other allocation would be an allocation of the program.

mod blame;
mod deadlock;
mod dispatch;
mod failure;
mod fatal_signal;
mod heap;
mod hooks;
mod invariants;
mod levels;
mod livelock;
mod liveness;
mod panic_capture;
pub(crate) mod race;
mod spin;
mod test_outcome;
mod thread_safety;

use core::ops::ControlFlow;

pub(crate) use chess_vocabulary::Kind;
pub(crate) use deadlock::{Blocked, blocked_tasks, cycle};
pub(crate) use failure::Failure;
pub use hooks::Expectation;
pub(crate) use hooks::{BodyOutcome, Death, End, Monitor};
pub(crate) use levels::Level;
pub(crate) use panic_capture::{install_hook, run_hook};
pub(crate) use spin::Spin;
pub(crate) use test_outcome::Outcome;

use crate::base::memory::Place;
use crate::execution::{self, Access, DataAccess, Ending, Execution, Panic, SyncAccess};
use crate::platform::heap::{Allocation, Free};

/// Declares [`Monitors`]. If several monitors find a failure in one execution, the failure of the
/// first monitor in the list is reported.
macro_rules! monitors {
    ($($(#[$doc:meta])* $name:ident: $Monitor:ty,)*) => {
        /// All monitors.
        pub(crate) struct Monitors {
            $($(#[$doc])* pub(crate) $name: $Monitor,)*
        }

        impl Monitors {
            pub(crate) const fn new() -> Self {
                Self { $($name: <$Monitor>::new(),)* }
            }
        }

        impl Monitor for Monitors {
            #[inline]
            fn begin(&mut self) {
                $(self.$name.begin();)*
            }

            #[inline]
            fn scheduling_point(&mut self, execution: &Execution) {
                $(self.$name.scheduling_point(execution);)*
            }

            #[inline]
            fn wants_accesses(&self) -> bool {
                false$(|| self.$name.wants_accesses())*
            }

            #[inline]
            fn sync_access(&mut self, execution: &Execution, access: SyncAccess) -> ControlFlow<()> {
                $(self.$name.sync_access(execution, access)?;)*
                ControlFlow::Continue(())
            }

            #[inline]
            fn data_access(&mut self, execution: &Execution, access: DataAccess) -> ControlFlow<()> {
                $(self.$name.data_access(execution, access)?;)*
                ControlFlow::Continue(())
            }

            #[inline]
            fn watches_heap(&self) -> bool {
                false $(|| self.$name.watches_heap())*
            }

            #[inline]
            fn allocated(&mut self, execution: &Execution, allocation: Allocation) {
                $(self.$name.allocated(execution, allocation);)*
            }

            #[inline]
            fn frees(&mut self, execution: &Execution, free: Free) -> ControlFlow<()> {
                $(self.$name.frees(execution, free)?;)*
                ControlFlow::Continue(())
            }

            fn panicked(&mut self, panic: &Panic) {
                $(self.$name.panicked(panic);)*
            }

            fn spins(
                &mut self,
                execution: &Execution,
                read: Access,
                waits: bool,
            ) -> ControlFlow<()> {
                $(self.$name.spins(execution, read, waits)?;)*
                ControlFlow::Continue(())
            }

            fn given_up(&mut self, execution: &Execution) -> Option<Ending> {
                None$(.or_else(|| self.$name.given_up(execution)))*
            }

            #[inline]
            fn ended(&mut self, execution: &Execution) {
                $(self.$name.ended(execution);)*
            }

            fn end(&mut self, end: &End<'_>) -> Option<Failure> {
                None$(.or_else(|| self.$name.end(end)))*
            }

            fn wants_another_look(&mut self) -> bool {
                let mut wants = false;
                $(wants |= self.$name.wants_another_look();)*
                wants
            }

            fn explain(&self, failure: &mut Failure) {
                $(self.$name.explain(failure);)*
            }

            fn died(&mut self, death: &Death<'_>) -> Option<Failure> {
                None$(.or_else(|| self.$name.died(death)))*
            }
        }
    };
}

monitors! {
    /// Accesses to free memory, double frees and invalid frees. This monitor is the first in the
    /// list, because such errors are certain even if the program has races.
    heap: heap::Heap,
    /// Data races. This monitor comes before the monitors whose failures may be consequences of a
    /// race.
    races: race::Races,
    /// Two tasks are in calls of one object that must not overlap.
    thread_safety: thread_safety::ThreadSafety,
    /// No task is enabled.
    deadlock: deadlock::Deadlock,
    /// A loop that waits without yielding.
    spins: spin::Spins,
    /// The execution does not end: either every task runs repeatedly (a livelock), or one task runs
    /// without yielding (a spin).
    livelock: livelock::Livelock,
    /// The process died.
    crash: fatal_signal::Crash,
    /// Panics and errors of the test that its attributes (`should_panic`) do not permit.
    outcome: test_outcome::Outcome,
    /// An invariant of the test that does not hold.
    invariants: invariants::Invariants,
    /// A liveness property of the test that is hot at the end.
    liveness: liveness::Liveness,
    /// Blocks that are not freed and have no reference at the end, if the search checks for leaks.
    leaks: heap::Leaks,
}

/// The place of the monitors in the engine's memory.
pub(crate) const PLACE: Place<Monitors> = Place::after(&execution::PLACE);

/// The monitors of the running execution.
///
/// The pointer may be used as a unique reference as long as no monitor is called from a monitor:
/// one task runs at a time, and the explorer runs only between executions.
#[inline]
pub(crate) fn monitors() -> *mut Monitors {
    PLACE.get()
}
