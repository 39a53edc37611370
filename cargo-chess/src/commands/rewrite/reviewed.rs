//! The redirections and rewrites in one file, as text for people.

use std::fmt;

use camino::{Utf8Path, Utf8PathBuf};
use rewriter::{Reach, Rewrite};

use super::diff;
use crate::plan::PlannedPackage;

/// The redirections and rewrites in one file.
pub(super) struct Reviewed {
    /// The name of the package, with the version if it is not a member of the workspace.
    pub(super) package: String,
    /// The file, relative to the package's directory.
    pub(super) file: Utf8PathBuf,
    /// The redirections and rewrites.
    pub(super) text: String,
}

impl Reviewed {
    /// Creates the text about a file. Returns `None` if the file has neither redirections nor
    /// rewrites.
    pub(super) fn new(
        package: &PlannedPackage,
        file: &Utf8Path,
        source: &str,
        rewrite: &Rewrite,
        audit: &[Reach],
        replaced: bool,
    ) -> Option<Self> {
        let mut text = String::new();
        if replaced {
            text += "replaced by an overlay of cargo chess\n";
        }
        if !audit.is_empty() {
            text += "audit:\n";
            text += &audited(audit);
        }
        if !rewrite.edits.is_empty() && !replaced {
            text += "edits:\n";
            text += &diff::of_lines(file.as_str(), source, &rewrite.apply(source));
        }
        let package = if package.is_member {
            package.name.clone()
        } else {
            format!("{}-{}", package.name, package.version)
        };
        (!text.is_empty()).then(|| Self {
            package,
            file: file.to_owned(),
            text,
        })
    }

    /// Whether `wanted` selects the file: `package` or `package:file`. `None` selects all files.
    pub(super) fn is(&self, wanted: Option<&str>) -> bool {
        let Some(wanted) = wanted else { return true };
        match wanted.split_once(':') {
            Some((package, file)) => self.package == package && self.file == file,
            None => self.package == wanted,
        }
    }
}

/// The output of `cargo chess rewrite`.
impl fmt::Display for Reviewed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "{} {}", self.package, self.file)?;
        for line in self.text.lines() {
            writeln!(f, "    {line}")?;
        }
        writeln!(f)
    }
}

fn audited(audit: &[Reach]) -> String {
    let width = audit.iter().map(|it| it.path.len()).max().unwrap_or(0);
    let row = |reach: &Reach| {
        let (line, path, meaning) = (reach.line, &reach.path, reach.meaning);
        let how = if reach.is_import { "use" } else { "   " };
        format!(
            "{line:5} {how} {path:width$}  {}: {}\n",
            meaning.treatment, meaning.words
        )
    };
    audit.iter().map(row).collect()
}
