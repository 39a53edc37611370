//! The files of a package, and what is found in each.

use std::fs;

use camino::{Utf8Path, Utf8PathBuf};
use rewriter::{Accesses, Declarations, EntrySplice, Request};

use super::reviewed::Reviewed;
use crate::error::{Error, Result};
use crate::plan::PlannedPackage;
use crate::wrapper::{ACCESSES_ARE_TOLD, PackageInstructions, is_apart};

/// What is redirected and rewritten in each file of a package, and a sentence for
/// each file that cannot be read.
pub(super) fn review(
    package: &PlannedPackage,
    treatment: &PackageInstructions,
) -> Result<(Vec<Reviewed>, Vec<String>)> {
    let (mut reviewed, mut unreadable) = (Vec::new(), Vec::new());
    if !treatment.changes_sources() {
        return Ok((reviewed, unreadable));
    }
    let mut texts = Vec::new();
    let mut declarations = Declarations::default();
    for inside in sources(&package.root)? {
        let path = package.root.join(&inside);
        // What is not UTF-8 is for the compiler to complain about.
        let Ok(text) = fs::read_to_string(&path) else {
            continue;
        };
        // So is what is no Rust: below, if it is of interest.
        let _ = declarations.add(&text);
        texts.push((inside, text));
    }
    for (inside, text) in texts {
        match of_file(package, treatment, &declarations, &inside, &text) {
            Ok(found) => reviewed.extend(found),
            Err(error) => unreadable.push(format!(
                "{} {}: {inside} cannot be read, and is compiled as it is: {error}",
                package.name, package.version
            )),
        }
    }
    Ok((reviewed, unreadable))
}

/// What is redirected and rewritten in a file, if anything is.
fn of_file(
    package: &PlannedPackage,
    treatment: &PackageInstructions,
    declarations: &Declarations,
    inside: &Utf8Path,
    text: &str,
) -> Result<Option<Reviewed>, rewriter::SyntaxError> {
    let entries: Vec<EntrySplice<'_>> = treatment
        .entries
        .iter()
        .filter(|entry| entry.file == inside)
        .map(|entry| EntrySplice {
            function: &entry.function,
            statement: &entry.statement,
        })
        .collect();
    let replaced = treatment.replace.iter().any(|(file, _)| file == inside);
    let marked = treatment.marked(inside);
    if marked.lines().is_none() && entries.is_empty() && !replaced {
        return Ok(None);
    }
    let accesses = Accesses {
        declarations,
        without: &[],
    };
    let is_preempted = marked.lines().is_some();
    let request = Request {
        lines: marked.lines().unwrap_or_default(),
        accesses: (is_preempted && ACCESSES_ARE_TOLD).then_some(accesses),
        entries: &entries,
        ..Request::default()
    };
    let rewrite = rewriter::rewrite(text, &request)?;
    let audit = if is_preempted {
        rewriter::audit(text)?
    } else {
        Vec::new()
    };
    Ok(Reviewed::new(
        package, inside, text, &rewrite, &audit, replaced,
    ))
}

/// The source files below a package's directory, by their paths in it.
fn sources(root: &Utf8Path) -> Result<Vec<Utf8PathBuf>> {
    let mut files = Vec::new();
    let mut open = vec![root.to_owned()];
    while let Some(directory) = open.pop() {
        let entries = directory
            .read_dir_utf8()
            .map_err(Error::io("read", &directory))?;
        for entry in entries {
            // A name that is not UTF-8 is none that a path in a source file can have.
            let Ok(entry) = entry else { continue };
            let path = entry.path();
            let inside = path.strip_prefix(root).unwrap_or(path);
            if path.is_dir() && !path.is_symlink() {
                if !is_apart(path) {
                    open.push(path.to_owned());
                }
            } else if path.extension() == Some("rs") && inside != "build.rs" {
                files.push(inside.to_owned());
            }
        }
    }
    files.sort();
    Ok(files)
}
