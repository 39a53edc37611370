//! Lines whose accesses are scheduling points: those that were seen to race (CHESS,
//! section 3.5), or all.
//!
//! What is a point decides what there is to explore. So lines are only ever added, a
//! search begins anew when one is, and each failure knows how many there were.

use crate::base::memory::{EngineVec, engine_vec};
use crate::base::stored::{self, Stored};
use crate::base::written::Written;
use crate::execution::Site;
use crate::harness::short_path;

/// So many lines become scheduling points.
const MOST: usize = 64;
const CACHE: usize = 256;

/// A line of a source file, named as on every machine.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Line {
    pub(crate) file: EngineVec<u8>,
    pub(crate) number: u32,
}

stored::stored!(Line { file, number });

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

/// The name that the locks of the standard streams have in place of a line's file.
const STREAMS: &str = "<standard streams>";
/// The name that files and environment variables have there.
const FILES: &str = "<files and environment>";

/// The lines whose accesses are scheduling points.
pub(crate) struct Points {
    lines: EngineVec<Line>,
    /// The place in `lines` that stands for the locks of the standard streams.
    streams: Option<usize>,
    /// The same for files and environment variables.
    files: Option<usize>,
    /// How many of `lines` count now.
    count: usize,
    /// All lines do.
    pub(super) all: bool,
    /// Those of `lines` that do not count have events, too.
    shows_all: bool,
    /// What a line is may have changed since somebody last asked.
    has_changed: bool,
    cache: [(usize, Point); CACHE],
}

/// What an access is, beside an access.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Point {
    /// Nothing.
    None,
    /// An event.
    Event,
    /// A scheduling point, and an event.
    Scheduling,
}

impl Points {
    pub(crate) const fn new() -> Self {
        Self {
            lines: engine_vec(),
            streams: None,
            files: None,
            count: 0,
            all: false,
            shows_all: false,
            has_changed: true,
            cache: [(0, Point::None); CACHE],
        }
    }

    /// Whether any access is a scheduling point.
    #[inline]
    pub(super) fn is_any(&self) -> bool {
        self.all || self.count > 0 || self.shows_all
    }

    /// Whether what a line is may have changed since this was last asked.
    #[inline]
    pub(super) fn have_changed(&mut self) -> bool {
        core::mem::take(&mut self.has_changed)
    }

    /// What an access at `site` is.
    #[inline]
    pub(crate) fn of(&mut self, site: Site) -> Point {
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
            _ if self.all => Point::Scheduling,
            Some(place) if place < self.count => Point::Scheduling,
            Some(_) if self.shows_all => Point::Event,
            _ => Point::None,
        };
        self.cache[slot] = (address, point);
        point
    }

    /// Lets those that do not count have events, until other ones do.
    pub(super) fn show_all(&mut self) {
        self.set_count(self.count);
        self.shows_all = true;
    }

    fn place(&self, site: Site) -> Option<usize> {
        let file = short_path(site.file()).as_bytes();
        let is = |line: &Line| line.number == site.line() && line.file == file;
        self.lines.iter().position(is)
    }

    /// Makes the line of `site` one; whether it was none before, and there was room.
    pub(super) fn add(&mut self, site: Site) -> bool {
        let is_new = self.place(site).is_none() && self.lines.len() < MOST;
        if is_new {
            self.push(Line::new(site.file(), site.line()));
        }
        is_new
    }

    /// Whether taking the lock of a standard stream is a scheduling point.
    pub(crate) fn has_streams(&self) -> bool {
        self.streams.is_some_and(|place| place < self.count)
    }

    /// Makes taking the lock of a standard stream a scheduling point.
    pub(crate) fn add_streams(&mut self) {
        if !self.has_streams() {
            self.push(Line::new(STREAMS, 0));
        }
    }

    /// Whether calls that use files or environment variables are scheduling points.
    pub(crate) fn has_files(&self) -> bool {
        self.files.is_some_and(|place| place < self.count)
    }

    /// Makes calls that use files or environment variables scheduling points.
    pub(crate) fn add_files(&mut self) {
        if !self.has_files() {
            self.push(Line::new(FILES, 0));
        }
    }

    pub(crate) fn push(&mut self, line: Line) {
        if line.file == STREAMS.as_bytes() {
            self.streams.get_or_insert(self.lines.len());
        }
        if line.file == FILES.as_bytes() {
            self.files.get_or_insert(self.lines.len());
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

    /// Lets only the first `count` lines count.
    pub(crate) fn set_count(&mut self, count: usize) {
        self.count = count.min(self.lines.len());
        self.shows_all = false;
        self.has_changed = true;
        self.cache = [(0, Point::None); CACHE];
    }
}

impl Stored for Points {
    fn write(&self, out: &mut Written) {
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
        let mut points = Points::new();
        assert!(points.of(first) == Point::None && !points.is_any());
        assert!(points.add(first) && !points.add(first));
        assert_eq!(points.of(first), Point::Scheduling);
        let one = points.count();
        points.push(Line::new("other.rs", 7));
        points.set_count(0);
        assert_eq!(points.of(second), Point::None);
        points.set_count(one);
        let mut written = Written::new();
        points.write(&mut written);
        let bytes = written.to_bytes();
        let again = Points::read(&mut &bytes[..]).unwrap();
        assert_eq!(again.first(9).len(), 2);
        assert_eq!(points.of(first), Point::Scheduling);
    }
}
