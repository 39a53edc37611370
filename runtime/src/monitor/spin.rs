//! Loops that wait without yielding (the good-samaritan rule of CHESS): a warning or a failure.

use core::ops::ControlFlow;

use chess_vocabulary::Kind;

use super::levels::{Level, Levels};
use super::{End, Failure, Monitor};
use crate::base::codec;
use crate::base::memory::{EngineVec, engine_vec};
use crate::base::source_path::Place;
use crate::execution::{Access, Execution, NO_LINE, Site};

/// A read that a loop repeats without a yield.
#[derive(Clone, PartialEq, Eq)]
pub(crate) struct Spin {
    /// The name of the operation.
    pub(crate) operation: &'static str,
    /// `None` if the line is not known.
    pub(crate) place: Option<Place>,
    /// Whether the loop is known to wait. If not, it counts as yielding only because it is long.
    pub(crate) waits: bool,
}

/// Records the loops in which tasks wait without yielding. A loop waits if an iteration begins in
/// the same state as an earlier one: then the task cannot leave the loop until another task writes.
/// So the verdict depends only on the objects that the loop has read.
pub(crate) struct Spins {
    levels: Levels,
    /// The loops of this execution that cause a warning, and whether each is known to wait.
    noted: EngineVec<(Access, bool)>,
    /// The loop that ends this execution.
    denied: Option<Access>,
    /// The loops of earlier executions that cause a warning.
    pub(crate) known: EngineVec<Spin>,
}

impl Spins {
    pub(super) const fn new() -> Self {
        Self {
            levels: Levels::new(Level::Warn),
            noted: engine_vec(),
            denied: None,
            known: engine_vec(),
        }
    }

    /// Sets the level of each loop, by the file in which the loop is: see [`Levels::set`].
    pub(crate) fn set_levels(&mut self, of_others: Level, rules: &[(String, Level)]) {
        self.levels.set(of_others, rules);
    }

    /// Whether a loop at `site` is a failure. `site` is `None` if the line of the loop is not
    /// known.
    pub(crate) fn denies(&self, site: Option<Site>) -> bool {
        self.levels.of(site.unwrap_or(NO_LINE)) == Level::Deny
    }

    /// The loops that cause a warning, one for each line of the source, sorted by file and line.
    pub(crate) fn by_line(&self) -> Vec<Spin> {
        let mut all = self.known.to_vec();
        let line = |place: &Place| (place.file.clone(), place.line);
        let waits_last = |spin: &Spin| (spin.place.as_ref().map(line), spin.waits);
        let column = |spin: &Spin| spin.place.as_ref().map(|place| place.column);
        all.sort_by_cached_key(|spin| (waits_last(spin), column(spin), spin.operation));
        all.dedup_by_key(|spin| waits_last(spin));
        all
    }

    /// Adds the loops of the last execution to the known ones.
    pub(crate) fn learn(&mut self) {
        for (read, waits) in self.noted.drain(..) {
            let is_known = |spin: &Spin| spin.is_of(read) && spin.waits == waits;
            if !self.known.iter().any(is_known) {
                self.known.push(Spin {
                    operation: read.op.name(),
                    place: place_of(read),
                    waits,
                });
            }
        }
    }
}

codec::codec!(Spin {
    operation,
    place,
    waits,
});

impl Spin {
    fn is_of(&self, read: Access) -> bool {
        self.operation == read.op.name() && self.place == place_of(read)
    }
}

/// The place of a read; `None` if its line is not known.
fn place_of(read: Access) -> Option<Place> {
    (!core::ptr::eq(read.site, NO_LINE)).then(|| Place::of(read.site))
}

impl Monitor for Spins {
    #[inline]
    fn begin(&mut self) {
        self.noted.clear();
        self.denied = None;
    }

    fn spins(&mut self, _: &Execution, read: Access, waits: bool) -> ControlFlow<()> {
        // A loop that is only long limits the explored schedules, so it is always a warning. The
        // level applies only to loops that are known to wait.
        let level = if waits {
            self.levels.of(read.site)
        } else {
            Level::Warn
        };
        match level {
            Level::Allow => {}
            Level::Warn if self.noted.contains(&(read, waits)) => {}
            Level::Warn => self.noted.push((read, waits)),
            Level::Deny => {
                self.denied = Some(read);
                return ControlFlow::Break(());
            }
        }
        ControlFlow::Continue(())
    }

    #[inline]
    fn end(&mut self, _: &End<'_>) -> Option<Failure> {
        let denied = self.denied?;
        Some(Failure {
            place: place_of(denied),
            ..Failure::new(Kind::Spin, "")
        })
    }

    fn explain(&self, failure: &mut Failure) {
        if failure.kind == Kind::Spin
            && let Some(denied) = self.denied
        {
            let words = format!(
                "a loop repeats `{}` without yielding until another thread changes the value; call \
                 std::thread::yield_now or std::hint::spin_loop in the loop, or wait on a condition \
                 variable or a channel",
                denied.op.name()
            );
            failure.message.clear();
            failure.message.extend_from_slice(words.as_bytes());
        }
    }
}
