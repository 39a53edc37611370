//! The published sources. Cargo downloads them, and each crate is copied into its own workspace.

use std::fmt::Write;
use std::fs;
use std::path::{Path, PathBuf};

use serde_json::Value;

use crate::{Chess, Workspace, source_of};

/// One crate at one version.
pub struct Package {
    /// The name of the crate.
    pub name: String,
    /// The version of the crate.
    pub version: String,
    /// The features that the tests need, in addition to the default features.
    pub features: Vec<String>,
    /// Whether the package's tests use other crates that depend on the package. These crates must
    /// use the copy, too.
    is_used_by_its_tests: bool,
    /// The directory into which cargo has unpacked the crate.
    sources: PathBuf,
}

/// The crates that the package in fixtures/corpus depends on.
pub struct Corpus {
    /// All packages, in alphabetical order.
    pub packages: Vec<Package>,
    /// The names of the packages that `cargo suites` runs, as listed in the manifest.
    pub suites: Vec<String>,
}

impl Corpus {
    /// Returns all crates, and downloads those that are missing.
    ///
    /// # Panics
    /// If cargo fails.
    pub fn fetch() -> Self {
        let workspace = Workspace::shared("corpus");
        let args = ["metadata", "--locked", "--format-version=1"];
        let run = Chess::cargo(workspace.root(), &args).run();
        run.assert_code(0);
        let metadata: Value = serde_json::from_str(&run.stdout).expect("cargo prints JSON");
        let packages = array(&metadata["packages"]);
        let root = packages
            .iter()
            .find(|package| package["name"] == "corpus")
            .expect("the package itself is in its graph");
        let nodes = array(&metadata["resolve"]["nodes"]);
        let root_node = nodes
            .iter()
            .find(|node| node["id"] == root["id"])
            .expect("the package itself is in its graph");
        let mut all: Vec<_> = array(&root_node["deps"])
            .iter()
            .filter_map(|dep| packages.iter().find(|package| package["id"] == dep["pkg"]))
            .map(|package| Package::new(package, root))
            .collect();
        all.sort_by(|a, b| (&a.name, &a.version).cmp(&(&b.name, &b.version)));
        let suites = array(&root["metadata"]["suites"]).iter();
        Self {
            packages: all,
            suites: suites.map(|name| text(name).to_owned()).collect(),
        }
    }
}

impl Package {
    /// Creates a package from the metadata `package` of cargo. `root` is the package that depends
    /// on it.
    fn new(package: &Value, root: &Value) -> Self {
        let version = text(&package["version"]);
        let requirement = array(&root["dependencies"]).iter().find(|requirement| {
            requirement["name"] == package["name"] && requirement["req"] == format!("={version}")
        });
        let features = requirement.map_or(&[][..], |requirement| array(&requirement["features"]));
        let more = array(&root["metadata"]["features-of-tests"][text(&package["name"])]);
        let manifest = Path::new(text(&package["manifest_path"]));
        Self {
            name: text(&package["name"]).to_owned(),
            version: version.to_owned(),
            features: [features, more]
                .concat()
                .iter()
                .map(|name| text(name).to_owned())
                .collect(),
            is_used_by_its_tests: array(&root["metadata"]["used-by-own-tests"])
                .contains(&package["name"]),
            sources: manifest
                .parent()
                .expect("it lies in a directory")
                .to_owned(),
        }
    }

    /// Returns the arguments of cargo that select the tests of the package, without doctests and
    /// examples.
    pub fn selection(&self) -> Vec<String> {
        let mut all = vec![
            "--lib".to_owned(),
            "--bins".to_owned(),
            "--tests".to_owned(),
        ];
        if !self.features.is_empty() {
            all.push(format!("--features={}", self.features.join(",")));
        }
        all
    }

    /// Whether `name`, for instance `tokio` or `parking_lot@0.12`, is a name of this package.
    pub fn is_called(&self, name: &str) -> bool {
        let (name, version) = name.split_once('@').unwrap_or((name, ""));
        self.name == name && self.version.starts_with(version)
    }

    /// Returns a copy of the package that is a workspace. The first call creates the copy, and
    /// later calls return the same one.
    ///
    /// # Panics
    /// If the copy cannot be written.
    pub fn workspace(&self) -> Workspace {
        let name = format!("published/{}-{}", self.name, self.version);
        Workspace::kept(&name, |new| {
            new.fill_with(&self.sources);
            // The toolchain that the package pins may not be installed.
            for name in ["rust-toolchain", "rust-toolchain.toml"] {
                let _none = fs::remove_file(new.root().join(name));
            }
            let read = |path: &Path| fs::read_to_string(path).unwrap_or_default();
            let mut manifest = read(&new.root().join("Cargo.toml"));
            let name = format!("{}-{}.lock", self.name, self.version);
            let mut lock = read(&source_of("corpus/locks").join(name));
            if lock.is_empty() {
                lock = read(&new.root().join("Cargo.lock"));
            }
            manifest.push_str("\n[workspace]\n");
            if self.is_used_by_its_tests {
                lock = self.without_published_copy(&lock);
                let name = &self.name;
                write!(manifest, "\n[patch.crates-io.{name}]\npath = \".\"\n")
                    .expect("memory takes every byte");
            }
            new.write("Cargo.toml", &manifest);
            new.write("Cargo.lock", &lock);
        })
    }

    /// Returns `lock` (the text of a Cargo.lock) without the published copy of this crate. Then
    /// other crates that the tests use must use the copy in the workspace.
    fn without_published_copy(&self, lock: &str) -> String {
        let name = format!("name = \"{}\"\n", self.name);
        let is_copy = |block: &&str| block.contains(&name) && block.contains("\nsource = ");
        let blocks: Vec<_> = lock.split("\n\n").filter(|block| !is_copy(block)).collect();
        blocks.join("\n\n")
    }
}

fn array(value: &Value) -> &[Value] {
    value.as_array().map_or(&[], Vec::as_slice)
}

fn text(value: &Value) -> &str {
    value.as_str().unwrap_or_default()
}
