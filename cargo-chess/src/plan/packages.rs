//! The packages in test binaries, the treatment of each, and the source paths of the treatments.

use std::collections::{BTreeMap, BTreeSet};

use camino::{Utf8Path, Utf8PathBuf};
use cargo_metadata::{DependencyKind, Metadata, Package, PackageId};

use super::policy_origin::PolicyOrigin;
use super::{Place, PlannedPackage, exclusive};
use crate::config::{Config, CrateEntry, Policy, Races};
use crate::error::Result;

/// Plans the treatment of every package that is linked into a test binary. Members come first.
/// Packages are sorted by name.
pub(super) fn plan(
    metadata: &Metadata,
    config: &Config,
    instruments: bool,
) -> Result<Vec<PlannedPackage>> {
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
        .map(|package| plan_one(metadata, config, package, instruments))
        .collect::<Result<Vec<_>>>()?;
    exclusive::select(metadata, config, &mut packages)?;
    packages.sort_by(|a, b| {
        (!a.is_member, &a.name, &a.version).cmp(&(!b.is_member, &b.name, &b.version))
    });
    Ok(packages)
}

/// The members and their dependencies. Dependencies that only build scripts and procedural macros
/// need are left out, because they run in the compiler.
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

fn plan_one(
    metadata: &Metadata,
    config: &Config,
    package: &Package,
    instruments: bool,
) -> Result<PlannedPackage> {
    let is_member = metadata.workspace_members.contains(&package.id);
    let entry = config.crate_entry(&package.name);
    let (policy, why) = match entry.map(|entry| (entry.policy, entry.scope.is_empty())) {
        Some((Some(policy), _)) => (policy, PolicyOrigin::Named),
        // If an entry has only a scope, the code in the scope is preempted.
        Some((None, false)) => (Policy::Preempt, PolicyOrigin::Named),
        _ if is_member => (config.workspace_policy(), PolicyOrigin::WorkspaceDefault),
        _ => (config.dependency_policy(), PolicyOrigin::DependencyDefault),
    };
    let root = package_root(package);
    let prefix = prefix_of(metadata, package, &root);
    let everywhere = |policy| whole_package(package, &root, &prefix, policy);
    let places = match entry.filter(|entry| !entry.scope.is_empty()) {
        None => everywhere(policy),
        Some(entry) => {
            let mut places = everywhere(Policy::Atomic);
            let scope = scope_places(config, entry, package, &root)?;
            places.extend(
                scope
                    .into_iter()
                    .map(|it| (it.below(&prefix), Policy::Preempt)),
            );
            places
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
        places,
        races: entry
            .and_then(|entry| entry.races)
            .or_else(|| races_of_dependency(config, is_member, policy).filter(|_| instruments)),
        spins: entry.and_then(|entry| entry.spins),
        guards: Vec::new(),
    })
}

/// The level for data races in a package without a level of its own; `None` for the general level.
/// In a dependency with the policy `atomic`, a race is only a warning, unless the user sets the
/// general level: users should know about the race, but cannot correct it.
fn races_of_dependency(config: &Config, is_member: bool, policy: Policy) -> Option<Races> {
    let is_default = !is_member && policy == Policy::Atomic && !config.sets_races();
    is_default.then_some(Races::Warn)
}

fn package_root(package: &Package) -> Utf8PathBuf {
    package
        .manifest_path
        .parent()
        .unwrap_or(&package.manifest_path)
        .to_owned()
}

/// The start of the paths by which rustc names the package's source files. Cargo passes relative
/// paths for members and path dependencies if they lie below the workspace's root, and absolute
/// paths for all other packages.
fn prefix_of(metadata: &Metadata, package: &Package, root: &Utf8Path) -> String {
    let in_workspace = package.source.is_none();
    match root.strip_prefix(&metadata.workspace_root) {
        Ok(relative) if in_workspace => directory_prefix(relative),
        _ => directory_prefix(root),
    }
}

/// The prefix that the names of all files in a directory have, and no other names: the directory
/// with a slash. The prefix of the workspace's root is empty.
fn directory_prefix(dir: &Utf8Path) -> String {
    if dir.as_str().is_empty() {
        String::new()
    } else {
        format!("{dir}/")
    }
}

/// The places that contain all files of a package. Usually, the only place is its directory. For a
/// package in the workspace's root, whose prefix is empty, the places are the directories and
/// files of its targets.
fn whole_package(
    package: &Package,
    root: &Utf8Path,
    prefix: &str,
    policy: Policy,
) -> Vec<(Place, Policy)> {
    if !prefix.is_empty() {
        return vec![(Place::all_of(prefix), policy)];
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
    let places = places.into_iter().map(Place::all_of);
    places.map(|place| (place, policy)).collect()
}

/// The places of the scope of `entry`, relative to the package's root.
fn scope_places(
    config: &Config,
    entry: &CrateEntry,
    package: &Package,
    root: &Utf8Path,
) -> Result<Vec<Place>> {
    let mut places = Vec::new();
    for (index, scope) in entry.scope.iter().enumerate() {
        let found = places_of(package, root, scope);
        if found.is_empty() {
            let expected = "name a file or directory relative to the package's manifest, as in \
                            \"src/ring.rs\", or a module, as in \"my_crate::slots\"";
            return Err(config.scope_error(entry, index, expected));
        }
        places.extend(found);
    }
    Ok(places)
}

/// The places of one element of a scope.
fn places_of(package: &Package, root: &Utf8Path, scope: &str) -> Vec<Place> {
    let scope = scope.trim_end_matches('/');
    let path = root.join(scope);
    if path.is_file() {
        return vec![Place::all_of(scope)];
    }
    if path.is_dir() {
        return vec![Place::all_of(format!("{scope}/"))];
    }
    let Some(source) = package
        .targets
        .iter()
        .find(|target| target.is_lib() || target.is_bin() || target.is_proc_macro())
        .and_then(|target| target.src_path.strip_prefix(root).ok())
    else {
        return Vec::new();
    };
    let source_dir = source.parent().unwrap_or(Utf8Path::new(""));
    let mut modules: Vec<&str> = scope.split("::").collect();
    let crate_name = package.name.replace('-', "_");
    if modules[0] == "crate" || modules[0] == crate_name {
        modules.remove(0);
    }
    if modules.is_empty() {
        return vec![Place::all_of(directory_prefix(source_dir))];
    }
    let files = files_of_module(root, source_dir, &modules);
    if files.is_empty() {
        inline_module(root, source, &modules).into_iter().collect()
    } else {
        files
    }
}

/// The file and the directory of a module, if they exist.
fn files_of_module(root: &Utf8Path, source_dir: &Utf8Path, modules: &[&str]) -> Vec<Place> {
    let module = modules
        .iter()
        .fold(source_dir.to_owned(), |at, it| at.join(it));
    [format!("{module}.rs"), format!("{module}/")]
        .into_iter()
        .filter(|name| root.join(name).exists())
        .map(Place::all_of)
        .collect()
}

/// The lines of a module in the file of an outer module. `source` is the root file of the crate.
fn inline_module(root: &Utf8Path, source: &Utf8Path, modules: &[&str]) -> Option<Place> {
    let source_dir = source.parent()?;
    (0..modules.len()).rev().find_map(|count| {
        let (outer, inner) = modules.split_at(count);
        let directory = outer
            .iter()
            .fold(source_dir.to_owned(), |at, it| at.join(it));
        let file = if outer.is_empty() {
            source.to_owned()
        } else if root.join(directory.join("mod.rs")).is_file() {
            directory.join("mod.rs")
        } else {
            Utf8PathBuf::from(format!("{directory}.rs"))
        };
        let text = std::fs::read_to_string(root.join(&file)).ok()?;
        let lines = rewriter::module_lines(&text, inner).ok()??;
        Some(Place {
            path: file.into_string(),
            lines: Some((
                u32::try_from(*lines.start()).ok()?,
                u32::try_from(*lines.end()).ok()?,
            )),
        })
    })
}
