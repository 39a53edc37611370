//! No thin air: program order and reads-from together have no cycle (Lahav et al., PLDI'17,
//! section 2).
//!
//! Loads read stores that were performed before them. So only one kind of event can close a cycle:
//! an update that leaves the value unchanged, and is treated as a load. The store that follows such
//! an update in modification order may belong to another update, which was performed earlier. Then
//! the earlier update reads from the later one.

use super::graph::Event;
use super::history::NO_EVENT;
use super::walk::{Graph, Visited};

impl Graph<'_> {
    /// Whether a path of program order and reads-from leads from the event `from` to the event
    /// that `task` performs next.
    pub(super) fn leads_to(&self, from: u32, task: u32, visited: &mut Visited) -> bool {
        visited.begin(self.log.len());
        visited.push(from);
        while let Some(at) = visited.stack.pop() {
            let event = self.log.get(at as usize);
            if event.task == task {
                return true;
            }
            visited.push(event.next);
            visited.push(self.update_after(event));
            if let Some(store) = event.writes {
                let mut reader = self.stores.get(store).newest_reader;
                while reader != NO_EVENT {
                    visited.push(reader);
                    reader = self.log.get(reader as usize).other_reader;
                }
            }
        }
        false
    }

    /// The update that reads from `event`, if `event` is an update that is treated as a load.
    /// [`NO_EVENT`] if there is none.
    fn update_after(&self, event: &Event) -> u32 {
        let read = event.reads.filter(|_| event.is_kept);
        let next = read.map_or(NO_EVENT, |store| self.after(store));
        let is_update = next != NO_EVENT && self.log.get(next as usize).reads.is_some();
        if is_update { next } else { NO_EVENT }
    }
}
