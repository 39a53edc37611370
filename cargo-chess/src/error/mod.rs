//! The error type. Each variant has an exit code of the contract.

mod config;
pub(crate) mod exit_code;

use std::path::Path;

use camino::Utf8PathBuf;

pub(crate) use config::ConfigError;

/// Shorthand for results of this crate.
pub(crate) type Result<T, E = Error> = std::result::Result<T, E>;

/// An error that stops a command before its verdict.
///
/// Each message is a sentence for the user: the expected and the found value, the place, and the
/// remedy.
#[derive(Debug, thiserror::Error)]
pub(crate) enum Error {
    /// The command line requests something impossible or unavailable.
    #[error("{0}")]
    Usage(String),
    /// Chess.toml or a `CHESS_EXPLORE_*` variable is wrong.
    #[error(transparent)]
    Config(#[from] Box<ConfigError>),
    /// This machine, target or toolchain is not supported.
    #[error("{0}")]
    Unsupported(String),
    /// No test was selected.
    #[error("{0}")]
    NothingSelected(String),
    /// A bound was not finished, and `--require-complete` was given.
    #[error("{0}")]
    Incomplete(String),
    /// The rewrites differ from the snapshots.
    #[error("{0}")]
    Rewritten(String),
    /// The build of the user's tests failed. Cargo has printed the reason.
    #[error("{0}")]
    Build(String),
    /// A file or directory that the build or the run needs could not be used.
    #[error("could not {action} {path}: {source}{}", hint(.source))]
    Io {
        /// The failed action, as in "write" or "create the directory".
        action: &'static str,
        /// The path of the action.
        path: Utf8PathBuf,
        /// The error of the operating system.
        source: std::io::Error,
    },
    /// `cargo metadata` failed. The message contains cargo's own message.
    #[error("{0}")]
    Metadata(String),
    /// The user interrupted the run.
    #[error("interrupted")]
    Interrupted,
    /// A defect of cargo chess.
    #[error("internal error: {0}\n{DEFECT}")]
    Internal(String),
}

impl Error {
    /// The process's exit code for this error.
    pub(crate) fn exit_code(&self) -> u8 {
        match self {
            Self::Usage(_) | Self::Config(_) | Self::Unsupported(_) => exit_code::USAGE,
            Self::NothingSelected(_) => exit_code::NOTHING_SELECTED,
            Self::Incomplete(_) => exit_code::INCOMPLETE,
            Self::Rewritten(_) => exit_code::REWRITTEN,
            Self::Build(_) | Self::Io { .. } => exit_code::BUILD_FAILED,
            Self::Metadata(_) => exit_code::METADATA_FAILED,
            Self::Interrupted => exit_code::INTERRUPTED,
            Self::Internal(_) => exit_code::INTERNAL,
        }
    }

    /// Returns the conversion of an error to [`Error::Io`], as in
    /// `.map_err(Error::io("write", &path))`.
    pub(crate) fn io(
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

/// The end of a message about an error that the user did not cause.
pub(crate) const DEFECT: &str = concat!(
    "This is a defect of cargo chess: please report it at ",
    env!("CARGO_PKG_REPOSITORY"),
    "/issues,\nwith this message, the command that led here, and what `cargo chess --version` and \
     `rustc -vV` print.\n`cargo test` still runs the tests."
);

/// The message for a program of the toolchain that cannot be started. `source` is the origin of
/// the program's name.
pub(crate) fn not_run(program: &Path, source: &str, error: &std::io::Error) -> String {
    format!(
        "could not run {}: {error}\nThe program is set by {source}, or else found in PATH. Correct the \
         setting, or install Rust from https://rustup.rs.",
        program.display()
    )
}

/// The origin of cargo's name.
pub(crate) const OF_CARGO: &str = "the variable CARGO";

/// The origin of the compiler's name.
pub(crate) const OF_RUSTC: &str = "the variable RUSTC or `build.rustc` in cargo's configuration";

/// The remedy for an error of the operating system, if there is one.
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
            "\nA file has the path of a directory that cargo chess needs: move the file away, or name another place with \
             --target-dir (for the cache of runtimes: CHESS_CACHE_DIR)."
        }
        _ => "",
    }
}
