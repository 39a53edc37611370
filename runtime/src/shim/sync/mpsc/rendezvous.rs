//! The messages of a channel without a buffer. Each message passes from a sender to the receiver
//! while one of the two waits for the other.

use std::collections::VecDeque;

use crate::monitor::race;

/// The number by which a sender identifies its offer.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) struct Ticket(u64);

pub(super) struct Rendezvous<T> {
    /// The messages that waiting senders offer, the oldest offer first.
    offers: VecDeque<(Ticket, T)>,
    issued: u64,
    /// Whether the receiver waits, and no sender has handed it a message yet.
    waiting: bool,
    /// The message that a sender has handed to the waiting receiver, which has not taken it yet.
    handed: Option<T>,
}

impl<T> Rendezvous<T> {
    pub(super) fn new() -> Rendezvous<T> {
        Rendezvous {
            offers: VecDeque::new(),
            issued: 0,
            waiting: false,
            handed: None,
        }
    }

    /// Passes the value to the receiver if the receiver waits and has no message yet. Otherwise
    /// returns the value as an error.
    pub(super) fn hand_over(&mut self, value: T) -> Result<(), T> {
        if !self.waiting {
            return Err(value);
        }
        self.waiting = false;
        self.handed = Some(value);
        Ok(())
    }

    /// Offers the value to the receiver. Returns the ticket of the offer.
    pub(super) fn offer(&mut self, value: T) -> Ticket {
        let ticket = Ticket(self.issued);
        self.issued += 1;
        race::unwatched(|| self.offers.push_back((ticket, value)));
        ticket
    }

    pub(super) fn is_taken(&self, ticket: Ticket) -> bool {
        race::unwatched(|| self.offers.iter().all(|(offered, _)| *offered != ticket))
    }

    /// Withdraws an offer that was not accepted, and returns its value.
    pub(super) fn take_back(&mut self, ticket: Ticket) -> T {
        let offer = race::unwatched(|| {
            let mut offers = self.offers.iter();
            let position = offers.position(|(offered, _)| *offered == ticket);
            position.and_then(|position| self.offers.remove(position))
        });
        offer.expect("an offer stays until it is taken").1
    }

    pub(super) fn receive(&mut self) -> Option<T> {
        race::unwatched(|| {
            let handed = self.handed.take();
            handed.or_else(|| Some(self.offers.pop_front()?.1))
        })
    }

    pub(super) fn set_waiting(&mut self, waiting: bool) {
        self.waiting = waiting;
    }
}
