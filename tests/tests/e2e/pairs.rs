//! Every pair of operations on each type of object, and triples of operations: the reduced searches
//! reach the outcomes of all schedules.
//!
//! `fixtures/pairs` performs the operations. This file generates a test for each combination of
//! them. A test fails with the observations of its tasks, so that its failures are its outcomes.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use std::time::Duration;

use end_to_end::Workspace;
use serde_json::Value;

/// A type of object, the operations of the first task, and those of the other tasks.
struct Table {
    object: &'static str,
    first: &'static str,
    others: &'static str,
}

const fn table(object: &'static str, first: &'static str, others: &'static str) -> Table {
    Table {
        object,
        first,
        others,
    }
}

/// All types of objects.
const TABLES: [Table; 40] = [
    table("Mutexes", "ltkcp", "ltkcp"),
    table("RwLocks", "rRwWdDp", "rRwWdDp"),
    table("Condvars", "oasSw", "oasSw"),
    table("Unbounded", "rtd", "scD"),
    table("Bounded", "rtd", "sTcD"),
    table("Rendezvous", "rtd", "sTcD"),
    table("Atomics", "lswaeum", "lswaeum"),
    table("Onces", "cdw", "cdw"),
    table("OnceLocks", "gsiw", "gsiw"),
    table("LazyLocks", "f", "f"),
    table("Counts", "cdnwugGtmM", "cdnwugGtmM"),
    table("Parking", "pl", "us"),
    table("Barriers", "b", "b"),
    table("PthreadRwLock", "rRwW", "rRwW"),
    table("Semaphore", "wtpg", "wtpg"),
    table("RobustMutex", "ltn", "ltnLT"),
    table("PthreadCond", "ltwoasS", "ltwoasS"),
    table("Paths", "crenNhdDl", "crenNhdDl"),
    table("OpenFiles", "wrscl", "wrscl"),
    table("FileLocks", "ltsS", "ltsS"),
    table("Environment", "srgalc", "srgalc"),
    table("Pipes", "rlpP", "wd"),
    table("Fifos", "iIord", "iOowd"),
    table("Listeners", "arpP", "cw"),
    table("Addresses", "bdcre", "bdcre"),
    table("Counters", "atpP", "atpP"),
    table("LevelEpolls", "wlatim", "wlatim"),
    table("EdgeEpolls", "wlatim", "wlatim"),
    table("Signals", "wtpsu", "wtkf"),
    table("FileNumbers", "cdfgor", "cdfgor"),
    table("PipeNumbers", "cdfgor", "cdfgor"),
    table("SocketNumbers", "cdfgor", "cdfgor"),
    table("CounterNumbers", "cdfgor", "cdfgor"),
    table("Sockets", "rnbg", "wnbg"),
    table("SocketTimes", "tuT", "tuT"),
    table("Peers", "cCpl", "cCpl"),
    table("RangeLocks", "wua", "wua"),
    table("Masks", "sufd", "sufd"),
    table("Limits", "gsS", "gsS"),
    table("Clocks", "isCltpr", "isCltpr"),
];

const USUAL_STRIDE: usize = 97;

/// Whether the combinations of this type of object are tested. The environment variable
/// `CHESS_PAIRS_OF` may name the chosen types, separated by commas.
fn is_chosen(table: &Table) -> bool {
    match std::env::var("CHESS_PAIRS_OF") {
        Ok(names) => names.split(',').any(|name| name == table.object),
        Err(_) => true,
    }
}

/// Returns the stride through the combinations of three operations. If the stride is n, every nth
/// combination is tested. The environment variable `CHESS_PAIRS` sets the stride, and `all` means
/// 1.
fn stride() -> usize {
    match std::env::var("CHESS_PAIRS") {
        Ok(text) if text == "all" => 1,
        Ok(text) => text.parse().expect("CHESS_PAIRS is a number or `all`"),
        Err(_) => USUAL_STRIDE,
    }
}

impl Table {
    /// Returns all combinations of two operations, and every `stride`th combination of three. A
    /// combination has a word for each task, with a letter for each operation.
    fn combinations(&self, stride: usize) -> Vec<Vec<String>> {
        let pairs = self.first.chars().flat_map(|own| {
            self.others
                .chars()
                .map(move |other| vec![own.into(), other.into()])
        });
        let mut threes: Vec<Vec<String>> = Vec::new();
        for own in self.first.chars() {
            for other in self.others.chars() {
                let own = String::from(own);
                let after = self.others.chars();
                threes.extend(after.map(|third| vec![own.clone(), format!("{other}{third}")]));
                let after = self.first.chars();
                let other = String::from(other);
                threes.extend(after.map(|third| vec![format!("{own}{third}"), other.clone()]));
                // The other combinations are symmetric.
                let beside = self
                    .others
                    .chars()
                    .filter(|third| *other <= *third.to_string());
                threes.extend(beside.map(|third| vec![own.clone(), other.clone(), third.into()]));
            }
        }
        pairs.chain(threes.into_iter().step_by(stride)).collect()
    }

    /// Returns a module with a test for each combination, and the number of tests.
    fn tests(&self, stride: usize) -> (String, usize) {
        let object = self.object;
        let combinations = self.combinations(stride);
        let mut tests = format!("mod {} {{\n", object.to_lowercase());
        for tasks in &combinations {
            let name = tasks.join("_");
            let call = format!("pairs::run::<pairs::{object}>(&{tasks:?});");
            write!(tests, "#[test]\nfn run_{name}() {{\n    {call}\n}}\n\n").expect("a string");
        }
        tests.push_str("}\n");
        (tests, combinations.len())
    }
}

/// The outcomes of a test. Each one has the kind of a failure, and the observations of the tasks.
type Outcomes = BTreeSet<String>;

/// Returns the outcome of a failure, without addresses and without the parts that do not identify
/// a deadlock. A search reports only one of the deadlocks whose tasks wait at the same lines. Such
/// deadlocks may differ in the numbers of the tasks, and in further tasks that join the waiting
/// ones.
fn outcome(failure: &Value) -> String {
    let text = format!("{}: {}", failure["kind"], failure["message"]);
    let parts = text.split(|char: char| !char.is_ascii_digit());
    let addresses = parts.filter(|part| part.len() > 8).map(str::to_owned);
    let text = addresses.fold(text.clone(), |text, address| text.replace(&address, "_"));
    let text = (1..4).fold(text, |text, task| {
        text.replace(&format!("task {task}"), "a task")
    });
    match text.split_once("no task can continue: ") {
        Some((kind, waits)) => format!("{kind}{:?}", essential(waits)),
        None => text,
    }
}

/// Returns the waits of a deadlock in order. Leaves out the waits for the end of a task if there
/// are other waits.
fn essential(waits: &str) -> Vec<String> {
    let waits = waits.trim_end_matches('"').split("; ");
    // C code has no lines. The last line of Rust before it depends on the task.
    let in_rust = |wait: &str| wait.split(" in opaque code").next().map(str::to_owned);
    let waits = waits.filter_map(in_rust);
    let waits = waits.map(|wait| wait.replace("main waits", "a task waits"));
    let (for_tasks, mut others): (Vec<_>, Vec<_>) =
        waits.partition(|wait| wait.contains("waits in join") || wait.contains("scope"));
    others.sort();
    if others.is_empty() { for_tasks } else { others }
}

/// Explores each test. Returns the outcomes of the test, and whether the search reports that it is
/// complete.
fn explored(workspace: &Workspace, strategy: &str) -> BTreeMap<String, (Outcomes, bool)> {
    let (most, patience) = if stride() < USUAL_STRIDE {
        (1_000_000, Duration::from_hours(6))
    } else {
        (10_000, Duration::from_mins(10))
    };
    let (strategy, most) = (
        format!("--strategy={strategy}"),
        format!("--schedules={most}"),
    );
    let all = ["--keep-going", "--no-fail-fast", "--spurious=never"];
    // Other tests cover races.
    let enough = ["--races=allow", "--preemptions=30", "--time=600s", &most];
    let common = ["test", "--message-format=json", &strategy];
    let run = workspace.chess(&[&common[..], &all, &enough].concat());
    let run = run.start().finish(patience);
    assert!(matches!(run.code, Some(0 | 100)), "{run:?}");
    let read = |verdict: Value| {
        let mut outcomes = Outcomes::new();
        if verdict["outcome"] == "failed" {
            outcomes.insert(outcome(&verdict));
        }
        let others = verdict["other_failures"].as_array();
        outcomes.extend(others.into_iter().flatten().map(outcome));
        let name = format!("{} {}", verdict["binary"], verdict["test"]).replace('"', "");
        (name, (outcomes, verdict["complete"] == true))
    };
    run.verdicts().into_iter().map(read).collect()
}

/// Checks that the reduced searches reach the outcomes of all schedules, and report completion. If
/// there are too many schedules, the reduced searches must reach at least the outcomes of those
/// that were run. This may be so for a tenth of the combinations, and for none if all combinations
/// are tested.
fn compare(workspace: &Workspace, count: usize) {
    let all = explored(workspace, "delay");
    assert_eq!(all.len(), count);
    let unended = all.iter().filter(|(_, (_, is_all))| !is_all);
    let unended: Vec<_> = unended.map(|(name, _)| name).collect();
    let most = if stride() == 1 { 0 } else { count / 10 };
    assert!(
        unended.len() <= most,
        "{} did not end: {unended:?}",
        unended.len()
    );
    for strategy in ["dpor", "icb", "auto"] {
        let reduced = explored(workspace, strategy);
        let mut wrong = Vec::new();
        for (name, (outcomes, is_all)) in &all {
            let (reached, complete) = &reduced[name];
            // A search distinguishes at most 32 failures.
            assert!(outcomes.len() < 32, "{name}: {outcomes:?}");
            let reaches_more = reached != outcomes && *is_all;
            if !complete || reaches_more || !reached.is_superset(outcomes) {
                wrong.push(format!(
                    "{name}: complete {complete}, {is_all}: {reached:?}, {outcomes:?}"
                ));
            }
        }
        assert!(wrong.is_empty(), "{strategy}:\n{}", wrong.join("\n"));
    }
}

#[test]
fn reduced_searches_reach_each_outcome_of_each_combination() {
    let workspace = Workspace::copy_of("pairs");
    let chosen = TABLES.iter().filter(|table| is_chosen(table));
    let (tests, counts): (Vec<_>, Vec<_>) = chosen.map(|table| table.tests(stride())).unzip();
    let (tests, count) = (tests.concat(), counts.iter().sum());
    let tests = format!("#![allow(non_snake_case)]\n\n{tests}");
    workspace.write("tests/combinations.rs", &tests);
    compare(&workspace, count);
}

/// The tests above compare searches which share their scheduling points. If a call lacked its
/// scheduling point, all of them would miss the same outcome. So these pairs have a known number
/// of outcomes.
#[test]
fn both_orders_of_two_calls_on_state_in_the_kernel_are_found() {
    let pairs = [
        ("FileNumbers", "c", "r"),
        ("FileNumbers", "c", "d"),
        ("PipeNumbers", "c", "f"),
        ("SocketNumbers", "o", "c"),
        ("CounterNumbers", "c", "g"),
        ("Sockets", "n", "g"),
        ("SocketTimes", "t", "T"),
        ("Peers", "c", "p"),
        ("Peers", "C", "l"),
        ("RangeLocks", "w", "a"),
        ("Masks", "s", "f"),
        ("Masks", "s", "d"),
        ("Limits", "s", "g"),
        ("Clocks", "i", "i"),
        ("Clocks", "i", "s"),
        ("Clocks", "C", "i"),
    ];
    let workspace = Workspace::copy_of("pairs");
    let mut tests = String::from("#![allow(non_snake_case)]\n");
    for (object, first, second) in pairs {
        let name = format!("{object}_{first}_{second}");
        let call = format!("pairs::run::<pairs::{object}>(&[\"{first}\", \"{second}\"]);");
        writeln!(tests, "#[test]\nfn {name}() {{\n    {call}\n}}").expect("a string");
    }
    workspace.write("tests/orders.rs", &tests);
    for strategy in ["delay", "dpor", "icb", "auto"] {
        let explored = explored(&workspace, strategy);
        assert_eq!(explored.len(), pairs.len());
        for (name, (outcomes, complete)) in explored {
            assert_eq!((outcomes.len(), complete), (2, true), "{strategy}: {name}");
        }
    }
}

/// One task holds the lock to read. If `own_try` is set, it also tries to write, which fails. Another
/// task tries to write `tries` times.
const ATTEMPTS: &str = r"
#![cfg(test)]
use std::sync::RwLock;
use std::thread;

fn outcome(tries: usize, own_try: bool) -> String {
    let lock = RwLock::new(());
    let attempt = || if lock.try_write().is_ok() { '1' } else { '0' };
    thread::scope(|scope| {
        scope.spawn(|| {
            let _reading = lock.read().unwrap();
            if own_try {
                assert!(lock.try_write().is_err());
            }
        });
        let other = scope.spawn(|| (0..tries).map(|_| attempt()).collect());
        other.join().unwrap()
    })
}
";

#[test]
fn attempts_to_write_beside_a_reader_have_two_four_and_seven_outcomes() {
    let mut library = String::from(ATTEMPTS);
    for (tries, own_try) in [
        (1, true),
        (2, true),
        (3, true),
        (1, false),
        (2, false),
        (3, false),
    ] {
        let call = format!("panic!(\"{{}}\", outcome({tries}, {own_try}));");
        write!(
            library,
            "#[test]\nfn tries_{tries}_{own_try}() {{\n    {call}\n}}\n"
        )
        .expect("a string");
    }
    let workspace = Workspace::with_library(&library);
    for strategy in ["delay", "dpor", "icb", "auto"] {
        let explored = explored(&workspace, strategy);
        for (tries, count) in [(1, 2), (2, 4), (3, 7)] {
            for own_try in [true, false] {
                let name = format!("small tries_{tries}_{own_try}");
                let (outcomes, complete) = &explored[&name];
                assert_eq!(
                    (outcomes.len(), *complete),
                    (count, true),
                    "{strategy}: {name}"
                );
            }
        }
    }
}
