//! Monitors: what watches an execution, and says whether it failed.
//!
//! A monitor is told what happens, as in CHESS ("Writing a CHESS Monitor" in its tutorial;
//! OSDI'08 section 4.5): that an execution begins and ends, each scheduling point, each
//! synchronization access, each data access, each allocation and free. It sees tasks,
//! objects and operations, no fibers, shims or memory of the program. One task runs at a
//! time, so it is never called twice at once.
//!
//! **A monitor must not depend on the order of what commutes.** Searches run one of the
//! schedules that have the same happens-before graph, and leave out the others: a monitor
//! that would find its failure only in those left out makes "complete" a lie. Judge by
//! what happens-before says (objects, effects, the order of one task), not by which of two
//! tasks came first.
//!
//! All monitors are fields of [`Monitors`], which calls each of them; there is no dynamic
//! dispatch, so that a hook that no monitor has costs nothing. What a monitor keeps lies in
//! the engine's memory (`EngineVec`), which is not put back with the program's; it forgets
//! in [`Monitor::begin`] what it knows of the execution before. Nor may a hook that runs in
//! a task use other memory: that would be an allocation of the program.

mod blame;
mod crash;
mod deadlock;
mod failure;
mod heap;
mod levels;
mod livelock;
mod outcome;
mod panic;
pub(crate) mod race;
mod spin;

use core::ops::ControlFlow;

pub(crate) use crash::Death;
pub(crate) use deadlock::{Blocked, blocked_tasks, cycle};
pub(crate) use failure::{Failure, Kind, Place};
pub(crate) use heap::{Allocation, Block, Free};
pub(crate) use levels::Level;
pub use outcome::Expectation;
pub(crate) use outcome::{BodyOutcome, End};
pub(crate) use panic::{Panic, install_hook, payload_text, run_hook};
pub(crate) use spin::Spin;

use crate::engine::engine;
use crate::execution::{Access, Effect, Ending, Execution, ObjectId, Op, Site};

/// One access to a synchronization object.
#[derive(Clone, Copy, Debug)]
#[allow(dead_code, reason = "what is there to be read, whoever reads it")]
pub(crate) struct SyncAccess {
    pub(crate) op: Op,
    /// [`ObjectId::NONE`] where the operation is on no object (a fence, a yield).
    pub(crate) object: ObjectId,
    /// What it did to the object: by this, and only by this, accesses of two tasks to one
    /// object are ordered or not.
    pub(crate) effect: Effect,
    /// The source line; `None` in drops and in code that is not redirected.
    pub(crate) site: Option<Site>,
    /// The object lies on the heap, and this is its first access, or the first since its
    /// block was freed: else its memory is not free.
    pub(crate) may_be_free: bool,
}

/// One access to plain memory, which is about to be made.
#[derive(Clone, Copy, Debug)]
#[allow(dead_code, reason = "as above")]
pub(crate) struct DataAccess {
    pub(crate) address: usize,
    /// In bytes; may be 0.
    pub(crate) size: usize,
    pub(crate) is_write: bool,
    /// A reference is made: whoever has it may read, or write, from then on.
    pub(crate) is_borrow: bool,
    pub(crate) site: Site,
}

/// What watches executions. Each hook is optional. Who runs is `execution.current`; the
/// number of an access is that of its event, `execution.log.events.len()`.
///
/// A hook that gives back [`ControlFlow::Break`] ends the execution there, before the
/// program does what it was about to do; [`Monitor::end`] then says why. Others end it
/// without a verdict of their own or let it go on.
pub(crate) trait Monitor {
    /// An execution begins.
    #[inline]
    fn begin(&mut self) {}

    /// The current task arrives before an operation: its `op`, `object` and `site` say
    /// which. Whether others run first is not decided yet.
    #[inline]
    fn scheduling_point(&mut self, execution: &Execution) {
        let _ = execution;
    }

    /// Whether it looks at every synchronization access in this execution: else it is
    /// told only of those whose object may be free.
    #[inline]
    fn wants_accesses(&self) -> bool {
        false
    }

    /// The current task performs an operation; nobody else runs until it is done. See
    /// [`Monitor::wants_accesses`].
    #[inline]
    fn sync_access(&mut self, execution: &Execution, access: SyncAccess) -> ControlFlow<()> {
        let _ = (execution, access);
        ControlFlow::Continue(())
    }

    /// The current task is about to access plain memory.
    #[inline]
    fn data_access(&mut self, execution: &Execution, access: DataAccess) -> ControlFlow<()> {
        let _ = (execution, access);
        ControlFlow::Continue(())
    }

    /// Whether this execution, which has begun, is one in which [`Monitor::allocated`] is to
    /// be called, and [`Monitor::frees`] where nothing is wrong.
    #[inline]
    fn watches_heap(&self) -> bool {
        false
    }

    /// The current task was given a block of the heap.
    #[inline]
    fn allocated(&mut self, execution: &Execution, allocation: Allocation) {
        let _ = (execution, allocation);
    }

    /// The current task is about to free memory, rightly or not.
    #[inline]
    fn frees(&mut self, execution: &Execution, free: Free) -> ControlFlow<()> {
        let _ = (execution, free);
        ControlFlow::Continue(())
    }

    /// The current task panicked.
    fn panicked(&mut self, panic: &Panic) {
        let _ = panic;
    }

    /// The current task, which has not yielded, is in exactly the state of a turn before, and
    /// has done nothing since but read what is still as it was: `read`, and maybe more.
    fn spins(&mut self, execution: &Execution, read: Access) -> ControlFlow<()> {
        let _ = (execution, read);
        ControlFlow::Continue(())
    }

    /// The execution has gone on far beyond the step limit, and is given up: as what.
    fn given_up(&mut self, execution: &Execution) -> Option<Ending> {
        let _ = execution;
        None
    }

    /// The execution is over, and the program's memory is still as it left it.
    #[inline]
    fn ended(&mut self, execution: &Execution) {
        let _ = execution;
    }

    /// The execution ended, in the process that explores: whether it failed.
    fn end(&mut self, end: &End<'_>) -> Option<Failure> {
        let _ = end;
        None
    }

    /// The execution that this monitor called a failure will be reported: whether it is to
    /// be run once more, so that the monitor can find what to say of it.
    fn wants_another_look(&mut self) -> bool {
        false
    }

    /// Adds to `failure`, which the last execution led to and which is reported, the words
    /// and the place that take time to find. May be asked in another process, as `died`.
    fn explain(&self, failure: &mut Failure) {
        let _ = failure;
    }

    /// The execution ended with its process: whether that is this monitor's failure. It
    /// is asked in another process, which shares the engine's memory alone.
    fn died(&mut self, death: &Death<'_>) -> Option<Failure> {
        let _ = death;
        None
    }
}

/// Declares [`Monitors`]. Where several find a failure, that of the first one counts.
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

            fn spins(&mut self, execution: &Execution, read: Access) -> ControlFlow<()> {
                $(self.$name.spins(execution, read)?;)*
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
    /// Uses of memory that is free, double and invalid frees: they are certain, whatever
    /// raced.
    heap: heap::Heap,
    /// Data races: what else goes wrong may follow from them.
    races: race::Races,
    /// No task can go on.
    deadlock: deadlock::Deadlock,
    /// A loop that waits, and does not yield.
    spins: spin::Spins,
    /// No end, though every task gets its turns; or a task that does not yield.
    livelock: livelock::Livelock,
    /// The process died.
    crash: crash::Crash,
    /// Panics, and what the test's attributes make of them.
    outcome: outcome::Outcome,
    /// What nothing refers to at the end, where that is asked for.
    leaks: heap::Leaks,
}

/// The monitors of the running execution.
///
/// The pointer may be used as a unique reference as long as no monitor is called from a
/// monitor: one task runs at a time, and the explorer only between executions.
#[inline]
pub(crate) fn monitors() -> *mut Monitors {
    // SAFETY: only the field's address is taken.
    unsafe { &raw mut (*engine()).monitors }
}
