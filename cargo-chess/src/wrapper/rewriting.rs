//! The insertions into the files of one package.

use std::fs;
use std::io;

use camino::{Utf8Path, Utf8PathBuf};
use rewriter::{Borrows, EntrySplice, MutableStatics, Request, Rewrite, SiteId, SyntaxError};

use super::facade_args;
use super::instructions::PackageInstructions;
use super::rejected_sites::RejectedSites;
use crate::digest;

/// The facts about a package that are needed to rewrite any of its files.
#[derive(Clone, Default)]
pub(crate) struct PackageFacts {
    statics: MutableStatics,
    /// The digests of the texts of the files that were read, one after the other. Empty if the
    /// package's borrows are not reported.
    digests: String,
}

impl PackageFacts {
    /// Reads the mutable statics of the package's files, and of files `outside` its directory.
    /// Reads nothing if the package's borrows are not reported.
    pub(crate) fn read<'f>(
        package: &PackageInstructions,
        outside: impl Iterator<Item = &'f Utf8Path>,
    ) -> io::Result<Self> {
        let mut facts = Self::default();
        if package.borrows {
            let inside = source_files(&package.root)?.into_iter();
            let outside = outside.map(Utf8Path::to_owned);
            for file in inside.map(|it| package.root.join(it)).chain(outside) {
                facts.add(&file);
            }
        }
        Ok(facts)
    }

    fn add(&mut self, file: &Utf8Path) {
        // The compiler reports files that are not UTF-8 or not valid Rust.
        if let Ok(text) = fs::read_to_string(file) {
            let _ = self.statics.add(&text);
            self.digests += &digest::short(text.as_bytes(), 16);
        }
    }
}

/// The rewriting of the files of a package.
pub(crate) struct Rewriting<'a> {
    package: &'a PackageInstructions,
    statics: MutableStatics,
    /// The digest of the package's texts, if they were read.
    digest: String,
    marks: bool,
    rejected: RejectedSites,
}

impl<'a> Rewriting<'a> {
    /// Reads the facts from the package's files and from those `outside` its directory.
    pub(crate) fn new<'f>(
        package: &'a PackageInstructions,
        rejected: RejectedSites,
        outside: impl Iterator<Item = &'f Utf8Path>,
    ) -> io::Result<Self> {
        let facts = PackageFacts::read(package, outside)?;
        Ok(Self::with(package, rejected, facts))
    }

    /// The rewriting of a package that has these facts.
    pub(crate) fn with(
        package: &'a PackageInstructions,
        rejected: RejectedSites,
        facts: PackageFacts,
    ) -> Self {
        Self {
            package,
            statics: facts.statics,
            digest: digest::short(facts.digests.as_bytes(), 16),
            marks: true,
            rejected,
        }
    }

    /// The same rewriting without marks of statements.
    pub(crate) fn without_marks(self) -> Self {
        Self {
            marks: false,
            ..self
        }
    }

    /// Whether no borrow of the package is reported, because the package did not compile with the
    /// inserted reports.
    pub(super) fn are_all_rejected(&self) -> bool {
        self.rejected.are_all(&self.digest)
    }

    /// Rejects a site. Returns whether it was not rejected before.
    pub(super) fn refuse(&mut self, inside: &Utf8Path, text: &str, id: SiteId) -> bool {
        self.rejected.add(inside, text, id)
    }

    /// Rejects all sites.
    pub(super) fn refuse_all(&mut self) {
        self.rejected.add_all(&self.digest);
    }

    /// Saves the rejected sites for other compilers. Before this, the copy must be written without
    /// reports of these sites.
    pub(super) fn save_refused(&mut self) -> io::Result<()> {
        self.rejected.save()
    }

    /// The inputs of the rewriting that concern every file of the package, as text. If the text
    /// has changed, all files must be rewritten.
    pub(super) fn basis(&self) -> String {
        let rejected = self.are_all_rejected();
        format!("{:?}, all refused: {rejected}", self.statics)
    }

    /// The insertions into the file `inside` the package; `None` if its treatment inserts nothing.
    pub(crate) fn of_file(
        &self,
        inside: &Utf8Path,
        text: &str,
    ) -> Option<Result<Rewrite, SyntaxError>> {
        let named = self.package.entries.iter();
        let named = named.filter(|entry| entry.file == inside);
        let mut entries: Vec<EntrySplice<'_>> = named
            .map(|entry| EntrySplice {
                function: &entry.function,
                line: entry.line,
                statement: &entry.statement,
            })
            .collect();
        if self.package.opaque {
            entries.push(EntrySplice {
                function: EntrySplice::EVERY,
                line: None,
                statement: facade_args::ANNOUNCEMENT,
            });
        }
        let marked = self.package.marked(inside);
        let lines = marked.lines();
        if lines.is_none() && entries.is_empty() {
            return None;
        }
        let reports = self.package.borrows && lines.is_some();
        let path = self.package.root.join(inside);
        let rewrite = |without: &[_]| {
            let borrows = Borrows {
                statics: &self.statics,
                without,
            };
            let request = Request {
                marks: self.marks && lines.is_some(),
                lines: lines.unwrap_or_default(),
                borrows: reports.then_some(borrows),
                entries: &entries,
                directory: path.parent().map(Utf8Path::as_str),
            };
            rewriter::rewrite(text, &request)
        };
        let all = match rewrite(&[]) {
            Ok(all) => all,
            error => return Some(error),
        };
        let ids = all.sites.iter().map(|site| site.id);
        let rejected = if self.are_all_rejected() {
            ids.collect()
        } else {
            self.rejected.of(inside, text, ids)
        };
        Some(if rejected.is_empty() {
            Ok(all)
        } else {
            rewrite(&rejected)
        })
    }
}

/// Returns the paths of the `.rs` files of the package in `root`, sorted and relative to `root`.
/// Nested packages, hidden directories and directories of caches are left out.
pub(crate) fn source_files(root: &Utf8Path) -> io::Result<Vec<Utf8PathBuf>> {
    let mut files = Vec::new();
    let mut open = vec![root.to_owned()];
    while let Some(directory) = open.pop() {
        for entry in directory.read_dir_utf8()? {
            // A path in a source file cannot have a name that is not UTF-8.
            let Ok(entry) = entry else { continue };
            let path = entry.path();
            if entry.file_type()?.is_dir() {
                if !is_apart(path) {
                    open.push(path.to_owned());
                }
            } else if path.extension() == Some("rs") {
                files.push(path.strip_prefix(root).unwrap_or(path).to_owned());
            }
        }
    }
    files.sort();
    Ok(files)
}

/// Whether `directory`, which is inside a package, has no source files of this package. This holds
/// if it is another package, a hidden directory or a directory of caches, or cannot be read.
pub(super) fn is_apart(directory: &Utf8Path) -> bool {
    let hidden = directory.file_name().is_some_and(|it| it.starts_with('.'));
    let holds = |name: &str| directory.join(name).exists();
    hidden || holds("Cargo.toml") || holds("CACHEDIR.TAG") || directory.read_dir_utf8().is_err()
}
