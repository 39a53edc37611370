//! The monitor's hooks. They pass on the accesses, allocations and frees of tasks. They also derive
//! the order of tasks from the events of an execution, unless another part of the runtime (for
//! instance a shim) reports this order more exactly.

use core::ops::ControlFlow;

use super::{Look, Races, What};
use crate::execution::{
    DataAccess, Effect, Execution, ObjectId, Op, SyncAccess, TaskId, marked_line,
};
use crate::monitor::{End, Failure, Kind, Level, Monitor};
use crate::platform::heap::{Allocation, Free};
use crate::platform::image::image;

/// The order that an operation creates between its task and other tasks through its object.
enum Orders {
    /// No order, or another part of the runtime reports the order.
    Nothing,
    /// The operation comes after the earlier releases to the object.
    Acquires,
    /// The operation comes before later acquisitions of the object.
    Releases,
    /// As [`Self::Acquires`] and [`Self::Releases`]: all operations on the object are ordered.
    Both,
    /// A call of opaque code. The call comes after the operations of tasks that called opaque code
    /// before. Later operations of the calling task come before later calls of opaque code by other
    /// tasks: see [`Races::enter_unseen`].
    Unseen,
    /// The operation may order any tasks.
    All,
}

fn orders(op: Op, effect: Effect) -> Orders {
    match op {
        // A failed `set` reads the value.
        Op::OnceLockSet if effect == Effect::Write => Orders::Releases,
        Op::OnceComplete => Orders::Releases,
        Op::OnceLockSet
        | Op::OnceCall
        | Op::OnceIsCompleted
        | Op::OnceWait
        | Op::OnceLockGet
        | Op::OnceLockGetOrInit
        | Op::OnceLockWait
        | Op::LazyLockGet
        | Op::LazyLockForce
        | Op::ScopeEnd => Orders::Acquires,
        Op::OpaqueCall => Orders::Unseen,
        Op::Asm => Orders::All,
        Op::Draw
        | Op::Choose
        | Op::Rarely
        | Op::Fault
        | Op::Crash
        | Op::FileLoss
        | Op::ComponentWait
        | Op::ComponentEnd
        | Op::Assume
        | Op::Call
        | Op::Return
        | Op::Idle
        | Op::Point
        // A signal orders its waiters through their tokens.
        | Op::ResourceWait
        | Op::ResourceSignal
        | Op::ResourceSignalAll
        | Op::InvariantBegin
        | Op::InvariantEnd
        | Op::Hot
        | Op::Cold
        | Op::ExclusiveBegin
        | Op::ExclusiveEnd
        | Op::SharedBegin
        | Op::SharedEnd => Orders::Nothing,
        // The shims of these operations report the order.
        _ if op.uses_files() => Orders::Nothing,
        // Operations of C code and of the kernel.
        _ if op as u8 >= Op::FutexWait as u8 => match op {
            Op::Parked | Op::Unparks => Orders::Nothing,
            _ => Orders::Both,
        },
        Op::BarrierWait => Orders::Both,
        _ => Orders::Nothing,
    }
}

impl Races {
    /// Records the order of tasks that an operation of `task` creates. `object` is the address of
    /// the operation's object, or 0 if there is none.
    fn order(&mut self, task: TaskId, object: usize, access: SyncAccess) {
        let SyncAccess {
            op, effect, site, ..
        } = access;
        let how = orders(op, effect);
        if let Orders::Acquires | Orders::Both = how {
            self.acquire(task, object, true);
        }
        if let Orders::Releases | Orders::Both = how {
            self.release(task, object, true, (op, site));
        }
        match how {
            Orders::Unseen => self.enter_unseen(task),
            Orders::All => self.order_all(task),
            _ => {}
        }
    }
}

impl Monitor for Races {
    #[inline]
    fn begin(&mut self) {
        if self.is_wanted {
            // SAFETY: no task runs, so that the image does not change.
            self.renew(unsafe { (*image()).is_taken() });
        }
    }

    #[inline]
    fn wants_accesses(&self) -> bool {
        self.is_on
    }

    #[inline]
    fn sync_access(&mut self, execution: &Execution, access: SyncAccess) -> ControlFlow<()> {
        if self.is_on {
            let object = match access.object {
                ObjectId::NONE => 0,
                id => execution.objects.get(id).address,
            };
            self.order(execution.schedule.current, object, access);
            if access.op == Op::Exit {
                // A task may end without an arrival.
                self.arrive(execution.schedule.current, Op::Exit);
                self.tasks.end(execution.schedule.current);
            }
        }
        ControlFlow::Continue(())
    }

    #[inline]
    fn data_access(&mut self, execution: &Execution, access: DataAccess) -> ControlFlow<()> {
        if !self.is_on {
            return ControlFlow::Continue(());
        }
        let DataAccess {
            address,
            size: length,
            is_write,
            is_borrow,
            site,
        } = access;
        let what = match (is_write, is_borrow) {
            (true, false) => What::Write,
            (true, true) => What::BorrowMut,
            (false, false) => What::Read,
            (false, true) => What::Borrow,
        };
        self.access(
            execution.schedule.current,
            address,
            length,
            what,
            Some(site),
        );
        ControlFlow::Continue(())
    }

    #[inline]
    fn watches_heap(&self) -> bool {
        self.is_on
    }

    #[inline]
    fn allocated(&mut self, execution: &Execution, allocation: Allocation) {
        if self.is_on {
            self.allocate(execution.schedule.current, allocation.block, marked_line());
        }
    }

    #[inline]
    fn frees(&mut self, execution: &Execution, free: Free) -> ControlFlow<()> {
        if self.is_on
            && let Free::Live(block) = free
        {
            self.free(
                execution.schedule.current,
                block.start,
                block.size,
                marked_line(),
            );
        }
        ControlFlow::Continue(())
    }

    #[inline]
    fn end(&mut self, _: &End<'_>) -> Option<Failure> {
        self.failure()
    }

    fn wants_another_look(&mut self) -> bool {
        let is_wanted =
            self.look == Look::No && self.found(Level::Deny).any(|race| race.is_of_free);
        if is_wanted {
            self.look = Look::InNextExecution;
        }
        is_wanted
    }

    fn explain(&self, failure: &mut Failure) {
        if failure.kind == Kind::Race
            && self.look == Look::Now
            && let Some(in_full) = self.failure()
        {
            *failure = in_full;
        }
    }
}
