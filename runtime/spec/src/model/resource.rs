//! Resources to wait for and to signal.

use std::panic::Location;

use super::registry;

/// Something to wait for: an event of a device, an answer of a service, a task of a runtime.
///
/// With resources, a test can contain a model of the environment of the tested code. Resources
/// have the semantics of Nekara (Agarwal and others, ASE 2021): a wait ends with a signal that
/// comes after its start, and a signal without a waiting thread is lost. A wait does not end
/// spuriously. The operations before a signal happen before the end of each wait that the signal
/// ends, and before each later wait for the resource.
///
/// Under cargo chess a wait begins in one step with the operation before it: no other thread runs
/// between `if !done.load(SeqCst)` and `finished.wait()`. A wait that no signal can end is
/// reported as a deadlock, at the line of the wait. Under plain `cargo test` a signal may come
/// between the load and the wait, and is lost. [`wait_while`] loses no signal in either case.
///
/// [`wait_while`]: Self::wait_while
///
/// # The interface of Nekara
///
/// Tasks of a model are threads: [`thread::spawn`] under cargo chess costs about as much as a call.
///
/// | Nekara | here |
/// |---|---|
/// | `attach`, `detach` | nothing: cargo chess begins and ends each execution |
/// | `create_operation(op)`, `start_operation(op)` | [`thread::spawn`], [`thread::scope`] |
/// | `end_operation(op)` | the end of the thread's closure |
/// | the join of an operation | [`JoinHandle::join`] |
/// | `schedule_next()` | [`scheduling_point`] |
/// | `wait_resource(r)` | [`wait`](Self::wait) |
/// | the wait for one of several resources, or for all | [`wait_any`](Self::wait_any), [`wait_all`](Self::wait_all) |
/// | `signal_resource(r)` | [`signal_all`](Self::signal_all) |
/// | the signal to one operation | [`signal`](Self::signal), of a resource of its own |
/// | `next_integer(min, max)` | `min + `[`choose`]`(count)`, with the count of integers in the range |
///
/// [`thread::spawn`]: std::thread::spawn
/// [`thread::scope`]: std::thread::scope
/// [`JoinHandle::join`]: std::thread::JoinHandle::join
/// [`scheduling_point`]: crate::scheduling_point
/// [`choose`]: crate::choose
///
/// # Examples
/// A runtime whose tasks are no threads. In the test each task is a thread, and a resource parks
/// it:
/// ```
/// use std::sync::Arc;
/// use std::sync::atomic::{AtomicUsize, Ordering::SeqCst};
/// use std::thread;
///
/// /// A task that runs until its first wake-up.
/// #[derive(Default)]
/// struct Task {
///     wakes: AtomicUsize,
///     woken: chess_spec::Resource,
/// }
///
/// impl Task {
///     fn park(&self) {
///         self.woken.wait_while(|| self.wakes.load(SeqCst) == 0);
///         self.wakes.fetch_sub(1, SeqCst);
///     }
///
///     fn wake(&self) {
///         self.wakes.fetch_add(1, SeqCst);
///         self.woken.signal();
///     }
/// }
///
/// let task = Arc::new(Task::default());
/// let parked = {
///     let task = Arc::clone(&task);
///     thread::spawn(move || task.park())
/// };
/// task.wake();
/// parked.join().unwrap();
/// ```
#[derive(Debug, Default)]
pub struct Resource {
    /// The address of this box identifies the resource.
    place: Box<u8>,
}

impl Resource {
    /// Creates a resource.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Waits for a signal.
    #[track_caller]
    pub fn wait(&self) {
        registry::wait(&[self.address()], false, None, Location::caller());
    }

    /// Waits for signals until the condition is false. No signal after the start of an evaluation
    /// of the condition is lost.
    #[track_caller]
    pub fn wait_while(&self, mut condition: impl FnMut() -> bool) {
        let site = Location::caller();
        loop {
            let seen = registry::signals(self.address());
            if !condition() {
                return;
            }
            registry::wait(&[self.address()], false, Some(seen), site);
        }
    }

    /// Waits for a signal of one of several resources. Returns the position of this resource.
    ///
    /// # Panics
    /// If there are no resources.
    ///
    /// # Examples
    /// ```
    /// use chess_spec::Resource;
    ///
    /// let (answer, timeout) = (Resource::new(), Resource::new());
    /// std::thread::scope(|scope| {
    ///     let first = scope.spawn(|| Resource::wait_any(&[&answer, &timeout]));
    ///     // Until the thread has ended: it may not wait yet.
    ///     while !first.is_finished() {
    ///         timeout.signal();
    ///         std::thread::yield_now();
    ///     }
    ///     assert_eq!(first.join().unwrap(), 1);
    /// });
    /// ```
    #[track_caller]
    pub fn wait_any(resources: &[&Self]) -> usize {
        assert!(!resources.is_empty(), "wait_any: there are no resources");
        let addresses = addresses(resources);
        let place = registry::wait(&addresses, true, None, Location::caller());
        let is_it = |it: &&Self| it.address() == addresses[place];
        resources.iter().position(is_it).unwrap_or(place)
    }

    /// Waits until each of several resources has been signalled. Returns at once if there are none.
    #[track_caller]
    pub fn wait_all(resources: &[&Self]) {
        if !resources.is_empty() {
            let addresses = addresses(resources);
            registry::wait(&addresses, false, None, Location::caller());
        }
    }

    /// Signals the resource to one waiting thread, which the search chooses. Under plain `cargo
    /// test`, this is the thread that has waited longest.
    #[track_caller]
    pub fn signal(&self) {
        registry::signal(self.address(), false, Location::caller());
    }

    /// Signals the resource to all waiting threads.
    #[track_caller]
    pub fn signal_all(&self) {
        registry::signal(self.address(), true, Location::caller());
    }

    fn address(&self) -> usize {
        let place: *const u8 = &*self.place;
        place as usize
    }
}

/// The addresses of resources, each once.
fn addresses(resources: &[&Resource]) -> Vec<usize> {
    let mut addresses = Vec::with_capacity(resources.len());
    for resource in resources {
        let address = resource.address();
        if !addresses.contains(&address) {
            addresses.push(address);
        }
    }
    addresses
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering::SeqCst};
    use std::thread;

    /// Signals until the threads have ended.
    fn end<T>(threads: &[thread::ScopedJoinHandle<'_, T>], signal: impl Fn()) {
        while threads.iter().any(|it| !it.is_finished()) {
            signal();
            thread::yield_now();
        }
    }

    #[test]
    fn a_wait_for_all_needs_each() {
        let (one, two) = (Resource::new(), Resource::new());
        let turns = AtomicUsize::new(0);
        thread::scope(|scope| {
            let threads = [scope.spawn(|| Resource::wait_all(&[&one, &two, &one]))];
            end(&threads, || {
                turns.fetch_add(1, SeqCst);
                one.signal_all();
                two.signal_all();
            });
        });
        assert!(turns.load(SeqCst) > 0);
    }

    #[test]
    fn a_wait_for_any_says_which() {
        let (one, two) = (Resource::new(), Resource::new());
        thread::scope(|scope| {
            let threads = [scope.spawn(|| Resource::wait_any(&[&one, &two]))];
            end(&threads, || two.signal());
            let [thread] = threads;
            assert_eq!(thread.join().unwrap(), 1);
        });
    }

    #[test]
    fn no_signal_between_a_look_and_a_wait_is_lost() {
        for _ in 0..100 {
            let (done, finished) = (AtomicBool::new(false), Resource::new());
            thread::scope(|scope| {
                scope.spawn(|| finished.wait_while(|| !done.load(SeqCst)));
                done.store(true, SeqCst);
                finished.signal();
            });
        }
    }

    #[test]
    #[should_panic(expected = "wait_any: there are no resources")]
    fn a_wait_for_none_never_ends() {
        Resource::wait_any(&[]);
    }
}
