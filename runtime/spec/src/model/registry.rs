//! The waits for resources under plain `cargo test`.
//!
//! cargo chess inserts a statement at the start of [`signals`], [`wait`] and [`signal`], which
//! passes the call to the search. So the rest of this file runs only under plain `cargo test`.

use std::panic::Location;
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};

/// A resource that a thread waits for.
struct Awaited {
    resource: usize,
    /// The number of the wait. It is the same for all resources of one wait.
    wait: u64,
    /// Whether one signalled resource ends the wait. Otherwise the wait ends when all of its
    /// resources are signalled.
    is_any: bool,
    /// The position of the resource among those of the wait.
    place: usize,
    is_signalled: bool,
}

struct Registry {
    awaited: Vec<Awaited>,
    waits: u64,
    /// The number of signals of all resources.
    signals: u32,
}

static REGISTRY: Mutex<Registry> = Mutex::new(Registry {
    awaited: Vec::new(),
    waits: 0,
    signals: 0,
});

static CHANGED: Condvar = Condvar::new();

fn registry() -> MutexGuard<'static, Registry> {
    REGISTRY.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Registry {
    /// The position of a signalled resource of the wait with the number `wait`; `None` if the wait
    /// is not over.
    fn result(&self, wait: u64) -> Option<usize> {
        let own = || self.awaited.iter().filter(|it| it.wait == wait);
        let signalled = own().find(|it| it.is_signalled)?;
        let is_over = signalled.is_any || own().all(|it| it.is_signalled);
        is_over.then_some(signalled.place)
    }
}

/// A number that changes with each signal of `resource`, and also with the signals of other
/// resources.
pub(super) fn signals(resource: usize) -> u32 {
    let _ = resource;
    registry().signals
}

/// Waits until one of `resources` is signalled if `is_any`, otherwise until all are. Returns the
/// position of a signalled resource. `unless` is an earlier result of [`signals`] for the first
/// resource. If [`signals`] would now return another number, does not wait, and returns 0.
pub(super) fn wait(
    resources: &[usize],
    is_any: bool,
    unless: Option<u32>,
    site: &'static Location<'static>,
) -> usize {
    let _ = site;
    let mut registry = registry();
    if unless.map_or(false, |seen| seen != registry.signals) {
        return 0;
    }
    let wait = registry.waits;
    registry.waits += 1;
    let new = resources.iter().enumerate();
    registry
        .awaited
        .extend(new.map(|(place, &resource)| Awaited {
            resource,
            wait,
            is_any,
            place,
            is_signalled: false,
        }));
    loop {
        registry = CHANGED
            .wait(registry)
            .unwrap_or_else(PoisonError::into_inner);
        if let Some(place) = registry.result(wait) {
            registry.awaited.retain(|it| it.wait != wait);
            return place;
        }
    }
}

/// Signals `resource` to all threads that wait for it if `to_all`, otherwise to the one that has
/// waited longest.
pub(super) fn signal(resource: usize, to_all: bool, site: &'static Location<'static>) {
    let _ = site;
    let mut registry = registry();
    registry.signals = registry.signals.wrapping_add(1);
    for at in 0..registry.awaited.len() {
        let wait = &registry.awaited[at];
        let is_over = wait.is_any && registry.result(wait.wait).is_some();
        if wait.resource == resource && !wait.is_signalled && !is_over {
            registry.awaited[at].is_signalled = true;
            if !to_all {
                break;
            }
        }
    }
    CHANGED.notify_all();
}
