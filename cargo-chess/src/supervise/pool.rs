//! Runs several tests of a round at once, and reports their results in the round's order.
//!
//! The reports do not depend on the number of tests that run at once: a failing test ends the run
//! for the tests after it, never for those before it.

use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::mpsc::{RecvTimeoutError, Sender, channel};
use std::thread;
use std::time::Duration;

use super::cores::Cores;
use super::rounds::Look;
use super::test_process::{Advance, Verdict};
use crate::error::Result;
use crate::interrupt::Interrupt;

/// The time without a message after which [`Moment::Tick`] is reported.
const TICK: Duration = Duration::from_secs(1);

/// A test's turn in a round: the test is explored until it pauses or ends.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Turn {
    /// The test.
    pub(super) test: usize,
    /// Whether this is the last round, in which no test pauses. If so, the progress of the test
    /// can be reported during the turn.
    pub(super) is_last: bool,
}

/// The end of a test's turn.
pub(super) enum Done {
    /// The test paused, and a later round continues it. Contains the progress at the pause, and
    /// the verdict so far.
    Paused(Look, Box<Verdict>),
    /// The final verdict.
    Over(Box<Verdict>),
}

/// A report of the pool. All news about one test is consecutive, and the tests are in the round's
/// order.
#[derive(Debug)]
pub(super) enum News {
    /// The first news about the test.
    Started(usize),
    /// The test is being explored.
    Advanced(usize, Advance),
    /// The last news about the test, with its verdict.
    Finished(usize, Box<Verdict>),
    /// The test paused. This is the only news about the test in this round. Contains the progress
    /// at the pause, and the verdict so far.
    Paused(usize, Look, Box<Verdict>),
}

/// A change of the pool's state, reported without delay and in no fixed order.
#[derive(Clone, Debug)]
pub(super) enum Moment {
    /// A test begins.
    Begun(usize),
    /// The exploration of a test has advanced. Contains its progress.
    Advanced(usize, Advance),
    /// A test's turn has ended, and the test has no further turn. Contains the number of its
    /// schedules (0 if the turn failed or was stopped).
    Ended(usize, u64),
    /// A test's turn has ended with a pause, and the test waits for its next turn. Contains the
    /// number of its schedules.
    Paused(usize, u64),
    /// There was no message for [`TICK`].
    Tick,
}

/// Runs one turn of a test. The arguments are the index of the test, a function that returns
/// whether to stop, and a callback for the progress of the test. The result is `None` if the test
/// was stopped.
pub(super) type Work<'a> =
    &'a (dyn Fn(usize, &dyn Fn() -> bool, &mut dyn FnMut(Advance)) -> Result<Option<Done>> + Sync);

/// The receiver of the pool's reports.
pub(super) trait Listener {
    /// Receives news in the round's order. An error ends the run.
    fn news(&mut self, news: News) -> Result<()>;
    /// Receives a moment without delay.
    fn moment(&mut self, moment: Moment);
    /// Whether the run should end after this verdict.
    fn is_fatal(&self, verdict: &Verdict) -> bool;
}

enum Message {
    Begun(usize),
    Advanced(usize, Advance),
    Ended(usize, Result<Option<Done>>),
}

/// Runs `turns` in their order, as many at once as `cores` allows. After `is_over` has returned
/// true, no further turn begins. Returns whether the run continues with the next round: no verdict
/// was fatal, no interrupt was requested, and `is_over` returns false.
pub(super) fn run(
    turns: &[Turn],
    cores: &Cores,
    interrupt: &Interrupt,
    is_over: &(dyn Fn() -> bool + Sync),
    work: Work<'_>,
    listener: &mut dyn Listener,
) -> Result<bool> {
    let queue = Queue {
        turns,
        is_over,
        next: AtomicUsize::new(0),
        last: AtomicUsize::new(usize::MAX),
        abandoned: AtomicBool::new(false),
    };
    thread::scope(|scope| {
        let (sender, receiver) = channel();
        for _ in 0..cores.at_once() {
            let sender = sender.clone();
            let queue = &queue;
            scope.spawn(move || {
                worker(queue, interrupt, work, &sender);
                cores.leave();
            });
        }
        drop(sender);
        let mut order = Order::new(turns);
        let mut outcome = Ok(());
        loop {
            let message = match receiver.recv_timeout(TICK) {
                Ok(message) => message,
                Err(RecvTimeoutError::Timeout) => {
                    listener.moment(Moment::Tick);
                    continue;
                }
                Err(RecvTimeoutError::Disconnected) => break,
            };
            match &message {
                Message::Begun(place) => listener.moment(Moment::Begun(turns[*place].test)),
                Message::Advanced(place, advance) => {
                    listener.moment(Moment::Advanced(turns[*place].test, advance.clone()));
                }
                Message::Ended(place, result) => {
                    let test = turns[*place].test;
                    let schedules = |verdict: &Verdict| verdict.finished.counts.schedules;
                    let (moment, fatal) = match result {
                        Ok(Some(Done::Paused(_, so_far))) => {
                            (Moment::Paused(test, schedules(so_far)), false)
                        }
                        Ok(Some(Done::Over(verdict))) => {
                            let moment = Moment::Ended(test, schedules(verdict));
                            (moment, listener.is_fatal(verdict))
                        }
                        Ok(None) => (Moment::Ended(test, 0), false),
                        Err(_) => (Moment::Ended(test, 0), true),
                    };
                    listener.moment(moment);
                    if fatal {
                        queue.last.fetch_min(*place, Ordering::Relaxed);
                    }
                }
            }
            order.take(message);
            if outcome.is_ok() {
                outcome = order.report(queue.last(), false, listener);
                // The listener failed, so all tests stop.
                queue
                    .abandoned
                    .fetch_or(outcome.is_err(), Ordering::Relaxed);
            }
        }
        outcome?;
        order.report(queue.last(), true, listener)?;
        Ok(queue.last() == usize::MAX && !interrupt.requested() && !is_over())
    })
}

/// The state that the workers share.
struct Queue<'a> {
    turns: &'a [Turn],
    /// If this returns true, no further turn begins.
    is_over: &'a (dyn Fn() -> bool + Sync),
    /// The index in `turns` of the next turn to begin.
    next: AtomicUsize,
    /// The index of the turn that ends the run; `usize::MAX` if there is none. Later turns do not
    /// begin, or are stopped.
    last: AtomicUsize,
    /// Whether all turns are stopped.
    abandoned: AtomicBool,
}

impl Queue<'_> {
    fn last(&self) -> usize {
        self.last.load(Ordering::Relaxed)
    }
}

fn worker(queue: &Queue<'_>, interrupt: &Interrupt, work: Work<'_>, sender: &Sender<Message>) {
    loop {
        let place = queue.next.fetch_add(1, Ordering::Relaxed);
        let stop = || {
            interrupt.requested() || place > queue.last() || queue.abandoned.load(Ordering::Relaxed)
        };
        let Some(turn) = queue.turns.get(place) else {
            return;
        };
        if stop() || (queue.is_over)() {
            return;
        }
        // The receiver outlives the workers.
        let send = |message| drop(sender.send(message));
        send(Message::Begun(place));
        let result = work(turn.test, &stop, &mut |advance| {
            send(Message::Advanced(place, advance));
        });
        send(Message::Ended(place, result));
    }
}

/// Collects the messages of the workers, and reports the results in the order of the turns.
struct Order<'a> {
    turns: &'a [Turn],
    known: Vec<Known>,
    /// The index in `turns` of the next turn to report.
    next: usize,
}

#[derive(Default)]
struct Known {
    begun: bool,
    started: bool,
    advances: Vec<Advance>,
    result: Option<Result<Option<Done>>>,
}

impl<'a> Order<'a> {
    fn new(turns: &'a [Turn]) -> Self {
        let mut known = Vec::new();
        known.resize_with(turns.len(), Known::default);
        Self {
            turns,
            known,
            next: 0,
        }
    }

    fn take(&mut self, message: Message) {
        match message {
            Message::Begun(place) => self.known[place].begun = true,
            Message::Advanced(place, advance) => self.known[place].advances.push(advance),
            Message::Ended(place, result) => self.known[place].result = Some(result),
        }
    }

    /// Reports the results of the turns up to the one at `last`, in the order of the turns. Stops
    /// at the first turn without a result. If `all` is true, no more messages come, and turns
    /// without a result are skipped.
    fn report(&mut self, last: usize, all: bool, listener: &mut dyn Listener) -> Result<()> {
        while self.next < self.turns.len() && self.next <= last {
            let Turn { test, is_last } = self.turns[self.next];
            let known = &mut self.known[self.next];
            if all && !matches!(known.result, Some(Ok(Some(_)) | Err(_))) {
                self.next += 1;
                continue;
            }
            let is_known = match &known.result {
                None => known.begun && is_last,
                Some(Ok(None)) => false,
                Some(_) => true,
            };
            if !is_known {
                return Ok(());
            }
            if let Some(Ok(Some(Done::Paused(..)))) = &known.result {
                if let Some(Ok(Some(Done::Paused(look, so_far)))) = known.result.take() {
                    listener.news(News::Paused(test, look, so_far))?;
                }
                self.next += 1;
                continue;
            }
            if !known.started {
                known.started = true;
                listener.news(News::Started(test))?;
            }
            for advance in known.advances.drain(..) {
                listener.news(News::Advanced(test, advance))?;
            }
            match known.result.take() {
                Some(Ok(Some(Done::Over(verdict)))) => {
                    listener.news(News::Finished(test, verdict))?;
                }
                Some(Err(error)) => return Err(error),
                _ => return Ok(()),
            }
            self.next += 1;
        }
        Ok(())
    }
}
