//! The error of a run in which no test was under control.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use super::list::ListedTest;
use crate::error::Error;

/// The highest number of tests that are named for one reason.
const NAMED: usize = 5;

/// The error for a run in which none of `tests` could be explored, with the reasons and remedies.
pub(super) fn error(tests: &[ListedTest]) -> Error {
    let mut by_reason = BTreeMap::<_, Vec<&ListedTest>>::new();
    for test in tests {
        if let Some(why) = test.not_explored {
            by_reason.entry(why).or_default().push(test);
        }
    }
    let mut text = "no test of this run is under control, so nothing was explored:\n".to_owned();
    for (why, tests) in by_reason {
        let named = tests
            .iter()
            .take(NAMED)
            .map(|test| format!("`{}`", test.id));
        let mut list = named.collect::<Vec<_>>().join(", ");
        if let Some(more) = tests.len().checked_sub(NAMED).filter(|more| *more > 0) {
            let _ = write!(list, " and {more} more");
        }
        let _ = writeln!(
            text,
            "{list}: the binary {}; {}.",
            why.reason(),
            why.remedy()
        );
    }
    text += "Use `--no-tests pass` if a run without tests is no error.";
    Error::Usage(text)
}
