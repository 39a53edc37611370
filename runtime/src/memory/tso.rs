//! TSO: which late effects x86 allows. There are no store buffers: `offered_stores.rs` lists the
//! stores that a load may read, and this file accepts or rejects graphs.
//!
//! A graph is consistent if it is coherent at each location, and the order in which its events
//! reach memory is acyclic. This order consists of `rf` between different tasks, `mo`, `rb`, and
//! program order without the pairs of a store and a later load with no locked event between them
//! (Owens, Sarkar and Sewell, TPHOLs'09; Alglave, Maranget and Tautschnig, TOPLAS'14). Locks,
//! channels and the ends of tasks order events of two tasks, too. Their operations are locked, so
//! that happens-before between two tasks is a part of this order. Only loads are ever late: for
//! each graph, some execution runs the stores in the order in which they reach memory. Only
//! coherent places are offered, so that this file has to search only for cycles.

use super::graph::Event;
use super::history::{NO_EVENT, StoreId};
use super::walk::{Graph, Visited};
use crate::base::clock::Clock;

impl Graph<'_> {
    /// Whether a load of `task` may read `source`, which is not the newest store of its location.
    /// It may read `source` if, in the order in which events reach memory, no path leads from the
    /// store after `source` to the load. `clock` is the clock of the load.
    pub(super) fn allows(
        &self,
        (task, clock): (u32, &Clock),
        source: StoreId,
        visited: &mut Visited,
    ) -> bool {
        let Self { log, stores, .. } = self;
        visited.begin(log.len());
        visited.push(self.after(source));
        let read_from = stores.get(source).event;
        let locked = log.task(task).locked;
        while let Some(at) = visited.stack.pop() {
            let event = log.get(at as usize);
            // The load comes after all events of its task, except the stores that it may
            // overtake.
            let is_before = if event.task == task {
                let is_locked = locked != NO_EVENT && at <= locked;
                is_locked || !event.is_plain_store() && !event.is_nothing()
            } else {
                at == read_from || event.epoch <= clock.get(event.entry)
            };
            if is_before {
                return false;
            }
            // A plain store comes before the task's next event that is no plain load. Any other
            // event comes before the next event, and before the next event that is no plain
            // store. (Of two loads with a store between them, the first one comes before the
            // second one, although the second one may overtake the store.)
            if event.is_plain_store() {
                visited.push(self.next_but(event.next, Event::is_plain_load));
            } else {
                visited.push(event.next);
                visited.push(self.next_but(event.next, Event::is_plain_store));
            }
            for other in 0..log.tasks() {
                if other != event.task as usize && other != task as usize {
                    visited.push(log.first_after(event, other));
                }
            }
            if let Some(store) = event.writes {
                visited.push(self.after(store));
                let mut reader = stores.get(store).newest_reader;
                while reader != NO_EVENT {
                    let read = log.get(reader as usize);
                    if read.task != event.task {
                        visited.push(reader);
                    }
                    reader = read.other_reader;
                }
            }
            if let Some(store) = event.reads {
                visited.push(self.after(store));
            }
        }
        true
    }

    /// The first event of a task, from `event` on, for which `of_kind` is false.
    fn next_but(&self, mut event: u32, of_kind: impl Fn(&Event) -> bool) -> u32 {
        while event != NO_EVENT && of_kind(self.log.get(event as usize)) {
            event = self.log.get(event as usize).next;
        }
        event
    }
}
