//! Reports of plain accesses to the monitors. If an access is an event, it is reported to the
//! search, too.

use super::Races;
use super::lines::mark_of;
use super::race_points::Point;
use super::shim_interface::Code;
use crate::execution::{DataAccess, Site, Step, plain_access, running};
use crate::monitor::{Monitor, monitors};

impl Races {
    /// The effect on the search of an access at the line `site`. `None` if the access is ignored.
    /// `is_preempted` returns whether the line's code is preempted.
    pub(super) fn point_of(
        &mut self,
        site: Site,
        code: Code,
        is_preempted: impl FnOnce() -> bool,
    ) -> Option<Point> {
        if code != Code::Any {
            return Some(self.points.of(site, is_preempted));
        }
        if self.fast_path.mark_of(site).is_some() {
            return Some(Point::None);
        }
        if !is_preempted() {
            return None;
        }
        let point = self.points.of(site, || true);
        if point == Point::None {
            self.fast_path.add_line(site);
        }
        Some(point)
    }
}

/// Reports that the running task is about to access plain memory: some bytes from an address on.
/// The `kind` consists of two flags: whether the access is a write, and whether it is a borrow. If
/// `site` is a line that was found to race, there is a scheduling point before the access. Accesses
/// of packages that are not explored are ignored, unless their code is instrumented.
#[inline(never)]
pub(super) fn data_access(
    (address, length): (usize, usize),
    kind: (bool, bool),
    (site, code): (Site, Code),
) {
    let Some(execution) = running() else { return };
    let monitors = monitors();
    let access = DataAccess::new((address, length), kind, site);
    let is_preempted = || execution.with(|it| it.is_preempted_at(site));
    // SAFETY: monitors do not call the engine, and this borrow ends in the call.
    let is_event = match unsafe { (*monitors).races.point_of(site, code, is_preempted) } {
        None => return,
        Some(Point::None) => false,
        Some(point) => {
            plain_access(access, point == Point::Scheduling);
            true
        }
    };
    execution.step(|it| {
        let task = it.schedule.current;
        // SAFETY: as above.
        let monitors = unsafe { &mut *monitors };
        let races = &mut monitors.races;
        let is_done = !races.is_on_other_stack(address)
            && (code == Code::Library && races.is_repeated(task, address, length, kind.0)
                || !is_event && races.notes(task, (address, length), kind, mark_of(Some(site))));
        if !is_done && monitors.data_access(it, access).is_break() {
            it.stop()
        } else {
            Step::Continue
        }
    });
}
