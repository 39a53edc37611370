//! A call: an operation with its argument.

use std::fmt::Debug;
use std::panic::{catch_unwind, AssertUnwindSafe};

/// The calls whose results are compared with the specification.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Compared {
    Always,
    /// The calls that no other call overlaps.
    Alone,
    Never,
}

/// An operation with its argument. `run` returns the `Debug` form of the result.
pub(super) struct Call<T> {
    pub(super) operation: String,
    pub(super) name: String,
    pub(super) run: Box<dyn Fn(&T) -> String + Send + Sync>,
    pub(super) compared: Compared,
    /// Whether the call may wait for other calls.
    pub(super) may_wait: bool,
}

impl<T> Call<T> {
    pub(super) fn new(
        operation: &str,
        argument: &dyn Debug,
        run: impl Fn(&T) -> String + Send + Sync + 'static,
    ) -> Self {
        let shown = format!("{argument:?}");
        let shown = if shown == "()" { "" } else { &shown };
        Self {
            operation: operation.to_owned(),
            name: format!("{operation}({shown})"),
            run: Box::new(run),
            compared: Compared::Always,
            may_wait: false,
        }
    }
}

/// The `Debug` form of the result of `call`, or the words `a panic` if `call` panics.
pub(super) fn in_words<R: Debug>(call: impl FnOnce() -> R) -> String {
    let result = catch_unwind(AssertUnwindSafe(call));
    result.map_or_else(|_| "a panic".to_owned(), |it| format!("{it:?}"))
}
