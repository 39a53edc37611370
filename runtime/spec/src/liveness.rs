//! Liveness properties, which are hot while they require a later event.

use std::panic::Location;
use std::sync::{Mutex, PoisonError};
use std::thread;

type Site = &'static Location<'static>;

/// The property that some event finally happens: a request is answered, a worker stops.
///
/// An event that requires a later event makes the property *hot*, and the later event makes it
/// *cold*: the states are those of a liveness monitor of Coyote. A new property is cold.
///
/// Under cargo chess an execution fails if it ends while a property is hot, at the line of the
/// last [`hot`](Self::hot). If an execution has a deadlock or a livelock, the report of this
/// failure names the properties that are hot. Calls of [`hot`](Self::hot) and [`cold`](Self::cold)
/// are scheduling points.
///
/// Under plain `cargo test` the property is checked when it is dropped.
///
/// # Panics
/// Under plain `cargo test`, if the property is hot when a thread that is not panicking drops it.
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
    /// Under plain `cargo test`, the line of the last call of [`Self::hot`]; `None` while the
    /// property is cold. The address of the box identifies the property for a search.
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

    /// Makes the property hot: an event must follow.
    #[track_caller]
    pub fn hot(&self) {
        let site = Location::caller();
        if !become_hot(self.object(), &self.name, site) {
            self.set(Some(site));
        }
    }

    /// Makes the property cold: the event has happened.
    #[track_caller]
    pub fn cold(&self) {
        if !become_cold(self.object(), Location::caller()) {
            self.set(None);
        }
    }

    fn set(&self, hot: Option<Site>) {
        *self.hot.lock().unwrap_or_else(PoisonError::into_inner) = hot;
    }

    /// The address that identifies the property for a search.
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
            panic!(
                "the liveness property \"{}\" is still hot, since {since}",
                self.name
            );
        }
    }
}

/// Makes the property with the address `object` hot for the search. Returns `false` if no search
/// runs.
fn become_hot(object: usize, name: &str, site: Site) -> bool {
    let _ = (object, name, site);
    false
}

/// Makes the property with the address `object` cold for the search. Returns `false` if no search
/// runs.
fn become_cold(object: usize, site: Site) -> bool {
    let _ = (object, site);
    false
}

/// Announces to the search that the property with the address `object` no longer exists. Returns
/// `false` if no search runs.
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
    #[should_panic(expected = "the liveness property \"an answer\" is still hot, since ")]
    fn a_property_must_not_be_hot_at_its_end() {
        let liveness = Liveness::new("an answer");
        liveness.cold();
        liveness.hot();
    }
}
