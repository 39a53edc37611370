//! `LazyLock`.

use std::cell::Cell;
use std::fmt;
use std::ops::{Deref, DerefMut};
use std::panic::{Location, RefUnwindSafe, UnwindSafe};

use super::initialise::{self, Initialising, arrive};
use crate::execution::{self, Op, Site};

/// See [`std::sync::LazyLock`].
#[repr(transparent)]
pub struct LazyLock<T, F = fn() -> T>(std::sync::LazyLock<T, Initialiser<F>>);

/// The user's initialiser. Inside an execution, it ends with a scheduling point.
#[repr(transparent)]
struct Initialiser<F>(F);

thread_local! {
    /// The object and the line of the lazy value that the task is about to initialise. They are
    /// here because the real `force` passes no arguments to the initialiser.
    static BEGUN: Cell<Option<(usize, Site)>> = const { Cell::new(None) };
}

impl<T, F: FnOnce() -> T> FnOnce<()> for Initialiser<F> {
    type Output = T;

    extern "rust-call" fn call_once(self, (): ()) -> T {
        let begun = BEGUN.take();
        let value = (self.0)();
        if let Some((object, site)) = begun {
            execution::access(Op::OnceComplete, object, site);
        }
        value
    }
}

impl<T, F: FnOnce() -> T> LazyLock<T, F> {
    #[inline]
    pub const fn new(f: F) -> LazyLock<T, F> {
        LazyLock(std::sync::LazyLock::new(Initialiser(f)))
    }

    #[inline]
    pub fn force_mut(this: &mut LazyLock<T, F>) -> &mut T {
        std::sync::LazyLock::force_mut(&mut this.0)
    }

    #[inline]
    #[track_caller]
    pub fn force(this: &LazyLock<T, F>) -> &T {
        if !execution::active() {
            return std::sync::LazyLock::force(&this.0);
        }
        let (object, site) = (this.object(), Location::caller());
        let done = || std::sync::LazyLock::get(&this.0).is_some();
        if arrive(Op::LazyLockForce, object, site, done) {
            return std::sync::LazyLock::force(&this.0);
        }
        let _initialising = Initialising::begin(object, site);
        let begun = Begun::new(object, site);
        let value = std::sync::LazyLock::force(&this.0);
        drop(begun);
        value
    }
}

/// A guard that has set [`BEGUN`]. Its drop clears [`BEGUN`], also if the initialiser did not run
/// because the lazy value was poisoned.
struct Begun;

impl Begun {
    fn new(object: usize, site: Site) -> Begun {
        BEGUN.set(Some((object, site)));
        Begun
    }
}

impl Drop for Begun {
    fn drop(&mut self) {
        BEGUN.set(None);
    }
}

impl<T, F> LazyLock<T, F> {
    #[inline]
    pub fn get_mut(this: &mut LazyLock<T, F>) -> Option<&mut T> {
        std::sync::LazyLock::get_mut(&mut this.0)
    }

    #[inline]
    #[track_caller]
    pub fn get(this: &LazyLock<T, F>) -> Option<&T> {
        if execution::active() {
            execution::access(Op::LazyLockGet, this.object(), Location::caller());
        }
        std::sync::LazyLock::get(&this.0)
    }

    #[inline]
    fn object(&self) -> usize {
        initialise::object(self)
    }
}

impl<T, F: FnOnce() -> T> Deref for LazyLock<T, F> {
    type Target = T;

    #[inline]
    #[track_caller]
    fn deref(&self) -> &T {
        LazyLock::force(self)
    }
}

impl<T, F: FnOnce() -> T> DerefMut for LazyLock<T, F> {
    #[inline]
    fn deref_mut(&mut self) -> &mut T {
        LazyLock::force_mut(self)
    }
}

impl<T: Default> Default for LazyLock<T> {
    #[inline]
    fn default() -> LazyLock<T> {
        LazyLock::new(T::default)
    }
}

impl<T: fmt::Debug, F> fmt::Debug for LazyLock<T, F> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut d = f.debug_tuple("LazyLock");
        match LazyLock::get(self) {
            Some(v) => d.field(v),
            None => d.field(&format_args!("<uninit>")),
        };
        d.finish()
    }
}

// The bounds of the real `LazyLock`. Inferred bounds would show `Initialiser`.
impl<T: RefUnwindSafe + UnwindSafe, F: UnwindSafe> RefUnwindSafe for LazyLock<T, F> {}
impl<T: UnwindSafe, F: UnwindSafe> UnwindSafe for LazyLock<T, F> {}
