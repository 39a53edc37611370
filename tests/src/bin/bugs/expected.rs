//! What fixtures/bugs/expected.toml promises.

use std::fs;

use end_to_end::Workspace;
use serde::Deserialize;

/// The whole file.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Expected {
    pub(crate) bug: Vec<Bug>,
    pub(crate) clean: Vec<Clean>,
}

/// A crate version with a bug, and the same test with the version that fixed it.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Bug {
    /// The directory.
    pub(crate) entry: String,
    /// The version without the bug.
    pub(crate) fixed: String,
    /// How the test fails.
    pub(crate) kind: String,
    /// The most preemptions that the failing schedule may have.
    pub(crate) preemptions: u64,
}

/// A crate version with no known bug.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Clean {
    /// The directory.
    pub(crate) entry: String,
}

impl Expected {
    pub(crate) fn of(workspace: &Workspace) -> Self {
        let path = workspace.root().join("expected.toml");
        let text = fs::read_to_string(&path).expect("the fixture says what is expected");
        toml::from_str(&text).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
    }
}
