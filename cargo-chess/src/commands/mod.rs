//! The commands: a file or a folder for each.

pub(crate) mod clean;
pub(crate) mod completions;
pub(crate) mod demo;
pub(crate) mod explain;
pub(crate) mod gate;
pub(crate) mod init;
pub(crate) mod list;
pub(crate) mod man;
pub(crate) mod merge;
pub(crate) mod nextest;
pub(crate) mod replay;
pub(crate) mod rewrite;
pub(crate) mod schema;
pub(crate) mod test;
