//! Joins the shards of a run, and reports shards that do not match.

use std::collections::BTreeMap;

use serde_json::{Value, json};

use super::file::{File, TestEvents};
use super::parts;
use crate::error::{Error, Result};
use crate::events::{Event, RunStarted};
use crate::shard::Part;
use crate::supervise::Tally;

/// A whole run.
pub(super) struct Joined {
    /// The description of the whole run, which all shards share.
    pub(super) part: Part,
    /// The events of the run, in the form of an undivided run.
    pub(super) events: Vec<Event>,
    /// The counts of the run.
    pub(super) tally: Tally,
}

/// Joins the shards. Fails if `files` are not exactly the shards of one run.
pub(super) fn join(mut files: Vec<File>) -> Result<Joined> {
    files.sort_by_key(|file| file.part.index);
    check(&files)?;
    let first = files.first().expect("the command line names one at least");
    let part = first.part.clone();
    let mut events = vec![Event::RunStarted(RunStarted {
        tests: part.tests,
        binaries: part.binaries,
        shard: None,
        ..first.started.clone()
    })];
    let mut tally = Tally::default();
    let (mut ignored, mut tests) = (Vec::new(), Vec::new());
    for file in files {
        tally.counts.interrupted |= file.finished.interrupted;
        // The sum for all machines.
        tally.counts.duration_ms += file.finished.duration_ms;
        ignored.extend(file.ignored);
        tests.extend(file.tests);
    }
    for printed in in_order(ignored)? {
        tally.add_ignored();
        events.extend(printed.events);
    }
    for printed in in_order(tests)? {
        let verdict = printed.verdict();
        if let Some(test) = verdict {
            tally.add(test);
        }
        let ends = part.fail_fast && verdict.is_some_and(|test| test.outcome.fails_run());
        events.extend(printed.events);
        if ends {
            // An undivided run would have ended here, whatever the results of the tests after this
            // one.
            break;
        }
    }
    tally.end(part.tests);
    events.push(Event::RunFinished(tally.counts.clone()));
    Ok(Joined {
        part,
        events,
        tally,
    })
}

/// The tests in the order of an undivided run: by package, binary and path. The parts of a divided
/// test, one from each shard, are joined.
fn in_order(mut tests: Vec<TestEvents>) -> Result<Vec<TestEvents>> {
    tests.sort_by(|a, b| a.id.cmp(&b.id));
    let mut whole = Vec::new();
    let mut tests = tests.into_iter().peekable();
    while let Some(printed) = tests.next() {
        let mut parts = vec![printed];
        while let Some(printed) = tests.next_if(|printed| printed.id == parts[0].id) {
            parts.push(printed);
        }
        let mut verdicts = parts.iter().filter_map(TestEvents::verdict);
        if parts.len() == 1 {
            whole.append(&mut parts);
        } else if verdicts.all(|test| test.part.is_some()) {
            whole.push(parts::join(parts));
        } else {
            return Err(Error::Usage(format!(
                "the test `{}` is in more than one file: these files are not the shards of one run.\n\
                 Pass the output of each shard exactly once.",
                parts[0].id
            )));
        }
    }
    Ok(whole)
}

fn check(files: &[File]) -> Result<()> {
    let Some((first, rest)) = files.split_first() else {
        return Ok(());
    };
    for file in rest {
        if let Some((name, one, other)) = difference(first, file) {
            return Err(Error::Usage(format!(
                "the shards are of different runs: {name} is {one} in {} and {other} in {}.\n\
                 Run all shards with the same sources, arguments and toolchain.",
                first.path, file.path
            )));
        }
    }
    let mut by_shard = BTreeMap::new();
    for file in files {
        let shard = file.part.shard();
        if let Some(other) = by_shard.insert(shard, &file.path) {
            return Err(Error::Usage(format!(
                "shard {shard} is in two files: {other} and {}.\nPass the output of each shard exactly once.",
                file.path
            )));
        }
    }
    let missing: Vec<String> = first
        .part
        .all_shards()
        .filter(|shard| !by_shard.contains_key(shard))
        .map(|shard| shard.index().to_string())
        .collect();
    if let Some((last, before)) = missing.split_last() {
        let outputs = if before.is_empty() {
            format!("the output of shard {last} is")
        } else {
            let before = before.join(", ");
            format!("the outputs of shards {before} and {last} are")
        };
        return Err(Error::Usage(format!(
            "this run has {} shards, and {outputs} missing.\nPass the files of all shards.",
            first.part.count
        )));
    }
    let tests: usize = files.iter().map(|file| file.started.tests).sum();
    let counted_by_others = first.part.divided * (files.len() - 1);
    if tests != first.part.tests + counted_by_others {
        return Err(Error::Usage(format!(
            "the shards have {tests} tests, but the whole run has {}: some of these files are incomplete.\n\
             Run the shards again.",
            first.part.tests
        )));
    }
    Ok(())
}

/// The first property that differs between two files, although it is the same in all shards of a
/// run: its name, and its values in both files.
fn difference(one: &File, other: &File) -> Option<(&'static str, Value, Value)> {
    let mut pairs = common(one).into_iter().zip(common(other));
    pairs.find_map(|((name, one), (_, other))| (one != other).then_some((name, one, other)))
}

/// The properties that all shards of a run have in common. The most informative ones come first.
fn common(file: &File) -> Vec<(&'static str, Value)> {
    let (run, part) = (&file.started, &file.part);
    vec![
        ("the version of cargo-chess", json!(run.version)),
        ("the compiler", json!(part.rustc)),
        ("the number of shards", json!(part.count)),
        ("--seed", json!(run.seed)),
        ("--strategy", json!(run.strategy)),
        ("--preemptions", json!(run.preemptions)),
        ("--schedules", json!(run.schedules)),
        ("--work", json!(run.work)),
        ("--max-steps", json!(run.max_steps)),
        ("the number of tests", json!(part.tests)),
        ("the digest of the sources", json!(part.sources)),
        ("the digest of the tests' names", json!(part.selection)),
        ("the digest of all options", json!(part.options)),
        ("the number of binaries", json!(part.binaries)),
        ("fail-fast", json!(part.fail_fast)),
        ("--require-complete", json!(part.require_complete)),
        ("`--no-tests fail`", json!(part.require_tests)),
    ]
}
