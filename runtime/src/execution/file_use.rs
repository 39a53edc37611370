//! The use of files, of the environment and of other state in the kernel in one execution.

use super::conflicts::{Calls, Conflicts, Groups};
use super::{Effect, Op, TaskId};
use crate::search::ObjectId;

/// The use of files and of the environment in one execution.
pub(crate) struct FileUse {
    /// The groups of calls that are scheduling points. In the group of clock reads, only the reads
    /// in code of policy `preempt` are scheduling points.
    points: Groups,
    pub(super) conflicts: Conflicts,
    /// A task has read the clock so often that its last reads were no scheduling points.
    pub(crate) misses_clock_reads: bool,
    /// The number of changes of all files and variables.
    pub(super) version: u32,
    /// The number of successive calls that only read, without a scheduling point in between.
    pub(super) looks: u32,
    /// The value of the engine's pulse (a count of scheduling points) during the calls that
    /// `looks` counts.
    pub(super) since: u64,
    /// The number of calls on files and directories, without those on the environment.
    pub(crate) calls: u32,
    /// The number of calls on files and directories that may change a directory.
    pub(crate) directory_changes: u32,
}

impl FileUse {
    pub(super) const fn new() -> Self {
        Self {
            points: Groups::NONE,
            conflicts: Conflicts::new(),
            misses_clock_reads: false,
            version: 0,
            looks: 0,
            since: 0,
            calls: 0,
            directory_changes: 0,
        }
    }

    /// Resets the state for a new execution. `points` are the groups of calls that are scheduling
    /// points.
    pub(crate) fn begin(&mut self, points: Groups) {
        self.points = points;
        self.conflicts.clear();
        self.misses_clock_reads = false;
        (self.version, self.looks, self.since) = (0, 0, 0);
        (self.calls, self.directory_changes) = (0, 0);
    }

    /// Whether calls of this kind are scheduling points.
    pub(super) fn is_point(&self, op: Op) -> bool {
        self.points.has(Calls::of(op))
            // The close of a file also ends the state of its descriptor.
            || op == Op::FileClose && self.points.on_descriptors
    }

    /// Whether each close of a file is a scheduling point. Otherwise, a close is no scheduling
    /// point if only the closing task has used the file.
    pub(super) fn are_closes_points(&self) -> bool {
        self.points.on_descriptors
    }

    /// Records that `task` uses `object`. Nothing is recorded if all calls that can conflict with
    /// the running one are scheduling points.
    pub(super) fn uses(&mut self, task: TaskId, object: ObjectId, effect: Effect, calls: Calls) {
        let are_points = match calls {
            Calls::Clock => self.points.on_clock,
            Calls::Files | Calls::Descriptors => self.points.on_files && self.points.on_descriptors,
        };
        if !are_points {
            self.conflicts.add(task, object, effect, calls);
        }
    }

    /// Whether the order of two calls that use files mattered although such calls are no scheduling
    /// points.
    pub(crate) fn has_conflict(&self) -> bool {
        !self.points.on_files && self.conflicts.found.on_files
    }

    /// Whether the order of two calls mattered, of which one uses the state of a descriptor,
    /// although such calls are no scheduling points.
    pub(crate) fn has_descriptor_conflict(&self) -> bool {
        !self.points.on_descriptors && self.conflicts.found.on_descriptors
    }

    /// Whether the order of two reads of the clock mattered although they are no scheduling points.
    pub(crate) fn has_clock_conflict(&self) -> bool {
        !self.points.on_clock && self.conflicts.found.on_clock
    }

    pub(super) fn count(&mut self, op: Op) {
        let is_on_files = Calls::of(op) == Calls::Files;
        let is_on_environment = matches!(op, Op::EnvironmentRead | Op::EnvironmentWrite);
        self.calls += u32::from(is_on_files && !is_on_environment);
        self.directory_changes += u32::from(matches!(
            op,
            Op::FileRemove
                | Op::FileRename
                | Op::FileLink
                | Op::DirectoryMake
                | Op::DirectoryRemove
        ));
    }

    #[inline]
    pub(super) fn spawned(&mut self, parent: TaskId, child: TaskId) {
        self.conflicts.spawned(parent, child);
    }

    #[inline]
    pub(super) fn joined(&mut self, task: TaskId, ended: TaskId) {
        self.conflicts.joined(task, ended);
    }

    #[inline]
    pub(super) fn leave_scope(&mut self, task: TaskId, scope: usize) {
        self.conflicts.leave_scope(task, scope);
    }
}
