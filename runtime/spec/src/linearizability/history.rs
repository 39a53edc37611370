//! Histories: the calls of a scenario with their results, and their order in time.

use std::panic::Location;
use std::sync::{Arc, Mutex};
use std::thread::{self, JoinHandle};

use super::call::Call;
use super::scenario::Scenario;
use super::specification::Checked;
use super::waiting;
use crate::plain;

/// Stands for the time of the end of a call that has not returned.
pub(super) const NEVER: u64 = u64::MAX;

/// A call that was made.
#[derive(Clone, Debug)]
pub(super) struct Made {
    /// The index in the list of all calls.
    pub(super) call: usize,
    /// The thread that makes the call; `None` if the call comes before the threads begin, or after
    /// they have ended.
    pub(super) thread: Option<usize>,
    /// The time of the start of the call.
    pub(super) start: u64,
    /// The time of the end of the call; [`NEVER`] if the call has not returned.
    pub(super) end: u64,
    /// The `Debug` form of the result; `None` if the call has not returned.
    pub(super) result: Option<String>,
}

impl Made {
    /// Whether this call had returned when `other` began.
    pub(super) fn precedes(&self, other: &Self) -> bool {
        self.end < other.start
    }

    fn overlaps(&self, other: &Self) -> bool {
        !self.precedes(other) && !other.precedes(self)
    }
}

/// The data that the threads of a scenario share.
struct Run<T> {
    object: T,
    calls: Arc<Vec<Call<T>>>,
    /// The calls so far. The vector has room for all calls of the scenario, because `push` must
    /// not allocate.
    log: Mutex<Vec<Made>>,
    /// The number of calls of the scenario.
    count: usize,
    history: usize,
    site: &'static Location<'static>,
}

impl<T> Run<T> {
    /// Makes the calls of `program` one after another.
    fn program(&self, thread: Option<usize>, program: &[usize]) {
        for &call in program {
            let start = plain::note(self.history, false, self.site);
            let made = Made {
                call,
                thread,
                start,
                end: NEVER,
                result: None,
            };
            plain::unseen(&self.log, |log| log.push(made));
            let result = (self.calls[call].run)(&self.object);
            let end = plain::note(self.history, true, self.site);
            plain::unseen(&self.log, |log| {
                // The log lacks the call if `history` has emptied it: the calls in progress then
                // counted as calls that never return.
                if let Some(own) = log.iter_mut().find(|made| made.start == start) {
                    own.end = end;
                    own.result = Some(result);
                }
            });
        }
    }

    /// The number of starts and ends of calls so far, and whether all of `count` calls have
    /// returned.
    fn progress(&self, count: usize) -> (usize, bool) {
        plain::unseen(&self.log, |log| {
            let ended = log.iter().filter(|made| made.end != NEVER).count();
            (log.len() + ended, ended == count)
        })
    }

    /// The number of calls with this `thread` that have returned.
    fn returned(&self, thread: Option<usize>) -> usize {
        plain::unseen(&self.log, |log| {
            let own = log.iter().filter(|made| made.thread == thread);
            own.filter(|made| made.end != NEVER).count()
        })
    }
}

/// A running thread, and the calls that it makes.
struct Program<T> {
    thread: Option<usize>,
    /// The result of [`Run::returned`] for `thread`, if all calls of the running thread return.
    count: usize,
    handle: JoinHandle<Arc<Run<T>>>,
}

/// The run of a scenario.
pub(super) struct Attempt<T> {
    run: Arc<Run<T>>,
    /// The address of this box identifies the history.
    _place: Box<u8>,
}

// Loops, not closures: `track_caller` gives the operations on threads the caller's line only
// outside of closures.
impl<T: Send + Sync + 'static> Attempt<T> {
    /// Runs a scenario on a new object.
    #[track_caller]
    pub(super) fn new(scenario: &Scenario, checked: &Checked<T>) -> Self {
        let place = Box::new(0_u8);
        let count = scenario.count();
        let attempt = Self {
            run: Arc::new(Run {
                object: (checked.new)(),
                calls: Arc::clone(&checked.calls),
                log: Mutex::new(Vec::with_capacity(count)),
                count,
                history: std::ptr::addr_of!(*place) as usize,
                site: Location::caller(),
            }),
            _place: place,
        };
        let mut threads = Vec::new();
        for (thread, program) in scenario.threads.iter().enumerate() {
            threads.push((Some(thread), program.as_slice()));
        }
        let [before, after] = [&scenario.before, &scenario.after].map(|calls| [(None, &calls[..])]);
        let mut returned = 0;
        for programs in [&before[..], &threads, &after] {
            for (_, program) in programs {
                returned += program.len();
            }
            attempt.make(programs, returned, checked);
            // The remaining programs begin only after all calls so far have returned.
            if !attempt.run.progress(returned).1 {
                break;
            }
        }
        attempt
    }

    /// Makes the calls of `programs`, with a thread for each program. A single program outside the
    /// threads runs in the calling thread if no call may wait. `returned` is the number of calls
    /// of the scenario that have returned afterwards if each call returns.
    #[track_caller]
    fn make(&self, programs: &[(Option<usize>, &[usize])], returned: usize, checked: &Checked<T>) {
        let may_wait = checked.may_wait();
        if let ([(None, program)], false) = (programs, may_wait) {
            self.run.program(None, program);
            return;
        }
        let mut threads: Vec<Program<T>> = Vec::new();
        for &(thread, program) in programs {
            if program.is_empty() {
                continue;
            }
            let (run, program) = (Arc::clone(&self.run), program.to_vec());
            let count = self.run.returned(thread) + program.len();
            let handle = thread::spawn(move || {
                run.program(thread, &program);
                // The joining thread drops `run`. If this thread dropped it, the order of the
                // drops would matter to the search.
                run
            });
            threads.push(Program {
                thread,
                count,
                handle,
            });
        }
        if may_wait && !threads.is_empty() {
            self.wait(returned, checked);
        }
        for program in threads {
            if !may_wait || self.run.returned(program.thread) == program.count {
                drop(program.handle.join().expect("panics are caught"));
            }
        }
    }

    /// Waits until no other thread can run and no timer is pending. In a plain run, waits until
    /// `returned` calls have returned, or no call begins or ends for the time `checked.patience`.
    #[track_caller]
    fn wait(&self, returned: usize, checked: &Checked<T>) {
        let run = &self.run;
        waiting::until_idle(checked.patience, &|| run.progress(returned));
    }

    /// In a plain run, waits once more for calls that have not returned.
    #[track_caller]
    pub(super) fn wait_again(&self, checked: &Checked<T>) {
        let started = plain::unseen(&self.run.log, |log| log.len());
        if !self.run.progress(started).1 {
            self.wait(self.run.count, checked);
        }
    }

    /// The calls so far.
    pub(super) fn history(&self) -> History {
        let is_explored = plain::is_explored();
        let mut all = plain::unseen(&self.run.log, |log| {
            if is_explored {
                std::mem::take(log)
            } else {
                // The calls that have not returned may still do so.
                log.clone()
            }
        });
        all.sort_by_key(|made| made.start);
        History(all)
    }
}

/// The calls of a history, in the order of their starts.
pub(super) struct History(pub(super) Vec<Made>);

impl History {
    /// Whether a call of the history has not returned.
    pub(super) fn is_stuck(&self) -> bool {
        self.0.iter().any(|made| made.result.is_none())
    }

    /// Whether no other call overlaps the call `at`.
    pub(super) fn is_alone(&self, at: usize) -> bool {
        let mut others = (0..self.0.len()).filter(|&other| other != at);
        others.all(|other| !self.0[other].overlaps(&self.0[at]))
    }

    /// Whether there was a moment between the end of `earlier` and the start of `later` at which no
    /// call was in progress.
    pub(super) fn has_quiescence_between(&self, earlier: usize, later: usize) -> bool {
        let (after, before) = (self.0[earlier].end, self.0[later].start);
        let mut ends = self.0.iter().map(|made| made.end);
        // The number of calls in progress falls at ends only.
        ends.any(|end| {
            let is_in_progress = |made: &Made| made.start < end && end < made.end;
            after <= end && end < before && !self.0.iter().any(is_in_progress)
        })
    }

    /// The history as a table. It has a column for each thread. It has a row for each start and
    /// each end of a call, in the order of time. A call that has returned, and that no other call
    /// overlaps, has one row.
    pub(super) fn table<T>(&self, calls: &[Call<T>]) -> String {
        let threads = self.0.iter().filter_map(|made| made.thread).max();
        let columns = 1 + threads.map_or(0, |last| last + 1);
        let mut rows: Vec<(u64, usize, String)> = Vec::new();
        for (at, made) in self.0.iter().enumerate() {
            let name = &calls[made.call].name;
            let column = made.thread.map_or(0, |thread| thread + 1);
            let ends = match &made.result {
                Some(result) => format!("{name} = {result}"),
                None => format!("{name} does not return"),
            };
            if made.result.is_some() && self.is_alone(at) {
                rows.push((made.start, column, ends));
            } else {
                rows.push((made.start, column, format!("{name} begins")));
                rows.push((made.end, column, ends));
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
        // Columns without rows are left out. In many scenarios the column of the calls outside the
        // threads has none.
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

#[cfg(test)]
mod tests {
    use super::*;

    fn history(times: &[(u64, u64)]) -> History {
        let made = times.iter().map(|&(start, end)| Made {
            call: 0,
            thread: None,
            start,
            end,
            result: (end != NEVER).then(String::new),
        });
        History(made.collect())
    }

    #[test]
    fn quiescence_is_a_moment_without_a_call_in_progress() {
        let apart = history(&[(0, 1), (2, 3)]);
        assert!(apart.has_quiescence_between(0, 1));
        let spanned = history(&[(0, 5), (1, 2), (3, 4), (6, 7)]);
        assert!(!spanned.has_quiescence_between(1, 2));
        assert!(spanned.has_quiescence_between(1, 3));
        let chained = history(&[(0, 2), (1, 4), (3, 6), (5, 7)]);
        assert!(!chained.has_quiescence_between(0, 3));
        let open = history(&[(0, NEVER), (1, 2), (3, 4)]);
        assert!(!open.has_quiescence_between(1, 2));
    }

    #[test]
    fn calls_are_alone_if_none_overlaps_them() {
        let history = history(&[(0, 1), (2, 5), (3, 4), (6, NEVER)]);
        let alone: Vec<bool> = (0..4).map(|at| history.is_alone(at)).collect();
        assert_eq!(alone, [true, false, false, true]);
    }
}
