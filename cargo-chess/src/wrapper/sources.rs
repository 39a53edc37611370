//! The changed copy of a package's sources that the compiler is given.
//!
//! The copy has the shape of the original: files that change are written, all
//! others are links to the originals, so that `mod`, `include!` and `#[path]`
//! find what they name. Line numbers stay true, for every change keeps to its line, and
//! the compiler is told to name the original paths.

use std::collections::BTreeSet;
use std::ffi::OsString;
use std::fs;
use std::io::{self, ErrorKind};
use std::os::unix::fs::symlink;

use super::attempt::Attempt;
use super::instructions::{Instructions, PackageInstructions};
use super::refused::Refused;
use super::rewriting::{Rewriting, is_apart};
use super::swap;
use super::unit::Unit;
use camino::{Utf8Path, Utf8PathBuf};

/// A copy that is ready to be compiled.
pub(super) struct Sources<'a> {
    package: &'a PackageInstructions,
    rewriting: Rewriting<'a>,
    /// Whether what was copied before may have been rewritten otherwise.
    is_stale: bool,
    /// The directory that was copied: the package's, or one around it.
    original: Utf8PathBuf,
    /// Its copy.
    copy: Utf8PathBuf,
    /// How the compiler is to name the directory: nothing where cargo's paths are relative.
    shown: Utf8PathBuf,
    /// What did not fit.
    problems: Vec<String>,
    /// Files that could not be marked, and why.
    unmarked: Vec<(Utf8PathBuf, String)>,
}

impl<'a> Sources<'a> {
    /// Makes the copy, or brings it up to date.
    pub(super) fn prepare(
        instructions: &Instructions,
        package: &'a PackageInstructions,
        unit: &Unit,
    ) -> io::Result<Self> {
        let relative = unit.source.is_relative();
        let original = if relative {
            let here = std::env::current_dir()?;
            let here = Utf8PathBuf::from_path_buf(here);
            let here = here.map_err(|_| io::Error::from(ErrorKind::InvalidData))?;
            as_named(&package.root, here)
        } else {
            surroundings(&package.root)
        };
        let copy = package.copy(&instructions.sources);
        let rewriting = Rewriting::new(package, Refused::beside(&copy))?;
        let known_basis = Utf8PathBuf::from(format!("{copy}.basis"));
        let basis = rewriting.basis();
        let is_stale =
            package.tells && fs::read_to_string(&known_basis).ok().as_ref() != Some(&basis);
        let mut sources = Self {
            package,
            rewriting,
            is_stale,
            shown: if relative {
                Utf8PathBuf::new()
            } else {
                original.clone()
            },
            original,
            copy,
            problems: Vec::new(),
            unmarked: Vec::new(),
        };
        let inner = package.root.strip_prefix(&sources.original).map_err(|_| {
            io::Error::new(
                ErrorKind::InvalidInput,
                format!("{} is not below {}", package.root, sources.original),
            )
        })?;
        sources.copy_around(inner)?;
        let from = package.root.clone();
        let to = sources.copy.join(inner);
        sources.copy_directory(&from, &to, Utf8Path::new(""))?;
        if sources.is_stale {
            write(&known_basis, &basis)?;
            sources.is_stale = false;
        }
        Ok(sources)
    }

    /// Leaves out what rustc refuses of the accesses that are told of, or all of
    /// them where it does not say which; whether anything changed.
    pub(super) fn back_off(&mut self, attempt: &Attempt) -> io::Result<bool> {
        if !self.package.tells || self.rewriting.are_all_refused() {
            return Ok(false);
        }
        let here = std::env::current_dir()?;
        let mut changed = BTreeSet::new();
        for error in attempt.errors() {
            let mut places = error.iter();
            let found = places.find_map(|(file, line, column)| {
                let path = Utf8PathBuf::from_path_buf(here.join(file)).ok()?;
                let inside = path.strip_prefix(&self.package.root).ok()?;
                let text = fs::read_to_string(&path).ok()?;
                let rewrite = self.rewriting.of_file(inside, &text)?.ok()?;
                let site = rewrite.site_at(&text, *line, *column)?;
                Some((inside.to_owned(), text, site.id))
            });
            if let Some((inside, text, id)) = found
                && self.rewriting.refuse(&inside, &text, id)
            {
                changed.insert(inside);
            }
        }
        let inner = self.package.root.strip_prefix(&self.original);
        let root = self.copy.join(inner.unwrap_or(Utf8Path::new("")));
        self.is_stale = true;
        if changed.is_empty() {
            self.rewriting.refuse_all();
            self.problems.clear();
            self.unmarked.clear();
            let from = self.package.root.clone();
            self.copy_directory(&from, &root, Utf8Path::new(""))?;
        }
        for inside in changed {
            let from = self.package.root.join(&inside);
            self.copy_file(&from, &root.join(&inside), &inside)?;
        }
        self.is_stale = false;
        self.rewriting.save_refused()?;
        Ok(true)
    }

    /// The directory that was copied.
    pub(super) fn original(&self) -> &Utf8Path {
        &self.original
    }

    /// Its copy.
    pub(super) fn copy(&self) -> &Utf8Path {
        &self.copy
    }

    /// What of the instructions did not fit, in words, where the unit was made
    /// from the files that `dep_info` lists.
    pub(super) fn problems(&self, dep_info: &str) -> Vec<String> {
        let compiled = |(file, why): &(Utf8PathBuf, String)| {
            let is_compiled = dep_info.contains(file.as_str());
            is_compiled.then(|| {
                format!(
                    "a file is neither marked nor given an overlay, for it cannot be read: {why}"
                )
            })
        };
        let unmarked = self.unmarked.iter().filter_map(compiled);
        self.problems.iter().cloned().chain(unmarked).collect()
    }

    /// rustc's arguments for the copy in place of the original.
    pub(super) fn args(&self, args: &[OsString], unit: &Unit) -> Vec<OsString> {
        let source = match unit.source.strip_prefix(&self.original) {
            Ok(inside) => self.copy.as_std_path().join(inside),
            Err(_) if unit.source.is_relative() => self.copy.as_std_path().join(&unit.source),
            // A root file elsewhere has no copy.
            Err(_) => unit.source.clone(),
        };
        let replace = |arg: &OsString| {
            if **arg == *unit.source {
                source.clone().into()
            } else {
                arg.clone()
            }
        };
        let mut args: Vec<OsString> = args.iter().map(replace).collect();
        args.push("--remap-path-prefix".into());
        args.push(format!("{}={}", self.copy, self.shown).into());
        // Its warnings would show text that is not the user's. Packages of a
        // registry are capped by cargo, and the option may be given once only.
        if !swap::caps_lints(&args) {
            args.push("--cap-lints=allow".into());
        }
        args
    }

    /// Links what lies beside the package in each directory around it, for paths
    /// that lead out of the package.
    fn copy_around(&self, inner: &Utf8Path) -> io::Result<()> {
        let mut from = self.original.clone();
        let mut to = self.copy.clone();
        for part in inner.components() {
            fs::create_dir_all(&to)?;
            for entry in from.read_dir_utf8()? {
                let Ok(entry) = entry else { continue };
                let name = entry.file_name().to_owned();
                if name != part.as_str() {
                    link(&from.join(&name), &to.join(&name))?;
                }
            }
            from.push(part);
            to.push(part);
        }
        fs::create_dir_all(&to)
    }

    /// Copies the package's directory `from`, which is `inside` the package.
    fn copy_directory(
        &mut self,
        from: &Utf8Path,
        to: &Utf8Path,
        inside: &Utf8Path,
    ) -> io::Result<()> {
        fs::create_dir_all(to)?;
        let mut names = BTreeSet::new();
        for entry in from.read_dir_utf8()? {
            // A name that is not UTF-8 is none that a path in a source file can have.
            let Ok(entry) = entry else { continue };
            let name = entry.file_name().to_owned();
            let (from, to, inside) = (from.join(&name), to.join(&name), inside.join(&name));
            let kind = entry.file_type()?;
            let holds_copy = self.copy.starts_with(&from);
            if kind.is_dir() && !holds_copy && !is_apart(&from) {
                if to.is_symlink() {
                    fs::remove_file(&to)?;
                }
                self.copy_directory(&from, &to, &inside)?;
            } else if kind.is_file() && from.extension() == Some("rs") {
                self.copy_file(&from, &to, &inside)?;
            } else {
                link(&from, &to)?;
            }
            names.insert(name);
        }
        for entry in to.read_dir_utf8()? {
            let entry = entry?;
            let is_new = entry.file_name().ends_with(NEW);
            if !is_new && !names.contains(entry.file_name()) {
                let removed = if entry.file_type()?.is_dir() {
                    fs::remove_dir_all(entry.path())
                } else {
                    fs::remove_file(entry.path())
                };
                ignore(removed, ErrorKind::NotFound)?;
            }
        }
        Ok(())
    }

    fn copy_file(&mut self, from: &Utf8Path, to: &Utf8Path, inside: &Utf8Path) -> io::Result<()> {
        let replacement = self.package.replace.iter().find(|(file, _)| file == inside);
        if let Some((_, text)) = replacement {
            return write(to, text);
        }
        let modified = from.metadata()?.modified()?;
        let is_known = to
            .symlink_metadata()
            .is_ok_and(|copy| copy.is_file() && copy.modified().is_ok_and(|it| it == modified));
        let has_entries = self
            .package
            .entries
            .iter()
            .any(|entry| entry.file == inside);
        if is_known && !has_entries && !self.is_stale {
            return Ok(());
        }
        // What is not UTF-8 is for the compiler to complain about.
        let Ok(text) = fs::read_to_string(from) else {
            return link(from, to);
        };
        let rewrite = match self.rewriting.of_file(inside, &text) {
            None => return link(from, to),
            Some(Ok(rewrite)) => rewrite,
            // Many packages have such files, and no one compiles them.
            Some(Err(error)) => {
                self.unmarked
                    .push((to.to_owned(), format!("{inside}:{error}")));
                return link(from, to);
            }
        };
        for function in &rewrite.missing_entries {
            self.problems.push(format!(
                "its overlay does not fit: {inside} has no `{function}`"
            ));
        }
        write(to, &rewrite.apply(&text))?;
        fs::File::options()
            .write(true)
            .open(to)?
            .set_modified(modified)
    }
}

/// Ends the names of files that are being written.
const NEW: &str = ".chess-new";

/// The directory around a package that its sources may have files of: that of its
/// repository, or else the next one. Packages of a registry have no files elsewhere.
fn surroundings(root: &Utf8Path) -> Utf8PathBuf {
    if root.as_str().contains("/registry/src/") {
        return root.to_owned();
    }
    let repository = root.ancestors().find(|it| it.join(".git").exists());
    repository.or(root.parent()).unwrap_or(root).to_owned()
}

/// The directory `here` by the name that it has in the path of `root`, below it: cargo knows a
/// workspace by the path that it was given, which may lead through symbolic links.
fn as_named(root: &Utf8Path, here: Utf8PathBuf) -> Utf8PathBuf {
    let is_here = |it: &&Utf8Path| it.canonicalize_utf8().is_ok_and(|it| it == here);
    if root.starts_with(&here) {
        return here;
    }
    let named = root.ancestors().find(is_here).map(Utf8Path::to_owned);
    named.unwrap_or(here)
}

/// Several compilers may need one copy at a time: a file appears whole or not at all.
fn write(to: &Utf8Path, text: &str) -> io::Result<()> {
    if !to.is_symlink() && fs::read_to_string(to).is_ok_and(|old| old == text) {
        return Ok(());
    }
    let new = format!("{to}.{}{NEW}", std::process::id());
    fs::write(&new, text)?;
    fs::rename(&new, to)
}

fn link(from: &Utf8Path, to: &Utf8Path) -> io::Result<()> {
    if fs::read_link(to).is_ok_and(|target| target == from) {
        return Ok(());
    }
    let new = format!("{to}.{}{NEW}", std::process::id());
    symlink(from, &new)?;
    if to.is_dir() && !to.is_symlink() {
        ignore(fs::remove_dir_all(to), ErrorKind::NotFound)?;
    }
    fs::rename(&new, to)
}

/// Another compiler may have been first.
fn ignore(result: io::Result<()>, kind: ErrorKind) -> io::Result<()> {
    match result {
        Err(error) if error.kind() != kind => Err(error),
        _ => Ok(()),
    }
}
