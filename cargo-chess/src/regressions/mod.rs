//! `chess-regressions/`: failing schedules that are saved next to a crate. They run before the
//! exploration.

pub(crate) mod lines;

use std::collections::BTreeSet;
use std::fs;

use camino::{Utf8Path, Utf8PathBuf};

use crate::build::Build;
use crate::error::{Error, Result};
use crate::events::TestId;
use crate::plan::Plan;
use crate::protocol::Step;
use crate::schedule::Schedule;
use crate::schedule::directory::schedules_in;

/// The name of the directory next to a package's Cargo.toml.
pub(crate) const DIRECTORY: &str = "chess-regressions";

/// A saved schedule.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Regression {
    /// The path of its file, relative to the workspace.
    pub(crate) path: String,
    /// The schedule.
    pub(crate) schedule: Schedule,
}

/// All schedules that are saved next to the built packages.
#[derive(Debug)]
pub(crate) struct Regressions {
    kept: Vec<Regression>,
    /// The digest of the current sources. Empty if there are no schedules.
    pub(crate) sources: String,
}

impl Regressions {
    /// Reads the schedules.
    ///
    /// # Errors
    /// If a file is not a schedule, or cannot be read. The error names the file and the line.
    pub(crate) fn of(plan: &Plan, build: &Build) -> Result<Self> {
        let packages = build.binaries.iter().map(|binary| &binary.package);
        let packages: BTreeSet<&String> = packages.collect();
        let mut all = Vec::new();
        for package in packages {
            let Some(directory) = directory_of(plan, package) else {
                continue;
            };
            for path in schedules_in(&directory)? {
                let path = relative(plan, &path);
                let text = fs::read(plan.workspace_root.join(&path))
                    .map_err(Error::io("read the regression", Utf8Path::new(&path)))?;
                let schedule = Schedule::parse(&String::from_utf8_lossy(&text))
                    .map_err(|error| Error::Usage(format!("{path}: {error}")))?;
                all.push(Regression { path, schedule });
            }
        }
        let sources = if all.is_empty() {
            String::new()
        } else {
            plan.digest_of_sources()?
        };
        Ok(Self { kept: all, sources })
    }

    /// The schedules of a test, sorted by the names of their files.
    pub(crate) fn of_test(&self, test: &TestId) -> impl Iterator<Item = &Regression> {
        self.kept
            .iter()
            .filter(move |kept| kept.schedule.test == *test)
    }

    /// Whether the failure `found` is the failure of a saved schedule.
    pub(crate) fn have(&self, found: &Schedule) -> bool {
        let mut same = self.of_test(&found.test);
        same.any(|kept| kept.schedule.decisions == found.decisions)
    }

    /// A warning for each schedule whose binary was built, but does not have its test any more.
    /// `exists` returns whether a test exists.
    pub(crate) fn orphans(
        &self,
        plan: &Plan,
        build: &Build,
        exists: impl Fn(&TestId) -> bool,
    ) -> Vec<String> {
        let is_whole = build.is_of_all_targets(plan);
        let was_built = |test: &TestId| {
            let mut binaries = build.binaries.iter();
            binaries.any(|it| it.package == test.package && it.id == test.binary)
        };
        let orphans = self.kept.iter().filter(|Regression { schedule, .. }| {
            (is_whole || was_built(&schedule.test)) && !exists(&schedule.test)
        });
        orphans
            .map(|Regression { path, schedule }| {
                format!(
                    "the regression {path} is for the test `{}`, which no longer exists: \
                     if the test was renamed, write its new name into the file, else remove the file",
                    schedule.test
                )
            })
            .collect()
    }
}

/// Saves a schedule next to its package. `events` are the events of its execution. Returns the
/// path of the file, relative to the workspace.
pub(crate) fn keep(plan: &Plan, schedule: &Schedule, events: &[Step]) -> Result<Option<String>> {
    let Some(directory) = directory_of(plan, &schedule.test.package) else {
        return Ok(None);
    };
    let schedule = Schedule {
        preempted_at: lines::of_preemptions(&plan.workspace_root, events),
        ..schedule.clone()
    };
    let path = schedule.save_in(&directory)?;
    Ok(Some(relative(plan, &path)))
}

/// The directory of a member's regressions. It may not exist.
fn directory_of(plan: &Plan, package: &str) -> Option<Utf8PathBuf> {
    let members = plan.metadata.workspace_packages();
    let member = members
        .iter()
        .find(|member| member.name.as_str() == package)?;
    Some(member.manifest_path.parent()?.join(DIRECTORY))
}

/// The directories of the regressions of all members, if they exist.
pub(crate) fn directories(workspace: &crate::plan::Workspace) -> Vec<Utf8PathBuf> {
    let manifests = workspace.member_dirs();
    let kept = manifests.map(|dir| dir.join(DIRECTORY));
    kept.filter(|dir| dir.is_dir()).collect()
}

fn relative(plan: &Plan, path: &Utf8Path) -> String {
    let path = path.strip_prefix(&plan.workspace_root).unwrap_or(path);
    path.to_string()
}
