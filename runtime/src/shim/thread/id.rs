//! `ThreadId`.

use std::num::NonZero;

use crate::execution::TaskId;

/// See [`std::thread::ThreadId`].
#[derive(Eq, PartialEq, Clone, Copy, Hash)]
#[repr(transparent)]
pub struct ThreadId(std::thread::ThreadId);

// `ThreadId::of_task` transmutes a number to an id.
const _: () = assert!(size_of::<std::thread::ThreadId>() == size_of::<NonZero<u64>>());

impl ThreadId {
    pub(super) fn of_real(id: std::thread::ThreadId) -> ThreadId {
        ThreadId(id)
    }

    /// The id of a task. The ids begin anew in each execution: 1 for the test's body, 2 for the
    /// first thread that the execution spawns.
    pub(super) fn of_task(task: TaskId) -> ThreadId {
        let number = NonZero::<u64>::MIN.saturating_add(u64::from(task.0));
        // SAFETY: the real id is a `NonZero<u64>` (`repr(Rust)`, one field; its
        // size is asserted above), and every value of that is an id.
        ThreadId(unsafe { std::mem::transmute::<NonZero<u64>, std::thread::ThreadId>(number) })
    }
}

impl std::fmt::Debug for ThreadId {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        self.0.fmt(f)
    }
}
