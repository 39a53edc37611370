//! The files that an execution of the test created outside of the test's own directory and left
//! there: a later execution that creates them anew finds them, and differs.

use crate::base::memory::{EngineVec, engine_vec};

/// The highest number of paths that are known.
const MOST: usize = 256;

const EEXIST: isize = 17;
const EADDRINUSE: isize = 98;

/// The paths that executions of the test created.
pub(super) struct LeftFiles {
    /// The number of the current execution, from 1.
    execution: u64,
    created: EngineVec<CreatedPath>,
    /// The index of the path that the current execution found last.
    found: Option<usize>,
}

struct CreatedPath {
    path: EngineVec<u8>,
    /// The hash of the path.
    name: u64,
    /// The newest execution that created the path; 0 if none has created it.
    execution: u64,
}

impl LeftFiles {
    pub(super) const fn new() -> Self {
        Self {
            execution: 0,
            created: engine_vec(),
            found: None,
        }
    }

    pub(super) fn begin_execution(&mut self) {
        self.execution += 1;
        self.found = None;
    }

    /// Records that a call may create `path`, whose hash is `name`.
    pub(super) fn may_create(&mut self, name: u64, path: &[u8]) {
        if self.place_of(name).is_none() && self.created.len() < MOST {
            let mut own = engine_vec();
            own.extend_from_slice(path);
            self.created.push(CreatedPath {
                path: own,
                name,
                execution: 0,
            });
        }
    }

    /// Records the `result` of a system call that creates the path with the hash `name`.
    pub(super) fn ended(&mut self, name: u64, result: isize) {
        let Some(place) = self.place_of(name) else {
            return;
        };
        let created = &mut self.created[place];
        if result >= 0 {
            created.execution = self.execution;
        } else if matches!(-result, EEXIST | EADDRINUSE)
            && (1..self.execution).contains(&created.execution)
        {
            self.found = Some(place);
        }
    }

    /// The path that the current execution could not create, because an earlier execution had
    /// created it. If there are several such paths, the last one.
    pub(super) fn found(&self) -> Option<&[u8]> {
        self.found.map(|place| &self.created[place].path[..])
    }

    fn place_of(&self, name: u64) -> Option<usize> {
        self.created.iter().position(|created| created.name == name)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_path_of_an_earlier_execution_is_found() {
        let mut left = LeftFiles::new();
        left.begin_execution();
        left.may_create(1, b"/one");
        left.ended(1, -EEXIST);
        assert_eq!(left.found(), None, "the path is not of this test");
        left.may_create(2, b"/two");
        left.ended(2, 3);
        left.ended(2, -EEXIST);
        assert_eq!(left.found(), None, "this execution has created the path");
        left.begin_execution();
        left.ended(2, -EEXIST);
        assert_eq!(left.found(), Some(&b"/two"[..]));
        left.begin_execution();
        assert_eq!(left.found(), None);
        left.ended(2, 0);
        left.ended(2, -EADDRINUSE);
        assert_eq!(left.found(), None);
    }

    #[test]
    fn a_limited_number_of_paths_is_known() {
        let mut left = LeftFiles::new();
        left.begin_execution();
        for name in 0..2 * MOST as u64 {
            left.may_create(name, b"/path");
            left.ended(name, 0);
        }
        assert_eq!(left.created.len(), MOST);
    }
}
