//! The numbers of tasks.

use core::fmt::{self, Display, Formatter};

use crate::words::shown;

/// A task of an execution; task 0 runs the test's body.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct TaskId(pub u32);

/// The name of a task to which the program gave no name.
impl Display for TaskId {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        match self.0 {
            0 => f.write_str(shown!("main")),
            number => write!(f, "{}{number}", shown!("task ")),
        }
    }
}
