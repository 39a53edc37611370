//! Who holds which lock, and who waits for whom, after each event of an execution.

use std::collections::BTreeMap;

use crate::supervise::protocol::{Effect, Finished, Step};

/// Who holds a lock, each with the event that took it.
#[derive(Clone, PartialEq, Eq, Default, Debug)]
pub(crate) struct Holders {
    /// Whether they hold it beside each other.
    pub(crate) shared: bool,
    /// The tasks, and the events.
    pub(crate) tasks: Vec<(u32, usize)>,
}

/// A task that cannot go on.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(crate) enum Waiting {
    /// For a lock that others hold.
    Lock {
        /// The task that waits.
        task: u32,
        /// The lock.
        object: String,
        /// Who holds it.
        holders: Vec<u32>,
    },
    /// For a condition variable to be notified.
    Notification {
        /// The task that waits.
        task: u32,
        /// The condition variable.
        object: String,
    },
    /// For another task to end.
    End {
        /// The task that waits.
        task: u32,
        /// The one that it joins.
        other: u32,
    },
}

/// What an event does to a lock.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Change {
    Takes,
    TakesShared,
    Gives,
    Downgrades,
}

/// The next operation of a task: an event, or what it waits in at the end.
struct Next<'a> {
    op: &'a str,
    object: Option<&'a str>,
}

/// The locks of an execution, up to an event.
pub(crate) struct Locks<'a> {
    finished: &'a Finished,
    /// The events of each task.
    of_task: BTreeMap<u32, Vec<usize>>,
    held: BTreeMap<&'a str, Holders>,
    /// For each task the condition variable that it sleeps on.
    asleep: BTreeMap<u32, &'a str>,
    /// So many events have happened.
    done: usize,
}

impl<'a> Locks<'a> {
    /// Before the first event.
    pub(crate) fn new(finished: &'a Finished) -> Self {
        let mut of_task: BTreeMap<u32, Vec<usize>> = BTreeMap::new();
        for (index, event) in finished.events.iter().enumerate() {
            of_task.entry(event.task).or_default().push(index);
        }
        Self {
            finished,
            of_task,
            held: BTreeMap::new(),
            asleep: BTreeMap::new(),
            done: 0,
        }
    }

    /// Goes on until `count` events have happened.
    pub(crate) fn advance_to(&mut self, count: usize) {
        while self.done < count.min(self.finished.events.len()) {
            self.advance();
        }
    }

    fn advance(&mut self) {
        let index = self.done;
        self.done += 1;
        let event = &self.finished.events[index];
        let task = event.task;
        self.asleep.remove(&task);
        let object = event.object.as_deref();
        if let (Some(object), Some(change)) = (object, self.change(index)) {
            self.apply(task, object, change, index);
        }
        if is_condvar_wait(&event.op) {
            // The mutex is not named by this event, but by the one that takes it again.
            let relock = self.next_of(task).filter(|it| is_relock(it.op));
            if let Some(mutex) = relock.and_then(|it| it.object) {
                self.give(task, mutex);
            }
            if let Some(object) = object {
                self.asleep.insert(task, object);
            }
        }
        if event.op.ends_with("notify_all") || event.op == "pthread_cond_broadcast" {
            self.asleep.retain(|_, on| Some(*on) != object);
        }
        if let Some(woken) = event.note.as_deref().and_then(woken) {
            self.asleep.remove(&woken);
        }
    }

    /// The locks that are held, in the order of their names.
    pub(crate) fn held(&self) -> impl Iterator<Item = (&'a str, &Holders)> {
        self.held.iter().map(|(object, holders)| (*object, holders))
    }

    /// Who waits, in the order of tasks.
    pub(crate) fn waiting(&self) -> Vec<Waiting> {
        let tasks = self.finished.tasks.iter();
        tasks.filter_map(|task| self.waits(task.id)).collect()
    }

    fn waits(&self, task: u32) -> Option<Waiting> {
        if let Some(object) = self.asleep.get(&task) {
            return Some(Waiting::Notification {
                task,
                object: (*object).to_owned(),
            });
        }
        // One that has not begun waits for nothing but its turn.
        let began = self.of_task.get(&task)?.first()? < &self.done;
        let next = self.next_of(task).filter(|_| began)?;
        let object = next.object?;
        if next.op == "join" {
            let other = object.strip_prefix("task ")?.parse().ok()?;
            return (!self.has_ended(other)).then_some(Waiting::End { task, other });
        }
        let shared = takes(next.op)?;
        let holders = self.held.get(object)?;
        let others = holders.tasks.iter().map(|(holder, _)| *holder);
        let others: Vec<u32> = others.collect();
        let is_free = others.is_empty() || shared && holders.shared || next.op.contains("try_");
        (!is_free).then(|| Waiting::Lock {
            task,
            object: object.to_owned(),
            holders: others,
        })
    }

    fn has_ended(&self, task: u32) -> bool {
        let events = self.of_task.get(&task);
        events
            .and_then(|events| events.last())
            .is_some_and(|&last| last < self.done && self.finished.events[last].op == "exit")
    }

    fn next_of(&self, task: u32) -> Option<Next<'a>> {
        let events = self.of_task.get(&task).map_or(&[][..], Vec::as_slice);
        let place = events.partition_point(|&index| index < self.done);
        if let Some(&index) = events.get(place) {
            let Step { op, object, .. } = &self.finished.events[index];
            let object = object.as_deref();
            return Some(Next { op, object });
        }
        let mut blocked = self.finished.blocked.iter();
        let blocked = blocked.find(|it| it.task == task)?;
        Some(Next {
            op: &blocked.op,
            object: blocked.object.as_deref(),
        })
    }

    /// What the event does to its lock, if it is about one and succeeds.
    fn change(&self, index: usize) -> Option<Change> {
        let event = &self.finished.events[index];
        if event.op.ends_with("unlock") || event.op == "pthread_spin_unlock" {
            return Some(Change::Gives);
        }
        if event.op == "RwLock downgrade" {
            return Some(Change::Downgrades);
        }
        let shared = takes(&event.op)?;
        let is_try = event.op.contains("try");
        let succeeds = match event.effect {
            _ if !is_try => true,
            Some(Effect::Read) => false,
            _ => true,
        };
        let change = if shared {
            Change::TakesShared
        } else {
            Change::Takes
        };
        succeeds.then_some(change)
    }

    fn apply(&mut self, task: u32, object: &'a str, change: Change, index: usize) {
        match change {
            Change::Gives => self.give(task, object),
            Change::Downgrades => self.held.entry(object).or_default().shared = true,
            Change::Takes | Change::TakesShared => {
                let holders = self.held.entry(object).or_default();
                holders.shared = change == Change::TakesShared;
                holders.tasks.push((task, index));
            }
        }
    }

    fn give(&mut self, task: u32, object: &'a str) {
        if let Some(holders) = self.held.get_mut(object) {
            let newest = holders
                .tasks
                .iter()
                .rposition(|(holder, _)| *holder == task);
            if let Some(place) = newest {
                holders.tasks.remove(place);
            }
            if holders.tasks.is_empty() {
                self.held.remove(object);
            }
        }
    }
}

/// Whether the operation takes a lock, and if so whether beside others.
fn takes(op: &str) -> Option<bool> {
    match op {
        "RwLock::read"
        | "RwLock::try_read"
        | "pthread_rwlock_rdlock"
        | "pthread_rwlock_tryrdlock" => Some(true),
        "Mutex::lock"
        | "Mutex::try_lock"
        | "Mutex::lock after wait"
        | "RwLock::write"
        | "RwLock::try_write"
        | "pthread_mutex_lock"
        | "pthread_mutex_timedlock"
        | "pthread_mutex_trylock"
        | "pthread_mutex_lock after wait"
        | "pthread_spin_lock"
        | "pthread_spin_trylock"
        | "pthread_rwlock_wrlock"
        | "pthread_rwlock_trywrlock" => Some(false),
        _ => None,
    }
}

fn is_condvar_wait(op: &str) -> bool {
    op.starts_with("Condvar::wait") || op == "pthread_cond_wait" || op == "pthread_cond_timedwait"
}

fn is_relock(op: &str) -> bool {
    op.ends_with("after wait")
}

/// The task of a note `wakes task 2`.
fn woken(note: &str) -> Option<u32> {
    match note.strip_prefix("wakes ")? {
        "main" => Some(0),
        name => name.strip_prefix("task ")?.parse().ok(),
    }
}
