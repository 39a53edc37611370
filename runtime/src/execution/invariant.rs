//! Invariants of a test: conditions that are checked after each change of an object that they read.
//!
//! A check runs the program's closure on the stack of the task whose operation changed such an
//! object, as if the thread were no task: the operations of the closure are neither scheduling
//! points nor events. The shims report the objects that the closure reads, by [`condition_reads`].
//!
//! **A check is a part of the step in which it runs. The step reads all objects that this check
//! reads, and all objects that the check before it read.** Two adjacent steps that do not conflict
//! are then followed by the same checks, with the same results, in either order:
//! - If neither of the steps changes an object that the last check read, there is no check after
//!   either step.
//! - If only one of the steps is followed by a check, the other step changes no object that this
//!   check or the check before it read. After a swap, there is still no check after the other step,
//!   and the check still sees the same values.
//! - If both steps are followed by checks, the second step changes an object that the first check
//!   read. So the steps conflict.
//!
//! The set of objects that a check reads may depend on values that a third step changes. If a check
//! reads other objects than the check before it, its step counts as one with several operations
//! (`TraceStep::has_several_operations`). If a check reads the same objects as the check before it,
//! a third step that changes such a value is followed by a check itself, and so reads all these
//! objects.
//!
//! So the searches keep their reductions. A step must also read the objects of the check before its
//! own, because its own check may read fewer objects. For the same reason, the first and the last
//! step of an invariant read the objects of its check. Both steps are scheduling points.

use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};

use super::current::{CHECKS, checks};
use super::detached::Detached;
use super::invariant_set::{Broken, Condition, Invariant, Read};
use super::mark;
use super::running::{Running, checked, running};
use super::state::Execution;
use super::terms::{Mode, Site, Step};
use super::{Effect, Op};
use crate::base::memory::{EngineVec, engine_vec};
use crate::base::panic_payload::payload_text;
use crate::search::ObjectId;

/// The payload of the unwinding that ends a condition at a lock that a task holds.
struct IsLocked;

impl Execution {
    /// Whether a task holds the lock `object` in a mode that excludes an acquisition in `mode`.
    fn is_locked(&self, object: ObjectId, mode: Mode) -> bool {
        let lock = self.objects.get(object);
        lock.owner.is_some() || mode == Mode::Exclusive && lock.shared > 0
    }

    /// Prepares the check of the invariant at `index`, and returns its condition. `None` if a task
    /// holds a lock that the last check acquired, so that the condition could not acquire it.
    fn prepare(&mut self, index: usize) -> Option<*mut Condition> {
        self.invariants.seen.clear();
        let invariant = &self.invariants.all[index];
        let is_held = |read: &Read| {
            let mode = read.locked;
            mode.is_some_and(|mode| self.is_locked(read.object, mode))
        };
        let waits = invariant.reads.iter().any(is_held);
        (!waits).then_some(invariant.condition)
    }

    /// The index of the first invariant from `index` on that is due. Marks it as not due.
    fn take_due(&mut self, index: usize) -> Option<usize> {
        let mut rest = self.invariants.all.iter_mut().enumerate().skip(index);
        let (at, invariant) = rest.find(|(_, it)| it.is_due)?;
        invariant.is_due = false;
        Some(at)
    }

    /// Ends the check of the invariant at `index`, which had the result `outcome`.
    fn checked(&mut self, index: usize, outcome: Outcome, site: Option<Site>) -> Step {
        let before = core::mem::replace(&mut self.invariants.all[index].reads, engine_vec());
        let mut now = engine_vec();
        if let Outcome::Locked = outcome {
            now.extend_from_slice(&before);
        }
        for at in 0..self.invariants.seen.len() {
            let (address, locked) = self.invariants.seen[at];
            let object = self.object(address);
            if !now.iter().any(|read: &Read| read.object == object) {
                now.push(Read { object, locked });
            }
        }
        let is_among = |read: &Read, all: &[Read]| all.iter().any(|it| it.object == read.object);
        let is_same = before.len() == now.len() && now.iter().all(|read| is_among(read, &before));
        if !is_same {
            self.log.trace.continue_step();
        }
        let mut touched = engine_vec();
        touched.extend_from_slice(&self.invariants.changed);
        for read in before.iter().chain(&now) {
            // Two kinds of objects need no read. An object that the step changes is a dependence of
            // the step anyway. And no other task changes a lock that this task holds.
            let is_held = self.objects.get(read.object).owner == Some(self.schedule.current);
            if !is_held && !touched.contains(&read.object) {
                touched.push(read.object);
                if let step @ (Step::End | Step::Switch(_)) = self.touch(read.object, Effect::Read)
                {
                    return step;
                }
            }
        }
        let invariant = &mut self.invariants.all[index];
        invariant.reads = now;
        let panic = match outcome {
            Outcome::Holds | Outcome::Locked => return Step::Continue,
            Outcome::Fails => None,
            Outcome::Panics(message) => Some(message),
        };
        let name = invariant.name.clone();
        self.invariants.broken = Some(Broken { name, panic, site });
        self.stop()
    }
}

/// The result of a check.
enum Outcome {
    Holds,
    Fails,
    /// The condition panicked, with this message.
    Panics(EngineVec<u8>),
    /// A task holds a lock that the condition needs: nothing is known.
    Locked,
}

/// Runs the condition of the invariant at `index`.
fn run(execution: Running, index: usize) -> Outcome {
    let Some(condition) = execution.with(|it| it.prepare(index)) else {
        return Outcome::Locked;
    };
    let marks = mark::put_aside();
    let detached = Detached::step();
    let outer = CHECKS.replace(true);
    // SAFETY: the condition lives until its invariant is removed. It runs in no other frame: it
    // performs no operation that is checked.
    let condition = AssertUnwindSafe(|| unsafe { (*condition)() });
    let outcome = match catch_unwind(condition) {
        Ok(true) => Outcome::Holds,
        Ok(false) => Outcome::Fails,
        Err(payload) if payload.is::<IsLocked>() => Outcome::Locked,
        Err(payload) => {
            let mut message = engine_vec();
            message.extend_from_slice(payload_text(&*payload).as_bytes());
            Outcome::Panics(message)
        }
    };
    CHECKS.set(outer);
    drop(detached);
    mark::restore(&marks);
    outcome
}

/// Checks the invariants that may not hold any more after the running operation. Each operation
/// that can change an object calls this function after its event, before any other task runs.
#[inline]
pub(super) fn check(execution: Running) {
    if execution.with(|it| it.observers.of_invariants && it.invariants.are_due) {
        check_due(execution);
    }
}

#[cold]
fn check_due(execution: Running) {
    let site = execution.with(|it| {
        it.invariants.are_due = false;
        it.running().site
    });
    let mut next = 0;
    while let Some(index) = execution.with(|it| it.take_due(next)) {
        let outcome = run(execution, index);
        execution.step(|it| it.checked(index, outcome, site));
        next = index + 1;
    }
    execution.with(|it| it.invariants.changed.clear());
}

/// Adds an invariant and checks it. Returns the number of the invariant.
///
/// # Errors
/// Outside an execution, the error is `condition`.
pub fn add_invariant(name: &str, condition: Condition, site: Site) -> Result<usize, Condition> {
    let Some(execution) = running() else {
        return Err(condition);
    };
    let condition = Box::into_raw(Box::new(condition));
    let number = condition.expose_provenance();
    let mut text = engine_vec();
    text.extend_from_slice(name.as_bytes());
    super::access(Op::InvariantBegin, number, site);
    let invariant = Invariant {
        condition,
        name: text,
        reads: engine_vec(),
        is_due: false,
    };
    let index = execution.with(|it| {
        it.invariants.all.push(invariant);
        it.invariants.all.len() - 1
    });
    let outcome = run(execution, index);
    execution.step(|it| it.checked(index, outcome, Some(site)));
    Ok(number)
}

/// Removes the invariant with this number. If `is_checked`, checks it a last time before the
/// removal. No effect outside an execution, and if no invariant has this number.
pub fn remove_invariant(number: usize, is_checked: bool, site: Site) {
    let Some(execution) = running() else { return };
    super::access(Op::InvariantEnd, number, site);
    let index = execution.with(|it| {
        let mut all = it.invariants.all.iter();
        all.position(|it| it.condition.addr() == number)
    });
    let Some(index) = index else { return };
    let outcome = if is_checked {
        run(execution, index)
    } else {
        Outcome::Locked
    };
    if !is_checked {
        execution.with(|it| it.invariants.seen.clear());
    }
    execution.step(|it| it.checked(index, outcome, Some(site)));
    let invariant = execution.with(|it| it.invariants.all.remove(index));
    // SAFETY: `add_invariant` made it of a box, and it is in no list any more.
    drop(unsafe { Box::from_raw(invariant.condition) });
}

/// Records that the condition of an invariant reads the object at `address`. No effect if the
/// calling thread runs no condition.
#[inline]
pub fn condition_reads(address: usize) {
    if checks() {
        observed(address, None);
    }
}

#[cold]
fn observed(address: usize, locked: Option<Mode>) {
    let Some(execution) = checked() else { return };
    execution.with(|it| {
        let seen = &mut it.invariants.seen;
        if !seen.contains(&(address, locked)) {
            seen.push((address, locked));
        }
    });
}

/// As [`condition_reads`], for a lock that the caller acquires. If a task holds the lock in a mode
/// that excludes this one, the function unwinds, which ends the check.
#[inline]
pub fn condition_locks(address: usize, mode: Mode) {
    if checks() {
        locked_by_condition(address, mode);
    }
}

// Not inlined: it would make the functions of locks too large to be inlined themselves.
#[cold]
#[inline(never)]
fn locked_by_condition(address: usize, mode: Mode) {
    observed(address, Some(mode));
    let Some(execution) = checked() else { return };
    let is_locked = execution.with(|it| {
        let object = it.objects.find(address);
        object.is_some_and(|object| it.is_locked(object, mode))
    });
    if is_locked {
        resume_unwind(Box::new(IsLocked));
    }
}

/// Asserts that the caller is not the condition of an invariant. Shims call this function before
/// they change an object for a thread that is no task.
///
/// # Panics
/// If the caller is the condition of an invariant.
#[inline]
pub fn before_change() {
    assert!(
        !checks(),
        "the condition of an invariant changes an atomic or waits: a condition may only load \
         atomics, lock a Mutex, and lock a RwLock for reading"
    );
}
