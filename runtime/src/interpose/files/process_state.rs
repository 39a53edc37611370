//! Attributes of the process that its tasks share, such as the mask of the permissions of new
//! files.
//!
//! A call that reads or changes an attribute is a scheduling point only if the order of the calls
//! matters, as a call on files is.

use super::Call;
use super::touches::Touches;
use crate::execution::{Effect, Named, Op, active, named};

/// An attribute of the process.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(in super::super) enum Attribute {
    /// The mask of the permissions of new files.
    Mask = 1,
    /// The limits of resources, on which calls on files depend.
    Limits,
    /// The directory in which absolute paths begin, and the namespaces.
    Root,
    /// The priority for the scheduler of the kernel.
    Priority,
    /// The process group and the session.
    Group,
    /// The options of `prctl`.
    Options,
}

impl Attribute {
    /// The object that stands for the attribute.
    fn object(self) -> usize {
        // The lowest bits are kept free: see `named`.
        named(Named::Process, (self as u64) << 4)
    }
}

/// Adds the attributes that the creation of a file reads.
pub(super) fn creates(touches: &mut Touches) {
    touches.add(Attribute::Mask.object(), Effect::Read);
}

/// Performs a task's call `act` that reads `attribute`. Returns the result of `act`.
pub(in super::super) fn inspect_process<R>(attribute: Attribute, act: impl FnOnce() -> R) -> R {
    if !active() {
        return act();
    }
    let (call, _) = Call::begin(Op::GetAttribute, |touches| {
        touches.is_about(attribute.object(), Effect::Read);
        Some(())
    });
    let result = act();
    call.end(0);
    result
}

/// Performs a task's call `act` that may change `attribute`. Returns the result of `act`.
pub(in super::super) fn change_process<R>(attribute: Attribute, act: impl FnOnce() -> R) -> R {
    if !active() {
        return act();
    }
    let (call, _) = Call::begin(Op::SetAttribute, |touches| {
        touches.is_about(attribute.object(), Effect::Write);
        if matches!(attribute, Attribute::Limits | Attribute::Root) {
            touches.use_everything();
        }
        Some(())
    });
    let result = act();
    call.end(0);
    result
}
