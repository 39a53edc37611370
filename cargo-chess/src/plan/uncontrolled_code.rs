//! The parts of a package's code that are outside control. Only the parts that its sources show
//! are found. The reason for the policy of a package is in `policy_origin.rs`, and the reason why a
//! package did not compile under control in `wrapper/fallback_reasons.rs`.

use camino::Utf8Path;

use super::{Plan, PlannedPackage};
use crate::config::Policy;

/// The highest number of places that are named individually.
const NAMED: usize = 3;

impl Plan {
    /// A phrase for each part of `package` that is outside control. `files` are the files from
    /// which the package was compiled.
    pub(crate) fn outside_control<'a>(
        &self,
        package: &PlannedPackage,
        files: impl Iterator<Item = &'a Utf8Path>,
    ) -> Vec<String> {
        let mut found = Vec::new();
        if package.policy == Policy::Opaque {
            found.push("everything except its blocking operations".to_owned());
        }
        let metadata = self.metadata.packages.iter();
        let links = metadata
            .filter(|it| it.id.repr == package.id)
            .find_map(|it| it.links.as_deref());
        if let Some(library) = links {
            found.push(format!("the native library `{library}`"));
        }
        let assembly: Vec<String> = files
            .flat_map(|file| assembly_of(&package.root, file))
            .collect();
        if !assembly.is_empty() {
            let mut places: Vec<&str> = assembly.iter().map(String::as_str).collect();
            let more = places.len().saturating_sub(NAMED);
            places.truncate(NAMED);
            let rest = if more > 0 {
                format!(" and {more} more")
            } else {
                String::new()
            };
            found.push(format!(
                "inline assembly that synchronizes, unless it is a fence ({}{rest})",
                places.join(", ")
            ));
        }
        found
    }
}

/// The places of the inline assembly that synchronizes, in a file.
fn assembly_of(root: &Utf8Path, path: &Utf8Path) -> Vec<String> {
    // Few files have inline assembly, so only these are parsed.
    let text = std::fs::read_to_string(path).unwrap_or_default();
    if !text.contains("asm!") {
        return Vec::new();
    }
    let file = path.strip_prefix(root).unwrap_or(path);
    let found = rewriter::inline_asm(&text).unwrap_or_default();
    let synchronizing = found.iter().filter(|it| it.synchronizes);
    synchronizing
        .map(|it| format!("{file}:{}", it.line))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn assembly_is_named_only_if_it_synchronizes() {
        let dir = tempfile::tempdir().expect("a temporary directory");
        let root = Utf8Path::from_path(dir.path()).expect("a UTF-8 path");
        let file = root.join("lib.rs");
        let text = "fn f() {\n    unsafe { asm!(\"mfence\") }\n    unsafe { asm!(\"nop\") }\n}\n";
        std::fs::write(&file, text).expect("writable");
        assert_eq!(assembly_of(root, &file), ["lib.rs:2"]);
    }
}
