//! Detection of loops that read unchanged objects again: loops without a yield of their own, and
//! iterations that changed nothing.
//!
//! A task spins if it performs the same operation several times, at the same line, on the same
//! unchanged object, without a write of its own in between. Such a task either waits, or it
//! computes and meanwhile only reads a setting, such as the level of a logger. Its state tells
//! these cases apart: if the state changes from one iteration to the next, the spin is an ordinary
//! part of the execution. In that case, only a long spin counts as yielding. Without this rule, a
//! loop that waits and counts would run to the step limit under a scheduler that preempts seldom.
//!
//! An iteration is the part of a task from one yield to the next. All further iterations would be
//! the same if three conditions hold: the task only read in the iteration, the objects that it read
//! have not changed, and its state at the end of the iteration is exactly that at the end of the
//! iteration before. See [`super::waiting_loops`].

use super::Op;
use super::terms::Site;
use crate::search::ObjectId;

use core::panic::Location;

const REMEMBERED: usize = 8;
/// The number of unchanged repetitions that make a spin. With a lower number, short loops over a
/// flag would count as spins, and switches there would be free.
const REPETITIONS: u8 = 3;

/// The number of iterations after which a spin counts as yielding although the task's state changes
/// from one iteration to the next. Up to then, all schedules are explored.
const LONG_SPIN: u32 = 100;
/// As [`LONG_SPIN`], if the task's state is not known, or if the spin polls files, descriptors or
/// opaque code. A loop that polls files usually allocates. Freed memory is not reused at once, so
/// the state changes from one iteration to the next even if the loop waits.
const SHORT_SPIN: u32 = 16;

/// A waiting loop repeats itself after this number of iterations. Its first iteration may differ
/// from the others, because compilers peel it off.
const NEW_ITERATIONS: u32 = 3;
/// A loop that does not repeat itself after this number of iterations most likely counts. Its
/// state, which takes time to compute, is then computed less and less often.
const WATCHED_ITERATIONS: u32 = 32;

/// An operation of the program: its kind, its line and its object.
#[derive(Clone, Copy)]
pub(crate) struct Access {
    pub(crate) op: Op,
    pub(crate) site: Site,
    object: ObjectId,
}

impl Access {
    #[inline]
    pub(crate) fn new(op: Op, site: Site, object: ObjectId) -> Self {
        Self { op, site, object }
    }
}

impl PartialEq for Access {
    #[inline]
    fn eq(&self, other: &Self) -> bool {
        // A line has one address, so its content need not be compared.
        core::ptr::eq(self.site, other.site) && self.op == other.op && self.object == other.object
    }
}

#[derive(Clone, Copy)]
struct Seen {
    access: Access,
    version: u32,
    /// The number of repetitions since the last yield.
    repeats: u8,
}

const NOTHING: Seen = Seen {
    access: Access {
        op: Op::Start,
        site: Location::caller(),
        object: ObjectId::NONE,
    },
    version: 0,
    repeats: 0,
};

/// The comparison of a task's states at the ends of two iterations. In a long loop, only some
/// iterations are compared.
#[derive(Clone, Copy, PartialEq, Eq)]
enum States {
    /// No state is known since the task last made progress.
    Unknown,
    /// They are the same: the task repeats itself.
    Same,
    /// They differ, or only one is known.
    Differ,
}

/// The reads of one task since it last changed an object or saw a change.
#[derive(Clone, Copy)]
pub(crate) struct SpinDetector {
    seen: [Seen; REMEMBERED],
    count: u8,
    /// In this iteration, the task read more objects than are remembered, or state that has no
    /// version.
    saw_unversioned: bool,
    /// The task's state at its last yield; 0 if it is not known.
    last_iteration: u64,
    /// The number of iterations in which the task only read, since it last made progress.
    iterations: u32,
    /// The read at which the iterations of a loop without a yield end, by its index in `seen`: the
    /// first of the loop's reads that was detected to spin. At the other reads of the loop, the
    /// task's state differs from that at this read.
    end: Option<u8>,
    /// The number of iterations of a loop without a yield, since the task last made progress.
    spins: u32,
    /// The value of `spins` when the task was last known to repeat itself.
    spins_as_same: u32,
    /// [`LONG_SPIN`], or [`SHORT_SPIN`] for polls.
    long: u32,
    /// How the last two states of the task compare.
    states: States,
    /// The task changed an object, or saw a change, since its last yield.
    progressed: bool,
    /// The reads of the task before it awaited a change. They are kept until the task makes
    /// progress in another way.
    awaited: [Seen; REMEMBERED],
    awaited_count: u8,
}

impl SpinDetector {
    pub(crate) const fn new() -> Self {
        Self {
            seen: [NOTHING; REMEMBERED],
            count: 0,
            saw_unversioned: false,
            last_iteration: 0,
            iterations: 0,
            end: None,
            spins: 0,
            spins_as_same: 0,
            long: LONG_SPIN,
            states: States::Unknown,
            progressed: false,
            awaited: [NOTHING; REMEMBERED],
            awaited_count: 0,
        }
    }

    /// Records that the task changed an object, or saw a change by another task.
    #[inline]
    pub(crate) fn progress(&mut self) {
        self.count = 0;
        self.saw_unversioned = false;
        self.last_iteration = 0;
        self.iterations = 0;
        self.end = None;
        self.spins = 0;
        self.spins_as_same = 0;
        self.long = LONG_SPIN;
        self.states = States::Unknown;
        self.progressed = true;
        self.awaited_count = 0;
    }

    /// As [`Self::progress`], for a task that awaited a change. [`Self::version_at`] still finds
    /// the reads before the wait.
    pub(crate) fn progress_after_wait(&mut self) {
        let (seen, count) = (self.seen, self.count);
        self.progress();
        self.awaited = seen;
        self.awaited_count = count;
    }

    /// Whether the task made progress since the last call.
    pub(crate) fn take_progress(&mut self) -> bool {
        core::mem::take(&mut self.progressed)
    }

    /// Records that the task read state that has no version: the time, or the state of opaque code.
    #[inline]
    pub(crate) fn read_unversioned(&mut self) {
        self.saw_unversioned = true;
    }

    /// Records that the task repeats a poll of state that has no version.
    pub(crate) fn polls(&mut self) {
        self.saw_unversioned = true;
        self.long = SHORT_SPIN;
    }

    /// Whether the task has repeated a poll since it last made progress.
    pub(crate) fn is_poll(&self) -> bool {
        self.long == SHORT_SPIN
    }

    /// Whether a read is remembered.
    #[inline]
    pub(crate) fn is_watching(&self) -> bool {
        self.count != 0
    }

    /// Whether the next operation of the task, `access` to an object of this version, is part of a
    /// spin.
    pub(crate) fn spins(&self, access: Access, version: u32) -> bool {
        let seen = self.seen[..self.count as usize]
            .iter()
            .find(|s| s.access == access);
        seen.is_some_and(|s| s.version == version && s.repeats >= REPETITIONS)
    }

    /// The version of the object at the task's last read by `access`, if the task has only read
    /// since.
    pub(crate) fn version_at(&self, access: Access) -> Option<u32> {
        let seen = self.seen[..self.count as usize].iter();
        let awaited = self.awaited[..self.awaited_count as usize].iter();
        let mut same = seen.chain(awaited).filter(|seen| seen.access == access);
        same.next().map(|seen| seen.version)
    }

    /// Whether an iteration of the loop ends before the task repeats `access`, which spins.
    pub(crate) fn ends_before(&mut self, access: Access) -> bool {
        let mut seen = self.seen[..self.count as usize].iter();
        let place = seen.position(|s| s.access == access);
        let place = place.map(|place| place as u8);
        self.end = self.end.or(place);
        self.end == place
    }

    /// Records that the task performed an operation that changed nothing.
    pub(crate) fn read(&mut self, access: Access, version: u32) {
        let seen = &mut self.seen[..self.count as usize];
        if let Some(same) = seen.iter_mut().find(|s| s.access == access) {
            if same.version == version {
                same.repeats = same.repeats.saturating_add(1);
                return;
            }
            self.progress();
        }
        if (self.count as usize) < REMEMBERED {
            self.seen[self.count as usize] = Seen {
                access,
                version,
                repeats: 1,
            };
            self.count += 1;
        } else {
            self.saw_unversioned = true;
        }
    }

    /// Whether an iteration that ends here consists only of reads that are remembered.
    #[inline]
    pub(crate) fn only_read(&self) -> bool {
        !self.saw_unversioned && self.in_iteration().next().is_some()
    }

    /// Whether an iteration that ends here should be compared with the one before or after it. A
    /// long loop is compared less and less often, each time with two iterations in a row.
    #[inline]
    pub(crate) fn may_repeat(&self) -> bool {
        self.only_read() && is_compared(self.iterations)
    }

    /// As [`Self::may_repeat`], for a loop without a yield, which may also read objects that are
    /// not remembered.
    #[inline]
    pub(crate) fn may_spin_on(&self) -> bool {
        is_compared(self.spins)
    }

    /// The objects that the task has read since its last yield, with the versions that it read.
    pub(crate) fn in_iteration(&self) -> impl Iterator<Item = (ObjectId, u32)> {
        let seen = self.seen[..self.count as usize].iter();
        let read = seen.filter(|seen| seen.repeats != 0);
        read.map(|seen| (seen.access.object, seen.version))
    }

    /// The read that identifies a loop without a yield in reports: the first one in the source of
    /// the reads that the loop repeats, no matter at which of them the loop was detected to spin.
    pub(crate) fn repeated(&self) -> Option<Access> {
        let seen = self.seen[..self.count as usize].iter();
        let repeated = seen.filter(|seen| seen.repeats >= REPETITIONS);
        repeated.map(|seen| seen.access).min_by_key(|it| it.site)
    }

    /// Records that the task yields in this `state`, a hash that is 0 if it is not known. Returns
    /// whether the iteration before is known to have ended in the same state.
    pub(crate) fn ends_iteration(&mut self, state: u64) -> bool {
        let same = state != 0 && state == self.last_iteration;
        if same {
            self.states = States::Same;
            self.spins_as_same = self.spins;
        } else if state != 0 && (self.last_iteration != 0 || self.states == States::Unknown) {
            self.states = States::Differ;
        }
        self.last_iteration = state;
        self.iterations = self.iterations.saturating_add(self.only_read().into());
        same
    }

    /// Counts an iteration of a loop without a yield.
    pub(crate) fn count_spin(&mut self) {
        self.spins = self.spins.saturating_add(1);
    }

    /// Whether the spin of the task counts as yielding.
    pub(crate) fn is_yield(&self) -> bool {
        match self.states {
            States::Same => true,
            States::Differ => self.spins - self.spins_as_same > self.long,
            States::Unknown => self.spins > SHORT_SPIN,
        }
    }

    /// Whether the spin of the task counts as yielding only because it is long.
    pub(crate) fn is_only_long(&self) -> bool {
        self.states != States::Same
    }

    /// Whether it is too early to decide if the iteration that just ended will be repeated. An
    /// iteration that read state without a version is always repeated.
    pub(crate) fn is_new(&self) -> bool {
        self.only_read() && self.last_iteration != 0 && self.iterations < NEW_ITERATIONS
    }

    /// A new iteration begins. If the task `overstays`, its reads stay known as repeated ones.
    pub(crate) fn begin_iteration(&mut self, overstays: bool) {
        if !overstays {
            for seen in &mut self.seen[..self.count as usize] {
                seen.repeats = 0;
            }
        }
        self.saw_unversioned = false;
        self.end = None;
    }
}

/// Whether the iteration of this number is compared with the one before or after it.
#[inline]
fn is_compared(iteration: u32) -> bool {
    let first_of_two = iteration & !1;
    iteration < WATCHED_ITERATIONS || first_of_two.is_power_of_two()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn repeated_reads_of_an_unchanged_object_are_a_spin() {
        let mut spin = SpinDetector::new();
        let load = Access::new(Op::AtomicLoad, Location::caller(), ObjectId(1));
        for _ in 0..REPETITIONS {
            assert!(!spin.spins(load, 7));
            spin.read(load, 7);
        }
        assert!(spin.spins(load, 7));
        assert!(!spin.spins(load, 8), "the object changed");
        spin.progress();
        assert!(!spin.spins(load, 7), "the task wrote something");
    }

    /// A detector of a task that has repeated a read as often as a spin does.
    fn spinning() -> (SpinDetector, Access) {
        let mut spin = SpinDetector::new();
        let load = Access::new(Op::AtomicLoad, Location::caller(), ObjectId(1));
        for _ in 0..REPETITIONS {
            spin.read(load, 7);
        }
        (spin, load)
    }

    #[test]
    fn a_spin_counts_as_yielding_once_its_state_is_the_same() {
        let (mut spin, load) = spinning();
        for state in [1, 2, 2] {
            assert!(!spin.is_yield());
            spin.count_spin();
            spin.ends_iteration(state);
            spin.read(load, 7);
        }
        assert!(spin.is_yield() && !spin.is_only_long());
        spin.count_spin();
        spin.ends_iteration(3);
        assert!(!spin.is_yield(), "the state has changed again");
    }

    #[test]
    fn a_spin_with_changing_state_counts_as_yielding_only_if_it_is_long() {
        for (is_known, long) in [(true, LONG_SPIN), (false, SHORT_SPIN)] {
            let (mut spin, load) = spinning();
            for iteration in 1..=long {
                spin.count_spin();
                let looks = is_known && spin.may_repeat();
                spin.ends_iteration(if looks { iteration.into() } else { 0 });
                if is_known {
                    spin.read(load, 7);
                } else {
                    spin.read_unversioned();
                }
                assert!(!spin.is_yield(), "{is_known} {iteration}");
            }
            spin.count_spin();
            assert!(spin.is_yield() && spin.is_only_long());
            spin.progress();
            assert!(!spin.is_yield());
        }
    }

    #[test]
    fn iterations_without_a_yield_end_at_one_of_their_reads() {
        let mut spin = SpinDetector::new();
        let site = Location::caller();
        let a = Access::new(Op::AtomicLoad, site, ObjectId(1));
        let b = Access::new(Op::AtomicLoad, site, ObjectId(2));
        for _ in 0..REPETITIONS {
            spin.read(a, 0);
            spin.read(b, 0);
        }
        for _ in 0..3 {
            assert!(spin.ends_before(a) && !spin.ends_before(b));
        }
        spin.begin_iteration(false);
        assert!(spin.ends_before(b) && !spin.ends_before(a), "after a yield");
    }

    #[test]
    fn a_loop_that_never_repeats_itself_is_watched_ever_less() {
        let mut spin = SpinDetector::new();
        let load = Access::new(Op::AtomicLoad, Location::caller(), ObjectId(1));
        let mut looks = 0;
        for state in 1..=10_000 {
            spin.read(load, 0);
            let looked = spin.may_repeat();
            looks += u32::from(looked);
            assert!(!spin.ends_iteration(if looked { state } else { 0 }));
            assert_eq!(spin.is_new(), state < 3);
            spin.begin_iteration(false);
        }
        assert!(looks <= 60, "{looks}");
        spin.read(load, 0);
        while !spin.may_repeat() {
            spin.ends_iteration(0);
        }
        assert!(!spin.ends_iteration(7));
        assert!(spin.may_repeat() && spin.ends_iteration(7), "two in a row");
    }

    #[test]
    fn a_change_of_one_location_clears_the_others() {
        let mut spin = SpinDetector::new();
        let site = Location::caller();
        let a = Access::new(Op::AtomicLoad, site, ObjectId(1));
        let b = Access::new(Op::AtomicLoad, site, ObjectId(2));
        for iteration in 0..10 {
            spin.read(a, 0);
            spin.read(b, iteration);
            assert!(!spin.spins(a, 0));
        }
    }
}
