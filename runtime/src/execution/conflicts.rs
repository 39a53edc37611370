//! Conflicting uses of files, of the environment, of the clock and of other state outside the
//! program's memory: two tasks use one object, their effects do not commute, and neither use comes
//! before the other in all schedules.
//!
//! Here, only the spawns and joins of tasks order uses. Locks and channels are ignored, so a
//! program that orders its uses by a lock has a conflict. Then the search runs more schedules than
//! necessary, and misses none.

use super::{Effect, Op, TaskId};
use crate::base::memory::{EngineVec, engine_vec};
use crate::search::ObjectId;

/// Calls that become scheduling points together.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Calls {
    /// Calls that use files, the environment or attributes of the process.
    Files,
    /// Calls that use the state of a descriptor.
    Descriptors,
    /// Reads of the clock.
    Clock,
}

impl Calls {
    /// The group of the calls of this kind.
    pub(super) fn of(op: Op) -> Self {
        match op {
            Op::DescriptorInspect | Op::DescriptorChange | Op::DescriptorClose => Self::Descriptors,
            Op::ReadClock => Self::Clock,
            _ => Self::Files,
        }
    }
}

/// A set of groups of calls.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Groups {
    pub(crate) on_files: bool,
    pub(crate) on_descriptors: bool,
    pub(crate) on_clock: bool,
}

impl Groups {
    pub(super) const NONE: Self = Self {
        on_files: false,
        on_descriptors: false,
        on_clock: false,
    };

    /// Whether `calls` is one of the groups.
    pub(super) fn has(self, calls: Calls) -> bool {
        match calls {
            Calls::Files => self.on_files,
            Calls::Descriptors => self.on_descriptors,
            Calls::Clock => self.on_clock,
        }
    }

    pub(super) fn add(&mut self, calls: Calls) {
        match calls {
            Calls::Files => self.on_files = true,
            Calls::Descriptors => self.on_descriptors = true,
            Calls::Clock => self.on_clock = true,
        }
    }

    /// Records that calls of all groups conflict, except for reads of the clock.
    pub(super) fn add_all(&mut self) {
        (self.on_files, self.on_descriptors) = (true, true);
    }
}

/// The newest use of one object by `task` with `effect` in calls of one group.
#[derive(Clone, Copy)]
struct Use {
    task: TaskId,
    effect: Effect,
    calls: Calls,
    /// The number of the use, counted from 1.
    number: u32,
    /// The index in `uses` of the next use of the same object, or [`NO_USE`].
    next: u32,
}

/// Stands for a missing index in `uses`.
const NO_USE: u32 = u32::MAX;

/// The vector clock of a task. The element for another task is the number of the newest use by that
/// other task that happens before the next operations of the clock's task.
type Known = EngineVec<u32>;

/// The uses of objects in one execution.
pub(super) struct Conflicts {
    /// The number of uses.
    count: u32,
    /// The clocks, by task.
    known: EngineVec<Known>,
    /// The address of each scope that a task has left, with the merged clocks of these tasks at the
    /// moments when they left the scope.
    scopes: EngineVec<(usize, Known)>,
    uses: EngineVec<Use>,
    /// By object: the index in `uses` of the first use in its list, or [`NO_USE`].
    first: EngineVec<u32>,
    /// The groups of the calls whose uses conflicted.
    pub(super) found: Groups,
}

impl Conflicts {
    pub(super) const fn new() -> Self {
        Self {
            count: 0,
            known: engine_vec(),
            scopes: engine_vec(),
            uses: engine_vec(),
            first: engine_vec(),
            found: Groups::NONE,
        }
    }

    pub(super) fn clear(&mut self) {
        if self.count > 0 {
            self.count = 0;
            self.known.clear();
            self.scopes.clear();
            self.uses.clear();
            self.first.clear();
        }
        self.found = Groups::NONE;
    }

    /// Orders the operations that `parent` has performed so far before all operations of `child`.
    #[inline]
    pub(super) fn spawned(&mut self, parent: TaskId, child: TaskId) {
        if self.count > 0 {
            self.follow(child, parent);
        }
    }

    /// Orders all operations of `ended` before the next ones of `task`.
    #[inline]
    pub(super) fn joined(&mut self, task: TaskId, ended: TaskId) {
        if self.count > 0 {
            self.follow(task, ended);
        }
    }

    /// Records that `task` leaves the scope at address `scope`.
    pub(super) fn leave_scope(&mut self, task: TaskId, scope: usize) {
        if self.count == 0 {
            return;
        }
        let known = self.known_by(task);
        match self.scopes.iter_mut().find(|(at, _)| *at == scope) {
            Some((_, all)) => merge(all, &known),
            None => self.scopes.push((scope, known)),
        }
    }

    /// Orders all operations of the tasks of a scope, up to their
    /// [`leave_scope`](Self::leave_scope), before the next operations of `task`. `scope` is the
    /// address of the scope.
    pub(super) fn end_scope(&mut self, task: TaskId, scope: usize) {
        if let Some(place) = self.scopes.iter().position(|(at, _)| *at == scope) {
            let (_, known) = self.scopes.swap_remove(place);
            merge(self.row(task), &known);
        }
    }

    /// Records that `task` uses `object` in a call of the group `calls`.
    pub(super) fn add(&mut self, task: TaskId, object: ObjectId, effect: Effect, calls: Calls) {
        self.count += 1;
        let number = self.count;
        let object = object.0 as usize;
        if self.first.len() <= object {
            self.first.resize(object + 1, NO_USE);
        }
        let first = self.first[object];
        let (mut place, mut own) = (first, NO_USE);
        while place != NO_USE {
            let Use {
                task: other,
                effect: earlier,
                calls: earlier_calls,
                number: at,
                next,
            } = self.uses[place as usize];
            if other != task {
                let known = self.known.get(task.0 as usize);
                let known = known.and_then(|known| known.get(other.0 as usize));
                let is_before = known.is_some_and(|&known| at <= known);
                if !is_before && !effect.commutes(earlier) {
                    self.found.add(calls);
                    self.found.add(earlier_calls);
                }
            } else if (earlier, earlier_calls) == (effect, calls) {
                own = place;
            }
            place = next;
        }
        if own == NO_USE {
            self.first[object] = self.uses.len() as u32;
            self.uses.push(Use {
                task,
                effect,
                calls,
                number,
                next: first,
            });
        } else {
            self.uses[own as usize].number = number;
        }
    }

    fn follow(&mut self, task: TaskId, other: TaskId) {
        let known = self.known_by(other);
        merge(self.row(task), &known);
    }

    fn row(&mut self, task: TaskId) -> &mut Known {
        while self.known.len() <= task.0 as usize {
            self.known.push(engine_vec());
        }
        &mut self.known[task.0 as usize]
    }

    /// The vector clock of `task`, including the uses by `task` itself.
    fn known_by(&mut self, task: TaskId) -> Known {
        let now = self.count;
        let mut known = self.row(task).clone();
        let own = task.0 as usize;
        if known.len() <= own {
            known.resize(own + 1, 0);
        }
        known[own] = now;
        known
    }
}

fn merge(into: &mut Known, from: &Known) {
    if into.len() < from.len() {
        into.resize(from.len(), 0);
    }
    for (known, &other) in into.iter_mut().zip(from) {
        *known = (*known).max(other);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MAIN: TaskId = TaskId(0);
    const FIRST: TaskId = TaskId(1);
    const SECOND: TaskId = TaskId(2);
    const FILE: ObjectId = ObjectId(5);
    const OTHER: ObjectId = ObjectId(2);

    fn add(conflicts: &mut Conflicts, task: TaskId, object: ObjectId, effect: Effect) {
        conflicts.add(task, object, effect, Calls::Files);
    }

    fn after_spawning_two() -> Conflicts {
        let mut conflicts = Conflicts::new();
        add(&mut conflicts, MAIN, FILE, Effect::Write);
        conflicts.spawned(MAIN, FIRST);
        conflicts.spawned(MAIN, SECOND);
        conflicts
    }

    #[test]
    fn accesses_before_a_spawn_are_no_conflict() {
        let mut conflicts = after_spawning_two();
        add(&mut conflicts, FIRST, FILE, Effect::Read);
        add(&mut conflicts, SECOND, FILE, Effect::Read);
        assert!(!conflicts.found.on_files, "reads commute");
        add(&mut conflicts, MAIN, OTHER, Effect::Write);
        assert!(!conflicts.found.on_files);
        add(&mut conflicts, FIRST, OTHER, Effect::Read);
        assert!(conflicts.found.on_files, "it was spawned before that write");
    }

    #[test]
    fn the_end_of_a_task_that_is_joined_orders_it() {
        let mut conflicts = after_spawning_two();
        add(&mut conflicts, FIRST, FILE, Effect::Read);
        conflicts.joined(MAIN, FIRST);
        add(&mut conflicts, MAIN, FILE, Effect::Write);
        assert!(!conflicts.found.on_files);
        add(&mut conflicts, SECOND, FILE, Effect::Read);
        assert!(conflicts.found.on_files);
    }

    #[test]
    fn the_end_of_a_scope_orders_its_tasks() {
        const SCOPE: usize = 64;
        let mut conflicts = after_spawning_two();
        add(&mut conflicts, FIRST, FILE, Effect::Update);
        conflicts.leave_scope(FIRST, SCOPE);
        add(&mut conflicts, SECOND, FILE, Effect::Update);
        conflicts.leave_scope(SECOND, SCOPE);
        assert!(!conflicts.found.on_files, "updates commute");
        conflicts.end_scope(MAIN, SCOPE);
        add(&mut conflicts, MAIN, FILE, Effect::Read);
        assert!(!conflicts.found.on_files);
        add(&mut conflicts, FIRST, FILE, Effect::Update);
        assert!(conflicts.found.on_files, "it was outside its scope");
    }

    #[test]
    fn an_earlier_use_is_found_behind_later_ones() {
        let mut conflicts = after_spawning_two();
        add(&mut conflicts, FIRST, FILE, Effect::Write);
        add(&mut conflicts, FIRST, FILE, Effect::Read);
        assert!(!conflicts.found.on_files);
        add(&mut conflicts, SECOND, FILE, Effect::Read);
        assert!(conflicts.found.on_files);
    }

    #[test]
    fn both_calls_of_a_conflict_become_scheduling_points() {
        for (first, second, found) in [
            (Calls::Files, Calls::Files, (true, false)),
            (Calls::Files, Calls::Descriptors, (true, true)),
            (Calls::Descriptors, Calls::Files, (true, true)),
            (Calls::Descriptors, Calls::Descriptors, (false, true)),
        ] {
            let mut conflicts = after_spawning_two();
            conflicts.add(FIRST, FILE, Effect::Read, first);
            conflicts.add(SECOND, FILE, Effect::Write, second);
            let Groups {
                on_files,
                on_descriptors,
                on_clock: _,
            } = conflicts.found;
            assert_eq!((on_files, on_descriptors), found);
        }
    }
}
