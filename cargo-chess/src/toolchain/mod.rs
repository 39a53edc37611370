//! The compiler that cargo uses. It is found as cargo finds it, and its answers are cached.

pub(crate) mod cache;

use std::env;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::UNIX_EPOCH;

use camino::Utf8PathBuf;

use crate::digest;
use crate::error::{Error, OF_RUSTC, Result, not_run};

/// The only target that can be explored today.
pub(crate) const SUPPORTED_TARGET: &str = "x86_64-unknown-linux-gnu";

/// Cargo and rustc, and the user's configuration of them.
#[derive(Debug)]
pub(crate) struct Toolchain {
    /// The cargo to call.
    pub cargo: PathBuf,
    /// The rustc that cargo calls.
    pub rustc: PathBuf,
    /// The output of `rustc -vV`.
    pub verbose_version: String,
    /// The directory of the compiler's own libraries.
    pub sysroot: Utf8PathBuf,
    /// Cargo's configuration for the current directory.
    pub(crate) config: cargo_config2::Config,
    /// The compiler's file: path, size and modification time.
    identity: String,
}

impl Toolchain {
    /// Finds the compiler for the current directory.
    pub(crate) fn find() -> Result<Self> {
        let config = cargo_config2::Config::load()
            .map_err(|error| Error::Usage(format!("cargo's configuration is wrong: {error}")))?;
        let cargo = env::var_os("CARGO").map_or_else(|| "cargo".into(), PathBuf::from);
        let rustc = find_rustc(&config)?;
        let identity = identity(&rustc);
        let printed = match recall(&rustc, &identity) {
            Some(printed) => printed,
            None => ask(&rustc)?,
        };
        let parts = printed.split_once('\n');
        let (sysroot, verbose_version) = parts
            .filter(|(_, version)| version.contains("\nhost: "))
            .ok_or_else(|| {
                Error::Unsupported(format!(
                    "{} is no Rust compiler: it does not answer `-vV` with its version and host.\n\
                     The program is set by {OF_RUSTC}, or else found in PATH.",
                    rustc.display()
                ))
            })?;
        remember(&rustc, &identity, &printed);
        let sysroot = Utf8PathBuf::from(sysroot);
        // If rustup's proxy was called, this is the file of the compiler that the proxy runs.
        let itself = sysroot.join("bin/rustc");
        let identity = if itself.is_file() {
            self::identity(itself.as_std_path())
        } else {
            identity
        };
        Ok(Self {
            cargo,
            rustc,
            verbose_version: verbose_version.to_owned(),
            sysroot,
            config,
            identity,
        })
    }

    /// The first line of `rustc -vV`.
    pub(crate) fn version(&self) -> &str {
        self.verbose_version.lines().next().unwrap_or_default()
    }

    /// The triple of this machine.
    pub(crate) fn host(&self) -> &str {
        self.verbose_version
            .lines()
            .find_map(|line| line.strip_prefix("host: "))
            .unwrap_or_default()
    }

    /// The directory of the standard library that tests are linked with.
    pub(crate) fn library_dir(&self) -> Utf8PathBuf {
        self.sysroot
            .join("lib/rustlib")
            .join(self.host())
            .join("lib")
    }

    /// The value of `CARGO` for tests: the path of cargo itself, and not of a proxy.
    pub(crate) fn cargo_itself(&self) -> String {
        let beside_rustc = self.sysroot.join("bin/cargo");
        match env::var("CARGO") {
            Ok(cargo) => cargo,
            Err(_) if beside_rustc.is_file() => beside_rustc.into(),
            Err(_) => self.cargo.display().to_string(),
        }
    }

    /// A key that distinguishes this compiler from others.
    pub(crate) fn key(&self) -> String {
        format!("{}\n{}", self.verbose_version, self.identity)
    }
}

/// The path of the compiler that cargo uses: the value of `RUSTC` or `build.rustc`. If neither is
/// set, it is the compiler of the toolchain that rustup has chosen. Without such a toolchain, it
/// is the first `rustc` in `PATH`.
fn find_rustc(config: &cargo_config2::Config) -> Result<PathBuf> {
    let named = config.build.rustc.clone();
    if let Some(rustc) = named.filter(|path| !path.as_os_str().is_empty()) {
        return Ok(rustc);
    }
    if let Some(rustc) = rustup_rustc() {
        return Ok(rustc);
    }
    let path = env::var_os("PATH").unwrap_or_default();
    env::split_paths(&path)
        .map(|dir| dir.join("rustc"))
        .find(|rustc| rustc.is_file())
        .ok_or_else(|| {
            Error::Unsupported(
                "there is no rustc in PATH; install Rust from https://rustup.rs".to_owned(),
            )
        })
}

/// The compiler of the toolchain that rustup has chosen. It is called without rustup's proxy.
fn rustup_rustc() -> Option<PathBuf> {
    let toolchain = env::var_os("RUSTUP_TOOLCHAIN")?;
    let home = match env::var_os("RUSTUP_HOME") {
        Some(home) => PathBuf::from(home),
        None => PathBuf::from(env::var_os("HOME")?).join(".rustup"),
    };
    let rustc = home
        .join("toolchains")
        .join(toolchain)
        .join("bin")
        .join("rustc");
    rustc.is_file().then_some(rustc)
}

/// Whether `rustc` is rustup's proxy. The compiler that a proxy runs does not depend only on the
/// file of the proxy.
fn is_proxy(rustc: &Path) -> bool {
    let size = |path: &Path| path.metadata().ok().map(|metadata| metadata.len());
    let rustup = rustc.with_file_name("rustup");
    rustup.is_file() && size(&rustup) == size(rustc)
}

fn identity(rustc: &Path) -> String {
    let Ok(metadata) = rustc.metadata() else {
        return String::new();
    };
    let changed = metadata
        .modified()
        .ok()
        .and_then(|time| time.duration_since(UNIX_EPOCH).ok())
        .map_or(0, |since| since.as_nanos());
    format!("{} {} {changed}", rustc.display(), metadata.len())
}

/// Returns the compiler's sysroot, and then the output of `-vV`.
fn ask(rustc: &Path) -> Result<String> {
    let run = |args: &[&str]| {
        let output = Command::new(rustc)
            .args(args)
            .output()
            .map_err(|error| Error::Unsupported(not_run(rustc, OF_RUSTC, &error)))?;
        if output.status.success() {
            Ok(String::from_utf8_lossy(&output.stdout).into_owned())
        } else {
            Err(Error::Unsupported(format!(
                "`{} {}` failed: {}",
                rustc.display(),
                args.join(" "),
                String::from_utf8_lossy(&output.stderr).trim()
            )))
        }
    };
    Ok(format!(
        "{}\n{}",
        run(&["--print", "sysroot"])?.trim(),
        run(&["-vV"])?
    ))
}

fn memory_of(rustc: &Path, identity: &str) -> Option<Utf8PathBuf> {
    if identity.is_empty() || is_proxy(rustc) {
        return None;
    }
    let name = format!("rustc-{}", digest::short(identity.as_bytes(), 16));
    Some(cache::shared_dir().ok()??.join(name))
}

fn recall(rustc: &Path, identity: &str) -> Option<String> {
    let printed = std::fs::read_to_string(memory_of(rustc, identity)?).ok()?;
    // `-vV` prints this line last. If it is missing, the file was not completely written.
    printed.contains("\nLLVM version:").then_some(printed)
}

/// Caches the answer for later starts. A failure is ignored, because the cache only saves time.
fn remember(rustc: &Path, identity: &str, printed: &str) {
    if let Some(file) = memory_of(rustc, identity).filter(|file| !file.exists()) {
        let _ = std::fs::create_dir_all(file.parent().unwrap_or(&file));
        let _ = std::fs::write(file, printed);
    }
}
