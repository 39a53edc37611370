//! rustc's list of the files of a unit, rewritten for cargo.
//!
//! Cargo recompiles a unit when a file or a variable of this list changes.

use std::fs;
use std::io::{self, Write};

use super::changed_copy::ChangedCopy;
use super::instructions::PackageInstructions;
use super::unit::Unit;

/// Replaces the paths of copies in rustc's list by the paths of the user's files. Returns the
/// earlier text of the list.
pub(super) fn map_back(unit: &Unit, sources: &ChangedCopy<'_>) -> io::Result<String> {
    let file = unit.dep_info();
    let Ok(text) = fs::read_to_string(&file) else {
        return Ok(String::new());
    };
    let mut mapped = text.clone();
    for (copy, original) in sources.originals() {
        let original = original.as_str().trim_end_matches('/');
        mapped = mapped.replace(
            &format!("{}/", escape(copy.as_str())),
            &format!("{}/", escape(original)),
        );
        // The values of variables are not escaped as in a makefile.
        mapped = mapped.replace(&format!("{copy}/"), &format!("{original}/"));
    }
    if mapped != text {
        fs::write(file, mapped)?;
    }
    Ok(text)
}

/// Makes cargo recompile the unit when the treatment of its package changes.
pub(super) fn depend_on_treatment(
    unit: &Unit,
    package: &str,
    treatment: Option<&str>,
) -> io::Result<()> {
    let variable = PackageInstructions::variable(package);
    let mut line = format!("\n# env-dep:{variable}");
    if let Some(treatment) = treatment {
        line.push('=');
        line.push_str(treatment);
    }
    line.push('\n');
    match fs::OpenOptions::new().append(true).open(unit.dep_info()) {
        Ok(mut file) => file.write_all(line.as_bytes()),
        // Without a list, cargo makes no comparison.
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
        Err(error) => Err(error),
    }
}

/// Escapes a path for rustc's list, which has the format of a makefile.
fn escape(path: &str) -> String {
    path.replace(' ', "\\ ")
}
