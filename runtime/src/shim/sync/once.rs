//! `Once`.

use std::fmt;
use std::panic::Location;

use super::initialise::{self, Initialising, arrive, wait_until};
use crate::execution::{self, Op};
use crate::monitor::race;

/// See [`std::sync::Once`].
#[repr(transparent)]
pub struct Once(std::sync::Once);

/// See [`std::sync::OnceState`].
#[repr(transparent)]
pub struct OnceState(std::sync::OnceState);

/// See [`std::sync::ONCE_INIT`].
#[deprecated(since = "1.38.0", note = "the `Once::new()` function is now preferred")]
#[allow(clippy::declare_interior_mutable_const, reason = "so it is in std")]
pub const ONCE_INIT: Once = Once::new();

impl Once {
    #[inline]
    #[allow(clippy::new_without_default, reason = "std's has none")]
    pub const fn new() -> Once {
        Once(std::sync::Once::new())
    }

    #[inline]
    #[track_caller]
    pub fn call_once<F>(&self, f: F)
    where
        F: FnOnce(),
    {
        if !execution::active() {
            return self.0.call_once(f);
        }
        let (object, site) = (self.object(), Location::caller());
        if !arrive(Op::OnceCall, object, site, || self.0.is_completed()) {
            let _initialising = Initialising::begin(object, site);
            self.0.call_once(|| {
                f();
                execution::access(Op::OnceComplete, object, site);
            });
        }
    }

    #[inline]
    #[track_caller]
    pub fn call_once_force<F>(&self, f: F)
    where
        F: FnOnce(&OnceState),
    {
        if !execution::active() {
            return self.0.call_once_force(|state| f(OnceState::of(state)));
        }
        let (object, site) = (self.object(), Location::caller());
        if !arrive(Op::OnceCall, object, site, || self.0.is_completed()) {
            let _initialising = Initialising::begin(object, site);
            self.0.call_once_force(|state| {
                f(OnceState::of(state));
                execution::access(Op::OnceComplete, object, site);
            });
        }
    }

    #[inline]
    #[track_caller]
    pub fn is_completed(&self) -> bool {
        if execution::active() {
            execution::access(Op::OnceIsCompleted, self.object(), Location::caller());
        }
        self.0.is_completed()
    }

    #[track_caller]
    pub fn wait(&self) {
        if !execution::active() {
            return self.0.wait();
        }
        let (object, site) = (self.object(), Location::caller());
        if !arrive(Op::OnceWait, object, site, || self.0.is_completed()) {
            // Either no task has begun the initialisation, or the `Once` is poisoned and this call
            // must panic. The real `Once` distinguishes the two cases. If it blocks, it waits at a
            // futex, which is under control.
            self.0.wait();
            race::acquire(object);
        }
    }

    #[track_caller]
    pub fn wait_force(&self) {
        if execution::active() {
            let site = Location::caller();
            wait_until(Op::OnceWait, self.object(), site, || self.0.is_completed());
        } else {
            self.0.wait_force();
        }
    }

    #[inline]
    fn object(&self) -> usize {
        initialise::object(self)
    }
}

impl OnceState {
    fn of(real: &std::sync::OnceState) -> &OnceState {
        // SAFETY: `OnceState` is transparent over the real one.
        unsafe { &*(&raw const *real).cast() }
    }

    #[inline]
    pub fn is_poisoned(&self) -> bool {
        self.0.is_poisoned()
    }
}

impl fmt::Debug for Once {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

impl fmt::Debug for OnceState {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}
