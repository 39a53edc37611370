//! The body of a component (tasks that crash together). The body is a task of its own.

use std::any::Any;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};

use crate::execution::{self, Site};

/// The run of the body of a component.
struct Run<F> {
    /// The body; `None` after its start.
    body: Option<F>,
    /// The payload of the panic that has ended the body.
    panic: Option<Box<dyn Any + Send>>,
    /// The line of the call that runs the component.
    site: Site,
}

/// Runs `body` as the first task of a new component (tasks that crash together), until `body`
/// returns or the component crashes. Outside an execution, does not run `body`, and returns it.
///
/// # Panics
/// If `body` panics, or if the caller is a part of a component.
pub(super) fn run<F: FnOnce() + Send>(body: F, site: Site) -> Option<F> {
    if !execution::active() {
        return Some(body);
    }
    let mut run = Run {
        body: Some(body),
        panic: None,
        site,
    };
    // SAFETY: `start` gets such a structure, which lives until the component has ended. After
    // that, no task of the component uses it or anything else that the body has borrowed.
    unsafe { execution::run_component(start::<F>, (&raw mut run).cast(), site) };
    if let Some(payload) = run.panic.take() {
        resume_unwind(payload);
    }
    None
}

/// Runs the body of a component from its start to its end.
///
/// # Safety
/// `data` points to a `Run<F>` that no other code uses until the component has ended.
unsafe fn start<F: FnOnce()>(data: *mut ()) {
    let run = data.cast::<Run<F>>();
    // SAFETY: the caller's promise.
    let (body, site) = unsafe { ((*run).body.take(), (*run).site) };
    let panic = body.and_then(|body| catch_unwind(AssertUnwindSafe(body)).err());
    let has_panicked = panic.is_some();
    if has_panicked {
        execution::panicked();
    }
    // SAFETY: as above.
    unsafe { (*run).panic = panic };
    execution::end_component(has_panicked, site);
    // From here on `run` may no longer exist.
}
