//! Several tests of a round at once, their results in the round's order.
//!
//! What is reported does not depend on how many run at once: a failing test ends
//! the run for those after it, never for those before it.

use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::mpsc::{RecvTimeoutError, Sender, channel};
use std::thread;
use std::time::Duration;

use super::cores::Cores;
use super::rounds::Look;
use super::verdict::{Advance, Verdict};
use crate::error::Result;
use crate::interrupt::Interrupt;

/// How often the listener hears that time goes by.
const TICK: Duration = Duration::from_secs(1);

/// A test's turn in a round.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Turn {
    /// The test.
    pub(super) test: usize,
    /// Whether it is not going to pause: what is known of it can be told at once.
    pub(super) is_last: bool,
}

/// How a test's turn ended.
pub(super) enum Done {
    /// There is more to explore in a later round; the verdict so far.
    Paused(Look, Box<Verdict>),
    /// This is the verdict.
    Over(Box<Verdict>),
}

/// What the pool tells, test by test in the round's order.
#[derive(Debug)]
pub(super) enum News {
    /// Begins what is told about the test.
    Started(usize),
    /// The test is being explored.
    Advanced(usize, Advance),
    /// Ends it.
    Finished(usize, Box<Verdict>),
    /// Nothing is told about the test yet.
    Paused(usize, Look, Box<Verdict>),
}

/// What the pool does at this moment, told as it happens.
#[derive(Clone, Debug)]
pub(super) enum Moment {
    /// A test begins.
    Begun(usize),
    /// A test is being explored.
    Advanced(usize, Advance),
    /// A test's turn has ended after so many schedules: its verdict is known.
    Ended(usize, u64),
    /// A test's turn has ended after so many schedules: it waits for its next one.
    Paused(usize, u64),
    /// Nothing has happened for a while.
    Tick,
}

/// Does one test: its index, whether to stop, whom to tell of its progress.
pub(super) type Work<'a> =
    &'a (dyn Fn(usize, &dyn Fn() -> bool, &mut dyn FnMut(Advance)) -> Result<Option<Done>> + Sync);

/// Who is told.
pub(super) trait Listener {
    /// In the round's order; an error ends the run.
    fn news(&mut self, news: News) -> Result<()>;
    /// As it happens.
    fn moment(&mut self, moment: Moment);
    /// Whether the run should end with this verdict.
    fn is_fatal(&self, verdict: &Verdict) -> bool;
}

enum Message {
    Begun(usize),
    Advanced(usize, Advance),
    Ended(usize, Result<Option<Done>>),
}

/// Gives each of `turns` its turn, as many at once as there are cores, unless `is_over` says
/// that none begins any more; whether the run goes on.
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
                    let schedules = |verdict: &Verdict| verdict.finished.schedules;
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
                outcome = order.tell(queue.last(), false, listener);
                // Nobody listens any more: everything stops.
                queue
                    .abandoned
                    .fetch_or(outcome.is_err(), Ordering::Relaxed);
            }
        }
        outcome?;
        order.tell(queue.last(), true, listener)?;
        Ok(queue.last() == usize::MAX && !interrupt.requested() && !is_over())
    })
}

/// What the workers share.
struct Queue<'a> {
    turns: &'a [Turn],
    /// Whether no turn begins any more.
    is_over: &'a (dyn Fn() -> bool + Sync),
    /// The place of the next turn.
    next: AtomicUsize,
    /// Turns after this one do not begin, or are stopped.
    last: AtomicUsize,
    /// All are stopped.
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
        let tell = |message| drop(sender.send(message));
        tell(Message::Begun(place));
        let result = work(turn.test, &stop, &mut |advance| {
            tell(Message::Advanced(place, advance));
        });
        tell(Message::Ended(place, result));
    }
}

/// What is known of each turn and not told yet.
struct Order<'a> {
    turns: &'a [Turn],
    known: Vec<Known>,
    /// The place of the turn that is told of next.
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

    /// Tells what can be told up to the turn at `last`. With `all`, nothing more
    /// comes: tests without a verdict are passed over.
    fn tell(&mut self, last: usize, all: bool, listener: &mut dyn Listener) -> Result<()> {
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
