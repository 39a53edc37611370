//! `Receiver`.

use std::fmt;
use std::panic::Location;
use std::sync::mpsc::{RecvError, RecvTimeoutError, TryRecvError};
use std::time::Duration;

use super::channel::ReceivingEnd;
use super::{IntoIter, Iter, TryIter};
use crate::execution::Op;
use crate::shim::time::deadline;

/// See [`std::sync::mpsc::Receiver`].
pub struct Receiver<T>(Kind<T>);

enum Kind<T> {
    Real(std::sync::mpsc::Receiver<T>),
    Channel(ReceivingEnd<T>),
}

impl<T> Receiver<T> {
    pub(super) fn of_real(real: std::sync::mpsc::Receiver<T>) -> Self {
        Receiver(Kind::Real(real))
    }

    pub(super) fn of_channel(end: ReceivingEnd<T>) -> Self {
        Receiver(Kind::Channel(end))
    }

    #[track_caller]
    pub fn try_recv(&self) -> Result<T, TryRecvError> {
        match &self.0 {
            Kind::Real(real) => real.try_recv(),
            Kind::Channel(end) => end.try_recv(Location::caller()),
        }
    }

    #[track_caller]
    pub fn recv(&self) -> Result<T, RecvError> {
        match &self.0 {
            Kind::Real(real) => real.recv(),
            Kind::Channel(end) => end
                .recv(Op::ChannelRecv, None, Location::caller())
                .map_err(|_| RecvError),
        }
    }

    #[track_caller]
    pub fn recv_timeout(&self, timeout: Duration) -> Result<T, RecvTimeoutError> {
        match &self.0 {
            Kind::Real(real) => real.recv_timeout(timeout),
            Kind::Channel(end) => {
                let deadline = deadline(timeout);
                end.recv(Op::ChannelRecvTimeout, deadline, Location::caller())
            }
        }
    }

    pub fn iter(&self) -> Iter<'_, T> {
        Iter { rx: self }
    }

    pub fn try_iter(&self) -> TryIter<'_, T> {
        TryIter { rx: self }
    }
}

impl<'a, T> IntoIterator for &'a Receiver<T> {
    type Item = T;
    type IntoIter = Iter<'a, T>;

    fn into_iter(self) -> Iter<'a, T> {
        self.iter()
    }
}

impl<T> IntoIterator for Receiver<T> {
    type Item = T;
    type IntoIter = IntoIter<T>;

    fn into_iter(self) -> IntoIter<T> {
        IntoIter { rx: self }
    }
}

impl<T> fmt::Debug for Receiver<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Receiver").finish_non_exhaustive()
    }
}
