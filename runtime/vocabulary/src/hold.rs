//! The effect of an operation on the lock that is its object.

use crate::token::tokens;

/// The effect of an operation on the lock that is its object.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Hold {
    /// From then on, the task holds the lock exclusively.
    Takes,
    /// From then on, the task holds the lock in shared mode.
    Shares,
    /// From then on, the task does not hold the lock.
    Gives,
    /// The task held the lock exclusively. From then on, it holds it in shared mode.
    Downgrades,
}

tokens! {
    Hold {
        Takes = "takes",
        Shares = "shares",
        Gives = "gives",
        Downgrades = "downgrades",
    }
}
