//! The state of descriptors: their flags, the options of their sockets, whether they are open, and
//! what they refer to.
//!
//! A call that reads the state, changes it or ends it is a scheduling point only if the order of
//! the calls matters. The same rule holds for calls on files. Calls that transfer bytes, and calls
//! that wait, also count as reads of the state ([`crate::execution::after_call`]).
//!
//! While a task waits at a scheduling point, another task may close its descriptor or make it refer
//! to another file. So the state is read after the scheduling point.

use core::ffi::c_int;

use super::known::{Inode, file_of, known, position};
use super::touches::Touches;
use super::{Call, lock};
use crate::base::sys;
use crate::execution::{
    Effect, Op, active, address_of, descriptor_ends, descriptor_object, ended_descriptor, files,
    state_of, uses_number,
};
use crate::platform::descriptor::{self, Identity, Kind};
use crate::platform::leftovers::first_descriptor;

/// The state of a descriptor.
#[derive(Clone, Copy)]
pub(super) struct State {
    /// The objects that a change of the state writes.
    objects: [Option<usize>; 2],
    /// The file that is open.
    pub(super) file: Option<Inode>,
}

impl State {
    /// The object that the end of the state writes. `None` if the descriptor is closed, or if an
    /// unseen call has opened it.
    fn end(&self) -> Option<usize> {
        self.objects.into_iter().flatten().last()
    }

    /// Records that `call` has changed the state.
    fn changed(&self, call: &mut Call) {
        for object in self.objects.into_iter().flatten() {
            call.writes(object);
        }
    }
}

/// Adds the objects of a call that reads the state of `descriptor`. `None` if uses of the file are
/// not recorded.
pub(super) fn find(descriptor: c_int, touches: &mut Touches) -> Option<State> {
    if descriptor < first_descriptor() {
        return None;
    }
    let identity = descriptor::look(descriptor);
    if matches!(identity.kind, Kind::File | Kind::Closed) {
        let file = file_of(descriptor, touches)?;
        return Some(State {
            objects: [position(descriptor), None],
            file: (identity.kind == Kind::File).then_some(file),
        });
    }
    let object = descriptor_object(descriptor, identity);
    let state = state_of(object);
    touches.is_about(object, Effect::Read);
    touches.add(state, Effect::Read);
    if let Some(earlier) = ended_descriptor(descriptor, false) {
        touches.add(earlier, Effect::Read);
    }
    Some(State {
        objects: [Some(object), Some(state)],
        file: None,
    })
}

/// Performs a task's call `act` that reads the state of `descriptor`. Returns the result; if it is
/// an error, sets `errno` and returns -1.
pub(in super::super) fn inspect(descriptor: c_int, act: impl FnOnce() -> isize) -> isize {
    if !active() {
        return sys::libc_result(act());
    }
    let (call, _) = Call::begin(Op::DescriptorInspect, |touches| find(descriptor, touches));
    call.end(act())
}

/// Does the same as [`inspect`], for a call that reads the address of a socket or of its peer.
pub(in super::super) fn inspect_address(socket: c_int, act: impl FnOnce() -> isize) -> isize {
    if !active() {
        return sys::libc_result(act());
    }
    let (call, _) = Call::begin(Op::DescriptorInspect, |touches| {
        let state = find(socket, touches)?;
        if let [Some(object), Some(_)] = state.objects {
            touches.add(address_of(object), Effect::Read);
        }
        Some(())
    });
    call.end(act())
}

/// Does the same as [`inspect`], for a call that changes the state.
pub(in super::super) fn change(descriptor: c_int, act: impl FnOnce() -> isize) -> isize {
    if !active() {
        return sys::libc_result(act());
    }
    let (mut call, state) = Call::begin(Op::DescriptorChange, |touches| find(descriptor, touches));
    let result = act();
    if let Some(state) = state
        && result >= 0
    {
        state.changed(&mut call);
    }
    call.end(result)
}

/// Closes `descriptor` for a task by `act`. `identity` is that of its file, which is neither a pipe
/// nor a socket. The close of a file is recorded only if a recorded call has opened it.
pub(in super::super) fn close(
    descriptor: c_int,
    identity: Identity,
    act: impl FnOnce() -> isize,
) -> isize {
    let find = |touches: &mut Touches| {
        let state = find(descriptor, touches)?;
        if let Some(file) = state.file {
            touches.add(lock::lock_of(file), Effect::Read);
        }
        Some(state)
    };
    let (mut call, state) = if identity.kind == Kind::File {
        let Some(opened) = known().opened(descriptor).copied() else {
            return sys::libc_result(act());
        };
        // If only one task has used the file, the close needs no scheduling point, unless it
        // releases a lock, or other tasks use the number of the closed descriptor.
        let is_released = lock::is_released_by_close(descriptor);
        if is_released || opened.is_shared || files::are_closes_points() {
            Call::begin(Op::FileClose, find)
        } else {
            Call::begin_at_once(Op::FileClose, find)
        }
    } else {
        Call::begin(Op::DescriptorClose, find)
    };
    let result = act();
    if let Some(state) = state
        && result >= 0
    {
        state.changed(&mut call);
        if let Some(file) = state.file {
            lock::closed(&mut call, descriptor, file);
        }
        if let Some(object) = state.end() {
            descriptor_ends(descriptor, object, false);
        }
    }
    known().forget(descriptor);
    call.end(result)
}

/// Must be called when a task is about to close the `descriptor` of a pipe or of a socket, after
/// the scheduling point.
pub(in super::super) fn closes(descriptor: c_int) {
    uses_number(descriptor);
    let identity = descriptor::look(descriptor);
    if identity.kind != Kind::Closed {
        let state = state_of(descriptor_object(descriptor, identity));
        files::uses_descriptor(state, Effect::Write);
        descriptor_ends(descriptor, state, false);
    }
}
