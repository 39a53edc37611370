//! The published sources, and their rewritten copies.

use std::collections::BTreeMap;
use std::fmt;
use std::fs;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use end_to_end::{Chess, Workspace};
use rewriter::{Borrows, MutableStatics, Request, Rewrite, SiteId, SyntaxError, audit, rewrite};
use serde_json::Value;

/// One crate at one version.
pub(crate) struct Package {
    pub(crate) name: String,
    pub(crate) version: String,
    /// The directory into which cargo has unpacked the crate.
    sources: PathBuf,
}

impl fmt::Display for Package {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(&format!("{} {}", self.name, self.version))
    }
}

/// Returns the workspace that depends on all published crates.
pub(crate) fn user() -> Workspace {
    Workspace::shared("rewrites")
}

/// Returns the crates that the package in fixtures/rewrites depends on.
pub(crate) fn fetch() -> Vec<Package> {
    let user = user();
    let run = Chess::cargo(user.root(), &["metadata", "--locked", "--format-version=1"]).run();
    run.assert_code(0);
    let metadata: Value = serde_json::from_str(&run.stdout).expect("cargo prints JSON");
    let packages = metadata["packages"].as_array().expect("a list");
    let root = packages
        .iter()
        .find(|package| package["name"] == "rewrites")
        .expect("the package itself is in its graph");
    let requirements = root["dependencies"].as_array().expect("a list");
    let is_wanted = |package: &&Value| {
        requirements.iter().any(|requirement| {
            let version = package["version"].as_str().unwrap_or_default();
            requirement["name"] == package["name"] && requirement["req"] == format!("={version}")
        })
    };
    packages
        .iter()
        .filter(is_wanted)
        .map(Package::new)
        .collect()
}

impl Package {
    fn new(package: &Value) -> Self {
        let text = |key: &str| package[key].as_str().unwrap_or_default().to_owned();
        let manifest = PathBuf::from(text("manifest_path"));
        Self {
            name: text("name"),
            version: text("version"),
            sources: manifest.parent().expect("a directory").to_owned(),
        }
    }

    /// Whether the package is among `names`, or `names` is empty.
    pub(crate) fn is_one_of(&self, names: &[String]) -> bool {
        let is_named = |wanted: &String| {
            let (name, version) = wanted.split_once('@').unwrap_or((wanted, ""));
            self.name == name && self.version.starts_with(version)
        };
        names.is_empty() || names.iter().any(is_named)
    }
}

/// A file of a package, in its original and in its rewritten form.
pub(crate) struct File {
    pub(crate) text: String,
    pub(crate) rewrite: Rewrite,
    without: Vec<SiteId>,
}

/// A package whose copy reports its borrows.
pub(crate) struct Rewritten {
    pub(crate) package: Package,
    /// The directory of the copy.
    pub(crate) copy: PathBuf,
    pub(crate) files: BTreeMap<PathBuf, File>,
    /// The sites that rustc rejected: file, identity, and message.
    pub(crate) refused: Vec<(PathBuf, SiteId, String)>,
    pub(crate) unreadable: Vec<(PathBuf, SyntaxError)>,
    /// The number of imports and paths that refer to items under control.
    pub(crate) reaches: usize,
    /// The time that it took to compute the edits.
    pub(crate) time: Duration,
    statics: MutableStatics,
}

impl Rewritten {
    pub(crate) fn new(package: Package) -> Self {
        let name = format!("rewritten/{}-{}", package.name, package.version);
        let copy = Workspace::kept(&name, |new| new.fill_with(&package.sources));
        let mut this = Self {
            copy: copy.root().to_owned(),
            package,
            files: BTreeMap::new(),
            refused: Vec::new(),
            unreadable: Vec::new(),
            reaches: 0,
            time: Duration::ZERO,
            statics: MutableStatics::default(),
        };
        let texts = this.texts();
        let started = Instant::now();
        for (file, text) in &texts {
            match this.statics.add(text).and_then(|()| audit(text)) {
                Ok(reached) => this.reaches += reached.len(),
                Err(error) => this.unreadable.push((file.clone(), error)),
            }
        }
        for (file, text) in texts {
            this.rewrite(file, text, Vec::new());
        }
        this.time = started.elapsed();
        this.write();
        this
    }

    /// Returns the paths and the texts of the package's Rust files below `src`.
    fn texts(&self) -> Vec<(PathBuf, String)> {
        let mut texts = Vec::new();
        let root = &self.package.sources;
        let mut open = vec![root.join("src")];
        while let Some(directory) = open.pop() {
            for entry in fs::read_dir(&directory).into_iter().flatten() {
                let path = entry.expect("the directory can be read").path();
                if path.is_dir() {
                    open.push(path);
                } else if path.extension().is_some_and(|it| it == "rs") {
                    let text = fs::read_to_string(&path).expect("it is UTF-8");
                    let inside = path.strip_prefix(root).expect("it lies below");
                    texts.push((inside.to_owned(), text));
                }
            }
        }
        texts
    }

    fn rewrite(&mut self, file: PathBuf, text: String, without: Vec<SiteId>) {
        let request = Request {
            borrows: Some(Borrows {
                statics: &self.statics,
                without: &without,
            }),
            ..Request::default()
        };
        match rewrite(&text, &request) {
            Ok(rewrite) => {
                let file_ = File {
                    text,
                    rewrite,
                    without,
                };
                self.files.insert(file, file_);
            }
            Err(error) => self.unreadable.push((file, error)),
        }
    }

    fn write(&self) {
        for (file, known) in &self.files {
            write(&self.copy.join(file), &known.rewrite.apply(&known.text));
        }
    }

    /// Excludes the site at a place of the rewritten text. Returns `false` if there is no site at
    /// this place.
    pub(crate) fn refuse(&mut self, place: &Path, line: usize, column: usize, why: &str) -> bool {
        let Ok(file) = place.strip_prefix(&self.copy) else {
            return false;
        };
        let Some(known) = self.files.get(file) else {
            return false;
        };
        let site = known.rewrite.site_at(&known.text, line, column);
        let Some(id) = site.map(|site| site.id) else {
            return false;
        };
        let entry = (file.to_owned(), id, why.to_owned());
        if self
            .refused
            .iter()
            .all(|(file, it, _)| (file, it) != (&entry.0, &id))
        {
            self.refused.push(entry);
        }
        true
    }

    /// Rewrites each file again in which rustc has rejected further sites, without the edits of
    /// the rejected sites.
    pub(crate) fn back_off(&mut self) {
        for file in self.files.keys().cloned().collect::<Vec<_>>() {
            let refused = self.refused.iter().filter(|(it, ..)| *it == file);
            let without: Vec<_> = refused.map(|(_, id, _)| *id).collect();
            if without.len() > self.files[&file].without.len()
                && let Some(known) = self.files.remove(&file)
            {
                self.rewrite(file, known.text, without);
            }
        }
        self.write();
    }
}

/// Writes a file, unless it has this text already, so that cargo need not compile it again.
fn write(path: &Path, text: &str) {
    if fs::read_to_string(path).is_ok_and(|old| old == text) {
        return;
    }
    fs::write(path, text).expect("the file can be written");
}

/// Returns a section for the manifest of a package. With this section, the package depends on the
/// copies instead of the published crates.
pub(crate) fn patches(all: &[Rewritten]) -> String {
    let mut text = String::from("\n[patch.crates-io]\n");
    for (index, one) in all.iter().enumerate() {
        let (name, path) = (&one.package.name, one.copy.display());
        let line = format!("p{index} = {{ package = \"{name}\", path = \"{path}\" }}\n");
        text.push_str(&line);
    }
    text
}

/// Returns a copy of the workspace [`user`] that depends on the copies of the published crates.
pub(crate) fn patched_user(all: &[Rewritten]) -> Workspace {
    let original = user();
    let copy = Workspace::kept("rewritten/user", |_| {});
    copy.fill_with(original.root());
    let manifest = copy.root().join("Cargo.toml");
    let text = fs::read_to_string(&manifest).expect("the manifest is there");
    fs::write(&manifest, text + &patches(all)).expect("the file can be written");
    copy
}
