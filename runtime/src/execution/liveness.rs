//! Liveness properties of a test, like the monitors of Coyote: a property is hot while it requires
//! a later event.

use super::Op;
use super::hot::Hot;
use super::running::{running, with};
use super::terms::Site;
use crate::base::memory::engine_vec;

/// Makes the property at the address `object` hot. Returns whether the caller is a task.
pub fn become_hot(object: usize, name: &str, site: Site) -> bool {
    let Some(execution) = running() else {
        return false;
    };
    super::access(Op::Hot, object, site);
    execution.with(|it| {
        let hot = &mut it.liveness.hot;
        if let Some(known) = hot.iter_mut().find(|it| it.object == object) {
            known.since = site;
            return;
        }
        let mut text = engine_vec();
        text.extend_from_slice(name.as_bytes());
        hot.push(Hot {
            object,
            name: text,
            since: site,
        });
    });
    true
}

/// Makes the property at the address `object` cold. Returns whether the caller is a task.
pub fn become_cold(object: usize, site: Site) -> bool {
    let Some(execution) = running() else {
        return false;
    };
    super::access(Op::Cold, object, site);
    execution.with(|it| it.liveness.hot.retain(|it| it.object != object));
    true
}

/// Records that the object of a property is dropped. If the property is hot, it stays hot. Returns
/// whether the caller is a task.
pub fn forget_hot(object: usize) -> bool {
    with(|execution| {
        let hot = execution.liveness.hot.iter_mut();
        for it in hot.filter(|it| it.object == object) {
            it.object = 0;
        }
    })
    .is_some()
}
