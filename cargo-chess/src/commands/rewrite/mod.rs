//! `cargo chess rewrite`: shows the redirections and rewrites, for reading, reviewing and pinning.
//!
//! For each file, it shows the items of `std` under control that the file uses, and the inserted
//! text. The files are those of packages with the policy `preempt`, and those that an overlay
//! changes. Marks of statements are not shown: they are in every line, and have no effect that a
//! reader of the code must know.

mod diff;
mod files;
mod outside_files;
mod reviewed;
mod snapshots;

use crate::build;
use crate::cli::{CargoArgs, RewriteArgs};
use crate::config::Layer;
use crate::error::{Error, Result};
use crate::session::Session;
use crate::shell::Shell;
use crate::stdout;
use reviewed::Reviewed;
use snapshots::Snapshots;

pub(crate) use snapshots::DIRECTORY;

/// Shows, compares or accepts the rewrites of the workspace, as `args` say.
pub(crate) fn run(args: &RewriteArgs) -> Result<()> {
    let cargo = CargoArgs {
        features: args.features.clone(),
        manifest: args.manifest.clone(),
        ..CargoArgs::default()
    };
    let session = Session::open(&cargo, None, &Layer::default())?;
    let shell = args.output.shell();
    let reviewed = review(&session, shell)?;
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
        stdout::print(
            &differences
                .iter()
                .map(|it| it.diff.as_str())
                .collect::<String>(),
        )?;
        return match differences.len() {
            0 => Ok(()),
            count => Err(unreviewed(count, reviewed.len())),
        };
    }
    let wanted = args.show.as_ref().and_then(Option::as_deref);
    let shown: Vec<&Reviewed> = reviewed.iter().filter(|it| it.is(wanted)).collect();
    if let Some(wanted) = wanted
        && shown.is_empty()
    {
        return Err(Error::Usage(format!(
            "no code of `{wanted}` is redirected or rewritten: name a package, or a file as in \
             `my-crate:src/lib.rs`, from the output of `cargo chess rewrite`"
        )));
    }
    stdout::print(&shown.iter().map(ToString::to_string).collect::<String>())
}

/// Compares the rewrites with the snapshots, if there are any. Returns a diff for each difference.
/// If there are differences, also returns the error that names the remedy.
pub(crate) fn check(session: &Session, shell: Shell) -> Result<(String, Option<Error>)> {
    if !session.plan.workspace_root.join(DIRECTORY).exists() {
        return Ok((String::new(), None));
    }
    let reviewed = review(session, shell)?;
    let differences = Snapshots::of(&session.plan.workspace_root).compare(&reviewed)?;
    let count = differences.len();
    let diffs = differences.into_iter().map(|it| it.diff).collect();
    Ok((
        diffs,
        (count > 0).then(|| unreviewed(count, reviewed.len())),
    ))
}

/// The redirections and rewrites of all files.
fn review(session: &Session, shell: Shell) -> Result<Vec<Reviewed>> {
    let mut reviewed = Vec::new();
    for package in &session.plan.packages {
        let treatment = build::treatment_of(&session.plan, package)?;
        let metadata = session.plan.metadata.packages.iter();
        let described = metadata.filter(|it| it.id.repr == package.id);
        let outside = described
            .flat_map(|it| outside_files::files(it, &treatment))
            .collect();
        let (found, unreadable) = files::review(package, &treatment, outside)?;
        reviewed.extend(found);
        for warning in unreadable {
            shell.warn(warning);
        }
    }
    Ok(reviewed)
}

fn unreviewed(count: usize, all: usize) -> Error {
    Error::Rewritten(format!(
        "{count} of {all} snapshots in {DIRECTORY} differ from the current rewritten code.\n\
         Read the diff, then accept it: cargo chess rewrite --accept"
    ))
}
