//! `AtomicBool`.

use std::fmt;
use std::panic::Location;
use std::sync::atomic::Ordering;

use super::operations::{Value, atomic, change, exchange_effect, exchanged, read_modify_write};
use super::weak::Operation;
use crate::execution::How;
use crate::execution::{self, Op, Site, saw};
use crate::memory::{Kind, Would};
use crate::monitor::race;

atomic!(AtomicBool, bool, v, val);
read_modify_write!(
    AtomicBool, bool => bool,
    fetch_and = AtomicFetchAnd,
    fetch_nand = AtomicFetchNand,
    fetch_or = AtomicFetchOr,
    fetch_xor = AtomicFetchXor,
);

impl AtomicBool {
    #[track_caller]
    pub fn fetch_not(&self, order: Ordering) -> bool {
        self.update_at(Op::AtomicFetchNot, order, Location::caller(), |atomic| {
            atomic.fetch_not(order)
        })
    }
}

impl Default for AtomicBool {
    #[inline]
    fn default() -> AtomicBool {
        AtomicBool::new(false)
    }
}
