//! Explores the newest releases of crates with defects, and prints whether a defect still exists.

use std::fs;
use std::process::Command;

use end_to_end::Workspace;
use end_to_end::catalogue::Found;
use serde_json::Value;

use crate::exploration::Exploration;

/// Explores the tests of `found` with the newest release of each crate, and prints a line for each
/// test. Cargo asks its registry for the releases.
pub(crate) fn print(found: &[&Found]) {
    for tests in found.chunk_by(|one, next| one.entry == next.entry) {
        let (name, version) = tests[0].package();
        let workspace = Workspace::copy_of("bugs");
        let Some(newest) = update(&workspace, tests[0]) else {
            println!("{name} {version}: cargo cannot resolve a newer release");
            continue;
        };
        if newest == version {
            println!("{name} {version}: there is no newer release");
            continue;
        }
        let explored = Exploration::of(&workspace, &tests[0].entry, None);
        for found in tests {
            let none = Value::Null;
            let verdict = explored.verdict_of(&found.test).unwrap_or(&none);
            let result = match verdict["outcome"].as_str() {
                Some("failed") if verdict["kind"] == *found.kind => "still fails".to_owned(),
                Some("passed") => format!("no longer fails ({})", verdict["coverage"]),
                _ => format!("has another result: {verdict}"),
            };
            println!("{name} {version}, {}: {newest} {result}", found.test);
        }
    }
}

/// Replaces the version of the crate by the newest one. Returns the newest version, or `None` if
/// cargo cannot resolve it.
fn update(workspace: &Workspace, found: &Found) -> Option<String> {
    let (name, version) = found.package();
    let root = workspace.root().join(&found.entry);
    let manifest = fs::read_to_string(root.join("Cargo.toml")).expect("the entry has a manifest");
    let newer = manifest.replace(&format!("\"={version}\""), &format!("\">={version}\""));
    assert_ne!(newer, manifest, "{}: the version is not there", found.entry);
    fs::write(root.join("Cargo.toml"), newer).expect("writable");
    let mut cargo = Command::new("cargo");
    let cargo = cargo.args(["update", "--quiet", "--package", name]);
    let updated = cargo.current_dir(&root).status().expect("cargo runs");
    let lock = fs::read_to_string(root.join("Cargo.lock")).expect("the entry has a lock file");
    let lock: toml::Table = lock.parse().expect("TOML");
    let packages = lock["package"].as_array().expect("a list");
    let package = packages.iter().find(|it| it["name"].as_str() == Some(name));
    let newest = package?["version"].as_str()?.to_owned();
    updated.success().then_some(newest)
}
