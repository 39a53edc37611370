//! `--memory tso` and `c11`: each execution that the model allows, and no other.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::time::Duration;

use end_to_end::{Run, Workspace, without_durations};
use serde_json::Value;

const JSON: [&str; 3] = ["--no-fail-fast", "--message-format", "json"];

/// Explores a binary of the fixture under a memory model.
fn explore(workspace: &Workspace, model: &str, binary: &str, more: &[&str]) -> Run {
    let args = ["test", "--memory", model, "--test", binary];
    let run = workspace.chess(&[&args[..], &JSON, more].concat()).run();
    assert!([Some(0), Some(100)].contains(&run.code), "{run:?}");
    run
}

fn name(verdict: &Value) -> String {
    verdict["test"].as_str().expect("a test").to_owned()
}

/// The number of schedules of `dpor` for each litmus test, under `sc`, `tso` and `c11`. Each
/// happens-before graph of a sequentially consistent execution has one schedule. Each other graph
/// has one schedule for each order of its events in which a late effect leads to this graph. (The
/// tests of the models in the runtime count graphs.)
const LITMUS: &[(&str, [u64; 3])] = &[
    ("coherence", [3, 3, 3]),
    ("coherence_of_two_readers", [72, 72, 72]),
    ("iriw", [15, 15, 17]),
    ("iriw_acquire_then_sc", [15, 15, 17]),
    ("iriw_fences", [15, 15, 15]),
    ("iriw_sc", [15, 15, 15]),
    ("isa2_fences", [7, 7, 7]),
    ("isa2_message", [7, 7, 7]),
    ("isa2_relaxed", [7, 7, 8]),
    ("load_buffering", [3, 3, 3]),
    ("mp", [3, 3, 3]),
    ("mp_fences", [3, 3, 3]),
    ("mp_own_relaxed_store", [4, 4, 5]),
    ("mp_relaxed", [3, 3, 4]),
    ("mp_release_only", [3, 3, 4]),
    ("mp_through_an_update", [9, 9, 9]),
    ("r_relaxed", [3, 4, 5]),
    ("r_sc", [3, 3, 3]),
    ("rwc", [7, 7, 7]),
    ("s", [3, 3, 3]),
    ("s_observed", [9, 9, 13]),
    ("sb_common_update", [4, 4, 4]),
    ("sb_fences", [3, 3, 3]),
    ("sb_own_update", [3, 3, 5]),
    ("sb_relaxed", [3, 5, 5]),
    ("sb_release_acquire", [3, 5, 5]),
    ("sb_sc", [3, 3, 3]),
    ("two_writes_relaxed", [3, 3, 5]),
    ("two_writes_sc", [3, 3, 3]),
    ("w_rwc", [7, 7, 7]),
    ("wrc", [7, 7, 7]),
    ("wrc_relaxed", [7, 7, 8]),
    ("z6_u", [18, 18, 33]),
];

#[test]
fn litmus_tests_of_real_threads_have_the_executions_that_the_models_allow() {
    let workspace = Workspace::shared("weak_memory");
    for (place, model) in ["sc", "tso", "c11"].into_iter().enumerate() {
        for backend in ["fibers", "threads"] {
            let more = ["--strategy", "dpor", "--backend", backend];
            let run = explore(&workspace, model, "litmus", &more);
            let found: BTreeMap<String, Value> = run
                .verdicts()
                .into_iter()
                .map(|verdict| (name(&verdict), verdict))
                .collect();
            assert_eq!(found.len(), LITMUS.len());
            for (test, schedules) in LITMUS {
                let verdict = &found[*test];
                assert_eq!(verdict["complete"], true, "{model} {verdict}");
                assert_eq!(
                    verdict["schedules"], schedules[place],
                    "{model} {backend} {test}"
                );
            }
        }
    }
}

#[test]
fn the_monitor_of_stale_loads_reports_tests_with_weak_executions_and_no_other() {
    let workspace = Workspace::shared("weak_memory");
    for strategy in ["icb", "dpor"] {
        let more = ["--stale-loads", "warn", "--strategy", strategy];
        let run = explore(&workspace, "sc", "litmus", &more);
        for verdict in run.verdicts() {
            let test = name(&verdict);
            let (_, [interleavings, _, all]) = LITMUS
                .iter()
                .find(|(litmus, _)| *litmus == test)
                .expect("it is in the table");
            let warnings = verdict["warnings"].as_array().expect("a list");
            assert_eq!(warnings.is_empty(), interleavings == all, "{verdict}");
            if strategy == "dpor" {
                assert_eq!(verdict["schedules"], *interleavings, "{verdict}");
            }
        }
    }
    let args = [
        "test",
        "--stale-loads",
        "warn",
        "--test",
        "applied",
        "dekker",
    ];
    let run = workspace.chess(&args).run();
    run.assert_says(
        0,
        &[
            "tests/applied.rs:133: in the language's memory model, `load` could take effect before \
             the store at tests/applied.rs:132, which ran earlier; --memory c11 explores such \
             executions",
            "1 test: every interleaving of the synchronization operations was explored \
             (under sequential consistency, and the language's memory model (C11) allows no other executions; \
             plain memory accesses are not scheduling points)",
        ],
    );
}

/// The monitor of stale loads does not see the atomics of code that is outside control.
#[test]
fn a_program_that_calls_code_outside_control_has_no_guarantee_of_the_monitor() {
    let source = "
#![cfg(test)]
use std::sync::atomic::{AtomicUsize, Ordering::SeqCst};

#[test]
fn flags() {
    let flags = [AtomicUsize::new(0), AtomicUsize::new(0)];
    let set = |own: usize| {
        flags[own].store(1, SeqCst);
        unsafe { std::arch::asm!(\"mfence\") };
        flags[1 - own].load(SeqCst)
    };
    std::thread::scope(|scope| {
        scope.spawn(|| set(0));
        set(1);
    });
}
";
    let claims = |source: &str| {
        let workspace = Workspace::with_library(source);
        let run = workspace.chess(&["test", "--stale-loads", "warn"]).run();
        run.assert_code(0);
        // The accesses of this test are sequentially consistent: none of them has a late effect.
        assert!(!run.stderr.contains("could take effect"), "{run:?}");
        run.stderr.contains("allows no other executions")
    };
    assert!(!claims(source));
    assert!(claims(
        &source.replace("unsafe { std::arch::asm!(\"mfence\") };", "")
    ));
}

/// The algorithms of the fixture that are also wrong under TSO.
const WRONG_ON_X86: [&str; 6] = [
    "chase_lev",
    "dekker",
    "eventcount",
    "hazard_pointer",
    "lost_wakeup",
    "peterson",
];

#[test]
fn algorithms_with_too_weak_orderings_fail_and_their_twins_pass() {
    let workspace = Workspace::shared("weak_memory");
    let mut all = BTreeSet::new();
    for model in ["sc", "tso", "c11"] {
        let run = explore(&workspace, model, "applied", &["--schedules", "1000"]);
        for verdict in run.verdicts() {
            let test = name(&verdict);
            let (algorithm, twin) = test.split_once("::").expect("a twin");
            let is_wrong = twin == "buggy"
                && match model {
                    "sc" => false,
                    "tso" => WRONG_ON_X86.contains(&algorithm),
                    _ => true,
                };
            let outcome = ["passed", "failed"][usize::from(is_wrong)];
            assert_eq!(verdict["outcome"], outcome, "{model} {verdict}");
            if is_wrong {
                assert!(verdict["preemptions"].as_u64() <= Some(2), "{verdict}");
                let loses_wakeup = ["eventcount", "lost_wakeup"].contains(&algorithm);
                let kind = ["panic", "deadlock"][usize::from(loses_wakeup)];
                assert_eq!(verdict["kind"], kind, "{verdict}");
                assert_eq!(verdict["late_effects"], 1, "{verdict}");
                assert_eq!(verdict["minimised"]["weak"], true, "{verdict}");
            } else if algorithm == "eventcount" {
                // The test waits in a loop around `park`, which may return spuriously.
                assert_eq!(verdict["bound_completed"], 2, "{verdict}");
            } else {
                assert_eq!(verdict["complete"], true, "{model} {verdict}");
            }
            all.insert(algorithm.to_owned());
        }
    }
    assert_eq!(all.len(), 14);
}

#[test]
fn other_strategies_find_the_same_failures() {
    let workspace = Workspace::shared("weak_memory");
    for strategy in ["icb", "dpor", "pct,pos,surw,random"] {
        let more = ["--strategy", strategy, "--schedules", "1000", "buggy"];
        let run = explore(&workspace, "c11", "applied", &more);
        for verdict in run.verdicts() {
            // `dpor` gives up if a wait may end spuriously any number of times.
            if name(&verdict) != "eventcount::buggy" || strategy != "dpor" {
                assert_eq!(verdict["outcome"], "failed", "{strategy}: {verdict}");
            }
        }
    }
}

#[test]
fn a_report_says_which_store_was_missed_and_a_guarantee_names_the_model() {
    let workspace = Workspace::copy_of("weak_memory");
    let output = |model: &str, test: &str| {
        let args = ["test", "--memory", model, "--test", "applied", test];
        let run = workspace.chess(&args).run();
        workspace.redact(&run.stderr)
    };
    let text = output("c11", "reader_list::buggy");
    let (_, report) = text
        .split_once("\npanic (weak memory): ")
        .expect("a report");
    let (report, _) = report.split_once("Saved").expect("a schedule");
    insta::assert_snapshot!(report);
    for model in ["sc", "tso", "c11"] {
        let text = output(model, "dekker::fixed");
        let guarantee = text.lines().find(|line| line.contains("Guarantee"));
        insta::assert_snapshot!(model, guarantee.expect("it passed").trim());
    }
}

#[test]
fn explanations_say_that_a_newer_store_makes_the_test_pass() {
    let workspace = Workspace::copy_of("weak_memory");
    explore(&workspace, "c11", "applied", &["hazard_pointer::buggy"]);
    let run = workspace.chess(&["explain", "--last"]).run();
    run.assert_says(
        0,
        &[
            "The load hazard of task 2 at tests/applied.rs:55 took effect before the store of step 6.",
            "The first 9 steps are the same. Then the load of task 2 has no late effect, and the test passes.",
        ],
    );
    let run = workspace.chess(&["explain", "--last", "--html"]).run();
    let (_, path) = run.stderr.split_once("Written ").expect("it says where");
    let page = fs::read_to_string(workspace.root().join(path.trim())).expect("it was written");
    assert!(
        page.contains("took effect before the store of step 6"),
        "{path}"
    );
}

/// Two tests that fail in two ways: with a stale load, or with a preemption and no stale load.
const FAILS_WITHOUT: &str = "
#![cfg(test)]
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use std::thread;

#[test]
fn loses_an_update() {
    let count = AtomicUsize::new(0);
    let increment = || count.store(count.load(Relaxed) + 1, Relaxed);
    thread::scope(|scope| {
        scope.spawn(increment);
        scope.spawn(increment);
    });
    assert_eq!(count.into_inner(), 2);
}

#[test]
fn loses_two_updates() {
    let count = AtomicUsize::new(0);
    let increment = || count.store(count.load(Relaxed) + 1, Relaxed);
    let twice = || (0..2).for_each(|_| increment());
    thread::scope(|scope| {
        scope.spawn(twice);
        scope.spawn(twice);
    });
    assert!(count.into_inner() > 2);
}
";

#[test]
fn a_failure_that_interleavings_have_too_is_shown_without_late_effects() {
    let workspace = Workspace::with_library(FAILS_WITHOUT);
    for strategy in ["icb", "dpor", "random", "auto"] {
        let args = ["test", "--memory", "c11", "--strategy", strategy];
        let run = workspace.chess(&[&args[..], &JSON].concat()).run();
        run.assert_code(100);
        for verdict in run.verdicts() {
            assert_eq!(verdict["late_effects"], 0, "{strategy}: {verdict}");
            assert_eq!(verdict["minimised"]["weak"], false, "{strategy}: {verdict}");
        }
    }
}

/// Returns the schedule of the only failing test of a run.
fn schedule_of(run: &Run) -> String {
    let verdict = run.verdict();
    verdict["schedule"]
        .as_str()
        .expect("it is saved")
        .to_owned()
}

#[test]
fn a_weak_failure_replays_a_hundred_times_and_after_cleaning() {
    let workspace = Workspace::copy_of("weak_memory");
    for model in ["tso", "c11"] {
        let run = explore(&workspace, model, "applied", &["dekker::buggy"]);
        let schedule = schedule_of(&run);
        let replay = || workspace.chess(&["replay", &schedule]).run();
        for _ in 0..50 {
            let run = replay();
            run.assert_code(100);
            assert!(run.stderr.contains("Reproduced"), "{run:?}");
        }
        let kept = workspace.root().join("kept.chess");
        fs::copy(workspace.root().join(&schedule), &kept).expect("it is saved");
        workspace.chess(&["clean"]).run().assert_code(0);
        let run = workspace.chess(&["replay", "kept.chess"]).run();
        run.assert_code(100);
        assert!(run.stderr.contains("Reproduced"), "{run:?}");
    }
}

#[test]
fn the_model_can_be_set_for_each_test() {
    let workspace = Workspace::copy_of("weak_memory");
    let config = "[[test]]\nfilter = \"dekker::buggy\"\nexplore = { memory = \"c11\" }\n";
    workspace.write("Chess.toml", config);
    let args = ["test", "--test", "applied", "ker::", "peterson::buggy"];
    let run = workspace.chess(&[&args[..], &JSON].concat()).run();
    run.assert_code(100);
    let failed: Vec<String> = run
        .verdicts()
        .iter()
        .filter(|verdict| verdict["outcome"] == "failed")
        .map(name)
        .collect();
    assert_eq!(failed, ["dekker::buggy"]);
}

#[test]
fn two_runs_and_more_jobs_give_the_same_events() {
    let workspace = Workspace::shared("weak_memory");
    let events = |jobs: &str| {
        let more = ["--schedules", "500", "--jobs", jobs];
        without_durations(explore(&workspace, "c11", "applied", &more).events())
    };
    let one = events("1");
    assert_eq!(one, events("1"));
    assert_eq!(one, events("2"));
}

/// A test with many executions under C11.
const MANY: &str = "
#![cfg(test)]
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};

#[test]
fn many() {
    let cells = [const { AtomicUsize::new(0) }; 2];
    let acts = |own: usize| {
        for turn in 1..6 {
            cells[own].store(turn, Relaxed);
            cells[1 - own].load(Relaxed);
        }
    };
    std::thread::scope(|scope| {
        scope.spawn(|| acts(0));
        acts(1);
    });
}
";

#[test]
fn helpers_and_interruptions_change_no_result() {
    let workspace = Workspace::with_library(MANY);
    let explore = |more: &[&str]| {
        let bound = [
            "--strategy",
            "icb",
            "--preemptions",
            "9",
            "--schedules",
            "150000",
        ];
        let args = [&["test", "--memory", "c11"][..], &bound, &JSON, more].concat();
        workspace.chess(&args)
    };
    let undisturbed = explore(&["--jobs", "1"]).run();
    undisturbed.assert_code(0);
    let schedules = undisturbed.verdict()["schedules"].as_u64();
    assert!(schedules > Some(100_000), "{undisturbed:?}");
    let mut process = explore(&["--jobs", "2"]).start();
    let mut resume: &[&str] = &["--jobs", "1"];
    // On a very fast machine, the run ends before a state is saved.
    if process.wait_until(|| workspace.has_in_journal("search")) {
        process.kill();
        resume = &["--jobs", "1", "--resume"];
    }
    process.finish(Duration::from_mins(1));
    let events = |run: &Run| without_durations(run.events());
    assert_eq!(events(&explore(resume).run()), events(&undisturbed));
    assert_eq!(
        events(&explore(&["--jobs", "2"]).run()),
        events(&undisturbed)
    );
}

#[test]
fn a_schedule_of_one_model_is_not_replayed_under_another() {
    let workspace = Workspace::copy_of("weak_memory");
    let run = explore(&workspace, "c11", "applied", &["ring::buggy"]);
    let path = workspace.root().join(schedule_of(&run));
    let text = fs::read_to_string(&path).expect("it is saved");
    assert!(text.contains("c11"), "{text}");
    let replay = |text: &str| {
        workspace.write("edited.chess", text);
        workspace.chess(&["replay", "edited.chess"]).run()
    };
    let run = replay(&text);
    assert!(run.stderr.contains("Reproduced"), "{run:?}");
    let other = replay(&text.replace("c11", "sc"));
    assert!(!other.stderr.contains("Reproduced"), "{other:?}");
    assert!(other.code.is_some_and(|code| code != 0), "{other:?}");
    let (_, error) = other.stderr.split_once("error: ").expect("an error");
    insta::assert_snapshot!(workspace.redact(error));
}

/// Two tests in which one thread calls membarrier and the other thread has no fence. In
/// `has_a_fence`, the call is a fence of both threads. In `has_none`, it is no fence.
const FENCE_OF_ALL: &str = "
#![cfg(test)]
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed, Ordering::SeqCst, compiler_fence};
use std::thread;

unsafe extern \"C\" {
    fn syscall(number: i64, command: usize, flags: usize, cpu: usize) -> i64;
}

const MEMBARRIER: i64 = 324;
const REGISTER: usize = 16;
const FENCE: usize = 8;

fn set_and_look(command: usize) {
    assert_eq!(unsafe { syscall(MEMBARRIER, REGISTER, 0, 0) }, 0);
    let (often, seldom) = (AtomicUsize::new(0), AtomicUsize::new(0));
    let sees = thread::scope(|scope| {
        let light = scope.spawn(|| {
            often.store(1, Relaxed);
            compiler_fence(SeqCst);
            seldom.load(Relaxed)
        });
        seldom.store(1, Relaxed);
        unsafe { syscall(MEMBARRIER, command, 0, 0) };
        [often.load(Relaxed), light.join().unwrap()]
    });
    assert_ne!(sees, [0, 0]);
}

#[test]
fn has_a_fence() {
    set_and_look(FENCE);
}

#[test]
fn has_none() {
    set_and_look(REGISTER);
}
";

#[test]
fn membarrier_is_a_fence_of_every_thread() {
    let workspace = Workspace::with_library(FENCE_OF_ALL);
    for (model, strategy) in [("tso", "icb"), ("c11", "icb"), ("c11", "dpor")] {
        let args = ["test", "--memory", model, "--strategy", strategy];
        let run = workspace.chess(&[&args[..], &JSON].concat()).run();
        for verdict in run.verdicts() {
            let is_found = verdict["outcome"] == "failed";
            assert_eq!(is_found, name(&verdict) == "has_none", "{model}: {verdict}");
        }
        run.assert_code(100);
    }
}

/// If a location has more stores than the engine keeps, the oldest ones are forgotten.
#[test]
fn forgotten_stores_give_a_warning() {
    let source = "
#![cfg(test)]
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};

#[test]
fn counts() {
    let count = AtomicUsize::new(0);
    std::thread::scope(|scope| {
        scope.spawn(|| (1..=STORES).for_each(|turn| count.store(turn, Relaxed)));
        count.load(Relaxed);
    });
}
";
    let explore = |stores: &str| {
        let workspace = Workspace::with_library(&source.replace("STORES", stores));
        let args = ["test", "--memory", "c11", "--preemptions", "1"];
        let run = workspace.chess(&[&args[..], &JSON].concat()).run();
        run.assert_code(0);
        run.verdict()
    };
    let few = explore("60");
    assert!(
        few["bound_completed"] == 1 || few["complete"] == true,
        "{few}"
    );
    assert_eq!(few["warnings"].as_array().map(Vec::len), Some(0), "{few}");
    let many = explore("80");
    assert_eq!(many["bound_completed"], 0, "{many}");
    assert_eq!(many["complete"], false, "{many}");
    insta::assert_snapshot!(many["warnings"].to_string());
}

/// A store takes less time than a sleep, so that a load after the sleep must not miss it.
#[test]
fn time_that_passes_makes_stores_visible() {
    let source = "
#![cfg(test)]
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use std::thread;
use std::time::Duration;

#[test]
fn waits() {
    let sent = AtomicUsize::new(0);
    thread::scope(|scope| {
        scope.spawn(|| sent.store(1, Relaxed));
        thread::sleep(Duration::from_secs(1));
        assert_eq!(sent.load(Relaxed), 1);
    });
}
";
    let workspace = Workspace::with_library(source);
    for model in ["tso", "c11"] {
        let args = ["test", "--memory", model, "--timers", "last"];
        let run = workspace.chess(&[&args[..], &JSON].concat()).run();
        run.assert_code(0);
        assert_eq!(run.verdict()["complete"], true, "{run:?}");
    }
}
