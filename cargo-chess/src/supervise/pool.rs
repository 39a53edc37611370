//! Several tests at once, their results in the plan's order.
//!
//! What is reported does not depend on how many run at once: a failing test ends
//! the run for those after it, never for those before it.

use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::mpsc::{Sender, channel};
use std::thread;

use super::cores::Cores;
use super::verdict::{Advance, Verdict};
use crate::error::Result;
use crate::interrupt::Interrupt;

/// What the pool tells, test by test in the plan's order.
#[derive(Debug)]
pub(super) enum News {
    /// Begins what is told about the test.
    Started(usize),
    /// The test is being explored.
    Advanced(usize, Advance),
    /// Ends it.
    Finished(usize, Box<Verdict>),
}

/// What the pool does at this moment, told as it happens.
#[derive(Clone, Debug)]
pub(super) enum Moment {
    /// A test begins.
    Begun(usize),
    /// A test is being explored.
    Advanced(usize, Advance),
    /// A test has ended.
    Ended(usize),
}

/// Does one test: its index, whether to stop, whom to tell of its progress.
pub(super) type Work<'a> = &'a (
        dyn Fn(usize, &dyn Fn() -> bool, &mut dyn FnMut(Advance)) -> Result<Option<Verdict>> + Sync
    );

/// Who is told.
pub(super) trait Listener {
    /// In the plan's order; an error ends the run.
    fn news(&mut self, news: News) -> Result<()>;
    /// As it happens.
    fn moment(&mut self, moment: Moment);
    /// Whether the run should end with this verdict.
    fn is_fatal(&self, verdict: &Verdict) -> bool;
}

enum Message {
    Begun(usize),
    Advanced(usize, Advance),
    Ended(usize, Box<Result<Option<Verdict>>>),
}

/// Runs tests `0..count`, as many at once as there are cores.
pub(super) fn run(
    count: usize,
    cores: &Cores,
    interrupt: &Interrupt,
    work: Work<'_>,
    listener: &mut dyn Listener,
) -> Result<()> {
    let queue = Queue {
        count,
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
        let mut order = Order::new(count);
        let mut outcome = Ok(());
        for message in receiver {
            match &message {
                Message::Begun(test) => listener.moment(Moment::Begun(*test)),
                Message::Advanced(test, advance) => {
                    listener.moment(Moment::Advanced(*test, advance.clone()));
                }
                Message::Ended(test, result) => {
                    listener.moment(Moment::Ended(*test));
                    let fatal = match &**result {
                        Ok(Some(verdict)) => listener.is_fatal(verdict),
                        Ok(None) => false,
                        Err(_) => true,
                    };
                    if fatal {
                        queue.last.fetch_min(*test, Ordering::Relaxed);
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
        order.tell(queue.last(), true, listener)
    })
}

/// What the workers share.
struct Queue {
    count: usize,
    next: AtomicUsize,
    /// Tests after this one are not run, or stopped.
    last: AtomicUsize,
    /// All tests are stopped.
    abandoned: AtomicBool,
}

impl Queue {
    fn last(&self) -> usize {
        self.last.load(Ordering::Relaxed)
    }
}

fn worker(queue: &Queue, interrupt: &Interrupt, work: Work<'_>, sender: &Sender<Message>) {
    loop {
        let test = queue.next.fetch_add(1, Ordering::Relaxed);
        let stop = || {
            interrupt.requested() || test > queue.last() || queue.abandoned.load(Ordering::Relaxed)
        };
        if test >= queue.count || stop() {
            return;
        }
        // The receiver outlives the workers.
        let tell = |message| drop(sender.send(message));
        tell(Message::Begun(test));
        let result = work(test, &stop, &mut |advance| {
            tell(Message::Advanced(test, advance));
        });
        tell(Message::Ended(test, Box::new(result)));
    }
}

/// What is known of each test and not told yet.
struct Order {
    tests: Vec<Known>,
    /// The test whose turn it is.
    turn: usize,
}

#[derive(Default)]
struct Known {
    begun: bool,
    started: bool,
    advances: Vec<Advance>,
    result: Option<Result<Option<Verdict>>>,
}

impl Order {
    fn new(count: usize) -> Self {
        let mut tests = Vec::new();
        tests.resize_with(count, Known::default);
        Self { tests, turn: 0 }
    }

    fn take(&mut self, message: Message) {
        match message {
            Message::Begun(test) => self.tests[test].begun = true,
            Message::Advanced(test, advance) => self.tests[test].advances.push(advance),
            Message::Ended(test, result) => self.tests[test].result = Some(*result),
        }
    }

    /// Tells what can be told up to the test `last`. With `all`, nothing more
    /// comes: tests without a verdict are passed over.
    fn tell(&mut self, last: usize, all: bool, listener: &mut dyn Listener) -> Result<()> {
        while self.turn < self.tests.len() && self.turn <= last {
            let turn = self.turn;
            let test = &mut self.tests[turn];
            if all && !matches!(test.result, Some(Ok(Some(_)) | Err(_))) {
                self.turn += 1;
                continue;
            }
            let is_stopped = matches!(test.result, Some(Ok(None)));
            if !test.begun || is_stopped {
                return Ok(());
            }
            if !test.started {
                test.started = true;
                listener.news(News::Started(turn))?;
            }
            for advance in test.advances.drain(..) {
                listener.news(News::Advanced(turn, advance))?;
            }
            match test.result.take() {
                None | Some(Ok(None)) => return Ok(()),
                Some(Ok(Some(verdict))) => {
                    listener.news(News::Finished(turn, Box::new(verdict)))?;
                }
                Some(Err(error)) => return Err(error),
            }
            self.turn += 1;
        }
        Ok(())
    }
}
