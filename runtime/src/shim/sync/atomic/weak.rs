//! Atomic operations under a weak memory model.

use std::sync::atomic::Ordering;

use crate::execution::{self, Effect, How, Op, Site};
use crate::memory::{Access, Kind, Performed, Word, Would};
use crate::monitor::race;

/// An atomic operation of the running task, after the scheduling point of the operation.
pub(super) struct Operation {
    op: Op,
    access: Access,
    site: Site,
    /// The number of the store that the operation meets, among the stores from which the search
    /// may choose; 0 for the newest.
    choice: u32,
}

impl Operation {
    /// Reaches a scheduling point before the operation `op`, which is of the kind `kind`, on the
    /// value of `length` bytes at `address`.
    pub(super) fn arrives(
        op: Op,
        kind: Kind,
        (address, length): (usize, usize),
        (order, failure): (Ordering, Ordering),
        site: Site,
    ) -> Self {
        execution::before(op, address, site);
        let access = Access {
            address,
            size: length,
            kind,
            order,
            failure,
        };
        Self {
            op,
            access,
            site,
            choice: 0,
        }
    }

    /// Lets the search choose the store that the operation meets. `current` is the value in
    /// memory. `would` returns the effect of the operation if it reads a given value. Returns the
    /// value of the chosen store, or `None` if this is the newest store.
    pub(super) fn choose(&mut self, current: Word, would: &dyn Fn(Word) -> Would) -> Option<Word> {
        let access = &self.access;
        let offered = race::offer_stores(access, current, (self.op, self.site), would);
        if offered > 1 && race::notes_late_effect(access, self.op, self.site) {
            return None;
        }
        let name = |choice| race::offered_name(access, choice);
        let overtaken = |choice| race::overtaken_event(access, choice);
        self.choice = execution::choose_store(offered, &name, &overtaken);
        (self.choice != 0).then(|| race::offered_value(access, self.choice))
    }

    /// Whether an update that leaves the value unchanged counts as a load. It does if its ordering
    /// does not release (`Relaxed`, `Acquire`) and the task has not executed a fence, because then
    /// no other task can synchronize through the store of the update.
    pub(super) fn unchanged_update_is_load(&self) -> bool {
        matches!(self.access.order, Ordering::Relaxed | Ordering::Acquire)
            && !execution::has_fenced()
    }

    /// Records the performed operation. `written` is the value that the operation stored; `None`
    /// if the operation counts as a load. `is_kept` is true for an update that left the value
    /// unchanged, even if the update counts as a load.
    pub(super) fn done(self, written: Option<Word>, is_kept: bool) {
        let Self {
            op,
            access,
            site,
            choice,
        } = self;
        let (how, effect) = match (written, access.kind) {
            (None, _) => (How::Load, Effect::Read),
            (_, Kind::Store) => (How::Store, Effect::Write),
            _ if is_kept => (How::Exchange, Effect::Rewrite),
            _ => (How::Exchange, Effect::Write),
        };
        let report = race::Atomic {
            op,
            how,
            order: access.order_if(written.is_some() || is_kept),
            site: Some(site),
        };
        let performed = Performed {
            choice,
            written,
            is_kept,
            order: report.order,
        };
        race::meet_store(&access, performed, report);
        if effect.is_quiet()
            && let Some(version) = race::met_version()
        {
            execution::reads_version(version);
        }
        execution::effect(op, access.address, effect, site);
        race::settle_store(access.address, execution::version_of(access.address));
    }
}
