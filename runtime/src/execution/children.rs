//! The child processes that an execution has started, and whether they run.
//!
//! A child would run at the same time as the tasks, and no schedule could repeat its speed. So the
//! engine stops a child when it starts (SIGSTOP), and lets it run only while no task can run, or
//! after several yields of the enabled tasks ([`super::outside_waits`]). The child then runs until
//! it has ended or waits. Tasks see the end of a child only after such a period. The descendants of
//! a child are stopped, too.

use core::ffi::c_int;

use super::outside_source;
use crate::base::memory::{EngineVec, engine_vec};
use crate::base::sys::{self, SIGCONT, SIGKILL, SIGSTOP, number};
use crate::platform::process_activity::Activity;

/// The longest time between two looks at the activity of children, in nanoseconds.
const BETWEEN_LOOKS: u64 = 200_000;
/// The initial value of [`Children::patience`]: a second.
const PATIENCE: u32 = 5_000;
/// The least value of [`Children::patience`].
const LEAST_PATIENCE: u32 = 5;
/// The maximum number of children that run one after the other. More children run in parallel: one
/// after the other, the number of looks at their activity would grow with the square of their
/// number.
const MOST_IN_ORDER: usize = 16;
/// The number of yields of tasks after which the children must run, although tasks are enabled.
const MANY_YIELDS: u32 = 100;
/// From this number of yields on, the children run at each yield of the only enabled task. A task
/// with fewer yields does not count as a loop that waits for a child. If the children ran at each
/// of its polls, the real time of these runs would add up, and a child that sleeps would end before
/// the virtual time that the test gives it.
const SEVERAL_YIELDS: u32 = 8;

/// A child process for which no task has waited.
struct Child {
    id: c_int,
    /// SIGCHLD has signalled its end, or the engine has waited for this signal.
    is_signalled: bool,
    /// The tasks see that it has ended.
    is_shown: bool,
    /// A task has killed the child. SIGKILL ends a stopped process, too, so the engine sends the
    /// signal when the child may run.
    is_killed: bool,
}

/// The child processes of an execution for which no task has waited.
pub(crate) struct Children {
    all: EngineVec<Child>,
    /// The processes that the engine has stopped.
    stopped: EngineVec<c_int>,
    /// The engine stops no children in this execution, because the tasks would see the stops.
    run_freely: bool,
    /// The engine lets the children run for at most this number of looks at their activity. If they
    /// still run then, the number is halved. The number is kept from one execution to the next.
    patience: u32,
    /// The number of yields of tasks since the children last ran.
    yields: u32,
    /// The number of yields of tasks that were the only enabled one, since all tasks were last
    /// blocked.
    yields_alone: u32,
}

impl Children {
    pub(super) const fn new() -> Self {
        Self {
            all: engine_vec(),
            stopped: engine_vec(),
            run_freely: false,
            patience: PATIENCE,
            yields: 0,
            yields_alone: 0,
        }
    }

    pub(super) fn clear(&mut self) {
        self.all.clear();
        self.stopped.clear();
        self.run_freely = false;
        self.yields = 0;
        self.yields_alone = 0;
    }

    pub(super) fn is_empty(&self) -> bool {
        self.all.is_empty()
    }

    /// The ids of the children.
    pub(super) fn ids(&self) -> impl Iterator<Item = c_int> {
        self.all.iter().map(|child| child.id)
    }

    /// Adds a child that has just started. Stops it, unless it `stops_itself`.
    pub(super) fn add(&mut self, id: c_int, stops_itself: bool) {
        self.all.push(Child {
            id,
            is_signalled: false,
            is_shown: false,
            is_killed: false,
        });
        if stops_itself {
            // A SIGCONT before the child has stopped would have no effect.
            outside_source::wait_for_stop(id);
        } else if !self.run_freely {
            send(id, SIGSTOP);
        }
        if !self.run_freely {
            self.stopped.push(id);
        } else if stops_itself {
            send(id, SIGCONT);
        }
    }

    /// Removes a child for which a task has waited. Its number may now belong to another process.
    pub(super) fn remove(&mut self, id: c_int) {
        self.all.retain(|child| child.id != id);
        self.stopped.retain(|&stopped| stopped != id);
    }

    /// Kills a child when it may run next. Returns `false` if there is no such child, or if the
    /// children run freely.
    pub(super) fn kill(&mut self, id: c_int) -> bool {
        let mut children = self.all.iter_mut();
        match children.find(|child| child.id == id) {
            Some(child) if !self.run_freely => {
                child.is_killed = true;
                true
            }
            _ => false,
        }
    }

    /// Lets the children run, one after the other unless there are many, each until it has ended or
    /// waits, or until the patience is over. From then on, the tasks see which children have ended.
    /// Does not stop the children again: see [`Self::stop`].
    pub(super) fn run(&mut self) {
        self.yields = 0;
        let mut patience = self.patience;
        let all = self.all.len();
        let are_in_order = self.running().count() <= MOST_IN_ORDER;
        for count in 1..=all {
            if self.all[count - 1].is_killed {
                send(self.all[count - 1].id, SIGKILL);
            }
            // In parallel, the children would have effects in an order that no schedule repeats.
            for process in Activity::of(&[self.all[count - 1].id]).processes() {
                if let Some(at) = self.stopped.iter().position(|&it| it == process) {
                    self.stopped.remove(at);
                    send(process, SIGCONT);
                }
            }
            if are_in_order || count == all {
                patience -= self.wait_until_they_rest(count, patience);
            }
        }
        self.resume();
        if patience == 0 {
            self.patience = (self.patience / 2).max(LEAST_PATIENCE);
        }
        self.show_ends();
    }

    /// From now on, the tasks see which children have ended.
    pub(super) fn show_ends(&mut self) {
        self.all.retain_mut(|child| {
            let runs = outside_source::is_running(child.id);
            child.is_shown |= runs == Some(false);
            runs.is_some()
        });
    }

    /// Waits until each of the first `count` children has ended or waits, but for at most
    /// `patience` looks at their activity. Returns the number of looks before the one that ended
    /// the wait, or `patience`.
    fn wait_until_they_rest(&self, count: usize, patience: u32) -> u32 {
        let mut last = None;
        for looks in 0..patience {
            let now = self.activity(count);
            if now.is_of_none() || !now.is_running && last.as_ref() == Some(&now) {
                return looks;
            }
            last = Some(now);
            outside_source::wait_for_end(self.all[count - 1].id, BETWEEN_LOOKS);
        }
        patience
    }

    /// Continues all processes that the engine has stopped.
    fn resume(&mut self) {
        for process in self.stopped.drain(..) {
            send(process, SIGCONT);
        }
    }

    /// Continues all processes that the engine has stopped, while the explorer waits in the kernel.
    /// For the zygote, which may only read this list.
    pub(crate) fn wake(&self) {
        for &process in &self.stopped {
            send(process, SIGCONT);
        }
    }

    /// Stops the children that run or wait, and their descendants.
    pub(super) fn stop(&mut self) {
        if self.run_freely {
            return;
        }
        let activity = self.activity(self.all.len());
        for process in activity.unstopped() {
            send(process, SIGSTOP);
            self.stopped.push(process);
        }
    }

    /// Lets the children run freely from now on, because the tasks of this execution see when a
    /// child stops or continues.
    pub(super) fn run_freely(&mut self) {
        if self.run_freely {
            return;
        }
        self.run_freely = true;
        for child in self.all.iter().filter(|child| child.is_killed) {
            send(child.id, SIGKILL);
        }
        self.resume();
        for child in self.ids() {
            outside_source::forget_continuation(child);
        }
    }

    /// Whether the engine stops no children in this execution.
    pub(super) fn are_free(&self) -> bool {
        self.run_freely
    }

    /// The activity of those of the first `count` children that have not ended.
    fn activity(&self, count: usize) -> Activity {
        let mut running: EngineVec<c_int> = engine_vec();
        running.extend(running_of(&self.all[..count]));
        Activity::of(&running)
    }

    /// The children that have not ended.
    pub(super) fn running(&self) -> impl Iterator<Item = c_int> {
        running_of(&self.all)
    }

    /// Records that SIGCHLD has signalled the ends of all children that have ended. Returns whether
    /// one of these ends was not recorded before.
    pub(super) fn note_ends(&mut self) -> bool {
        let mut are_new = false;
        for child in self.all.iter_mut().filter(|child| !child.is_signalled) {
            child.is_signalled = outside_source::is_running(child.id) == Some(false);
            are_new |= child.is_signalled;
        }
        are_new
    }

    /// Whether tasks see that a child has ended. `child` is the id of the child; `None` stands for
    /// any child. Returns `None` if there is no such child.
    pub(super) fn has_ended(&self, child: Option<c_int>) -> Option<bool> {
        let is_asked = |it: &&Child| child.is_none_or(|child| child == it.id);
        let mut asked = self.all.iter().filter(is_asked);
        let first = asked.next()?;
        Some(first.is_shown || asked.any(|it| it.is_shown))
    }

    /// The first child that tasks see as ended.
    pub(super) fn first_ended(&self) -> Option<c_int> {
        let ended = self.all.iter().find(|child| child.is_shown);
        ended.map(|child| child.id)
    }

    /// Records that a task has yielded. Returns whether the children must run now.
    pub(super) fn must_run_after_yield(&mut self) -> bool {
        self.yields += 1;
        !self.is_empty() && self.yields == MANY_YIELDS
    }

    /// Records that the only enabled task has yielded. Returns whether there are stopped children
    /// that need not run now.
    pub(super) fn rest_after_yield_of_only_task(&mut self) -> bool {
        self.yields_alone = self.yields_alone.saturating_add(1);
        !self.is_empty() && !self.run_freely && self.yields_alone < SEVERAL_YIELDS
    }

    /// Records that all tasks are blocked.
    pub(super) fn tasks_block(&mut self) {
        self.yields_alone = 0;
    }

    /// Kills the remaining children of an execution, since the next execution does not know them.
    pub(crate) fn end(&mut self) {
        for child in self.all.drain(..) {
            if outside_source::is_running(child.id).is_none() {
                continue;
            }
            send(child.id, SIGKILL);
            // SAFETY: our own child, not yet waited for; no memory is passed.
            unsafe { sys::syscall(number::WAIT4, [child.id as usize, 0, 0, 0, 0, 0]) };
            self.stopped.retain(|&stopped| stopped != child.id);
        }
        self.resume();
    }
}

/// Those of the children that have not ended.
fn running_of(children: &[Child]) -> impl Iterator<Item = c_int> {
    let ids = children.iter().map(|child| child.id);
    ids.filter(|&id| outside_source::is_running(id) == Some(true))
}

/// Sends a signal to a child, or to one of its descendants.
fn send(process: c_int, signal: c_int) {
    let (process, signal) = (process as usize, signal as usize);
    // SAFETY: no memory is passed.
    unsafe { sys::syscall(number::KILL, [process, signal, 0, 0, 0, 0]) };
}
