//! The memory that an explorer and its helpers share, and the explorer's side of it.

use core::ptr;
use core::sync::atomic::{AtomicU32, AtomicU64, Ordering};
use std::time::Duration;

use super::super::work::Counts;
use crate::base::sys;
use crate::search::{BacktrackPoint, Deviation, Icb, Listed, prefetch};

/// The maximum number of helpers.
pub(super) const MOST: usize = 63;
/// A round with fewer schedules left than this number is not shared with helpers.
pub(super) const LEAST: usize = 64;
/// The number of rounds that are shared: the current round and the one after it.
pub(super) const BLOCKS: usize = 2;
/// The maximum number of schedules of a round that are shared.
pub(super) const ITEMS: usize = 512;
/// The maximum number of deviations of all shared schedules of a round together. A deviation is a
/// decision that differs from the default decision.
pub(super) const DEVIATIONS: usize = 1 << 20;
/// The maximum number of backtrack points that one helper can report for a round.
pub(super) const BACKTRACK_POINTS: usize = 1 << 20;
/// The time for which the explorer waits for a new helper.
pub(super) const PATIENCE: Duration = Duration::from_secs(2);
/// The interval in milliseconds at which a waiting process checks again.
pub(super) const LOOK_MS: u64 = 100;
/// If a helper has begun a schedule, the explorer waits for it during this number of iterations,
/// and then runs the schedule itself: the helper may have no core at the moment, or may have
/// ended.
const SPINS: u32 = 1000;
/// The distance, in schedules, at which the explorer prefetches the backtrack points that a helper
/// found, because another core has written them.
const AHEAD: usize = 6;
/// The distance at which the explorer prefetches a [`HelperResult`], which has the index of these
/// backtrack points.
const FAR_AHEAD: usize = 12;
/// The distance at which the search's own data about the findings are prefetched.
const SOON: usize = 2;
/// The number of deviations in a cache line.
const PER_LINE: usize = 64 / size_of::<Deviation>();

/// The stage of a shared schedule, its helper and its round. They are one atomic word. So a
/// process that was slow detects that another process has changed one of them.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) struct State {
    pub(super) round: u32,
    pub(super) helper: u8,
    pub(super) stage: Stage,
}

#[derive(Clone, Copy, PartialEq, Eq)]
#[repr(u8)]
pub(super) enum Stage {
    /// The explorer runs the schedule, or no process needs to.
    Taken,
    /// No process has begun the schedule.
    Free,
    /// A helper has begun the schedule.
    Helped,
    /// A helper has run the schedule, and its findings are in the shared memory.
    HelperResult,
    /// A helper has run the schedule, and the explorer must run it again.
    Unusual,
}

impl State {
    pub(super) fn at(self, stage: Stage) -> Self {
        Self { stage, ..self }
    }

    fn to_bits(self) -> u64 {
        u64::from(self.round) << 16 | u64::from(self.helper) << 8 | self.stage as u64
    }

    fn from_bits(bits: u64) -> Self {
        const STAGES: [Stage; 5] = [
            Stage::Taken,
            Stage::Free,
            Stage::Helped,
            Stage::HelperResult,
            Stage::Unusual,
        ];
        Self {
            round: (bits >> 16) as u32,
            helper: (bits >> 8) as u8,
            stage: STAGES[bits as usize & 0xff],
        }
    }
}

/// The place of a schedule in the shared memory.
#[derive(Clone, Copy)]
pub(super) struct Place {
    pub(super) block: usize,
    pub(super) number: usize,
}

/// The index of the block of the shared memory that has the schedules of a round.
pub(super) fn block_of(round: u64) -> usize {
    round as usize % BLOCKS
}

/// A schedule of a round.
#[repr(C)]
pub(super) struct Item {
    state: AtomicU64,
    /// The index of the first deviation in [`SharedMemory::deviations`].
    pub(super) start: u32,
    /// The number of deviations.
    pub(super) length: u32,
}

impl Item {
    pub(super) fn state(&self) -> State {
        State::from_bits(self.state.load(Ordering::Acquire))
    }

    /// Changes the state from `from` to `to`. Returns `false` if another process has changed the
    /// state before.
    pub(super) fn change(&self, from: State, to: State) -> bool {
        let (order, relaxed) = (Ordering::AcqRel, Ordering::Relaxed);
        let change = (from.to_bits(), to.to_bits());
        let change = self
            .state
            .compare_exchange(change.0, change.1, order, relaxed);
        change.is_ok()
    }
}

/// The results of a helper for one schedule.
#[derive(Clone, Copy)]
#[repr(C)]
pub(super) struct HelperResult {
    pub(super) start: u32,
    pub(super) length: u32,
    pub(super) has_finished: bool,
    pub(super) helper: u8,
    /// The number of states that the test observed.
    pub(super) states: u8,
    pub(super) counts: Counts,
    pub(super) graph: u64,
    pub(super) possible: u64,
}

/// The maximum number of states that a helper reports for one schedule.
pub(super) const STATES: usize = 4;

/// The memory that the explorer and its helpers share. It is initially zero.
#[repr(C)]
pub(super) struct SharedMemory {
    /// The number of rounds that were shared so far. Helpers wait until this number changes.
    pub(super) rounds: AtomicU32,
    /// The round of each block.
    pub(super) numbers: [AtomicU32; BLOCKS],
    /// For each block, the number of its schedules that no helper has considered yet. Helpers
    /// begin with the last schedule.
    pub(super) rest: [AtomicU32; BLOCKS],
    /// The number of helpers that have their own memory.
    pub(super) ready: AtomicU32,
    /// The process of each helper; 0 if there is none.
    pub(super) processes: [AtomicU32; MOST],
    pub(super) items: [[Item; ITEMS]; BLOCKS],
    pub(super) deviations: [[Deviation; DEVIATIONS]; BLOCKS],
    /// The results by helper. Each helper writes only its own results.
    pub(super) found: [[[HelperResult; ITEMS]; BLOCKS]; MOST],
    pub(super) backtrack_points: [[[BacktrackPoint; BACKTRACK_POINTS]; BLOCKS]; MOST],
    /// The observed states of each schedule.
    pub(super) states: [[[[u64; STATES]; ITEMS]; BLOCKS]; MOST],
}

/// The helpers of this explorer.
pub(in crate::harness) struct Helpers {
    /// The number of helpers.
    pub(super) count: usize,
    /// Whether helpers are not allowed, or have been dismissed.
    pub(in crate::harness) is_dismissed: bool,
    pub(super) memory: *mut SharedMemory,
    /// For each block, the round that it has, and the number of schedules that were left in this
    /// round when the round was shared.
    pub(super) shared: [(u64, usize); BLOCKS],
    /// The newest round that the explorer has begun.
    pub(super) seen: u64,
    buffer: Listed,
}

impl Helpers {
    /// No helpers. If they are allowed, they are forked later: one for each core but one.
    pub(in crate::harness) fn new(is_allowed: bool) -> Self {
        Self {
            count: 0,
            is_dismissed: !is_allowed,
            memory: ptr::null_mut(),
            shared: [(0, 0); BLOCKS],
            seen: 0,
            buffer: Listed::new(),
        }
    }

    /// Ends all helpers, and removes the shared memory from this process.
    pub(in crate::harness) fn dismiss(&mut self) {
        if !self.memory.is_null() {
            // SAFETY: the shared memory is still mapped.
            for process in unsafe { &(*self.memory).processes } {
                let process = process.load(Ordering::Relaxed) as usize;
                if process != 0 {
                    // SAFETY: no process has waited for this helper yet, so its number still
                    // identifies it.
                    unsafe {
                        sys::syscall(
                            sys::number::KILL,
                            [process, sys::SIGKILL as usize, 0, 0, 0, 0],
                        );
                    }
                }
            }
            // SAFETY: this process has no reference into the shared memory any more. A helper that
            // has not ended yet has the memory mapped itself.
            unsafe { sys::unmap(self.memory.cast(), size_of::<SharedMemory>()) };
            self.memory = ptr::null_mut();
        }
        self.count = 0;
        self.is_dismissed = true;
    }

    pub(super) fn item(&self, place: Place) -> *mut Item {
        // SAFETY: the shared memory is mapped, and has this number of items.
        unsafe { &raw mut (*self.memory).items[place.block][place.number] }
    }

    /// Lets helpers run the next schedules of the search's current round or, if `is_ahead`, of its
    /// next round. `count` is the number of schedules that are left in this round. At most
    /// [`ITEMS`] of them are shared.
    pub(super) fn share(&mut self, search: &Icb, round: u64, is_ahead: bool, count: usize) {
        let block = block_of(round);
        self.shared[block] = (round, count);
        let count = count.min(ITEMS);
        self.buffer.clear();
        let memory = self.memory;
        let begun = State {
            round: round as u32,
            helper: 0,
            stage: Stage::Free,
        };
        for number in 0..count {
            search.list(is_ahead, number, &mut self.buffer);
            let item = self.item(Place { block, number });
            let end = self.buffer.deviations.len();
            if end > DEVIATIONS {
                // Only the explorer runs the schedules for which there is no room.
                self.buffer.pop();
                let taken = begun.at(Stage::Taken).to_bits();
                // SAFETY: the shared memory stays mapped until `dismiss`.
                unsafe { (*item).state.store(taken, Ordering::Release) };
                continue;
            }
            // SAFETY: a slow helper detects by the state that the item has changed.
            unsafe {
                let new = self.buffer.last();
                let start = end - new.len();
                (*item).start = start as u32;
                (*item).length = new.len() as u32;
                let to = (&raw mut (*memory).deviations[block]).cast::<Deviation>();
                ptr::copy_nonoverlapping(new.as_ptr(), to.add(start), new.len());
                (*item).state.store(begun.to_bits(), Ordering::Release);
            }
        }
        // SAFETY: the shared memory stays mapped until `dismiss`.
        unsafe {
            (*memory).numbers[block].store(round as u32, Ordering::Release);
            (*memory).rest[block].store(count as u32, Ordering::Release);
            (*memory).rounds.fetch_add(1, Ordering::Release);
            sys::futex_wake_shared(&(*memory).rounds);
        }
    }

    /// The results and the backtrack points of the helper that has run the schedule at `place`.
    /// `None` if there is no such helper: then the explorer must run the schedule, and no helper
    /// begins or reports it any more.
    pub(super) fn take(&self, place: Place) -> Option<(HelperResult, &[BacktrackPoint])> {
        let item = self.item(place);
        // SAFETY: the shared memory stays mapped until `dismiss`.
        let item = unsafe { &*item };
        for spins in 0.. {
            let state = item.state();
            match state.stage {
                Stage::Taken | Stage::Unusual => return None,
                Stage::Helped if spins < SPINS => core::hint::spin_loop(),
                Stage::Free | Stage::Helped => {
                    if item.change(state, state.at(Stage::Taken)) {
                        return None;
                    }
                }
                Stage::HelperResult => return Some(self.found_by(state.helper, place)),
            }
        }
        None
    }

    /// For a helper: prefetches the schedule before the one at this place. The helper usually runs
    /// that schedule next.
    pub(super) fn prefetch_before(&self, Place { block, number }: Place) {
        let Some(number) = number.checked_sub(1) else {
            return;
        };
        // SAFETY: the shared memory stays mapped until `dismiss`. A value that is overwritten
        // meanwhile is used for the prefetch only.
        let (start, length) = unsafe {
            let item = self.item(Place { block, number });
            ((*item).start as usize, (*item).length as usize)
        };
        for at in (start..start.saturating_add(length).min(DEVIATIONS)).step_by(PER_LINE) {
            // SAFETY: the shared memory is mapped, and has room for this number of deviations.
            prefetch(unsafe { &raw const (*self.memory).deviations[block][at] });
        }
    }

    /// Prefetches the findings of helpers for some schedules after the one at `place`. Returns the
    /// findings for a schedule that the explorer reaches soon, if a helper has run it.
    pub(super) fn look_ahead(&self, place: Place) -> Option<(HelperResult, &[BacktrackPoint])> {
        let (_, count) = self.shared[place.block];
        let last = count.min(ITEMS) - 1;
        let found = |ahead: usize| {
            let number = place.number + ahead;
            if number > last {
                return None;
            }
            let there = Place { number, ..place };
            // SAFETY: the shared memory stays mapped until `dismiss`.
            let state = unsafe { (*self.item(there)).state() };
            (state.stage == Stage::HelperResult).then_some((state.helper, there))
        };
        if let Some((helper, there)) = found(FAR_AHEAD) {
            prefetch(self.found_at(helper, there));
        }
        if let Some((helper, there)) = found(AHEAD) {
            let (_, backtrack_points) = self.found_by(helper, there);
            prefetch(backtrack_points.as_ptr());
            prefetch(backtrack_points.as_ptr_range().end);
        }
        found(SOON).map(|(helper, there)| self.found_by(helper, there))
    }

    /// The observed states of the schedule at this place, for which a helper has the results
    /// `found`.
    pub(super) fn states_of(&self, Place { block, number }: Place, found: &HelperResult) -> &[u64] {
        // SAFETY: as in `found_by`.
        let states = unsafe { &(*self.memory).states[found.helper as usize][block][number] };
        &states[..usize::from(found.states)]
    }

    fn found_at(&self, helper: u8, Place { block, number }: Place) -> *const HelperResult {
        // SAFETY: the shared memory is mapped, and the indices are in range.
        unsafe { &raw const (*self.memory).found[helper as usize][block][number] }
    }

    fn found_by(&self, helper: u8, place: Place) -> (HelperResult, &[BacktrackPoint]) {
        let memory = self.memory;
        // SAFETY: the helper has written these values, and does not change them until the block has
        // another round.
        unsafe {
            let found = *self.found_at(helper, place);
            let backtrack_points =
                &raw const (*memory).backtrack_points[helper as usize][place.block];
            let first = backtrack_points
                .cast::<BacktrackPoint>()
                .add(found.start as usize);
            (
                found,
                core::slice::from_raw_parts(first, found.length as usize),
            )
        }
    }
}
