//! `cargo chess list`: what would be explored, and how each package is treated.

use std::fmt::Write as _;
use std::io::{self, ErrorKind, Write as _};

use serde::Serialize;

use crate::cli::{ListArgs, MessageFormat, RunOptions};
use crate::config::Layer;
use crate::error::{Error, Result};
use crate::interrupt::Interrupt;
use crate::plan::PlannedPackage;
use crate::session::Session;
use crate::supervise::{ListedTest, list, select};

/// One line of `--message-format json`.
#[derive(Serialize)]
#[serde(tag = "type", rename_all = "kebab-case")]
enum Line<'a> {
    Package {
        name: &'a str,
        version: &'a str,
        member: bool,
        policy: &'a str,
        why: String,
    },
    Test {
        package: &'a str,
        binary: &'a str,
        test: &'a str,
        ignored: bool,
        explored: bool,
        why_not: Option<&'a str>,
    },
}

/// Builds the tests and lists them; the list goes to standard output.
pub fn run(args: &ListArgs, interrupt: &Interrupt) -> Result<()> {
    let options = RunOptions::from_list(args);
    let session = Session::open(&args.cargo, args.profile.as_deref(), &Layer::default())?;
    let build = session.build(&args.cargo, &args.output)?;
    let all = list(&build.binaries, interrupt)?;
    let shell = args.output.shell();
    if build.is_of_all_targets(&session.plan) {
        let paths = all.iter().map(|test| test.id.test.as_str());
        for warning in session.config.unmatched_filters(paths) {
            shell.config_warning(&warning);
        }
    }
    let tests = select(all, &options);
    let packages = &session.plan.packages;
    let text = match args.output.message_format {
        MessageFormat::Human => for_people(packages, &tests),
        MessageFormat::Json => for_machines(packages, &tests)?,
    };
    match io::stdout().lock().write_all(text.as_bytes()) {
        Err(error) if error.kind() != ErrorKind::BrokenPipe => {
            Err(Error::io("write to", "standard output")(error))
        }
        _ => Ok(()),
    }
}

fn for_people(packages: &[PlannedPackage], tests: &[ListedTest]) -> String {
    let mut text = String::from("packages:\n");
    let titles: Vec<_> = packages
        .iter()
        .map(|package| format!("{} {}", package.name, package.version))
        .collect();
    let width = titles.iter().map(String::len).max().unwrap_or(0);
    for (package, title) in packages.iter().zip(&titles) {
        let (policy, why) = (package.policy.as_str(), package.why);
        let _ = writeln!(text, "    {title:width$}  {policy:7}  ({why})");
    }
    let mut binary = None;
    for test in tests {
        if binary != Some(&test.id.binary) {
            let _ = writeln!(text, "{}:", test.id.binary);
            binary = Some(&test.id.binary);
        }
        let ignored = if test.ignored { " (ignored)" } else { "" };
        let why_not = test
            .not_explored
            .map_or_else(String::new, |why| format!(" (not explored: {why})"));
        let _ = writeln!(text, "    {}{ignored}{why_not}", test.id.test);
    }
    text
}

fn for_machines(packages: &[PlannedPackage], tests: &[ListedTest]) -> Result<String> {
    let packages = packages.iter().map(|package| Line::Package {
        name: &package.name,
        version: &package.version,
        member: package.is_member,
        policy: package.policy.as_str(),
        why: package.why.to_string(),
    });
    let tests = tests.iter().map(|test| Line::Test {
        package: &test.id.package,
        binary: &test.id.binary,
        test: &test.id.test,
        ignored: test.ignored,
        explored: test.not_explored.is_none(),
        why_not: test.not_explored,
    });
    let mut text = String::new();
    for line in packages.chain(tests) {
        text += &serde_json::to_string(&line)
            .map_err(|error| Error::Internal(format!("a line of the list: {error}")))?;
        text += "\n";
    }
    Ok(text)
}
