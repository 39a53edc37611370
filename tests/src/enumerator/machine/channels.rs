//! The effects of operations on channels.

use super::{DISCONNECTED, FAILED, Phase, State, bit, name};

impl State {
    /// Whether a send is possible at a channel with a buffer.
    pub(super) fn can_send(&self, at: usize) -> bool {
        let channel = &self.channels[at];
        let has_room = |capacity| channel.messages.len() < capacity;
        channel.receiver.is_none() || channel.capacity.is_none_or(has_room)
    }

    /// Whether a receive is possible at a channel with a buffer.
    pub(super) fn can_receive(&self, at: usize) -> bool {
        let channel = &self.channels[at];
        channel.senders == 0 || !channel.messages.is_empty()
    }

    /// Whether another task has completed the operation of `task` during its wait. A wait in std's
    /// channels parks the thread, so its end takes the token of the task.
    fn ends_wait(&mut self, task: usize) -> bool {
        if self.tasks[task].phase != Phase::Ready {
            self.tokens &= !bit(task);
        }
        self.tasks[task].phase == Phase::Notified
    }

    /// Completes the operation of `task`, which waits at a channel without a buffer.
    fn notify_one(&mut self, task: usize, value: u8) {
        self.see(task, value);
        self.tasks[task].phase = Phase::Notified;
    }

    pub(super) fn send(&mut self, task: usize, at: usize, tries: bool) {
        if self.ends_wait(task) {
            return self.next(task);
        }
        let channel = &mut self.channels[at];
        let room = channel
            .capacity
            .is_none_or(|capacity| channel.messages.len() < capacity);
        if channel.receiver.is_none() {
            self.see(task, 0);
        } else if room {
            channel.messages.push(name(task));
            self.see(task, 1);
        } else if channel.capacity == Some(0) && channel.is_awaited {
            channel.is_awaited = false;
            let receiver = channel.receiver.map_or(0, usize::from);
            self.notify_one(receiver, name(task));
            self.see(task, 1);
        } else if tries {
            self.see(task, FAILED);
        } else {
            if channel.capacity == Some(0) {
                channel.offers.push(u8::try_from(task).expect("few tasks"));
            }
            self.tasks[task].phase = Phase::Waits;
            return;
        }
        self.next(task);
    }

    pub(super) fn receive(&mut self, task: usize, at: usize, tries: bool) {
        if self.ends_wait(task) {
            return self.next(task);
        }
        let channel = &mut self.channels[at];
        if !channel.messages.is_empty() {
            let message = channel.messages.remove(0);
            self.see(task, message);
        } else if !channel.offers.is_empty() {
            let sender = usize::from(channel.offers.remove(0));
            self.notify_one(sender, 1);
            self.see(task, name(sender));
        } else if channel.senders == 0 {
            self.see(task, DISCONNECTED);
        } else if tries {
            self.see(task, FAILED);
        } else {
            channel.is_awaited = channel.capacity == Some(0);
            self.tasks[task].phase = Phase::Waits;
            return;
        }
        self.next(task);
    }

    pub(super) fn drop_sender(&mut self, task: usize, at: usize) {
        let channel = &mut self.channels[at];
        channel.senders &= !bit(task);
        if channel.senders == 0 && channel.is_awaited {
            channel.is_awaited = false;
            let receiver = channel.receiver.map_or(0, usize::from);
            self.notify_one(receiver, DISCONNECTED);
        }
    }

    /// Drops the receiver of a channel, with all messages that were not received. The sends that
    /// wait end with a failure.
    pub(super) fn drop_receiver(&mut self, at: usize) {
        let channel = &mut self.channels[at];
        channel.receiver = None;
        channel.messages.clear();
        for sender in std::mem::take(&mut channel.offers) {
            self.notify_one(sender.into(), 0);
        }
    }
}
