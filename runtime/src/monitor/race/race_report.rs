//! The races that were found, one for each pair of lines, and their descriptions.

use core::fmt::{self, Write};

use super::clock::{Owner, Release};
use super::{Earlier, Look, Races, What};
use crate::base::fingerprint::mix;
use crate::base::memory::{EngineVec, engine_vec};
use crate::base::source_path::{Place, short_path};
use crate::execution::{Op, Site, TaskId, stack};
use crate::monitor::{Failure, Kind, Level};

/// The maximum number of pairs of lines that are reported for one execution.
const MOST: usize = 16;

/// Two accesses that race.
pub(crate) struct RaceReport {
    earlier: Option<Site>,
    later: Option<Site>,
    /// Whether the later access is the free of the memory.
    pub(super) is_of_free: bool,
    /// The line of the later access by a walk of the stack, if there was one.
    place: Option<Place>,
    words: EngineVec<u8>,
}

impl RaceReport {
    /// The place to report: the place of the later access, or of the earlier one if that is
    /// unknown.
    pub(super) fn place(&self) -> Option<Place> {
        { self.place.clone() }.or_else(|| self.site().map(Place::of))
    }

    /// The line of the later access, or of the earlier one if that is unknown. The line of a free
    /// is the line of the task's last statement before it.
    pub(crate) fn site(&self) -> Option<Site> {
        self.later.or(self.earlier)
    }

    /// A sentence that names both accesses and the missing order.
    pub(crate) fn words(&self) -> &[u8] {
        &self.words
    }

    pub(super) fn sites(&self) -> [Option<Site>; 2] {
        [self.earlier, self.later]
    }

    /// A number that identifies the pair of lines. It does not depend on the order of the
    /// accesses.
    pub(crate) fn pair(&self) -> u64 {
        let name = |site: Option<Site>| {
            let (file, number) = line(site).unwrap_or_default();
            let bytes = file.bytes().map(u64::from);
            bytes.fold(number.into(), mix)
        };
        name(self.earlier) ^ name(self.later)
    }

    fn is_between(&self, earlier: Option<Site>, later: Option<Site>) -> bool {
        let lines = (line(self.earlier), line(self.later));
        lines == (line(earlier), line(later)) || lines == (line(later), line(earlier))
    }
}

fn line(site: Option<Site>) -> Option<(&'static str, u32)> {
    site.map(|site| (site.file(), site.line()))
}

impl Races {
    /// The failure for the races of the last execution. `None` if none of them has the level
    /// [`Level::Deny`].
    pub(super) fn failure(&self) -> Option<Failure> {
        if self.found.is_empty() {
            return None;
        }
        let mut denied = self.found(Level::Deny);
        let first = denied.next()?;
        let mut failure = Failure::new(Kind::Race, "data race: ");
        failure.message.extend_from_slice(first.words());
        for other in denied {
            failure.message.extend_from_slice(b"\nalso: ");
            failure.message.extend_from_slice(other.words());
        }
        failure.place = first.place();
        Some(failure)
    }

    /// Records that an access of `task` races with the access `earlier`.
    #[cold]
    pub(super) fn note(&mut self, earlier: Earlier, task: TaskId, what: What, site: Option<Site>) {
        let known = |found: &RaceReport| found.is_between(earlier.site, site);
        if self.found.len() == MOST || self.found.iter().any(known) {
            return;
        }
        let Owner::Task {
            task: owner, end, ..
        } = self.epochs.owner(earlier.epoch)
        else {
            return;
        };
        let (other, own) = (Called(TaskId(owner)), Called(task));
        self.found.push(RaceReport {
            earlier: earlier.site,
            later: site,
            is_of_free: matches!(what, What::Free | What::Unmap),
            place: None,
            words: engine_vec(),
        });
        let Some(report) = self.found.last_mut() else {
            return;
        };
        if report.is_of_free && self.look == Look::Now {
            stack::find_own_place(&mut report.place);
        }
        let mut words = Text(engine_vec());
        let _ = write!(words, "the {what} by {own}");
        let _ = match &report.place {
            Some(place) => {
                let file = core::str::from_utf8(&place.file).unwrap_or_default();
                write!(words, " at {}:{}", short_path(file), place.line)
            }
            None => write!(words, "{}", At(site)),
        };
        let _ = write!(
            words,
            " races with the {} by {other}{}: {other} has ",
            earlier.what,
            At(earlier.site),
        );
        let _ = match end {
            None => words.write_str("performed no release since"),
            Some(Release { op: Op::Exit, .. }) => {
                write!(
                    words,
                    "ended since, but {own} has not waited for the end of {other}"
                )
            }
            Some(end) => write!(
                words,
                "since performed the release {}{}, but {own} has not synchronized with this release",
                end.op.name(),
                At(end.site)
            ),
        };
        report.words = words.0;
    }
}

impl fmt::Display for What {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Read => f.write_str("read"),
            Self::Write => f.write_str("write"),
            Self::Borrow => f.write_str("shared borrow"),
            Self::BorrowMut => f.write_str("unique borrow"),
            Self::Allocation => f.write_str("allocation of its block"),
            Self::Free => f.write_str("free"),
            Self::StackEnd => f.write_str("free of its stack"),
            Self::Unmap => f.write_str("unmapping"),
            Self::Atomic(op, _) => write!(f, "atomic {}", op.name()),
        }
    }
}

struct Called(TaskId);

impl fmt::Display for Called {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0.0 {
            0 => f.write_str("main"),
            number => write!(f, "task {number}"),
        }
    }
}

struct At(Option<Site>);

impl fmt::Display for At {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            Some(site) => write!(f, " at {}:{}", short_path(site.file()), site.line()),
            None => Ok(()),
        }
    }
}

/// Text in the engine's memory.
struct Text(EngineVec<u8>);

impl Write for Text {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        self.0.extend_from_slice(text.as_bytes());
        Ok(())
    }
}
