//! The measure of the covered part of a test: observed states, happens-before graphs and their
//! growth, and the orders of conflicting operations.

use std::collections::{BTreeMap, BTreeSet};

use end_to_end::Workspace;
use serde_json::Value;

fn read(workspace: &Workspace, file: &str) -> String {
    std::fs::read_to_string(workspace.root().join(file)).expect("a file")
}

/// Returns the verdicts on the tests of the fixture, by their names.
fn verdicts(workspace: &Workspace, args: &[&str]) -> BTreeMap<String, Value> {
    let all = ["test", "--test", "coverage", "--message-format", "json"];
    let run = workspace.chess(&[&all[..], args].concat()).run();
    run.assert_code(0);
    run.verdicts_by_name()
}

/// The exact number of observed states of each test.
const STATES: [(&str, u64); 6] = [
    ("orders_of_three", 6),
    ("lost_updates", 2),
    ("two_statements", 2),
    // The ten states of the loop, and the sums from 2 to 4.
    ("many_states_of_one_execution", 10 + 3),
    ("assumed", 2),
    // The sums from 2 to 6.
    ("many_schedules", 5),
];

#[test]
fn each_state_is_counted_once_whatever_explores_it() {
    let workspace = Workspace::shared("requests");
    let observes = |verdicts: BTreeMap<String, Value>| -> BTreeMap<String, Value> {
        let covered = verdicts
            .into_iter()
            .map(|(name, it)| (name, it["covered"].clone()));
        covered.filter(|(_, covered)| !covered.is_null()).collect()
    };
    let icb = [
        "--strategy",
        "icb",
        "--preemptions",
        "9",
        "--schedules",
        "100000",
    ];
    let one = observes(verdicts(&workspace, &[&icb[..], &["--jobs", "1"]].concat()));
    let counted = one
        .iter()
        .map(|(name, covered)| (&**name, covered["states"].as_u64()));
    let expected = STATES.iter().map(|&(name, states)| (name, Some(states)));
    assert_eq!(counted.collect::<BTreeMap<_, _>>(), expected.collect());
    for more in [
        &["--jobs", "2"][..],
        &["--isolate", "fork"],
        &["--backend", "threads"],
    ] {
        assert_eq!(
            observes(verdicts(&workspace, &[&icb[..], more].concat())),
            one,
            "{more:?}"
        );
    }
    // A test that runs alone has helper processes.
    let helped = [&icb[..], &["--jobs", "4", "--exact", "many_schedules"]].concat();
    for (name, covered) in observes(verdicts(&workspace, &helped)) {
        assert_eq!(covered, one[&name], "{name}");
    }
    for strategy in ["dpor", "auto"] {
        for (name, covered) in observes(verdicts(&workspace, &["--strategy", strategy])) {
            let of_icb = &one[&name];
            assert_eq!(covered["states"], of_icb["states"], "{strategy}: {name}");
        }
    }
}

#[test]
fn growth_ends_with_the_counts_of_all_schedules() {
    let workspace = Workspace::shared("requests");
    let limits = ["--strategy", "icb", "--preemptions", "9"];
    let verdict =
        &verdicts(&workspace, &[&limits[..], &["orders_of_three"]].concat())["orders_of_three"];
    let covered = &verdict["covered"];
    assert_eq!(covered["graphs"], verdict["distinct"]);
    let growth = covered["growth"].as_array().expect("a list");
    let numbers = |key: &str| -> Vec<u64> {
        growth
            .iter()
            .map(|it| it[key].as_u64().expect("a number"))
            .collect()
    };
    let (schedules, states) = (numbers("schedules"), numbers("states"));
    assert_eq!(schedules[..3], [1, 2, 4]);
    assert_eq!(schedules.last(), verdict["schedules"].as_u64().as_ref());
    assert_eq!((states[0], states.last()), (1, Some(&6)));
    assert!(states.is_sorted() && numbers("graphs").is_sorted());
}

/// `observe` is no operation: the search is the same without it. Strategies such as `auto` are an
/// exception, because they divide their schedules by the number of new states. The work differs,
/// because the hash of the value is computed.
#[test]
fn a_test_that_observes_nothing_has_the_same_search() {
    let workspace = Workspace::copy_of("requests");
    let search = |verdict: &Value| {
        ["schedules", "executions", "distinct", "steps"].map(|key| verdict[key].clone())
    };
    let icb = ["--strategy", "icb"];
    let before: Vec<_> = verdicts(&workspace, &icb).values().map(search).collect();
    let source = read(&workspace, "tests/coverage.rs");
    workspace.write("tests/coverage.rs", &source.replace("observe(&", "drop(&"));
    let after = verdicts(&workspace, &icb);
    assert!(after.values().all(|it| it["covered"].is_null()));
    assert_eq!(before, after.values().map(search).collect::<Vec<_>>());
}

/// Returns the pairs of conflicting operations in `covered`. Each one has the two statements,
/// whether the first one was seen before the second one, and whether it was seen after the second
/// one.
fn pairs(workspace: &Workspace, covered: &Value) -> BTreeSet<(String, String, bool, bool)> {
    let source = read(workspace, "tests/coverage.rs");
    let statement = |operation: &Value| {
        let line = operation["location"]["line"].as_u64().expect("a line");
        let line = source
            .lines()
            .nth(usize::try_from(line).expect("a small file") - 1)
            .expect("a line");
        line.trim().to_owned()
    };
    let pairs = covered["pairs"].as_array().expect("a list").iter();
    pairs
        .map(|pair| {
            (
                statement(&pair["first"]),
                statement(&pair["second"]),
                pair["first_before_second"] == true,
                pair["second_before_first"] == true,
            )
        })
        .collect()
}

#[test]
fn pairs_have_the_orders_that_the_program_allows() {
    let workspace = Workspace::shared("requests");
    let pair = |first: &str, second: &str, forward, backward| {
        (first.to_owned(), second.to_owned(), forward, backward)
    };
    for strategy in ["icb", "dpor", "auto"] {
        let args = ["--coverage", "--strategy", strategy, "--preemptions", "9"];
        let verdicts = verdicts(&workspace, &args);
        let found = |test: &str| pairs(&workspace, &verdicts[test]["covered"]);
        let message = found("message");
        let locks = pair(
            "*log.lock().unwrap() += 1;",
            "*log.lock().unwrap() += 2;",
            true,
            true,
        );
        assert!(message.contains(&locks), "{message:?}");
        assert!(
            message
                .iter()
                .all(|(first, ..)| !first.starts_with("flag.store")),
            "{message:?}"
        );
        let expected = [
            pair(
                "flag.store(1, SeqCst);",
                "if flag.load(SeqCst) == 1 {",
                true,
                true,
            ),
            pair(
                "data.store(1, SeqCst);",
                "data.store(2, SeqCst);",
                true,
                true,
            ),
        ];
        assert_eq!(found("conditional"), expected.into(), "{strategy}");
        let expected = [
            pair(
                "number.store(1, SeqCst);",
                "number.store(3, SeqCst);",
                true,
                true,
            ),
            pair(
                "number.store(2, SeqCst);",
                "number.store(3, SeqCst);",
                true,
                true,
            ),
        ];
        assert_eq!(found("needs_a_preemption"), expected.into(), "{strategy}");
        assert!(
            !verdicts
                .values()
                .any(|it| it["covered"]["all_pairs"] == false)
        );
    }
}

#[test]
fn a_small_bound_leaves_pairs_blind() {
    let workspace = Workspace::copy_of("requests");
    let test = [
        "test",
        "--test",
        "coverage",
        "needs_a_preemption",
        "message",
    ];
    let limits = ["--coverage", "--strategy", "icb", "--schedules", "1"];
    let run = workspace.chess(&[&test[..], &limits].concat()).run();
    run.assert_code(0);
    let is_of_coverage = |line: &&str| {
        let names = ["Covered", "One order", "All tests"];
        names.iter().any(|name| line.trim_start().starts_with(name))
    };
    let lines: Vec<&str> = run.stderr.lines().filter(is_of_coverage).collect();
    insta::assert_snapshot!("blind_pairs", lines.join("\n"));
}

#[test]
fn the_growth_is_plotted() {
    let workspace = Workspace::copy_of("requests");
    let test = [
        "test",
        "--test",
        "coverage",
        "orders_of_three",
        "conditional",
    ];
    let plot = ["--strategy", "icb", "--coverage-plot", "plots/all.svg"];
    let run = workspace.chess(&[&test[..], &plot].concat()).run();
    // The flag implies --coverage.
    run.assert_says(0, &["Covered 6 states and 6 graphs in 6 schedules"]);
    insta::assert_snapshot!("plot", read(&workspace, "plots/all.svg"));
}

/// In a run of several tests, the rounds pause and resume each search.
#[test]
fn a_search_that_was_interrupted_counts_the_same() {
    let workspace = Workspace::copy_of("requests");
    let limits = [
        "--coverage",
        "--strategy",
        "icb",
        "--preemptions",
        "9",
        "--schedules",
        "3000",
    ];
    let all = verdicts(&workspace, &limits);
    for name in ["many_states_of_one_execution", "many_schedules"] {
        let alone = verdicts(&workspace, &[&limits[..], &["--exact", name]].concat());
        assert_eq!(alone[name]["covered"], all[name]["covered"], "{name}");
    }
}

#[test]
fn shards_together_see_the_orders_of_the_whole_search() {
    let workspace = Workspace::copy_of("requests");
    let limits = [
        "--coverage",
        "--strategy",
        "icb",
        "--preemptions",
        "9",
        "many_schedules",
    ];
    let whole = verdicts(&workspace, &limits);
    let shard = |shard: &str, file: &str| {
        let all = [
            "test",
            "--test",
            "coverage",
            "--message-format",
            "json",
            "--divide",
        ];
        let run = workspace
            .chess(&[&all[..], &limits, &["--shard", shard]].concat())
            .run();
        run.assert_code(0);
        workspace.write(file, &run.stdout);
    };
    shard("1/2", "one.jsonl");
    shard("2/2", "two.jsonl");
    let merged = workspace.chess(&["merge", "one.jsonl", "two.jsonl"]).run();
    merged.assert_says(0, &["2 pairs of operations in both orders, 0 in one"]);
    let verdicts = merged.verdicts();
    let covered = |verdict: &Value| verdict["covered"].clone();
    let (merged, whole) = (covered(&verdicts[0]), covered(&whole["many_schedules"]));
    assert_eq!(merged["pairs"], whole["pairs"]);
    assert!(merged["states"].as_u64() <= whole["states"].as_u64());
}
