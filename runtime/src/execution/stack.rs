//! The stack of the calling task, in readable form.
//!
//! The stack is walked in a process of its own: names and lines need memory, and the walk must not
//! use the program's memory.

use std::backtrace::Backtrace;

use super::current;
use super::state::execution;
use crate::base::memory::engine_vec;
use crate::base::source_path::Place;
use crate::base::sys;
use crate::platform::image::image;

/// A function that has not returned.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Frame {
    pub(crate) function: String,
    /// The source file and the line in it, if the executable has debug information for them.
    pub(crate) place: Option<(String, u32)>,
}

/// Calls `look` in a copy of this process, which shares only the engine's memory with it, and waits
/// until the call has returned.
#[cold]
pub(crate) fn in_a_copy(look: impl FnOnce()) {
    let child = sys::fork_silently();
    if child == 0 {
        // SAFETY: the process has only this thread, a copy of the program's memory, and the
        // engine's memory, which no other process uses now.
        unsafe { (*image()).open() };
        current::leave();
        // Paths are shown relative to the current directory, which must therefore not contain the
        // sources.
        sys::change_directory(c"/proc");
        look();
        sys::exit_now(0);
    }
    if child > 0 {
        sys::reap_silent(child);
    }
}

/// The caller's frames, the innermost first, including those of functions that the compiler
/// inlined. Must only be called within [`in_a_copy`].
pub(crate) fn frames() -> Vec<Frame> {
    let frames = format!("{:?}", Backtrace::force_capture());
    frames.split("{ fn: ").skip(1).map(Frame::read).collect()
}

/// Walks the stack of the caller in a copy of this process (see [`in_a_copy`]), and sets `place` to
/// the innermost line of the program's own code. `place` must be in the engine's memory: the copy
/// shares only this memory with this process.
#[cold]
pub(crate) fn find_own_place(place: &mut Option<Place>) {
    in_a_copy(|| {
        let frames = frames();
        let frame = innermost(&frames).map(|number| &frames[number]);
        *place = frame.and_then(Frame::own_place).map(|(file, line)| {
            let mut bytes = engine_vec();
            bytes.extend_from_slice(file.as_bytes());
            Place {
                file: bytes,
                line,
                column: 1,
            }
        });
    });
}

impl Frame {
    /// Parses a frame as std formats it: `"name", file: "path", line: 12 }`.
    fn read(text: &str) -> Self {
        let place = || {
            let (_, rest) = text.split_once(", file: \"")?;
            let (file, rest) = rest.split_once("\", line: ")?;
            let end = rest.find(|c: char| !c.is_ascii_digit())?;
            Some((file.to_owned(), rest[..end].parse().ok()?))
        };
        let name = text.strip_prefix('"').and_then(|rest| rest.split_once('"'));
        Self {
            function: name.map_or_else(String::new, |(name, _)| name.to_owned()),
            place: place(),
        }
    }

    /// The source file in the form that sites use, and the line; `None` for the standard library.
    pub(crate) fn own_place(&self) -> Option<(&str, u32)> {
        // SAFETY: see `in_a_copy`.
        let policies = unsafe { &(*execution()).policies };
        let (file, line) = self.place.as_ref()?;
        Some((policies.source_name(file)?, *line))
    }

    /// Whether the frame belongs to code that is preempted.
    pub(crate) fn is_preempted(&self) -> bool {
        // SAFETY: see `in_a_copy`.
        let policies = unsafe { &(*execution()).policies };
        let place = self.own_place();
        place.is_some_and(|(file, line)| policies.is_preempted(file, line))
    }
}

/// The index of the innermost frame of code that is preempted. If there is none, the innermost
/// frame of code outside the standard library.
pub(crate) fn innermost(frames: &[Frame]) -> Option<usize> {
    let other = || frames.iter().position(|frame| frame.own_place().is_some());
    frames.iter().position(Frame::is_preempted).or_else(other)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_frame_is_read_as_std_shows_it() {
        let frames = frames();
        let is_own = |frame: &Frame| {
            let file = frame.place.as_ref().map(|(file, _)| file);
            file.is_some_and(|file| file.ends_with("stack.rs"))
                && frame.function.ends_with("a_frame_is_read_as_std_shows_it")
        };
        assert!(frames.iter().any(is_own), "{frames:?}");
        let frame = Frame::read("\"a::{closure#0}\", file: \"/a b/c.rs\", line: 7 }, ");
        assert_eq!(frame.function, "a::{closure#0}");
        assert_eq!(frame.place, Some(("/a b/c.rs".to_owned(), 7)));
        assert_eq!(Frame::read("\"main\" }, ").place, None);
        assert_eq!(Frame::read("<unknown> }, ").function, "");
    }
}
