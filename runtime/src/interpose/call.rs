//! A task's call on one descriptor: the runtime tries the call without blocking, and parks the
//! task while the descriptor is not ready.

use core::ffi::c_int;

use super::{loopback, timerfd};
use crate::base::sys;
use crate::execution::{self, Effect, Op};
use crate::platform::descriptor::{self, Identity, Kind, PollEntry};
use crate::platform::image::image;
use crate::platform::socket;

/// A task's call on a descriptor, between the scheduling point and the event of the call.
pub(super) struct Call {
    op: Op,
    pub(super) descriptor: c_int,
    pub(super) kind: Kind,
    /// The poll events that the call waits for.
    wanted: i16,
    /// The number by which the engine identifies the open file of the descriptor.
    object: usize,
    /// Whether the descriptor becomes ready only by an action outside the process.
    outside: bool,
    /// Whether the call may block; `None` if that is not determined yet.
    blocks: Option<bool>,
    /// Whether the call has waited before.
    waited: bool,
    /// The time at which the wait of the call ends, in virtual nanoseconds. `None` if the call has
    /// not waited yet, or if its wait has no end.
    deadline: Option<u64>,
}

impl Call {
    /// Begins a call with its scheduling point. A call has no scheduling point if the descriptor
    /// becomes ready only by an action outside the process, because the number of such calls may
    /// differ between executions.
    pub(super) fn begin(op: Op, descriptor: c_int, identity: Identity, wanted: i16) -> Self {
        let call = Self {
            op,
            descriptor,
            kind: identity.kind,
            wanted,
            object: execution::descriptor_object(descriptor, identity),
            outside: execution::is_outside(descriptor, wanted),
            blocks: None,
            waited: false,
            deadline: None,
        };
        if !call.outside {
            execution::before_call(op, call.object);
        }
        call
    }

    /// Forbids the call to block if `unblocked` is set, even if the flags of the descriptor permit
    /// it.
    pub(super) fn unblocked(mut self, unblocked: bool) -> Self {
        if unblocked {
            self.blocks = Some(false);
        }
        self
    }

    /// Whether the call may block, and so waits while the descriptor is not ready.
    pub(super) fn blocks(&mut self) -> bool {
        let descriptor = self.descriptor;
        *self
            .blocks
            .get_or_insert_with(|| !descriptor::is_nonblocking(descriptor))
    }

    /// Calls `attempt`, which must not block. While the result is `-EAGAIN`, waits until the
    /// descriptor may be ready, and calls `attempt` again. Returns the last result of `attempt`.
    /// This result is `-EAGAIN` if the deadline has passed, or if the call must not block and the
    /// descriptor is not ready.
    pub(super) fn carry_out(&mut self, mut attempt: impl FnMut() -> isize) -> isize {
        let reads = self.wanted & descriptor::POLLOUT == 0;
        if self.outside && reads && self.blocks() {
            // The wait ends when no other task is enabled and the outside has answered. A write to
            // the outside nearly always finds room, so it is tried without a wait.
            self.wait();
        }
        loop {
            timerfd::fire();
            let result = attempt();
            if result != -(sys::EAGAIN as isize) || !self.blocks() {
                return result;
            }
            if self.wait() {
                return result;
            }
        }
    }

    /// Does the same as [`Self::carry_out`], for a `call` that would block in the kernel if the
    /// descriptor is not ready.
    pub(super) fn carry_out_when_ready(&mut self, mut call: impl FnMut() -> isize) -> isize {
        let (descriptor, wanted) = (self.descriptor, self.wanted);
        let blocks = self.blocks;
        self.carry_out(|| {
            let ready = descriptor::is_ready(descriptor, wanted);
            if ready || blocks == Some(false) || descriptor::is_nonblocking(descriptor) {
                call()
            } else {
                -(sys::EAGAIN as isize)
            }
        })
    }

    /// Parks the task until the descriptor may be ready. Returns whether the deadline
    /// has passed.
    fn wait(&mut self) -> bool {
        let (descriptor, sending) = (self.descriptor, self.wanted & descriptor::POLLOUT != 0);
        if !core::mem::replace(&mut self.waited, true) && self.kind == Kind::Socket {
            let patience = socket::patience(descriptor, sending);
            self.deadline = patience.map(|time| execution::now().saturating_add(time));
        }
        let mut entries = [PollEntry::new(descriptor, self.wanted)];
        wait_for(
            self.op,
            self.object,
            &mut entries,
            self.deadline,
            self.outside,
        )
    }

    /// Must be called after a part of the call's bytes was transferred, before the call waits
    /// again. The transferred bytes can enable other tasks.
    pub(super) fn progressed(&self) {
        if self.kind == Kind::Socket {
            loopback::deliver(self.descriptor);
        }
        execution::descriptors_changed();
    }

    /// After a successful call on a connection, waits in real time until the peer can observe the
    /// effect of the call.
    fn await_peer(&self, result: isize) {
        if result >= 0 && self.kind == Kind::Socket {
            if self.wanted & descriptor::POLLOUT != 0 {
                loopback::deliver(self.descriptor);
            } else if self.op == Op::DescriptorRead {
                if result == 0 {
                    loopback::read_to_end(self.descriptor);
                } else {
                    loopback::made_room(self.descriptor);
                }
            }
        }
    }

    /// Ends the call. Records its event, unless the descriptor becomes ready only by an action
    /// outside the process. Returns `result`. If `result` is an error, sets `errno` and returns
    /// -1.
    pub(super) fn end(self, result: isize) -> isize {
        if self.outside {
            if result == -(sys::EAGAIN as isize) {
                execution::yield_to_outside();
            } else {
                execution::descriptors_changed();
            }
        } else {
            self.await_peer(result);
            let effect = if result < 0 {
                Effect::Read
            } else {
                self.op.effect()
            };
            execution::after_call(self.op, self.object, effect);
            if self.op != Op::Close {
                execution::uses_number(self.descriptor);
            }
        }
        sys::libc_result(result)
    }
}

/// Parks the task until one of `entries` may be ready. Returns whether `deadline` has
/// passed.
pub(super) fn wait_for(
    op: Op,
    object: usize,
    entries: &mut [PollEntry],
    deadline: Option<u64>,
    outside: bool,
) -> bool {
    let alarm = timerfd::next_expiry();
    execution::await_descriptors(op, object, entries, deadline, alarm, outside);
    deadline.is_some_and(|deadline| deadline <= execution::now())
}

/// Lets the kernel write to the `length` bytes at `address` in a system call. The memory image,
/// which detects changes of the program's memory, may have write-protected these bytes.
pub(super) fn admit(address: usize, length: usize) {
    // SAFETY: the image changes only in its fault handler, by the writes that the handler
    // lets pass.
    unsafe { (*image()).admit(address, length) };
}
