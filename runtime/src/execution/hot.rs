//! The liveness properties of one execution that are hot.

use super::terms::Site;
use crate::base::memory::{EngineVec, engine_vec};

/// A property that is hot.
pub(crate) struct Hot {
    /// The address of the property's object; 0 if the object was dropped.
    pub(super) object: usize,
    pub(crate) name: EngineVec<u8>,
    /// The line of the last operation that made the property hot.
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
