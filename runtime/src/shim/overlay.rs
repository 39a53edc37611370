//! What spliced and overlaid code calls: `__chess` in every facade.

use std::panic::Location;

use crate::execution::{self, Site};

pub use super::access::*;
pub use super::parking;

/// A draw among more is left to the executor: each outcome would be tried at
/// each draw, and large numbers choose a shard, say, more often than a branch.
const MOST: u32 = 7;

/// Whether the caller is a task of an execution.
#[inline]
#[must_use]
pub fn active() -> bool {
    execution::active()
}

/// The code at a statement of `preempt` code is in control again: what `atomic`
/// code does next is a call of its own.
// Not `#[inline]`: in a program that is not optimised, one call of optimised
// code is less than what it consists of.
#[track_caller]
pub const fn mark() {
    // A `const fn` has statements, too; the compiler's own run of it has no tasks.
    core::intrinsics::const_eval_select((Location::caller(),), nothing, execution::mark);
}

const fn nothing(_: Site) {}

/// The number below `outcomes` that an executor is to take for a random one: a
/// choice of the search. `None` where the executor is to draw by itself.
#[inline]
#[track_caller]
pub fn draw<N>(outcomes: N) -> Option<N>
where
    N: TryInto<u32> + TryFrom<u32>,
{
    if !execution::active() {
        return None;
    }
    let outcomes = outcomes.try_into().ok()?;
    let drawn = match outcomes {
        1 => 0,
        2..=MOST => execution::draw(outcomes, Location::caller())?,
        _ => return None,
    };
    N::try_from(drawn).ok()
}

/// A runtime of this library, which the caller makes, runs its tasks on the thread that
/// waits for them.
#[inline]
pub fn runs_on_one_thread(library: &'static str) {
    execution::runs_on_one_thread(library);
}

/// Puts `slice` into an order that the search chooses, its own unless that costs
/// something; whether it did, as in [`draw`].
#[inline]
#[track_caller]
pub fn shuffle<T>(slice: &mut [T]) -> bool {
    if !execution::active() || slice.len() > MOST as usize {
        return false;
    }
    for place in 0..slice.len() {
        let others = slice.len() - place;
        let Some(drawn) = draw(others) else {
            return false;
        };
        slice.swap(place, place + drawn);
    }
    true
}

/// At the start of each statement of `preempt` code.
#[macro_export]
#[doc(hidden)]
macro_rules! __chess_mark {
    () => {
        $crate::shim::overlay::mark()
    };
}
