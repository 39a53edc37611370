//! Finds the real `cargo-chess`, builds it if needed, and starts it as a user would.

use std::env;
use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::OnceLock;
use std::time::{Duration, UNIX_EPOCH};

use crate::{Process, Run};

/// The time limit of a call of the tool in these tests.
const PATIENCE: Duration = Duration::from_mins(5);

/// The directories in which this test executable and its siblings were built.
pub(crate) struct BuildDirs {
    /// The directory of the profile, such as `target/debug`.
    profile: PathBuf,
    /// The target directory.
    pub(crate) target: PathBuf,
}

/// Returns the directories that contain this executable.
pub(crate) fn build_dirs() -> &'static BuildDirs {
    static DIRS: OnceLock<BuildDirs> = OnceLock::new();
    DIRS.get_or_init(|| {
        let executable = env::current_exe().expect("this executable has a path");
        // The path of a test is target/[triple/]profile/deps/executable. A program is in the
        // parent directory of `deps`.
        let profile = executable
            .ancestors()
            .skip(1)
            .find(|dir| !dir.ends_with("deps"))
            .expect("it lies below a target directory");
        let target = profile
            .ancestors()
            .skip(1)
            .find(|dir| dir.join("CACHEDIR.TAG").exists())
            .expect("cargo marks its target directory");
        BuildDirs {
            profile: profile.to_owned(),
            target: target.to_owned(),
        }
    })
}

/// The variable with the path of the built tool, for programs of this package that tests start.
///
/// Without this variable, such a program would build the tool itself. While cargo replaces the
/// tool, the builds of other tests fail, because the tool wraps their compiler.
const TOOL_VARIABLE: &str = "END_TO_END_TOOL";

/// Returns the path of the tool. The first call in a process also builds the tool, if cargo finds
/// that it is stale.
fn binary() -> &'static Path {
    static BINARY: OnceLock<Option<PathBuf>> = OnceLock::new();
    let binary = BINARY.get_or_init(|| {
        let built = env::var_os(TOOL_VARIABLE).map(PathBuf::from);
        built.or_else(|| build().then(|| build_dirs().profile.join("cargo-chess")))
    });
    binary.as_deref().expect("cargo-chess could not be built")
}

/// Returns the directory to which cargo has built these tests, with all their dependencies.
pub fn target_dir() -> &'static Path {
    &build_dirs().target
}

/// Returns a call of a program of this package. The program uses the same build of the tool as
/// this process.
pub fn program(path: &str) -> Command {
    let mut command = Command::new(path);
    command.env(TOOL_VARIABLE, binary());
    command
}

/// Identifies the build of the tool by its size and the time of its last
/// linking.
///
/// # Panics
/// If the tool cannot be built.
pub fn tool_revision() -> String {
    let metadata = binary().metadata().expect("the tool is there");
    let linked = metadata.modified().expect("files have times");
    let since = linked.duration_since(UNIX_EPOCH).unwrap_or_default();
    format!("{}-{}", metadata.len(), since.as_nanos())
}

/// Returns the path of the cargo that runs this executable.
fn cargo() -> OsString {
    env::var_os("CARGO").unwrap_or_else(|| "cargo".into())
}

/// Builds the tool in the profile of this executable. Returns whether that succeeded.
fn build() -> bool {
    let BuildDirs { profile, target } = build_dirs();
    let name = profile
        .file_name()
        .and_then(OsStr::to_str)
        .expect("a profile has a name");
    let mut build = Command::new(cargo());
    build
        .current_dir(env!("CARGO_MANIFEST_DIR"))
        // Builds for the whole workspace: then dependencies have the same features as in
        // `cargo test --workspace`, which has built them already.
        .args(["build", "--quiet", "--workspace", "--bin", "cargo-chess"])
        .args(["--profile", if name == "debug" { "dev" } else { name }])
        .arg("--target-dir")
        .arg(target);
    if let Some(triple) = profile.parent().filter(|parent| parent != target) {
        build
            .arg("--target")
            .arg(triple.file_name().expect("a triple"));
    }
    build.status().expect("cargo runs").success()
}

/// A call of `cargo-chess` in a directory. Its environment has no variables of
/// the cargo that runs these tests.
#[derive(Debug)]
pub struct Chess {
    command: Command,
}

impl Chess {
    /// A call in `directory` with `args`. Standard output and standard error are captured.
    pub fn new(directory: &Path, args: &[&str]) -> Self {
        let mut command = Command::new(binary());
        command.args(args);
        Self::from_command(command, directory)
    }

    /// A call of cargo itself, as a user would call it.
    pub fn cargo(directory: &Path, args: &[&str]) -> Self {
        let mut command = Command::new(cargo());
        command.args(args);
        Self::from_command(command, directory)
    }

    /// A shell script that calls the tool as `"$CHESS"`, for set-ups that need a shell.
    pub fn in_shell(directory: &Path, script: &str) -> Self {
        let mut command = Command::new("sh");
        command.args(["-euc", script]).env("CHESS", binary());
        Self::from_command(command, directory)
    }

    fn from_command(mut command: Command, directory: &Path) -> Self {
        for (name, _) in env::vars_os() {
            if name.to_str().is_some_and(is_of_the_outer_cargo) {
                command.env_remove(name);
            }
        }
        command
            .current_dir(directory)
            .env(
                "CHESS_CACHE_DIR",
                build_dirs().target.join("end-to-end/cache"),
            )
            // Nearly all builds of the tests are first builds. Incremental compilation would make
            // these a third slower.
            .env("CARGO_INCREMENTAL", "0")
            .env("NO_COLOR", "1")
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped());
        Self { command }
    }

    /// Adds an argument.
    #[must_use]
    pub fn arg(mut self, arg: impl AsRef<OsStr>) -> Self {
        self.command.arg(arg);
        self
    }

    /// Adds arguments.
    #[must_use]
    pub fn args(mut self, args: impl IntoIterator<Item = impl AsRef<OsStr>>) -> Self {
        self.command.args(args);
        self
    }

    /// Sets a variable.
    #[must_use]
    pub fn env(mut self, name: &str, value: impl AsRef<OsStr>) -> Self {
        self.command.env(name, value);
        self
    }

    /// Starts the call in its own process group.
    pub fn start(self) -> Process {
        Process::start(self.command)
    }

    /// Runs the call to its end.
    pub fn run(self) -> Run {
        self.start().finish(PATIENCE)
    }
}

/// Whether a variable of the environment must be removed for the call of the tool, because a
/// user's shell does not have it. Cargo sets such a variable for these tests, or the variable
/// configures the cargo that runs them.
fn is_of_the_outer_cargo(name: &str) -> bool {
    let kept = [
        "CARGO_HOME",
        "CARGO_REGISTR",
        "CARGO_HTTP",
        "CARGO_NET",
        "CARGO_SOURCE",
    ];
    let removed = [
        "CARGO",
        "CHESS_",
        "GITHUB_",
        "RUSTFLAGS",
        "RUSTDOCFLAGS",
        "RUSTC",
        "RUST_",
        "LD_LIBRARY",
    ];
    let starts = |list: &[&str]| list.iter().any(|start| name.starts_with(start));
    starts(&removed) && !starts(&kept)
}
