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
        if execution::active() {
            let site = Location::caller();
            if race::keeps_stores() {
                let flip = |atomic: &Self| (atomic.0.fetch_not(order), true);
                return self.weak(Op::AtomicFetchNot, Kind::Update, order, site, flip);
            }
            execution::access(Op::AtomicFetchNot, self.object(), site);
            self.report_value_before();
            self.report(Op::AtomicFetchNot, How::Exchange, order, site);
            let value = self.0.fetch_not(order);
            self.report_value_after();
            saw(|| (Some(value), Some(!value)));
            return value;
        }
        execution::before_change();
        self.0.fetch_not(order)
    }
}

impl Default for AtomicBool {
    #[inline]
    fn default() -> AtomicBool {
        AtomicBool::new(false)
    }
}
