//! The state of a search on its way to the supervisor, and back into a run that goes on.
//!
//! About once a second the zygote wants the state. Between two executions the
//! explorer writes it down, if its strategy can, and goes on; the zygote passes it on
//! as one line. A run that goes on finds the last such state on standard input: a
//! path in the request would move what the program allocates after it.

use core::sync::atomic::{AtomicBool, Ordering};
use std::io::{self, Write};
use std::time::{Duration, Instant};

use super::cores::Cores;
use super::request::Request;
use crate::platform::memory::{EngineVec, engine_vec};

/// Of the explorer's time, saving takes at most one part in so many.
const SHARE: u32 = 20;

/// The place in the engine's memory where explorer and zygote hand over states.
pub(crate) struct Saved {
    /// The zygote wants a state. The explorer answers, and takes it back.
    wanted: AtomicBool,
    /// There is a state. The zygote passes it on, and takes that back.
    ready: AtomicBool,
    /// Changed by the explorer while nothing is ready.
    state: EngineVec<u8>,
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
            state: engine_vec(),
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

    /// For the explorer: the state that was wanted, if there is one, after so many
    /// schedules. It `took` so long to write it down.
    #[cold]
    pub(super) fn answer(&mut self, schedules: u64, state: Option<EngineVec<u8>>, took: Duration) {
        self.wanted.store(false, Ordering::Relaxed);
        if let Some(state) = state {
            self.state = state;
            self.schedules = schedules;
            self.took = took;
            self.ready.store(true, Ordering::Release);
        }
    }

    /// For the explorer, before the first execution: takes the state to go on from.
    /// It is empty where there is none.
    pub(super) fn take_earlier(&mut self) -> EngineVec<u8> {
        core::mem::replace(&mut self.earlier, engine_vec())
    }

    /// For the zygote, before there is an explorer: reads what the supervisor has of
    /// an earlier run.
    pub(super) fn read_earlier(&mut self, cores: &Cores) {
        cores.read_rest(&mut self.earlier);
    }
}

/// For the zygote: when the next state is wanted, and what to do with one.
pub(super) struct Passing {
    every: Duration,
    next: Option<Instant>,
}

impl Passing {
    /// Never in a replay, nor where the supervisor does not ask for it.
    pub(super) fn new(request: &Request) -> Self {
        let every = Duration::from_millis(request.save_ms);
        let is_asked = request.save_ms > 0 && request.replay.is_none();
        Self {
            every,
            next: is_asked.then(|| Instant::now() + every),
        }
    }

    /// Passes on the state that is ready, and asks for the next one in time.
    pub(super) fn look(&mut self, saved: &Saved, out: &mut impl Write) -> io::Result<()> {
        let Some(next) = self.next else {
            return Ok(());
        };
        if saved.ready.load(Ordering::Acquire) {
            let start = Instant::now();
            line(saved.schedules, &saved.state, out)?;
            let took = saved.took + start.elapsed();
            saved.ready.store(false, Ordering::Release);
            self.next = Some(Instant::now() + self.every.max(took * SHARE));
        } else if Instant::now() >= next {
            saved.wanted.store(true, Ordering::Relaxed);
        }
        Ok(())
    }
}

/// Writes the line that tells of a state, and allocates nothing: it may be long.
fn line(schedules: u64, state: &[u8], out: &mut impl Write) -> io::Result<()> {
    const GROUPS: usize = 1024;
    write!(
        out,
        "{{\"type\":\"state\",\"schedules\":{schedules},\"state\":\""
    )?;
    let mut text = [0u8; 4 * GROUPS];
    for part in state.chunks(3 * GROUPS) {
        let mut length = 0;
        for group in part.chunks(3) {
            text[length..length + 4].copy_from_slice(&base64(group));
            length += 4;
        }
        out.write_all(&text[..length])?;
    }
    out.write_all(b"\"}\n")
}

/// Four characters for one to three bytes.
fn base64(group: &[u8]) -> [u8; 4] {
    const ALPHABET: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let byte = |index: usize| u32::from(group.get(index).copied().unwrap_or(0));
    let bits = byte(0) << 16 | byte(1) << 8 | byte(2);
    let mut text = [b'='; 4];
    for (place, letter) in text.iter_mut().enumerate().take(group.len() + 1) {
        *letter = ALPHABET[(bits >> (18 - 6 * place)) as usize & 63];
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    fn told(state: &[u8]) -> String {
        let mut out = Vec::new();
        line(7, state, &mut out).unwrap();
        String::from_utf8(out).unwrap()
    }

    #[test]
    fn a_state_is_told_in_one_line() {
        let text =
            |state| told(state).replace("{\"type\":\"state\",\"schedules\":7,\"state\":", "");
        assert_eq!(text(b""), "\"\"}\n");
        assert_eq!(text(b"f"), "\"Zg==\"}\n");
        assert_eq!(text(b"fo"), "\"Zm8=\"}\n");
        assert_eq!(text(b"foobar"), "\"Zm9vYmFy\"}\n");
        let long = told(&[0xff; 10_000]);
        assert_eq!(long.matches('/').count(), 10_000 * 8 / 6);
    }

    #[test]
    fn a_state_is_written_down_when_it_is_wanted_and_passed_on_once() {
        let mut saved = Saved::new();
        let mut passing = Passing {
            every: Duration::ZERO,
            next: Some(Instant::now()),
        };
        let mut out = Vec::new();
        let offer = |saved: &mut Saved, schedules, is_whole: bool| {
            if saved.is_wanted() {
                let mut state = engine_vec();
                state.push(b'f');
                saved.answer(schedules, is_whole.then_some(state), Duration::ZERO);
            }
        };
        offer(&mut saved, 1, true);
        passing.look(&saved, &mut out).unwrap();
        assert!(out.is_empty(), "nothing was wanted before");
        offer(&mut saved, 2, false);
        passing.look(&saved, &mut out).unwrap();
        assert!(out.is_empty(), "there is no state");
        offer(&mut saved, 3, true);
        offer(&mut saved, 4, true);
        passing.look(&saved, &mut out).unwrap();
        let line = String::from_utf8(core::mem::take(&mut out)).unwrap();
        assert_eq!(line, told(b"f").replace(":7,", ":3,"));
        offer(&mut saved, 5, true);
        passing.next = None;
        passing.look(&saved, &mut out).unwrap();
        assert!(out.is_empty(), "nobody asks any more");
    }
}
