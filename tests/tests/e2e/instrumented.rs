//! Loads and stores of the whole build: each construct of the fixture `accesses` is a read, a write
//! or neither, on its line.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::ops::RangeInclusive;

use end_to_end::{Workspace, source_of};
use regex::Regex;
use serde_json::Value;

/// The file of the fixture in which the other thread accesses the memory of a construct.
const HARNESS: &str = "src/lib.rs";

/// The modules with constructs in sources outside of `tests`, and these sources.
const OTHER_SOURCES: [(&str, &str); 2] = [
    ("dependency", "shelf/src/lib.rs"),
    ("generated", "out/generated.rs"),
];

/// A construct, as the fixture declares it.
struct Construct {
    module: String,
    /// The lines from the end of the previous construct to the declaration of this one.
    lines: RangeInclusive<usize>,
    /// The lines of the module before its second construct. They contain the macros and types of
    /// the module.
    shared: RangeInclusive<usize>,
}

impl Construct {
    /// Whether an access at this place may belong to the construct.
    fn is_at(&self, file: &str, line: usize) -> bool {
        let module = format!("tests/constructs/{}.rs", self.module);
        let elsewhere = |(name, source): &(&str, &str)| self.module == *name && ends(file, source);
        (ends(file, &module) && (self.lines.contains(&line) || self.shared.contains(&line)))
            || OTHER_SOURCES.iter().any(elsewhere)
    }
}

/// Whether the last components of the path are `end`.
fn ends(path: &str, end: &str) -> bool {
    path.strip_suffix(end)
        .is_some_and(|start| start.is_empty() || start.ends_with('/'))
}

/// Returns the constructs of the fixture by the path of their tests: module, name and expectation.
fn constructs() -> BTreeMap<String, Construct> {
    let declaration =
        Regex::new(r"(?m)^(reads|writes|neither|unseen)!\(\s*(\w+),").expect("it is a pattern");
    let directory = source_of("accesses").join("tests/constructs");
    let mut constructs = BTreeMap::new();
    for entry in fs::read_dir(directory).expect("the fixture is there") {
        let path = entry.expect("it can be read").path();
        let module = path.file_stem().expect("it has a name").to_string_lossy();
        let text = fs::read_to_string(&path).expect("it is text");
        let line_at = |offset: usize| text[..offset].lines().count() + 1;
        let mut first = 1;
        let mut shared = None;
        for found in declaration.captures_iter(&text) {
            let start = found.get(0).expect("all of it matched").start();
            let last = line_at(start);
            let construct = Construct {
                module: module.to_string(),
                lines: first..=last,
                shared: shared.get_or_insert(1..=last).clone(),
            };
            let path = format!("{module}::{}::{}", &found[2], &found[1]);
            let before = constructs.insert(path, construct);
            assert!(before.is_none(), "two constructs are {}", &found[2]);
            first = last + 1;
        }
    }
    constructs
}

/// A difference of a verdict from the expectation of its construct, which is in the fixture.
enum Difference {
    /// The race is found, but the report has the place of the construct's caller.
    AtCaller,
    /// Any other difference, in words.
    Other(String),
}

/// Returns the difference of a verdict from the expectation of its construct, or `None` if the
/// verdict is as expected.
fn difference(construct: &Construct, test: &str, verdict: &Value) -> Option<Difference> {
    let races = test.contains("::writes::") || test.ends_with("::reads::against_a_write");
    let (outcome, kind) = if races {
        ("failed", Some("race"))
    } else {
        ("passed", None)
    };
    let message = verdict["message"].as_str().unwrap_or_default();
    if verdict["outcome"] != outcome || verdict["kind"] != Value::from(kind) {
        let [found, why] = [&verdict["outcome"], &verdict["kind"]];
        return Some(Difference::Other(format!(
            "{test}: {found} {why} {message}"
        )));
    }
    let place = Regex::new(r"([\w./-]+\.rs):(\d+)").expect("it is a pattern");
    let places: Vec<_> = place
        .captures_iter(message)
        .map(|it| (it[1].to_owned(), it[2].parse().expect("a line")))
        .collect();
    let has_construct = places
        .iter()
        .any(|(file, line)| construct.is_at(file, *line));
    let has_other = places.iter().any(|(file, _)| file == HARNESS);
    if !races || has_construct && has_other {
        return None;
    }
    if has_other && places.iter().all(|(file, _)| file == HARNESS) {
        return Some(Difference::AtCaller);
    }
    Some(Difference::Other(format!(
        "{test}: not at line {} of its file: {message}",
        construct.lines.end()
    )))
}

/// Explores the fixture in a profile. Panics unless exactly the `known` constructs have another
/// verdict than expected. In at most `at_caller` reports, the place may be that of the construct's
/// caller.
#[track_caller]
fn assert_seen(profile: &[&str], known: &[&str], at_caller: usize) {
    let workspace = Workspace::shared("accesses");
    let args = ["test", "--no-fail-fast", "--message-format", "json"];
    let run = workspace.chess(&[&args, profile].concat()).run();
    run.assert_code(100);
    let constructs = constructs();
    let mut missing: BTreeSet<_> = constructs
        .keys()
        .flat_map(|path| ["write", "read"].map(|other| format!("{path}::against_a_{other}")))
        .collect();
    let tests = missing.len();
    let mut differences = Vec::new();
    let mut callers = 0;
    let mut unknown: BTreeSet<_> = known.iter().copied().collect();
    for verdict in run.verdicts() {
        let test = verdict["test"].as_str().expect("a test has a path");
        let construct = test
            .rsplit_once("::")
            .and_then(|(path, _)| constructs.get(path));
        match construct {
            Some(construct) if missing.remove(test) => {
                let found = difference(construct, test, &verdict);
                let known = known.iter().find(|it| test.starts_with(**it));
                match (found, known) {
                    (Some(_), Some(known)) => _ = unknown.remove(known),
                    (Some(Difference::AtCaller), _) => callers += 1,
                    (Some(Difference::Other(words)), _) => differences.push(words),
                    (None, _) => {}
                }
            }
            _ => differences.push(format!("{test}: not in the sources")),
        }
    }
    differences.extend(missing.iter().map(|test| format!("{test}: no verdict")));
    differences.extend(unknown.iter().map(|it| format!("{it}: no test differs")));
    assert!(callers <= at_caller, "{callers} races are at the callers");
    assert!(
        differences.is_empty(),
        "{} of {tests} tests differ:\n{}",
        differences.len(),
        differences.join("\n")
    );
}

#[test]
fn each_construct_is_a_read_a_write_or_neither() {
    // LLVM's pass ignores accesses whose size is no power of two. This read is compiled to such an
    // access.
    let volatile = "volatile::read_volatile_of_an_array";
    assert_seen(&[], &[volatile], 0);
}

#[test]
fn each_construct_keeps_its_kind_in_optimised_code() {
    let volatile = "volatile::read_volatile_of_an_array";
    // LLVM reads the three bytes as one number.
    let odd = "numbers::bytes_read";
    // Functions that end in a jump have no frame, and equal functions are merged. Then the report
    // has the place of the caller in the harness. The version of rustc determines these functions.
    let at_caller = 20;
    assert_seen(&["--release"], &[volatile, odd], at_caller);
}

/// Explores the selected tests of `fixtures/profiles`. Panics unless there are `tests` tests, and
/// each one fails with a race at a line of its crate.
#[track_caller]
fn assert_all_race(args: &[&str], flags: &str, tests: usize) {
    let workspace = Workspace::shared("profiles");
    let common = ["test", "--no-fail-fast", "--message-format", "json"];
    let run = workspace
        .chess(&[&common, args].concat())
        .env("RUSTFLAGS", flags)
        .env("LLVM_PROFILE_FILE", "/dev/null")
        .run();
    run.assert_code(100);
    let verdicts = run.verdicts();
    assert_eq!(verdicts.len(), tests, "{args:?} {flags}");
    for verdict in verdicts {
        let message = verdict["message"].as_str().unwrap_or_default();
        let is_right = verdict["kind"] == "race" && message.contains("/src/lib.rs:");
        assert!(is_right, "{args:?} {flags}: {verdict}");
    }
}

#[test]
fn accesses_are_seen_in_each_type_of_crate() {
    assert_all_race(&[], "", 4);
}

#[test]
fn accesses_are_seen_in_each_profile() {
    let profile = |name| ["--cargo-profile", name, "-p", "linked"];
    assert_all_race(&profile("whole"), "", 1);
    assert_all_race(&profile("stripped"), "", 1);
}

#[test]
fn accesses_are_seen_beside_flags_of_the_project() {
    for flags in ["-Cinstrument-coverage", "-Cdebuginfo=0 -Ctarget-cpu=native"] {
        assert_all_race(&["-p", "linked"], flags, 1);
    }
}

/// The runtime is in the dynamic library. So no table of places contains the accesses of this
/// code.
#[test]
fn accesses_in_a_program_with_dynamic_crates_are_outside_control() {
    let workspace = Workspace::shared("profiles");
    let run = workspace
        .chess(&["test", "-p", "user", "--features", "dynamic"])
        .env("RUSTFLAGS", "-Cprefer-dynamic")
        .run();
    run.assert_says(0, &["in 2 tests: ", "not watched for races"]);
}

/// In optimised code, a function would end with a jump to the function that it calls last. Then no
/// frame of the program would be left on the stack of the thread.
#[test]
fn last_calls_of_closures_are_watched_in_optimised_code() {
    let workspace = Workspace::with_library(
        r"
#![cfg(test)]
use std::cell::UnsafeCell;
use std::collections::{BTreeMap, HashMap};
use std::hint::black_box;
use std::thread;

struct Shared<T>(UnsafeCell<T>);

unsafe impl<T> Sync for Shared<T> {}

#[test]
fn hash_map() {
    let shared = Shared(UnsafeCell::new(HashMap::new()));
    fn put(shared: &Shared<HashMap<u32, u32>>) {
        unsafe { (*shared.0.get()).insert(1, 2); }
    }
    thread::scope(|scope| {
        scope.spawn(|| put(&shared));
        unsafe { (*shared.0.get()).len() }
    });
}

#[test]
fn tree() {
    let shared = Shared(UnsafeCell::new(BTreeMap::new()));
    fn put(shared: &Shared<BTreeMap<u32, u32>>) {
        unsafe { (*shared.0.get()).insert(1, 2); }
    }
    thread::scope(|scope| {
        scope.spawn(|| put(&shared));
        unsafe { (*shared.0.get()).len() }
    });
}

#[test]
fn array() {
    let shared = Shared(UnsafeCell::new([0_u64; 3]));
    fn put(shared: &Shared<[u64; 3]>, values: &[u64; 3]) {
        unsafe { *shared.0.get() = *values; }
    }
    thread::scope(|scope| {
        scope.spawn(|| put(&shared, &[1, 2, 3]));
        unsafe { (*shared.0.get())[1] }
    });
}

#[test]
fn slice() {
    let shared = Shared(UnsafeCell::new(vec![0_u8; 300]));
    let values = vec![1_u8; 300];
    fn put(shared: &Shared<Vec<u8>>, values: &[u8]) {
        unsafe { (*shared.0.get()).copy_from_slice(values); }
    }
    thread::scope(|scope| {
        scope.spawn(|| put(&shared, &values));
        unsafe { (&*shared.0.get())[1] }
    });
}

#[test]
fn boxed() {
    let shared = Shared(UnsafeCell::new(HashMap::<u32, u32>::new()));
    let shared: &'static _ = Box::leak(Box::new(shared));
    let put: Box<dyn FnOnce() + Send> = Box::new(|| unsafe {
        (*shared.0.get()).insert(1, 2);
    });
    let other = thread::spawn(put);
    black_box(unsafe { (*shared.0.get()).len() });
    other.join().unwrap();
}
",
    );
    let args = [
        "test",
        "--release",
        "--no-fail-fast",
        "--message-format=json",
    ];
    let run = workspace.chess(&args).run();
    run.assert_code(100);
    for verdict in run.verdicts() {
        assert_eq!(verdict["kind"], "race", "{verdict}");
        let file = verdict["location"]["file"].as_str();
        assert_eq!(file, Some("src/lib.rs"), "{verdict}");
    }
}
