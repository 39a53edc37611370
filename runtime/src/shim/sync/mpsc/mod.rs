//! `std::sync::mpsc`.
//!
//! A channel that is created inside an execution has a queue of the runtime, and each of its
//! operations is one step. The real channel, with its blocks of slots, would need many steps for
//! an operation. A channel that is created outside an execution is the real one, even if it is
//! used inside an execution.

mod channel;
mod iter;
mod queue;
mod receiver;
mod rendezvous;
mod sender;

pub use std::sync::mpsc::*;

pub use iter::{IntoIter, Iter, TryIter};
pub use receiver::Receiver;
pub use sender::{Sender, SyncSender};

use channel::Channel;

use crate::execution;

/// See [`std::sync::mpsc::channel`].
#[must_use]
pub fn channel<T>() -> (Sender<T>, Receiver<T>) {
    if execution::active() {
        let (sender, receiver) = Channel::open(None);
        (Sender::of_channel(sender), Receiver::of_channel(receiver))
    } else {
        let (sender, receiver) = std::sync::mpsc::channel();
        (Sender::of_real(sender), Receiver::of_real(receiver))
    }
}

/// See [`std::sync::mpsc::sync_channel`].
#[must_use]
#[track_caller]
pub fn sync_channel<T>(bound: usize) -> (SyncSender<T>, Receiver<T>) {
    if execution::active() {
        // The real channel allocates all its slots now.
        assert!(queue::has_layout::<T>(bound), "capacity overflow");
        let (sender, receiver) = Channel::open(Some(bound));
        (
            SyncSender::of_channel(sender),
            Receiver::of_channel(receiver),
        )
    } else {
        let (sender, receiver) = std::sync::mpsc::sync_channel(bound);
        (SyncSender::of_real(sender), Receiver::of_real(receiver))
    }
}
