//! A task's call on one descriptor: tried without blocking, and waited for with
//! the task parked.

use core::ffi::c_int;

use super::{loopback, timer};
use crate::base::sys;
use crate::engine::engine;
use crate::execution::{self, Effect, Op};
use crate::platform::descriptor::{self, Identity, Kind, PollEntry};
use crate::platform::socket;

/// A call between its scheduling point and its event.
pub(super) struct Call {
    op: Op,
    pub(super) descriptor: c_int,
    pub(super) kind: Kind,
    /// What it waits for.
    wanted: i16,
    /// Stands for what is behind the descriptor in the side table.
    object: usize,
    /// Only something outside the process makes it ready.
    outside: bool,
    /// Whether it may block at all, where that is known.
    blocks: Option<bool>,
    /// Whether it has waited, and until when it may.
    waited: bool,
    deadline: Option<u64>,
}

impl Call {
    /// The scheduling point. A call that the outside answers has none: how many
    /// of them there are is up to the outside.
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

    /// Says that the call is not to block, whatever the descriptor's flags say.
    pub(super) fn unblocked(mut self, unblocked: bool) -> Self {
        if unblocked {
            self.blocks = Some(false);
        }
        self
    }

    /// Whether the call waits until it can be done.
    pub(super) fn blocks(&mut self) -> bool {
        let descriptor = self.descriptor;
        *self
            .blocks
            .get_or_insert_with(|| !descriptor::is_nonblocking(descriptor))
    }

    /// Tries and waits until `attempt`, which must not block, comes to a result
    /// other than `EAGAIN`, or the time is over.
    pub(super) fn carry_out(&mut self, mut attempt: impl FnMut() -> isize) -> isize {
        let reads = self.wanted & descriptor::POLLOUT == 0;
        if self.outside && reads && self.blocks() {
            // The outside answers when no task can go on. There is nearly always
            // room for what is written to it.
            self.wait();
        }
        loop {
            timer::fire();
            let result = attempt();
            if result != -(sys::EAGAIN as isize) || !self.blocks() {
                return result;
            }
            if self.wait() {
                return result;
            }
        }
    }

    /// As [`Self::carry_out`], for calls that block unless the descriptor is ready.
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

    /// Parks the task until the descriptor may be ready; whether its time is over.
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

    /// Others may go on by what was done so far.
    pub(super) fn progressed(&self) {
        if self.kind == Kind::Socket {
            loopback::deliver(self.descriptor);
        }
        execution::descriptors_changed();
    }

    /// Lets the peer of a connection see what was done.
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

    /// The call's event; the result as libc's functions return it.
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
        }
        sys::libc_result(result)
    }
}

/// Parks the task until one of `entries` may be ready; whether `deadline` is over.
pub(super) fn wait_for(
    op: Op,
    object: usize,
    entries: &mut [PollEntry],
    deadline: Option<u64>,
    outside: bool,
) -> bool {
    let alarm = timer::next_expiry();
    execution::await_descriptors(op, object, entries, deadline, alarm, outside);
    deadline.is_some_and(|deadline| deadline <= execution::now())
}

/// Lets the kernel write to the program's memory.
pub(super) fn admit(address: usize, length: usize) {
    // SAFETY: the image changes only in its fault handler, by what it lets pass.
    unsafe { (*engine()).image.admit(address, length) };
}
