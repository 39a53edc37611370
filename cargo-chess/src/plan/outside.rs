//! What of a package's code no treatment brings under control, as far as its sources tell.

use camino::{Utf8Path, Utf8PathBuf};

use super::{Plan, PlannedPackage};
use crate::config::Policy;

/// So many places are named one by one.
const NAMED: usize = 3;

impl Plan {
    /// What of `package` is outside control, a phrase each.
    pub fn outside_control(&self, package: &PlannedPackage) -> Vec<String> {
        let mut found = Vec::new();
        if package.policy == Policy::Opaque {
            found.push("all that it does but block".to_owned());
        }
        let metadata = self.metadata.packages.iter();
        let links = metadata
            .filter(|it| it.id.repr == package.id)
            .find_map(|it| it.links.as_deref());
        if let Some(library) = links {
            found.push(format!("the native library `{library}`"));
        }
        let assembly = assembly(&package.root);
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
                "inline assembly that synchronizes ({}{rest}), but for fences",
                places.join(", ")
            ));
        }
        found
    }
}

/// The places of a package's inline assembly that synchronizes, for any machine.
fn assembly(root: &Utf8Path) -> Vec<String> {
    let mut places = Vec::new();
    let mut directories = vec![root.join("src")];
    while let Some(directory) = directories.pop() {
        let Ok(entries) = directory.read_dir_utf8() else {
            continue;
        };
        let mut entries: Vec<Utf8PathBuf> =
            entries.flatten().map(|it| it.path().to_owned()).collect();
        entries.sort();
        for path in entries {
            if path.is_dir() {
                directories.push(path);
            } else if path.extension() == Some("rs") {
                places.extend(assembly_of(root, &path));
            }
        }
    }
    places
}

fn assembly_of(root: &Utf8Path, path: &Utf8Path) -> Vec<String> {
    // A look before the file is taken apart: few have any.
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
    fn assembly_is_found_wherever_it_lies_and_only_if_it_synchronizes() {
        let dir = tempfile::tempdir().expect("a temporary directory");
        let root = Utf8Path::from_path(dir.path()).expect("a UTF-8 path");
        std::fs::create_dir_all(root.join("src/deep")).expect("writable");
        let fence = "fn f() {\n    unsafe { asm!(\"mfence\") }\n}\n";
        std::fs::write(root.join("src/deep/fence.rs"), fence).expect("writable");
        let nop = "fn f() { unsafe { asm!(\"nop\") } }";
        std::fs::write(root.join("src/lib.rs"), nop).expect("writable");
        assert_eq!(assembly(root), ["src/deep/fence.rs:2"]);
    }
}
