//! The compiled files, according to rustc's lists. The lists do not have files that `cfg`
//! excludes.

use std::collections::{BTreeMap, BTreeSet};

use camino::{Utf8Path, Utf8PathBuf};
use cargo_metadata::Artifact;
use serde::{Deserialize, Serialize};

/// The files of each package, by cargo's identifier of the package.
#[derive(Serialize, Deserialize, Clone, Default, Debug)]
pub(crate) struct CompiledFiles(BTreeMap<String, BTreeSet<Utf8PathBuf>>);

impl CompiledFiles {
    /// Adds the files of the unit that produced `artifact`. Relative paths in the unit's list are
    /// relative to the workspace's root.
    pub(crate) fn add(&mut self, artifact: &Artifact, workspace_root: &Utf8Path) {
        let Some(list) = dep_info(artifact).and_then(|file| std::fs::read_to_string(file).ok())
        else {
            return;
        };
        let files = self.0.entry(artifact.package_id.repr.clone()).or_default();
        files.extend(listed(&list).map(|file| workspace_root.join(file)));
    }

    /// The files that a package was compiled from.
    pub(crate) fn of(&self, package: &str) -> impl Iterator<Item = &Utf8Path> {
        let files = self.0.get(package).into_iter().flatten();
        files.map(Utf8PathBuf::as_path)
    }
}

/// The path of rustc's list of the files of the unit that produced `artifact`. The list is next to
/// the product, under the name of the crate.
fn dep_info(artifact: &Artifact) -> Option<Utf8PathBuf> {
    let product = artifact.filenames.first()?;
    let stem = product.file_stem()?;
    let stem = match product.extension() {
        Some("rlib" | "rmeta") => stem.strip_prefix("lib").unwrap_or(stem),
        _ => stem,
    };
    Some(product.with_file_name(format!("{stem}.d")))
}

/// The files in a list that rustc has written. The list has a line `file:` for each file.
pub(super) fn listed(list: &str) -> impl Iterator<Item = String> {
    let targets = list.lines().filter_map(|line| line.strip_suffix(':'));
    targets.map(|file| file.replace("\\ ", " "))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_file_of_a_list_is_found() {
        let list = "/t/deps/a-1.d: src/lib.rs src/my\\ file.rs\n\n/t/deps/liba-1.rmeta: src/lib.rs \
                    src/my\\ file.rs\n\nsrc/lib.rs:\nsrc/my\\ file.rs:\n\n# env-dep:X=1\n";
        let files: Vec<_> = listed(list).collect();
        assert_eq!(files, ["src/lib.rs", "src/my file.rs"]);
    }
}
