//! The clocks of tasks, and the entries of tasks in clocks.
//!
//! With an entry for each task that ever existed, the cost of a test with many short tasks would
//! be quadratic. Therefore entries are reused: a new task gets the entry of a task that has ended,
//! if all operations of the old task happened before the new task. Then a task that knows of the
//! new task also knows of the old one, and the larger epoch covers both.

use super::clock::{Clock, Epoch, Owner, Release};
use super::task_order::{NO_WINDOW, TaskOrder};
use super::unseen::UNSEEN;
use super::{FencesOfAll, GivenUp, Races};
use crate::execution::{Op, Site, TaskId};
use core::sync::atomic::Ordering;

impl Races {
    /// Adds `task`, created by `parent`. Returns whether there is room for it.
    pub(crate) fn add_task(&mut self, task: TaskId, parent: Option<TaskId>) -> bool {
        let place = task.0 as usize;
        let Some(entry) = self.tasks.entry(parent) else {
            self.give_up(GivenUp::Tasks);
            return false;
        };
        let all = &mut self.tasks.all;
        if all.len() == place {
            all.push(TaskOrder {
                epoch: 0,
                last: 0,
                ended: 0,
                open: 0,
                arrived: 0,
                performed: 0,
                arrives_at_atomic: false,
                window: NO_WINDOW,
                entry: 0,
                clock: Clock::new(),
                released: Clock::new(),
                has_released_by_exchange: false,
                readable: Clock::new(),
                is_unseen: false,
            });
        }
        let (before, rest) = all.split_at_mut(place);
        let own = &mut rest[0];
        own.clock.clear();
        own.released.clear();
        own.readable.clear();
        if let Some(parent) = parent {
            own.clock.assign(&before[parent.0 as usize].clock);
        }
        own.entry = entry;
        own.epoch = 0;
        own.last = 0;
        own.ended = 0;
        (own.open, own.arrived, own.performed) = (0, 0, 0);
        own.arrives_at_atomic = false;
        own.window = NO_WINDOW;
        own.is_unseen = false;
        own.has_released_by_exchange = false;
        self.tasks.live = place + 1;
        true
    }

    /// The current epoch of the running `task`. Begins a new epoch if the last one has ended.
    /// `None` if there is no room for a new epoch.
    #[inline]
    pub(super) fn epoch_of(&mut self, task: TaskId) -> Option<Epoch> {
        match self.tasks.get(task).epoch {
            0 => self.begin_epoch(task),
            epoch => Some(epoch),
        }
    }

    #[inline(never)]
    fn begin_epoch(&mut self, task: TaskId) -> Option<Epoch> {
        if self.epochs.are_all_used() {
            self.give_up(GivenUp::Releases);
            return None;
        }
        let own = self.tasks.get_mut(task);
        let epoch = self.epochs.add(Owner::Task {
            task: task.0,
            entry: own.entry,
            end: None,
        });
        own.epoch = epoch;
        own.last = epoch;
        if own.open == 0 {
            own.open = epoch;
        }
        own.clock.set(own.entry, epoch);
        Some(epoch)
    }

    /// Ends the epoch of the running `task`, because the operation `op` at `site` releases the
    /// operations of the task so far.
    pub(super) fn end_epoch(&mut self, task: TaskId, op: Op, site: Option<Site>) {
        let own = self.tasks.get_mut(task);
        if own.open != 0 {
            self.epochs
                .end(own.open..=own.last, task, Release { op, site });
            own.ended = own.last;
            (own.epoch, own.open) = (0, 0);
        }
        self.fast_path.hide();
    }

    /// Records that the running `task` has reached the scheduling point before the operation `op`.
    /// If fences of all tasks (`membarrier`) are expected, the accesses of the task after this
    /// point belong to a new epoch: see [`FencesOfAll::Expected`]. Does nothing in all other cases,
    /// and if the monitor does not watch this execution.
    #[inline]
    pub(crate) fn arrive(&mut self, task: TaskId, op: Op) {
        if self.fences_of_all == FencesOfAll::Expected && self.is_on {
            self.split_epoch(task, op);
        }
    }

    #[inline(never)]
    fn split_epoch(&mut self, task: TaskId, op: Op) {
        let own = self.tasks.get_mut(task);
        if own.arrives_at_atomic {
            own.performed = own.arrived;
        }
        own.arrived = own.last;
        own.arrives_at_atomic = op.is_atomic();
        own.epoch = 0;
        self.fast_path.hide();
    }

    /// Records that `task` has created the task `child`.
    pub(crate) fn spawned(&mut self, task: TaskId, child: TaskId, site: Option<Site>) {
        self.log_other(task);
        if self.add_task(child, Some(task)) {
            self.end_epoch(task, Op::Spawn, site);
        }
    }

    /// Records that `task` continues after the end of `other`.
    pub(crate) fn joined(&mut self, task: TaskId, other: TaskId) {
        self.tasks.learn(task, other);
        self.log_other(task);
    }

    /// Records that `task` performs a fence of all tasks at once: all operations so far, also
    /// those of tasks that have ended, happen before all later operations. `unfinished` are the
    /// tasks that have not ended.
    ///
    /// The accesses that another task has made after its last atomic operation are not ordered
    /// before the fence: in another schedule, that task stops before these accesses, and makes them
    /// after the fence. Operations after them that are not atomic do not matter, because their
    /// order with the fence is not explored. So the accesses between two operations must have an
    /// epoch of their own: see [`FencesOfAll::Expected`].
    pub(crate) fn fence_all(&mut self, task: TaskId, unfinished: &[TaskId]) {
        if self.fences_of_all == FencesOfAll::NotMet {
            self.fences_of_all = FencesOfAll::Met;
        }
        for &other in unfinished {
            self.fence(other, Ordering::SeqCst, None);
        }
        for other in (0..self.tasks.live as u32).map(TaskId) {
            if self.fences_of_all == FencesOfAll::Expected {
                self.tasks.learn_performed(task, other);
            } else {
                self.tasks.learn(task, other);
            }
        }
        for &other in unfinished {
            self.tasks.learn(other, task);
        }
    }

    /// Records that `next` runs after `task`. Not inlined, because the monitor is off for most
    /// programs: their switches are faster without this code.
    #[inline(never)]
    pub(crate) fn switched(&mut self, task: TaskId, next: TaskId) {
        if self.orders_all && task != next {
            self.joined(next, task);
            self.end_epoch(task, Op::OpaqueCall, None);
        }
        if self.tasks.get(task).is_unseen && task != next {
            self.release(task, UNSEEN, true, (Op::OpaqueCall, None));
            self.memory.note_unseen(&self.objects.at(UNSEEN).all);
        }
        self.allocations.unsettle();
        self.show_now(next);
    }

    /// Records an operation that may order any tasks, in ways that are not seen.
    pub(crate) fn order_all(&mut self, task: TaskId) {
        if self.orders_all {
            return;
        }
        self.memory.stale.note_unseen();
        self.orders_all = true;
        for other in 0..self.tasks.live as u32 {
            self.joined(task, TaskId(other));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::monitor::Level;
    use crate::monitor::race::MOST_TASKS;
    use crate::monitor::race::{MOST_EPOCHS, What};

    const MAIN: TaskId = TaskId(0);

    fn races() -> Races {
        let mut races = Races::new();
        races.turn_on(false);
        races.renew(true);
        assert!(races.add_task(MAIN, None));
        races
    }

    fn is_racy(races: &Races) -> bool {
        races.found(Level::Deny).next().is_some()
    }

    fn write(races: &mut Races, task: TaskId) {
        races.access(task, 0x1000, 8, What::Write, None);
    }

    #[test]
    fn a_task_takes_the_entry_of_a_task_whose_end_is_ordered_before_its_creation() {
        let mut races = races();
        for number in (1..20_000).step_by(2) {
            let (first, second) = (TaskId(number), TaskId(number + 1));
            for task in [first, second] {
                races.spawned(MAIN, task, None);
                races.access(task, 0x2000 + task.0 as usize % 2 * 8, 8, What::Write, None);
                races.release(task, 0x10, true, (Op::Exit, None));
                races.tasks.end(task);
            }
            // The task waits for the end of the scope, not for the ends of its tasks.
            races.acquire(MAIN, 0x10, true);
        }
        assert!(races.tasks.entries == 3 && races.is_on && !is_racy(&races));
    }

    #[test]
    fn accesses_of_a_task_after_its_last_release_keep_its_entry() {
        let mut races = races();
        races.spawned(MAIN, TaskId(1), None);
        races.release(TaskId(1), 0x10, true, (Op::Exit, None));
        write(&mut races, TaskId(1));
        races.tasks.end(TaskId(1));
        races.acquire(MAIN, 0x10, true);
        races.spawned(MAIN, TaskId(2), None);
        assert_ne!(
            races.tasks.get(TaskId(1)).entry,
            races.tasks.get(TaskId(2)).entry
        );
        write(&mut races, TaskId(2));
        assert!(is_racy(&races));
    }

    #[test]
    fn a_task_that_is_ordered_with_the_old_task_alone_races_with_the_new_one() {
        let mut races = races();
        for task in [1, 2] {
            races.spawned(MAIN, TaskId(task), None);
        }
        write(&mut races, TaskId(1));
        races.release(TaskId(1), 0x10, true, (Op::Exit, None));
        races.tasks.end(TaskId(1));
        races.acquire(TaskId(2), 0x10, true);
        races.joined(MAIN, TaskId(1));
        races.spawned(MAIN, TaskId(3), None);
        assert_eq!(
            races.tasks.get(TaskId(1)).entry,
            races.tasks.get(TaskId(3)).entry
        );
        write(&mut races, TaskId(3));
        assert!(!is_racy(&races));
        write(&mut races, TaskId(2));
        assert!(is_racy(&races));
    }

    #[test]
    fn too_many_tasks_whose_end_is_ordered_with_no_task_end_the_search_for_races() {
        let mut races = races();
        for task in 1..MOST_TASKS as u32 {
            races.spawned(MAIN, TaskId(task), None);
            let place = 0x1000 + task as usize * 8;
            races.access(TaskId(task), place, 8, What::Write, None);
            races.tasks.end(TaskId(task));
        }
        assert!(races.is_on);
        races.spawned(MAIN, TaskId(MOST_TASKS as u32), None);
        assert!(!races.is_on && races.given_up == Some(GivenUp::Tasks));
        races.renew(true);
        assert!(races.is_on && races.given_up.is_none());
    }

    #[test]
    fn too_many_releases_end_the_search_for_races() {
        let mut races = races();
        for _ in 0..MOST_EPOCHS {
            write(&mut races, MAIN);
            assert!(races.is_on);
            races.end_epoch(MAIN, Op::Spawn, None);
        }
        write(&mut races, MAIN);
        assert!(!races.is_on && races.given_up == Some(GivenUp::Releases));
        races.renew(true);
        assert!(races.is_on && races.given_up.is_none());
    }

    /// Two tasks that have called opaque code; the first one then writes.
    fn after_opaque_calls() -> Races {
        let mut races = races();
        for task in [1, 2] {
            races.spawned(MAIN, TaskId(task), None);
        }
        races.enter_unseen(TaskId(2));
        races.enter_unseen(TaskId(1));
        write(&mut races, TaskId(1));
        races.switched(TaskId(1), TaskId(2));
        races
    }

    #[test]
    fn a_call_into_opaque_code_comes_after_the_accesses_of_tasks_that_had_called_it() {
        let mut races = after_opaque_calls();
        races.enter_unseen(TaskId(2));
        write(&mut races, TaskId(2));
        assert!(!is_racy(&races));
        let mut races = after_opaque_calls();
        races.resume_unseen(TaskId(2));
        write(&mut races, TaskId(2));
        assert!(!is_racy(&races), "it waited there");
    }

    #[test]
    fn accesses_without_a_further_call_into_opaque_code_race() {
        let mut races = after_opaque_calls();
        write(&mut races, TaskId(2));
        assert!(is_racy(&races));
    }

    #[test]
    fn a_task_that_has_not_called_opaque_code_releases_nothing_to_it() {
        let mut races = races();
        for task in [1, 2] {
            races.spawned(MAIN, TaskId(task), None);
        }
        write(&mut races, TaskId(1));
        races.switched(TaskId(1), TaskId(2));
        races.resume_unseen(TaskId(2));
        races.enter_unseen(TaskId(2));
        write(&mut races, TaskId(2));
        assert!(is_racy(&races));
    }

    #[test]
    fn releases_without_an_access_between_need_no_room() {
        let mut races = races();
        for _ in 0..=MOST_EPOCHS {
            races.end_epoch(MAIN, Op::Spawn, None);
        }
        write(&mut races, MAIN);
        assert!(races.is_on);
    }
}
