//! A run divided into shards has the results of a single run: `--shard` distributes the tests,
//! `merge` joins the results.

use std::collections::BTreeSet;

use end_to_end::{Run, Workspace, without_durations};
use serde_json::Value;

/// Runs all tests with JSON on standard output.
fn run(workspace: &Workspace, more_args: &[&str]) -> Run {
    let args = ["test", "--message-format", "json"];
    workspace.chess(&[&args, more_args].concat()).run()
}

/// Runs each of `count` shards. Returns the names of files with the outputs, and the runs.
fn shards(workspace: &Workspace, count: usize, more_args: &[&str]) -> (Vec<String>, Vec<Run>) {
    let mut files = Vec::new();
    let mut runs = Vec::new();
    for index in 1..=count {
        let shard = format!("{index}/{count}");
        let run = run(workspace, &[more_args, &["--shard", &shard]].concat());
        let file = format!("target/shard-{index}-of-{count}.jsonl");
        workspace.write(&file, &run.stdout);
        files.push(file);
        runs.push(run);
    }
    (files, runs)
}

fn merge(workspace: &Workspace, files: &[String]) -> Run {
    let files: Vec<&str> = files.iter().map(String::as_str).collect();
    workspace.chess(&[&["merge"], &files[..]].concat()).run()
}

fn names(run: &Run) -> BTreeSet<String> {
    let verdicts = run.verdicts();
    let names = verdicts
        .iter()
        .map(|verdict| format!("{} {}", verdict["binary"], verdict["test"]));
    let all: Vec<String> = names.collect();
    let set: BTreeSet<String> = all.iter().cloned().collect();
    assert_eq!(all.len(), set.len(), "a test was reported twice");
    set
}

/// Returns the lines with the results in the summary of a run, without times.
fn summary(run: &Run) -> Vec<String> {
    let message = run.message();
    let lines = message.lines().map(str::trim_start);
    let printed = ["Passed", "Failed", "Skipped", "Guarantee", "Unfinished"];
    let lines = lines.filter(|line| printed.iter().any(|word| line.starts_with(word)));
    let without_time = |line: &str| match line.rsplit_once(", ") {
        Some((line, time)) if time.ends_with("s)") => line.to_owned(),
        _ => line.to_owned(),
    };
    lines.map(without_time).collect()
}

/// Checks that each test is in exactly one of the shards, and that the joined results of the
/// shards equal those of a single run.
fn assert_joined_as_whole(fixture: &str, args: &[&str], count: usize) {
    let workspace = Workspace::shared(fixture);
    let whole = run(&workspace, args);
    let (files, runs) = shards(&workspace, count, args);
    if args.contains(&"--no-fail-fast") {
        let each: Vec<_> = runs.iter().map(names).collect();
        let sizes: Vec<_> = each.iter().map(BTreeSet::len).collect();
        let union: BTreeSet<_> = each.into_iter().flatten().collect();
        assert_eq!(union, names(&whole));
        assert_eq!(sizes.iter().sum::<usize>(), union.len(), "{sizes:?}");
    }
    let joined = merge(&workspace, &files);
    assert_eq!(joined.code, whole.code, "{joined:?}");
    let events = |run: &Run| without_durations(run.events());
    assert_eq!(events(&joined), events(&whole));
    assert_eq!(summary(&joined), summary(&whole));
    // The order of the files does not matter.
    let backwards: Vec<String> = files.into_iter().rev().collect();
    assert_eq!(merge(&workspace, &backwards).stdout, joined.stdout);
}

#[test]
fn joined_shards_give_the_report_of_one_run() {
    let args = ["--no-fail-fast", "--test", "locks", "--test", "atomics"];
    assert_joined_as_whole("catalog", &args, 3);
}

#[test]
fn the_first_failure_of_the_whole_run_ends_it_in_the_joined_events() {
    let args = ["--test", "locks", "--test", "atomics"];
    assert_joined_as_whole("catalog", &args, 2);
}

#[test]
fn tests_that_are_ignored_or_not_explored_are_in_one_shard_each() {
    let args = ["--no-fail-fast", "--workspace"];
    assert_joined_as_whole("harness", &args, 4);
}

#[test]
fn more_shards_than_tests_are_no_error() {
    let workspace = Workspace::shared("no_std_alloc");
    let args = ["fixed", "--strategy", "icb"];
    let (files, runs) = shards(&workspace, 5, &args);
    for run in &runs {
        run.assert_code(0);
        assert_eq!(run.events()[0]["shard"]["count"], 5);
    }
    let joined = merge(&workspace, &files);
    joined.assert_code(0);
    let events = without_durations(joined.events());
    assert_eq!(events, without_durations(run(&workspace, &args).events()));
}

#[test]
fn an_unfinished_bound_counts_for_the_whole_run() {
    let workspace = Workspace::shared("catalog");
    let args = [
        "--require-complete",
        "--schedules",
        "3",
        "--test",
        "locks",
        "fixed",
    ];
    let (files, _) = shards(&workspace, 2, &args);
    let joined = merge(&workspace, &files);
    joined.assert_code(5);
    assert_eq!(joined.code, run(&workspace, &args).code);
}

#[test]
fn a_shard_says_that_it_is_one() {
    let workspace = Workspace::shared("catalog");
    let run = run(&workspace, &["--test", "locks", "fixed", "--shard", "2/3"]);
    run.assert_code(0);
    let started = &run.events()[0];
    assert_eq!(started["shard"]["index"], 2);
    assert!(started["tests"].as_u64() < started["shard"]["tests"].as_u64());
    assert!(run.stderr.contains(", shard 2/3 of "), "{run:?}");
    assert!(run.stderr.contains("(shard 2/3; "), "{run:?}");
}

#[test]
fn a_value_that_is_no_shard_is_a_usage_error() {
    let workspace = Workspace::shared("no_std_alloc");
    let messages: Vec<String> = ["0/3", "4/3", "1/0", "x"]
        .iter()
        .map(|shard| {
            let run = workspace.chess(&["test", "--shard", shard]).run();
            run.assert_code(1);
            run.message().lines().next().unwrap_or_default().to_owned()
        })
        .collect();
    insta::assert_snapshot!(messages.join("\n"));
}

/// Checks that `merge` of `files` fails with exit code 1, and returns the message.
fn refusal(workspace: &Workspace, files: &[&str]) -> String {
    let files: Vec<String> = files.iter().map(|file| (*file).to_owned()).collect();
    let run = merge(workspace, &files);
    run.assert_code(1);
    assert_eq!(run.stdout, "");
    format!("{}\n", run.message())
}

#[test]
fn files_that_are_not_the_shards_of_one_run_are_refused() {
    let workspace =
        Workspace::with_library("#[test]\nfn a() {}\n#[test]\nfn b() {}\n#[test]\nfn c() {}\n");
    let (files, runs) = shards(&workspace, 3, &[]);
    let [one, two, three] = &files[..] else {
        panic!("three shards");
    };
    let write = |name: &str, text: &str| workspace.write(name, text);
    write("whole.jsonl", &run(&workspace, &[]).stdout);
    write(
        "seed.jsonl",
        &run(&workspace, &["--seed", "7", "--shard", "2/3"]).stdout,
    );
    write("empty.jsonl", "");
    write("text.jsonl", "warning: not JSON\n");
    let cut: Vec<&str> = runs[1].stdout.lines().collect();
    write("cut.jsonl", &cut[..cut.len() - 1].join("\n"));
    write("half.jsonl", &runs[1].stdout[..runs[1].stdout.len() / 2]);
    let mut text = String::new();
    for others in [
        &["seed.jsonl", three][..],
        &[two],
        &[],
        &[two, three, two],
        &["whole.jsonl", three],
        &["empty.jsonl", three],
        &["text.jsonl", three],
        &["cut.jsonl", three],
        &["none.jsonl", three],
    ] {
        text += &refusal(&workspace, &[&[one.as_str()], others].concat());
    }
    insta::assert_snapshot!(text);
    let half = refusal(&workspace, &[one, "half.jsonl", three]);
    assert!(half.contains("half.jsonl:"), "{half}");
}

#[test]
fn sources_that_differ_are_different_runs() {
    let workspace = Workspace::with_library("#[test]\nfn a() {}\n#[test]\nfn b() {}\n");
    let one = run(&workspace, &["--shard", "1/2"]);
    workspace.write("one.jsonl", &one.stdout);
    workspace.write("src/lib.rs", "#[test]\nfn a() {}\n#[test]\nfn b() { }\n");
    let two = run(&workspace, &["--shard", "2/2"]);
    workspace.write("two.jsonl", &two.stdout);
    let refusal = refusal(&workspace, &["one.jsonl", "two.jsonl"]);
    assert!(refusal.contains("the digest of the sources"), "{refusal}");
    let options = |event: &Value| event["shard"]["options"].clone();
    assert_eq!(options(&one.events()[0]), options(&two.events()[0]));
}

/// Tests with enough schedules for several machines. One test has too few.
const LARGE: &str = r"
#[test] fn passes() { locked(4, 4) }

#[test] fn is_small() { locked(2, 5) }

/// Fails if another task looks twice, each time between the same two of many stores.
#[test] fn fails() {
    let (first, second) = (AtomicU32::new(0), AtomicU32::new(0));
    let hits = AtomicU32::new(0);
    thread::scope(|scope| {
        scope.spawn(|| {
            for _ in 0..12 {
                first.fetch_add(1, SeqCst);
                second.fetch_add(1, SeqCst);
            }
        });
        scope.spawn(|| {
            for turn in [5, 7, 9] {
                let is_here = first.load(SeqCst) == turn && second.load(SeqCst) == turn - 1;
                hits.fetch_add(is_here.into(), SeqCst);
            }
        });
    });
    assert!(hits.into_inner() < 3);
}
";

/// Returns the parts of a verdict that do not depend on the number of shards.
fn without_work(run: &Run) -> Vec<Value> {
    let mut events = without_durations(run.events());
    // For a divided test, only its end is reported.
    events.retain(|event| event["type"] != "progress");
    for event in &mut events {
        // Shards repeat some work, and the number of graphs that they have in common is unknown. So
        // these numbers of joined shards differ from those of a single run.
        for work in ["executions", "work", "steps", "distinct", "pruned"] {
            if event["type"] == "test-finished" {
                event[work] = Value::Null;
            }
        }
    }
    events
}

#[test]
fn the_space_of_a_test_is_divided_where_there_are_more_shards_than_tests() {
    let workspace = Workspace::with_locks(LARGE);
    for count in [2, 4] {
        let args = ["passes", "--strategy", "icb"];
        let whole = run(&workspace, &args);
        let (files, runs) = shards(&workspace, count, &args);
        let schedules = |run: &Run| run.verdict()["schedules"].as_u64().expect("a number");
        for run in &runs {
            run.assert_code(0);
            assert!(
                schedules(run) < schedules(&whole) * 3 / 4,
                "a part is much less than all: {run:?}"
            );
            let verdict = run.verdict();
            assert_eq!(verdict["complete"], false);
            let of_all = verdict["bound_completed"].as_u64();
            let of_part = verdict["part"]["bound_completed"].as_u64();
            assert!(
                of_all < of_part,
                "a part tells nothing of the others: {run:?}"
            );
            assert!(run.stderr.contains(" of the space"), "{run:?}");
            assert!(run.stderr.contains("`cargo chess merge` prints"), "{run:?}");
        }
        let joined = merge(&workspace, &files);
        assert_eq!(without_work(&joined), without_work(&whole));
        assert_eq!(summary(&joined), summary(&whole));
        // If one part is missing, `merge` fails, because there is no guarantee.
        merge(&workspace, &files[1..]).assert_code(1);
    }
}

#[test]
fn a_part_that_is_not_done_leaves_the_whole_unfinished() {
    let workspace = Workspace::with_locks(LARGE);
    let args = ["passes", "--strategy", "icb", "--require-complete"];
    let (mut files, runs) = shards(&workspace, 2, &args);
    for run in &runs {
        run.assert_code(0);
    }
    merge(&workspace, &files).assert_code(0);
    let text = &runs[1].stdout;
    let cut = text.replace(
        "\"bound_completed\":2,\"complete\":false,\"timers_last\":null}",
        "\"bound_completed\":1,\"complete\":false,\"timers_last\":null}",
    );
    assert_ne!(*text, cut);
    workspace.write("target/cut.jsonl", &cut);
    "target/cut.jsonl".clone_into(&mut files[1]);
    let joined = merge(&workspace, &files);
    joined.assert_code(5);
    assert_eq!(joined.verdict()["bound_completed"], 1);
}

#[test]
fn a_failure_is_found_by_the_part_that_has_it() {
    let workspace = Workspace::with_locks(LARGE);
    let args = ["fails", "--strategy", "icb", "--preemptions", "6"];
    let whole = run(&workspace, &args);
    whole.assert_code(100);
    let (files, runs) = shards(&workspace, 3, &args);
    let failing = runs.iter().filter(|run| run.code == Some(100)).count();
    assert!((1..3).contains(&failing), "{failing} parts found it");
    let joined = merge(&workspace, &files);
    joined.assert_code(100);
    let printed = |run: &Run| {
        let verdict = run.verdict();
        ["kind", "message", "location", "preemptions", "seed"].map(|key| verdict[key].clone())
    };
    assert_eq!(printed(&joined), printed(&whole));
    let schedule = joined.verdict()["schedule"].clone();
    let schedule = schedule.as_str().expect("a saved schedule");
    workspace
        .chess(&["replay", schedule])
        .run()
        .assert_code(100);
}

#[test]
fn the_parts_of_a_search_that_samples_differ() {
    let workspace = Workspace::with_locks(LARGE);
    let args = ["is_small", "--strategy", "random", "--schedules", "200"];
    let (files, runs) = shards(&workspace, 2, &args);
    let seen = |run: &Run| run.verdict()["distinct"].clone();
    let [one, two] = &runs[..] else {
        panic!("two shards");
    };
    assert_ne!(seen(one), seen(two), "each has a seed of its own");
    let joined = merge(&workspace, &files);
    assert_eq!(joined.verdict()["schedules"], 400);
}

#[test]
fn a_test_is_divided_among_many_others_if_that_is_asked_for() {
    let workspace = Workspace::with_locks(LARGE);
    let table = "[[test]]\nfilter = \"passes\"\nexplore = { divide = true }\n";
    workspace.write("Chess.toml", table);
    let args = ["--strategy", "icb", "--no-fail-fast"];
    let whole = run(&workspace, &args);
    let (files, runs) = shards(&workspace, 2, &args);
    let has_part = |verdict: &&Value| !verdict["part"].is_null();
    for run in &runs {
        let verdicts = run.verdicts();
        let divided: Vec<_> = verdicts.iter().filter(has_part).collect();
        assert_eq!(divided.len(), 1, "{run:?}");
        assert_eq!(divided[0]["test"], "passes");
        assert!(
            verdicts.len() < 3,
            "the others are in one shard each: {run:?}"
        );
    }
    let joined = merge(&workspace, &files);
    assert_eq!(joined.code, whole.code);
    assert_eq!(without_work(&joined), without_work(&whole));
}
