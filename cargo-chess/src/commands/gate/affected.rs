//! The members of a workspace that a change affects, according to cargo's graph of dependencies.

use std::collections::{BTreeMap, BTreeSet};

use camino::{Utf8Path, Utf8PathBuf};
use cargo_metadata::{Metadata, Package, PackageId};

/// The reason why a member is affected.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(super) enum Reason {
    /// A file of the member has changed.
    Changed,
    /// The member depends on a changed package. Contains the name of the member's own dependency
    /// that is the changed package or depends on it.
    DependsOn(String),
    /// A file that concerns all packages has changed.
    Everything(String),
}

/// The affected members, and the changed files that belong to no package.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub(super) struct Affected {
    /// For each affected member: its name and the reason. The key is cargo's specification of the
    /// package.
    pub(super) members: BTreeMap<String, (String, Reason)>,
    /// Files in the workspace that belong to no package.
    pub(super) of_none: Vec<Utf8PathBuf>,
}

/// The names of files that concern all packages, because they change the build or the exploration.
/// Such a file is in the workspace's root or above it. A manifest counts only in the root.
const GLOBAL: [&str; 6] = [
    "Cargo.toml",
    "Chess.toml",
    "rust-toolchain",
    "rust-toolchain.toml",
    ".cargo/config",
    ".cargo/config.toml",
];

/// The members that changes affect. `files` are the absolute paths of changed files, and `lock`
/// has the changed packages of Cargo.lock.
pub(super) fn affected(
    metadata: &Metadata,
    files: &[Utf8PathBuf],
    lock: &BTreeSet<(String, String)>,
) -> Affected {
    let root = &metadata.workspace_root;
    let mut found = Affected::default();
    let mut changed = BTreeSet::new();
    let mut only_own_tests = BTreeSet::new();
    let mut global = None;
    for file in files {
        if is_global(root, file) {
            global.get_or_insert_with(|| name_in(root, file));
            // If the root has a package, its manifest also belongs to that package.
        }
        if is_lock(root, file) || file.starts_with(root.join(super::super::rewrite::DIRECTORY)) {
            continue;
        }
        match owner(metadata, file) {
            Some(package) if is_own_test(package, file) => {
                only_own_tests.insert(&package.id);
            }
            Some(package) => {
                changed.insert(&package.id);
            }
            None if file.starts_with(root) && !is_global(root, file) => {
                found.of_none.push(file.clone());
            }
            None => {}
        }
    }
    let is_in_lock = |package: &&Package| {
        lock.contains(&(package.name.to_string(), package.version.to_string()))
    };
    changed.extend(metadata.packages.iter().filter(is_in_lock).map(|it| &it.id));
    let mut why: BTreeMap<&PackageId, Reason> = dependents(metadata, &changed);
    for id in only_own_tests {
        why.entry(id).or_insert(Reason::Changed);
    }
    for member in metadata.workspace_packages() {
        let own = why.get(&member.id).cloned();
        let why = own.or_else(|| global.clone().map(Reason::Everything));
        if let Some(why) = why {
            let name = member.name.to_string();
            found.members.insert(member.id.repr.clone(), (name, why));
        }
    }
    found
}

/// The reason for each affected package: the changed packages, and all packages that depend on
/// them, by every kind of dependency.
fn dependents<'a>(
    metadata: &'a Metadata,
    changed: &BTreeSet<&'a PackageId>,
) -> BTreeMap<&'a PackageId, Reason> {
    let nodes = metadata.resolve.iter().flat_map(|it| &it.nodes);
    let mut users = BTreeMap::<&PackageId, Vec<&PackageId>>::new();
    for node in nodes {
        for dependency in &node.deps {
            users.entry(&dependency.pkg).or_default().push(&node.id);
        }
    }
    let mut why: BTreeMap<_, _> = changed.iter().map(|id| (*id, Reason::Changed)).collect();
    let mut to_visit: Vec<&PackageId> = changed.iter().copied().collect();
    while let Some(id) = to_visit.pop() {
        for user in users.get(id).into_iter().flatten() {
            if !why.contains_key(user) {
                let name = metadata[id].name.to_string();
                why.insert(user, Reason::DependsOn(name));
                to_visit.push(user);
            }
        }
    }
    why
}

/// The innermost package whose directory contains `file`.
fn owner<'a>(metadata: &'a Metadata, file: &Utf8Path) -> Option<&'a Package> {
    let local = metadata.packages.iter().filter(|it| it.source.is_none());
    let owners = local.filter(|it| {
        it.manifest_path
            .parent()
            .is_some_and(|it| file.starts_with(it))
    });
    owners.max_by_key(|it| it.manifest_path.components().count())
}

/// Whether `file` concerns only the tests of the package: it is a regression, or belongs to the
/// integration tests, examples or benches, on which no package depends.
fn is_own_test(package: &Package, file: &Utf8Path) -> bool {
    let root = package
        .manifest_path
        .parent()
        .unwrap_or(&package.manifest_path);
    let own = [
        "tests",
        "examples",
        "benches",
        crate::regressions::DIRECTORY,
    ];
    let inside = |directory: &Utf8Path| file.starts_with(directory);
    let library = |it: &&cargo_metadata::Target| it.is_lib() || it.is_bin() || it.is_custom_build();
    // A manifest may place the library's sources anywhere.
    let sources = package.targets.iter().filter(library);
    let mut sources = sources.filter_map(|it| it.src_path.parent());
    own.iter().any(|it| inside(&root.join(it))) && !sources.any(|it| it != root && inside(it))
}

fn is_lock(root: &Utf8Path, file: &Utf8Path) -> bool {
    file == root.join("Cargo.lock")
}

fn is_global(root: &Utf8Path, file: &Utf8Path) -> bool {
    root.ancestors().any(|above| {
        GLOBAL.iter().any(|name| {
            // Manifests above the root belong to other workspaces.
            (above == root || *name != "Cargo.toml") && file == above.join(name)
        })
    })
}

fn name_in(root: &Utf8Path, file: &Utf8Path) -> String {
    file.strip_prefix(root).unwrap_or(file).to_string()
}

/// The packages of `now`, by name and version, that are not in `before` or differ there.
pub(super) fn changed_in_lock(before: &str, now: &str) -> BTreeSet<(String, String)> {
    let (before, now) = (packages_of(before), packages_of(now));
    let differs = |(id, entry): &(&(String, String), &String)| before.get(*id) != Some(entry);
    let changed = now.iter().filter(differs).map(|(id, _)| id.clone());
    changed.collect()
}

fn packages_of(lock: &str) -> BTreeMap<(String, String), String> {
    let Ok(document) = lock.parse::<toml_edit::DocumentMut>() else {
        return BTreeMap::new();
    };
    let packages = document
        .get("package")
        .and_then(|it| it.as_array_of_tables());
    let packages = packages.into_iter().flatten().filter_map(|package| {
        let text = |key| package.get(key)?.as_str().map(str::to_owned);
        Some(((text("name")?, text("version")?), package.to_string()))
    });
    packages.collect()
}
