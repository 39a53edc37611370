//! The data of the journal of unsynced writes: copies of files, and the differences that calls made
//! to them. `unsynced_writes.rs` fills it, and loses writes.

use core::ffi::c_int;

use super::inode::Inode;
use crate::base::memory::{EngineVec, engine_vec};
use crate::base::sys::{self, number};
use crate::execution::{ComponentId, Site};

/// A difference that a call made to the bytes of a file.
pub(super) struct Change {
    pub(super) component: ComponentId,
    /// The line of the call.
    pub(super) site: Option<Site>,
    /// The place of the first byte that the call changed.
    pub(super) at: usize,
    /// The bytes that the call replaced.
    pub(super) old: EngineVec<u8>,
    /// The number of bytes that replaced the bytes in `old`.
    pub(super) new: usize,
}

/// A file that a component has written.
pub(super) struct Written {
    pub(super) inode: Inode,
    /// The journal's own descriptor of the file.
    pub(super) descriptor: c_int,
    /// A copy of the bytes of the file after the last change.
    pub(super) bytes: EngineVec<u8>,
    /// The changes since the file was synced.
    pub(super) changes: EngineVec<Change>,
}

impl Written {
    /// The number of changes that a crash of `component` may lose: the changes by `component`
    /// after the last change by another component.
    pub(super) fn unsynced(&self, component: ComponentId) -> usize {
        let last = self.changes.iter().rev();
        last.take_while(|it| it.component == component).count()
    }

    /// Undoes the last change in the copy, but not in the file.
    pub(super) fn undo(&mut self) {
        if let Some(Change { at, old, new, .. }) = self.changes.pop() {
            replace(&mut self.bytes, at, new, &old);
        }
    }

    /// Writes the bytes of the copy to the file.
    pub(super) fn restore(&self) {
        let descriptor = self.descriptor as usize;
        let (mut at, length) = (0, self.bytes.len());
        // SAFETY: the descriptor is the journal's own; the bytes are readable.
        unsafe {
            sys::syscall(number::FTRUNCATE, [descriptor, length, 0, 0, 0, 0]);
            while at < length {
                let start = self.bytes.as_ptr() as usize + at;
                let arguments = [descriptor, start, length - at, at, 0, 0];
                match sys::syscall(number::PWRITE64, arguments) {
                    written @ 1.. => at += written.cast_unsigned(),
                    _ => return,
                }
            }
        }
    }
}

/// The files that components have written.
pub(super) struct Journal {
    pub(super) files: EngineVec<Written>,
}

impl Journal {
    pub(super) const fn new() -> Self {
        Self {
            files: engine_vec(),
        }
    }

    /// Removes all files, for a new execution. The runtime has closed the descriptors of the
    /// journal already, together with all descriptors that the last execution left open.
    pub(super) fn clear(&mut self) {
        self.files.clear();
    }

    /// Whether the journal has open descriptors.
    pub(super) fn leaves_open(&self) -> bool {
        !self.files.is_empty()
    }

    pub(super) fn find(&mut self, inode: Inode) -> Option<&mut Written> {
        self.files.iter_mut().find(|it| it.inode.is(inode))
    }
}

/// Replaces the `count` bytes at the index `at` of `bytes` by `others`.
fn replace(bytes: &mut EngineVec<u8>, at: usize, count: usize, others: &[u8]) {
    let mut rest = engine_vec();
    rest.extend_from_slice(&bytes[at + count..]);
    bytes.truncate(at);
    bytes.extend_from_slice(others);
    bytes.extend_from_slice(&rest);
}

/// Returns the difference between two states of a file; `None` if they are equal. The result has
/// the index of the first differing byte, the number of bytes of `old` that are replaced from
/// there on, and the number of bytes of `new` that replace them.
pub(super) fn difference(old: &[u8], new: &[u8]) -> Option<(usize, usize, usize)> {
    let same = |(one, other): &(&u8, &u8)| one == other;
    let before = old.iter().zip(new).take_while(same).count();
    if before == old.len() && before == new.len() {
        return None;
    }
    let (old, new) = (&old[before..], &new[before..]);
    let after = { old.iter().rev() }.zip(new.iter().rev()).take_while(same);
    let after = after.count();
    Some((before, old.len() - after, new.len() - after))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_difference_can_be_undone() {
        for (old, new) in [
            (&b""[..], &b"new"[..]),
            (b"a record", b"a record and another"),
            (b"an old one", b"a new one"),
            (b"truncated", b""),
            (b"aaaa", b"aaaaaa"),
        ] {
            let (at, count, length) = difference(old, new).expect("they differ");
            let mut bytes = engine_vec();
            bytes.extend_from_slice(new);
            replace(&mut bytes, at, length, &old[at..at + count]);
            assert_eq!(&bytes[..], old);
        }
        assert_eq!(difference(b"same", b"same"), None);
    }
}
