//! The reasons why units were not treated as instructed: their records, and the sentences in which
//! the run reports them.
//!
//! `plan/policy_origin.rs` has the reasons for the policy of a package.

use std::fs;
use std::io;

use camino::{Utf8Path, Utf8PathBuf};
use serde::{Deserialize, Serialize};

use super::unit::Unit;
use crate::atomic_file;

/// The treatment of a unit in place of the instructed one.
#[derive(Serialize, Deserialize, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum Fallback {
    /// None: the unit was treated as instructed.
    Nothing,
    /// The unit was compiled from its own sources against the facades. It has neither marks nor
    /// overlays.
    Unchanged,
    /// The unit was compiled from its own sources against the facades, and is not instrumented.
    Unwatched,
    /// The unit was compiled unchanged, against the real `std`.
    Opaque,
    /// The unit was redirected although it should be opaque.
    Swapped,
}

/// The record of one unit.
#[derive(Serialize, Deserialize, Clone, Debug)]
pub(crate) struct FallbackRecord {
    /// The package: `bank 0.1.0`.
    pub package: String,
    /// The treatment in place of the instructed one.
    pub fallback: Fallback,
    /// The compiler's message about the instructed treatment.
    pub reason: Option<String>,
    /// The parts of the instructions that did not fit, although the unit was treated as instructed.
    pub problems: Vec<String>,
}

impl FallbackRecord {
    /// The sentences of the record for the user.
    pub(crate) fn sentences(&self) -> Vec<String> {
        let package = &self.package;
        let reason = self.reason.as_deref().unwrap_or("rustc gave no reason");
        let fallback = match self.fallback {
            Fallback::Nothing => None,
            Fallback::Unchanged => Some(format!(
                "{package} does not compile with its statements marked or its overlay in place: \
                 {reason}. It was compiled without them, and consecutive calls in it form one step"
            )),
            Fallback::Unwatched => Some(format!(
                "{package} does not compile with its loads and stores instrumented: {reason}. It was \
                 compiled without this instrumentation: its accesses to memory are not watched for \
                 races, and consecutive calls in it form one step"
            )),
            Fallback::Opaque => Some(format!(
                "{package} does not compile with cargo chess's replacements for std: {reason}. It was \
                 compiled unchanged (opaque): threads switch only at calls into it and where it \
                 blocks, so bugs inside it may be missed"
            )),
            Fallback::Swapped => Some(format!(
                "{package} should be opaque, but does not compile unchanged beside packages under control: \
                 {reason}. It was put under control"
            )),
        };
        let problems = self.problems.iter();
        let problems = problems.map(|problem| format!("{package}: {problem}"));
        fallback.into_iter().chain(problems).collect()
    }

    pub(super) fn new(
        package: &str,
        unit: &Unit,
        fallback: Fallback,
        reason: Option<String>,
    ) -> Self {
        Self {
            package: if package.trim().is_empty() {
                unit.crate_name.clone()
            } else {
                package.to_owned()
            },
            fallback,
            reason,
            problems: Vec::new(),
        }
    }

    /// Saves the record, or removes an earlier one if the record is empty.
    pub(super) fn save(&self, records: &Utf8Path, unit: &Unit) -> io::Result<()> {
        let stem = format!("{}{}", unit.crate_name, unit.extra);
        let file = Self::file(records, &stem);
        if self.fallback == Fallback::Nothing && self.problems.is_empty() {
            return match fs::remove_file(file) {
                Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
                _ => Ok(()),
            };
        }
        fs::create_dir_all(records)?;
        atomic_file::write(&file, serde_json::to_vec(self)?)
    }

    /// The record of the unit whose files cargo calls `stem`, such as `bank-0123`.
    pub(crate) fn read(records: &Utf8Path, stem: &str) -> Option<Self> {
        let text = fs::read(Self::file(records, stem)).ok()?;
        serde_json::from_slice(&text).ok()
    }

    fn file(records: &Utf8Path, stem: &str) -> Utf8PathBuf {
        records.join(format!("{stem}.json"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_fallback_is_printed_with_its_reason_and_its_consequence() {
        let record = |fallback, reason: Option<&str>| FallbackRecord {
            package: "bank 0.1.0".to_owned(),
            fallback,
            reason: reason.map(str::to_owned),
            problems: vec!["its overlay does not fit".to_owned()],
        };
        let all = [
            record(Fallback::Nothing, None),
            record(Fallback::Unchanged, Some("E0716")),
            record(Fallback::Unwatched, Some("E0080")),
            record(Fallback::Opaque, None),
            record(Fallback::Swapped, Some("E0308")),
        ];
        let all: Vec<String> = all.iter().flat_map(FallbackRecord::sentences).collect();
        insta::assert_snapshot!(all.join("\n"), @r"
        bank 0.1.0: its overlay does not fit
        bank 0.1.0 does not compile with its statements marked or its overlay in place: E0716. It was compiled without them, and consecutive calls in it form one step
        bank 0.1.0: its overlay does not fit
        bank 0.1.0 does not compile with its loads and stores instrumented: E0080. It was compiled without this instrumentation: its accesses to memory are not watched for races, and consecutive calls in it form one step
        bank 0.1.0: its overlay does not fit
        bank 0.1.0 does not compile with cargo chess's replacements for std: rustc gave no reason. It was compiled unchanged (opaque): threads switch only at calls into it and where it blocks, so bugs inside it may be missed
        bank 0.1.0: its overlay does not fit
        bank 0.1.0 should be opaque, but does not compile unchanged beside packages under control: E0308. It was put under control
        bank 0.1.0: its overlay does not fit
        ");
    }
}
