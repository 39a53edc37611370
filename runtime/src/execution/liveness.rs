//! Liveness properties of a test: hot while they require a later event, as Coyote's monitors.

use super::Op;
use super::current::running;
use super::terms::Site;
use crate::base::memory::{EngineVec, engine_vec};

/// A property that is hot.
pub(crate) struct Hot {
    /// The address of its object; 0 if the object is gone.
    object: usize,
    pub(crate) name: EngineVec<u8>,
    /// The line of the last operation that made it hot.
    pub(crate) since: Site,
}

/// The properties of the running execution that are hot, in the order in which they became hot.
pub(crate) struct Liveness {
    pub(crate) hot: EngineVec<Hot>,
}

impl Liveness {
    pub(super) const fn new() -> Self {
        Self { hot: engine_vec() }
    }

    pub(super) fn clear(&mut self) {
        self.hot.clear();
    }
}

/// Makes the property at the address `object` hot. Returns whether the caller is a task.
pub fn become_hot(object: usize, name: &str, site: Site) -> bool {
    let Some(execution) = running() else {
        return false;
    };
    super::access(Op::Hot, object, site);
    // SAFETY: see `running`.
    let hot = unsafe { &mut (*execution).liveness.hot };
    match hot.iter_mut().find(|it| it.object == object) {
        Some(known) => known.since = site,
        None => {
            let mut text = engine_vec();
            text.extend_from_slice(name.as_bytes());
            hot.push(Hot {
                object,
                name: text,
                since: site,
            });
        }
    }
    true
}

/// Makes the property at the address `object` cold. Returns whether the caller is a task.
pub fn become_cold(object: usize, site: Site) -> bool {
    let Some(execution) = running() else {
        return false;
    };
    super::access(Op::Cold, object, site);
    // SAFETY: see `running`.
    let hot = unsafe { &mut (*execution).liveness.hot };
    hot.retain(|it| it.object != object);
    true
}

/// The object of a property is dropped. If the property is hot, it stays hot. Returns whether the
/// caller is a task.
pub fn forget_hot(object: usize) -> bool {
    let Some(execution) = running() else {
        return false;
    };
    // SAFETY: see `running`.
    let hot = unsafe { &mut (*execution).liveness.hot };
    for it in hot.iter_mut().filter(|it| it.object == object) {
        it.object = 0;
    }
    true
}
