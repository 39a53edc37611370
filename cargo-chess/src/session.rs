//! The common start of all commands that explore: toolchain, workspace, configuration, plan, build.

use crate::build::{self, Build};
use crate::cli::{CargoArgs, OutputArgs};
use crate::config::{Config, Layer};
use crate::error::Result;
use crate::interrupt::Interrupt;
use crate::plan::{Plan, Workspace};
use crate::toolchain::Toolchain;

/// A workspace with its plan, before the build.
#[derive(Debug)]
pub(crate) struct Session {
    /// The compiler that cargo uses.
    pub toolchain: Toolchain,
    /// The exploration options.
    pub config: Config,
    /// The packages and directories.
    pub plan: Plan,
}

impl Session {
    /// Loads the workspace that `cargo` selects. The options in `flags` have precedence over its
    /// configuration.
    pub(crate) fn open(cargo: &CargoArgs, profile: Option<&str>, flags: &Layer) -> Result<Self> {
        let toolchain = Toolchain::find()?;
        build::check_supported(&toolchain, cargo)?;
        let workspace = Workspace::find(
            &toolchain,
            &cargo.manifest,
            &cargo.features,
            cargo.build.target_dir.as_deref(),
        )?;
        let config = Config::load(&workspace.root, profile, std::env::vars_os(), flags)?;
        let plan = Plan::new(workspace, &config)?;
        Ok(Self {
            toolchain,
            config,
            plan,
        })
    }

    /// Builds the test binaries that `cargo` selects.
    pub(crate) fn build(
        &self,
        cargo: &CargoArgs,
        output: &OutputArgs,
        interrupt: &Interrupt,
    ) -> Result<Build> {
        build::run(
            &self.toolchain,
            &self.plan,
            cargo,
            output.color_when(),
            output.shell(),
            interrupt,
        )
    }
}
