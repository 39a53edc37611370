//! The effects of operations on channels.

use super::{DISCONNECTED, FAILED, Phase, State, bit, name};

impl State {
    pub(super) fn send(&mut self, task: usize, at: usize, tries: bool) {
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
            self.see(receiver, name(task));
            self.next(receiver);
            self.see(task, 1);
        } else if tries {
            self.see(task, FAILED);
        } else {
            channel.offers.push(u8::try_from(task).expect("few tasks"));
            self.tasks[task].phase = Phase::Waits;
            return;
        }
        self.next(task);
    }

    pub(super) fn receive(&mut self, task: usize, at: usize, tries: bool) {
        let channel = &mut self.channels[at];
        if !channel.messages.is_empty() {
            let message = channel.messages.remove(0);
            self.see(task, message);
        } else if !channel.offers.is_empty() {
            let sender = usize::from(channel.offers.remove(0));
            self.see(sender, 1);
            self.next(sender);
            self.see(task, name(sender));
        } else if channel.senders == 0 {
            self.see(task, DISCONNECTED);
        } else if tries {
            self.see(task, FAILED);
        } else {
            channel.is_awaited = true;
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
            self.see(receiver, DISCONNECTED);
            self.next(receiver);
        }
    }

    /// Drops the receiver of a channel, with all messages that were not received. The sends that
    /// wait end with a failure.
    pub(super) fn drop_receiver(&mut self, at: usize) {
        let channel = &mut self.channels[at];
        channel.receiver = None;
        channel.messages.clear();
        for sender in std::mem::take(&mut channel.offers) {
            self.see(sender.into(), 0);
            self.next(sender.into());
        }
    }
}
