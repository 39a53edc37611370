//! `scope` and its threads.

use std::marker::PhantomData;
use std::mem::MaybeUninit;
use std::panic::{AssertUnwindSafe, Location, catch_unwind, resume_unwind};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::thread::Result;
use std::{fmt, io};

use super::packet::{self, Joining, RealHandle};
use super::scope_data::ScopeData;
use super::{Builder, Thread, current};
use crate::execution::{self, Site};
use crate::platform::observers::observes_finishes;

/// See [`std::thread::Scope`].
///
/// The shim is a pointer, as the real type is. The target of the pointer outlives the scope's
/// threads.
pub struct Scope<'scope, 'env: 'scope> {
    kind: &'scope ScopeKind<'scope, 'env>,
    /// Invariant in both lifetimes, as the real one.
    lifetimes: PhantomData<(&'scope mut &'scope (), &'env mut &'env ())>,
}

enum ScopeKind<'scope, 'env> {
    Real(&'scope std::thread::Scope<'scope, 'env>),
    Tasks(Arc<ScopeData>),
}

/// See [`std::thread::ScopedJoinHandle`].
pub struct ScopedJoinHandle<'scope, T>(Joining<std::thread::ScopedJoinHandle<'scope, T>, T>);

/// See [`std::thread::scope`].
#[track_caller]
pub fn scope<'env, F, T>(f: F) -> T
where
    F: for<'scope> FnOnce(&'scope Scope<'scope, 'env>) -> T,
{
    if execution::active() {
        scope_of_tasks(f, Location::caller())
    } else {
        real_scope(f)
    }
}

fn real_scope<'env, F, T>(f: F) -> T
where
    F: for<'scope> FnOnce(&'scope Scope<'scope, 'env>) -> T,
{
    // Both values must be in this frame, because the threads use them until the real scope has
    // ended.
    let mut kind = MaybeUninit::<ScopeKind<'static, 'static>>::uninit();
    let mut scope = MaybeUninit::<Scope<'static, 'static>>::uninit();
    let (kind, scope) = (kind.as_mut_ptr(), scope.as_mut_ptr());
    std::thread::scope(|real| {
        let kind = kind.cast::<ScopeKind<'_, 'env>>();
        let scope = scope.cast::<Scope<'_, 'env>>();
        // SAFETY: `kind` and `scope` are memory for these types, whose layouts do not depend on
        // lifetimes, and outlive the real scope. The written values need no drop.
        f(unsafe {
            kind.write(ScopeKind::Real(real));
            scope.write(Scope {
                kind: &*kind,
                lifetimes: PhantomData,
            });
            &*scope
        })
    })
}

#[track_caller]
fn scope_of_tasks<'env, F, T>(f: F, site: Site) -> T
where
    F: for<'scope> FnOnce(&'scope Scope<'scope, 'env>) -> T,
{
    let data = Arc::new(ScopeData {
        running: AtomicUsize::new(0),
        panicked: Mutex::new(Vec::new()),
        main: current(),
    });
    let kind = ScopeKind::Tasks(data.clone());
    let scope = Scope {
        kind: &kind,
        lifetimes: PhantomData,
    };
    let result = catch_unwind(AssertUnwindSafe(|| f(&scope)));
    data.wait_for_all(site);
    match result {
        Err(payload) => resume_unwind(payload),
        Ok(result) => {
            // The panics of the threads count as handled: the program gets the panic below in this
            // thread instead.
            let panicked = std::mem::take(&mut *data.panicked());
            panicked.iter().copied().for_each(execution::panic_handled);
            assert!(panicked.is_empty(), "a scoped thread panicked");
            result
        }
    }
}

impl<'scope> Scope<'scope, '_> {
    #[inline]
    #[track_caller]
    pub fn spawn<F, T>(&'scope self, f: F) -> ScopedJoinHandle<'scope, T>
    where
        F: FnOnce() -> T + Send + 'scope,
        T: Send + 'scope,
    {
        self.spawn_by(Builder::new(), f, Location::caller())
            .expect("failed to spawn thread")
    }

    pub(super) fn spawn_by<F, T>(
        &'scope self,
        builder: Builder,
        f: F,
        site: Site,
    ) -> io::Result<ScopedJoinHandle<'scope, T>>
    where
        F: FnOnce() -> T + Send + 'scope,
        T: Send + 'scope,
    {
        match self.kind {
            ScopeKind::Real(scope) => {
                let real = builder.into_real().spawn_scoped(scope, f)?;
                Ok(ScopedJoinHandle(Joining::of_real(real)))
            }
            ScopeKind::Tasks(data) => {
                let (name, stack) = builder.parts();
                // SAFETY: `wait_for_all` does not return before the task has dropped all that
                // borrows from the scope.
                let spawned = unsafe { packet::spawn(name, stack, Some(data.clone()), f, site) };
                spawned.map(ScopedJoinHandle)
            }
        }
    }
}

impl<T> ScopedJoinHandle<'_, T> {
    #[must_use]
    pub fn thread(&self) -> &Thread {
        self.0.thread()
    }

    #[track_caller]
    pub fn join(self) -> Result<T> {
        self.0.join(Location::caller())
    }

    #[track_caller]
    pub fn is_finished(&self) -> bool {
        observes_finishes();
        self.0.is_finished(Location::caller())
    }
}

impl<T> RealHandle<T> for std::thread::ScopedJoinHandle<'_, T> {
    fn thread(&self) -> &std::thread::Thread {
        self.thread()
    }

    fn join(self) -> Result<T> {
        self.join()
    }

    fn is_finished(&self) -> bool {
        self.is_finished()
    }
}

impl fmt::Debug for Scope<'_, '_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.kind {
            ScopeKind::Real(real) => real.fmt(f),
            ScopeKind::Tasks(data) => f
                .debug_struct("Scope")
                .field("num_running_threads", &data.running.load(Ordering::Relaxed))
                .field("a_thread_panicked", &!data.panicked().is_empty())
                .field("main_thread", &data.main)
                .finish_non_exhaustive(),
        }
    }
}

impl<T> fmt::Debug for ScopedJoinHandle<'_, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ScopedJoinHandle").finish_non_exhaustive()
    }
}
