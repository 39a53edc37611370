//! A report of a failure in Markdown, for the authors of the crate that fails.
//!
//! It contains everything that a reader needs to reproduce the failure: the test, the cause, the
//! interleaving, the versions, and the schedule. It contains no path of this machine.

mod manifest;
mod test_source;

use std::fmt::Write as _;

use super::explanation::parts;
use super::failure::Style;
use crate::analysis::Explanation;
use crate::config::FILE_NAME;
use crate::events::{Kind, Location};
use crate::plan::{Plan, PlannedPackage, STD};
use crate::protocol::{Blocked, Caller, Finished, Step};
use crate::schedule::{Schedule, replay_command};
use crate::text::source_path;
use crate::toolchain::Toolchain;

/// The width of text in code blocks.
const WIDTH: usize = 100;

/// The plan, the compiler and the schedule of a failure.
pub(crate) struct Surroundings<'a> {
    /// The workspace and its packages.
    pub(crate) plan: &'a Plan,
    /// The compiler.
    pub(crate) toolchain: &'a Toolchain,
    /// The schedule of the failure.
    pub(crate) schedule: &'a Schedule,
}

/// The report of a failure.
pub(crate) fn markdown(explanation: &Explanation, around: &Surroundings<'_>) -> String {
    let Surroundings { plan, schedule, .. } = around;
    let style = Style {
        width: WIDTH,
        whole: false,
        saved: false,
        inline: false,
    };
    let finished = &explanation.detail.finished;
    let parts = parts(&plan.workspace_root, explanation, style);
    let defect = defect(explanation, plan);
    let source = source(finished, schedule, plan);
    let mut text = title(explanation, &defect, plan);
    text += &introduction(explanation, schedule);
    if let Some((file, source)) = &source {
        let _ = write!(text, "\n## The test\n\nIn `{}`:\n\n", source_path(file));
        text += &block("rust", source);
        text += &modules(file, source, plan);
    }
    text += "\n## The failure\n\n";
    text += &block("text", &plain(&parts.failure));
    text += "\n## The cause\n\n";
    text += &block("text", &plain(&parts.cause));
    for (heading, part) in [
        ("The interleaving", &parts.table),
        ("The nearest schedule that passes", &parts.passing),
    ] {
        if !part.is_empty() {
            let _ = write!(text, "\n## {heading}\n\n");
            text += &block("text", &plain(part));
        }
    }
    text += &reproduction(
        around,
        &defect.package,
        source.as_ref().map(|(_, text)| &**text),
    );
    text += &versions(around, &defect.package);
    without_directories(&text, plan)
}

/// The package that probably has the defect, and a line in it.
struct Defect {
    /// The name and version, for example `parking_lot 0.12.5`.
    package: String,
    place: Option<Location>,
}

/// The package that probably has the defect. It is found by candidate lines: for a panic, deadlock
/// or livelock, the lines before which tasks were preempted, and then the line of the failure.
/// Without a preemption, the lines of the waiting tasks and of all events follow. The first
/// candidate in a dependency is taken, because the readers are the authors of the dependency. If
/// no candidate is in a dependency, the first candidate is taken.
fn defect(explanation: &Explanation, plan: &Plan) -> Defect {
    let finished = &explanation.detail.finished;
    let package = |place: &Location| {
        let names = plan.packages_of(std::slice::from_ref(&place.file), &[]);
        names.into_iter().next().filter(|it| it != STD)
    };
    let preempted = preempted(finished);
    let is_alone = preempted.is_empty();
    let own = explanation.test.location.clone();
    let mut places = match explanation.test.kind {
        Some(Kind::Panic | Kind::Deadlock | Kind::Livelock) => preempted,
        // Other failures are at one line.
        _ => Vec::new(),
    };
    places.extend(own);
    if is_alone {
        let waiting = finished.blocked.iter();
        places.extend(waiting.filter_map(Blocked::shown_location));
        let all = finished.events.iter().rev();
        places.extend(all.filter_map(Step::shown_location));
    }
    let named = places.into_iter();
    let named: Vec<_> = named.filter_map(|it| Some((package(&it)?, it))).collect();
    let mut found = named.iter();
    let of_dependency = found.find(|(_, it)| plan.dependency_of(&it.file, &[]).is_some());
    match of_dependency.or_else(|| named.first()) {
        Some((package, place)) => Defect {
            package: package.clone(),
            place: Some(place.clone()),
        },
        None => Defect {
            package: explanation.test.package.clone(),
            place: None,
        },
    }
}

/// The places before which tasks were preempted, the last one first. If the next operation of the
/// task is the first one of a call into other code, the place is that of the call.
fn preempted(finished: &Finished) -> Vec<Location> {
    let place = |own: Option<Location>, caller: Option<&Caller>| match caller {
        Some(caller) if !caller.goes_on => Some(caller.location.clone()),
        _ => own,
    };
    let stopped = finished.blocked.iter().filter(|it| it.preempted);
    let stopped = stopped.filter_map(|it| place(it.shown_location(), it.caller.as_ref()));
    let resumed = finished.events.iter().rev().filter(|it| it.preempted);
    let resumed = resumed.filter_map(|it| place(it.shown_location(), it.caller.as_ref()));
    stopped.chain(resumed).collect()
}

fn title(explanation: &Explanation, defect: &Defect, plan: &Plan) -> String {
    let kind = explanation.test.kind.map_or("failure", |kind| kind.name());
    let mut title = format!("# {kind} in {}", defect.package);
    if let Some(Location { file, line, .. }) = &defect.place {
        let named = |it: &&PlannedPackage| format!("{} {}", it.name, it.version) == defect.package;
        let package = plan.packages.iter().find(named);
        let path = plan.workspace_root.join(file);
        let inside = package.and_then(|it| path.strip_prefix(&it.root).ok());
        let shown = inside.map_or_else(|| source_path(file), ToString::to_string);
        let _ = write!(title, ": {shown}:{line}");
    }
    title + "\n"
}

fn introduction(explanation: &Explanation, schedule: &Schedule) -> String {
    let test = &explanation.test;
    let cost = test.counts.preemptions.map_or_else(String::new, |count| {
        let words = super::late_effects::cost(count, &explanation.detail.finished);
        format!(" This one has {words}.")
    });
    let weak = match schedule.memory.as_str() {
        "sc" => String::new(),
        model => format!(" The memory model is `{model}`."),
    };
    format!(
        "\nA test fails under one of its schedules. A schedule is an order of the operations of the test's threads.{cost}{weak} \
         [cargo chess]({}) found the schedule, and runs it again with the same result each time.\n",
        env!("CARGO_PKG_REPOSITORY")
    )
}

/// The name of the file that has the test, and the source of the test. The files of the main
/// task's events are tried in order, and then the root file of the test binary.
fn source(finished: &Finished, schedule: &Schedule, plan: &Plan) -> Option<(String, String)> {
    let main = finished.events.iter().filter(|it| it.task == 0);
    let files = main.filter_map(|it| Some(it.shown_location()?.file));
    let mut tried: Vec<String> = Vec::new();
    let files = files.chain(manifest::root_file(schedule, plan));
    for file in files {
        if tried.contains(&file) || plan.dependency_of(&file, &[]).is_some() {
            continue;
        }
        let text = std::fs::read_to_string(plan.workspace_root.join(&file)).ok();
        let found = text.and_then(|it| test_source::test_source(&it, &schedule.test.test));
        if let Some(found) = found {
            return Some((file, found));
        }
        tried.push(file);
    }
    None
}

/// The module files that `source` declares, as text. `source` is a part of `file`.
fn modules(file: &str, source: &str, plan: &Plan) -> String {
    let file = plan.workspace_root.join(file);
    let mut text = String::new();
    for candidates in test_source::module_files(source) {
        let paths = candidates.iter().map(|it| file.with_file_name(it));
        let found = paths.zip(&candidates).find_map(|(path, name)| {
            let content = std::fs::read_to_string(path).ok()?;
            Some((name, content))
        });
        if let Some((name, content)) = found {
            let _ = write!(text, "\nIn the module's file `{name}`:\n\n");
            text += &block("rust", &content);
        }
    }
    text
}

/// The files and commands that reproduce the failure.
fn reproduction(around: &Surroundings<'_>, package: &str, source: Option<&str>) -> String {
    let Surroundings { plan, schedule, .. } = around;
    let mut text = "\n## How to reproduce it\n\n".to_owned();
    let manifest = manifest::needed(schedule, plan, package, source.unwrap_or_default());
    if !manifest.is_empty() {
        text += "The `Cargo.toml` of the test has:\n\n";
        text += &block("toml", &manifest);
        text.push('\n');
    }
    let config = std::fs::read_to_string(plan.workspace_root.join(FILE_NAME));
    let config = manifest::without_comments(&config.unwrap_or_default());
    if !config.is_empty() {
        let _ = write!(
            text,
            "The file `{FILE_NAME}` at the root of the workspace has:\n\n"
        );
        text += &block("toml", &config);
        text.push('\n');
    }
    let mut flags = String::new();
    if schedule.memory != "sc" {
        flags = format!(" --memory {}", schedule.memory);
    }
    if !schedule.cargo.is_empty() {
        let _ = write!(flags, " {}", schedule.cargo);
    }
    text += "The first command searches for the failure, and the second one runs the schedule of this report:\n\n";
    let commands = format!(
        "cargo chess test{flags} --exact {}\n{}\n",
        schedule.test.test,
        replay_command(schedule.to_inline())
    );
    text + &block("sh", &commands)
}

fn versions(around: &Surroundings<'_>, package: &str) -> String {
    format!(
        "\n## Versions\n\n- {package}\n- cargo chess {}\n- {}, {}\n",
        env!("CARGO_PKG_VERSION"),
        around.toolchain.version(),
        around.toolchain.host()
    )
}

/// `text` as a code block. The fence is longer than every fence in `text`.
fn block(language: &str, text: &str) -> String {
    let mut fence = "```".to_owned();
    while text.contains(&fence) {
        fence.push('`');
    }
    format!("{fence}{language}\n{}\n{fence}\n", text.trim_end())
}

/// `text` without colours and without the indentation that all of its lines have in common.
fn plain(text: &str) -> String {
    let text = anstream::adapter::strip_str(text).to_string();
    let lines = || text.lines().filter(|line| !line.trim().is_empty());
    let common = lines().map(|line| line.len() - line.trim_start_matches(' ').len());
    let common = common.min().unwrap_or(0);
    let cut = |line: &str| line.get(common..).unwrap_or_default().to_owned() + "\n";
    text.trim_matches('\n').lines().map(cut).collect()
}

/// `text` without the directories of this machine. The directory of a package becomes its name and
/// version, and the directory of the workspace is left out.
fn without_directories(text: &str, plan: &Plan) -> String {
    let mut text = text.to_owned();
    let outside = plan.packages.iter();
    let outside = outside.filter(|it| !it.root.starts_with(&plan.workspace_root));
    for package in outside {
        let shown = format!("{}-{}/", package.name, package.version);
        text = text.replace(&format!("{}/", package.root), &shown);
    }
    text.replace(&format!("{}/", plan.workspace_root), "")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_block_has_a_fence_that_it_does_not_contain() {
        assert_eq!(block("sh", "a\n"), "```sh\na\n```\n");
        assert_eq!(block("", "```\na"), "````\n```\na\n````\n");
    }

    #[test]
    fn common_indentation_and_colours_are_left_out() {
        assert_eq!(plain("\n  \u{1b}[1ma\u{1b}[0m\n\n    b\n"), "a\n\n  b\n");
    }
}
