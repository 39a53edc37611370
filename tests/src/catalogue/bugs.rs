//! The bugs in fixtures/bugs, with the expected results of `cargo bugs`: `expected.toml`.

use std::fs;

use crate::source_of;
use serde::Deserialize;

/// The whole file.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Bugs {
    /// Bugs of published crates, each with the version that fixed it.
    pub bug: Vec<Bug>,
    /// Defects of current releases. The defects of one entry are consecutive.
    pub found: Vec<Found>,
    /// Crates without known bugs.
    pub clean: Vec<Clean>,
    /// Suspected defects that a second reading refuted.
    pub refuted: Vec<Refuted>,
}

/// A version of a crate with a bug, tested together with the version that fixed it.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Bug {
    /// The directory of the entry.
    pub entry: String,
    /// The version without the bug.
    pub fixed: String,
    /// The kind of the failure.
    pub kind: String,
    /// The highest number of preemptions that the failing schedule may have.
    pub preemptions: u64,
}

/// A test that shows a defect of a current release, which has no fixed version.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Found {
    /// The directory of the entry.
    pub entry: String,
    /// The test.
    pub test: String,
    /// The kind of the failure.
    pub kind: String,
    /// The highest number of preemptions that the failing schedule may have.
    pub preemptions: u64,
    /// The lines of the defect, in the sources of the crate: `src/lib.rs:12`.
    pub at: Vec<String>,
    /// The result of a second reading, which tried to refute the defect.
    pub reading: String,
    /// The address of a public report, if there is one.
    pub report: Option<String>,
    /// Another test that shows the same defect: its entry and its name, separated by a space.
    /// Either one correction corrects both, or the code with the mistake was copied.
    pub same_as: Option<String>,
    /// One of [`Found::CHECKS`], if only this check shows the defect.
    pub only: Option<String>,
}

impl Found {
    /// The possible values of [`Self::only`].
    pub const CHECKS: [&str; 3] = ["faults", "linearizability", "weak memory"];

    /// Returns the test of `all` that is named by [`Self::same_as`].
    ///
    /// # Panics
    /// If `all` has no such test, or if that test itself has a [`Self::same_as`].
    pub fn original<'a>(&self, all: &'a [Self]) -> Option<&'a Self> {
        let same_as = self.same_as.as_deref()?;
        let (entry, test) = same_as.split_once(' ').expect("an entry and a test");
        let is_named = |it: &&Self| it.entry == entry && it.test == test;
        let original = all.iter().find(is_named);
        let original = original.unwrap_or_else(|| panic!("{same_as} is not in the index"));
        assert!(original.same_as.is_none(), "{same_as} names another test");
        Some(original)
    }

    /// Returns the crate and its version, from the name of the entry.
    ///
    /// # Panics
    /// If the name of the entry does not contain them.
    pub fn package(&self) -> (&str, &str) {
        let (_, name) = self.entry.split_once('/').expect("it is below found/");
        name.rsplit_once('-').expect("a name and a version")
    }
}

/// A suspicion that was refuted.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Refuted {
    /// The crate and its version.
    pub package: String,
    /// The suspicion.
    pub claim: String,
    /// The reason why the suspected behaviour is no defect.
    pub why: String,
}

/// A crate version with no known bug.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Clean {
    /// The directory of the entry.
    pub entry: String,
}

impl Bugs {
    /// Reads the file of the fixture.
    ///
    /// # Panics
    /// If the file is missing or has another form.
    pub fn read() -> Self {
        let path = source_of("bugs").join("expected.toml");
        let text = fs::read_to_string(&path).expect("the fixture says what is expected");
        toml::from_str(&text).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
    }
}
