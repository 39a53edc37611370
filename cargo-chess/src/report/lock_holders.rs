//! Sentences within the table of an execution: the holders of locks that other tasks wait for.

use super::names::Names;
use crate::analysis::{Locks, Waiting};
use crate::protocol::Finished;

/// Finds the sentences, event by event.
pub(super) struct LockHolders<'a> {
    locks: Locks<'a>,
    names: &'a Names,
    /// The waits that were in progress at the last call of [`Self::after`].
    printed: Vec<Waiting>,
}

impl<'a> LockHolders<'a> {
    /// Creates the state before the first event.
    pub(super) fn new(finished: &'a Finished, names: &'a Names) -> Self {
        Self {
            locks: Locks::new(finished),
            names,
            printed: Vec::new(),
        }
    }

    /// Sentences about the waits for locks and notifications after the first `count` events. A
    /// wait that was already in progress at the previous call of this function has no sentence.
    pub(super) fn after(&mut self, count: usize) -> Vec<String> {
        self.locks.advance_to(count);
        let waiting = self.locks.waiting();
        let new = waiting.iter().filter(|it| !self.printed.contains(it));
        let sentences = new.filter_map(|it| self.sentence(it)).collect();
        self.printed = waiting;
        sentences
    }

    fn sentence(&self, waiting: &Waiting) -> Option<String> {
        match waiting {
            Waiting::Lock {
                task,
                object,
                holders,
            } => {
                let holders: Vec<String> = holders.iter().map(|it| self.names.of(*it)).collect();
                let holders = holders.join(" and ");
                let task = self.names.of(*task);
                Some(format!("{task} waits for {object}, held by {holders}"))
            }
            Waiting::Notification { task, object } => {
                let task = self.names.of(*task);
                Some(format!("{task} waits for a notification of {object}"))
            }
            // A wait for the end of a spawned task says nothing about locks.
            Waiting::End { .. } => None,
        }
    }
}
