//! The expected results in fixtures/bugs/expected.toml.

use std::fs;

use end_to_end::Workspace;
use serde::Deserialize;

/// The whole file.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Expected {
    pub(crate) bug: Vec<Bug>,
    pub(crate) found: Vec<Found>,
    pub(crate) clean: Vec<Clean>,
}

/// A version of a crate with a bug, tested together with the version that fixed it.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Bug {
    /// The directory of the entry.
    pub(crate) entry: String,
    /// The version without the bug.
    pub(crate) fixed: String,
    /// The kind of the failure.
    pub(crate) kind: String,
    /// The highest number of preemptions that the failing schedule may have.
    pub(crate) preemptions: u64,
}

/// A test that shows a defect of a current release, which has no fixed version.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Found {
    /// The directory of the entry.
    pub(crate) entry: String,
    /// The test.
    pub(crate) test: String,
    /// The kind of the failure.
    pub(crate) kind: String,
    /// The highest number of preemptions that the failing schedule may have.
    pub(crate) preemptions: u64,
}

/// A crate version with no known bug.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Clean {
    /// The directory of the entry.
    pub(crate) entry: String,
}

impl Expected {
    pub(crate) fn of(workspace: &Workspace) -> Self {
        let path = workspace.root().join("expected.toml");
        let text = fs::read_to_string(&path).expect("the fixture says what is expected");
        toml::from_str(&text).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
    }
}
