//! Crashes of components: `crash_and_recover` of the crate chess-spec.

use std::collections::{BTreeMap, BTreeSet};

use end_to_end::Workspace;
use serde_json::Value;

/// Returns the verdicts on the tests of `binary` of the fixture, by their names. The run must exit
/// with `code`.
fn verdicts(
    workspace: &Workspace,
    code: i32,
    binary: &str,
    args: &[&str],
) -> BTreeMap<String, Value> {
    let json = ["--no-fail-fast", "--message-format", "json"];
    let all = [&["test", "--test", binary], &json[..], args].concat();
    let run = workspace.chess(&all).run();
    run.assert_code(code);
    run.verdicts_by_name()
}

#[test]
fn a_forgotten_sync_is_found_and_the_corrected_code_passes_completely() {
    let workspace = Workspace::shared("crashes");
    for (strategy, more) in [
        ("icb", &[][..]),
        ("dpor", &[]),
        ("dpor", &["--backend", "threads"]),
        ("icb", &["--isolate", "fork", "--preemptions", "1"]),
        ("pct,pos,surw,random", &[]),
    ] {
        let is_exhaustive = ["icb", "dpor"].contains(&strategy);
        let limit = if is_exhaustive { "100000" } else { "600" };
        let args = ["--strategy", strategy, "--schedules", limit];
        let args = [&args[..], more].concat();
        for (binary, tests) in [("store", 6), ("replication", 2)] {
            let verdicts = verdicts(&workspace, 100, binary, &args);
            assert_eq!(verdicts.len(), tests);
            for (test, verdict) in verdicts {
                let fails = test.ends_with("_buggy");
                let outcome = ["passed", "failed"][usize::from(fails)];
                assert_eq!(verdict["outcome"], outcome, "{args:?}: {verdict}");
                if fails {
                    // The failure needs a crash, which costs as much as a preemption, and nothing
                    // else.
                    assert_eq!(verdict["preemptions"], 1, "{args:?}: {verdict}");
                } else if is_exhaustive {
                    let bound = if more.contains(&"1") { 1 } else { 2 };
                    let is_done =
                        verdict["complete"] == true || verdict["bound_completed"] == bound;
                    assert!(is_done, "{args:?}: {verdict}");
                }
            }
        }
    }
}

#[test]
fn a_component_crashes_while_it_waits_for_another_thread() {
    let workspace = Workspace::shared("crashes");
    for strategy in ["icb", "dpor", "random"] {
        let args = ["--strategy", strategy, "--schedules", "2000"];
        let args = [&args[..], &["--preemptions", "9"]].concat();
        let verdicts = verdicts(&workspace, 0, "waits", &args);
        assert_eq!(verdicts.len(), 8);
        for (test, verdict) in verdicts {
            // The component has made 0, 1 or 2 steps, and the outer thread has made its step or
            // not. The second step of the component needs the step of the outer thread.
            assert_eq!(verdict["covered"]["states"], 5, "{strategy}: {verdict}");
            // A park may return spuriously any number of times.
            let is_finite = strategy != "random" && test != "in_park";
            assert_eq!(verdict["complete"], is_finite, "{strategy}: {verdict}");
        }
    }
}

#[test]
fn a_crash_replays() {
    let workspace = Workspace::shared("crashes");
    let found = verdicts(&workspace, 100, "replication", &[]);
    let mut failing = found.values().filter(|it| it["outcome"] == "failed");
    let verdict = failing.next().expect("a failure");
    let schedule = verdict["schedule"].as_str().expect("a schedule");
    for _ in 0..10 {
        let run = workspace.chess(&["replay", schedule]).run();
        run.assert_says(100, &["Reproduced"]);
    }
}

/// The programs of the fixture `outcomes`: the name, whether a thread outside of the component
/// reads the first file, and the acts of each thread of the component. `a`, `A` and `x` append to,
/// sync and clear the first file. `b`, `B` and `y` do the same with the second one. `s` sends a
/// message.
const PROGRAMS: [(&str, bool, &[&str]); 11] = [
    ("writes", false, &["aaa"]),
    ("syncs_each", false, &["aAaAaA"]),
    ("two_files", false, &["abab"]),
    ("clears", false, &["aAaxa"]),
    ("sends", false, &["asaAs"]),
    ("one_file_each", false, &["a", "b"]),
    ("syncs_of_two", false, &["aA", "bB"]),
    ("shared_file", false, &["aA", "a"]),
    ("cleared_by_another", false, &["aa", "xA"]),
    ("sends_of_two", false, &["as", "bs"]),
    ("looked_at", true, &["aA"]),
];

/// A file: its bytes, and its bytes before each change after the last sync.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Default)]
struct File {
    bytes: String,
    before: Vec<String>,
}

impl File {
    fn change(&mut self, bytes: String) {
        self.before.push(core::mem::replace(&mut self.bytes, bytes));
    }
}

/// The state of a program.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Default)]
struct State {
    /// For each thread, the number of acts that it has done.
    done: Vec<usize>,
    files: [File; 2],
    messages: String,
    looked: Option<String>,
}

/// The outcome of a program: the contents of both files, the messages, and the bytes that the
/// outer thread read.
type Outcome = ([String; 2], String, Option<String>);

/// Collects the outcomes that can follow `state`.
fn enumerate(
    program: &[&str],
    looks: bool,
    state: &State,
    seen: &mut BTreeSet<State>,
    outcomes: &mut BTreeSet<Outcome>,
) {
    if !seen.insert(state.clone()) {
        return;
    }
    // A crash, which may lose the last changes of each file.
    let [first, second] = &state.files;
    let versions = |file: &File| [&file.before[..], core::slice::from_ref(&file.bytes)].concat();
    for one in versions(first) {
        for other in versions(second) {
            let mut leave = |looked| {
                let files = [one.clone(), other.clone()];
                outcomes.insert((files, state.messages.clone(), looked));
            };
            if looks && state.looked.is_none() {
                leave(Some(one.clone()));
            } else {
                leave(state.looked.clone());
            }
        }
    }
    // An end without a crash has the same outcome as a crash that loses nothing.
    if looks && state.looked.is_none() {
        let looked = Some(state.files[0].bytes.clone());
        let next = State {
            looked,
            ..state.clone()
        };
        enumerate(program, looks, &next, seen, outcomes);
    }
    for (thread, acts) in program.iter().enumerate() {
        let Some(act) = acts[state.done[thread]..].chars().next() else {
            continue;
        };
        let mut next = state.clone();
        next.done[thread] += 1;
        let file = &mut next.files[usize::from("bBy".contains(act))];
        match act {
            'a' | 'b' => file.change(format!("{}{thread}", file.bytes)),
            'A' | 'B' => file.before.clear(),
            'x' | 'y' => file.change(String::new()),
            _ => next.messages += &thread.to_string(),
        }
        enumerate(program, looks, &next, seen, outcomes);
    }
}

fn outcomes(program: &[&str], looks: bool) -> usize {
    let mut outcomes = BTreeSet::new();
    let start = State {
        done: vec![0; program.len()],
        ..State::default()
    };
    enumerate(program, looks, &start, &mut BTreeSet::new(), &mut outcomes);
    outcomes.len()
}

#[test]
fn crashes_leave_exactly_the_states_that_an_enumeration_gives() {
    let workspace = Workspace::shared("crashes");
    for (strategy, limit) in [("icb", "100000"), ("dpor", "100000"), ("random", "4000")] {
        let args = [
            "--strategy",
            strategy,
            "--schedules",
            limit,
            "--preemptions",
            "9",
        ];
        let verdicts = verdicts(&workspace, 0, "outcomes", &args);
        assert_eq!(verdicts.len(), PROGRAMS.len());
        for (name, looks, program) in PROGRAMS {
            let verdict = &verdicts[name];
            let states = verdict["covered"]["states"].as_u64();
            let expected = Some(outcomes(program, looks) as u64);
            assert_eq!(states, expected, "{strategy}: {verdict}");
            if ["icb", "dpor"].contains(&strategy) {
                let is_done = verdict["complete"] == true || verdict["bound_completed"] == 9;
                assert!(is_done, "{strategy}: {verdict}");
            }
        }
    }
}
