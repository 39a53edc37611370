//! Path resolution: the directory entries that a call by a path reads on its way.
//!
//! The name of an entry is its path without links, which is the same in all executions. The rename
//! of a directory conflicts with all other calls on files, because it changes the names of all
//! entries below the directory.

use core::ffi::{CStr, c_char, c_int};

use super::known::{Inode, attributes, known};
use super::touches::Touches;
use super::{AT_FDCWD, AT_SYMLINK_NOFOLLOW};
use crate::base::fingerprint::mix;
use crate::base::memory::{EngineVec, engine_vec};
use crate::base::sys::{self, number};
use crate::execution::{Effect, Named, named};
use crate::platform::descriptor::own_path;

const ENOENT: isize = 2;
const ENOTDIR: isize = 20;
/// The highest number of links that are followed, as in the kernel.
const MOST_LINKS: usize = 40;
const PATH_MAX: usize = 4096;

/// The entry to which a path leads.
#[derive(Clone, Copy)]
pub(super) struct Place {
    /// The hash of the path of the entry.
    name: u64,
    /// The hash of the path of the directory that has the entry.
    directory: u64,
    /// The directory that has the entry, for calls that may change it; otherwise `None`.
    pub(super) parent: Option<Inode>,
    /// The file at the entry; `None` if there is none, or if it cannot be inspected.
    pub(super) inode: Option<Inode>,
}

impl Place {
    /// Returns the object that stands for the entry.
    pub(super) fn entry(self) -> usize {
        named(Named::Entry, self.name)
    }

    /// Returns the object that stands for all entries of the directory that has this entry.
    pub(super) fn directory(self) -> usize {
        named(Named::Directory, self.directory)
    }

    /// For an entry that is a directory: returns the object that stands for all entries in this
    /// directory.
    pub(super) fn entries(self) -> usize {
        named(Named::Directory, self.name)
    }

    /// Returns the name of a file that is created at the entry.
    pub(super) fn name(self) -> u64 {
        self.name
    }
}

/// Whether a path lies in a pseudo file system (`/proc` or `/sys`). No call of a task changes the
/// files there.
fn is_made_up(path: &[u8]) -> bool {
    let is_below = |root: &[u8]| {
        let rest = path.strip_prefix(root);
        rest.is_some_and(|rest| rest.is_empty() || rest[0] == b'/')
    };
    is_below(b"/proc") || is_below(b"/sys")
}

/// Whether a path in a pseudo file system can lead to a file outside of pseudo file systems.
fn leads_on(path: &[u8]) -> bool {
    let holds = |part: &[u8]| path.windows(part.len()).any(|window| window == part);
    holds(b"/fd/") || holds(b"/cwd") || holds(b"/root") || holds(b"/exe") || holds(b"/map_files")
}

fn hash(path: &[u8]) -> u64 {
    path.iter().fold(0x9ae1_6a3b_2f90_404f, |hash, &byte| {
        mix(hash, u64::from(byte) | 1 << 9)
    })
}

/// Returns the file at the path `at`; if this is a link, the link itself.
fn look(at: &mut EngineVec<u8>) -> Result<Inode, isize> {
    let is_root = at.is_empty();
    if is_root {
        at.push(b'/');
    }
    at.push(0);
    // SAFETY: the path ends in a zero.
    let found = unsafe { Inode::at(AT_FDCWD, at.as_ptr(), AT_SYMLINK_NOFOLLOW) };
    at.pop();
    if is_root {
        at.pop();
    }
    found
}

/// Returns the directory that has the entry at the path `at`.
pub(super) fn parent_of(at: &[u8]) -> Option<Inode> {
    let parent = at.iter().rposition(|&byte| byte == b'/')?;
    let mut path = engine_vec();
    path.extend_from_slice(&at[..parent]);
    look(&mut path).ok()
}

/// Stores the target of the link at path `at` in `into`. Returns whether it could be
/// read.
pub(super) fn read_link(at: &mut EngineVec<u8>, into: &mut EngineVec<u8>) -> bool {
    into.clear();
    into.resize(PATH_MAX, 0);
    at.push(0);
    let (path, out) = (at.as_ptr() as usize, into.as_mut_ptr() as usize);
    // SAFETY: the path ends in a zero, and there is room for `PATH_MAX` bytes.
    let length = unsafe { sys::syscall(number::READLINK, [path, out, PATH_MAX, 0, 0, 0]) };
    at.pop();
    into.truncate(usize::try_from(length).unwrap_or(0));
    length > 0 && length.cast_unsigned() < PATH_MAX
}

/// Stores in `at` the path of `directory`, from which a relative path starts. Returns whether this
/// path is known.
fn begin(directory: c_int, at: &mut EngineVec<u8>, touches: &mut Touches) -> bool {
    at.clear();
    let is_found = if directory == AT_FDCWD {
        touches.reads(Named::Place, CURRENT_DIRECTORY);
        at.resize(PATH_MAX, 0);
        let out = at.as_mut_ptr() as usize;
        // SAFETY: there is room for `PATH_MAX` bytes.
        let length = unsafe { sys::syscall(number::GETCWD, [out, PATH_MAX, 0, 0, 0, 0]) };
        at.truncate(usize::try_from(length - 1).unwrap_or(0));
        length > 0
    } else {
        let own = own_path(b"fd/", directory);
        let mut link = engine_vec();
        let text = CStr::from_bytes_until_nul(&own).map_or(&b""[..], CStr::to_bytes);
        link.extend_from_slice(text);
        read_link(&mut link, at)
    };
    if at.as_slice() == b"/" {
        at.clear();
        return is_found;
    }
    is_found && at.first() == Some(&b'/') && !at.ends_with(b" (deleted)")
}

/// The name of the object that stands for the current directory.
pub(super) const CURRENT_DIRECTORY: u64 = 16;

/// Finds the entry to which `path` leads from `directory` on, and adds the objects on the way to
/// `touches`. If the entry is a link and `follows` is set, finds the entry to which the link
/// leads. Returns `None` if the file there is a device or in a pseudo file system: no call of a
/// task could change it.
///
/// # Safety
/// The path ends in a zero.
pub(super) unsafe fn find(
    directory: c_int,
    path: *const c_char,
    follows: bool,
    touches: &mut Touches,
) -> Option<Place> {
    let unknown = Place {
        name: 0,
        directory: 0,
        parent: None,
        inode: None,
    };
    if path.is_null() {
        return Some(unknown);
    }
    let known = known();
    let mut at = core::mem::replace(&mut known.at, engine_vec());
    let mut rest = core::mem::replace(&mut known.rest, engine_vec());
    rest.clear();
    // SAFETY: the caller's promise.
    rest.extend_from_slice(unsafe { CStr::from_ptr(path) }.to_bytes());
    let found = if rest.is_empty() {
        at.clear();
        Some(unknown)
    } else {
        follow(directory, &mut at, &mut rest, follows, touches)
    };
    let known = self::known();
    (known.at, known.rest) = (at, rest);
    match found {
        Some(place) => {
            touches.is_about(place.entry(), Effect::Read);
            if let Some(inode) = place.inode {
                if inode.is_device() {
                    return None;
                }
                touches.add(attributes(inode), Effect::Read);
            }
            Some(place)
        }
        None => None,
    }
}

/// Finds the entry for [`find`]. The path is in `rest`. Stores the path of the entry in `at`.
fn follow(
    directory: c_int,
    at: &mut EngineVec<u8>,
    rest: &mut EngineVec<u8>,
    follows: bool,
    touches: &mut Touches,
) -> Option<Place> {
    if rest[0] == b'/' {
        at.clear();
    } else if !begin(directory, at, touches) {
        touches.use_everything();
        at.clear();
    }
    let (mut next, mut links, mut is_followed) = (0, 0, false);
    loop {
        next += rest[next..]
            .iter()
            .take_while(|&&byte| byte == b'/')
            .count();
        let length = rest[next..]
            .iter()
            .take_while(|&&byte| byte != b'/')
            .count();
        let end = next + length;
        if length == 0 {
            // The path leads to the directory itself.
            let parent = at.iter().rposition(|&byte| byte == b'/').unwrap_or(0);
            return Some(Place {
                name: hash(at),
                directory: hash(&at[..parent]),
                parent: None,
                inode: look(at).ok(),
            });
        }
        match &rest[next..end] {
            b"." => {
                next = end;
                continue;
            }
            b".." => {
                let parent = at.iter().rposition(|&byte| byte == b'/').unwrap_or(0);
                at.truncate(parent);
                next = end;
                continue;
            }
            _ => {}
        }
        let parent = at.len();
        at.push(b'/');
        at.extend_from_slice(&rest[next..end]);
        if !is_followed && is_made_up(at) {
            if !leads_on(at) && !leads_on(&rest[end..]) {
                return None;
            }
            is_followed = true;
            touches.use_everything();
        }
        let is_last = rest[end..].iter().all(|&byte| byte == b'/');
        let mut place = Place {
            name: hash(at),
            directory: hash(&at[..parent]),
            parent: None,
            inode: None,
        };
        let inode = match look(at) {
            Ok(inode) => inode,
            Err(error) => {
                if error != -ENOENT && error != -ENOTDIR {
                    touches.use_everything();
                }
                return Some(place);
            }
        };
        if inode.is_link() && (!is_last || follows || end < rest.len()) {
            touches.reads(Named::Entry, place.name);
            links += 1;
            let mut target = engine_vec();
            if links > MOST_LINKS || !read_link(at, &mut target) {
                touches.use_everything();
                return Some(place);
            }
            if target[0] == b'/' {
                at.clear();
            } else {
                at.truncate(parent);
            }
            target.extend_from_slice(&rest[end..]);
            *rest = target;
            next = 0;
            continue;
        }
        place.inode = Some(inode);
        if is_last {
            return Some(place);
        }
        touches.reads(Named::Entry, place.name);
        next = end;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_that_the_kernel_generates_are_recognised_by_their_path() {
        assert!(is_made_up(b"/proc/self/maps") && is_made_up(b"/sys"));
        assert!(!is_made_up(b"/process") && !is_made_up(b"/tmp/proc"));
        assert!(leads_on(b"/proc/self/fd/3") && !leads_on(b"/proc/self/maps"));
    }

    #[test]
    fn names_distinguish_paths() {
        assert_ne!(hash(b"/a/b"), hash(b"/a/c"));
        assert_ne!(hash(b"/a"), hash(b"/a/a"));
    }
}
