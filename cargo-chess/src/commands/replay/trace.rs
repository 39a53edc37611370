//! `replay --trace`: prints the events of a replay while it runs.

use std::cell::RefCell;
use std::io::{self, Write};

use crate::protocol::Line;
use crate::report::Trace;
use crate::supervise::ReplayObserver;

/// Prints each event to standard error.
pub(super) struct Traced {
    color: bool,
    trace: RefCell<Trace>,
}

impl Traced {
    pub(super) fn new(color: bool) -> Self {
        Self {
            color,
            trace: RefCell::default(),
        }
    }
}

impl ReplayObserver for Traced {
    fn request(&self) -> String {
        "trace=1\n".to_owned()
    }

    fn observe(&self, line: Line) {
        let trace = &mut *self.trace.borrow_mut();
        let text = match line {
            Line::Event { number, what } => trace.event(number, &what),
            Line::Preemption(what) => trace.preemption(&what),
            Line::Panicked(what) => trace.panic(&what),
            _ => return,
        };
        let mut out = io::stderr().lock();
        // A closed standard error cannot be reported.
        let _ = if self.color {
            out.write_all(text.as_bytes())
        } else {
            write!(out, "{}", anstream::adapter::strip_str(&text))
        };
    }
}
