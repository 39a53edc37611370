//! The commands that print input for editors, shells and manuals.

use clap::Args;

use super::OutputArgs;

/// `cargo chess schema`.
#[derive(Args, Debug)]
pub(crate) struct SchemaArgs {
    /// The subject of the schema
    #[arg(value_name = "WHAT", value_enum)]
    pub of: SchemaOf,
    /// The output.
    #[command(flatten)]
    pub output: OutputArgs,
}

/// The subjects of schemas.
#[derive(clap::ValueEnum, Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum SchemaOf {
    /// Chess.toml.
    Config,
    /// The events of a run: a line of `--message-format json`.
    Events,
    /// A line of `cargo chess list --message-format json`.
    List,
}

/// `cargo chess completions`.
#[derive(Args, Debug)]
pub(crate) struct CompletionsArgs {
    /// The shell
    #[arg(value_name = "SHELL", value_enum)]
    pub shell: clap_complete::Shell,
    /// The output.
    #[command(flatten)]
    pub output: OutputArgs,
}

/// `cargo chess man`.
#[derive(Args, Debug)]
pub(crate) struct ManArgs {
    /// Command of the page [default: the page of cargo chess]
    #[arg(value_name = "COMMAND")]
    pub command: Option<String>,
    /// The output.
    #[command(flatten)]
    pub output: OutputArgs,
}
