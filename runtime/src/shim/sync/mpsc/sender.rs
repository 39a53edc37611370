//! `Sender` and `SyncSender`.

use std::fmt;
use std::panic::Location;
use std::sync::mpsc::{SendError, TrySendError};

use super::channel::SendingEnd;

/// See [`std::sync::mpsc::Sender`].
pub struct Sender<T>(Kind<std::sync::mpsc::Sender<T>, T>);

/// See [`std::sync::mpsc::SyncSender`].
pub struct SyncSender<T>(Kind<std::sync::mpsc::SyncSender<T>, T>);

enum Kind<R, T> {
    Real(R),
    Channel(SendingEnd<T>),
}

impl<R: Clone, T> Clone for Kind<R, T> {
    #[track_caller]
    fn clone(&self) -> Self {
        match self {
            Kind::Real(real) => Kind::Real(real.clone()),
            Kind::Channel(end) => Kind::Channel(end.another(Location::caller())),
        }
    }
}

macro_rules! sender {
    ($Sender:ident) => {
        impl<T> $Sender<T> {
            pub(super) fn of_real(real: std::sync::mpsc::$Sender<T>) -> Self {
                $Sender(Kind::Real(real))
            }

            pub(super) fn of_channel(end: SendingEnd<T>) -> Self {
                $Sender(Kind::Channel(end))
            }

            #[track_caller]
            pub fn send(&self, t: T) -> Result<(), SendError<T>> {
                match &self.0 {
                    Kind::Real(real) => real.send(t),
                    Kind::Channel(end) => end.send(t, Location::caller()),
                }
            }
        }

        impl<T> Clone for $Sender<T> {
            #[track_caller]
            fn clone(&self) -> $Sender<T> {
                $Sender(self.0.clone())
            }
        }

        impl<T> fmt::Debug for $Sender<T> {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.debug_struct(stringify!($Sender)).finish_non_exhaustive()
            }
        }
    };
}

sender!(Sender);
sender!(SyncSender);

impl<T> SyncSender<T> {
    #[track_caller]
    pub fn try_send(&self, t: T) -> Result<(), TrySendError<T>> {
        match &self.0 {
            Kind::Real(real) => real.try_send(t),
            Kind::Channel(end) => end.try_send(t, Location::caller()),
        }
    }
}
