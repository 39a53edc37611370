//! A channel of an execution, whose operations block through the engine.

use std::collections::VecDeque;
use std::sync::mpsc::{RecvTimeoutError, SendError, TryRecvError, TrySendError};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use super::queue::Queue;
use super::rendezvous::{Rendezvous, Ticket};
use crate::execution::{self, Effect, Op, Site, Wake};
use crate::monitor::race;

pub(super) struct Channel<T> {
    /// Tasks run one at a time, and have no scheduling point while they hold this lock. So a task
    /// always finds the lock free.
    state: Mutex<State<T>>,
    is_rendezvous: bool,
}

struct State<T> {
    messages: Messages<T>,
    senders: usize,
    receiver: bool,
}

enum Messages<T> {
    Queue(Queue<T>),
    Rendezvous(Rendezvous<T>),
}

/// One of the senders of a channel.
pub(super) struct SendingEnd<T>(Arc<Channel<T>>);

/// The receiver of a channel.
pub(super) struct ReceivingEnd<T>(Arc<Channel<T>>);

impl<T> Channel<T> {
    /// Creates a channel, and returns its first sender and its receiver. The channel holds at most
    /// `bound` messages, or any number if `bound` is `None`.
    pub(super) fn open(bound: Option<usize>) -> (SendingEnd<T>, ReceivingEnd<T>) {
        let messages = match bound {
            Some(0) => Messages::Rendezvous(Rendezvous::new()),
            bound => Messages::Queue(Queue::new(bound)),
        };
        let state = Mutex::new(State {
            messages,
            senders: 1,
            receiver: true,
        });
        let channel = Arc::new(Channel {
            state,
            is_rendezvous: bound == Some(0),
        });
        (SendingEnd(channel.clone()), ReceivingEnd(channel))
    }

    fn object(&self) -> usize {
        (&raw const *self).addr()
    }

    /// The numbers by which the race detector identifies the disconnection of the senders, and the
    /// disconnection of the receiver.
    fn ends(&self) -> (usize, usize) {
        (self.object() + 1, self.object() + 2)
    }

    /// Lets the operation synchronize with the other side of the channel, if this is a rendezvous
    /// channel. There, the sender and the receiver of a message synchronize with each other.
    fn meet(&self, op: Op, site: Site) {
        if self.is_rendezvous {
            race::acquire(self.object());
            race::release(self.object(), op, Some(site));
        }
    }

    fn state(&self) -> MutexGuard<'_, State<T>> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Ends an operation: records its effect on the channel. If the operation has changed the
    /// channel, wakes the waiting tasks.
    fn done(&self, op: Op, effect: Effect, site: Site) {
        execution::effect(op, self.object(), effect, site);
        self.meet(op, site);
        if effect == Effect::Write {
            execution::wake_all(self.object());
        }
    }

    /// Records that an operation has become visible to the other side of the channel, before the
    /// operation waits.
    fn announced(&self, op: Op, site: Site) {
        execution::effect(op, self.object(), Effect::Write, site);
        self.meet(op, site);
        execution::wake_all(self.object());
    }

    fn wait(&self, op: Op, deadline: Option<u64>, site: Site) -> Wake {
        if execution::active() {
            execution::failed_attempt(self.object());
            return execution::wait_parked(op, self.object(), deadline, site);
        }
        // The channel outlived its execution, or was passed to a thread that is not a task.
        std::thread::yield_now();
        if deadline.is_some() {
            Wake::TimedOut
        } else {
            Wake::Spurious
        }
    }
}

impl<T> SendingEnd<T> {
    pub(super) fn send(&self, value: T, site: Site) -> Result<(), SendError<T>> {
        let (op, channel) = (Op::ChannelSend, &*self.0);
        execution::before(op, channel.object(), site);
        let mut pending = Pending::Unsent(value);
        loop {
            let progress = channel.state().advance(pending, site);
            match progress {
                Progress::Sent => {
                    channel.done(op, Effect::Write, site);
                    return Ok(());
                }
                Progress::Disconnected(value) => {
                    race::acquire(channel.ends().1);
                    channel.done(op, Effect::Read, site);
                    return Err(SendError(value));
                }
                Progress::Wait {
                    pending: next,
                    offered,
                } => {
                    if offered {
                        channel.announced(op, site);
                    }
                    pending = next;
                    channel.wait(op, None, site);
                }
            }
        }
    }

    pub(super) fn try_send(&self, value: T, site: Site) -> Result<(), TrySendError<T>> {
        let (op, channel) = (Op::ChannelTrySend, &*self.0);
        execution::before(op, channel.object(), site);
        let result = channel.state().try_send(value, site);
        if let Err(TrySendError::Disconnected(_)) = result {
            race::acquire(channel.ends().1);
        }
        let effect = if result.is_ok() {
            Effect::Write
        } else {
            Effect::Read
        };
        channel.done(op, effect, site);
        result
    }

    pub(super) fn another(&self, site: Site) -> SendingEnd<T> {
        execution::access(Op::SenderClone, self.0.object(), site);
        self.0.state().senders += 1;
        SendingEnd(self.0.clone())
    }
}

impl<T> Drop for SendingEnd<T> {
    fn drop(&mut self) {
        execution::access_in_drop(Op::SenderDrop, self.0.object());
        race::release(self.0.ends().0, Op::SenderDrop, None);
        let last = {
            let mut state = self.0.state();
            state.senders -= 1;
            state.senders == 0
        };
        if last {
            execution::wake_all(self.0.object());
        }
    }
}

impl<T> ReceivingEnd<T> {
    pub(super) fn try_recv(&self, site: Site) -> Result<T, TryRecvError> {
        let (op, channel) = (Op::ChannelTryRecv, &*self.0);
        execution::before(op, channel.object(), site);
        let result = channel.state().receive();
        if let Err(TryRecvError::Disconnected) = result {
            race::acquire(channel.ends().0);
        }
        let effect = if result.is_ok() {
            Effect::Write
        } else {
            Effect::Read
        };
        channel.done(op, effect, site);
        result
    }

    /// Waits for a message, at most until `deadline`.
    pub(super) fn recv(
        &self,
        op: Op,
        deadline: Option<u64>,
        site: Site,
    ) -> Result<T, RecvTimeoutError> {
        let channel = &*self.0;
        execution::before(op, channel.object(), site);
        let mut wake = None;
        loop {
            let timed_out = wake == Some(Wake::TimedOut);
            let (result, announced) = channel.state().receive_or_wait(timed_out);
            let (effect, result) = match result {
                Ok(value) => (Effect::Write, Ok(value)),
                Err(TryRecvError::Disconnected) => {
                    race::acquire(channel.ends().0);
                    (Effect::Read, Err(RecvTimeoutError::Disconnected))
                }
                Err(TryRecvError::Empty) if timed_out => {
                    (Effect::Read, Err(RecvTimeoutError::Timeout))
                }
                Err(TryRecvError::Empty) => {
                    if announced && wake.is_none() {
                        channel.announced(op, site);
                    }
                    wake = Some(channel.wait(op, deadline, site));
                    continue;
                }
            };
            channel.done(op, effect, site);
            return result;
        }
    }
}

impl<T> Drop for ReceivingEnd<T> {
    fn drop(&mut self) {
        execution::access_in_drop(Op::ReceiverDrop, self.0.object());
        race::release(self.0.ends().1, Op::ReceiverDrop, None);
        let unread = {
            let mut state = self.0.state();
            state.receiver = false;
            match &mut state.messages {
                Messages::Queue(queue) => queue.take(),
                // Offered messages still belong to their senders, which take them back.
                Messages::Rendezvous(_) => VecDeque::new(),
            }
        };
        execution::wake_all(self.0.object());
        // This follows the release of the lock, because the drop of a message may use the channel.
        drop(unread);
    }
}

/// A message that is being sent.
enum Pending<T> {
    Unsent(T),
    Offered(Ticket),
}

enum Progress<T> {
    Sent,
    Disconnected(T),
    /// The sender must wait. `offered` states that the message has just become an offer, which the
    /// receiver may take.
    Wait {
        pending: Pending<T>,
        offered: bool,
    },
}

impl<T> State<T> {
    fn advance(&mut self, pending: Pending<T>, site: Site) -> Progress<T> {
        match (pending, &mut self.messages) {
            (Pending::Unsent(value), _) if !self.receiver => Progress::Disconnected(value),
            (Pending::Unsent(value), Messages::Queue(queue)) => match queue.push(value, site) {
                Ok(()) => Progress::Sent,
                Err(value) => Progress::Wait {
                    pending: Pending::Unsent(value),
                    offered: false,
                },
            },
            (Pending::Unsent(value), Messages::Rendezvous(rendezvous)) => {
                match rendezvous.hand_over(value) {
                    Ok(()) => Progress::Sent,
                    Err(value) => {
                        let ticket = rendezvous.offer(value);
                        Progress::Wait {
                            pending: Pending::Offered(ticket),
                            offered: true,
                        }
                    }
                }
            }
            (Pending::Offered(ticket), Messages::Rendezvous(rendezvous)) => {
                if rendezvous.is_taken(ticket) {
                    Progress::Sent
                } else if self.receiver {
                    Progress::Wait {
                        pending: Pending::Offered(ticket),
                        offered: false,
                    }
                } else {
                    Progress::Disconnected(rendezvous.take_back(ticket))
                }
            }
            (Pending::Offered(_), Messages::Queue(_)) => {
                unreachable!("only a rendezvous gives tickets")
            }
        }
    }

    fn try_send(&mut self, value: T, site: Site) -> Result<(), TrySendError<T>> {
        if !self.receiver {
            return Err(TrySendError::Disconnected(value));
        }
        match &mut self.messages {
            Messages::Queue(queue) => queue.push(value, site),
            Messages::Rendezvous(rendezvous) => rendezvous.hand_over(value),
        }
        .map_err(TrySendError::Full)
    }

    fn receive(&mut self) -> Result<T, TryRecvError> {
        let message = match &mut self.messages {
            Messages::Queue(queue) => queue.pop(),
            Messages::Rendezvous(rendezvous) => rendezvous.receive(),
        };
        message.ok_or(if self.senders == 0 {
            TryRecvError::Disconnected
        } else {
            TryRecvError::Empty
        })
    }

    /// Does the same as [`Self::receive`], for a receiver that waits if there is no message. If
    /// `give_up` is true, the receiver does not wait. Also returns whether the receiver waits at a
    /// rendezvous channel, where a sender may now hand a message to it.
    fn receive_or_wait(&mut self, give_up: bool) -> (Result<T, TryRecvError>, bool) {
        let result = self.receive();
        let waits = !give_up && matches!(result, Err(TryRecvError::Empty));
        if let Messages::Rendezvous(rendezvous) = &mut self.messages {
            rendezvous.set_waiting(waits);
            return (result, waits);
        }
        (result, false)
    }
}
