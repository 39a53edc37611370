//! The environment that `cargo test` gives a test binary.

use std::collections::BTreeMap;
use std::env;

use camino::{Utf8Path, Utf8PathBuf};
use cargo_metadata::{BuildScript, Package, Target};

use crate::toolchain::Toolchain;

/// The parts that the environments of the test binaries of one build have in common.
pub(super) struct Environment<'a> {
    toolchain: &'a Toolchain,
    scripts: BTreeMap<String, BuildScript>,
}

impl<'a> Environment<'a> {
    /// Creates the environment of the binaries of a build that ran `scripts`.
    pub(super) fn new(toolchain: &'a Toolchain, scripts: Vec<BuildScript>) -> Self {
        let scripts = scripts
            .into_iter()
            .map(|script| (script.package_id.repr.clone(), script))
            .collect();
        Self { toolchain, scripts }
    }

    /// The variables for the test binary of `target` at `executable`. `bins` are the programs of
    /// its `package`.
    pub(super) fn of(
        &self,
        package: &Package,
        target: &Target,
        executable: &Utf8Path,
        bins: &[(String, Utf8PathBuf)],
    ) -> Vec<(String, String)> {
        let mut variables = self.configured();
        if let Some(script) = self.scripts.get(&package.id.repr) {
            variables.extend(script.env.iter().cloned());
            variables.push(("OUT_DIR".to_owned(), script.out_dir.to_string()));
        }
        variables.extend(of_package(package));
        if target.is_test() || target.is_bench() {
            variables.extend(
                bins.iter()
                    .map(|(name, path)| (format!("CARGO_BIN_EXE_{name}"), path.to_string())),
            );
        }
        variables.push(("LD_LIBRARY_PATH".to_owned(), self.library_path(executable)));
        variables.push(("CARGO".to_owned(), self.toolchain.cargo_itself()));
        variables
    }

    /// The `[env]` table of cargo's configuration.
    fn configured(&self) -> Vec<(String, String)> {
        self.toolchain
            .config
            .env
            .iter()
            .filter(|(name, entry)| entry.force || env::var_os(name).is_none())
            .filter_map(|(name, entry)| Some((name.clone(), entry.value.to_str()?.to_owned())))
            .collect()
    }

    /// The directories of shared libraries: those that build scripts added, those of the build,
    /// that of the compiler, and the user's.
    fn library_path(&self, executable: &Utf8Path) -> String {
        // The executable is in `deps` or `examples` of its profile's directory.
        let profile_dir = executable.ancestors().nth(2).unwrap_or(executable);
        let mut paths: Vec<String> = self
            .scripts
            .values()
            .flat_map(|script| &script.linked_paths)
            .map(|path| match path.as_str().split_once('=') {
                Some(("dependency" | "crate" | "native" | "framework" | "all", path)) => path,
                _ => path.as_str(),
            })
            .filter(|path| Utf8Path::new(path).starts_with(profile_dir))
            .map(str::to_owned)
            .collect();
        paths.sort();
        paths.dedup();
        paths.push(profile_dir.to_string());
        paths.push(profile_dir.join("deps").to_string());
        paths.push(self.toolchain.library_dir().to_string());
        paths.extend(env::var("LD_LIBRARY_PATH").ok());
        paths.retain(|path| !path.is_empty());
        paths.join(":")
    }
}

/// The variables that describe the package.
fn of_package(package: &Package) -> Vec<(String, String)> {
    let version = &package.version;
    let text = |value: &Option<String>| value.clone().unwrap_or_default();
    let path = |value: &Option<Utf8PathBuf>| {
        value
            .as_ref()
            .map(Utf8PathBuf::to_string)
            .unwrap_or_default()
    };
    let root = package.manifest_path.parent().map(Utf8Path::to_string);
    [
        ("CARGO_MANIFEST_DIR", root.unwrap_or_default()),
        ("CARGO_MANIFEST_PATH", package.manifest_path.to_string()),
        ("CARGO_PKG_NAME", package.name.to_string()),
        ("CARGO_PKG_VERSION", version.to_string()),
        ("CARGO_PKG_VERSION_MAJOR", version.major.to_string()),
        ("CARGO_PKG_VERSION_MINOR", version.minor.to_string()),
        ("CARGO_PKG_VERSION_PATCH", version.patch.to_string()),
        ("CARGO_PKG_VERSION_PRE", version.pre.to_string()),
        ("CARGO_PKG_AUTHORS", package.authors.join(":")),
        ("CARGO_PKG_DESCRIPTION", text(&package.description)),
        ("CARGO_PKG_HOMEPAGE", text(&package.homepage)),
        ("CARGO_PKG_REPOSITORY", text(&package.repository)),
        ("CARGO_PKG_LICENSE", text(&package.license)),
        ("CARGO_PKG_LICENSE_FILE", path(&package.license_file)),
        ("CARGO_PKG_README", path(&package.readme)),
        (
            "CARGO_PKG_RUST_VERSION",
            package
                .rust_version
                .as_ref()
                .map(ToString::to_string)
                .unwrap_or_default(),
        ),
    ]
    .map(|(name, value)| (name.to_owned(), value))
    .into()
}
