//! The sequential specification of an object: the object itself, or a model that the user gives.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::Duration;

use super::call::Call;
use super::waiting;
use crate::plain;

/// An object under test, and its calls.
#[doc(hidden)]
pub struct Checked<T> {
    pub(super) new: Box<dyn Fn() -> T>,
    pub(super) calls: Arc<Vec<Call<T>>>,
    /// In a plain run, the time without progress after which a call counts as one that does not
    /// return.
    pub(super) patience: Duration,
}

impl<T> Checked<T> {
    /// Whether a call may wait for other calls.
    pub(super) fn may_wait(&self) -> bool {
        self.calls.iter().any(|call| call.may_wait)
    }
}

/// The results of calls that are made one after another.
pub trait Specification<T> {
    /// The result of the call `next` on a new object, after the calls of `order`, which return.
    /// `None` if the call `next` does not return.
    #[doc(hidden)]
    fn result(&self, checked: &Checked<T>, order: &[usize], next: usize) -> Option<String>;
}

/// The specification of an object that is used by one thread: the object itself.
pub struct Itself;

impl<T: Send + Sync + 'static> Specification<T> for Itself {
    #[track_caller]
    fn result(&self, checked: &Checked<T>, order: &[usize], next: usize) -> Option<String> {
        let object = (checked.new)();
        for &call in order {
            (checked.calls[call].run)(&object);
        }
        if checked.calls[next].may_wait {
            attempt(checked, object, next)
        } else {
            Some((checked.calls[next].run)(&object))
        }
    }
}

/// The result of the call `next` of `object` by a new thread. If the call does not return, the
/// result is `None`, and the thread is left waiting.
#[track_caller]
fn attempt<T: Send + Sync + 'static>(
    checked: &Checked<T>,
    object: T,
    next: usize,
) -> Option<String> {
    let shared = Arc::new((object, Mutex::new(None)));
    let (own, calls) = (Arc::clone(&shared), Arc::clone(&checked.calls));
    let thread = thread::spawn(move || {
        let result = (calls[next].run)(&own.0);
        plain::unseen(&own.1, |place| *place = Some(result));
        // The joining thread drops both. If this thread dropped them, the order of the drops would
        // matter to the search.
        (own, calls)
    });
    waiting::until_idle(checked.patience, &|| {
        plain::unseen(&shared.1, |place| (0, place.is_some()))
    });
    let result = plain::unseen(&shared.1, Option::take);
    if result.is_some() {
        drop(thread.join());
    }
    result
}

/// The result of a call on a model; `None` if the call waits.
type Expected<M> = Box<dyn Fn(&mut M) -> Option<String>>;

/// A specification by an object of another type.
pub struct Model<M> {
    pub(super) new: Box<dyn Fn() -> M>,
    /// An entry for each call, in the order of [`Checked::calls`].
    pub(super) expected: Vec<Expected<M>>,
}

impl<T, M> Specification<T> for Model<M> {
    fn result(&self, _: &Checked<T>, order: &[usize], next: usize) -> Option<String> {
        let mut model = (self.new)();
        for &call in order {
            (self.expected[call])(&mut model);
        }
        (self.expected[next])(&mut model)
    }
}

/// A specification, and a cache of its results. It computes each result only once.
pub(super) struct Oracle<T, S> {
    pub(super) checked: Checked<T>,
    pub(super) specification: S,
    /// The results that were computed: for a sequence of calls, the result of its last call.
    known: BTreeMap<Vec<usize>, Option<String>>,
}

impl<T, S: Specification<T>> Oracle<T, S> {
    pub(super) fn new(checked: Checked<T>, specification: S) -> Self {
        Self {
            checked,
            specification,
            known: BTreeMap::new(),
        }
    }

    /// See [`Specification::result`].
    #[track_caller]
    pub(super) fn result(&mut self, order: &[usize], next: usize) -> Option<String> {
        let question = [order, &[next]].concat();
        if let Some(known) = self.known.get(&question) {
            return known.clone();
        }
        let result = self.specification.result(&self.checked, order, next);
        self.known.insert(question, result.clone());
        result
    }

    /// Sets the time to wait for calls that may not return, and forgets the results so far.
    pub(super) fn take_time(&mut self, patience: Duration) {
        self.checked.patience = patience;
        self.known.clear();
    }
}
