//! The exit codes of the contract. The book's table of them is in `cargo-chess/book/src/ci.md`.

/// No failure found in the explored schedules.
pub(crate) const OK: u8 = 0;
/// Usage or configuration error.
pub(crate) const USAGE: u8 = 1;
/// Nothing was selected.
pub(crate) const NOTHING_SELECTED: u8 = 4;
/// `--require-complete` was given, and a bound was not finished.
pub(crate) const INCOMPLETE: u8 = 5;
/// The exit code if a rewrite differs from its reviewed snapshot.
pub(crate) const REWRITTEN: u8 = 6;
/// Internal error of cargo-chess.
pub(crate) const INTERNAL: u8 = 70;
/// A failure was found.
pub(crate) const FAILURE_FOUND: u8 = 100;
/// The build failed.
pub(crate) const BUILD_FAILED: u8 = 101;
/// `cargo metadata` failed.
pub(crate) const METADATA_FAILED: u8 = 102;
/// The exit code of an interrupted run. The results so far are saved.
pub(crate) const INTERRUPTED: u8 = 130;
