//! `Builder`.

use std::fmt;
use std::io;
use std::panic::Location;

use chess_vocabulary::Fault;

use super::packet::{self, Joining};
use super::{JoinHandle, Scope, ScopedJoinHandle};
use crate::base::sys::EAGAIN;
use crate::execution;

/// Returns an error if the search lets the next spawn fail.
///
/// # Errors
/// Returns the error of a system that has no room for another thread.
fn fails_to_spawn() -> io::Result<()> {
    if execution::active() && execution::fault_of(&[Fault::Spawn]).is_some() {
        return Err(io::Error::from_raw_os_error(EAGAIN));
    }
    Ok(())
}

/// See [`std::thread::Builder`].
#[must_use = "must eventually spawn the thread"]
pub struct Builder {
    name: Option<String>,
    stack_size: Option<usize>,
    no_hooks: bool,
}

impl Builder {
    #[allow(clippy::new_without_default, reason = "std's has none")]
    pub fn new() -> Builder {
        Builder {
            name: None,
            stack_size: None,
            no_hooks: false,
        }
    }

    pub fn name(mut self, name: String) -> Builder {
        self.name = Some(name);
        self
    }

    pub fn stack_size(mut self, size: usize) -> Builder {
        self.stack_size = Some(size);
        self
    }

    /// See [`std::thread::Builder::no_hooks`]. The spawn of a task never runs hooks.
    pub fn no_hooks(mut self) -> Builder {
        self.no_hooks = true;
        self
    }

    #[inline]
    #[track_caller]
    pub fn spawn<F, T>(self, f: F) -> io::Result<JoinHandle<T>>
    where
        F: FnOnce() -> T + Send + 'static,
        T: Send + 'static,
    {
        fails_to_spawn()?;
        // SAFETY: a `'static` value outlives every thread.
        unsafe { self.launch(f) }
    }

    #[inline]
    #[track_caller]
    pub unsafe fn spawn_unchecked<F, T>(self, f: F) -> io::Result<JoinHandle<T>>
    where
        F: FnOnce() -> T + Send,
        T: Send,
    {
        fails_to_spawn()?;
        // SAFETY: the caller upholds the requirements.
        unsafe { self.launch(f) }
    }

    /// Spawns the thread. The search does not let this call fail. A method that may fail must call
    /// [`fails_to_spawn`] first.
    ///
    /// # Safety
    /// The thread must not outlive the borrows of `F` and `T`.
    #[inline]
    #[track_caller]
    pub(super) unsafe fn launch<F, T>(self, f: F) -> io::Result<JoinHandle<T>>
    where
        F: FnOnce() -> T + Send,
        T: Send,
    {
        if execution::active() {
            let (name, site) = (self.name.as_deref(), Location::caller());
            // SAFETY: the caller ensures that the thread does not outlive its borrows.
            let spawned = unsafe { packet::spawn(name, self.stack_size, None, f, site) };
            spawned.map(JoinHandle)
        } else {
            // SAFETY: the caller upholds the requirements of the real method.
            let real = unsafe { self.into_real().spawn_unchecked(f) }?;
            Ok(JoinHandle(Joining::of_real(real)))
        }
    }

    #[inline]
    #[track_caller]
    pub fn spawn_scoped<'scope, 'env, F, T>(
        self,
        scope: &'scope Scope<'scope, 'env>,
        f: F,
    ) -> io::Result<ScopedJoinHandle<'scope, T>>
    where
        F: FnOnce() -> T + Send + 'scope,
        T: Send + 'scope,
    {
        fails_to_spawn()?;
        scope.spawn_by(self, f, Location::caller())
    }

    pub(super) fn parts(&self) -> (Option<&str>, Option<usize>) {
        (self.name.as_deref(), self.stack_size)
    }

    pub(super) fn into_real(self) -> std::thread::Builder {
        let mut real = std::thread::Builder::new();
        if let Some(name) = self.name {
            real = real.name(name);
        }
        if let Some(size) = self.stack_size {
            real = real.stack_size(size);
        }
        if self.no_hooks {
            real = real.no_hooks();
        }
        real
    }
}

impl fmt::Debug for Builder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Builder")
            .field("name", &self.name)
            .field("stack_size", &self.stack_size)
            .field("no_hooks", &self.no_hooks)
            .finish()
    }
}
