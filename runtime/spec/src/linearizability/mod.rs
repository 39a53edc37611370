//! Linearizability: the results of concurrent calls against those of the same calls one after
//! another.
//!
//! The check is that of Line-Up (Burckhardt, Dern, Musuvathi and Tan, PLDI'10): without a model,
//! the object itself, used by one thread, is the specification.
//!
//! The sentence of a failure is in this file. `history.rs` prints the table of the calls, and
//! `order.rs` the reasons why no sequential order explains it.

mod call;
mod history;
mod order;
mod scenario;
mod specification;
mod waiting;

use std::fmt::Debug;
use std::sync::Arc;

use self::call::{in_words, Call, Compared};
use self::history::Attempt;
use self::order::Kept;
use self::scenario::{Choices, Scenario};
use self::specification::{Checked, Itself, Model, Oracle, Specification};
use self::waiting::PATIENCE;
use crate::plain;

/// The number of scenarios of a plain run.
const PLAIN_SCENARIOS: u64 = 100;

/// A check whether an object is linearizable (Herlihy and Wing, TOPLAS'90). An object is
/// linearizable if the same calls, made in some sequential order, have the results of the
/// concurrent calls. In this order, each call comes before the calls that begin after its end.
///
/// The scenario, which is the calls of each thread and their arguments, is a choice of the search.
/// The expected results are those of a [model](Self::model). Without a model, they are those of
/// the object itself if one thread makes the calls.
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
pub struct Linearizability<T, S = Itself> {
    new: Box<dyn Fn() -> T>,
    calls: Vec<Call<T>>,
    specification: S,
    limits: Limits,
    kept: Kept,
}

/// The limits of the scenarios.
#[derive(Clone, Copy)]
struct Limits {
    threads: usize,
    calls: usize,
    before: usize,
    after: usize,
}

impl<T: Send + Sync + 'static> Linearizability<T> {
    /// A check of the objects that `new` returns, with up to two calls in each of two threads, up
    /// to one call before the threads begin, and up to one after they have ended.
    ///
    /// All objects that `new` returns must behave alike.
    pub fn of(new: impl Fn() -> T + 'static) -> Self {
        Self {
            new: Box::new(new),
            calls: Vec::new(),
            specification: Itself,
            limits: Limits {
                threads: 2,
                calls: 2,
                before: 1,
                after: 1,
            },
            kept: Kept::All,
        }
    }

    /// Compares the object with a model: an object of another type, which one thread uses. Each
    /// operation that is added after this call has one more function, which returns the expected
    /// result. With a model, the check also finds errors of the object that do not need several
    /// threads.
    ///
    /// # Panics
    /// If an operation was added before: the model has no counterpart for it.
    ///
    /// # Examples
    /// ```
    /// use std::collections::VecDeque;
    /// use std::sync::Mutex;
    /// use chess_spec::Linearizability;
    ///
    /// # #[derive(Default)]
    /// # struct Stack(Mutex<Vec<u8>>);
    /// # impl Stack {
    /// #     fn push(&self, item: u8) { self.0.lock().unwrap().push(item) }
    /// #     fn pop(&self) -> Option<u8> { self.0.lock().unwrap().pop() }
    /// # }
    /// Linearizability::of(Stack::default)
    ///     .model(Vec::new)
    ///     .operation("push", [1, 2], |it, item| it.push(*item), |model, item| model.push(*item))
    ///     .operation("pop", [()], |it, ()| it.pop(), |model, ()| model.pop())
    ///     .check();
    /// ```
    #[track_caller]
    pub fn model<M>(self, new: impl Fn() -> M + 'static) -> Linearizability<T, Model<M>> {
        assert!(
            self.calls.is_empty(),
            "model: call `model` before the first `operation`"
        );
        let model = Model {
            new: Box::new(new),
            expected: Vec::new(),
        };
        Linearizability {
            new: self.new,
            calls: Vec::new(),
            specification: model,
            limits: self.limits,
            kept: self.kept,
        }
    }

    /// Adds an operation, which a scenario may call with any of `arguments`. Two results are equal
    /// if they have the same `Debug` form. If this form contains an address, or another number
    /// that differs between equal objects, `run` should return another value. A panic is a result
    /// as well.
    ///
    /// The operation must return even if a single thread makes all calls. For an operation that
    /// may wait for other threads, see [`blocking_operation`](Self::blocking_operation).
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
            self.add(name, Arc::new(argument), run.clone(), false);
        }
        self
    }

    /// Adds an operation that may wait for other calls: `push` of a full queue, or `recv` of an
    /// empty channel. See [`operation`](Self::operation).
    ///
    /// A call may never return. This is correct if the call also does not return when a single
    /// thread makes it after the calls that have returned. One order of the calls that have
    /// returned must explain their results and all calls that do not return. (Line-Up permits a
    /// separate order for each call that does not return.) An operation that takes effect and then
    /// waits for another call, such as the wait at a barrier, is not linearizable.
    ///
    /// Under cargo chess, a call counts as one that does not return if it waits when no other
    /// thread can run and no timer is pending. A call that polls the clock in a loop counts as
    /// one, too. Under plain `cargo test`, the calls in progress count as such if no call begins
    /// or ends for 10 milliseconds. Before the check fails, it waits until no call begins or ends
    /// for two seconds. The threads of calls that do not return are left waiting.
    ///
    /// # Examples
    /// ```
    /// use std::sync::mpsc::{channel, Receiver, Sender};
    /// use std::sync::Mutex;
    /// use chess_spec::Linearizability;
    ///
    /// struct Channel(Mutex<Sender<u8>>, Mutex<Receiver<u8>>);
    ///
    /// let new = || {
    ///     let (sender, receiver) = channel();
    ///     Channel(Mutex::new(sender), Mutex::new(receiver))
    /// };
    /// Linearizability::of(new)
    ///     .operation("send", [1], |it, item| it.0.lock().unwrap().send(*item).is_ok())
    ///     .blocking_operation("recv", [()], |it, ()| it.1.lock().unwrap().recv())
    ///     .check();
    /// ```
    pub fn blocking_operation<A, R>(
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
            self.add(name, Arc::new(argument), run.clone(), true);
        }
        self
    }
}

impl<T: Send + Sync + 'static, M: 'static> Linearizability<T, Model<M>> {
    /// Adds an operation, which a scenario may call with any of `arguments`. `expected` makes the
    /// same call on the model, and returns the expected result. Two results are equal if they have
    /// the same `Debug` form. A panic is a result as well.
    pub fn operation<A, R>(
        mut self,
        name: &str,
        arguments: impl IntoIterator<Item = A>,
        run: impl Fn(&T, &A) -> R + Clone + Send + Sync + 'static,
        expected: impl Fn(&mut M, &A) -> R + Clone + 'static,
    ) -> Self
    where
        A: Debug + Send + Sync + 'static,
        R: Debug,
    {
        for argument in arguments {
            let argument = Arc::new(argument);
            self.add(name, Arc::clone(&argument), run.clone(), false);
            let expected = expected.clone();
            let expected = move |model: &mut M| Some(in_words(|| expected(model, &argument)));
            self.specification.expected.push(Box::new(expected));
        }
        self
    }

    /// Adds an operation that may wait for other calls: `expected` returns `None` if the call must
    /// wait. See [`blocking_operation`](Linearizability::blocking_operation) without a model.
    ///
    /// # Examples
    /// ```
    /// use std::sync::{Condvar, Mutex};
    /// use chess_spec::Linearizability;
    ///
    /// #[derive(Default)]
    /// struct Semaphore(Mutex<u32>, Condvar);
    ///
    /// impl Semaphore {
    ///     fn post(&self) {
    ///         *self.0.lock().unwrap() += 1;
    ///         self.1.notify_one();
    ///     }
    ///
    ///     fn wait(&self) {
    ///         let count = self.1.wait_while(self.0.lock().unwrap(), |count| *count == 0);
    ///         *count.unwrap() -= 1;
    ///     }
    /// }
    ///
    /// Linearizability::of(Semaphore::default)
    ///     .model(|| 0_u32)
    ///     .operation("post", [()], |it, ()| it.post(), |count, ()| *count += 1)
    ///     .blocking_operation("wait", [()], |it, ()| it.wait(), |count, ()| {
    ///         *count = count.checked_sub(1)?;
    ///         Some(())
    ///     })
    ///     .check();
    /// ```
    pub fn blocking_operation<A, R>(
        mut self,
        name: &str,
        arguments: impl IntoIterator<Item = A>,
        run: impl Fn(&T, &A) -> R + Clone + Send + Sync + 'static,
        expected: impl Fn(&mut M, &A) -> Option<R> + Clone + 'static,
    ) -> Self
    where
        A: Debug + Send + Sync + 'static,
        R: Debug,
    {
        for argument in arguments {
            let argument = Arc::new(argument);
            self.add(name, Arc::clone(&argument), run.clone(), true);
            let expected = expected.clone();
            let expected = move |model: &mut M| {
                let mut waits = false;
                let result = in_words(|| {
                    let result = expected(model, &argument);
                    waits = result.is_none();
                    Shown(result)
                });
                (!waits).then_some(result)
            };
            self.specification.expected.push(Box::new(expected));
        }
        self
    }
}

/// An optional result. It has the `Debug` form of the result, without `Some`.
struct Shown<R>(Option<R>);

impl<R: Debug> Debug for Shown<R> {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        self.0.as_ref().map_or(Ok(()), |result| result.fmt(out))
    }
}

impl<T: Send + Sync + 'static, S> Linearizability<T, S> {
    fn add<A, R>(
        &mut self,
        name: &str,
        argument: Arc<A>,
        run: impl Fn(&T, &A) -> R + Send + Sync + 'static,
        may_wait: bool,
    ) where
        A: Debug + Send + Sync + 'static,
        R: Debug,
    {
        let shown = Arc::clone(&argument);
        let run = move |object: &T| in_words(|| run(object, &argument));
        let call = Call::new(name, &*shown, run);
        self.calls.push(Call { may_wait, ..call });
    }

    /// Declares that the results of the operation `name` are not compared. Use it for instance for
    /// an estimate, or for a length that is documented as approximate. The effect of the operation
    /// on the object must still be that of the specification.
    ///
    /// # Panics
    /// If there is no such operation so far.
    #[track_caller]
    pub fn relaxed(self, name: &str) -> Self {
        self.compared(name, Compared::Never)
    }

    /// Declares that the result of a call of the operation `name` is compared only if no other
    /// call overlaps it. Use it for instance for the sum of a counter that lags behind while calls
    /// are in progress.
    ///
    /// # Panics
    /// If there is no such operation so far.
    ///
    /// # Examples
    /// ```
    /// use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
    /// use chess_spec::Linearizability;
    ///
    /// #[derive(Default)]
    /// struct Counter([AtomicUsize; 2]);
    ///
    /// Linearizability::of(Counter::default)
    ///     .operation("add", [0, 1], |it, shard| { it.0[*shard].fetch_add(1, Relaxed); })
    ///     .operation("sum", [()], |it, ()| it.0.iter().map(|it| it.load(Relaxed)).sum::<usize>())
    ///     .quiescent("sum")
    ///     .check();
    /// ```
    #[track_caller]
    pub fn quiescent(self, name: &str) -> Self {
        self.compared(name, Compared::Alone)
    }

    #[track_caller]
    fn compared(mut self, name: &str, compared: Compared) -> Self {
        let mut is_known = false;
        for call in &mut self.calls {
            if call.operation == name {
                call.compared = compared;
                is_known = true;
            }
        }
        assert!(is_known, "there is no operation {name:?} before this call");
        self
    }

    /// Checks for quiescent consistency in place of linearizability (Aspnes, Herlihy and Shavit,
    /// JACM'94). The sequential order then keeps the order of two calls only if, between the end
    /// of the first and the start of the second, there is a moment without calls in progress.
    /// Results are compared as for linearizability. A counting network is quiescently consistent.
    pub fn quiescently_consistent(mut self) -> Self {
        self.kept = Kept::AcrossQuiescence;
        self
    }

    /// Sets the number of threads, at least two.
    ///
    /// # Panics
    /// If it is less than two: a single thread has no concurrent calls.
    #[track_caller]
    pub fn threads(mut self, threads: usize) -> Self {
        assert!(
            threads >= 2,
            "threads({threads}): a history needs at least two threads"
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
    /// If there is no operation, or a history is not linearizable. The message has the history,
    /// and the reasons why no sequential order explains it.
    #[track_caller]
    pub fn check(self)
    where
        S: Specification<T>,
    {
        assert!(
            !self.calls.is_empty(),
            "check: there is no operation: add one with `operation`"
        );
        let is_explored = plain::is_explored();
        let scenarios = if is_explored { 1 } else { PLAIN_SCENARIOS };
        let checked = Checked {
            new: self.new,
            calls: Arc::new(self.calls),
            patience: PATIENCE[0],
        };
        let mut oracle = Oracle::new(checked, self.specification);
        for seed in 0..scenarios {
            let mut choices = Choices::new(seed);
            let count = oracle.checked.calls.len();
            let scenario = Scenario::choose(self.limits, count, &mut choices);
            let attempt = Attempt::new(&scenario, &oracle.checked);
            let mut history = attempt.history();
            let mut explained = order::explain(&history, &mut oracle, self.kept);
            if explained.is_err() && !is_explored && oracle.checked.may_wait() {
                // Some calls may only have been slow.
                oracle.take_time(PATIENCE[1]);
                attempt.wait_again(&oracle.checked);
                history = attempt.history();
                explained = order::explain(&history, &mut oracle, self.kept);
                oracle.take_time(PATIENCE[0]);
            }
            if let Err(why) = explained {
                let property = match self.kept {
                    Kept::All => "linearizable",
                    Kept::AcrossQuiescence => "quiescently consistent",
                };
                let rest = if history.is_stuck() {
                    " and leaves the other calls waiting"
                } else {
                    ""
                };
                panic!(
                    "not {property}: no sequential order of these calls has these results{rest}\n\n{}\n{why}",
                    history.table(&oracle.checked.calls),
                );
            }
        }
    }
}
