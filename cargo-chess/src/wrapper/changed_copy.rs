//! The changed copy of a unit's sources, which the compiler reads.
//!
//! The copy has the shape of the original, from the root of the file system: changed files are
//! written, all others are links to the originals. So `mod`, `include!` and `#[path]` find their
//! files, also outside the package's directory. Line numbers stay correct, because an insertion
//! never moves code to another line, and the compiler is instructed to name the original paths.

use std::collections::{BTreeMap, BTreeSet};
use std::env;
use std::ffi::OsString;
use std::fs;
use std::io;

use super::attempt::Attempt;
use super::compiled::listed;
use super::facade_args;
use super::instructions::{Instructions, PackageInstructions};
use super::link_tree::{self, link, write};
use super::outside_files::{OutsideFiles, normalized};
use super::rejected_sites::RejectedSites;
use super::rewriting::{Rewriting, is_apart};
use super::unit::Unit;
use camino::{Utf8Path, Utf8PathBuf};

/// A copy that is ready to be compiled.
pub(super) struct ChangedCopy<'a> {
    instructions: &'a Instructions,
    package: &'a PackageInstructions,
    rewriting: Rewriting<'a>,
    /// Whether the files of an earlier copy may have been rewritten in another way. If so, all
    /// files are written again.
    is_stale: bool,
    /// The package's directory, without symbolic links. The system follows links before it
    /// resolves `..`, so a path with links would lead to other files.
    root: Utf8PathBuf,
    /// The directory of the repository or the workspace. The copy has all of its entries.
    region: Utf8PathBuf,
    /// The compiler's working directory.
    here: Utf8PathBuf,
    /// The directory of the files that the package's build script generated.
    out_dir: Option<Utf8PathBuf>,
    /// The files of the unit outside the package's directory.
    outside: OutsideFiles,
    /// The directories that are copied only because a file somewhere below them is copied.
    ancestors: BTreeSet<Utf8PathBuf>,
    /// The copy of the file system's root.
    copy: Utf8PathBuf,
    /// The directory of all copies, without symbolic links. It is not copied itself.
    copies: Utf8PathBuf,
    /// Whether cargo names the unit's root file by a relative path.
    relative: bool,
    /// The parts of the instructions that do not fit the sources.
    problems: Vec<String>,
    /// Files that could not be marked, and the reasons.
    unmarked: Vec<(Utf8PathBuf, String)>,
}

impl<'a> ChangedCopy<'a> {
    /// Creates or updates the copy.
    pub(super) fn prepare(
        instructions: &'a Instructions,
        package: &'a PackageInstructions,
        unit: &Unit,
    ) -> io::Result<Self> {
        let base = package.copy(&instructions.sources);
        let here = utf8(env::current_dir()?)?;
        let root = package.root.canonicalize_utf8()?;
        fs::create_dir_all(&instructions.sources)?;
        let mut sources = Self {
            instructions,
            package,
            rewriting: Rewriting::new(package, RejectedSites::next_to(&base), std::iter::empty())?,
            is_stale: false,
            region: if unit.source.is_relative() {
                here.clone()
            } else {
                surroundings(&root)
            },
            out_dir: env::var("OUT_DIR")
                .ok()
                .map(|it| normalized(it.as_str().into())),
            outside: OutsideFiles::beside(&base, unit),
            ancestors: BTreeSet::new(),
            copy: base,
            copies: instructions.sources.canonicalize_utf8()?,
            relative: unit.source.is_relative(),
            problems: Vec::new(),
            unmarked: Vec::new(),
            here,
            root,
        };
        if let Some(source) = Utf8Path::from_path(&unit.source) {
            let source = sources.in_file_system(source);
            let file = normalized(&source);
            if !file.starts_with(&sources.root) {
                let name = sources.name_of(&source);
                sources.outside.add(&file, &name);
            }
        }
        sources.copy_all()?;
        Ok(sources)
    }

    /// Reads the compiler's list of the files of `unit`, and adds the files that the copy needs:
    /// files that must be changed, and, if `misses_files` is true, files that the copy lacks.
    /// Returns whether files were added. If so, the unit must be compiled again.
    pub(super) fn learn(&mut self, unit: &Unit, misses_files: bool) -> io::Result<bool> {
        let list = fs::read_to_string(unit.dep_info()).unwrap_or_default();
        let is_original = |file: &Utf8Path| !file.starts_with(&self.copy);
        let mut found = Vec::new();
        for file in listed(&list).map(Utf8PathBuf::from) {
            let path = match file.strip_prefix(&self.copy) {
                Ok(inside) => Utf8Path::new("/").join(inside),
                Err(_) => self.in_file_system(&file),
            };
            let normal = normalized(&path);
            let is_missing = misses_files && !self.copy_of(&normal).exists();
            // If the compiler read the original, the sources name the file by an absolute path,
            // which does not lead to the copy. The files of a build script are an exception.
            let is_found = misses_files || !is_original(&file) || self.is_generated(&normal);
            let is_changed =
                is_found && normal.extension() == Some("rs") && !self.is_copied(&normal);
            if is_missing || is_changed {
                found.push((self.name_of(&path), normal));
            }
        }
        let mut has_new = false;
        for (name, file) in found {
            has_new |= self.outside.add(&file, &name);
        }
        if has_new {
            self.outside.save()?;
            self.copy_all()?;
        }
        Ok(has_new)
    }

    /// Removes from the copy the reports of the borrows that the compiler's errors name. If the
    /// errors name none, removes the reports of all borrows of the package. Returns whether
    /// anything was removed.
    pub(super) fn back_off(&mut self, attempt: &Attempt) -> io::Result<bool> {
        if !self.package.borrows || self.rewriting.are_all_rejected() {
            return Ok(false);
        }
        let mut changed = BTreeMap::new();
        for error in attempt.errors() {
            let mut places = error.iter();
            let found = places.find_map(|(file, line, column)| {
                let (path, inside) = self.shown(Utf8Path::new(file))?;
                let text = fs::read_to_string(&path).ok()?;
                let rewrite = self.rewriting.of_file(&inside, &text)?.ok()?;
                let site = rewrite.site_at(&text, *line, *column)?;
                Some((path, inside, text, site.id))
            });
            if let Some((path, inside, text, id)) = found
                && self.rewriting.refuse(&inside, &text, id)
            {
                changed.insert(path, inside);
            }
        }
        self.is_stale = true;
        let is_sure = !changed.is_empty();
        if !is_sure {
            // If the copy does not compile without reports either, the reports are not the cause.
            // The file of the basis is removed, so that the next compilation writes the copy with
            // its reports again.
            _ = fs::remove_file(self.basis_file());
            self.rewriting.refuse_all();
            self.problems.clear();
            self.unmarked.clear();
            self.copy_ancestor(Utf8Path::new("/"))?;
        }
        for (path, inside) in changed {
            self.copy_file(&path, &inside)?;
        }
        self.is_stale = false;
        if is_sure {
            self.rewriting.save_refused()?;
        }
        Ok(true)
    }

    /// Stores the rejected reports for later compilations. It is called after the copy has
    /// compiled without them.
    pub(super) fn keep_refused(&mut self) -> io::Result<()> {
        self.rewriting.save_refused()
    }

    /// The parts of the instructions that do not fit the sources, as text. `dep_info` lists the
    /// files of the unit.
    pub(super) fn problems(&self, dep_info: &str) -> Vec<String> {
        let compiled: BTreeSet<Utf8PathBuf> = listed(dep_info)
            .filter_map(|file| {
                let file = Utf8Path::new(&file).strip_prefix(&self.copy).ok()?;
                Some(normalized(&Utf8Path::new("/").join(file)))
            })
            .collect();
        let unmarked = self.unmarked.iter();
        let unmarked = unmarked.filter(|(file, _)| compiled.contains(file));
        let unmarked = unmarked.map(|(_, why)| {
            format!(
                "a file is compiled without marks and overlay, because it cannot be parsed: {why}"
            )
        });
        self.problems.iter().cloned().chain(unmarked).collect()
    }

    /// rustc's arguments, with the copy in place of the original.
    pub(super) fn args(&self, args: &[OsString], unit: &Unit) -> Vec<OsString> {
        let source = Utf8Path::from_path(&unit.source);
        let source = source.map(|it| self.copy_of(&self.in_file_system(it)));
        let replace = |arg: &OsString| match &source {
            Some(source) if **arg == *unit.source => source.as_str().into(),
            _ => arg.clone(),
        };
        let mut args: Vec<OsString> = args.iter().map(replace).collect();
        for (copy, original) in self.names() {
            args.push("--remap-path-prefix".into());
            args.push(format!("{copy}={original}").into());
        }
        // Warnings about the copy would show inserted text. Cargo caps the lints of registry
        // packages itself, and the option may be given only once.
        if !facade_args::caps_lints(&args) {
            args.push("--cap-lints=allow".into());
        }
        args
    }

    /// The directory in which the compiler must look for the generated files, if any of them was
    /// changed.
    pub(super) fn out_dir(&self) -> Option<Utf8PathBuf> {
        let out_dir = self.out_dir.as_deref();
        let changed = out_dir.filter(|it| self.outside.has_any_below(it));
        changed.map(|it| self.copy_of(it))
    }

    /// Directories of the copy, each with the name that the compiler must use for it. If a file is
    /// in several of these directories, the last one decides.
    fn names(&self) -> Vec<(Utf8PathBuf, Utf8PathBuf)> {
        let mut names = vec![(self.copy.clone(), Utf8PathBuf::from("/"))];
        names.push(if self.relative {
            (self.copy_of(&self.here), Utf8PathBuf::new())
        } else {
            (self.copy_of(&self.root), self.package.root.clone())
        });
        // The compiler names generated files by absolute paths.
        let out_dir = self.out_dir.iter();
        names.extend(out_dir.map(|it| (self.copy_of(it), it.clone())));
        names
    }

    /// Directories of the copy, each with the user's directory for it. If a file is in several
    /// directories, the first one decides.
    pub(super) fn originals(&self) -> Vec<(Utf8PathBuf, Utf8PathBuf)> {
        let mut names = self.names();
        if self.relative {
            names[1].1 = as_named(&self.package.root, self.here.clone());
        }
        names.reverse();
        names
    }

    /// The path of an original file in the file system. Cargo or the compiler names it `file`: a
    /// path in the package's root, or a path relative to `here`.
    fn in_file_system(&self, file: &Utf8Path) -> Utf8PathBuf {
        match file.strip_prefix(&self.package.root) {
            Ok(inside) => self.root.join(inside),
            Err(_) => self.here.join(file),
        }
    }

    /// The path of the original of a file that a message of the compiler names, and the name that
    /// decides its treatment. `None` if the file is not part of the unit.
    fn shown(&self, file: &Utf8Path) -> Option<(Utf8PathBuf, Utf8PathBuf)> {
        let path = normalized(&self.in_file_system(file));
        let inside = match self.outside.name_of(&path) {
            Some(name) => name,
            None => path.strip_prefix(&self.root).ok()?,
        };
        let inside = inside.to_owned();
        Some((path, inside))
    }

    /// The name that decides the treatment of a file.
    fn name_of(&self, path: &Utf8Path) -> Utf8PathBuf {
        match path.strip_prefix(&self.root) {
            Ok(inside) if !self.is_generated(path) => inside.to_owned(),
            _ => path.to_owned(),
        }
    }

    /// Whether the package's build script generated the file.
    fn is_generated(&self, path: &Utf8Path) -> bool {
        let out_dir = self.out_dir.as_ref();
        out_dir.is_some_and(|it| path.starts_with(it))
    }

    /// The path of the copy of a file or a directory.
    fn copy_of(&self, path: &Utf8Path) -> Utf8PathBuf {
        self.copy.join(path.strip_prefix("/").unwrap_or(path))
    }

    /// Whether the file has a version of its own in the copy, or needs none. A file has no version
    /// of its own if the copy has only a link to a directory that contains it.
    fn is_copied(&self, file: &Utf8Path) -> bool {
        let is_copied = |directory: &Utf8Path| {
            let copy = self.copy_of(directory);
            let mut around = copy.ancestors().take_while(|it| *it != self.copy);
            let is_ancestor = directory != self.root && self.ancestors.contains(directory);
            !is_ancestor && !around.any(Utf8Path::is_symlink)
        };
        let is_inside = file.starts_with(&self.root);
        self.outside.name_of(file).is_some() || (is_inside && file.parent().is_some_and(is_copied))
    }

    /// Copies the package and all known files outside it.
    fn copy_all(&mut self) -> io::Result<()> {
        let base = self.package.copy(&self.instructions.sources);
        self.copy = self.outside.copy(&base);
        self.rewriting = Rewriting::new(
            self.package,
            RejectedSites::next_to(&base),
            self.outside.files(),
        )?;
        let ends = self.outside.files().chain([&*self.root]);
        let ancestors = ends.flat_map(|end| end.ancestors().skip(1));
        self.ancestors = ancestors.map(Utf8Path::to_owned).collect();
        self.problems.clear();
        self.unmarked.clear();
        let known_basis = self.basis_file();
        let basis = self.rewriting.basis();
        self.is_stale =
            self.package.borrows && fs::read_to_string(&known_basis).ok().as_ref() != Some(&basis);
        self.copy_ancestor(Utf8Path::new("/"))?;
        if self.is_stale {
            write(&known_basis, &basis)?;
            self.is_stale = false;
        }
        Ok(())
    }

    /// The file that stores the inputs of the rewriting that concern every file of the package.
    fn basis_file(&self) -> Utf8PathBuf {
        format!("{}.basis", self.copy).into()
    }

    /// Copies a directory that is an ancestor of the package or of a copied file outside the
    /// package. Entries that lead neither to the package nor to such a file become links to the
    /// originals, so that relative paths in the sources find them. The links are left out if
    /// [`Self::has_all_of`] returns false.
    fn copy_ancestor(&mut self, from: &Utf8Path) -> io::Result<()> {
        let to = self.copy_of(from);
        link_tree::directory(&to)?;
        let mut names = BTreeSet::new();
        if self.has_all_of(from) {
            for entry in from.read_dir_utf8()? {
                // A path in a source file cannot have a name that is not UTF-8.
                let Ok(entry) = entry else { continue };
                names.insert(entry.file_name().to_owned());
            }
        } else {
            let ends = self.outside.files().chain([&*self.root]);
            let below = ends.filter_map(|end| end.strip_prefix(from).ok());
            let first = below.filter_map(|it| it.components().next());
            names.extend(first.map(|it| it.as_str().to_owned()));
        }
        for name in &names {
            let from = from.join(name);
            if from == self.root {
                self.copy_directory(&from, Utf8Path::new(""))?;
            } else if self.ancestors.contains(&from) {
                if from.is_dir() {
                    self.copy_ancestor(&from)?;
                }
            } else if let Some(inside) = self.outside.name_of(&from).map(Utf8Path::to_owned)
                && from.extension() == Some("rs")
            {
                if from.is_file() {
                    self.copy_file(&from, &inside)?;
                }
            } else {
                link(&from, &to.join(name))?;
            }
        }
        link_tree::remove_others(&to, |name| names.contains(name))
    }

    /// Whether the copy has all entries of a directory around the package or around a file outside
    /// it. This holds for directories of the repository or workspace, and for directories that are
    /// not around the package. It never holds for a directory that is above the build
    /// script's output directory and not around the package.
    fn has_all_of(&self, directory: &Utf8Path) -> bool {
        let is_around = self.root.starts_with(directory);
        match &self.out_dir {
            Some(out_dir) if directory.starts_with(out_dir) => true,
            Some(out_dir) if out_dir.starts_with(directory) && !is_around => false,
            _ => directory.starts_with(&self.region) || !is_around,
        }
    }

    /// Copies a directory of the package. `inside` is its path relative to the package's
    /// directory.
    fn copy_directory(&mut self, from: &Utf8Path, inside: &Utf8Path) -> io::Result<()> {
        let to = self.copy_of(from);
        link_tree::directory(&to)?;
        let mut names = BTreeSet::new();
        for entry in from.read_dir_utf8()? {
            // A path in a source file cannot have a name that is not UTF-8.
            let Ok(entry) = entry else { continue };
            let name = entry.file_name().to_owned();
            let (from, inside) = (from.join(&name), inside.join(&name));
            let kind = entry.file_type()?;
            let holds_copy = self.copies.starts_with(&from);
            if kind.is_dir() && !holds_copy && !is_apart(&from) {
                self.copy_directory(&from, &inside)?;
            } else if kind.is_dir() && self.ancestors.contains(&from) {
                self.copy_ancestor(&from)?;
            } else if kind.is_file() && from.extension() == Some("rs") {
                self.copy_file(&from, &inside)?;
            } else {
                link(&from, &to.join(&name))?;
            }
            names.insert(name);
        }
        link_tree::remove_others(&to, |name| names.contains(name))
    }

    fn copy_file(&mut self, from: &Utf8Path, inside: &Utf8Path) -> io::Result<()> {
        let to = self.copy_of(from);
        let replacement = self.package.replace.iter().find(|(file, _)| file == inside);
        if let Some((_, text)) = replacement {
            return write(&to, text);
        }
        let modified = from.metadata()?.modified()?;
        let is_known = to
            .symlink_metadata()
            .is_ok_and(|copy| copy.is_file() && copy.modified().is_ok_and(|it| it == modified));
        let mut entries = self.package.entries.iter();
        let has_entries = self.package.opaque || entries.any(|entry| entry.file == inside);
        if is_known && !has_entries && !self.is_stale {
            return Ok(());
        }
        // The compiler reports files that are not UTF-8.
        let Ok(text) = fs::read_to_string(from) else {
            return link(from, &to);
        };
        let rewrite = match self.rewriting.of_file(inside, &text) {
            None => return link(from, &to),
            Some(Ok(rewrite)) => rewrite,
            // Many packages have files that are not valid Rust and are never compiled.
            Some(Err(error)) => {
                self.unmarked
                    .push((from.to_owned(), format!("{inside}:{error}")));
                return link(from, &to);
            }
        };
        for function in &rewrite.missing_entries {
            self.problems.push(format!(
                "its overlay does not fit: {inside} has no `{function}`"
            ));
        }
        write(&to, &rewrite.apply(&text))?;
        fs::File::options()
            .write(true)
            .open(to)?
            .set_modified(modified)
    }
}

fn utf8(path: std::path::PathBuf) -> io::Result<Utf8PathBuf> {
    Utf8PathBuf::from_path_buf(path).map_err(|_| io::Error::from(io::ErrorKind::InvalidData))
}

/// The directory around a package that may contain further source files of the package: its
/// repository, or else the parent directory. A package of a registry has no files outside its own
/// directory.
fn surroundings(root: &Utf8Path) -> Utf8PathBuf {
    if root.as_str().contains("/registry/src/") {
        return root.to_owned();
    }
    let repository = root.ancestors().find(|it| it.join(".git").exists());
    repository.or(root.parent()).unwrap_or(root).to_owned()
}

/// The path of the working directory `here` in cargo's form, which may contain symbolic links.
/// `root` is a directory below `here`, in cargo's form.
fn as_named(root: &Utf8Path, here: Utf8PathBuf) -> Utf8PathBuf {
    let is_here = |it: &&Utf8Path| it.canonicalize_utf8().is_ok_and(|it| it == here);
    if root.starts_with(&here) {
        return here;
    }
    let named = root.ancestors().find(is_here).map(Utf8Path::to_owned);
    named.unwrap_or(here)
}
