//! The source files of a package in unusual places. Only the files that its sources name are
//! found.
//!
//! The files that macros or build scripts name are known only during compilation.

use std::collections::BTreeSet;
use std::fs;

use camino::{Utf8Path, Utf8PathBuf};
use cargo_metadata::Package;

use crate::wrapper::PackageInstructions;

/// The source files of `package` that are outside its directory, or that no place in `treatment`
/// covers. Paths are relative to its directory, as in `../common/ring.rs`.
pub(super) fn files(package: &Package, treatment: &PackageInstructions) -> Vec<Utf8PathBuf> {
    let Some(root) = package.manifest_path.parent() else {
        return Vec::new();
    };
    let Ok(real_root) = root.canonicalize_utf8() else {
        return Vec::new();
    };
    let targets = package.targets.iter();
    let targets = targets.filter(|target| !target.is_custom_build());
    let mut open: Vec<(Utf8PathBuf, bool)> =
        targets.map(|it| (it.src_path.clone(), true)).collect();
    let mut seen = BTreeSet::new();
    let mut outside = BTreeSet::new();
    while let Some((file, is_root)) = open.pop() {
        // A file that does not exist belongs to another configuration, or is generated.
        let Ok(path) = file.canonicalize_utf8() else {
            continue;
        };
        if !seen.insert(path.clone()) {
            continue;
        }
        let named = file.strip_prefix(root).unwrap_or(&file);
        match path.strip_prefix(&real_root) {
            Ok(inside) if treatment.has_place_for(inside) => {}
            Ok(inside) => drop(outside.insert(inside.to_owned())),
            Err(_) => drop(outside.insert(named.to_owned())),
        }
        let text = fs::read_to_string(&file).unwrap_or_default();
        let name = file.file_name().unwrap_or_default();
        let directory = file.parent().unwrap_or(Utf8Path::new(""));
        // The compiler reports files that are not valid Rust.
        let references = rewriter::references(&text, name, is_root).unwrap_or_default();
        let named = references.into_iter().filter_map(|it| {
            let path = Utf8PathBuf::from_path_buf(it.path).ok()?;
            Some((directory.join(path), it.is_root))
        });
        open.extend(named);
    }
    outside.into_iter().collect()
}
