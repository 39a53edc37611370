//! Builds the user's tests against the facades, and collects cargo's products.

mod canary;
mod cargo;
mod executables;
mod harness;
mod not_explored;
mod overlays;
mod runtime;
mod support;
mod test_environment;
mod treatments;
mod unused;
mod versions;

use camino::{Utf8Path, Utf8PathBuf};
use cargo_metadata::{Artifact, ArtifactDebuginfo, BuildScript, Target};
use serde::{Deserialize, Serialize};

pub(crate) use executables::print_executables;
pub(crate) use not_explored::NotExplored;
pub(crate) use treatments::treatment_of;

use crate::cli::{CargoArgs, ColorWhen};
use crate::config::Policy;
use crate::error::{Error, Result};
use crate::interrupt::Interrupt;
use crate::plan::directories::build_dir;
use crate::plan::{Generated, Plan, PlannedPackage};
use crate::shell::Shell;
use crate::toolchain::Toolchain;
use crate::wrapper::{CompiledFiles, Fallback, FallbackRecord};
use cargo::{Invocation, Products};
use test_environment::Environment;

/// The products of a build.
#[derive(Serialize, Deserialize, Default, Debug)]
pub(crate) struct Build {
    /// The test binaries, sorted by package and target.
    pub binaries: Vec<TestBinary>,
    /// The first line of `rustc -vV`.
    pub rustc_version: String,
    /// The digest of the sources of the linked runtime.
    pub runtime_digest: String,
    /// The records of the units that could not be treated as instructed, sorted by package.
    pub records: Vec<FallbackRecord>,
    /// The files that each package was compiled from.
    pub compiled: CompiledFiles,
    /// The directories of generated files, one for each build script.
    pub generated: Vec<Generated>,
    /// The native libraries of each package whose build script links some.
    pub native_libraries: Vec<NativeLibraries>,
    /// The directory of the changed copies of sources.
    pub sources: Utf8PathBuf,
    /// The target directory of the build.
    pub target_dir: Utf8PathBuf,
    /// The variables that were set for cargo. With these variables, another call of cargo finds
    /// everything built.
    pub variables: Vec<(String, String)>,
}

impl Build {
    /// Whether every target of the workspace that `cargo test` tests by default was built.
    pub(crate) fn is_of_all_targets(&self, plan: &Plan) -> bool {
        plan.metadata.workspace_packages().iter().all(|package| {
            let mut tested = package.targets.iter().filter(|target| target.test);
            tested.all(|target| {
                let id = binary_id(&package.name, target);
                self.binaries.iter().any(|binary| binary.id == id)
            })
        })
    }
}

/// The native libraries that a package links.
#[derive(Serialize, Deserialize, Debug)]
pub(crate) struct NativeLibraries {
    /// Cargo's identifier of the package.
    pub package: String,
    /// The names of the libraries.
    pub names: Vec<String>,
}

/// A test executable.
#[derive(Serialize, Deserialize, Clone, Debug)]
pub(crate) struct TestBinary {
    /// The package's name.
    pub package: String,
    /// The directory of the package's manifest: the working directory of its tests.
    pub package_root: Utf8PathBuf,
    /// The identity of the binary: `bank`, `bank::t`, `bank::bin/x`, `bank::example/x`.
    pub id: String,
    /// The executable.
    pub path: Utf8PathBuf,
    /// Whether this tool's replacement of libtest is linked in. Targets with `harness = false` do
    /// not have it.
    pub harness: bool,
    /// The reason why the binary is not under control, if it is not.
    pub why_not: Option<NotExplored>,
    /// Whether the profile of the binary enables debug information.
    pub has_debug_info: bool,
    /// The variables that `cargo test` would set for the binary.
    pub env: Vec<(String, String)>,
}

/// Whether an overlay changes the package.
pub(crate) fn has_overlay(package: &PlannedPackage) -> Result<bool> {
    Ok(overlays::all()?.iter().any(|overlay| overlay.fits(package)))
}

/// Fails if the tests would be built for a target, or in a way, that does not allow exploration.
pub(crate) fn check_supported(toolchain: &Toolchain, args: &CargoArgs) -> Result<()> {
    support::check(toolchain, args)
}

/// Marks a directory whose files can be created again. Backups leave such directories out, and so
/// does the search for a package's sources. Cargo marks only the directories in which it has built
/// something itself.
fn tag_as_cache(directory: &Utf8Path) {
    let tag = directory.join("CACHEDIR.TAG");
    if !tag.exists() {
        let text = "Signature: 8a477f597d28d172789f06886806bc55\n\
             # This directory was made by cargo chess. See https://bford.info/cachedir/\n";
        // Without the tag, these searches take longer.
        _ = std::fs::write(tag, text);
    }
}

/// Builds the runtime, unless it was built for this toolchain before. Then builds the tests that
/// `args` select.
pub(crate) fn run(
    toolchain: &Toolchain,
    plan: &Plan,
    args: &CargoArgs,
    color: ColorWhen,
    shell: Shell,
    interrupt: &Interrupt,
) -> Result<Build> {
    std::fs::create_dir_all(&plan.chess_dir)
        .map_err(Error::io("create the directory", &plan.chess_dir))?;
    tag_as_cache(&plan.chess_dir);
    let runtime = runtime::ensure(toolchain, &plan.chess_dir, shell, interrupt)?;
    let target_dir = build_dir(
        &plan.chess_dir,
        &runtime.key,
        runtime::wrapper_digest(),
        plan.instruments,
    );
    let products = Invocation {
        toolchain,
        runtime: &runtime,
        args,
        target_dir: &target_dir,
        plan,
        color,
        shell,
        interrupt,
    }
    .run()?;
    let mut records = products.records.clone();
    records.sort_by(|a, b| (&a.package, a.fallback).cmp(&(&b.package, b.fallback)));
    records.dedup_by(|a, b| (&a.package, a.fallback) == (&b.package, b.fallback));
    // Cargo reports the build scripts in the order in which they end, which varies.
    let linked = products.scripts.iter().filter_map(native_libraries);
    let mut native_libraries: Vec<_> = linked.collect();
    native_libraries.sort_by(|a, b| a.package.cmp(&b.package));
    Ok(Build {
        compiled: products.compiled.clone(),
        generated: products.scripts.iter().map(generated).collect(),
        native_libraries,
        sources: treatments::sources(&target_dir),
        variables: products.variables.clone(),
        binaries: test_binaries(toolchain, plan, &target_dir, products),
        records,
        rustc_version: toolchain.version().to_owned(),
        runtime_digest: runtime::digest().to_owned(),
        target_dir,
    })
}

fn generated(script: &BuildScript) -> Generated {
    Generated {
        package: script.package_id.repr.clone(),
        directory: script.out_dir.clone(),
    }
}

/// The native libraries that a build script links, if it links any.
fn native_libraries(script: &BuildScript) -> Option<NativeLibraries> {
    let names: Vec<String> = script
        .linked_libs
        .iter()
        .map(|stated| library_name(stated.as_str()).to_owned())
        .collect();
    (!names.is_empty()).then(|| NativeLibraries {
        package: script.package_id.repr.clone(),
        names,
    })
}

/// The name of a linked library, which cargo reports as `[kind[:modifiers]=]name[:rename]`.
fn library_name(stated: &str) -> &str {
    let name = stated.split_once('=').map_or(stated, |(_, name)| name);
    name.split(':').next().unwrap_or(name)
}

fn test_binaries(
    toolchain: &Toolchain,
    plan: &Plan,
    target_dir: &Utf8Path,
    products: Products,
) -> Vec<TestBinary> {
    let (tests, programs): (Vec<_>, Vec<_>) = products
        .executables
        .into_iter()
        .partition(|artifact| artifact.profile.test);
    let environment = Environment::new(toolchain, products.scripts);
    let mut binaries: Vec<_> = tests
        .iter()
        .filter_map(|artifact| {
            let package = plan
                .metadata
                .packages
                .iter()
                .find(|it| it.id == artifact.package_id)?;
            let bins: Vec<_> = programs
                .iter()
                .filter(|it| it.package_id == artifact.package_id && it.target.is_bin())
                .filter_map(|it| Some((it.target.name.clone(), it.executable.clone()?)))
                .collect();
            let path = artifact.executable.clone()?;
            let harness = harness::has_harness(
                &package.manifest_path,
                &kind_of(&artifact.target),
                &artifact.target.name,
            );
            Some(TestBinary {
                package: package.name.to_string(),
                package_root: package.manifest_path.parent()?.to_owned(),
                id: binary_id(&package.name, &artifact.target),
                harness,
                has_debug_info: artifact.profile.debuginfo != ArtifactDebuginfo::None,
                why_not: why_not(plan, target_dir, artifact, harness),
                env: environment.of(package, &artifact.target, &path, &bins),
                path,
            })
        })
        .collect();
    // Cargo reports targets in the order of their completion, which differs from build to build.
    binaries.sort_by(|a, b| (&a.package, &a.id).cmp(&(&b.package, &b.id)));
    binaries
}

/// The identity of a test binary, in nextest's form.
fn binary_id(package: &str, target: &Target) -> String {
    if target.is_test() {
        format!("{package}::{}", target.name)
    } else if target.is_bin() || target.is_example() || target.is_bench() {
        format!("{package}::{}/{}", kind_of(target), target.name)
    } else {
        package.to_owned()
    }
}

fn kind_of(target: &Target) -> String {
    target
        .kind
        .first()
        .map(ToString::to_string)
        .unwrap_or_default()
}

/// The reason why the test binary `artifact` is not under control, if it is not.
fn why_not(
    plan: &Plan,
    target_dir: &Utf8Path,
    artifact: &Artifact,
    harness: bool,
) -> Option<NotExplored> {
    if !harness {
        return Some(NotExplored::OwnHarness);
    }
    if artifact.target.is_proc_macro() {
        return Some(NotExplored::ForTheCompiler);
    }
    let mut packages = plan.packages.iter();
    let is_opaque =
        packages.any(|it| it.id == artifact.package_id.repr && it.policy == Policy::Opaque);
    // If the binary did not compile unchanged, it was redirected in spite of its policy.
    let record = || treatments::record(target_dir, artifact);
    let is_redirected = || record().is_some_and(|it| it.fallback == Fallback::Swapped);
    (is_opaque && !is_redirected()).then_some(NotExplored::Opaque)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_library_has_its_name_without_kind_and_modifiers() {
        let stated = [
            "ssl",
            "static=z",
            "static:+whole-archive,-bundle=a",
            "dylib=a:b",
        ];
        assert_eq!(stated.map(library_name), ["ssl", "z", "a", "a"]);
    }

    fn id(kind: &str, name: &str) -> String {
        let target = serde_json::json!({ "name": name, "kind": [kind], "src_path": "src/x.rs" });
        binary_id(
            "bank",
            &serde_json::from_value(target).expect("a target as cargo tells it"),
        )
    }

    #[test]
    fn test_binaries_are_named_as_nextest_names_them() {
        assert_eq!(id("lib", "bank_lib"), "bank");
        assert_eq!(id("cdylib", "bank_lib"), "bank");
        assert_eq!(id("proc-macro", "bank_lib"), "bank");
        assert_eq!(id("test", "t"), "bank::t");
        assert_eq!(id("bin", "x"), "bank::bin/x");
        assert_eq!(id("example", "x"), "bank::example/x");
    }
}
