//! The wrapper's instructions: the treatment of each package, in a file that the environment names.

use std::fmt::Display;
use std::io;
use std::path::{Path, PathBuf};

use camino::{Utf8Path, Utf8PathBuf};
use serde::{Deserialize, Serialize};

use crate::digest;
use crate::plan::{Marked, Place};

/// The content of the file.
#[derive(Serialize, Deserialize, Clone, Default, Debug)]
pub(crate) struct Instructions {
    /// The directory of the built facades.
    pub facades: Utf8PathBuf,
    /// The wrapper that the user has configured. It is run in front of rustc.
    pub next: Option<PathBuf>,
    /// The directory of the changed copies of sources.
    pub sources: Utf8PathBuf,
    /// The directory of the records about units that could not be treated as instructed.
    pub records: Utf8PathBuf,
    /// Additional names of the target's configuration.
    pub cfg: Vec<String>,
    /// Whether all units that are not compiled unchanged report their accesses to memory.
    pub instruments: bool,
    /// The packages with a treatment other than the default redirection.
    pub packages: Vec<PackageInstructions>,
}

/// The treatment of one package.
#[derive(Serialize, Deserialize, Clone, PartialEq, Eq, Default, Debug)]
pub(crate) struct PackageInstructions {
    /// The name of the package.
    pub name: String,
    /// The version of the package.
    pub version: String,
    /// The directory of the package's manifest.
    pub root: Utf8PathBuf,
    /// Whether the package is compiled unchanged.
    pub opaque: bool,
    /// Whether the package's loads and stores are not instrumented.
    pub unwatched: bool,
    /// Places below `root`, and for each whether its statements are marked.
    pub marks: Vec<(Place, bool)>,
    /// Whether marked code also reports its references to raw memory. Instrumentation does not
    /// find these references.
    pub borrows: bool,
    /// Files below `root` that are replaced, and their new texts.
    pub replace: Vec<(Utf8PathBuf, String)>,
    /// Statements that are inserted at the start of functions.
    pub entries: Vec<Entry>,
    /// Names of the target's configuration that are set for the package.
    pub cfg: Vec<String>,
}

/// A statement at a function's start.
#[derive(Serialize, Deserialize, Clone, PartialEq, Eq, Debug)]
pub(crate) struct Entry {
    /// The file below the package's root.
    pub file: Utf8PathBuf,
    /// The function, with the type of its `impl`, as in `FastRand::fastrand_n`.
    pub function: String,
    /// The line of the function's name, if several functions may have this name.
    pub line: Option<usize>,
    /// The statement.
    pub statement: String,
}

impl Instructions {
    /// Reads the file.
    pub(super) fn read(file: &Path) -> io::Result<Self> {
        let invalid = |error: &dyn Display| {
            let file = file.display();
            let words = format!(
                "cargo chess's own file {file} cannot be read: {error}; run cargo chess again"
            );
            io::Error::other(words)
        };
        let text = std::fs::read(file).map_err(|error| invalid(&error))?;
        serde_json::from_slice(&text).map_err(|error| invalid(&error))
    }

    /// A digest of the treatments of all packages called `name`. If the digest changes, cargo
    /// recompiles these packages.
    pub(crate) fn digest_of(&self, name: &str) -> String {
        // The packages `foo-bar` and `foo_bar` share an environment variable, so they share a
        // digest.
        let variable = PackageInstructions::variable(name);
        let mut packages = self.packages.iter().collect::<Vec<_>>();
        packages.retain(|package| PackageInstructions::variable(&package.name) == variable);
        let digests: Vec<String> = packages.iter().map(|it| it.digest()).collect();
        digest::short(digests.join(",").as_bytes(), 16)
    }

    /// The package whose manifest is in `root`.
    pub(super) fn package(&self, root: &Utf8Path) -> Option<&PackageInstructions> {
        self.packages.iter().find(|package| package.root == root)
    }
}

impl PackageInstructions {
    /// Whether any part of the treatment differs from the default.
    pub(crate) fn is_special(&self) -> bool {
        self.opaque || self.unwatched || self.changes_sources() || !self.cfg.is_empty()
    }

    /// Whether the package's sources are changed before they are compiled.
    pub(crate) fn changes_sources(&self) -> bool {
        !self.opaque
            && (self.marks.iter().any(|(_, marked)| *marked)
                || !self.replace.is_empty()
                || !self.entries.is_empty())
    }

    /// The marked parts of `file`. The path is absolute, or relative to the package's root as in
    /// `src/lib.rs` and `src/../../common/ring.rs`. A file without a place, a replacement or an
    /// entry is treated like the whole package, which is the first place.
    pub(crate) fn marked(&self, file: &Utf8Path) -> Marked {
        if let Some((_, true)) = self.marks.first()
            && !self.has_place_for(file)
        {
            return Marked::Everywhere;
        }
        let places = self.marks.iter().map(|(place, marked)| (place, *marked));
        Marked::of(places, file.as_str())
    }

    /// Whether a place, a replacement or an entry names `file`.
    pub(crate) fn has_place_for(&self, file: &Utf8Path) -> bool {
        let mut places = self.marks.iter().map(|(place, _)| place);
        places.any(|place| place.covers(file.as_str()))
            || self.replace.iter().any(|(replaced, _)| replaced == file)
            || self.entries.iter().any(|entry| entry.file == file)
    }

    /// The path of the package's copy, below the directory `sources` of all copies.
    pub(crate) fn copy(&self, sources: &Utf8Path) -> Utf8PathBuf {
        sources.join(format!("{}-{}-{}", self.name, self.version, self.digest()))
    }

    /// A digest that distinguishes treatments.
    pub(crate) fn digest(&self) -> String {
        let text = serde_json::to_vec(self).expect("plain data");
        digest::short(&text, 16)
    }

    /// The environment variable by which cargo detects a change of a package's treatment.
    pub(crate) fn variable(name: &str) -> String {
        let name = name.to_uppercase().replace('-', "_");
        format!("CHESS_TREATMENT_{name}")
    }
}
