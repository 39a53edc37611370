//! The text of the catalogue: a page of the book.

use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::fs;

use super::bugs::{Bugs, Found, Refuted};
use super::clients::{Explained, FalseAlarms, Judgement, Passed, structures, tests_by_crate};
use crate::source_of;

const HEAD: &str = "\
# In the wild

<!-- This page is made from fixtures/bugs and fixtures/clients: `cargo bugs --catalogue` writes it. -->

This page lists the defects that cargo chess found in current releases of published crates, with no
change of a crate, the crates that it explored, and the false alarms that were corrected. `cargo bugs` finds each
defect anew, and `cargo clients` explores the crates again. The [report in Markdown](reports.md#a-report-for-an-issue)
of such a failure can be sent to the authors of a crate.
";

const DEFECTS: &str = "
## Defects

Each test is about ten lines long, and needs no change of the crate. The lines are those of the crate. A kind
with a link has a public report. `fixtures/bugs/found` has the tests. Each defect was read a second time by the
source and the documentation of its crate, with the aim to refute it; the last column has the result.
";

const REFUTED: &str = "
## Refuted

These suspicions did not survive the second reading.

| crate | suspicion | refutation |
|---|---|---|
";

const CRATES: &str = "
## Crates that were explored

The tests in `fixtures/clients` are a few lines long and have two or three threads. Their oracles are conservation
of messages, drops, mutual exclusion, one initialisation, no lost wake-up, no half of a write, no lost update, and
linearizability (the names in `maps` and `queues`). Each crate is explored with `policy = \"preempt\"`, and
each test with at most 2M units of work, which is a fraction of a second to a few seconds.

The columns after the names are the number of tests, of tests that passed, of those of which every schedule with
up to two preemptions was run, and of the schedules of the tests that passed. A failure is judged by the source
and the documentation of the crate. None is a fault of the tool. The search is short: a crate may have a defect
above that its tests here do not show.
";

const ALARMS: &str = "
## False alarms that were corrected

The tests of published crates showed these faults of the tool. The last column is the test that keeps
each of them corrected.

| program | wrong report | cause | test |
|---|---|---|---|
";

const STRUCTURES: &str = "
## Structures that passed

Each row is a constructor with some operations, which several threads call. The results of each execution have
to be those of some order of the calls, one after the other: [linearizability](linearizability.md). The
search is short, with 2M units of work for each structure. The last two columns are the bound up to which every
schedule was run, and the number of all schedules, samples beyond the bound included. The calls and their arguments
are choices of the search, too: the bounds are low because there are many of them. A delay skips the next task.
";

const FAILED: &str = "
## Tests that failed

Each failure was judged by the source and the documentation of its crate.
";

/// Returns the page.
///
/// # Panics
/// If the fixtures have another form.
pub fn page() -> String {
    let Bugs { found, refuted, .. } = Bugs::read();
    let explained = Explained::read();
    let passed = Passed::read();
    let mut page = HEAD.to_owned();
    page += &defects(&found);
    page += &suspicions(&refuted);
    page += &crates(&passed, &explained);
    page += &false_alarms(&FalseAlarms::read());
    page += &structures_that_passed(&passed);
    page += &structures_that_failed(&explained);
    page
}

/// Returns a table of the defects, and the notes on their entries.
fn defects(found: &[Found]) -> String {
    let mut text = DEFECTS.to_owned();
    let _ = write!(
        text,
        "\n{}\n\n| crate | kind | test | at | second reading |\n|---|---|---|---|---|\n",
        numbers(found)
    );
    for defect in found {
        let (name, version) = defect.package();
        let kind = match &defect.report {
            Some(report) => format!("[{}]({report})", defect.kind),
            None => defect.kind.clone(),
        };
        let lines: Vec<_> = defect.at.iter().map(|it| format!("`{it}`")).collect();
        let (name_of_test, lines) = (&defect.test, lines.join(", "));
        let same = defect.original(found).map_or(String::new(), |original| {
            let (name, version) = original.package();
            format!("; the defect of `{}`, {name} {version}", original.test)
        });
        let _ = writeln!(
            text,
            "| {name} {version} | {kind} | `{name_of_test}` | {lines} | {}{same} |",
            defect.reading
        );
    }
    for tests in found.chunk_by(|one, next| one.entry == next.entry) {
        let note = source_of("bugs").join(&tests[0].entry).join("NOTE.md");
        let note = fs::read_to_string(&note);
        let note = note.unwrap_or_else(|error| panic!("{}: {error}", tests[0].entry));
        // The note begins with its heading, which becomes a subheading of this page.
        let _ = write!(text, "\n##{note}");
    }
    text
}

/// Returns sentences with the number of tests, of distinct defects, and of groups of defects.
fn numbers(found: &[Found]) -> String {
    let distinct = || found.iter().filter(|it| it.original(found).is_none());
    let crates: BTreeSet<_> = distinct().map(Found::package).collect();
    let only = |check: &str| {
        let shown = distinct().filter(|it| it.only.as_deref() == Some(check));
        shown.count()
    };
    let [faults, linearizability, weak_memory] = Found::CHECKS.map(only);
    format!(
        "{} tests show {} distinct defects of {} crates. A test that shows the defect of another test names that one in \
         the last column.\nNo public report was found of {} of the defects. Of all, {linearizability} show only by \
         linearizability: no call alone has a wrong result. {weak_memory} show\nonly by weak memory: the orderings are too weak, and no \
         interleaving fails. {faults} show only by faults.",
        found.len(),
        distinct().count(),
        crates.len(),
        distinct().filter(|it| it.report.is_none()).count(),
    )
}

fn suspicions(refuted: &[Refuted]) -> String {
    let rows = refuted.iter().map(|it| {
        let Refuted {
            package,
            claim,
            why,
        } = it;
        format!("| {package} | {claim} | {why} |\n")
    });
    REFUTED.to_owned() + &rows.collect::<String>()
}

/// Returns a table of the crates, with the tests of each crate and their results.
fn crates(passed: &Passed, explained: &Explained) -> String {
    let failed = explained.failure.iter().flat_map(|it| &it.tests);
    let crates = tests_by_crate(passed.0.keys().chain(failed));
    let mut text = CRATES.to_owned();
    let sum: usize = crates.values().map(Vec::len).sum();
    let _ = write!(
        text,
        "\n{} crates were explored with {sum} tests.\n\n\
         | crate | tests | number | passed | up to 2 preemptions | schedules | failures |\n|---|---|---|---|---|---|---|\n",
        crates.len()
    );
    for (package, mut tests) in crates {
        tests.sort();
        let passing: Vec<_> = tests
            .iter()
            .filter_map(|test| passed.0.get(*test))
            .collect();
        let covered = passing.iter().filter(|it| it.covers_two_preemptions());
        let schedules: u64 = passing.iter().map(|it| it.schedules).sum();
        let failures = tests.iter().filter_map(|test| {
            let failure = explained.of(test)?;
            Some(format!("{}: {}", last_name(test), failure.of.words()))
        });
        let failures = failures.collect::<Vec<_>>().join(", ");
        let _ = writeln!(
            text,
            "| {package} | {} | {} | {} | {} | {schedules} | {failures} |",
            names(&tests),
            tests.len(),
            passing.len(),
            covered.count(),
        );
    }
    text
}

/// Returns the tests of a crate, grouped by their binaries: `locks: mutex, rwlock; pools: jobs`.
fn names(tests: &[&String]) -> String {
    let binary = |test: &str| test.split("::").next().unwrap_or_default().to_owned();
    let groups = tests.chunk_by(|one, next| binary(one) == binary(next));
    let groups = groups.map(|tests| {
        let names: Vec<_> = tests.iter().map(|test| last_name(test)).collect();
        format!("{}: {}", binary(tests[0]), names.join(", "))
    });
    groups.collect::<Vec<_>>().join("; ")
}

/// Returns the last part of the name of a test, in words.
fn last_name(test: &str) -> String {
    let (_, name) = test.rsplit_once("::").unwrap_or(("", test));
    name.replace('_', " ").trim().to_owned()
}

fn false_alarms(alarms: &FalseAlarms) -> String {
    let rows = alarms.alarm.iter().map(|it| {
        let (file, test) = &it.test;
        let (program, report, cause) = (&it.program, &it.report, &it.cause);
        format!("| {program} | {report} | {cause} | `{test}` in `{file}` |\n")
    });
    ALARMS.to_owned() + &rows.collect::<String>()
}

fn structures_that_passed(passed: &Passed) -> String {
    let structures = structures();
    let mut text = STRUCTURES.to_owned();
    text += "\n| crate | structure | operations | every schedule | schedules |\n|---|---|---|---|---|\n";
    let rows = passed.0.iter().filter_map(|(test, explored)| {
        let structure = structures.get(test)?;
        let (package, constructor) = (&structure.package, &structure.constructor);
        let operations = structure.operations.join(", ");
        let (coverage, schedules) = (explored.words(), explored.schedules);
        let row =
            format!("| {package} | `{constructor}` | {operations} | {coverage} | {schedules} |\n");
        Some(row)
    });
    text + &rows
        .collect::<BTreeSet<_>>()
        .into_iter()
        .collect::<String>()
}

fn structures_that_failed(explained: &Explained) -> String {
    let structures = structures();
    let mut text = FAILED.to_owned();
    for (judgement, heading) in [
        (Judgement::Crate, "Defects"),
        (Judgement::Documented, "Documented relaxations"),
        (Judgement::Open, "Not judged yet"),
    ] {
        let mut failures = explained
            .failure
            .iter()
            .filter(|it| it.of == judgement)
            .peekable();
        if failures.peek().is_none() {
            continue;
        }
        let _ = write!(text, "\n### {heading}\n\n");
        for failure in failures {
            let names = failure.tests.iter().map(|test| match structures.get(test) {
                Some(structure) => format!("`{}`", structure.constructor),
                None => format!("`{test}`"),
            });
            let names: BTreeSet<_> = names.collect();
            let names = names.into_iter().collect::<Vec<_>>().join(", ");
            let why = failure.why.replace("see ../bugs/", "see fixtures/bugs/");
            let _ = writeln!(text, "- {names} ({}): {why}", failure.kind);
        }
    }
    text
}
