//! The parts of the workspace's manifest and configuration that a reader needs to run a test.

use std::fmt::Write as _;

use camino::Utf8Path;
use cargo_metadata::Package;

use crate::plan::Plan;
use crate::schedule::Schedule;

/// The part of a manifest that the test needs: the name of its package, the dependencies that
/// `source` names, and the workspace's profiles. The dependency `defect` (a package with its
/// version) is always included. The text is empty if `defect` is a member of the workspace,
/// because its authors have the manifest.
pub(super) fn needed(schedule: &Schedule, plan: &Plan, defect: &str, source: &str) -> String {
    let named = |package: &Package| format!("{} {}", package.name, package.version);
    let members = plan.metadata.workspace_packages();
    if members.iter().any(|member| named(member) == defect) {
        return String::new();
    }
    let own = members
        .into_iter()
        .find(|it| *it.name == *schedule.test.package);
    let Some(own) = own else {
        return String::new();
    };
    let nodes = plan.metadata.resolve.iter().flat_map(|it| &it.nodes);
    let node = nodes.into_iter().find(|it| it.id == own.id);
    let direct = node.map(|it| it.deps.as_slice()).unwrap_or_default();
    let words: Vec<&str> = source
        .split(|c: char| !c.is_alphanumeric() && c != '_')
        .collect();
    let mut lines = Vec::new();
    for dependency in direct {
        let package = plan
            .metadata
            .packages
            .iter()
            .find(|it| it.id == dependency.pkg);
        let Some(package) = package else { continue };
        if words.contains(&&*dependency.name) || named(package) == defect {
            lines.push(line(own, package));
        }
    }
    lines.sort();
    let package = format!("name = \"{}\"\nedition = \"{}\"", own.name, own.edition);
    let mut text = format!("[package]\n{package}\n");
    if !lines.is_empty() {
        let _ = write!(text, "\n[dev-dependencies]\n{}\n", lines.join("\n"));
    }
    match profiles(&plan.workspace_root) {
        empty if empty.is_empty() => text,
        profiles => format!("{text}\n{profiles}"),
    }
}

/// The line of the manifest for the dependency of `own` on `package`.
fn line(own: &Package, package: &Package) -> String {
    let (name, version) = (&package.name, &package.version);
    if package.source.as_ref().is_none_or(|it| !it.is_crates_io()) {
        return format!("# {name} {version}, which is not from crates.io");
    }
    let declared = own.dependencies.iter().filter(|it| it.name == **name);
    let declared: Vec<_> = declared.collect();
    let mut features: Vec<&str> = declared
        .iter()
        .flat_map(|it| it.features.iter().map(String::as_str))
        .collect();
    features.sort_unstable();
    features.dedup();
    let has_defaults = declared.iter().any(|it| it.uses_default_features);
    if features.is_empty() && has_defaults {
        return format!("{name} = \"={version}\"");
    }
    let mut line = format!("{name} = {{ version = \"={version}\"");
    if !has_defaults {
        line += ", default-features = false";
    }
    if !features.is_empty() {
        let quoted: Vec<String> = features.iter().map(|it| format!("\"{it}\"")).collect();
        let _ = write!(line, ", features = [{}]", quoted.join(", "));
    }
    line + " }"
}

/// The profiles of the manifest at `root`. A manifest that cannot be read has none.
fn profiles(root: &Utf8Path) -> String {
    let text = std::fs::read_to_string(root.join("Cargo.toml")).unwrap_or_default();
    let Ok(mut manifest) = text.parse::<toml_edit::DocumentMut>() else {
        return String::new();
    };
    let others: Vec<String> = manifest
        .iter()
        .map(|(key, _)| key.to_owned())
        .filter(|key| key != "profile")
        .collect();
    for key in others {
        manifest.remove(&key);
    }
    without_comments(&manifest.to_string())
}

/// The root file of the test binary. If the file is below the workspace's root, its path is
/// relative to this root.
pub(super) fn root_file(schedule: &Schedule, plan: &Plan) -> Option<String> {
    let members = plan.metadata.workspace_packages();
    let own = members
        .into_iter()
        .find(|it| *it.name == *schedule.test.package)?;
    let target = schedule.test.binary.rsplit(['/', ':']).next();
    let named = own
        .targets
        .iter()
        .find(|it| Some(it.name.as_str()) == target);
    let chosen = named.or_else(|| own.targets.iter().find(|it| it.is_lib()))?;
    let path = &chosen.src_path;
    let inside = path.strip_prefix(&plan.workspace_root).unwrap_or(path);
    Some(inside.to_string())
}

/// A TOML file without lines of comments, and without blank lines at its start and end.
pub(super) fn without_comments(text: &str) -> String {
    let lines = text
        .lines()
        .filter(|line| !line.trim_start().starts_with('#'));
    let text: Vec<&str> = lines.collect();
    let text = text.join("\n");
    let text = text.trim();
    if text.is_empty() {
        return String::new();
    }
    format!("{text}\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn comments_are_left_out() {
        let file = "# The crate.\n[crates.x]\npolicy = \"preempt\"\n\n# More.\n";
        assert_eq!(without_comments(file), "[crates.x]\npolicy = \"preempt\"\n");
        assert_eq!(without_comments("# Nothing.\n"), "");
    }
}
