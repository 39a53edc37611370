//! Plain accesses on their way to the monitors, and to the search where they are its events.

use super::order::Code;
use super::race_points::Point;
use crate::execution::{DataAccess, Site, perform, plain_access, running};
use crate::monitor::{Monitor, monitors};

/// Reports that the task is about to access plain memory. This is no scheduling point. Accesses of
/// packages that are not explored are ignored, unless their code is instrumented.
#[inline(never)]
pub(super) fn data_access(
    address: usize,
    length: usize,
    (is_write, is_borrow): (bool, bool),
    (site, code): (Site, Code),
) {
    let Some(execution) = running() else { return };
    let access = DataAccess {
        address,
        size: length,
        is_write,
        is_borrow,
        site,
    };
    let monitors = monitors();
    // SAFETY: see `running`; monitors do not call the engine, and no reference lives
    // across `perform`.
    unsafe {
        let mut mark = (*monitors).races.mark_of(site);
        if mark.is_none() {
            let is_preempted = (*execution).is_preempted_at(site);
            if code == Code::Any && !is_preempted {
                return;
            }
            match (*monitors).races.points.of(site, is_preempted) {
                Point::None => mark = Some((*monitors).races.add_line(site)),
                Point::Event => plain_access(access, false),
                Point::Scheduling => plain_access(access, true),
            }
        }
        if code == Code::Library
            && (*monitors)
                .races
                .is_repeated((*execution).current, address, length, is_write)
        {
            return;
        }
        if let Some(mark) = mark {
            let is_noted = (*monitors).races.notes(
                (*execution).current,
                (address, length),
                (is_write, is_borrow),
                mark,
            );
            if is_noted {
                return;
            }
        }
        if (*monitors).data_access(&*execution, access).is_break() {
            perform((*execution).stop());
        }
    }
}
