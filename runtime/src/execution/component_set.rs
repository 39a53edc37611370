//! The components of one execution, and the files that they write.

use core::num::NonZero;

use super::terms::Site;
use super::{Effect, Op, TaskId};
use crate::base::memory::{EngineVec, engine_vec};
use crate::search::ObjectId;

/// The number of a component, from 1 on.
pub(crate) type ComponentId = NonZero<u32>;

/// The files that components have written.
pub(crate) trait Disk: Sync {
    /// The number of files that components have written.
    fn count(&self) -> usize;

    /// The writes to the file numbered `file` that a crash of `component` may lose. `file` is less
    /// than [`Self::count`].
    fn unsynced(&self, component: ComponentId, file: usize) -> Unsynced;

    /// Undoes the last `writes` writes to the file numbered `file`.
    fn lose(&self, file: usize, writes: u32);

    /// Records that the component has ended: from now on, no crash loses its writes.
    fn ends(&self, component: ComponentId);

    /// Closes the files that the tasks of the component have opened, as the kernel does when a
    /// process ends.
    fn closes(&self, component: ComponentId);
}

/// The writes of a component to a file since the last sync of the file.
pub(crate) struct Unsynced {
    pub(crate) writes: u32,
    /// The address that stands for the bytes of the file.
    pub(crate) contents: usize,
    /// The line of the last write.
    pub(crate) site: Option<Site>,
}

/// A disk without files.
pub(super) struct NoDisk;

impl Disk for NoDisk {
    fn count(&self) -> usize {
        0
    }

    fn unsynced(&self, _: ComponentId, _: usize) -> Unsynced {
        unreachable!("there is no such file")
    }

    fn lose(&self, _: usize, _: u32) {}

    fn ends(&self, _: ComponentId) {}

    fn closes(&self, _: ComponentId) {}
}

/// A component.
pub(super) struct Component {
    /// The object that stands for the life of the component.
    pub(super) life: ObjectId,
    /// The task that waits for the end of the component.
    pub(super) caller: TaskId,
    pub(super) has_crashed: bool,
}

/// A task that the end of its component has stopped.
pub(super) struct Stopped {
    pub(super) task: TaskId,
    pub(super) life: ObjectId,
    /// The object at which the task was blocked, and the effect of its operation there.
    pub(super) blocked: Option<(ObjectId, Effect)>,
}

/// The components of an execution.
pub(crate) struct Components {
    pub(super) all: EngineVec<Component>,
    pub(super) stopped: EngineVec<Stopped>,
    /// The function `crash::may_crash_here`, once the execution has had a component. The module
    /// `transfer` calls the function for a task that spins. It is a pointer, because the module
    /// `crash` depends on `transfer`.
    pub(super) may_crash: Option<fn(Op)>,
}

impl Components {
    pub(super) const fn new() -> Self {
        Self {
            all: engine_vec(),
            stopped: engine_vec(),
            may_crash: None,
        }
    }

    pub(super) fn clear(&mut self) {
        self.all.clear();
        self.stopped.clear();
        self.may_crash = None;
    }

    /// Whether the execution has had a component.
    #[inline]
    pub(super) fn are_any(&self) -> bool {
        !self.all.is_empty()
    }

    pub(super) fn get(&mut self, component: ComponentId) -> &mut Component {
        &mut self.all[component.get() as usize - 1]
    }
}
