//! The paths that a test uses outside of its own directory (the directory for its temporary
//! files), and its ports.
//!
//! Other test processes may use these paths. The supervisor does not run two tests at the same
//! time if it knows that one of them writes a path that the other uses. Failed calls count, too:
//! for instance, the creation of a file may have failed because another process has created the
//! file.

use core::ffi::{CStr, c_char, c_int};
use std::io::Write as _;

use super::inode::Inode;
use super::known::known;
use super::left_files::LeftFiles;
use super::path::{self, read_link};
use super::touches::Touches;
use crate::base::memory::{EngineVec, Place, engine_vec};
use crate::interpose::credentials;
use crate::platform::descriptor::own_path;

/// The highest number of written paths, and of read paths, that are recorded one by one.
const MOST: usize = 256;

/// Stands for all paths, if there are too many to record each of them.
const ALL: &[u8] = b"/";

/// The place of this state in the engine's memory.
pub(crate) const PLACE: Place<Elsewhere> = Place::after(&credentials::PLACE);

/// The use of a path by a call.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Use {
    /// The call depends on the entry at the path, or on the file there.
    Reads,
    /// The call depends on the entries of the directory at the path.
    Lists,
    /// The call changes the entry at the path, or the file there.
    Writes,
    /// The call changes the entry at the path, and the entries below it.
    WritesBelow,
}

/// The paths that the test has used outside of its own directory.
pub(crate) struct Elsewhere {
    /// The test's own directory; empty if it has none.
    own: EngineVec<u8>,
    written: Paths,
    read: Paths,
    left: LeftFiles,
}

/// A sorted list of paths. A path that ends in `/` stands for itself and all paths below it.
struct Paths(EngineVec<EngineVec<u8>>);

impl Paths {
    const fn new() -> Self {
        Self(engine_vec())
    }

    /// Adds a path, and also all paths below it if `is_tree` is set. If the list is full, adds all
    /// paths.
    fn add(&mut self, path: &[u8], is_tree: bool) {
        let is_full = self.0.len() >= MOST;
        let (path, is_tree) = if is_full {
            (&b""[..], true)
        } else {
            (path, is_tree)
        };
        let place = self.0.binary_search_by(|known| {
            let (known, has_slash) = match known.split_last() {
                Some((b'/', rest)) => (rest, true),
                _ => (&known[..], false),
            };
            (known, has_slash).cmp(&(path, is_tree))
        });
        if let Err(place) = place {
            let mut new = engine_vec();
            new.extend_from_slice(path);
            if is_tree {
                new.extend_from_slice(ALL);
            }
            self.0.insert(place, new);
        }
    }

    fn iter(&self) -> impl Iterator<Item = &[u8]> {
        self.0.iter().map(|path| &path[..])
    }
}

impl Elsewhere {
    pub(crate) const fn new() -> Self {
        Self {
            own: engine_vec(),
            written: Paths::new(),
            read: Paths::new(),
            left: LeftFiles::new(),
        }
    }

    /// Sets the test's own directory.
    pub(crate) fn set_own(&mut self, path: &str) {
        self.own.clear();
        self.own.extend_from_slice(path.as_bytes());
    }

    /// Must be called before each execution.
    pub(crate) fn begin_execution(&mut self) {
        self.left.begin_execution();
    }

    /// A path that the current execution could not create, because an earlier execution had
    /// created it.
    pub(crate) fn left_path(&self) -> Option<&[u8]> {
        self.left.found()
    }

    /// Removes [`Self::left_path`], if this path still leads to the file that an earlier execution
    /// had created. Returns whether the path was removed.
    pub(crate) fn remove_left_path(&mut self) -> bool {
        self.left.remove_found()
    }

    /// The paths that calls changed, each once. A path that ends in `/` stands for itself and all
    /// paths below it.
    pub(crate) fn written(&self) -> impl Iterator<Item = &[u8]> {
        self.written.iter()
    }

    /// The paths that calls used without a change, each once. A path that ends in `/` stands for
    /// itself and all paths below it.
    pub(crate) fn read(&self) -> impl Iterator<Item = &[u8]> {
        self.read.iter()
    }

    fn is_own(&self, path: &[u8]) -> bool {
        let rest = path.strip_prefix(&self.own[..]);
        rest.is_some_and(|rest| rest.is_empty() || rest[0] == b'/')
    }

    /// Whether a use of `path` is recorded. A test without a directory of its own is not kept apart
    /// from other tests.
    fn is_recorded(&self, path: &[u8]) -> bool {
        !path.is_empty() && !self.own.is_empty() && !self.is_own(path)
    }

    fn add(&mut self, path: &[u8], used: Use) {
        if !self.is_recorded(path) {
            return;
        }
        match used {
            Use::Reads => self.read.add(path, false),
            Use::Lists => self.read.add(path, true),
            Use::Writes => self.written.add(path, false),
            Use::WritesBelow => self.written.add(path, true),
        }
    }
}

fn elsewhere() -> &'static mut Elsewhere {
    // SAFETY: one task runs at a time, and each use ends before the next scheduling point.
    unsafe { &mut *PLACE.get() }
}

/// Does the same as [`path::find`]. Also records the path of the found entry, with the use `used`,
/// if this path is outside of the test's own directory. If the call may change the entry, also
/// finds the directory that has it.
///
/// # Safety
/// The path ends in a zero.
pub(super) unsafe fn find(
    directory: c_int,
    path: *const c_char,
    follows: bool,
    used: Use,
    touches: &mut Touches,
) -> Option<path::Place> {
    // SAFETY: the caller's promise.
    let mut place = unsafe { path::find(directory, path, follows, touches) }?;
    let at = &known().at;
    elsewhere().add(at, used);
    if matches!(used, Use::Writes | Use::WritesBelow) {
        place.parent = path::parent_of(at);
        if elsewhere().is_recorded(at) {
            elsewhere().left.may_create(place.name(), at);
        }
    }
    Some(place)
}

/// Records the `result` of a system call that creates the entry `place`, or fails if there is such
/// an entry. `file` is the file that is at the entry after the call.
pub(super) fn note_creation(place: path::Place, result: isize, file: Option<Inode>) {
    let left = &mut elsewhere().left;
    match file {
        Some(file) if result >= 0 => left.created(place.name(), file),
        _ => left.failed(place.name(), result),
    }
}

/// Records that a call has removed the entry `place`, or has put another file there.
pub(super) fn note_removal(place: path::Place) {
    elsewhere().left.removed(place.name());
}

/// Records the path of the file that is open as `descriptor` as written. Must be called when a
/// task locks this file, because another test process may lock it, too.
pub(super) fn note_open(descriptor: c_int) {
    let own = own_path(b"fd/", descriptor);
    let mut link = engine_vec();
    let text = CStr::from_bytes_until_nul(&own).map_or(&b""[..], CStr::to_bytes);
    link.extend_from_slice(text);
    let mut at = engine_vec();
    if read_link(&mut link, &mut at) && at.first() == Some(&b'/') {
        elsewhere().add(&at, Use::Writes);
    }
}

/// Records a port of the network as written: other test processes may use it, too. The port gets
/// the name of a path, `/port:` and its number.
pub(in super::super) fn note_port(port: u16) {
    let mut path = [0; 16];
    let mut room = &mut path[..];
    let _ = write!(room, "/port:{port}");
    let left = room.len();
    let length = path.len() - left;
    elsewhere().add(&path[..length], Use::Writes);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn uses_outside_the_own_directory_are_kept_once() {
        let mut elsewhere = Elsewhere::new();
        elsewhere.add(b"/a", Use::Writes);
        assert_eq!(elsewhere.written().count(), 0);
        elsewhere.set_own("/tmp/own");
        for path in [
            &b"/tmp/own"[..],
            b"/tmp/own/x",
            b"/tmp/owner",
            b"/tmp",
            b"/tmp",
        ] {
            elsewhere.add(path, Use::Writes);
        }
        elsewhere.add(b"/tmp", Use::WritesBelow);
        elsewhere.add(b"/tmp", Use::Lists);
        elsewhere.add(b"/tmp", Use::Reads);
        elsewhere.add(b"/tmp", Use::Lists);
        let written: Vec<&[u8]> = elsewhere.written().collect();
        assert_eq!(written, [&b"/tmp"[..], b"/tmp/", b"/tmp/owner"]);
        let read: Vec<&[u8]> = elsewhere.read().collect();
        assert_eq!(read, [&b"/tmp"[..], b"/tmp/"]);
    }

    #[test]
    fn too_many_paths_are_all_paths() {
        let mut paths = Paths::new();
        for number in 0..2 * MOST {
            paths.add(format!("/{number}").as_bytes(), false);
        }
        assert_eq!(paths.iter().count(), MOST + 1);
        assert_eq!(paths.iter().next(), Some(ALL));
    }
}
