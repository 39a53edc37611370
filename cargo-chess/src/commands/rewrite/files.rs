//! The files of a package, and the redirections and rewrites in each.

use std::fs;

use camino::{Utf8Path, Utf8PathBuf};

use super::reviewed::Reviewed;
use crate::error::{Error, Result};
use crate::plan::PlannedPackage;
use crate::wrapper::{PackageInstructions, RejectedSites, Rewriting, source_files};

/// The redirections and rewrites in each file of a package, in its directory and `outside` it.
/// Also returns a sentence for each file that cannot be read.
pub(super) fn review(
    package: &PlannedPackage,
    treatment: &PackageInstructions,
    outside: Vec<Utf8PathBuf>,
) -> Result<(Vec<Reviewed>, Vec<String>)> {
    let (mut reviewed, mut unreadable) = (Vec::new(), Vec::new());
    if !treatment.changes_sources() {
        return Ok((reviewed, unreadable));
    }
    // Marks are in every line, so they are left out here.
    let paths: Vec<Utf8PathBuf> = outside.iter().map(|it| package.root.join(it)).collect();
    let paths = paths.iter().map(Utf8PathBuf::as_path);
    let rewriting = Rewriting::new(treatment, RejectedSites::default(), paths)
        .map_err(Error::io("read", &package.root))?
        .without_marks();
    let mut files = source_files(&package.root).map_err(Error::io("read", &package.root))?;
    files.retain(|file| treatment.has_place_for(file));
    files.extend(outside);
    for inside in files.iter().filter(|file| *file != "build.rs") {
        // The compiler reports files that are not UTF-8.
        let Ok(text) = fs::read_to_string(package.root.join(inside)) else {
            continue;
        };
        match of_file(package, treatment, &rewriting, inside, &text) {
            Ok(found) => reviewed.extend(found),
            Err(error) => unreadable.push(format!(
                "{} {}: {inside} cannot be parsed ({error}), and is compiled unchanged",
                package.name, package.version
            )),
        }
    }
    Ok((reviewed, unreadable))
}

/// The redirections and rewrites in a file, if there are any.
fn of_file(
    package: &PlannedPackage,
    treatment: &PackageInstructions,
    rewriting: &Rewriting<'_>,
    inside: &Utf8Path,
    text: &str,
) -> Result<Option<Reviewed>, rewriter::SyntaxError> {
    let replaced = treatment.replace.iter().any(|(file, _)| file == inside);
    let rewrite = match rewriting.of_file(inside, text) {
        Some(rewrite) => rewrite?,
        None if replaced => rewriter::Rewrite::default(),
        None => return Ok(None),
    };
    let audit = match treatment.marked(inside).lines() {
        Some(_) => rewriter::audit(text)?,
        None => Vec::new(),
    };
    Ok(Reviewed::new(
        package, inside, text, &rewrite, &audit, replaced,
    ))
}
