//! Linearizability without a specification: the results of concurrent calls against those of the same
//! calls one after another.
//!
//! The check is that of Line-Up (Burckhardt, Dern, Musuvathi and Tan, PLDI'10): the object itself,
//! used by one thread, is the specification.

mod history;
mod order;
mod scenario;

use std::fmt::Debug;
use std::panic::{catch_unwind, AssertUnwindSafe};
use std::sync::Arc;

use self::history::History;
use self::scenario::{Choices, Scenario};
use crate::plain;

/// The number of scenarios of a plain run.
const PLAIN_SCENARIOS: u64 = 100;

/// A check whether an object is linearizable: whether the results of concurrent calls are those of
/// the same calls in some sequential order, in which a call that has returned comes before the calls
/// that begin after that (Herlihy and Wing, TOPLAS'90).
///
/// The scenario, which is the calls of each thread and their arguments, is a choice of the search.
/// The expected results are those of the object itself, when one thread makes the calls.
///
/// Under plain `cargo test` a hundred scenarios run on real threads.
///
/// # Examples
/// ```
/// use std::collections::VecDeque;
/// use std::sync::Mutex;
/// use chess_spec::Linearizability;
///
/// Linearizability::of(|| Mutex::new(VecDeque::new()))
///     .operation("push", [1, 2], |queue, item| queue.lock().unwrap().push_back(*item))
///     .operation("pop", [()], |queue, ()| queue.lock().unwrap().pop_front())
///     .check();
/// ```
#[must_use = "`check` runs it"]
pub struct Linearizability<T> {
    new: Box<dyn Fn() -> T>,
    calls: Vec<Call<T>>,
    limits: Limits,
}

/// The limits of the scenarios.
#[derive(Clone, Copy)]
struct Limits {
    threads: usize,
    calls: usize,
    before: usize,
    after: usize,
}

/// An operation with its argument. It returns its result in words.
struct Call<T> {
    name: String,
    run: Box<dyn Fn(&T) -> String + Send + Sync>,
}

impl<T: Send + Sync + 'static> Linearizability<T> {
    /// A check of the objects that `new` returns, with up to two calls in each of two threads, up to
    /// one call before them, and up to one after them.
    ///
    /// Calls of `new` must return objects that behave alike.
    pub fn of(new: impl Fn() -> T + 'static) -> Self {
        Self {
            new: Box::new(new),
            calls: Vec::new(),
            limits: Limits {
                threads: 2,
                calls: 2,
                before: 1,
                after: 1,
            },
        }
    }

    /// Adds an operation, with each of these arguments. Two results are equal if they have the same
    /// `Debug` form: where it contains an address or another number that differs between equal
    /// objects, `run` should return something else. A panic is a result as well.
    ///
    /// The operation must return: one that waits for another thread would wait for ever where a
    /// single thread makes the calls.
    pub fn operation<A, R>(
        mut self,
        name: &str,
        arguments: impl IntoIterator<Item = A>,
        run: impl Fn(&T, &A) -> R + Clone + Send + Sync + 'static,
    ) -> Self
    where
        A: Debug + Send + Sync + 'static,
        R: Debug,
    {
        for argument in arguments {
            let shown = format!("{argument:?}");
            let shown = if shown == "()" { "" } else { &shown };
            let run = run.clone();
            self.calls.push(Call {
                name: format!("{name}({shown})"),
                run: Box::new(move |object| {
                    let result = catch_unwind(AssertUnwindSafe(|| run(object, &argument)));
                    result.map_or_else(|_| "a panic".to_owned(), |it| format!("{it:?}"))
                }),
            });
        }
        self
    }

    /// Sets the number of threads, at least two.
    ///
    /// # Panics
    /// If it is less than two: the calls of one thread are in order.
    #[track_caller]
    pub fn threads(mut self, threads: usize) -> Self {
        assert!(
            threads >= 2,
            "threads({threads}): a history needs at least two"
        );
        self.limits.threads = threads;
        self
    }

    /// Sets the highest number of calls of each thread.
    ///
    /// # Panics
    /// If it is 0.
    #[track_caller]
    pub fn calls(mut self, calls: usize) -> Self {
        assert!(calls >= 1, "calls(0): each thread makes at least one call");
        self.limits.calls = calls;
        self
    }

    /// Sets the highest number of calls before the threads begin.
    pub fn before(mut self, calls: usize) -> Self {
        self.limits.before = calls;
        self
    }

    /// Sets the highest number of calls after the threads have ended.
    pub fn after(mut self, calls: usize) -> Self {
        self.limits.after = calls;
        self
    }

    /// Runs the check. Under cargo chess it runs one scenario, which the search chooses.
    ///
    /// # Panics
    /// If there is no operation, or a history is not linearizable. The message has the history, and
    /// why no sequential order explains it.
    #[track_caller]
    pub fn check(self) {
        assert!(!self.calls.is_empty(), "check: there is no operation");
        let scenarios = if plain::is_explored() {
            1
        } else {
            PLAIN_SCENARIOS
        };
        let calls = Arc::new(self.calls);
        for seed in 0..scenarios {
            let mut choices = Choices::new(seed);
            let scenario = Scenario::choose(self.limits, calls.len(), &mut choices);
            let history = History::run(&scenario, &calls, &*self.new);
            if let Err(why) = order::explain(&history, &calls, &*self.new) {
                panic!(
                    "not linearizable: no sequential order of these calls has these results\n\n{}\n{}",
                    history.table(&calls),
                    why
                );
            }
        }
    }
}
