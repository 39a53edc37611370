//! The reason for a package's policy. `packages.rs` decides the policy.
//! `wrapper/fallback_reasons.rs` has the reasons why packages do not compile under control.

use std::fmt;

use serde::{Deserialize, Serialize};

/// The reason for a package's policy.
#[derive(Serialize, Deserialize, Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum PolicyOrigin {
    /// The package is a workspace member without an entry in Chess.toml.
    WorkspaceDefault,
    /// The package is a dependency without an entry in Chess.toml.
    DependencyDefault,
    /// The package has an entry in Chess.toml.
    Named,
}

impl fmt::Display for PolicyOrigin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::WorkspaceDefault => "workspace default",
            Self::DependencyDefault => "dependency default",
            Self::Named => "named in Chess.toml",
        })
    }
}
