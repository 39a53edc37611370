//! The flags that `cargo test` has too. They are spelt in the same way, and passed on to cargo.

use camino::Utf8PathBuf;
use clap::{Args, Parser};

use crate::error::{Error, Result};

/// The options that choose and build the test binaries.
#[derive(Args, Clone, Default, Debug)]
pub(crate) struct CargoArgs {
    /// The packages.
    #[command(flatten)]
    pub packages: PackageArgs,
    /// The targets of the packages.
    #[command(flatten)]
    pub targets: TargetArgs,
    /// The features.
    #[command(flatten)]
    pub features: FeatureArgs,
    /// The build options.
    #[command(flatten)]
    pub build: BuildArgs,
    /// The workspace.
    #[command(flatten)]
    pub manifest: ManifestArgs,
}

/// The options that change the contents of a test binary. They are saved with its schedules.
#[derive(Parser)]
#[command(no_binary_name = true)]
struct BuildFlags {
    #[command(flatten)]
    features: FeatureArgs,
    #[command(flatten)]
    build: BuildArgs,
}

impl CargoArgs {
    /// The flags that change the build, in one line: those of features and profile.
    pub(crate) fn build_flags(&self) -> String {
        let mut flags = self.features.to_cargo();
        flags.extend(self.build.profile_flags());
        flags.join(" ")
    }

    /// The options for a build with the flags of [`build_flags`](Self::build_flags).
    pub(crate) fn from_build_flags(flags: &str) -> Result<Self> {
        let parsed = BuildFlags::try_parse_from(flags.split_whitespace()).map_err(|_| {
            Error::Usage(format!(
                "the key `cargo` of the schedule contains `{flags}`: expected only flags of cargo for \
                 features and the profile"
            ))
        })?;
        Ok(Self {
            features: parsed.features,
            build: parsed.build,
            ..Self::default()
        })
    }
}

/// The packages whose tests are built.
#[derive(Args, Clone, Default, Debug)]
#[command(next_help_heading = "Package selection")]
pub(crate) struct PackageArgs {
    /// Package to run tests of
    #[arg(short, long, value_name = "SPEC")]
    pub package: Vec<String>,
    /// Test all packages of the workspace
    #[arg(long, alias = "all")]
    pub workspace: bool,
    /// Exclude packages from the tests
    #[arg(long, value_name = "SPEC", requires = "workspace")]
    pub exclude: Vec<String>,
}

/// The targets of the packages.
#[derive(Args, Clone, Default, Debug)]
#[command(next_help_heading = "Target selection")]
#[expect(clippy::struct_excessive_bools, reason = "each is a flag of cargo's")]
pub(crate) struct TargetArgs {
    /// Test only the library's unit tests
    #[arg(long)]
    pub lib: bool,
    /// Test all binaries
    #[arg(long)]
    pub bins: bool,
    /// Test only the binary named
    #[arg(long, value_name = "NAME")]
    pub bin: Vec<String>,
    /// Test all targets that have `test = true` set
    #[arg(long)]
    pub tests: bool,
    /// Test only the integration test named
    #[arg(long, value_name = "NAME")]
    pub test: Vec<String>,
    /// Test all examples
    #[arg(long)]
    pub examples: bool,
    /// Test only the example named
    #[arg(long, value_name = "NAME")]
    pub example: Vec<String>,
    /// Documentation tests, which rustdoc compiles and runs by itself
    #[arg(long, hide = true)]
    pub doc: bool,
}

/// The enabled features.
#[derive(Args, Clone, Default, Debug)]
#[command(next_help_heading = "Feature selection")]
pub(crate) struct FeatureArgs {
    /// Space or comma separated list of features to activate
    #[arg(short = 'F', long, value_name = "FEATURES")]
    pub features: Vec<String>,
    /// Activate all available features
    #[arg(long)]
    pub all_features: bool,
    /// Do not activate the `default` feature
    #[arg(long)]
    pub no_default_features: bool,
}

/// The build options of the tests.
#[derive(Args, Clone, Default, Debug)]
#[command(next_help_heading = "Compilation options")]
pub(crate) struct BuildArgs {
    /// Number of parallel jobs of the build, and of parallel explorations
    #[arg(short, long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    pub jobs: Option<u32>,
    /// Build in release mode, with optimizations
    #[arg(short, long, conflicts_with = "cargo_profile")]
    pub release: bool,
    /// Build with the given cargo profile
    #[arg(long, value_name = "NAME")]
    pub cargo_profile: Option<String>,
    /// Build for the target triple; only that of the host is supported
    #[arg(long, value_name = "TRIPLE")]
    pub target: Option<String>,
    /// Directory for all generated artifacts
    #[arg(long, value_name = "DIR")]
    pub target_dir: Option<Utf8PathBuf>,
}

/// The workspace, and the treatment of its lock file.
#[derive(Args, Clone, Default, Debug)]
#[command(next_help_heading = "Manifest options")]
pub(crate) struct ManifestArgs {
    /// Path to Cargo.toml
    #[arg(long, value_name = "PATH")]
    pub manifest_path: Option<Utf8PathBuf>,
    /// Assert that `Cargo.lock` will remain unchanged
    #[arg(long)]
    pub locked: bool,
    /// Run without accessing the network
    #[arg(long)]
    pub offline: bool,
    /// Equivalent to specifying both --locked and --offline
    #[arg(long)]
    pub frozen: bool,
}

impl PackageArgs {
    /// The flags in cargo's form.
    pub(crate) fn to_cargo(&self) -> Vec<String> {
        let mut args = valued("--package", &self.package);
        args.extend(switch("--workspace", self.workspace));
        args.extend(valued("--exclude", &self.exclude));
        args
    }
}

impl TargetArgs {
    /// The flags in cargo's form.
    pub(crate) fn to_cargo(&self) -> Vec<String> {
        let mut args = Vec::new();
        args.extend(switch("--lib", self.lib));
        args.extend(switch("--bins", self.bins));
        args.extend(valued("--bin", &self.bin));
        args.extend(switch("--tests", self.tests));
        args.extend(valued("--test", &self.test));
        args.extend(switch("--examples", self.examples));
        args.extend(valued("--example", &self.example));
        args
    }
}

impl FeatureArgs {
    /// The flags in cargo's form.
    pub(crate) fn to_cargo(&self) -> Vec<String> {
        // Each feature is a word of its own, because cargo accepts lists separated by commas or
        // spaces.
        let features: Vec<String> = self
            .features
            .iter()
            .flat_map(|list| list.split([',', ' ']))
            .filter(|name| !name.is_empty())
            .map(str::to_owned)
            .collect();
        let mut args = valued("--features", &features);
        args.extend(switch("--all-features", self.all_features));
        args.extend(switch("--no-default-features", self.no_default_features));
        args
    }
}

impl BuildArgs {
    /// The flags in cargo's form, except those of the target directory and the target triple,
    /// which this tool sets.
    pub(crate) fn to_cargo(&self) -> Vec<String> {
        let mut args = Vec::new();
        if let Some(jobs) = self.jobs {
            args.extend(["--jobs".to_owned(), jobs.to_string()]);
        }
        args.extend(switch("--release", self.release));
        if let Some(profile) = &self.cargo_profile {
            args.extend(["--profile".to_owned(), profile.clone()]);
        }
        args
    }
}

impl BuildArgs {
    /// The flags, in this tool's form, that decide how the tests are compiled.
    pub(crate) fn profile_flags(&self) -> Vec<String> {
        let mut flags: Vec<_> = switch("--release", self.release).into_iter().collect();
        if let Some(profile) = &self.cargo_profile {
            flags.extend(["--cargo-profile".to_owned(), profile.clone()]);
        }
        flags
    }
}

impl ManifestArgs {
    /// The flags in cargo's form.
    pub(crate) fn to_cargo(&self) -> Vec<String> {
        let mut args = Vec::new();
        if let Some(path) = &self.manifest_path {
            args.extend(["--manifest-path".to_owned(), path.to_string()]);
        }
        args.extend(switch("--locked", self.locked));
        args.extend(switch("--offline", self.offline));
        args.extend(switch("--frozen", self.frozen));
        args
    }
}

fn switch(flag: &str, on: bool) -> Option<String> {
    on.then(|| flag.to_owned())
}

fn valued(flag: &str, values: &[String]) -> Vec<String> {
    values
        .iter()
        .flat_map(|value| [flag.to_owned(), value.clone()])
        .collect()
}
