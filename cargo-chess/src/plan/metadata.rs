//! Queries cargo's metadata of the workspace.

use std::process::{Command, Stdio};

use cargo_metadata::{Metadata, MetadataCommand};

use crate::cli::{FeatureArgs, ManifestArgs};
use crate::error::{Error, OF_CARGO, Result, not_run};
use crate::toolchain::Toolchain;

/// Runs `cargo metadata`. Its messages are passed on to standard error.
pub(super) fn read(
    toolchain: &Toolchain,
    manifest: &ManifestArgs,
    features: &FeatureArgs,
) -> Result<Metadata> {
    let output = Command::new(&toolchain.cargo)
        .args(["metadata", "--format-version", "1"])
        .args(["--filter-platform", toolchain.host()])
        .args(features.to_cargo())
        .args(manifest.to_cargo())
        .stdin(Stdio::null())
        .stderr(Stdio::inherit())
        .output()
        .map_err(|error| Error::Metadata(not_run(&toolchain.cargo, OF_CARGO, &error)))?;
    if !output.status.success() {
        return Err(Error::Metadata(
            "cargo could not describe the workspace; the output of cargo above has the reason"
                .to_owned(),
        ));
    }
    String::from_utf8(output.stdout)
        .map_err(|error| error.to_string())
        .and_then(|text| MetadataCommand::parse(text).map_err(|error| error.to_string()))
        .map_err(|error| {
            Error::Metadata(format!(
                "the output of `{} metadata` could not be parsed: {error}\n\
                 This program may not be the cargo of a supported Rust version. {OF_CARGO} can name another cargo.",
                toolchain.cargo.display()
            ))
        })
}
