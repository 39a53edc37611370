//! `cargo chess clean`: removes the files that cargo chess has written.

use std::fs;
use std::io::ErrorKind;

use camino::Utf8Path;

use crate::cli::{CleanArgs, FeatureArgs};
use crate::error::{Error, Result};
use crate::plan::Workspace;
use crate::shell::Shell;
use crate::toolchain::{Toolchain, cache};

/// Removes the workspace's `target/chess`. With `--all`, also removes the runtimes that all
/// workspaces share.
pub(crate) fn run(args: &CleanArgs) -> Result<()> {
    let shell = args.output.shell();
    let toolchain = Toolchain::find()?;
    let workspace = Workspace::find(
        &toolchain,
        &args.manifest,
        &FeatureArgs::default(),
        args.target_dir.as_deref(),
    )?;
    remove(&workspace.chess_dir(), shell)?;
    if args.all
        && let Some(cache) = cache::shared_dir()?
    {
        remove(&cache, shell)?;
    }
    Ok(())
}

fn remove(dir: &Utf8Path, shell: Shell) -> Result<()> {
    match fs::remove_dir_all(dir) {
        Ok(()) => shell.status("Removed", dir),
        Err(error) if error.kind() == ErrorKind::NotFound => {}
        Err(error) => return Err(Error::io("remove", dir)(error)),
    }
    Ok(())
}
