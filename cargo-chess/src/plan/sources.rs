//! The digest of the sources that a schedule depends on: those of the packages under `preempt`.

use std::fs;

use super::rust_files::rust_files;
use super::{Plan, PlannedPackage};
use crate::config::Policy;
use crate::digest::{SOURCE_DIGEST_LEN, Streamed};
use crate::error::{Error, Result};

impl Plan {
    /// The digest of the `.rs` files of the packages under `preempt`.
    ///
    /// The inputs of the digest are the names and versions of the packages, the paths of the files
    /// inside their packages, and the contents with `\n` as line ends. So a checkout in another
    /// directory has the same digest.
    pub(crate) fn digest_of_sources(&self) -> Result<String> {
        of_packages(&self.packages)
    }
}

fn of_packages(packages: &[PlannedPackage]) -> Result<String> {
    let mut packages: Vec<_> = packages
        .iter()
        .filter(|package| package.policy == Policy::Preempt)
        .map(|package| {
            (
                package.name.as_str(),
                package.version.as_str(),
                &package.root,
            )
        })
        .collect();
    packages.sort();
    let mut digest = Streamed::default();
    for (name, version, root) in packages {
        digest.field(name.as_bytes());
        digest.field(version.as_bytes());
        for file in rust_files(root)? {
            let contents =
                fs::read(root.join(&file)).map_err(Error::io("read", root.join(&file)))?;
            let portable: Vec<&str> = file.components().map(|part| part.as_str()).collect();
            digest.field(portable.join("/").as_bytes());
            digest.field(&without_carriage_returns(contents));
        }
    }
    Ok(digest.short(SOURCE_DIGEST_LEN))
}

fn without_carriage_returns(contents: Vec<u8>) -> Vec<u8> {
    if !contents.contains(&b'\r') {
        return contents;
    }
    let mut result = Vec::with_capacity(contents.len());
    for (index, &byte) in contents.iter().enumerate() {
        if byte != b'\r' || contents.get(index + 1) != Some(&b'\n') {
            result.push(byte);
        }
    }
    result
}

#[cfg(test)]
mod tests {
    use camino::Utf8Path;

    use super::*;
    use crate::plan::PolicyOrigin;

    fn package(root: &Utf8Path, policy: Policy) -> PlannedPackage {
        PlannedPackage {
            name: "bank".into(),
            version: "0.1.0".into(),
            id: "bank".into(),
            root: root.to_owned(),
            is_member: true,
            policy,
            why: PolicyOrigin::WorkspaceDefault,
            source_prefix: String::new(),
            races: None,
            spins: None,
            guards: Vec::new(),
            places: Vec::new(),
        }
    }

    fn digest_of(files: &[(&str, &str)], policy: Policy) -> String {
        let directory = tempfile::tempdir().expect("a directory");
        let root = Utf8Path::from_path(directory.path()).expect("a path in UTF-8");
        for (path, contents) in files {
            let path = root.join(path);
            fs::create_dir_all(path.parent().expect("a parent")).expect("a directory");
            fs::write(path, contents).expect("a file");
        }
        of_packages(&[package(root, policy)]).expect("readable sources")
    }

    #[test]
    fn the_same_sources_elsewhere_have_the_same_digest() {
        let unix = digest_of(
            &[("src/lib.rs", "a\nb\n"), ("src/x/y.rs", "c")],
            Policy::Preempt,
        );
        let windows = digest_of(
            &[("src/x/y.rs", "c"), ("src/lib.rs", "a\r\nb\r\n")],
            Policy::Preempt,
        );
        assert_eq!(unix, windows);
        assert_eq!(unix.len(), SOURCE_DIGEST_LEN);
    }

    #[test]
    fn a_changed_moved_or_new_file_changes_the_digest() {
        let base = digest_of(&[("src/lib.rs", "a")], Policy::Preempt);
        for other in [
            &[("src/lib.rs", "b")][..],
            &[("src/main.rs", "a")],
            &[("src/lib.rs", "a"), ("src/new.rs", "")],
        ] {
            assert_ne!(base, digest_of(other, Policy::Preempt));
        }
    }

    #[test]
    fn files_that_are_no_sources_of_the_package_do_not_count() {
        let base = digest_of(&[("src/lib.rs", "a")], Policy::Preempt);
        let more = [
            ("src/lib.rs", "a"),
            ("README.md", "text"),
            ("target/debug/build/out.rs", "generated"),
            (".git/hook.rs", ""),
            ("fixtures/other/Cargo.toml", "[package]"),
            ("fixtures/other/src/lib.rs", "another package"),
        ];
        assert_eq!(base, digest_of(&more, Policy::Preempt));
    }

    #[test]
    fn packages_that_are_not_preempted_do_not_count() {
        assert_eq!(
            digest_of(&[("src/lib.rs", "a")], Policy::Atomic),
            digest_of(&[("src/lib.rs", "b")], Policy::Atomic)
        );
    }
}
