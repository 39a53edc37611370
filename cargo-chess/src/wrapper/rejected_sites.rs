//! The borrows of a package that are not reported, because rustc rejected the inserted text.
//!
//! They are stored in a file next to the package's copy. So the compilation of another target of
//! the package, at the same time or later, does not need to find them again.

use std::collections::BTreeSet;
use std::fs;
use std::io::{self, Write};

use camino::{Utf8Path, Utf8PathBuf};
use rewriter::SiteId;

use crate::digest;

/// The rejected sites of a package. A site is a borrow whose report the rewriter can insert.
#[derive(Clone, Default, Debug)]
pub(crate) struct RejectedSites {
    file: Utf8PathBuf,
    /// A line for each site: digest of the text, line, column, kind, file. For all sites of the
    /// package, the line is `*` and the digest of the package's texts.
    lines: BTreeSet<String>,
    /// The lines that are not in the file yet.
    unsaved: String,
}

impl RejectedSites {
    /// Reads the stored sites of the package whose copy is `copy`.
    pub(crate) fn next_to(copy: &Utf8Path) -> Self {
        let file = Utf8PathBuf::from(format!("{copy}.refused"));
        let text = fs::read_to_string(&file).unwrap_or_default();
        Self {
            lines: text.lines().map(str::to_owned).collect(),
            unsaved: String::new(),
            file,
        }
    }

    /// Whether all borrows of the package are rejected. `digest` is the digest of the package's
    /// texts.
    pub(super) fn are_all(&self, digest: &str) -> bool {
        !self.lines.is_empty() && self.lines.contains(&format!("* {digest}"))
    }

    /// Returns those of `sites` whose inserted text rustc has rejected. All `sites` are in the file
    /// `inside`, whose text is `text`.
    pub(crate) fn of(
        &self,
        inside: &Utf8Path,
        text: &str,
        sites: impl IntoIterator<Item = SiteId>,
    ) -> Vec<SiteId> {
        // Most packages have no rejected sites.
        if self.lines.is_empty() {
            return Vec::new();
        }
        let digest = digest::short(text.as_bytes(), 16);
        let is_refused = |id: &SiteId| self.lines.contains(&line(&digest, inside, *id));
        sites.into_iter().filter(is_refused).collect()
    }

    /// Adds a site. Returns whether it is new.
    pub(super) fn add(&mut self, inside: &Utf8Path, text: &str, id: SiteId) -> bool {
        let digest = digest::short(text.as_bytes(), 16);
        self.insert(line(&digest, inside, id))
    }

    /// Rejects all sites of the package. `digest` is the digest of the package's texts.
    pub(super) fn add_all(&mut self, digest: &str) {
        self.insert(format!("* {digest}"));
    }

    fn insert(&mut self, line: String) -> bool {
        let is_new = !self.lines.contains(&line);
        if is_new {
            self.unsaved.push_str(&line);
            self.unsaved.push('\n');
            self.lines.insert(line);
        }
        is_new
    }

    /// Saves the new lines for other compilers. Write the copy without these sites before this
    /// call. A compiler that has read the lines expects a copy without these sites, and would find
    /// wrong sites for the errors in an older copy.
    pub(super) fn save(&mut self) -> io::Result<()> {
        if self.unsaved.is_empty() {
            return Ok(());
        }
        let mut options = fs::OpenOptions::new();
        let mut file = options.append(true).create(true).open(&self.file)?;
        // Several compilers may add to one file, so all lines are written at once.
        file.write_all(self.unsaved.as_bytes())?;
        self.unsaved.clear();
        Ok(())
    }
}

fn line(digest: &str, inside: &Utf8Path, id: SiteId) -> String {
    let SiteId { line, column, kind } = id;
    format!("{digest} {line} {column} {kind:?} {inside}")
}

#[cfg(test)]
mod tests {
    use rewriter::Kind;

    use super::*;

    #[test]
    fn rejected_sites_are_kept_beside_the_copy_until_the_text_changes() {
        let directory = tempfile::tempdir().expect("a temporary directory");
        let copy = Utf8Path::from_path(directory.path())
            .expect("UTF-8")
            .join("bank-0.1.0");
        let id = |line| SiteId {
            line,
            column: 5,
            kind: Kind::Borrow,
        };
        let file = Utf8Path::new("src/lib.rs");
        let mut rejected = RejectedSites::next_to(&copy);
        assert!(rejected.add(file, "text", id(1)));
        assert!(!rejected.add(file, "text", id(1)), "it is known");
        rejected.save().expect("it is written");
        let read = RejectedSites::next_to(&copy);
        assert_eq!(read.of(file, "text", [id(1), id(2)]), [id(1)]);
        assert_eq!(read.of(file, "other", [id(1), id(2)]), []);
        assert!(!read.are_all("texts"));
        rejected.add_all("texts");
        rejected.save().expect("it is written");
        assert!(RejectedSites::next_to(&copy).are_all("texts"));
        assert!(!RejectedSites::next_to(&copy).are_all("new texts"));
    }
}
