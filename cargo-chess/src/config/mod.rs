//! The configuration: Chess.toml, the environment and the flags, and the options of each test that
//! follow from them.

mod exclusive;
mod exploration;
mod explore_keys;
mod file;
mod layer;
#[cfg(test)]
mod tests;
mod values;

use std::ffi::OsString;

use camino::Utf8Path;

pub(crate) use exclusive::{ExclusiveEntry, Name};
pub(crate) use exploration::Exploration;
pub(crate) use explore_keys::{KEYS, Kind, LARGEST};
pub(crate) use file::CrateEntry;
pub(crate) use file::tables;
pub(crate) use layer::Layer;
pub(crate) use values::{
    Backend, Fault, Isolate, Memory, MemoryAccesses, Policy, Races, Spins, Spurious, StaleLoads,
    Strategy, Timers, Timing, parse_duration, parse_number, parse_positive, parse_work,
};

use crate::error::{ConfigError, Error, Result};
use file::File;

/// The name of the file at the workspace's root.
pub(crate) const FILE_NAME: &str = "Chess.toml";

/// The prefix of environment variables that set exploration options.
pub(crate) const ENV_PREFIX: &str = "CHESS_EXPLORE_";

/// All configuration of a run.
#[derive(Debug, Default)]
pub(crate) struct Config {
    file: File,
    /// The options of `[explore]` and of the chosen profile, which has precedence.
    base: Layer,
    /// The options of the environment and of the flags. The flags have precedence.
    top: Layer,
}

impl Config {
    /// Reads Chess.toml at the workspace's root, if it exists. The options of `environment` have
    /// precedence over the file, and those of `flags` over both.
    pub(crate) fn load(
        workspace_root: &Utf8Path,
        profile: Option<&str>,
        environment: impl IntoIterator<Item = (OsString, OsString)>,
        flags: &Layer,
    ) -> Result<Self> {
        let file = File::read(&workspace_root.join(FILE_NAME))?;
        let base = match profile {
            None => file.explore.clone(),
            Some(name) => file.explore.clone().under(file.profile(name)?),
        };
        let top = from_environment(environment)?.under(flags);
        Ok(Self { file, base, top })
    }

    /// The configuration of a Chess.toml with this text, without environment and flags.
    pub(crate) fn parse(path: &Utf8Path, text: &str) -> Result<Self> {
        let file = File::parse(path, text.to_owned())?;
        Ok(Self {
            base: file.explore.clone(),
            top: Layer::default(),
            file,
        })
    }

    /// The options of the test at `test_path` (`stress::many_threads`).
    ///
    /// If several `[[test]]` entries match and set an option, the last entry has precedence.
    pub(crate) fn for_test(&self, test_path: &str) -> Exploration {
        self.file
            .tests
            .iter()
            .filter(|entry| test_path.contains(&entry.filter))
            .fold(self.base.clone(), |under, entry| {
                under.under(&entry.explore)
            })
            .under(&self.top)
            .resolve()
    }

    /// Whether the flags, the environment or Chess.toml set the level of races of the whole build.
    pub(crate) fn sets_races(&self) -> bool {
        self.top.races.or(self.base.races).is_some()
    }

    /// Whether the accesses of any test to memory are watched.
    pub(crate) fn watches_memory(&self) -> bool {
        let watches = |layer: Layer| {
            layer.under(&self.top).resolve().memory_accesses != MemoryAccesses::Ignore
        };
        let mut tests = self.file.tests.iter();
        watches(self.base.clone())
            || tests.any(|entry| watches(self.base.clone().under(&entry.explore)))
    }

    /// A warning for each `[[test]]` whose filter matches none of `test_paths`.
    ///
    /// Pass all tests that were found, before the filters of the command line apply.
    pub(crate) fn unmatched_filters<'a>(
        &self,
        test_paths: impl IntoIterator<Item = &'a str>,
    ) -> Vec<ConfigError> {
        let test_paths: Vec<&str> = test_paths.into_iter().collect();
        self.file
            .tests
            .iter()
            .filter(|entry| !test_paths.iter().any(|path| path.contains(&entry.filter)))
            .map(|entry| self.file.filter_warning(entry, test_paths.iter().copied()))
            .collect()
    }

    /// The policy of workspace members without an entry.
    pub(crate) fn workspace_policy(&self) -> Policy {
        self.file.workspace_policy.unwrap_or(Policy::Preempt)
    }

    /// The policy of dependencies without an entry.
    pub(crate) fn dependency_policy(&self) -> Policy {
        self.file.dependency_policy.unwrap_or(Policy::Atomic)
    }

    /// The entry `[crates.NAME]`, if it exists.
    pub(crate) fn crate_entry(&self, name: &str) -> Option<&CrateEntry> {
        self.file.crates.iter().find(|entry| entry.name == name)
    }

    /// Fails if a `[crates.NAME]` names a package that is not in the build.
    pub(crate) fn check_crates<'a>(
        &self,
        packages: impl IntoIterator<Item = &'a str>,
    ) -> Result<()> {
        let packages: Vec<&str> = packages.into_iter().collect();
        match self
            .file
            .crates
            .iter()
            .find(|entry| !packages.contains(&entry.name.as_str()))
        {
            Some(unknown) => Err(self.file.unknown_crate(unknown, packages).into()),
            None => Ok(()),
        }
    }

    /// The `[[exclusive]]` tables.
    pub(crate) fn exclusive(&self) -> &[ExclusiveEntry] {
        &self.file.exclusive
    }

    /// The error about `name`, which is in an `[[exclusive]]` table.
    pub(crate) fn exclusive_error(
        &self,
        name: &Name,
        message: String,
        help: Option<String>,
    ) -> Error {
        self.file.exclusive_error(name, message, help).into()
    }

    /// The error for a crate whose scope number `index` matches no file.
    pub(crate) fn scope_error(&self, entry: &CrateEntry, index: usize, expected: &str) -> Error {
        self.file.scope_error(entry, index, expected).into()
    }
}

fn from_environment(variables: impl IntoIterator<Item = (OsString, OsString)>) -> Result<Layer> {
    let mut layer = Layer::default();
    for (variable, value) in variables {
        let variable = variable.to_string_lossy();
        if let Some(key) = variable.strip_prefix(ENV_PREFIX) {
            let key = key.to_ascii_lowercase().replace('_', "-");
            let text = value.to_str().ok_or_else(|| {
                let shown = value.to_string_lossy();
                format!("expected text in UTF-8, found `{shown}`")
            });
            text.and_then(|text| layer.set_from_text(&key, text))
                .map_err(|problem| {
                    Error::Usage(format!("environment variable {variable}: {problem}"))
                })?;
        }
    }
    Ok(layer)
}
