//! The state of a search on its way to the supervisor, and back into a run that goes on.
//!
//! About once a second the zygote wants the state. Between two executions the
//! explorer writes it down, if its strategy can, and goes on; the zygote puts it where the
//! supervisor finds it, in the file that standard input was, and says so in a line. A run
//! that goes on finds the last such state in the same place: a path in the request would
//! move what the program allocates after it.

use core::sync::atomic::{AtomicBool, Ordering, fence};
use std::io::{self, Write};
use std::time::{Duration, Instant};

use super::mailbox::Mailbox;
use super::request::Request;
use crate::platform::memory::{EngineVec, engine_vec};
use crate::search::Written;

/// Of the explorer's time, saving takes at most one part in so many.
const SHARE: u32 = 20;
/// And of the supervisor's.
const SHARE_OF_SUPERVISOR: u32 = 8;

/// The place in the engine's memory where explorer and zygote hand over states.
pub(crate) struct Saved {
    /// The zygote wants a state. The explorer answers, and takes it back.
    wanted: AtomicBool,
    /// There is a state. The zygote passes it on, and takes that back.
    ready: AtomicBool,
    /// Changed by the explorer while nothing is ready. It withdraws what it has lent of it.
    state: Written,
    /// Schedules explored up to the state.
    schedules: u64,
    /// How long it took to write it down.
    took: Duration,
    /// The state that this run goes on from; empty if there is none.
    earlier: EngineVec<u8>,
}

impl Saved {
    pub(crate) const fn new() -> Self {
        Self {
            wanted: AtomicBool::new(false),
            ready: AtomicBool::new(false),
            state: Written::new(),
            schedules: 0,
            took: Duration::ZERO,
            earlier: engine_vec(),
        }
    }

    /// For the explorer, between two executions: whether a state is wanted.
    #[inline]
    pub(super) fn is_wanted(&self) -> bool {
        self.wanted.load(Ordering::Relaxed)
    }

    /// For the explorer, where a state is wanted: room for it, empty.
    pub(super) fn take_room(&mut self) -> Written {
        let mut room = core::mem::replace(&mut self.state, Written::new());
        room.clear();
        room
    }

    /// For the explorer: the state that was wanted, if there is one, after so many
    /// schedules. It `took` so long to write it down.
    #[cold]
    pub(super) fn answer(&mut self, schedules: u64, state: Option<Written>, took: Duration) {
        self.wanted.store(false, Ordering::Relaxed);
        if let Some(state) = state {
            self.state = state;
            self.schedules = schedules;
            self.took = took;
            self.ready.store(true, Ordering::Release);
        }
    }

    /// For the explorer, whose search is no more: what it has lent is not of its state.
    pub(super) fn withdraw(&self) {
        self.ready.store(false, Ordering::Relaxed);
        // What is done to that memory now is seen later than this.
        fence(Ordering::Release);
    }

    /// For the explorer, before the first execution: takes the state to go on from.
    /// It is empty where there is none.
    pub(super) fn take_earlier(&mut self) -> EngineVec<u8> {
        core::mem::replace(&mut self.earlier, engine_vec())
    }

    /// For the zygote, before there is an explorer: reads what the supervisor has of
    /// an earlier run.
    pub(super) fn read_earlier(&mut self, mailbox: &Mailbox) {
        mailbox.take_state(&mut self.earlier);
    }
}

/// For the zygote: when the next state is wanted, and what to do with one.
pub(super) struct Passing {
    every: Duration,
    next: Option<Instant>,
    /// Since when a state waits for the supervisor to take it, and how long the explorer
    /// and we were about it.
    passed: Option<(Instant, Duration)>,
}

impl Passing {
    /// Never in a replay, nor where the supervisor does not ask for it.
    pub(super) fn new(request: &Request) -> Self {
        let every = Duration::from_millis(request.save_ms);
        let is_asked = request.save_ms > 0 && request.replay.is_none();
        Self {
            every,
            next: is_asked.then(|| Instant::now() + every),
            passed: None,
        }
    }

    /// Passes on the state that is ready, and asks for the next one in time.
    pub(super) fn look(
        &mut self,
        saved: &Saved,
        mailbox: &Mailbox,
        out: &mut impl Write,
    ) -> io::Result<()> {
        let Some(next) = self.next else {
            return Ok(());
        };
        if let Some((since, took)) = self.passed {
            if mailbox.has_state() {
                return Ok(());
            }
            self.passed = None;
            let pause = took * SHARE + since.elapsed() * SHARE_OF_SUPERVISOR;
            self.next = Some(since + self.every.max(pause));
        } else if saved.ready.load(Ordering::Acquire) {
            let start = Instant::now();
            let has_room = mailbox.put_state(&saved.state);
            // What was read is of the state if that was not withdrawn meanwhile.
            fence(Ordering::Acquire);
            if !has_room || !saved.ready.swap(false, Ordering::Relaxed) {
                mailbox.clear();
                // A larger one has no room, either.
                self.next = self.next.filter(|_| has_room);
                return Ok(());
            }
            self.passed = Some((start, saved.took + start.elapsed()));
            let schedules = saved.schedules;
            writeln!(out, "{{\"type\":\"state\",\"schedules\":{schedules}}}")?;
        } else if Instant::now() >= next {
            saved.wanted.store(true, Ordering::Relaxed);
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::harness::mailbox::tests::mailbox;

    const NO_TIME: Duration = Duration::ZERO;

    /// Passing as often as it can be.
    fn passing() -> Passing {
        Passing {
            every: NO_TIME,
            next: Some(Instant::now()),
            passed: None,
        }
    }

    /// What the explorer does between two executions: its state is one letter.
    fn offer(saved: &mut Saved, letter: u8, is_whole: bool) {
        if saved.is_wanted() {
            let mut state = saved.take_room();
            state.extend_from_slice(&[letter]);
            saved.answer(u64::from(letter - b'a'), is_whole.then_some(state), NO_TIME);
        }
    }

    #[test]
    fn a_state_is_written_down_when_it_is_wanted_and_passed_on_once() {
        let (mailbox, _file) = mailbox(b"");
        let (mut saved, mut passing, mut out) = (Saved::new(), passing(), Vec::new());
        let mut look = |saved: &Saved| {
            passing.look(saved, &mailbox, &mut out).unwrap();
            String::from_utf8(core::mem::take(&mut out)).unwrap()
        };
        offer(&mut saved, b'b', true);
        assert_eq!(look(&saved), "", "nothing was wanted before");
        offer(&mut saved, b'c', false);
        assert_eq!(look(&saved), "", "there is no state");
        offer(&mut saved, b'd', true);
        offer(&mut saved, b'e', true);
        assert_eq!(look(&saved), "{\"type\":\"state\",\"schedules\":3}\n");
        assert!(mailbox.has_state());
        offer(&mut saved, b'f', true);
        assert_eq!(look(&saved), "", "the supervisor has the last one still");
        let mut state = engine_vec();
        mailbox.take_state(&mut state);
        assert_eq!(state, b"d");
        assert_eq!(look(&saved), "");
        assert!(!saved.is_wanted(), "not before its time");
    }

    #[test]
    fn what_was_withdrawn_is_not_passed_on() {
        let (mailbox, _file) = mailbox(b"");
        let (mut saved, mut passing, mut out) = (Saved::new(), passing(), Vec::new());
        passing.look(&saved, &mailbox, &mut out).unwrap();
        offer(&mut saved, b'b', true);
        saved.withdraw();
        passing.look(&saved, &mailbox, &mut out).unwrap();
        assert!(saved.is_wanted() && out.is_empty() && !mailbox.has_state());
        offer(&mut saved, b'c', true);
        passing.look(&saved, &mailbox, &mut out).unwrap();
        assert!(!out.is_empty() && mailbox.has_state());
    }

    #[test]
    fn the_supervisor_has_time_for_other_things() {
        let (mailbox, _file) = mailbox(b"");
        let (mut saved, mut passing, mut out) = (Saved::new(), passing(), Vec::new());
        passing.look(&saved, &mailbox, &mut out).unwrap();
        offer(&mut saved, b'b', true);
        passing.look(&saved, &mailbox, &mut out).unwrap();
        let hour = Duration::from_hours(1);
        let since = Instant::now()
            .checked_sub(hour)
            .expect("a machine that is up");
        passing.passed = Some((since, NO_TIME));
        mailbox.clear();
        passing.look(&saved, &mailbox, &mut out).unwrap();
        let next = passing.next.expect("there will be another one");
        assert!(next > Instant::now() + hour * (SHARE_OF_SUPERVISOR - 2));
    }

    #[test]
    fn where_there_is_no_room_no_other_state_is_wanted() {
        let (mut saved, mut passing, mut out) = (Saved::new(), passing(), Vec::new());
        let closed = Mailbox::new();
        passing.look(&saved, &closed, &mut out).unwrap();
        offer(&mut saved, b'b', true);
        passing.look(&saved, &closed, &mut out).unwrap();
        assert!(passing.next.is_none() && out.is_empty());
    }
}
