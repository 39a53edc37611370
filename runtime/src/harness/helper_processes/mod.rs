//! Helpers: processes that explore one test together with the explorer.
//!
//! The findings of a schedule depend only on the schedule, so another process can run it. Helpers
//! are forked from the explorer, with their own copy of the engine's memory. They run the
//! schedules of a round of the explorer's search from the back, while the explorer runs them from
//! the front. The explorer takes over the findings of the helpers in the order of the round, as if
//! it had run the schedules itself. It runs a schedule again if its execution was unusual (a
//! failure, for instance), or if a helper has begun the schedule and not finished it in time. So
//! the results do not depend on the number of helpers, and the explorer does not wait for a helper
//! that has no core or has ended.
//!
//! Executions that run in parallel must not share a file or a port: the kernel ends a helper that
//! asks for anything beyond memory.

mod shared_memory;

use core::ptr;
use core::sync::atomic::Ordering;
use std::time::Instant;

pub(super) use self::shared_memory::Helpers;
use self::shared_memory::{
    BACKTRACK_POINTS, BLOCKS, DEVIATIONS, HelperResult, ITEMS, LEAST, LOOK_MS, MOST, PATIENCE,
    Place, STATES, SharedMemory, Stage, State, block_of,
};
use super::explore::{Explorer, end_schedule, groups_to_learn};
use super::process;
use super::run::{Root, set_strategy, strategy};
use super::work::{self, Counts};
use crate::base::{memory, sys};
use crate::platform::confine;
use crate::search::{BacktrackPoint, Deviation, Icb};

impl Explorer<'_> {
    /// Whether a helper has run the next schedule of the round. If so, takes over the helper's
    /// findings.
    pub(super) fn is_helped(&mut self, mut engine: Root) -> bool {
        if self.helpers.is_dismissed {
            return false;
        }
        let Some(search) = strategy(engine).as_icb() else {
            return false;
        };
        let (round, left) = search.round();
        let block = block_of(round);
        if self.helpers.seen != round {
            self.helpers.seen = round;
            self.share_rounds(engine, search);
        }
        let (of, shared) = self.helpers.shared[block];
        let number = shared.checked_sub(left + 1);
        let Some(number) = number.filter(|&number| of == round && number < ITEMS) else {
            return false;
        };
        let place = Place { block, number };
        let Some((found, backtrack_points)) = self.helpers.take(place) else {
            return false;
        };
        if let Some((next, backtrack_points)) = self.helpers.look_ahead(place) {
            engine.exploration.distinct.prefetch(next.graph);
            search.prefetch(backtrack_points);
        }
        search.learn(backtrack_points, found.possible);
        count(engine, &found);
        let states = self.helpers.states_of(place, &found);
        if let Some(is_new) = engine.exploration.covered.add_states(states) {
            strategy(engine).observe(is_new);
        }
        // If executions have their own processes, there are no helpers.
        let usual = engine.exploration.usual_work(false);
        self.count(engine, work::of(found.counts, usual));
        true
    }

    /// Lets helpers run schedules of the round that begins, and of the next round. A round with
    /// few schedules is not shared.
    fn share_rounds(&mut self, engine: Root, search: &Icb) {
        let ((round, left), ahead) = (search.round(), search.ahead());
        let is_shared = self.helpers.shared[block_of(round)].0 == round;
        if !is_shared && left >= LEAST && self.has_helpers(engine) {
            self.helpers.share(search, round, false, left);
        }
        if ahead >= LEAST && self.has_helpers(engine) {
            self.helpers.share(search, round + 1, true, ahead);
        }
    }

    /// Forks the missing helpers. Returns whether there are helpers. There is a helper for each
    /// core of this test, except for the core on which the explorer runs. The number of cores
    /// grows when other tests release cores.
    fn has_helpers(&mut self, engine: Root) -> bool {
        let wanted = engine
            .exploration
            .shared_file
            .cores()
            .saturating_sub(1)
            .min(MOST);
        while self.helpers.count < wanted && !self.helpers.is_dismissed {
            let number = self.helpers.count;
            if self.map_memory() && self.fork_helper(engine, number) {
                self.helpers.count += 1;
            } else {
                self.helpers.dismiss();
            }
        }
        self.helpers.count > 0
    }

    fn map_memory(&mut self) -> bool {
        if self.helpers.memory.is_null() {
            let memory = sys::map_shared(size_of::<SharedMemory>());
            #[expect(clippy::cast_ptr_alignment, reason = "a mapping begins with a page")]
            let memory = memory.cast::<SharedMemory>();
            self.helpers.memory = memory;
        }
        !self.helpers.memory.is_null()
    }

    /// Forks a helper. Returns whether the helper has its own copy of the engine's memory.
    fn fork_helper(&mut self, engine: Root, number: usize) -> bool {
        let (memory, zygote) = (self.helpers.memory, process::parent());
        // A bare fork, since the program can observe the fork of libc. The first child leaves the
        // second one to the zygote, so that no `wait` of the program returns it.
        let middle = sys::fork_bare();
        if middle == 0 {
            let middle = std::process::id();
            if sys::fork_bare() == 0 {
                if !memory::make_private() {
                    sys::exit_now(1);
                }
                process::leave_parent(middle, zygote);
                // SAFETY: the shared memory is mapped in this process as well.
                unsafe {
                    let process = std::process::id();
                    (*memory).processes[number].store(process, Ordering::Relaxed);
                    (*memory).ready.fetch_add(1, Ordering::Release);
                    sys::futex_wake_shared(&(*memory).ready);
                }
                self.help(engine, number);
            }
            sys::exit_now(0);
        }
        if middle < 0 {
            return false;
        }
        process::reap(middle as i32);
        // Until it is ready, the helper still shares this process' memory.
        let start = Instant::now();
        // SAFETY: the shared memory stays mapped.
        let ready = unsafe { &(*memory).ready };
        loop {
            let now = ready.load(Ordering::Acquire);
            if now > number as u32 {
                return true;
            }
            if start.elapsed() > PATIENCE {
                return false;
            }
            sys::futex_wait_shared(ready, now, LOOK_MS);
        }
    }

    /// The main loop of a helper, which runs schedules until the process is ended.
    fn help(&mut self, engine: Root, number: usize) -> ! {
        self.is_helper = true;
        let served = strategy(engine).as_icb();
        let bound = served.map_or(u32::MAX, |search| search.largest_bound());
        set_strategy(engine, Icb::new(bound, u64::MAX));
        if !confine::to_memory() {
            sys::exit_now(1);
        }
        let memory = self.helpers.memory;
        let mut seen = 0;
        let (mut used, mut used_in) = ([0; BLOCKS], [0; BLOCKS]);
        loop {
            // SAFETY: the shared memory stays mapped.
            let rounds = unsafe { &(*memory).rounds };
            while rounds.load(Ordering::Acquire) == seen {
                sys::futex_wait_shared(rounds, seen, LOOK_MS);
            }
            seen = rounds.load(Ordering::Acquire);
            while let Some((place, state)) = self.next_place(number) {
                let round = state.round;
                if round != used_in[place.block] {
                    // The explorer has taken over all earlier findings of this block.
                    (used[place.block], used_in[place.block]) = (0, round);
                }
                let used = &mut used[place.block];
                self.run_item(engine, place, state, used);
            }
        }
    }

    /// Takes a schedule that no process has begun, for the helper with this number: the last
    /// schedule of the older shared round or, if there is none, of the newer one.
    fn next_place(&self, helper: usize) -> Option<(Place, State)> {
        // SAFETY: the shared memory stays mapped.
        let numbers = unsafe { &(*self.helpers.memory).numbers };
        let [first, second] = [0, 1].map(|block: usize| numbers[block].load(Ordering::Acquire));
        let older = usize::from(second < first);
        let newest = || self.next_place_in(1 - older, helper);
        self.next_place_in(older, helper).or_else(newest)
    }

    fn next_place_in(&self, block: usize, helper: usize) -> Option<(Place, State)> {
        // SAFETY: the shared memory stays mapped.
        let rest = unsafe { &(*self.helpers.memory).rest[block] };
        loop {
            let less = |rest: u32| rest.checked_sub(1);
            let rest = rest.fetch_update(Ordering::AcqRel, Ordering::Acquire, less);
            let number = rest.ok()? as usize - 1;
            let place = Place { block, number };
            // SAFETY: as before.
            let item = unsafe { &*self.helpers.item(place) };
            let free = item.state();
            let ours = State {
                helper: helper as u8,
                stage: Stage::Helped,
                ..free
            };
            if free.stage == Stage::Free && item.change(free, ours) {
                return Some((place, ours));
            }
        }
    }

    /// Runs the schedule at `place`, and offers its findings to the explorer in the shared memory.
    /// Offers nothing if something unusual happened, if there is no room, or if the explorer has
    /// taken the schedule meanwhile.
    fn run_item(&mut self, mut engine: Root, place: Place, ours: State, used: &mut usize) {
        let (item, memory) = (self.helpers.item(place), self.helpers.memory);
        let Some(search) = strategy(engine).as_icb() else {
            return;
        };
        // SAFETY: the shared memory stays mapped. If the explorer has overwritten the values that
        // are read here, the state shows it.
        let item = unsafe { &*item };
        let (start, length) = (item.start as usize, item.length as usize);
        if start + length > DEVIATIONS {
            return;
        }
        // SAFETY: as before; the range is within the block.
        let deviations = unsafe {
            let first = (&raw const (*memory).deviations[place.block]).cast::<Deviation>();
            core::slice::from_raw_parts(first.add(start), length)
        };
        search.follow(deviations, ours.round);
        if item.state() != ours {
            return;
        }
        self.helpers.prefetch_before(place);
        let before = known(engine);
        let failure = self.run_once(engine);
        if failure.is_none() {
            engine.monitors.spins.learn();
        }
        let execution = &engine.execution;
        let fair_only = execution.schedule.is_fair_only;
        let misses_clock_reads = execution.files.misses_clock_reads;
        let is_usual = failure.is_none()
            && !execution.budget.past_limit
            && !execution.endless.is_met
            && execution.unmet_assumption.is_none()
            && execution.recording.observed.states().len() <= STATES
            && before == known(engine)
            && engine.monitors.races.given_up.is_none()
            && !engine.monitors.races.misses_late_effects()
            && !engine.monitors.races.has_news()
            && groups_to_learn(execution, &engine.monitors.races)
                .next()
                .is_none()
            && (!fair_only || engine.exploration.fair_only)
            && (!misses_clock_reads || engine.exploration.misses_clock_reads);
        engine.exploration.fair_only |= fair_only;
        engine.exploration.misses_clock_reads |= misses_clock_reads;
        let mut is_reported = false;
        if is_usual && !strategy(engine).diverged() {
            end_schedule(engine, true, false);
            is_reported = self.report(engine, place, ours, used);
        }
        let stage = if is_reported {
            Stage::HelperResult
        } else {
            Stage::Unusual
        };
        if item.change(ours, ours.at(stage)) && is_reported {
            search.note_reported();
        }
    }

    /// Writes the findings of the last execution to the shared memory, and adds the number of its
    /// backtrack points to `used`. Returns `false`, and writes nothing, if there is no room for
    /// them.
    fn report(&self, engine: Root, place: Place, state: State, used: &mut usize) -> bool {
        let (memory, helper) = (self.helpers.memory, state.helper as usize);
        let Some(search) = strategy(engine).as_icb() else {
            return false;
        };
        let (findings, execution) = (search.findings(), &engine.execution);
        let (start, length) = (*used, findings.backtrack_points.len());
        if start + length > BACKTRACK_POINTS {
            return false;
        }
        *used += length;
        let states = execution.recording.observed.states();
        // SAFETY: only this helper writes to this part of the shared memory.
        unsafe {
            let backtrack_points =
                (&raw mut (*memory).backtrack_points[helper][place.block]).cast::<BacktrackPoint>();
            ptr::copy_nonoverlapping(
                findings.backtrack_points.as_ptr(),
                backtrack_points.add(start),
                length,
            );
            let of_schedule = &mut (*memory).states[helper][place.block][place.number];
            of_schedule[..states.len()].copy_from_slice(states);
            (*memory).found[helper][place.block][place.number] = HelperResult {
                start: start as u32,
                length: length as u32,
                has_finished: execution.has_finished(),
                helper: state.helper,
                states: states.len() as u8,
                counts: Counts::of(execution),
                graph: execution.log.graph(),
                possible: findings.possible,
            };
        }
        true
    }
}

/// Numbers that change if an execution has findings that helpers do not send to the explorer: the
/// sizes of the collections to which an execution may add, and a flag that an execution may set.
fn known(engine: Root) -> [usize; 5] {
    let files = &engine.execution.policies.atomic_files;
    let (outside, spins) = (&engine.execution.outside, &engine.monitors.spins.known);
    let could_be_early = usize::from(engine.execution.could_be_early);
    let stale = engine.monitors.races.memory.stale.found.len();
    [
        files.len(),
        outside.len(),
        spins.len(),
        stale,
        could_be_early,
    ]
}

/// Counts a schedule that a helper has run.
fn count(mut engine: Root, found: &HelperResult) {
    if found.has_finished {
        let longest = engine.execution.budget.longest;
        engine.execution.budget.longest = longest.max(found.counts.steps);
    }
    engine.execution.pulse += 1;
    let exploration = &mut engine.exploration;
    exploration.executions += 1;
    exploration.steps += found.counts.steps;
    exploration.max_steps = exploration.max_steps.max(found.counts.steps);
    exploration.threads = exploration.threads.max(found.counts.tasks as usize);
    exploration.distinct.insert(found.graph);
}
