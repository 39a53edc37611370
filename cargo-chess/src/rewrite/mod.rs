//! `cargo chess rewrite`: what is redirected and rewritten, to be read, reviewed and pinned.
//!
//! For each file of a package whose policy is `preempt`, and of what an overlay
//! changes: what of `std` it reaches that is under control, and what is inserted.
//! Marks of statements are left out: they are in every line, and do nothing that
//! a reader of the code would have to know.

mod diff;
mod files;
mod reviewed;
mod snapshots;

use std::io::{self, ErrorKind, Write};

use crate::build;
use crate::cli::{CargoArgs, RewriteArgs};
use crate::config::Layer;
use crate::error::{Error, Result};
use crate::session::Session;
use reviewed::Reviewed;
use snapshots::Snapshots;

/// Shows, compares or accepts the snapshots of the workspace that `args` select.
pub fn run(args: &RewriteArgs) -> Result<()> {
    let cargo = CargoArgs {
        features: args.features.clone(),
        manifest: args.manifest.clone(),
        ..CargoArgs::default()
    };
    let session = Session::open(&cargo, None, &Layer::default())?;
    let shell = args.output.shell();
    let mut reviewed = Vec::new();
    for package in &session.plan.packages {
        let treatment = build::treatment_of(package)?;
        let (found, unreadable) = files::review(package, &treatment)?;
        reviewed.extend(found);
        for warning in unreadable {
            shell.warn(warning);
        }
    }
    let snapshots = Snapshots::of(&session.plan.workspace_root);
    if args.accept {
        let changed = snapshots.accept(&reviewed)?;
        shell.status(
            "Accepted",
            format!("{changed} of {} snapshots", reviewed.len()),
        );
        return Ok(());
    }
    if args.check || args.pending {
        let differences = snapshots.compare(&reviewed)?;
        if args.pending {
            snapshots.propose(&differences)?;
        }
        print(
            &differences
                .iter()
                .map(|it| it.diff.as_str())
                .collect::<String>(),
        )?;
        return match differences.len() {
            0 => Ok(()),
            count => Err(Error::Rewritten(format!(
                "{count} of {} snapshots in {} differ from what is rewritten now.\n\
                 Read the diff, then accept it: cargo chess rewrite --accept",
                reviewed.len(),
                snapshots::DIRECTORY
            ))),
        };
    }
    let wanted = args.show.as_ref().and_then(Option::as_deref);
    let shown: Vec<&Reviewed> = reviewed.iter().filter(|it| it.is(wanted)).collect();
    if let Some(wanted) = wanted
        && shown.is_empty()
    {
        return Err(Error::Usage(format!(
            "nothing of `{wanted}` is redirected or rewritten: name a package, or a file as in \
             `my-crate:src/lib.rs`, of those that `cargo chess rewrite` shows"
        )));
    }
    print(&shown.iter().map(ToString::to_string).collect::<String>())
}

fn print(text: &str) -> Result<()> {
    match io::stdout().lock().write_all(text.as_bytes()) {
        Err(error) if error.kind() != ErrorKind::BrokenPipe => {
            Err(Error::io("write to", "standard output")(error))
        }
        _ => Ok(()),
    }
}
