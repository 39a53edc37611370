//! The directories of built runtimes.
//!
//! All workspaces share one directory. If it cannot be written, a workspace uses a directory of
//! its own.

use std::env::{self, VarError};

use camino::{Utf8Path, Utf8PathBuf};

use crate::error::{Error, Result};

/// The variable that names another directory for the cache.
const VARIABLE: &str = "CHESS_CACHE_DIR";

/// The directory that all workspaces share, if one can be determined.
pub(crate) fn shared_dir() -> Result<Option<Utf8PathBuf>> {
    if let Err(VarError::NotUnicode(value)) = env::var(VARIABLE) {
        return Err(Error::Usage(format!(
            "environment variable {VARIABLE}: expected a directory's name in UTF-8, found `{}`",
            value.to_string_lossy()
        )));
    }
    // Directories whose paths are not UTF-8 are not used.
    let named = |variable| {
        env::var(variable)
            .ok()
            .filter(|path| !path.is_empty())
            .map(Utf8PathBuf::from)
    };
    Ok(named(VARIABLE).or_else(|| {
        named("XDG_CACHE_HOME")
            .filter(|path| path.is_absolute())
            .or_else(|| Some(named("HOME")?.join(".cache")))
            .map(|caches| caches.join("cargo-chess"))
    }))
}

/// The directories to try, in order. `chess_dir` is that of the workspace.
pub(crate) fn candidates(chess_dir: &Utf8Path) -> Result<Vec<Utf8PathBuf>> {
    let own = chess_dir.join("runtime");
    let shared = shared_dir()?.and_then(|dir| camino::absolute_utf8(&dir).ok());
    Ok(shared.into_iter().chain([own]).collect())
}
