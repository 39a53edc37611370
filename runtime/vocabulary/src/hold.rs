//! The effect of an operation on the lock that is its object.

use crate::token::tokens;

/// The effect of an operation on the lock that is its object.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Hold {
    /// Its task holds it alone from then on.
    Takes,
    /// Its task holds it beside others that share it.
    Shares,
    /// Its task holds it, or its share of it, no longer.
    Gives,
    /// Its task, which held it alone, shares it from then on.
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
