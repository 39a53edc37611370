//! Liveness properties, which are hot while they require a later event.

use std::panic::Location;
use std::sync::{Mutex, PoisonError};
use std::thread;

type Site = &'static Location<'static>;

/// A property that something happens in the end: a request is answered, a worker stops.
///
/// It is *hot* from an event that requires another one, until that event makes it *cold*, as the states
/// of a monitor of Coyote. It is cold at first.
///
/// Under cargo chess an execution fails if it ends while a property is hot, at the line of the last
/// [`hot`](Self::hot). The report of a deadlock and of a livelock, which have no end, names the
/// properties that are hot. Both calls are scheduling points.
///
/// Under plain `cargo test` it is checked when it is dropped.
///
/// # Panics
/// Under plain `cargo test`, if it is hot when it is dropped by a thread that does not panic.
///
/// # Examples
/// ```
/// use std::sync::{Arc, mpsc};
/// use std::thread;
///
/// let progress = Arc::new(chess_spec::Liveness::new("a request is answered"));
/// let (request, requests) = mpsc::channel();
/// let server = {
///     let progress = Arc::clone(&progress);
///     thread::spawn(move || requests.iter().for_each(|()| progress.cold()))
/// };
/// progress.hot();
/// request.send(()).unwrap();
/// drop(request);
/// server.join().unwrap();
/// ```
#[derive(Debug)]
pub struct Liveness {
    name: String,
    /// Under plain `cargo test`, the line of the last call that made it hot.
    hot: Box<Mutex<Option<Site>>>,
}

impl Liveness {
    /// Creates a property that is cold.
    #[must_use]
    pub fn new(name: &str) -> Self {
        Self {
            name: name.to_owned(),
            hot: Box::default(),
        }
    }

    /// Makes it hot: an event must follow.
    #[track_caller]
    pub fn hot(&self) {
        let site = Location::caller();
        if !become_hot(self.object(), &self.name, site) {
            self.set(Some(site));
        }
    }

    /// Makes it cold: the event has happened.
    #[track_caller]
    pub fn cold(&self) {
        if !become_cold(self.object(), Location::caller()) {
            self.set(None);
        }
    }

    fn set(&self, hot: Option<Site>) {
        *self.hot.lock().unwrap_or_else(PoisonError::into_inner) = hot;
    }

    /// The address that stands for it.
    fn object(&self) -> usize {
        let place: *const _ = &*self.hot;
        place as usize
    }
}

impl Drop for Liveness {
    fn drop(&mut self) {
        if forget_hot(self.object()) || thread::panicking() {
            return;
        }
        let hot = self.hot.get_mut().unwrap_or_else(PoisonError::into_inner);
        if let Some(since) = hot {
            panic!("\"{}\" is still hot, since {since}", self.name);
        }
    }
}

/// Makes the property at this address hot for a search. Returns whether there is one.
fn become_hot(object: usize, name: &str, site: Site) -> bool {
    let _ = (object, name, site);
    false
}

/// Makes the property at this address cold for a search. Returns whether there is one.
fn become_cold(object: usize, site: Site) -> bool {
    let _ = (object, site);
    false
}

/// Announces to the search that the address stands for no property any more. Returns whether there
/// is a search.
fn forget_hot(object: usize) -> bool {
    let _ = object;
    false
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_property_may_be_hot_for_a_while() {
        let liveness = Liveness::new("an answer");
        liveness.hot();
        liveness.hot();
        liveness.cold();
    }

    #[test]
    #[should_panic(expected = "\"an answer\" is still hot, since ")]
    fn a_property_must_not_be_hot_at_its_end() {
        let liveness = Liveness::new("an answer");
        liveness.cold();
        liveness.hot();
    }
}
