//! Failures of calls of the standard library, as choices of the search.

use chess_vocabulary::Fault;

use super::mark::marked_line;
use super::options::Faults;
use super::running::running;
use super::state::Execution;
use super::{Note, Op};
use crate::search::Outcomes;

/// Lets the search choose whether a call fails, and in which of the ways in `faults`. Each failure
/// costs a preemption. Returns `None` if the call must do its work.
///
/// The failing call belongs to the statement of `preempt` code that made it, perhaps through a
/// dependency. Calls in test code do not fail: a test that cannot prepare its files shows nothing.
///
/// A task's call is not interrupted twice in a row. Programs repeat an interrupted call, so an
/// execution in which each call is interrupted would not end.
///
/// The choice is made before the call reaches its scheduling point. A call that fails has no effect
/// on files or connections, so that it commutes with the operations of all other tasks.
pub(crate) fn fault_of(faults: &[Fault]) -> Option<Fault> {
    let execution = running()?;
    let enabled = execution.with(|it| it.options.faults);
    if enabled == Faults::NONE {
        return None;
    }
    let was_interrupted = faults.contains(&Fault::Interrupted)
        && execution.with(|it| core::mem::take(&mut it.running().was_interrupted));
    let is_possible =
        |it: &Fault| enabled.contain(*it) && !(was_interrupted && *it == Fault::Interrupted);
    let possible = || faults.iter().copied().filter(is_possible);
    let outcomes = possible().count() as u32 + 1;
    let site = marked_line().filter(|_| outcomes > 1)?;
    if !execution.with(|it| it.policies.may_fail(site)) {
        return None;
    }
    execution.step(Execution::inside_step);
    let outcome = execution.with(|it| it.choose_outcome(outcomes, Outcomes::Rare));
    let fault = possible().nth(outcome.checked_sub(1).unwrap_or(u32::MAX) as usize);
    let note = fault.map_or(Note::NONE, Note::fails);
    execution.with(|it| {
        if fault == Some(Fault::Interrupted) {
            it.running().was_interrupted = true;
        }
        it.log_choice(Op::Fault, site, note);
    });
    fault
}
