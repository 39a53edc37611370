//! Calls that use files, directories and environment variables: scheduling points where that matters.
//!
//! In most programs no two tasks use one file such that the order matters. There all these
//! calls commute, and are no scheduling points. Where two uses conflict ([`Conflicts`]),
//! each such call becomes one, and the search begins anew ([`Execution::has_file_conflict`]).
//! That is sound: as long as none conflict, the schedules explored are all that exist. What
//! the first task does before it has spawned another one comes before everything.
//!
//! What a call uses, and how, is found where it is interposed.

use core::panic::Location;

use super::arrival::Arrival;
use super::conflicts::Conflicts;
use super::object::ObjectId;
use super::schedule::Step;
use super::spin::Access;
use super::state::Execution;
use super::{Effect, Op, Site, TaskId, Wait, marked_line, perform, running};
use crate::monitor::race;

/// Where no line is known: for recognising a loop that asks again and again.
const NO_LINE: Site = Location::caller();

/// After so many calls that only looked, and no scheduling point between, a task is taken
/// to wait for another one.
const MANY_LOOKS: u32 = 2000;

/// The use of files and of the environment in one execution.
pub(crate) struct FileUse {
    /// Each such call is a scheduling point.
    are_points: bool,
    conflicts: Conflicts,
    /// How often one of them was changed.
    version: u32,
    /// How many calls only looked since the engine's pulse was at `since`.
    looks: u32,
    since: u64,
    /// Calls that had an effect, or could have had one.
    pub(crate) calls: u32,
    /// Those of them that change a directory.
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

    /// An execution begins in which these calls are scheduling points or not.
    pub(crate) fn begin(&mut self, are_points: bool) {
        self.are_points = are_points;
        self.conflicts.clear();
        (self.version, self.looks, self.since) = (0, 0, 0);
        (self.calls, self.directory_changes) = (0, 0);
    }

    fn count(&mut self, op: Op) {
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

impl Execution {
    /// Whether the order of two calls on files mattered though these are no scheduling points.
    pub(crate) fn has_file_conflict(&self) -> bool {
        !self.files.are_points && self.files.conflicts.found
    }

    /// The object at `address`, which stands for something outside the program's memory:
    /// the address is its name, the same in all executions.
    fn named_object(&mut self, address: usize) -> ObjectId {
        self.objects.at(address, address as u64)
    }

    /// Whether only one task has ever run: whatever it does comes before all others.
    fn is_only_task(&self) -> bool {
        self.live == 1
    }

    /// The current task arrives before a call that uses `object`.
    fn arrive_at_file(&mut self, op: Op, object: ObjectId) -> Step {
        let site = marked_line();
        let look = Access::new(op, site.unwrap_or(NO_LINE), object);
        let version = self.files.version;
        let spin = &self.running().spin;
        let spins = spin.is_watching() && spin.spins(look, version);
        let arrival = self.announce(op, object, None);
        if site.is_some() {
            self.running().site = site;
        }
        match arrival {
            _ if spins => self.yield_step(0),
            Arrival::Inside => self.inside_step(),
            Arrival::Point | Arrival::Spin => self.decide(false),
        }
    }

    /// A call that is no scheduling point: one that looks for ever must let others go on.
    fn pass_file(&mut self, op: Op, object: ObjectId) -> Step {
        let now = self.pulse;
        let files = &mut self.files;
        if files.since != now {
            (files.since, files.looks) = (now, 0);
        }
        files.looks += 1;
        if files.looks < MANY_LOOKS || self.is_only_task() {
            return Step::Continue;
        }
        self.files.conflicts.found = true;
        self.announce(op, object, None);
        self.yield_step(0)
    }

    /// The current task's call has used this. The first object is what the call is about.
    fn use_files(&mut self, op: Op, touches: &[(usize, Effect)]) -> Step {
        // What other processes do to files is not seen.
        self.running().spin.sees_more();
        let Some((&(main, effect), others)) = touches.split_first() else {
            return Step::Continue;
        };
        let only_looks = touches.iter().all(|&(_, effect)| effect == Effect::Read);
        if !only_looks {
            self.files.version = self.files.version.wrapping_add(1);
            self.files.looks = 0;
        }
        if self.is_only_task() {
            return Step::Continue;
        }
        if !self.files.are_points {
            let task = self.current;
            for &(address, effect) in touches {
                let object = self.named_object(address);
                self.files.conflicts.add(task, object, effect);
            }
            return Step::Continue;
        }
        let main = self.named_object(main);
        let site = marked_line();
        if only_looks {
            let look = Access::new(op, site.unwrap_or(NO_LINE), main);
            let version = self.files.version;
            self.running().spin.read(look, version);
        } else {
            self.running().spin.progress();
        }
        self.running().spin.sees_more();
        // With another outcome the call may touch more.
        self.log.trace.go_on();
        self.log_event(op, main, effect, site);
        let mut step = Step::Continue;
        for &(address, effect) in others {
            let object = self.named_object(address);
            step = self.touch(object, effect);
        }
        step
    }
}

/// Whether calls that use files may be scheduling points now.
pub(crate) fn are_points() -> bool {
    running().is_some_and(|execution| {
        // SAFETY: see `running`.
        unsafe { (*execution).files.are_points && !(*execution).is_only_task() }
    })
}

/// Before a call that uses what is named `object`, and perhaps more: a scheduling point,
/// where such calls are.
pub(crate) fn arrive(op: Op, object: usize) {
    let Some(execution) = running() else { return };
    // SAFETY: see `running`; no reference lives across `perform`.
    unsafe {
        let object = (*execution).named_object(object);
        let step = if !(*execution).files.are_points {
            (*execution).pass_file(op, object)
        } else if (*execution).is_only_task() {
            Step::Continue
        } else {
            (*execution).arrive_at_file(op, object)
        };
        perform(step);
    }
}

/// As [`arrive`], before a call that commutes with all that others do first: no scheduling
/// point.
pub(crate) fn pass(op: Op) {
    let Some(execution) = running() else { return };
    // SAFETY: see `running`; no reference lives across `perform`.
    unsafe {
        (*execution).running().op = op;
        if (*execution).files.are_points && !(*execution).is_only_task() {
            perform((*execution).inside_step());
        }
    }
}

/// What the call did that was announced by [`arrive`]: the objects that it used, and how,
/// first the one that it is about.
///
/// The kernel serves the calls on one object one after the other. A program may rely on
/// that: what a task did before it wrote a file comes before what another one does that
/// has read it. Neither Rust nor POSIX promises it, so a race may be missed here; none is
/// reported that cannot happen.
pub(crate) fn used(op: Op, touches: &[(usize, Effect)]) {
    let Some(execution) = running() else { return };
    for &(object, effect) in touches {
        if effect != Effect::Update {
            race::acquire(object);
        }
        if effect != Effect::Read {
            race::release(object, op, marked_line());
        }
    }
    // SAFETY: see `running`; no reference lives across `perform`.
    unsafe {
        (*execution).files.count(op);
        perform((*execution).use_files(op, touches));
    }
}

/// The current task changes what its process may do with files: calls on them are
/// scheduling points, and none is known to commute with this.
pub(crate) fn permissions_change() {
    let Some(execution) = running() else { return };
    // SAFETY: see `running`.
    unsafe {
        (*execution).log.trace.is_irregular = true;
        (*execution).files.conflicts.found |= !(*execution).is_only_task();
    }
}

/// Waits until a file lock that is named `object` may be free, which it was not now.
pub(crate) fn wait_for_lock(op: Op, object: usize) {
    let Some(execution) = running() else { return };
    // SAFETY: see `running`; no reference lives across `perform`.
    unsafe {
        let object = (*execution).named_object(object);
        if !(*execution).files.are_points {
            // Where a task waits the order matters.
            (*execution).files.conflicts.found = true;
        }
        // That it is not free is something that the task saw.
        let trace = &mut (*execution).log.trace;
        trace.access(object, Effect::Read, Effect::Write);
        trace.go_on();
        let task = (*execution).running();
        (task.op, task.object, task.retries) = (op, object, true);
        if let Some(site) = marked_line() {
            task.site = Some(site);
        }
        perform((*execution).sleep_on(Wait::Object(object), None));
        (*execution).running().retries = false;
    }
}

/// Enables all that wait for the file lock named `object`.
pub(crate) fn wake_for_lock(object: usize) {
    let Some(execution) = running() else { return };
    // SAFETY: see `running`.
    unsafe {
        let object = (*execution).named_object(object);
        (*execution).wake_waiters(object);
    }
}

/// For deadlock reports: who holds the file lock named `object`, and where it was taken.
pub(crate) fn hold_lock(object: usize, holder: Option<(TaskId, Option<Site>)>) {
    let Some(execution) = running() else { return };
    // SAFETY: see `running`.
    unsafe {
        let object = (*execution).named_object(object);
        let lock = (*execution).objects.get_mut(object);
        lock.owner = holder.map(|(task, _)| task);
        lock.held_at = holder.and_then(|(_, site)| site);
    }
}

/// The running task follows all that the tasks of `scope` did.
pub fn end_scope(scope: usize) {
    let Some(execution) = running() else { return };
    // SAFETY: see `running`.
    unsafe {
        let task = (*execution).current;
        (*execution).files.conflicts.end_scope(task, scope);
    }
}
