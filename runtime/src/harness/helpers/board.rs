//! The memory that an explorer and its helpers share, and the explorer's part in it.

use core::ptr;
use core::sync::atomic::{AtomicU32, Ordering};
use std::time::{Duration, Instant};

use super::super::process;
use crate::platform::memory::{EngineVec, engine_vec};
use crate::platform::sys;
use crate::search::{Deviation, Icb, Need};

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
/// How long the explorer waits for a helper before it goes on alone.
pub(super) const PATIENCE: Duration = Duration::from_secs(2);
/// How often it looks whether the helper still lives.
pub(super) const LOOK_MS: u64 = 100;
/// Turns of a loop that are cheaper than going to sleep.
pub(super) const SPINS: u32 = 2000;

/// The explorer runs the schedule, or nobody has to.
pub(super) const TAKEN: u32 = 0;
/// Nobody runs it yet.
pub(super) const FREE: u32 = 1;
/// A helper does.
pub(super) const HELPED: u32 = 2;
/// A helper has run it, and this is what it found.
pub(super) const FOUND: u32 = 3;
/// A helper has run it, and the explorer has to.
pub(super) const UNUSUAL: u32 = 4;

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
    pub(super) state: AtomicU32,
    pub(super) round: u32,
    /// Where its deviations are.
    pub(super) start: u32,
    pub(super) length: u32,
    pub(super) found: Found,
}

/// What a helper has found.
#[derive(Clone, Copy)]
#[repr(C)]
pub(super) struct Found {
    pub(super) helper: u32,
    pub(super) start: u32,
    pub(super) length: u32,
    pub(super) has_finished: bool,
    pub(super) tasks: usize,
    pub(super) steps: u64,
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
    /// The explorer sleeps, on the number of schedules that helpers have run.
    pub(super) sleeps: AtomicU32,
    pub(super) done: AtomicU32,
    pub(super) items: [[Item; ITEMS]; BLOCKS],
    pub(super) deviations: [[Deviation; DEVIATIONS]; BLOCKS],
    pub(super) needs: [[[Need; NEEDS]; BLOCKS]; MOST],
}

/// The helpers of this explorer.
pub(in crate::harness) struct Helpers {
    /// How many there are.
    pub(super) count: usize,
    /// There are not to be any, or no more.
    pub(super) is_dismissed: bool,
    pub(super) board: *mut Board,
    /// The round in each block, and how many schedules it shares.
    pub(super) shared: [(u64, usize); BLOCKS],
    /// The newest round that the explorer has begun.
    pub(super) seen: u64,
    pub(super) buffer: EngineVec<Deviation>,
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
            buffer: engine_vec(),
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
        for number in 0..count {
            let start = self.buffer.len();
            search.list(is_ahead, number, &mut self.buffer);
            let item = self.item(Place { block, number });
            if self.buffer.len() > DEVIATIONS {
                // The explorer alone runs what there is no room for.
                self.buffer.truncate(start);
                // SAFETY: the board stays mapped.
                unsafe { (*item).state.store(TAKEN, Ordering::Release) };
                continue;
            }
            // SAFETY: helpers look at an item only while it is free.
            unsafe {
                (*item).round = round as u32;
                (*item).start = start as u32;
                (*item).length = (self.buffer.len() - start) as u32;
                let to = (&raw mut (*board).deviations[block]).cast::<Deviation>();
                let new = &self.buffer[start..];
                ptr::copy_nonoverlapping(new.as_ptr(), to.add(start), new.len());
                (*item).state.store(FREE, Ordering::Release);
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

    /// Waits for the helper that runs a schedule; whether it found something.
    pub(super) fn wait(&mut self, place: Place) -> bool {
        let item = self.item(place);
        // SAFETY: the board stays mapped.
        let (state, board) = unsafe { (&(*item).state, &raw const *self.board) };
        let is_over = || state.load(Ordering::SeqCst) > HELPED;
        for _ in 0..SPINS {
            if is_over() {
                break;
            }
            core::hint::spin_loop();
        }
        let start = Instant::now();
        while !is_over() {
            // SAFETY: the board stays mapped.
            unsafe {
                (*board).sleeps.store(1, Ordering::SeqCst);
                let done = (*board).done.load(Ordering::SeqCst);
                if !is_over() {
                    sys::futex_wait_shared(&(*board).done, done, LOOK_MS);
                }
                (*board).sleeps.store(0, Ordering::SeqCst);
            }
            if !is_over() && (start.elapsed() > PATIENCE || !self.all_live()) {
                self.dismiss();
                return false;
            }
        }
        state.load(Ordering::Acquire) == FOUND
    }

    fn all_live(&self) -> bool {
        // SAFETY: the board stays mapped.
        let processes = unsafe { &(&(*self.board).processes)[..self.count] };
        processes.iter().all(|process| {
            let process = process.load(Ordering::Relaxed);
            let handle = process::open_process(process.cast_signed());
            let has_ended = process::wait_for(handle, Duration::ZERO);
            // SAFETY: the descriptor is new.
            unsafe { sys::syscall(sys::number::CLOSE, [handle as usize, 0, 0, 0, 0, 0]) };
            handle >= 0 && !has_ended
        })
    }
}
