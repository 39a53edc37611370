//! Histories: the calls of a scenario with their results, and their order in time.

use std::panic::Location;
use std::sync::Arc;
use std::thread;

use super::scenario::Scenario;
use super::Call;
use crate::plain;

/// A call that has returned.
#[derive(Clone, Debug)]
pub(super) struct Done {
    /// The index in the list of all calls.
    pub(super) call: usize,
    /// The thread; `None` for calls before the threads began, or after they had ended.
    pub(super) thread: Option<usize>,
    /// The times of its start and its end.
    pub(super) start: u64,
    pub(super) end: u64,
    /// The result in words.
    pub(super) result: String,
}

impl Done {
    /// Whether it had returned when `other` began.
    pub(super) fn precedes(&self, other: &Self) -> bool {
        self.end < other.start
    }
}

/// The common part of the threads of a scenario.
struct Run<T> {
    object: T,
    calls: Arc<Vec<Call<T>>>,
    history: usize,
    site: &'static Location<'static>,
}

impl<T> Run<T> {
    /// Makes these calls one after another.
    fn program(&self, thread: Option<usize>, program: &[usize]) -> Vec<Done> {
        let make = |&call: &usize| {
            let start = plain::note(self.history, false, self.site);
            let result = (self.calls[call].run)(&self.object);
            Done {
                call,
                thread,
                start,
                end: plain::note(self.history, true, self.site),
                result,
            }
        };
        program.iter().map(make).collect()
    }
}

/// The calls of a history, in the order of their starts.
pub(super) struct History(pub(super) Vec<Done>);

impl History {
    /// Runs a scenario on an object that `new` returns.
    // Loops, not closures: the operations on threads are those of the caller's line.
    #[track_caller]
    pub(super) fn run<T: Send + Sync + 'static>(
        scenario: &Scenario,
        calls: &Arc<Vec<Call<T>>>,
        new: &dyn Fn() -> T,
    ) -> Self {
        // Its address identifies the history.
        let place = Box::new(0_u8);
        let run = Arc::new(Run {
            object: new(),
            calls: Arc::clone(calls),
            history: std::ptr::addr_of!(*place) as usize,
            site: Location::caller(),
        });
        let mut all = run.program(None, &scenario.before);
        let mut threads = Vec::new();
        for (thread, program) in scenario.threads.iter().enumerate() {
            let (run, program) = (Arc::clone(&run), program.clone());
            threads.push(thread::spawn(move || {
                let done = run.program(Some(thread), &program);
                // It is dropped by one thread: otherwise the order of drops would matter.
                (run, done)
            }));
        }
        for thread in threads {
            let (_run, done) = thread.join().expect("panics are caught");
            all.extend(done);
        }
        all.extend(run.program(None, &scenario.after));
        all.sort_by_key(|done| done.start);
        Self(all)
    }

    /// The history as a table with a column for each thread: a row for each start and end, in order.
    pub(super) fn table<T>(&self, calls: &[Call<T>]) -> String {
        let threads = self.0.iter().filter_map(|done| done.thread).max();
        let columns = 1 + threads.map_or(0, |last| last + 1);
        let column = |done: &Done| done.thread.map_or(0, |thread| thread + 1);
        let mut rows: Vec<(u64, usize, String)> = Vec::new();
        for done in &self.0 {
            let name = &calls[done.call].name;
            let (whole, start, end) = (
                format!("{} = {}", name, done.result),
                format!("{name} begins"),
                format!("{} = {}", name, done.result),
            );
            let overlaps = self.0.iter().any(|other| {
                other.start != done.start && !other.precedes(done) && !done.precedes(other)
            });
            if overlaps {
                rows.push((done.start, column(done), start));
                rows.push((done.end, column(done), end));
            } else {
                rows.push((done.start, column(done), whole));
            }
        }
        rows.sort();
        let heading = |column: usize| match column {
            0 => "alone".to_owned(),
            thread => format!("thread {thread}"),
        };
        let widths: Vec<usize> = (0..columns)
            .map(|column| {
                let own = rows.iter().filter(|row| row.1 == column);
                let widest = own.map(|row| row.2.chars().count()).max();
                widest.unwrap_or(0).max(heading(column).len())
            })
            .collect();
        // No call is made alone in most scenarios.
        let is_empty = |column: usize| !rows.iter().any(|row| row.1 == column);
        let line = |cell: &dyn Fn(usize) -> String| {
            let shown = (0..columns).filter(|&column| !is_empty(column));
            let shown = shown.map(|column| format!("{:<1$}", cell(column), widths[column]));
            format!("  {}", shown.collect::<Vec<_>>().join("  "))
                .trim_end()
                .to_owned()
                + "\n"
        };
        let mut table = line(&heading);
        for (_, column, text) in &rows {
            table += &line(&|at| {
                if at == *column {
                    text.clone()
                } else {
                    String::new()
                }
            });
        }
        table
    }
}
