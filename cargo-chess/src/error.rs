//! The one error type; each variant knows its exit code of the contract.

use std::path::Path;

use camino::Utf8PathBuf;

use crate::config::ConfigError;

/// The exit codes of the contract.
pub mod exit {
    /// No failure found within what was explored.
    pub const OK: u8 = 0;
    /// Usage or configuration error.
    pub const USAGE: u8 = 1;
    /// Nothing was selected.
    pub const NOTHING_SELECTED: u8 = 4;
    /// `--require-complete`, and a bound was not finished.
    pub const INCOMPLETE: u8 = 5;
    /// A rewrite differs from its reviewed snapshot.
    pub const REWRITTEN: u8 = 6;
    /// Internal error of cargo-chess.
    pub const INTERNAL: u8 = 70;
    /// A failure was found.
    pub const FAILURE_FOUND: u8 = 100;
    /// The build failed.
    pub const BUILD_FAILED: u8 = 101;
    /// `cargo metadata` failed.
    pub const METADATA_FAILED: u8 = 102;
    /// Interrupted; results so far are kept.
    pub const INTERRUPTED: u8 = 130;
}

/// Shorthand for results of this crate.
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// Whatever stops a command before its verdict.
///
/// The message of each is a sentence for the user: what was expected, what was
/// found, where, and what to do next.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The command line asks for something impossible or not available.
    #[error("{0}")]
    Usage(String),
    /// Chess.toml or a `CHESS_EXPLORE_*` variable is wrong.
    #[error(transparent)]
    Config(#[from] Box<ConfigError>),
    /// This machine, target or toolchain cannot be served.
    #[error("{0}")]
    Unsupported(String),
    /// No test was selected.
    #[error("{0}")]
    NothingSelected(String),
    /// A bound was not finished, and `--require-complete` was given.
    #[error("{0}")]
    Incomplete(String),
    /// What is rewritten differs from the snapshots.
    #[error("{0}")]
    Rewritten(String),
    /// The build of the user's tests failed; cargo has said why.
    #[error("{0}")]
    Build(String),
    /// A file or directory that the build or the run needs could not be used.
    #[error("could not {action} {path}: {source}{}", hint(.source))]
    Io {
        /// What was tried, as in "write" or "create the directory".
        action: &'static str,
        /// What it was tried on.
        path: Utf8PathBuf,
        /// What the operating system said.
        source: std::io::Error,
    },
    /// `cargo metadata` failed; the message carries cargo's own words.
    #[error("{0}")]
    Metadata(String),
    /// The user interrupted the run.
    #[error("interrupted")]
    Interrupted,
    /// A defect of cargo-chess.
    #[error("internal error: {0}\n{DEFECT}")]
    Internal(String),
}

impl Error {
    /// The process's exit code for this error.
    pub fn exit_code(&self) -> u8 {
        match self {
            Self::Usage(_) | Self::Config(_) | Self::Unsupported(_) => exit::USAGE,
            Self::NothingSelected(_) => exit::NOTHING_SELECTED,
            Self::Incomplete(_) => exit::INCOMPLETE,
            Self::Rewritten(_) => exit::REWRITTEN,
            Self::Build(_) | Self::Io { .. } => exit::BUILD_FAILED,
            Self::Metadata(_) => exit::METADATA_FAILED,
            Self::Interrupted => exit::INTERRUPTED,
            Self::Internal(_) => exit::INTERNAL,
        }
    }

    /// An [`Error::Io`]: for `.map_err(Error::io("write", &path))`.
    pub fn io(
        action: &'static str,
        path: impl Into<Utf8PathBuf>,
    ) -> impl FnOnce(std::io::Error) -> Self {
        let path = path.into();
        move |source| Self::Io {
            action,
            path,
            source,
        }
    }
}

/// What an error says that is no fault of the user's.
pub(crate) const DEFECT: &str = concat!(
    "This is a defect of cargo chess: please report it at ",
    env!("CARGO_PKG_REPOSITORY"),
    "/issues,\nwith this message, the command that led here, and what `cargo chess --version` and \
     `rustc -vV` print.\nUntil it is mended, `cargo test` runs the tests as before."
);

/// That a program of the toolchain cannot be started, and where its name comes from.
pub(crate) fn not_run(program: &Path, source: &str, error: &std::io::Error) -> String {
    format!(
        "could not run {}: {error}\nIt is what {source} names, or else the one in PATH; Rust itself is \
         installed from https://rustup.rs.",
        program.display()
    )
}

/// Where the name of cargo comes from.
pub(crate) const OF_CARGO: &str = "the variable CARGO";

/// Where the name of the compiler comes from.
pub(crate) const OF_RUSTC: &str = "the variable RUSTC or `build.rustc` in cargo's configuration";

/// What to do about an error of the operating system, where there is something to say.
fn hint(source: &std::io::Error) -> &'static str {
    use std::io::ErrorKind;
    match source.kind() {
        ErrorKind::StorageFull | ErrorKind::QuotaExceeded => {
            "\nThe disk is full: free some space, or name another place with --target-dir (for the \
             cache of runtimes: CHESS_CACHE_DIR)."
        }
        ErrorKind::PermissionDenied | ErrorKind::ReadOnlyFilesystem => {
            "\ncargo chess writes only to the target directory and to its cache of runtimes: make them \
             writable, or name other places with --target-dir and CHESS_CACHE_DIR."
        }
        ErrorKind::NotADirectory | ErrorKind::AlreadyExists => {
            "\nA file stands where a directory is needed: move it away, or name another place with \
             --target-dir (for the cache of runtimes: CHESS_CACHE_DIR)."
        }
        _ => "",
    }
}
