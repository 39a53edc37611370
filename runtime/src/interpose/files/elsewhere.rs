//! The paths that a test writes outside its own directory for temporary files.
//!
//! Other test processes may write there at the same time. The supervisor does not run
//! tests that write the same path at the same time. Failed calls count too: the creation
//! of a file may fail because another process has created it.

use core::ffi::{CStr, c_char, c_int};

use super::known::known;
use super::path::{self, read_link};
use super::touches::Touches;
use crate::base::memory::{EngineVec, Place, engine_vec};
use crate::interpose::credentials;
use crate::platform::descriptor::own_path;

/// The highest number of paths that are reported.
const MOST: usize = 256;

/// The place of this state in the engine's memory.
pub(crate) const PLACE: Place<Elsewhere> = Place::after(&credentials::PLACE);

/// The paths that the test has written, and its own directory.
pub(crate) struct Elsewhere {
    /// The test's own directory; empty if it has none.
    own: EngineVec<u8>,
    paths: EngineVec<EngineVec<u8>>,
}

impl Elsewhere {
    pub(crate) const fn new() -> Self {
        Self {
            own: engine_vec(),
            paths: engine_vec(),
        }
    }

    /// Sets the test's own directory.
    pub(crate) fn set_own(&mut self, path: &str) {
        self.own.clear();
        self.own.extend_from_slice(path.as_bytes());
    }

    /// The paths, each once. A path that ends in `/` stands for all paths below it,
    /// too.
    pub(crate) fn paths(&self) -> impl Iterator<Item = &[u8]> {
        self.paths.iter().map(|path| &path[..])
    }

    fn is_own(&self, path: &[u8]) -> bool {
        let rest = path.strip_prefix(&self.own[..]);
        rest.is_some_and(|rest| rest.is_empty() || rest[0] == b'/')
    }

    fn add(&mut self, path: &[u8], is_tree: bool) {
        // A test without a directory of its own is not kept apart from others.
        if path.is_empty() || self.own.is_empty() || self.is_own(path) || self.paths.len() == MOST {
            return;
        }
        let is_same = |known: &EngineVec<u8>| {
            let (known, has_slash) = match known.split_last() {
                Some((b'/', rest)) => (rest, true),
                _ => (&known[..], false),
            };
            known == path && has_slash == is_tree
        };
        if self.paths.iter().any(is_same) {
            return;
        }
        let mut new = engine_vec();
        new.extend_from_slice(path);
        if is_tree {
            new.push(b'/');
        }
        self.paths.push(new);
    }
}

fn elsewhere() -> &'static mut Elsewhere {
    // SAFETY: one task runs at a time, and each use ends before the next scheduling point.
    unsafe { &mut *PLACE.get() }
}

/// Does the same as [`path::find`], for a call that changes the entry there and, if
/// `is_tree` is set, the entries below it.
///
/// # Safety
/// The path ends in a zero.
pub(super) unsafe fn find(
    directory: c_int,
    path: *const c_char,
    follows: bool,
    is_tree: bool,
    touches: &mut Touches,
) -> Option<path::Place> {
    // SAFETY: the caller's promise.
    let place = unsafe { path::find(directory, path, follows, touches) }?;
    elsewhere().add(&known().at, is_tree);
    Some(place)
}

/// Records the path of the open file that a task locks or changes.
pub(super) fn note_open(descriptor: c_int) {
    let own = own_path(b"fd/", descriptor);
    let mut link = engine_vec();
    let text = CStr::from_bytes_until_nul(&own).map_or(&b""[..], CStr::to_bytes);
    link.extend_from_slice(text);
    let mut at = engine_vec();
    if read_link(&mut link, &mut at) && at.first() == Some(&b'/') {
        elsewhere().add(&at, false);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_lies_outside_the_own_directory_is_kept_once() {
        let mut elsewhere = Elsewhere::new();
        elsewhere.add(b"/a", false);
        assert_eq!(elsewhere.paths().count(), 0);
        elsewhere.set_own("/tmp/own");
        for path in [
            &b"/tmp/own"[..],
            b"/tmp/own/x",
            b"/tmp/owner",
            b"/tmp",
            b"/tmp",
        ] {
            elsewhere.add(path, false);
        }
        elsewhere.add(b"/tmp", true);
        let paths: Vec<&[u8]> = elsewhere.paths().collect();
        assert_eq!(paths, [&b"/tmp/owner"[..], b"/tmp", b"/tmp/"]);
    }
}
