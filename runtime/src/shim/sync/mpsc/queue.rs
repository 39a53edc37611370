//! The messages of a channel with a buffer.

use std::alloc::Layout;
use std::collections::VecDeque;

use crate::execution::{Op, Site};
use crate::monitor::race::{self, Message};

pub(super) struct Queue<T> {
    /// Each message, with the vector clock of its sender at the operation that sent the message.
    messages: VecDeque<(T, Message)>,
    bound: Option<usize>,
    /// The number of slots of a bounded queue that no message has used yet; 0 for an unbounded
    /// queue.
    unused: usize,
    /// The vector clocks of the receiver at its operations that freed a slot, the oldest first. A
    /// sender that uses such a slot synchronizes with this operation.
    rooms: VecDeque<Message>,
}

/// Whether an array of `bound` slots of the real channel has a layout. A slot has a message and a
/// counter.
pub(super) fn has_layout<T>(bound: usize) -> bool {
    Layout::array::<(usize, T)>(bound).is_ok()
}

impl<T> Queue<T> {
    pub(super) fn new(bound: Option<usize>) -> Queue<T> {
        Queue {
            messages: VecDeque::new(),
            bound,
            unused: bound.unwrap_or(0),
            rooms: VecDeque::new(),
        }
    }

    /// Adds a message. Returns the value as an error if the queue is full.
    pub(super) fn push(&mut self, value: T, site: Site) -> Result<(), T> {
        if race::unwatched(|| self.is_full()) {
            return Err(value);
        }
        if self.unused > 0 {
            self.unused -= 1;
        } else if let Some(room) = race::unwatched(|| self.rooms.pop_front()) {
            race::receive(room);
        }
        let message = race::send(Op::ChannelSend, Some(site));
        race::unwatched(|| self.messages.push_back((value, message)));
        Ok(())
    }

    pub(super) fn pop(&mut self) -> Option<T> {
        let (value, message) = race::unwatched(|| self.messages.pop_front())?;
        race::receive(message);
        if race::unwatched(|| self.bound.is_some()) && race::is_watched() {
            let room = race::send(Op::ChannelRecv, None);
            race::unwatched(|| self.rooms.push_back(room));
        }
        Some(value)
    }

    /// Takes all remaining messages.
    pub(super) fn take(&mut self) -> VecDeque<T> {
        let mut values = VecDeque::new();
        while let Some((value, message)) = race::unwatched(|| self.messages.pop_front()) {
            race::receive(message);
            race::unwatched(|| values.push_back(value));
        }
        values
    }

    fn is_full(&self) -> bool {
        self.bound.is_some_and(|bound| self.messages.len() >= bound)
    }
}

#[cfg(test)]
mod tests {
    use super::has_layout;

    #[test]
    fn a_bound_is_too_large_if_its_slots_overflow() {
        const MOST: usize = isize::MAX as usize / 16;
        assert!(has_layout::<u64>(MOST) && !has_layout::<u64>(MOST + 1));
        assert!(has_layout::<()>(2 * MOST + 1) && !has_layout::<()>(2 * MOST + 2));
        assert!(has_layout::<u64>(0) && !has_layout::<u64>(usize::MAX));
    }
}
