//! The memory that an explorer and its helpers share, and the explorer's part in it.

use core::ptr;
use core::sync::atomic::{AtomicU32, AtomicU64, Ordering};
use std::time::Duration;

use crate::base::sys;
use crate::search::{Deviation, Icb, Listed, Need, prefetch};

/// At most so many helpers.
pub(super) const MOST: usize = 63;
/// Rounds with fewer schedules left are not worth sharing.
pub(super) const LEAST: usize = 64;
/// The round at hand and the one after it are shared.
pub(super) const BLOCKS: usize = 2;
/// At most so many schedules of a round are shared.
pub(super) const ITEMS: usize = 512;
/// Room for the deviations of all of them.
pub(super) const DEVIATIONS: usize = 1 << 20;
/// Room for what one helper finds in a round.
pub(super) const NEEDS: usize = 1 << 20;
/// How long the explorer waits for a new helper.
pub(super) const PATIENCE: Duration = Duration::from_secs(2);
/// How often who waits looks again.
pub(super) const LOOK_MS: u64 = 100;
/// Turns of a loop after which the explorer runs a schedule itself that a helper has
/// begun: the helper may have no core now, or be no more.
const SPINS: u32 = 1000;
/// So many schedules before what a helper has found is taken over, the processor fetches
/// that, and before that, where it is: it comes from another core.
const AHEAD: usize = 6;
const FAR_AHEAD: usize = 12;
/// And so many before that, what the search knows of it.
const SOON: usize = 2;
/// So many deviations are fetched at once.
const PER_LINE: usize = 64 / size_of::<Deviation>();

/// How far a schedule is, whose it is, and in which round: one word, so that who comes
/// late notices.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) struct State {
    pub(super) round: u32,
    pub(super) helper: u8,
    pub(super) stage: Stage,
}

#[derive(Clone, Copy, PartialEq, Eq)]
#[repr(u8)]
pub(super) enum Stage {
    /// The explorer runs the schedule, or nobody has to.
    Taken,
    /// Nobody runs it yet.
    Free,
    /// A helper does.
    Helped,
    /// A helper has run it, and this is what it found.
    Found,
    /// A helper has run it, and the explorer has to.
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
            Stage::Found,
            Stage::Unusual,
        ];
        Self {
            round: (bits >> 16) as u32,
            helper: (bits >> 8) as u8,
            stage: STAGES[bits as usize & 0xff],
        }
    }
}

/// Where a schedule is on the board.
#[derive(Clone, Copy)]
pub(super) struct Place {
    pub(super) block: usize,
    pub(super) number: usize,
}

/// The block of a round.
pub(super) fn block_of(round: u64) -> usize {
    round as usize % BLOCKS
}

/// A schedule of the round.
#[repr(C)]
pub(super) struct Item {
    state: AtomicU64,
    /// Where its deviations are.
    pub(super) start: u32,
    pub(super) length: u32,
}

impl Item {
    pub(super) fn state(&self) -> State {
        State::from_bits(self.state.load(Ordering::Acquire))
    }

    /// Brings it to another stage, if nobody else has; whether that is so.
    pub(super) fn change(&self, from: State, to: State) -> bool {
        let (order, relaxed) = (Ordering::AcqRel, Ordering::Relaxed);
        let change = (from.to_bits(), to.to_bits());
        let change = self
            .state
            .compare_exchange(change.0, change.1, order, relaxed);
        change.is_ok()
    }
}

/// What a helper has found.
#[derive(Clone, Copy)]
#[repr(C)]
pub(super) struct Found {
    pub(super) start: u32,
    pub(super) length: u32,
    pub(super) has_finished: bool,
    pub(super) tasks: usize,
    pub(super) steps: u64,
    pub(super) file_calls: u32,
    pub(super) directory_changes: u32,
    pub(super) graph: u64,
    pub(super) possible: u64,
}

/// What explorer and helpers share. It is zeroed at first.
#[repr(C)]
pub(super) struct Board {
    /// The number of rounds shared: helpers sleep on it.
    pub(super) rounds: AtomicU32,
    /// The round of each block, and how many of its schedules, from the first one, no
    /// helper has looked at.
    pub(super) numbers: [AtomicU32; BLOCKS],
    pub(super) rest: [AtomicU32; BLOCKS],
    /// Helpers that have a memory of their own, and their processes.
    pub(super) ready: AtomicU32,
    pub(super) processes: [AtomicU32; MOST],
    pub(super) items: [[Item; ITEMS]; BLOCKS],
    pub(super) deviations: [[Deviation; DEVIATIONS]; BLOCKS],
    /// By helper: only it writes there.
    pub(super) found: [[[Found; ITEMS]; BLOCKS]; MOST],
    pub(super) needs: [[[Need; NEEDS]; BLOCKS]; MOST],
}

/// The helpers of this explorer.
pub(in crate::harness) struct Helpers {
    /// How many there are.
    pub(super) count: usize,
    /// There are not to be any, or no more.
    pub(in crate::harness) is_dismissed: bool,
    pub(super) board: *mut Board,
    /// The round in each block, and how many schedules it shares.
    pub(super) shared: [(u64, usize); BLOCKS],
    /// The newest round that the explorer has begun.
    pub(super) seen: u64,
    buffer: Listed,
}

impl Helpers {
    /// None yet; later, as many as there are cores for, if they are allowed.
    pub(in crate::harness) fn new(is_allowed: bool) -> Self {
        Self {
            count: 0,
            is_dismissed: !is_allowed,
            board: ptr::null_mut(),
            shared: [(0, 0); BLOCKS],
            seen: 0,
            buffer: Listed::new(),
        }
    }

    /// There are none any more.
    pub(in crate::harness) fn dismiss(&mut self) {
        if !self.board.is_null() {
            // SAFETY: the board stays mapped.
            for process in unsafe { &(*self.board).processes } {
                let process = process.load(Ordering::Relaxed) as usize;
                if process != 0 {
                    // SAFETY: nobody has waited for it yet, so it is still a helper.
                    unsafe {
                        sys::syscall(
                            sys::number::KILL,
                            [process, sys::SIGKILL as usize, 0, 0, 0, 0],
                        );
                    }
                }
            }
        }
        self.count = 0;
        self.is_dismissed = true;
    }

    pub(super) fn item(&self, place: Place) -> *mut Item {
        // SAFETY: the board is mapped, and has so many items.
        unsafe { &raw mut (*self.board).items[place.block][place.number] }
    }

    /// Lets helpers run the last `count` schedules of the search's round, or all of the
    /// one after it.
    pub(super) fn share(&mut self, search: &Icb, round: u64, is_ahead: bool, count: usize) {
        let block = block_of(round);
        self.shared[block] = (round, count);
        let count = count.min(ITEMS);
        self.buffer.clear();
        let board = self.board;
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
                // The explorer alone runs what there is no room for.
                self.buffer.pop();
                let taken = begun.at(Stage::Taken).to_bits();
                // SAFETY: the board stays mapped.
                unsafe { (*item).state.store(taken, Ordering::Release) };
                continue;
            }
            // SAFETY: a helper that comes late notices that the item is another one.
            unsafe {
                let new = self.buffer.last();
                let start = end - new.len();
                (*item).start = start as u32;
                (*item).length = new.len() as u32;
                let to = (&raw mut (*board).deviations[block]).cast::<Deviation>();
                ptr::copy_nonoverlapping(new.as_ptr(), to.add(start), new.len());
                (*item).state.store(begun.to_bits(), Ordering::Release);
            }
        }
        // SAFETY: the board stays mapped.
        unsafe {
            (*board).numbers[block].store(round as u32, Ordering::Release);
            (*board).rest[block].store(count as u32, Ordering::Release);
            (*board).rounds.fetch_add(1, Ordering::Release);
            sys::futex_wake_shared(&(*board).rounds);
        }
    }

    /// Takes a schedule, unless a helper has run it; then, what that found and needs.
    pub(super) fn take(&self, place: Place) -> Option<(Found, &[Need])> {
        let item = self.item(place);
        // SAFETY: the board stays mapped.
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
                Stage::Found => return Some(self.found_by(state.helper, place)),
            }
        }
        None
    }

    /// For a helper: lets the processor fetch the schedule before this one, mostly the one
    /// that it runs next.
    pub(super) fn prefetch_before(&self, Place { block, number }: Place) {
        let Some(number) = number.checked_sub(1) else {
            return;
        };
        // SAFETY: the board stays mapped. What is written meanwhile is not used.
        let (start, length) = unsafe {
            let item = self.item(Place { block, number });
            ((*item).start as usize, (*item).length as usize)
        };
        for at in (start..start.saturating_add(length).min(DEVIATIONS)).step_by(PER_LINE) {
            // SAFETY: the board is mapped, and has so much room.
            prefetch(unsafe { &raw const (*self.board).deviations[block][at] });
        }
    }

    /// Lets the processor fetch what a helper has found about the schedules after this
    /// one, as far as is known; that of one that is soon taken over is told.
    pub(super) fn look_ahead(&self, place: Place) -> Option<(Found, &[Need])> {
        let (_, count) = self.shared[place.block];
        let last = count.min(ITEMS) - 1;
        let found = |ahead: usize| {
            let number = place.number + ahead;
            if number > last {
                return None;
            }
            let there = Place { number, ..place };
            // SAFETY: the board stays mapped.
            let state = unsafe { (*self.item(there)).state() };
            (state.stage == Stage::Found).then_some((state.helper, there))
        };
        if let Some((helper, there)) = found(FAR_AHEAD) {
            prefetch(self.found_at(helper, there));
        }
        if let Some((helper, there)) = found(AHEAD) {
            let (_, needs) = self.found_by(helper, there);
            prefetch(needs.as_ptr());
            prefetch(needs.as_ptr_range().end);
        }
        found(SOON).map(|(helper, there)| self.found_by(helper, there))
    }

    fn found_at(&self, helper: u8, Place { block, number }: Place) -> *const Found {
        // SAFETY: the board is mapped, and has so much room.
        unsafe { &raw const (*self.board).found[helper as usize][block][number] }
    }

    fn found_by(&self, helper: u8, place: Place) -> (Found, &[Need]) {
        let board = self.board;
        // SAFETY: the helper has written it, and leaves it alone until the block has
        // another round.
        unsafe {
            let found = *self.found_at(helper, place);
            let needs = &raw const (*board).needs[helper as usize][place.block];
            let first = needs.cast::<Need>().add(found.start as usize);
            (
                found,
                core::slice::from_raw_parts(first, found.length as usize),
            )
        }
    }
}
