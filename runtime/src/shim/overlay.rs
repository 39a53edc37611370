//! The functions that rewritten code and overlays call: `__chess` in every facade.

use std::panic::Location;

use chess_vocabulary::Fault;

use super::component;
use crate::execution::{self, Site};
use crate::platform::observers::observes_invariants;

pub use super::borrows::*;
pub use super::exclusive::{ObjectCall, exclusive, shared};
pub use super::parking;

/// The highest number of outcomes of a draw (a random choice of an executor) that the search
/// makes. The executor makes draws with more outcomes itself. The search would try each of the
/// outcomes, and such a draw mostly selects something that does not matter, for instance a shard.
const MOST: u32 = 7;

/// Whether the caller is a task of an execution.
#[inline]
#[must_use]
pub fn active() -> bool {
    execution::active()
}

/// Records that the thread is at the start of a statement of `preempt` code. This means that an
/// earlier call of `atomic` code is over, and that the next operation of `atomic` code belongs to
/// another call.
// Not `#[inline]`: in a program that is not optimised, one call of optimised code costs less than
// its inlined body.
#[track_caller]
pub const fn mark() {
    // A `const fn` has marked statements as well. If the compiler evaluates it, a mark has no
    // effect.
    core::intrinsics::const_eval_select((Location::caller(),), nothing, execution::mark);
}

const fn nothing(_: Site) {}

/// The number below `outcomes` that an executor must use as its random number: a choice of the
/// search. `None` if the executor must draw a number itself.
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

/// Returns the argument for a call of `try_reserve`: `additional`, or the largest number if the
/// search lets the call fail. No collection can hold the largest number of elements, except for
/// elements without a size.
#[inline]
#[must_use]
pub fn reserve<N>(additional: N) -> N {
    let largest = N::LARGEST.filter(|_| execution::active());
    let fails = |_: &N| execution::fault_of(&[Fault::Allocation]).is_some();
    largest.filter(fails).unwrap_or(additional)
}

/// A possible argument of a method that has the name `try_reserve`.
trait Additional: Sized {
    /// The largest value of the type. `None` if the type is not `usize`, because then the method
    /// is not that of a collection of std.
    const LARGEST: Option<Self>;
}

impl<N> Additional for N {
    default const LARGEST: Option<Self> = None;
}

impl Additional for usize {
    const LARGEST: Option<Self> = Some(Self::MAX);
}

/// The number below `outcomes` that the search chooses. `outcomes` is at least 1. `None` outside
/// an execution.
#[inline]
#[track_caller]
#[must_use]
pub fn choose(outcomes: u32) -> Option<u32> {
    execution::choose(outcomes, Location::caller())
}

/// Whether the search lets a rare event happen. `None` outside an execution.
#[inline]
#[track_caller]
#[must_use]
pub fn happens_rarely() -> Option<bool> {
    execution::happens_rarely(Location::caller())
}

/// Records `state`, the hash of a state that the test has reached. No effect outside an execution.
#[inline]
#[track_caller]
pub fn observe(state: u64) {
    execution::observe(state, Location::caller());
}

/// Records the start of a call, or the end of a call if `ends` is true, in the history at the
/// address `history`. `site` is the line of the test. Returns a number that is larger than those
/// of earlier records. `None` outside an execution.
#[inline]
#[must_use]
pub fn note_in_history(history: usize, ends: bool, site: Site) -> Option<u64> {
    execution::note_in_history(history, ends, site)
}

/// Waits until no other task can run and no timer is pending. `site` is the line of the test.
/// Returns `false` if the function has not waited. Outside an execution, it never waits.
#[inline]
#[must_use]
pub fn until_idle(site: Site) -> bool {
    execution::until_idle(site)
}

/// Hides the operations of the caller from the search until the result is dropped. These
/// operations must not wait, allocate or release memory. No effect outside an execution.
#[inline]
#[must_use]
pub fn unseen() -> Unseen {
    Unseen(execution::active().then(execution::Detached::step))
}

/// The result of [`unseen`].
pub struct Unseen(#[expect(dead_code, reason = "its destructor")] Option<execution::Detached>);

/// Leaves the execution without a verdict, because an assumption does not hold. Returns only
/// outside an execution.
#[inline]
#[track_caller]
pub fn assumption_fails() {
    execution::assumption_fails(Location::caller());
}

/// Runs `body` as the first task of a new component, until `body` returns or the search lets the
/// component crash. Outside an execution, does not run `body`, and returns it.
///
/// # Panics
/// If `body` panics, or if the caller is a part of a component.
pub fn run_component<F: FnOnce() + Send>(body: F, site: Site) -> Option<F> {
    component::run(body, site)
}

/// Reaches a scheduling point, if the caller is a task. Returns whether the caller is a task.
#[inline]
#[track_caller]
#[must_use]
pub fn scheduling_point() -> bool {
    execution::scheduling_point(Location::caller())
}

pub use execution::{
    Condition, become_cold, become_hot, forget_hot, remove_invariant, signal, signals,
    wait_for_signals,
};

/// Records that the caller has created an asynchronous runtime of the library with the name
/// `library`. The runtime runs its tasks on the thread that waits for them.
#[inline]
pub fn runs_on_one_thread(library: &'static str) {
    execution::runs_on_one_thread(library);
}

/// Permutes `slice` by draws of the search. A draw whose outcome is not the default costs as much
/// as a preemption. Returns `false` if the executor must permute the slice itself.
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

/// Adds an invariant and checks it. Returns its number.
///
/// # Errors
/// Outside an execution, returns the condition.
// Inlined, so that only programs with invariants contain this code: see `observes_invariants`.
#[inline]
pub fn add_invariant(name: &str, condition: Condition, site: Site) -> Result<usize, Condition> {
    observes_invariants();
    execution::add_invariant(name, condition, site)
}

/// A mark: the call that the rewriter inserts before statements of `preempt` code that may call a
/// function, and at the start of bodies.
#[macro_export]
#[doc(hidden)]
macro_rules! __chess_mark {
    () => {
        $crate::shim::overlay::mark()
    };
}
