//! The plan of a build: the workspace's directories, and each package with its treatment.

pub(crate) mod directories;
mod exclusive;
mod metadata;
mod packages;
mod place;
mod policy_origin;
mod rust_files;
mod sources;
mod test_code;
#[cfg(test)]
mod tests;
mod uncontrolled_code;

use std::collections::BTreeSet;

use camino::{Utf8Path, Utf8PathBuf};
use cargo_metadata::Metadata;
use serde::{Deserialize, Serialize};

use crate::cli::{FeatureArgs, ManifestArgs};
use crate::config::{Config, Policy, Races, Spins};
use crate::error::Result;
use crate::text::source_path;
use crate::toolchain::Toolchain;

pub(crate) use exclusive::Guard;
pub(crate) use place::{Marked, Place};
pub(crate) use policy_origin::PolicyOrigin;

/// The name under which the packages of the standard library are reported. They have no policy.
pub(crate) const STD: &str = "std";

/// The workspace, its directories and its packages.
#[derive(Serialize, Deserialize, Debug)]
pub(crate) struct Plan {
    /// The workspace's root directory.
    pub workspace_root: Utf8PathBuf,
    /// Cargo's target directory, or that of `--target-dir`.
    pub target_dir: Utf8PathBuf,
    /// The directory of all files of this tool: `target_dir/chess`.
    pub chess_dir: Utf8PathBuf,
    /// The directory of the files that the next run overwrites. It is `chess_dir`, unless other
    /// processes run tests at the same time.
    pub run_dir: Utf8PathBuf,
    /// The packages that are linked into test binaries. Members come first. Packages are sorted by
    /// name.
    pub packages: Vec<PlannedPackage>,
    /// Whether the build is instrumented: each of its loads and stores is watched.
    pub instruments: bool,
    /// Cargo's whole metadata of the workspace.
    pub(crate) metadata: Metadata,
}

/// A workspace according to cargo, before its configuration is read.
#[derive(Debug)]
pub(crate) struct Workspace {
    /// The workspace's root directory.
    pub root: Utf8PathBuf,
    /// Cargo's target directory, or that of `--target-dir`.
    pub target_dir: Utf8PathBuf,
    metadata: Metadata,
}

impl Workspace {
    /// Queries cargo about the workspace of the current directory or of `--manifest-path`.
    pub(crate) fn find(
        toolchain: &Toolchain,
        manifest: &ManifestArgs,
        features: &FeatureArgs,
        target_dir: Option<&Utf8Path>,
    ) -> Result<Self> {
        let metadata = metadata::read(toolchain, manifest, features)?;
        Ok(Self {
            root: metadata.workspace_root.clone(),
            target_dir: directories::target_dir(target_dir, &metadata)?,
            metadata,
        })
    }

    /// The directories of the members' manifests.
    pub(crate) fn member_dirs(&self) -> impl Iterator<Item = &Utf8Path> {
        let members = self.metadata.workspace_packages().into_iter();
        members.filter_map(|member| member.manifest_path.parent())
    }

    /// The directory of all files of this tool.
    pub(crate) fn chess_dir(&self) -> Utf8PathBuf {
        directories::chess_dir(&self.target_dir)
    }
}

/// A package and its treatment.
#[derive(Serialize, Deserialize, Clone, Debug)]
pub(crate) struct PlannedPackage {
    /// The package's name.
    pub name: String,
    /// The version of the package.
    pub version: String,
    /// Cargo's identifier of the package, as in cargo's messages.
    pub id: String,
    /// The directory of the package's manifest.
    pub root: Utf8PathBuf,
    /// Whether the package is a member of the workspace.
    pub is_member: bool,
    /// The policy of the package. Some of its places may have another policy.
    pub policy: Policy,
    /// The reason for the policy.
    pub why: PolicyOrigin,
    /// The prefix of the names that rustc gives to its source files.
    pub source_prefix: String,
    /// The policy of each place. Places are in rustc's form.
    pub places: Vec<(Place, Policy)>,
    /// The level for data races in the package, if it differs from the general level.
    pub races: Option<Races>,
    /// The level for loops in the package that wait without yielding, if it differs from the
    /// general level.
    pub spins: Option<Spins>,
    /// The methods whose calls are checked for overlaps.
    pub guards: Vec<Guard>,
}

/// The directory of the files that a package's build script generated (`OUT_DIR`).
#[derive(Serialize, Deserialize, Debug)]
pub(crate) struct Generated {
    /// Cargo's identifier of the package.
    pub package: String,
    /// The directory.
    pub directory: Utf8PathBuf,
}

impl Plan {
    /// Decides the treatment of each package of `workspace`.
    pub(crate) fn new(workspace: Workspace, config: &Config) -> Result<Self> {
        let instruments = config.watches_memory();
        Ok(Self {
            chess_dir: workspace.chess_dir(),
            run_dir: workspace.chess_dir(),
            packages: packages::plan(&workspace.metadata, config, instruments)?,
            instruments,
            workspace_root: workspace.root,
            target_dir: workspace.target_dir,
            metadata: workspace.metadata,
        })
    }

    /// The packages that `files` belong to, in the form `parking_lot 0.12.5`. They are sorted, and
    /// each occurs once. `files` are rustc's names of source files. A file of an unknown package
    /// is in the result by its path.
    pub(crate) fn packages_of(&self, files: &[String], generated: &[Generated]) -> Vec<String> {
        let names = files.iter().map(|file| self.package_of(file, generated));
        let names: BTreeSet<String> = names.collect();
        names.into_iter().collect()
    }

    /// Like [`Self::packages_of`], without the members of the workspace and the standard library.
    pub(crate) fn dependencies_of(&self, files: &[String], generated: &[Generated]) -> Vec<String> {
        let dependency = |file: &String| self.dependency_of(file, generated);
        let names = files.iter().filter_map(dependency);
        let names: BTreeSet<String> = names.filter(|name| name != STD).collect();
        names.into_iter().collect()
    }

    /// The package that `file` belongs to, in the form `parking_lot 0.12.5`. `file` is rustc's
    /// name of a source file. Returns [`STD`] for the standard library, the path of the file if
    /// its package is not known, and `None` for a member of the workspace.
    pub(crate) fn dependency_of(&self, file: &str, generated: &[Generated]) -> Option<String> {
        let package = self.package_of(file, generated);
        let members = self.packages.iter().filter(|it| it.is_member);
        let mut members = members.map(|it| format!("{} {}", it.name, it.version));
        (!members.any(|member| member == package)).then_some(package)
    }

    fn package_of(&self, file: &str, generated: &[Generated]) -> String {
        let path = self.workspace_root.join(file);
        let generator = generated.iter().find(|it| path.starts_with(&it.directory));
        let generator = generator.and_then(|it| self.package(&it.package));
        if let Some(package) = generator {
            return format!("{} {}", package.name, package.version);
        }
        let owners = self
            .packages
            .iter()
            .filter(|package| path.starts_with(&package.root));
        // The innermost package that contains the file: the directory of one package may be in
        // that of another.
        let owner = owners.max_by_key(|package| package.root.components().count());
        match (owner, registry_package(file)) {
            (Some(package), _) => format!("{} {}", package.name, package.version),
            (None, Some(package)) => package,
            (None, None) => {
                let shown = source_path(file);
                if shown.starts_with("library/") {
                    STD.to_owned()
                } else {
                    shown
                }
            }
        }
    }

    fn package(&self, id: &str) -> Option<&PlannedPackage> {
        self.packages.iter().find(|package| package.id == id)
    }

    /// The `policy=`, `races-of=` and `spins-of=` lines of a request to a test binary. There are
    /// lines for each package, and for the files that its build script generated, which have the
    /// treatment of the package. The last line is the directory to which the paths are relative.
    pub(crate) fn policy_lines(&self, generated: &[Generated]) -> Vec<String> {
        let places = self.packages.iter().flat_map(|package| &package.places);
        let written = places.map(|(place, policy)| format!("policy={place}={policy}"));
        let generated_lines = generated.iter().filter_map(|it| {
            // The first place is the whole package.
            let (_, policy) = self.package(&it.package)?.places.first()?;
            Some(format!("policy={}/={policy}", it.directory))
        });
        let levels = self.packages.iter().flat_map(|package| {
            let directories = generated.iter().filter(|it| it.package == package.id);
            let directories = directories.map(|it| format!("{}/", it.directory));
            let whole = package.places.iter().filter(|(it, _)| it.lines.is_none());
            let places = whole.map(|(it, _)| it.path.clone()).chain(directories);
            let (races, spins) = (package.races, package.spins);
            places.flat_map(move |it| {
                let races = races.map(|level| format!("races-of={it}={level}"));
                let spins = spins.map(|level| format!("spins-of={it}={level}"));
                races.into_iter().chain(spins)
            })
        });
        let root = format!("root={}/", self.workspace_root);
        let lines = written.chain(generated_lines).chain(levels);
        lines.chain([root]).collect()
    }
}

/// The package `parking_lot 0.12.5`, if the file is below
/// `.../registry/src/INDEX/parking_lot-0.12.5/`.
fn registry_package(file: &str) -> Option<String> {
    let (_, rest) = file.split_once("/registry/src/")?;
    let directory = rest.split('/').nth(1)?;
    let (end, _) = directory
        .match_indices('-')
        .find(|(at, _)| is_version(&directory[at + 1..]))?;
    Some(format!("{} {}", &directory[..end], &directory[end + 1..]))
}

fn is_version(text: &str) -> bool {
    text.split_once('.')
        .is_some_and(|(major, _)| !major.is_empty() && major.bytes().all(|b| b.is_ascii_digit()))
}
