//! The lines whose accesses are scheduling points: the lines that were found to race (CHESS,
//! section 3.5), or all lines.
//!
//! The scheduling points determine the schedules that exist. Therefore lines are added and never
//! removed, a search begins anew when a line is added, and each failure stores the number of lines.

use crate::base::checkpoint::Checkpoint;
use crate::base::codec::{self, Codec};
use crate::base::memory::{EngineVec, engine_vec};
use crate::base::source_path::short_path;
use crate::execution::Site;

/// The maximum number of lines that become scheduling points.
const MOST: usize = 64;
const CACHE: usize = 256;
/// The line number of the entries of groups. The lines of sources begin at 1.
const GROUP: u32 = 0;

/// A source line. The name of its file is the same on every machine.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Line {
    pub(crate) file: EngineVec<u8>,
    pub(crate) number: u32,
}

codec::codec!(Line { file, number });

impl Line {
    pub(crate) fn new(file: &str, number: u32) -> Self {
        let mut bytes = engine_vec();
        bytes.extend_from_slice(short_path(file).as_bytes());
        Self {
            file: bytes,
            number,
        }
    }
}

/// Operations without lines of their own, which become scheduling points together.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Group {
    /// The locks of the standard streams.
    Streams,
    /// Calls that use files, environment variables or attributes of the process.
    Files,
    /// Calls that use the state of descriptors.
    Descriptors,
    /// Reads of the clock.
    Clock,
    /// Fences of all tasks (`membarrier`). They are always scheduling points. This group states
    /// that the accesses before and after each operation have different epochs.
    Fences,
    /// Waits in which std parks the thread. They are always scheduling points. This group states
    /// that they touch the token of their task.
    Tokens,
}

impl Group {
    pub(crate) const ALL: [Self; 6] = [
        Self::Streams,
        Self::Files,
        Self::Descriptors,
        Self::Clock,
        Self::Fences,
        Self::Tokens,
    ];

    /// The file name of the entry in [`RacePoints`] for this group.
    fn file(self) -> &'static str {
        match self {
            Self::Streams => "<standard streams>",
            Self::Files => "<files and environment>",
            Self::Descriptors => "<state of descriptors>",
            Self::Clock => "<clock>",
            Self::Fences => "<fences of all tasks>",
            Self::Tokens => "<tokens of parked tasks>",
        }
    }
}

/// The lines whose accesses are scheduling points.
pub(crate) struct RacePoints {
    lines: EngineVec<Line>,
    /// For each group, in the order of [`Group::ALL`]: the index in `lines` of its entry.
    groups: [Option<usize>; Group::ALL.len()],
    /// The first `count` lines are scheduling points now.
    count: usize,
    /// The number of source lines among these. The others are the entries of groups.
    source_lines: usize,
    /// Accesses at all lines are scheduling points.
    pub(super) all: bool,
    /// Accesses at those lines of `lines` that are no scheduling points have events, too.
    shows_all: bool,
    /// The effect of accesses at some line may have changed since the last call of
    /// [`RacePoints::have_changed`].
    has_changed: bool,
    cache: [(usize, Point); CACHE],
}

/// The effect of an access on the search.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Point {
    None,
    /// An event.
    Event,
    /// A scheduling point, and an event.
    Scheduling,
}

impl RacePoints {
    pub(crate) const fn new() -> Self {
        Self {
            lines: engine_vec(),
            groups: [None; _],
            count: 0,
            source_lines: 0,
            all: false,
            shows_all: false,
            has_changed: true,
            cache: [(0, Point::None); CACHE],
        }
    }

    /// Whether any access may be a scheduling point or an event. The groups have no accesses.
    #[inline]
    pub(super) fn is_any(&self) -> bool {
        self.all || self.source_lines > 0 || self.shows_all
    }

    /// Whether the effect of accesses at some line may have changed since the last call of this
    /// method.
    #[inline]
    pub(super) fn have_changed(&mut self) -> bool {
        core::mem::take(&mut self.has_changed)
    }

    /// The effect of an access at `site` on the search. `is_preempted` returns whether the code of
    /// the line is preempted. If the code is not preempted, the line is no scheduling point.
    #[inline]
    pub(crate) fn of(&mut self, site: Site, is_preempted: impl FnOnce() -> bool) -> Point {
        if !self.is_any() {
            return Point::None;
        }
        let address = core::ptr::from_ref(site).addr();
        let slot = (address >> 3) & (CACHE - 1);
        let (cached, point) = self.cache[slot];
        if cached == address {
            return point;
        }
        let point = match self.place(site) {
            place
                if (self.all || place.is_some_and(|place| place < self.count))
                    && is_preempted() =>
            {
                Point::Scheduling
            }
            Some(_) if self.shows_all => Point::Event,
            _ => Point::None,
        };
        self.cache[slot] = (address, point);
        point
    }

    /// From now on until [`Self::set_count`] is called, accesses at added lines that are no
    /// scheduling points have events, too.
    pub(super) fn show_all(&mut self) {
        self.set_count(self.count);
        self.shows_all = true;
    }

    fn place(&self, site: Site) -> Option<usize> {
        // The number is compared first, because most sites are on none of the lines.
        let number = site.line();
        let is =
            |line: &Line| line.number == number && line.file == short_path(site.file()).as_bytes();
        self.lines.iter().position(is)
    }

    /// Adds the line of `site`. Returns `false` if the line is known, or there is no room for it.
    pub(super) fn add(&mut self, site: Site) -> bool {
        let is_new = self.place(site).is_none() && self.lines.len() < MOST;
        if is_new {
            self.push(Line::new(site.file(), site.line()));
        }
        is_new
    }

    /// Whether the operations of `group` are scheduling points.
    pub(crate) fn has(&self, group: Group) -> bool {
        self.groups[group as usize].is_some_and(|place| place < self.count)
    }

    /// Makes the operations of `group` scheduling points.
    pub(crate) fn add_group(&mut self, group: Group) {
        if !self.has(group) {
            self.push(Line::new(group.file(), GROUP));
        }
    }

    pub(crate) fn push(&mut self, line: Line) {
        let group = Group::ALL
            .into_iter()
            .find(|group| line.file == group.file().as_bytes());
        if let Some(group) = group {
            self.groups[group as usize].get_or_insert(self.lines.len());
        }
        self.lines.push(line);
        self.set_count(self.lines.len());
    }

    /// The first `count` lines.
    pub(crate) fn first(&self, count: usize) -> &[Line] {
        &self.lines[..count.min(self.lines.len())]
    }

    pub(crate) fn count(&self) -> usize {
        self.count
    }

    /// Makes only the first `count` lines scheduling points.
    pub(crate) fn set_count(&mut self, count: usize) {
        self.count = count.min(self.lines.len());
        let lines = self.first(count).iter();
        self.source_lines = lines.filter(|line| line.number != GROUP).count();
        self.shows_all = false;
        self.has_changed = true;
        self.cache = [(0, Point::None); CACHE];
    }
}

impl Codec for RacePoints {
    fn write(&self, out: &mut Checkpoint) {
        self.lines.write(out);
        self.all.write(out);
    }

    fn read(input: &mut &[u8]) -> Option<Self> {
        let mut points = Self::new();
        let lines = EngineVec::<Line>::read(input)?;
        for line in lines {
            points.push(line);
        }
        points.all = bool::read(input)?;
        Some(points)
    }
}

#[cfg(test)]
mod tests {
    use core::panic::Location;

    use super::*;

    #[test]
    fn lines_are_added_once_and_count_from_the_first_on() {
        let (first, second) = (Location::caller(), { Location::caller() });
        let mut points = RacePoints::new();
        assert!(points.of(first, || true) == Point::None && !points.is_any());
        assert!(points.add(first) && !points.add(first));
        assert_eq!(points.of(first, || true), Point::Scheduling);
        let one = points.count();
        points.push(Line::new("other.rs", 7));
        points.set_count(0);
        assert_eq!(points.of(second, || true), Point::None);
        points.set_count(one);
        let mut checkpoint = Checkpoint::new();
        points.write(&mut checkpoint);
        let bytes = checkpoint.to_bytes();
        let again = RacePoints::read(&mut &bytes[..]).unwrap();
        assert_eq!(again.first(9).len(), 2);
        assert_eq!(points.of(first, || true), Point::Scheduling);
    }

    #[test]
    fn lines_of_packages_that_are_not_preempted_are_no_scheduling_points() {
        let site = Location::caller();
        let mut points = RacePoints::new();
        points.all = true;
        assert_eq!(points.of(site, || false), Point::None);
        points.all = false;
        points.add(site);
        assert_eq!(points.of(site, || false), Point::None);
        points.set_count(0);
        points.show_all();
        assert_eq!(points.of(site, || false), Point::Event);
    }

    #[test]
    fn entries_of_groups_have_no_effect_on_accesses() {
        let mut points = RacePoints::new();
        for group in Group::ALL {
            points.add_group(group);
            assert!(points.has(group) && !points.is_any());
        }
        points.add(Location::caller());
        assert!(points.is_any());
        points.set_count(Group::ALL.len());
        assert!(points.has(Group::Clock) && !points.is_any());
    }
}
