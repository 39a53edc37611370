//! The places in the program's source at which memory is allocated and freed.
//!
//! The allocator is called from the standard library's code, which knows no caller's
//! line. So once a schedule has failed it is run again, and where the numbers of the
//! block's allocation and free come up the stack is walked, in a process of its own:
//! names and lines take memory, and the program's must not be used for that.

use std::backtrace::Backtrace;

use super::super::Place;
use crate::engine::engine;
use crate::execution::{self, Execution, Site, TaskId};
use crate::platform::memory::engine_vec;
use crate::platform::sys;

/// Who did something to a block, and where.
#[derive(Clone, Debug)]
pub(super) struct Found {
    pub(super) task: TaskId,
    /// The innermost line of the program's own, if the executable tells lines.
    pub(super) place: Option<Place>,
    /// The line of the task's newest operation.
    pub(super) after: Option<Site>,
}

impl Found {
    /// The current task, at a place that is not known yet.
    pub(super) fn here(execution: &Execution) -> Self {
        let task = execution.current;
        Self {
            task,
            place: None,
            after: execution.task(task).site,
        }
    }
}

/// Finds the place where the caller is, for a [`Found`] that lies in the engine's memory.
#[cold]
pub(super) fn find(found: &mut Found) {
    let child = sys::fork_silently();
    if child == 0 {
        // SAFETY: the process has but this thread, a copy of the program's memory, and
        // the engine's, which nobody else uses now.
        unsafe {
            (*engine()).image.open();
            execution::forget_task();
            // Paths are shown relative to the current directory: away from the sources.
            sys::change_directory(c"/proc");
            found.place = innermost(&format!("{:?}", Backtrace::force_capture()));
        }
        sys::exit_now(0);
    }
    if child > 0 {
        sys::reap_silent(child);
    }
}

/// The innermost place of code that is preempted; where there is none, of code that is
/// not the standard library's. `frames` are those of a backtrace, as std shows them.
fn innermost(frames: &str) -> Option<Place> {
    let mut other = None;
    for (file, line) in frames.split("{ fn: ").filter_map(place_of) {
        // SAFETY: see `find`.
        let policies = unsafe { &(*engine()).execution.policies };
        let Some(file) = policies.source_name(file) else {
            continue;
        };
        let place = || {
            let mut bytes = engine_vec();
            bytes.extend_from_slice(file.as_bytes());
            Place {
                file: bytes,
                line,
                column: 1,
            }
        };
        if policies.is_preempted(file, line) {
            return Some(place());
        }
        other = other.or_else(|| Some(place()));
    }
    other
}

/// `"name", file: "path", line: 12 }`
fn place_of(frame: &str) -> Option<(&str, u32)> {
    let (_, rest) = frame.split_once(", file: \"")?;
    let (file, rest) = rest.split_once("\", line: ")?;
    let end = rest.find(|c: char| !c.is_ascii_digit())?;
    Some((file, rest[..end].parse().ok()?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_place_of_a_frame_is_read_as_std_shows_it() {
        let frames = format!("{:?}", Backtrace::force_capture());
        let places: Vec<_> = frames.split("{ fn: ").filter_map(place_of).collect();
        let own = places.iter().any(|(file, _)| file.ends_with("places.rs"));
        assert!(own, "{frames}");
        assert_eq!(
            place_of("\"a::{closure#0}\", file: \"/a b/c.rs\", line: 7 }, "),
            Some(("/a b/c.rs", 7))
        );
        assert_eq!(place_of("\"main\" }, "), None);
    }
}
