//! Tests of each package's treatment and of its source paths.

use std::fs;

use camino::{Utf8Path, Utf8PathBuf};

use super::{Generated, Plan, PolicyOrigin, Workspace};
use crate::build::{Build, TestBinary};
use crate::cli::{FeatureArgs, ManifestArgs};
use crate::config::{Config, Layer, Policy};
use crate::error::{Result, exit_code};
use crate::toolchain::Toolchain;

/// A workspace with two members, one dependency inside its directory and one outside.
const FILES: &[(&str, &str)] = &[
    (
        "ws/Cargo.toml",
        "[package]\nname = \"bank\"\nversion = \"0.1.0\"\nedition = \"2024\"\n\
         [workspace]\nmembers = [\"crates/my-queue\"]\nexclude = [\"vendor\"]\n\
         [dependencies]\nmy-queue = { path = \"crates/my-queue\" }\n\
         near = { path = \"vendor/near\" }\n\
         [build-dependencies]\nfar-build = { path = \"../far-build\" }\n",
    ),
    ("ws/src/lib.rs", ""),
    ("ws/build.rs", "fn main() {}"),
    ("ws/tests/t.rs", ""),
    (
        "ws/crates/my-queue/Cargo.toml",
        "[package]\nname = \"my-queue\"\nversion = \"0.2.0\"\nedition = \"2024\"\n\
         [dependencies]\nfar = { path = \"../../../far\" }\n",
    ),
    (
        "ws/crates/my-queue/src/lib.rs",
        "mod ring;\nmod slots;\nmod waiting {\n    mod list {\n    }\n}\n",
    ),
    ("ws/crates/my-queue/src/ring.rs", ""),
    ("ws/crates/my-queue/src/slots.rs", ""),
    ("ws/crates/my-queue/src/slots/free.rs", ""),
    (
        "ws/vendor/near/Cargo.toml",
        "[package]\nname = \"near\"\nversion = \"1.0.0\"\nedition = \"2024\"\n",
    ),
    ("ws/vendor/near/src/lib.rs", ""),
    (
        "far/Cargo.toml",
        "[package]\nname = \"far\"\nversion = \"1.0.0\"\nedition = \"2024\"\n",
    ),
    ("far/src/lib.rs", ""),
    (
        "far-build/Cargo.toml",
        "[package]\nname = \"far-build\"\nversion = \"1.0.0\"\nedition = \"2024\"\n",
    ),
    ("far-build/src/lib.rs", ""),
];

struct Project {
    _dir: tempfile::TempDir,
    root: Utf8PathBuf,
}

impl Project {
    fn new() -> Self {
        let dir = tempfile::tempdir().expect("a temporary directory");
        let root = dir.path().canonicalize().expect("it exists");
        let root = Utf8PathBuf::from_path_buf(root).expect("a UTF-8 path");
        for (name, contents) in FILES {
            let path = root.join(name);
            fs::create_dir_all(path.parent().expect("a directory")).expect("writable");
            fs::write(path, contents).expect("writable");
        }
        Self { _dir: dir, root }
    }

    fn plan(&self, configuration: &str) -> Result<Plan> {
        let root = self.root.join("ws");
        fs::write(root.join("Chess.toml"), configuration).expect("writable");
        let manifest = ManifestArgs {
            manifest_path: Some(root.join("Cargo.toml")),
            offline: true,
            ..ManifestArgs::default()
        };
        let toolchain = Toolchain::find().expect("the compiler that built this");
        let target = root.join("elsewhere");
        let workspace = Workspace::find(
            &toolchain,
            &manifest,
            &FeatureArgs::default(),
            Some(&target),
        )?;
        let config = Config::load(&workspace.root, None, [], &Layer::default())?;
        Plan::new(workspace, &config)
    }

    /// The lines of the request, without the temporary directory.
    fn lines(&self, configuration: &str) -> Vec<String> {
        let plan = self.plan(configuration).expect("a valid plan");
        plan.policy_lines(&[])
            .iter()
            .map(|line| line.replace(self.root.as_str(), "DIR"))
            .collect()
    }
}

#[test]
fn members_come_first_and_build_dependencies_are_left_out() {
    let plan = Project::new().plan("").expect("a valid plan");
    let packages: Vec<_> = plan
        .packages
        .iter()
        .map(|package| (package.name.as_str(), package.policy, package.why))
        .collect();
    assert_eq!(
        packages,
        [
            ("bank", Policy::Preempt, PolicyOrigin::WorkspaceDefault),
            ("my-queue", Policy::Preempt, PolicyOrigin::WorkspaceDefault),
            ("far", Policy::Atomic, PolicyOrigin::DependencyDefault),
            ("near", Policy::Atomic, PolicyOrigin::DependencyDefault),
        ]
    );
    assert_eq!(plan.chess_dir, plan.workspace_root.join("elsewhere/chess"));
}

#[test]
fn source_paths_are_relative_within_the_workspace_and_absolute_outside() {
    assert_eq!(
        Project::new().lines(""),
        [
            "policy=src/=preempt",
            "policy=tests/=preempt",
            "policy=crates/my-queue/=preempt",
            "policy=DIR/far/=atomic",
            "policy=vendor/near/=atomic",
            "races-of=DIR/far/=warn",
            "races-of=vendor/near/=warn",
            "root=DIR/ws/",
        ]
    );
}

#[test]
fn a_named_package_is_treated_as_named() {
    let plan = Project::new()
        .plan("[policy]\ndependencies = \"opaque\"\n[crates.near]\npolicy = \"preempt\"\n")
        .expect("a valid plan");
    let treatment = |name| {
        let found = plan.packages.iter().find(|package| package.name == name);
        let package = found.expect("it is there");
        (package.policy, package.why)
    };
    assert_eq!(treatment("near"), (Policy::Preempt, PolicyOrigin::Named));
    assert_eq!(
        treatment("far"),
        (Policy::Opaque, PolicyOrigin::DependencyDefault)
    );
}

#[test]
fn a_scope_preempts_only_the_files_and_modules_it_names() {
    let lines =
        Project::new().lines("[crates.my-queue]\nscope = [\"src/ring.rs\", \"my_queue::slots\"]\n");
    assert_eq!(
        lines[2..6],
        [
            "policy=crates/my-queue/=atomic",
            "policy=crates/my-queue/src/ring.rs=preempt",
            "policy=crates/my-queue/src/slots.rs=preempt",
            "policy=crates/my-queue/src/slots/=preempt",
        ]
    );
}

#[test]
fn a_scope_names_the_lines_of_a_module_without_a_file() {
    let lines = Project::new()
        .lines("[crates.my-queue]\nscope = [\"my_queue::waiting\", \"crate::waiting::list\"]\n");
    assert_eq!(
        lines[3..5],
        [
            "policy=crates/my-queue/src/lib.rs:3-6=preempt",
            "policy=crates/my-queue/src/lib.rs:4-5=preempt",
        ]
    );
}

#[test]
fn a_scope_that_names_no_file_and_a_crate_that_is_not_there_are_errors() {
    let project = Project::new();
    let error = project
        .plan("[crates.my-queue]\nscope = [\"my_queue::rnig\"]\n")
        .expect_err("there is no such module");
    assert_eq!(error.exit_code(), exit_code::USAGE);
    let text = error.to_string();
    assert!(
        text.contains("the scope `my_queue::rnig` names no file of package `my-queue`")
            && text.contains("name a file or directory relative to the package's manifest"),
        "{text}"
    );
    let error = project
        .plan("[crates.faar]\npolicy = \"atomic\"\n")
        .expect_err("there is no such package");
    assert!(error.to_string().contains("did you mean `far`?"), "{error}");
}

#[test]
fn a_directory_without_a_manifest_is_cargos_to_complain_about() {
    let dir = tempfile::tempdir().expect("a temporary directory");
    let manifest = Utf8Path::from_path(dir.path()).expect("a UTF-8 path");
    let manifest = ManifestArgs {
        manifest_path: Some(manifest.join("Cargo.toml")),
        ..ManifestArgs::default()
    };
    let toolchain = Toolchain::find().expect("the compiler that built this");
    let error = Workspace::find(&toolchain, &manifest, &FeatureArgs::default(), None)
        .expect_err("there is no workspace");
    assert_eq!(error.exit_code(), exit_code::METADATA_FAILED);
}

#[test]
fn the_package_of_a_source_file_is_named_with_its_version() {
    let project = Project::new();
    let plan = project.plan("").expect("a valid plan");
    let far = plan.packages.iter().find(|package| package.name == "far");
    let far = far.expect("it is there");
    let generated = [Generated {
        package: far.id.clone(),
        directory: "/target/far-1/out".into(),
    }];
    let far = far.root.join("src/lib.rs");
    let registry = "/home/u/.cargo/registry/src/index-0123456789abcdef";
    let files = [
        "src/lib.rs".to_owned(),
        "vendor/near/src/lib.rs".to_owned(),
        "crates/my-queue/src/ring.rs".to_owned(),
        "crates/my-queue/src/slots.rs".to_owned(),
        far.to_string(),
        format!("{registry}/parking_lot-0.12.5/src/raw_mutex.rs"),
        format!("{registry}/x-2d-1.0.0-rc.1/src/lib.rs"),
        "/elsewhere/lib.rs".to_owned(),
        "/target/far-1/out/code.rs".to_owned(),
        "/rustc/5980761/library/core/src/iter/traits/iterator.rs".to_owned(),
    ];
    assert_eq!(
        plan.packages_of(&files, &generated),
        [
            "/elsewhere/lib.rs",
            "bank 0.1.0",
            "far 1.0.0",
            "my-queue 0.2.0",
            "near 1.0.0",
            "parking_lot 0.12.5",
            "std",
            "x-2d 1.0.0-rc.1",
        ]
    );
}

#[test]
fn a_build_of_all_targets_is_distinguished_from_a_selection() {
    let plan = Project::new().plan("").expect("a valid plan");
    let build = |ids: &[&str]| Build {
        binaries: ids.iter().map(|id| binary(id)).collect(),
        ..Build::default()
    };
    assert!(build(&["bank", "bank::t", "my-queue"]).is_of_all_targets(&plan));
    assert!(!build(&["bank", "bank::t"]).is_of_all_targets(&plan));
    assert!(!build(&["bank", "my-queue"]).is_of_all_targets(&plan));
}

fn binary(id: &str) -> TestBinary {
    TestBinary {
        package: String::new(),
        package_root: Utf8PathBuf::new(),
        id: id.to_owned(),
        path: Utf8PathBuf::new(),
        harness: true,
        has_debug_info: true,
        why_not: None,
        env: Vec::new(),
    }
}
