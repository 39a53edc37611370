//! The holders of locks and the waiting tasks, after each event of an execution.

use std::collections::BTreeMap;

use chess_vocabulary::{Class, Hold, Note, ObjectKind, Op};

use crate::protocol::{Finished, Object, Step};

/// An object of an execution.
type Id = (ObjectKind, u32);

/// The holders of a lock, each with the event that acquired it.
#[derive(Clone, PartialEq, Eq, Default, Debug)]
pub(crate) struct Holders {
    /// Whether the holders share the lock.
    pub(crate) shared: bool,
    /// For each holder: the task, and the index of the event that acquired the lock.
    pub(crate) tasks: Vec<(u32, usize)>,
}

/// A blocked task.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(crate) enum Waiting {
    /// The task waits for a lock that other tasks hold.
    Lock {
        /// The task that waits.
        task: u32,
        /// The lock.
        object: String,
        /// The holders of the lock.
        holders: Vec<u32>,
    },
    /// The task waits for a notification of a condition variable.
    Notification {
        /// The task that waits.
        task: u32,
        /// The condition variable.
        object: String,
    },
    /// The task waits for the end of another task.
    End {
        /// The task that waits.
        task: u32,
        /// The task whose end is awaited.
        other: u32,
    },
}

/// The next operation of a task: an event, or the operation in which it waits at the end.
struct Next<'a> {
    op: Op,
    object: Option<&'a Object>,
}

/// The state of the locks of an execution after some of its events.
pub(crate) struct Locks<'a> {
    finished: &'a Finished,
    /// The indices of the events of each task.
    of_task: BTreeMap<u32, Vec<usize>>,
    held: BTreeMap<Id, (&'a Object, Holders)>,
    /// The condition variable that each sleeping task waits for.
    asleep: BTreeMap<u32, &'a Object>,
    /// The number of events before this state.
    done: usize,
}

impl<'a> Locks<'a> {
    /// Creates the state before the first event.
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

    /// Advances to the state after `count` events.
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
        let object = event.object.as_ref();
        if let (Some(object), Some(hold)) = (object, event.hold) {
            self.apply(task, object, hold, index);
        }
        if let Some(lock) = &event.gives {
            self.give(task, lock);
        }
        let class = event.op.class();
        if let Some(object) = object.filter(|_| class == Class::CondvarWait) {
            self.asleep.insert(task, object);
        }
        if let Some(object) = object.filter(|_| class == Class::NotifyAll) {
            self.asleep.retain(|_, on| on.id() != object.id());
        }
        if let Some(woken) = event.note.and_then(Note::woken) {
            self.asleep.remove(&woken.0);
        }
    }

    /// The held locks, sorted by name.
    pub(crate) fn held(&self) -> impl Iterator<Item = (&'a str, &Holders)> {
        let held = self.held.values();
        let held = held.map(|(object, holders)| (object.name.as_str(), holders));
        let mut held: Vec<_> = held.collect();
        held.sort_by_key(|(name, _)| *name);
        held.into_iter()
    }

    /// The waiting tasks, sorted by task.
    pub(crate) fn waiting(&self) -> Vec<Waiting> {
        let tasks = self.finished.tasks.iter();
        tasks.filter_map(|task| self.waits(task.id)).collect()
    }

    fn waits(&self, task: u32) -> Option<Waiting> {
        if let Some(object) = self.asleep.get(&task) {
            return Some(Waiting::Notification {
                task,
                object: object.name.clone(),
            });
        }
        // A task that has not begun waits for no object.
        let began = self.of_task.get(&task)?.first()? < &self.done;
        let next = self.next_of(task).filter(|_| began)?;
        let object = next.object?;
        if next.op == Op::Join {
            let other = object.task()?;
            return (!self.has_ended(other)).then_some(Waiting::End { task, other });
        }
        let class = next.op.class();
        let shared = match class {
            Class::Lock | Class::Relock | Class::TryLock => false,
            Class::SharedLock | Class::TrySharedLock => true,
            _ => return None,
        };
        let (_, holders) = self.held.get(&object.id())?;
        let others = holders.tasks.iter().map(|(holder, _)| *holder);
        let others: Vec<u32> = others.collect();
        let is_free = others.is_empty()
            || shared && holders.shared
            || matches!(class, Class::TryLock | Class::TrySharedLock);
        (!is_free).then(|| Waiting::Lock {
            task,
            object: object.name.clone(),
            holders: others,
        })
    }

    fn has_ended(&self, task: u32) -> bool {
        let events = self.of_task.get(&task);
        events
            .and_then(|events| events.last())
            .is_some_and(|&last| last < self.done && self.finished.events[last].op == Op::Exit)
    }

    fn next_of(&self, task: u32) -> Option<Next<'a>> {
        let events = self.of_task.get(&task).map_or(&[][..], Vec::as_slice);
        let place = events.partition_point(|&index| index < self.done);
        if let Some(&index) = events.get(place) {
            let Step { op, object, .. } = &self.finished.events[index];
            let object = object.as_ref();
            return Some(Next { op: *op, object });
        }
        let mut blocked = self.finished.blocked.iter();
        let blocked = blocked.find(|it| it.task == task)?;
        Some(Next {
            op: blocked.op,
            object: blocked.object.as_ref(),
        })
    }

    fn apply(&mut self, task: u32, object: &'a Object, hold: Hold, index: usize) {
        let entry = || (object, Holders::default());
        match hold {
            Hold::Gives => self.give(task, object),
            Hold::Downgrades => {
                let (_, holders) = self.held.entry(object.id()).or_insert_with(entry);
                holders.shared = true;
            }
            Hold::Takes | Hold::Shares => {
                let (_, holders) = self.held.entry(object.id()).or_insert_with(entry);
                holders.shared = hold == Hold::Shares;
                holders.tasks.push((task, index));
            }
        }
    }

    fn give(&mut self, task: u32, object: &Object) {
        if let Some((_, holders)) = self.held.get_mut(&object.id()) {
            let newest = holders
                .tasks
                .iter()
                .rposition(|(holder, _)| *holder == task);
            if let Some(place) = newest {
                holders.tasks.remove(place);
            }
            if holders.tasks.is_empty() {
                self.held.remove(&object.id());
            }
        }
    }
}
