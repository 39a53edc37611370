//! `cargo chess list`: the tests that would be explored, and the treatment of each package.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use schemars::JsonSchema;
use serde::Serialize;

use crate::build::{Build, NotExplored, has_overlay, treatment_of};
use crate::cli::{ListArgs, MessageFormat, RunOptions};
use crate::config::Layer;
use crate::error::{Error, Result};
use crate::interrupt::Interrupt;
use crate::plan::{Plan, PlannedPackage};
use crate::session::Session;
use crate::stdout;
use crate::supervise::{ListedTest, list, select};
use crate::wrapper::{Coverage, FallbackRecord};

/// One line of `--message-format json`.
#[derive(Serialize, JsonSchema)]
#[serde(tag = "type", rename_all = "kebab-case")]
pub(crate) enum Line<'a> {
    /// A package of the build, and its treatment.
    Package {
        /// Its name.
        name: &'a str,
        /// Its version.
        version: &'a str,
        /// Whether it is a member of the workspace.
        member: bool,
        /// `preempt`, `atomic` or `opaque`.
        policy: &'a str,
        /// The reason for this policy.
        why: String,
        /// Whether an overlay changes it.
        overlay: bool,
        /// The parts that are outside control, with one sentence for each.
        outside: &'a [String],
        /// The package's references to raw memory, if the build is watched for races. Creating a
        /// reference is a use of the memory without an instruction. So a change of the source text
        /// reports it, whereas instrumentation reports loads and stores.
        #[serde(skip_serializing_if = "Option::is_none")]
        references: Option<References>,
    },
    /// A test.
    Test {
        /// The name of its package.
        package: &'a str,
        /// Its binary.
        binary: &'a str,
        /// Its path inside the binary.
        test: &'a str,
        /// Whether it is marked `#[ignore]`.
        ignored: bool,
        /// Whether it can be explored.
        explored: bool,
        /// The reason why it cannot be explored.
        why_not: Option<&'a str>,
    },
}

/// The references to raw memory that a package's unsafe code creates.
#[derive(Serialize, JsonSchema)]
pub(crate) struct References {
    /// The number of references in its sources.
    found: usize,
    /// The number of watched references.
    watched: usize,
    /// The numbers of references that are not watched, by reason.
    left: BTreeMap<String, usize>,
}

impl References {
    fn of(coverage: &Coverage) -> Self {
        let left = coverage.left.iter();
        Self {
            found: coverage.found,
            watched: coverage.watched,
            left: left.map(|(why, count)| (why.to_string(), *count)).collect(),
        }
    }
}

/// Builds the tests and prints their list to standard output.
pub(crate) fn run(args: &ListArgs, interrupt: &Interrupt) -> Result<()> {
    let options = RunOptions::from_list(args);
    let session = Session::open(&args.cargo, args.profile.as_deref(), &Layer::default())?;
    let build = session.build(&args.cargo, &args.output, interrupt)?;
    let all = list(&build.binaries, interrupt)?;
    let shell = args.output.shell();
    if build.is_of_all_targets(&session.plan) {
        let paths = all.iter().map(|test| test.id.test.as_str());
        for warning in session.config.unmatched_filters(paths) {
            shell.config_warning(&warning);
        }
    }
    let tests = select(all, &options);
    let packages = listed(&session.plan, &build)?;
    let text = match args.output.message_format {
        MessageFormat::Human | MessageFormat::Short => for_people(&packages, &tests),
        MessageFormat::Json => for_machines(&packages, &tests),
    };
    stdout::print(&text)
}

/// A package of the list.
struct ListedPackage<'a> {
    package: &'a PlannedPackage,
    /// Whether an overlay changes it.
    overlay: bool,
    /// The parts that are outside control.
    outside: Vec<String>,
    /// The coverage of the package's references to raw memory, if the build is watched for races.
    coverage: Option<Coverage>,
}

fn listed<'a>(plan: &'a Plan, build: &Build) -> Result<Vec<ListedPackage<'a>>> {
    plan.packages
        .iter()
        .map(|package| {
            let title = format!("{} {}", package.name, package.version);
            let records = build.records.iter().filter(|it| it.package == title);
            let mut outside = plan.outside_control(package, build.compiled.of(&package.id));
            outside.extend(records.flat_map(FallbackRecord::sentences));
            let compiled = build.compiled.of(&package.id);
            let coverage = Coverage::of(&treatment_of(plan, package)?, &build.sources, compiled)
                .map_err(Error::io("read", &package.root))?;
            Ok(ListedPackage {
                package,
                coverage,
                overlay: has_overlay(package)?,
                outside,
            })
        })
        .collect()
}

fn for_people(packages: &[ListedPackage<'_>], tests: &[ListedTest]) -> String {
    let mut text = String::from("packages:\n");
    let titles: Vec<_> = packages
        .iter()
        .map(|it| format!("{} {}", it.package.name, it.package.version))
        .collect();
    let width = titles.iter().map(String::len).max().unwrap_or(0);
    for (package, title) in packages.iter().zip(&titles) {
        let (policy, why) = (package.package.policy.as_str(), package.package.why);
        let overlay = if package.overlay {
            ", with an overlay"
        } else {
            ""
        };
        let _ = writeln!(text, "    {title:width$}  {policy:7}  ({why}{overlay})");
        if let Some(coverage) = package.coverage.as_ref().filter(|it| it.found > 0) {
            let _ = writeln!(
                text,
                "    {:width$}  every load and store is watched, and {coverage}",
                ""
            );
        }
        for outside in &package.outside {
            let _ = writeln!(text, "    {:width$}  outside control: {outside}", "");
        }
    }
    let mut binary = None;
    for test in tests {
        if binary != Some(&test.id.binary) {
            let _ = writeln!(text, "{}:", test.id.binary);
            binary = Some(&test.id.binary);
        }
        let ignored = if test.ignored { " (ignored)" } else { "" };
        let why_not = test.not_explored.map_or_else(String::new, |why| {
            format!(" (not explored: {})", why.reason())
        });
        let _ = writeln!(text, "    {}{ignored}{why_not}", test.id.test);
    }
    text
}

fn for_machines(packages: &[ListedPackage<'_>], tests: &[ListedTest]) -> String {
    let packages = packages.iter().map(|it| Line::Package {
        name: &it.package.name,
        version: &it.package.version,
        member: it.package.is_member,
        policy: it.package.policy.as_str(),
        why: it.package.why.to_string(),
        overlay: it.overlay,
        outside: &it.outside,
        references: it.coverage.as_ref().map(References::of),
    });
    let tests = tests.iter().map(|test| Line::Test {
        package: &test.id.package,
        binary: &test.id.binary,
        test: &test.id.test,
        ignored: test.ignored,
        explored: test.not_explored.is_none(),
        why_not: test.not_explored.map(NotExplored::reason),
    });
    let mut text = String::new();
    for line in packages.chain(tests) {
        text += &serde_json::to_string(&line).expect("it is plain data");
        text += "\n";
    }
    text
}
