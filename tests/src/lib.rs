//! Common code of the end-to-end tests: it calls the real tool, creates
//! workspaces for it, and reads the expected results of the fixtures from
//! `expected.toml`.

#![forbid(unsafe_code)]

mod browser;
pub mod catalogue;
mod document;
pub mod enumerator;
mod expected;
mod needs;
mod process;
pub mod published;
mod run;
mod sources;
mod tool;
mod tree;
mod workspace;

pub use browser::Browser;
pub use document::{Block, blocks, with_method};
pub use expected::{Expected, ExpectedTest};
pub use needs::{needs, take_skipped, wants, wants_privileges};
pub use process::{Process, assert_none_is_left, descendants, is_test_process};
pub use run::{Run, without_durations};
pub use sources::{LOSE_AND_KEEP, LOSES_AN_UPDATE};
pub use tool::{Chess, program, target_dir, tool_revision};
pub use tree::Tree;
pub use workspace::{Workspace, source_of};
