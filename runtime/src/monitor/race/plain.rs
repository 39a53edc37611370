//! Plain accesses on their way to the monitors, and to the search where they are its events.

use super::race_points::Point;
use crate::execution::{DataAccess, Site, perform, plain_access, running};
use crate::monitor::{Monitor, monitors};

/// Reports that the task is about to access plain memory. This is no scheduling point. Accesses of
/// packages that are not explored are ignored.
#[inline(never)]
pub(super) fn data_access(
    address: usize,
    length: usize,
    is_write: bool,
    is_borrow: bool,
    site: Site,
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
        let mark = match (*monitors).races.mark_of(site) {
            Some(mark) => Some(mark),
            None if !(*execution).is_preempted_at(site) => return,
            None => match (*monitors).races.points.of(site) {
                Point::None => Some((*monitors).races.add_line(site)),
                Point::Event => {
                    plain_access(access, false);
                    None
                }
                Point::Scheduling => {
                    plain_access(access, true);
                    None
                }
            },
        };
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
