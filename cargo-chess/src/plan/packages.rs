//! Which packages end up in test binaries, how each is treated, and which source paths that holds for.

use std::collections::{BTreeMap, BTreeSet};

use camino::{Utf8Path, Utf8PathBuf};
use cargo_metadata::{DependencyKind, Metadata, Package, PackageId};

use super::{PlannedPackage, Why};
use crate::config::{Config, CrateEntry, Policy};
use crate::error::Result;

/// Plans every package that is linked into a test binary: members first, then by name.
pub(super) fn plan(metadata: &Metadata, config: &Config) -> Result<Vec<PlannedPackage>> {
    config.check_crates(
        metadata
            .packages
            .iter()
            .map(|package| package.name.as_str()),
    )?;
    let linked = linked(metadata);
    let mut packages = metadata
        .packages
        .iter()
        .filter(|package| linked.contains(&package.id))
        .map(|package| plan_one(metadata, config, package))
        .collect::<Result<Vec<_>>>()?;
    packages.sort_by(|a, b| {
        (!a.is_member, &a.name, &a.version).cmp(&(!b.is_member, &b.name, &b.version))
    });
    Ok(packages)
}

/// The members and what they depend on, but for what only build scripts and
/// procedural macros need, which runs in the compiler.
fn linked(metadata: &Metadata) -> BTreeSet<&PackageId> {
    let packages: BTreeMap<_, _> = metadata.packages.iter().map(|it| (&it.id, it)).collect();
    let nodes: BTreeMap<_, _> = metadata
        .resolve
        .iter()
        .flat_map(|resolve| &resolve.nodes)
        .map(|node| (&node.id, node))
        .collect();
    let mut linked = BTreeSet::new();
    let mut to_visit: Vec<&PackageId> = metadata.workspace_members.iter().collect();
    while let Some(id) = to_visit.pop() {
        let is_member = metadata.workspace_members.contains(id);
        let is_macro = packages.get(id).is_some_and(|package| {
            package
                .targets
                .iter()
                .any(cargo_metadata::Target::is_proc_macro)
        });
        if (is_macro && !is_member) || !linked.insert(id) {
            continue;
        }
        let dependencies = nodes.get(id).into_iter().flat_map(|node| &node.deps);
        to_visit.extend(
            dependencies
                .filter(|dependency| {
                    dependency
                        .dep_kinds
                        .iter()
                        .any(|kind| kind.kind != DependencyKind::Build)
                })
                .map(|dependency| &dependency.pkg),
        );
    }
    linked
}

fn plan_one(metadata: &Metadata, config: &Config, package: &Package) -> Result<PlannedPackage> {
    let is_member = metadata.workspace_members.contains(&package.id);
    let entry = config.crate_entry(&package.name);
    let (policy, why) = match entry.map(|entry| entry.policy) {
        Some(Some(policy)) => (policy, Why::Named),
        // A scope alone says where to preempt.
        Some(None) => (Policy::Preempt, Why::Named),
        None if is_member => (config.workspace_policy(), Why::WorkspaceDefault),
        None => (config.dependency_policy(), Why::DependencyDefault),
    };
    let root = package_root(package);
    let prefix = prefix_of(metadata, package, &root);
    let everywhere = |policy| whole_package(package, &root, &prefix, policy);
    let prefixes = match entry.filter(|entry| !entry.scope.is_empty()) {
        None => everywhere(policy),
        Some(entry) => {
            let mut prefixes = everywhere(Policy::Atomic);
            prefixes.extend(scope_prefixes(config, entry, package, &root, &prefix)?);
            prefixes
        }
    };
    Ok(PlannedPackage {
        name: package.name.to_string(),
        version: package.version.to_string(),
        id: package.id.repr.clone(),
        root,
        is_member,
        policy,
        why,
        source_prefix: prefix,
        prefixes,
    })
}

fn package_root(package: &Package) -> Utf8PathBuf {
    package
        .manifest_path
        .parent()
        .unwrap_or(&package.manifest_path)
        .to_owned()
}

/// How rustc names the package's files: cargo passes paths relative to the
/// workspace's root for what lies in it and is no registry's, else absolute ones.
fn prefix_of(metadata: &Metadata, package: &Package, root: &Utf8Path) -> String {
    let in_workspace = package.source.is_none();
    match root.strip_prefix(&metadata.workspace_root) {
        Ok(relative) if in_workspace => directory_prefix(relative),
        _ => directory_prefix(root),
    }
}

/// A directory as a prefix of its files only; the workspace's root is the empty one.
fn directory_prefix(dir: &Utf8Path) -> String {
    if dir.as_str().is_empty() {
        String::new()
    } else {
        format!("{dir}/")
    }
}

/// The prefixes of all files of a package: its directory or, where that is the
/// workspace's root and so has no name, the directories of its targets.
fn whole_package(
    package: &Package,
    root: &Utf8Path,
    prefix: &str,
    policy: Policy,
) -> Vec<(String, Policy)> {
    if !prefix.is_empty() {
        return vec![(prefix.to_owned(), policy)];
    }
    let places: BTreeSet<String> = package
        .targets
        .iter()
        .filter(|target| !target.is_custom_build())
        .filter_map(|target| {
            let path = target.src_path.strip_prefix(root).ok()?;
            let mut components = path.components();
            let first = components.next()?.as_str();
            let is_directory = components.next().is_some();
            Some(format!("{first}{}", if is_directory { "/" } else { "" }))
        })
        .collect();
    places.into_iter().map(|place| (place, policy)).collect()
}

/// The prefixes of the files that a scope names.
fn scope_prefixes(
    config: &Config,
    entry: &CrateEntry,
    package: &Package,
    root: &Utf8Path,
    prefix: &str,
) -> Result<Vec<(String, Policy)>> {
    let mut prefixes = Vec::new();
    for (index, scope) in entry.scope.iter().enumerate() {
        let found = files_of(package, root, scope);
        if found.is_empty() {
            let expected = "name a file or directory relative to the package's manifest, as in \
                            \"src/ring.rs\", or a module with a file of its own, as in \"my_crate::slots\"";
            return Err(config.scope_error(entry, index, expected));
        }
        prefixes.extend(
            found
                .into_iter()
                .map(|file| (format!("{prefix}{file}"), Policy::Preempt)),
        );
    }
    Ok(prefixes)
}

/// The files, or the directories of them, that a scope names, relative to the package's root.
fn files_of(package: &Package, root: &Utf8Path, scope: &str) -> Vec<String> {
    let scope = scope.trim_end_matches('/');
    let path = root.join(scope);
    if path.is_file() {
        return vec![scope.to_owned()];
    }
    if path.is_dir() {
        return vec![format!("{scope}/")];
    }
    let Some(source_dir) = package
        .targets
        .iter()
        .find(|target| target.is_lib() || target.is_bin() || target.is_proc_macro())
        .and_then(|target| target.src_path.parent())
        .and_then(|dir| dir.strip_prefix(root).ok())
    else {
        return Vec::new();
    };
    let mut modules = scope.split("::").peekable();
    let crate_name = package.name.replace('-', "_");
    if modules.peek() == Some(&"crate") || modules.peek() == Some(&crate_name.as_str()) {
        modules.next();
    }
    let module: Utf8PathBuf = modules.collect();
    if module.as_str().is_empty() {
        return vec![directory_prefix(source_dir)];
    }
    let module = source_dir.join(module);
    [format!("{module}.rs"), format!("{module}/")]
        .into_iter()
        .filter(|name| root.join(name).exists())
        .collect()
}
