//! The use of files and of the environment in one execution.

use super::conflicts::Conflicts;
use super::{Op, TaskId};

/// The use of files and of the environment in one execution.
pub(crate) struct FileUse {
    /// Each call that uses files or the environment is a scheduling point.
    pub(super) are_points: bool,
    pub(super) conflicts: Conflicts,
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
            are_points: false,
            conflicts: Conflicts::new(),
            version: 0,
            looks: 0,
            since: 0,
            calls: 0,
            directory_changes: 0,
        }
    }

    /// Resets the state for a new execution. `are_points` states whether calls that use files or
    /// the environment are scheduling points.
    pub(crate) fn begin(&mut self, are_points: bool) {
        self.are_points = are_points;
        self.conflicts.clear();
        (self.version, self.looks, self.since) = (0, 0, 0);
        (self.calls, self.directory_changes) = (0, 0);
    }

    pub(super) fn count(&mut self, op: Op) {
        self.calls += u32::from(!matches!(op, Op::EnvironmentRead | Op::EnvironmentWrite));
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
