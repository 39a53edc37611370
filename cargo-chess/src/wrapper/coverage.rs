//! The number of a package's references to raw memory that are reported, and the reasons why some
//! are not reported.

use std::collections::BTreeMap;
use std::fmt;
use std::fs;
use std::io;

use camino::{Utf8Path, Utf8PathBuf};
use rewriter::Left;

use super::instructions::PackageInstructions;
use super::rejected_sites::RejectedSites;
use super::rewriting::Rewriting;

/// The references to raw memory that unsafe code of a package creates.
#[derive(Clone, PartialEq, Eq, Default, Debug)]
pub(crate) struct Coverage {
    /// The number of all references.
    pub(crate) found: usize,
    /// The number of reported references.
    pub(crate) watched: usize,
    /// The numbers of references that are not reported, by reason.
    pub(crate) left: BTreeMap<Left, usize>,
}

impl Coverage {
    /// Counts the references in `files`, from which the package was compiled. Returns `None` if
    /// the package should report no references.
    pub(crate) fn of<'a>(
        package: &PackageInstructions,
        sources: &Utf8Path,
        files: impl Iterator<Item = &'a Utf8Path>,
    ) -> io::Result<Option<Self>> {
        if !package.borrows {
            return Ok(None);
        }
        let names: Vec<&Utf8Path> = files
            .filter(|file| file.extension() == Some("rs"))
            .map(|file| file.strip_prefix(&package.root).unwrap_or(file))
            .collect();
        let is_outside = |name: &Utf8Path| {
            let mut components = name.components();
            name.is_absolute() || components.any(|it| it.as_str() == "..")
        };
        let outside: Vec<Utf8PathBuf> = names
            .iter()
            .filter(|name| is_outside(name))
            .map(|name| package.root.join(name))
            .collect();
        let outside = outside.iter().map(Utf8PathBuf::as_path);
        let rejected = RejectedSites::next_to(&package.copy(sources));
        let rewriting = Rewriting::new(package, rejected, outside)?;
        let mut coverage = Self::default();
        for inside in names {
            let text = fs::read_to_string(package.root.join(inside));
            let rewrite = text.ok().and_then(|text| rewriting.of_file(inside, &text));
            // A file that could not be read was compiled unchanged, and its references are unknown.
            for site in rewrite
                .and_then(Result::ok)
                .into_iter()
                .flat_map(|it| it.sites)
            {
                coverage.found += 1;
                match site.left {
                    None => coverage.watched += 1,
                    Some(left) => *coverage.left.entry(left).or_default() += 1,
                }
            }
        }
        Ok(Some(coverage))
    }
}

/// `5 of 7 references made from raw pointers (not watched: 1 within a macro, 1 did not compile)`.
impl fmt::Display for Coverage {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self {
            found,
            watched,
            left,
        } = self;
        write!(f, "{watched} of {found} references made from raw pointers")?;
        let left: Vec<_> = left
            .iter()
            .map(|(why, count)| format!("{count} {why}"))
            .collect();
        if left.is_empty() {
            Ok(())
        } else {
            write!(f, " (not watched: {})", left.join(", "))
        }
    }
}
