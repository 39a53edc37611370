//! What spliced and overlaid code calls: `__chess` in every facade.

use std::panic::Location;

use crate::execution;

/// A draw among more is no choice between tasks or branches.
const MOST: u32 = 64;

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
pub const fn mark() {
    // A `const fn` has statements, too; the compiler's own run of it has no tasks.
    core::intrinsics::const_eval_select((), nothing, execution::mark);
}

const fn nothing() {}

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
    let outcomes = outcomes
        .try_into()
        .ok()
        .filter(|number| (1..=MOST).contains(number))?;
    N::try_from(execution::draw(outcomes, Location::caller())?).ok()
}

/// At the start of each statement of `preempt` code.
#[macro_export]
#[doc(hidden)]
macro_rules! __chess_mark {
    () => {
        $crate::shim::overlay::mark()
    };
}
