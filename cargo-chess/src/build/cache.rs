//! Where built runtimes are kept: one directory for all workspaces, or the target directory where that cannot be written.

use std::env;

use camino::{Utf8Path, Utf8PathBuf};

/// Names another directory for the cache.
const VARIABLE: &str = "CHESS_CACHE_DIR";

/// The directory that all workspaces share, if there is a place for one.
pub(crate) fn shared_dir() -> Option<Utf8PathBuf> {
    let named = |variable| {
        env::var(variable)
            .ok()
            .filter(|path| !path.is_empty())
            .map(Utf8PathBuf::from)
    };
    named(VARIABLE).or_else(|| {
        named("XDG_CACHE_HOME")
            .filter(|path| path.is_absolute())
            .or_else(|| Some(named("HOME")?.join(".cache")))
            .map(|caches| caches.join("cargo-chess"))
    })
}

/// The directories to try in turn for a workspace whose own directory of ours is `chess_dir`.
pub(super) fn candidates(chess_dir: &Utf8Path) -> Vec<Utf8PathBuf> {
    let own = chess_dir.join("runtime");
    shared_dir()
        .and_then(|dir| camino::absolute_utf8(&dir).ok())
        .into_iter()
        .chain([own])
        .collect()
}
