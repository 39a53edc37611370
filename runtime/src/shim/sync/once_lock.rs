//! `OnceLock`.

use std::fmt;
use std::panic::Location;

use super::initialise::{self, Initialising, arrive, wait_until};
use crate::execution::{self, Op};
use crate::monitor::race;

/// See [`std::sync::OnceLock`].
#[repr(transparent)]
pub struct OnceLock<T>(std::sync::OnceLock<T>);

impl<T> OnceLock<T> {
    #[inline]
    pub const fn new() -> OnceLock<T> {
        OnceLock(std::sync::OnceLock::new())
    }

    #[inline]
    #[track_caller]
    pub fn get(&self) -> Option<&T> {
        if execution::active() {
            execution::access(Op::OnceLockGet, self.object(), Location::caller());
        }
        self.0.get()
    }

    #[inline]
    pub fn get_mut(&mut self) -> Option<&mut T> {
        self.0.get_mut()
    }

    #[inline]
    #[track_caller]
    pub fn wait(&self) -> &T {
        if execution::active() {
            let site = Location::caller();
            wait_until(Op::OnceLockWait, self.object(), site, || {
                self.is_initialised()
            });
        }
        self.0.wait()
    }

    #[inline]
    #[track_caller]
    pub fn set(&self, value: T) -> Result<(), T> {
        if !execution::active() {
            return self.0.set(value);
        }
        let (object, site) = (self.object(), Location::caller());
        if arrive(Op::OnceLockSet, object, site, || self.is_initialised()) {
            return Err(value);
        }
        let result = self.0.set(value);
        // The value was written after the announced operation.
        race::release(object, Op::OnceLockSet, Some(site));
        execution::wake_all(object);
        result
    }

    #[inline]
    #[track_caller]
    pub fn get_or_init<F>(&self, f: F) -> &T
    where
        F: FnOnce() -> T,
    {
        if !execution::active() {
            return self.0.get_or_init(f);
        }
        let (object, site) = (self.object(), Location::caller());
        if arrive(Op::OnceLockGetOrInit, object, site, || {
            self.is_initialised()
        }) {
            return self.0.get_or_init(f);
        }
        let _initialising = Initialising::begin(object, site);
        self.0.get_or_init(|| {
            let value = f();
            execution::access(Op::OnceComplete, object, site);
            value
        })
    }

    #[inline]
    pub fn into_inner(self) -> Option<T> {
        self.0.into_inner()
    }

    #[inline]
    pub fn take(&mut self) -> Option<T> {
        self.0.take()
    }

    #[inline]
    fn object(&self) -> usize {
        initialise::object(self)
    }

    #[inline]
    fn is_initialised(&self) -> bool {
        self.0.get().is_some()
    }
}

impl<T> Default for OnceLock<T> {
    #[inline]
    fn default() -> OnceLock<T> {
        OnceLock::new()
    }
}

impl<T: fmt::Debug> fmt::Debug for OnceLock<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut d = f.debug_tuple("OnceLock");
        match self.get() {
            Some(v) => d.field(v),
            None => d.field(&format_args!("<uninit>")),
        };
        d.finish()
    }
}

impl<T: Clone> Clone for OnceLock<T> {
    #[inline]
    fn clone(&self) -> OnceLock<T> {
        self.get()
            .cloned()
            .map_or_else(OnceLock::new, OnceLock::from)
    }
}

impl<T> From<T> for OnceLock<T> {
    #[inline]
    fn from(value: T) -> Self {
        OnceLock(std::sync::OnceLock::from(value))
    }
}

impl<T: PartialEq> PartialEq for OnceLock<T> {
    #[inline]
    fn eq(&self, other: &OnceLock<T>) -> bool {
        self.get() == other.get()
    }
}

impl<T: Eq> Eq for OnceLock<T> {}
