//! The handover of checkpoints (states of a search) from the explorer to the supervisor, and from
//! the supervisor to a later run (`--resume`).
//!
//! The zygote (the process that forks the explorer) requests a state about once a second. Between
//! two executions the explorer writes the state to memory, if its strategy can be saved, and
//! continues. The zygote copies the state into the file that was its standard input, and prints a
//! line to report this to the supervisor. A later run finds the last state in the same file. The
//! request does not contain the path of a file with the state: the addresses of the program's
//! allocations would depend on the length of this path.
//!
//! A search that pauses after an amount of [work](super::work) leaves its last state in memory.
//! The zygote passes this state on in the same way, after the end of the explorer.

use core::sync::atomic::{AtomicBool, Ordering, fence};
use std::io::{self, Write};
use std::time::{Duration, Instant};

use super::request::Request;
use super::shared_file::SharedFile;
use crate::base::checkpoint::Checkpoint;
use crate::base::memory::{EngineVec, engine_vec};

/// Saving takes at most this fraction (1 / `SHARE`) of the explorer's time.
const SHARE: u32 = 20;
/// Saving takes at most 1 / `SHARE_OF_SUPERVISOR` of the supervisor's time.
const SHARE_OF_SUPERVISOR: u32 = 8;
/// The interval at which the zygote checks whether the supervisor has stored a state.
const NAP: Duration = Duration::from_millis(1);

/// The place in the engine's memory where the explorer hands states to the zygote.
pub(crate) struct CheckpointHandover {
    /// Whether the zygote requests a state. The explorer clears this flag when it answers.
    wanted: AtomicBool,
    /// Whether `state` is ready for the zygote. The zygote clears this flag when it has copied the
    /// state.
    ready: AtomicBool,
    /// The state. The explorer changes it only while `ready` is not set. A part of the state is
    /// memory of the search: the explorer withdraws the state before this memory changes.
    state: Checkpoint,
    /// The number of schedules that were explored before `state` was written.
    schedules: u64,
    /// The time that the explorer took to write `state`.
    took: Duration,
    /// The state at which the search pauses. It is separate from `state`, which the zygote may be
    /// reading at the pause.
    pub(super) last: Option<Checkpoint>,
    /// The state from which this run continues; empty if there is none.
    earlier: EngineVec<u8>,
}

impl CheckpointHandover {
    pub(crate) const fn new() -> Self {
        Self {
            wanted: AtomicBool::new(false),
            ready: AtomicBool::new(false),
            state: Checkpoint::new(),
            schedules: 0,
            took: Duration::ZERO,
            last: None,
            earlier: engine_vec(),
        }
    }

    /// For the zygote, after the explorer's end: passes the state at the pause of the search on to
    /// the supervisor. Waits before that until the supervisor has stored the previous state.
    /// Returns `false` if there is no state at a pause, or no room for it in the file.
    pub(super) fn pass_last(
        &self,
        schedules: u64,
        shared_file: &SharedFile,
        out: &mut impl Write,
    ) -> io::Result<bool> {
        let Some(state) = &self.last else {
            return Ok(false);
        };
        // This process ends with the supervisor, so the loop ends even if the supervisor stores
        // nothing.
        while shared_file.has_state() {
            std::thread::sleep(NAP);
        }
        if !shared_file.put_state(state) {
            shared_file.clear();
            return Ok(false);
        }
        writeln!(out, "{{\"type\":\"state\",\"schedules\":{schedules}}}")?;
        Ok(true)
    }

    /// For the explorer, between two executions: whether a state is requested.
    #[inline]
    pub(super) fn is_wanted(&self) -> bool {
        self.wanted.load(Ordering::Relaxed)
    }

    /// For the explorer, if a state is requested: takes an empty buffer for the state.
    pub(super) fn take_room(&mut self) -> Checkpoint {
        let mut room = core::mem::replace(&mut self.state, Checkpoint::new());
        room.clear();
        room
    }

    /// For the explorer: answers a request. `state` is the requested state; `None` if the search
    /// cannot be saved. `schedules` is the number of schedules up to the state, and `took` the
    /// time that writing it took.
    #[cold]
    pub(super) fn answer(&mut self, schedules: u64, state: Option<Checkpoint>, took: Duration) {
        self.wanted.store(false, Ordering::Relaxed);
        if let Some(state) = state {
            self.state = state;
            self.schedules = schedules;
            self.took = took;
            self.ready.store(true, Ordering::Release);
        }
    }

    /// For the explorer: withdraws the state. A part of the state is memory of the search, which
    /// may change from now on.
    pub(super) fn withdraw(&self) {
        self.ready.store(false, Ordering::Relaxed);
        // The zygote sees this store if it sees a later change of this memory.
        fence(Ordering::Release);
    }

    /// For the explorer, before the first execution: takes the state from which this run
    /// continues. The result is empty if there is no such state.
    pub(super) fn take_earlier(&mut self) -> EngineVec<u8> {
        core::mem::replace(&mut self.earlier, engine_vec())
    }

    /// For the zygote, before the explorer exists: reads the state of an earlier run from the
    /// supervisor.
    pub(super) fn read_earlier(&mut self, shared_file: &SharedFile) {
        shared_file.take_state(&mut self.earlier);
    }
}

/// The zygote's part of the handover: the time of its next request, and the state that it passed
/// to the supervisor last.
pub(super) struct Passing {
    every: Duration,
    next: Option<Instant>,
    /// The time at which the last state was passed to the supervisor, and the time that the
    /// explorer and the zygote took to write this state. `None` if the supervisor has stored all
    /// passed states.
    passed: Option<(Instant, Duration)>,
}

impl Passing {
    /// Sets the time of the first request. There is no request in a replay, or if the supervisor
    /// does not ask for states.
    pub(super) fn new(request: &Request) -> Self {
        let every = Duration::from_millis(request.save_ms);
        let is_asked = request.save_ms > 0 && request.replay.is_none();
        Self {
            every,
            next: is_asked.then(|| Instant::now() + every),
            passed: None,
        }
    }

    /// Passes a ready state on to the supervisor, or requests the next state when its time has
    /// come. Does neither while the supervisor has not stored the previous state.
    pub(super) fn look(
        &mut self,
        handover: &CheckpointHandover,
        shared_file: &SharedFile,
        out: &mut impl Write,
    ) -> io::Result<()> {
        let Some(next) = self.next else {
            return Ok(());
        };
        if let Some((since, took)) = self.passed {
            if shared_file.has_state() {
                return Ok(());
            }
            self.passed = None;
            let pause = took * SHARE + since.elapsed() * SHARE_OF_SUPERVISOR;
            self.next = Some(since + self.every.max(pause));
        } else if handover.ready.load(Ordering::Acquire) {
            let start = Instant::now();
            let has_room = shared_file.put_state(&handover.state);
            // The copied bytes are the state only if the explorer has not withdrawn the state
            // meanwhile.
            fence(Ordering::Acquire);
            if !has_room || !handover.ready.swap(false, Ordering::Relaxed) {
                shared_file.clear();
                // There is no room for the later states either, because they are larger.
                self.next = self.next.filter(|_| has_room);
                return Ok(());
            }
            self.passed = Some((start, handover.took + start.elapsed()));
            let schedules = handover.schedules;
            writeln!(out, "{{\"type\":\"state\",\"schedules\":{schedules}}}")?;
        } else if Instant::now() >= next {
            handover.wanted.store(true, Ordering::Relaxed);
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use std::fs::File;

    use super::*;
    use crate::harness::shared_file::tests::shared_file;

    const NO_TIME: Duration = Duration::ZERO;

    /// The memory that an explorer and a zygote share. The zygote requests states as often as it
    /// can.
    struct Both {
        shared_file: SharedFile,
        _file: File,
        handover: CheckpointHandover,
        passing: Passing,
    }

    impl Both {
        fn new() -> Self {
            let (shared_file, file) = shared_file(b"");
            let passing = Passing {
                every: NO_TIME,
                next: Some(Instant::now()),
                passed: None,
            };
            Self {
                shared_file,
                _file: file,
                handover: CheckpointHandover::new(),
                passing,
            }
        }

        /// The explorer's part between two executions: its state is one letter.
        fn offer(&mut self, letter: u8, is_whole: bool) {
            if self.handover.is_wanted() {
                let mut state = self.handover.take_room();
                state.extend_from_slice(&[letter]);
                let state = is_whole.then_some(state);
                self.handover
                    .answer(u64::from(letter - b'a'), state, NO_TIME);
            }
        }

        /// The zygote's part, with its output.
        fn look(&mut self) -> String {
            let mut out = Vec::new();
            let looked = self
                .passing
                .look(&self.handover, &self.shared_file, &mut out);
            looked.unwrap();
            String::from_utf8(out).unwrap()
        }
    }

    #[test]
    fn a_state_is_written_down_when_it_is_wanted_and_passed_on_once() {
        let mut both = Both::new();
        both.offer(b'b', true);
        assert_eq!(both.look(), "", "nothing was wanted before");
        both.offer(b'c', false);
        assert_eq!(both.look(), "", "there is no state");
        both.offer(b'd', true);
        both.offer(b'e', true);
        assert_eq!(both.look(), "{\"type\":\"state\",\"schedules\":3}\n");
        assert!(both.shared_file.has_state());
        both.offer(b'f', true);
        assert_eq!(both.look(), "", "the supervisor has the last one still");
        let mut state = engine_vec();
        both.shared_file.take_state(&mut state);
        assert_eq!(state, b"d");
        assert_eq!(both.look(), "");
        assert!(!both.handover.is_wanted(), "not before its time");
    }

    #[test]
    fn a_withdrawn_checkpoint_is_not_passed_on() {
        let mut both = Both::new();
        both.look();
        both.offer(b'b', true);
        both.handover.withdraw();
        assert_eq!(both.look(), "");
        assert!(both.handover.is_wanted() && !both.shared_file.has_state());
        both.offer(b'c', true);
        assert_ne!(both.look(), "");
        assert!(both.shared_file.has_state());
    }

    #[test]
    fn the_supervisor_has_time_for_other_things() {
        let mut both = Both::new();
        both.look();
        both.offer(b'b', true);
        both.look();
        let (hour, now) = (Duration::from_hours(1), Instant::now());
        let since = now.checked_sub(hour).expect("a time before this one");
        both.passing.passed = Some((since, NO_TIME));
        both.shared_file.clear();
        both.look();
        let next = both.passing.next.expect("there will be another one");
        assert!(next >= since + hour * SHARE_OF_SUPERVISOR);
    }

    #[test]
    fn where_there_is_no_room_no_other_state_is_wanted() {
        let mut both = Both::new();
        both.shared_file = SharedFile::new();
        both.look();
        both.offer(b'b', true);
        assert_eq!(both.look(), "");
        assert!(both.passing.next.is_none());
    }
}
