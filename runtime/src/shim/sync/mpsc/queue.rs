//! The messages of a channel that holds some.

use std::collections::VecDeque;

pub(super) struct Queue<T> {
    messages: VecDeque<T>,
    bound: Option<usize>,
}

impl<T> Queue<T> {
    pub(super) fn new(bound: Option<usize>) -> Queue<T> {
        Queue {
            messages: VecDeque::new(),
            bound,
        }
    }

    /// Gives the value back where the queue is full.
    pub(super) fn push(&mut self, value: T) -> Result<(), T> {
        if self.bound.is_some_and(|bound| self.messages.len() >= bound) {
            return Err(value);
        }
        self.messages.push_back(value);
        Ok(())
    }

    pub(super) fn pop(&mut self) -> Option<T> {
        self.messages.pop_front()
    }

    /// All messages that are left.
    pub(super) fn take(&mut self) -> VecDeque<T> {
        std::mem::take(&mut self.messages)
    }
}
