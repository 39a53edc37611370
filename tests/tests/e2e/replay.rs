//! A saved schedule reproduces its failure repeatedly, also after the build was removed.

use std::fs;
use std::path::PathBuf;
use std::thread;

use end_to_end::Workspace;
use serde_json::Value;

/// Returns the verdict on one failing test, after a new search.
fn find(workspace: &Workspace, test: &str, more_args: &[&str]) -> Value {
    let args = ["test", "--exact", test, "--message-format", "json"];
    let run = workspace.chess(&[&args, more_args].concat()).run();
    run.assert_code(100);
    run.verdict()
}

/// Returns the path of the schedule that was saved with a verdict.
fn schedule_of(workspace: &Workspace, verdict: &Value) -> PathBuf {
    let schedule = verdict["schedule"]
        .as_str()
        .expect("a failure has a schedule");
    workspace.root().join(schedule)
}

/// Replays `schedule`, and checks that it fails in the same way as `found`.
fn assert_replays(workspace: &Workspace, schedule: &str, found: &Value) {
    let run = workspace
        .chess(&["replay", "--message-format", "json", schedule])
        .run();
    run.assert_code(100);
    let replayed = run.verdict();
    // A replayed failure counts as a failure, even if it needs an early timeout.
    assert_eq!(replayed["outcome"], "failed", "{run:?}");
    for field in [
        "binary",
        "test",
        "kind",
        "message",
        "location",
        "preemptions",
    ] {
        assert_eq!(replayed[field], found[field], "{field} of {run:?}");
    }
}

fn assert_replays_a_hundred_times(fixture: &str, test: &str) {
    let workspace = Workspace::shared(fixture);
    let found = find(&workspace, test, &[]);
    let schedule = schedule_of(&workspace, &found);
    thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(|| {
                for _ in 0..25 {
                    assert_replays(&workspace, schedule.to_str().unwrap(), &found);
                }
            });
        }
    });
}

#[test]
fn a_panic_replays_a_hundred_times() {
    assert_replays_a_hundred_times("catalog", "bank::buggy");
}

#[test]
fn a_segfault_replays_a_hundred_times() {
    assert_replays_a_hundred_times("hostile", "segfault_in_some_schedules");
}

#[test]
fn a_failure_among_tokios_workers_replays_a_hundred_times() {
    assert_replays_a_hundred_times("executors", "lost_update::buggy");
}

#[test]
fn a_failure_among_rayons_workers_replays_a_hundred_times() {
    assert_replays_a_hundred_times("executors", "buggy");
}

#[test]
fn a_failure_over_tcp_replays_a_hundred_times() {
    assert_replays_a_hundred_times("io", "echo::buggy");
}

/// The system assigns another port in each execution. The message of the panic contains the port.
#[test]
fn a_failure_in_whose_message_a_number_changes_is_the_same() {
    let workspace = Workspace::shared("io");
    let found = find(&workspace, "port_in_message::buggy", &[]);
    let schedule = schedule_of(&workspace, &found);
    let run = workspace
        .chess(&["replay", schedule.to_str().unwrap()])
        .run();
    run.assert_code(100);
    assert!(
        run.stderr
            .contains("Reproduced io::sockets port_in_message::buggy: panic"),
        "{run:?}"
    );
    assert!(!run.stderr.contains("another failure"), "{run:?}");
}

/// Explores the catalog with `backend`. Replays every `step`th failure.
fn assert_failures_replay(backend: &str, step: usize) {
    let workspace = Workspace::shared("catalog");
    let args = [
        "test",
        "--no-fail-fast",
        "--message-format",
        "json",
        "--backend",
        backend,
    ];
    let run = workspace.chess(&args).arg("buggy").run();
    run.assert_code(100);
    let verdicts = run.verdicts();
    assert_eq!(verdicts.len(), 50);
    for found in verdicts.into_iter().step_by(step) {
        let schedule = schedule_of(&workspace, &found);
        assert_replays(&workspace, schedule.to_str().unwrap(), &found);
    }
}

#[test]
fn every_failure_found_on_fibers_replays() {
    assert_failures_replay("fibers", 1);
}

#[test]
fn failures_found_on_threads_replay() {
    assert_failures_replay("threads", 5);
}

#[test]
fn a_schedule_replays_after_everything_built_is_gone() {
    let workspace = Workspace::copy_of("no_std_alloc");
    let found = find(&workspace, "buggy", &[]);
    let elsewhere = workspace.root().join("kept.chess");
    fs::copy(schedule_of(&workspace, &found), &elsewhere).unwrap();

    workspace.chess(&["clean"]).run().assert_code(0);
    assert!(!workspace.root().join("target/chess").exists());
    assert_replays(&workspace, "kept.chess", &found);

    fs::remove_dir_all(workspace.root().join("target")).unwrap();
    assert_replays(&workspace, "kept.chess", &found);
}

#[test]
fn the_schedule_of_a_segfault_replays_after_cleaning() {
    let workspace = Workspace::copy_of("hostile");
    let found = find(
        &workspace,
        "segfault_in_some_schedules",
        &["--test", "crash"],
    );
    fs::copy(
        schedule_of(&workspace, &found),
        workspace.root().join("kept.chess"),
    )
    .unwrap();
    workspace.chess(&["clean"]).run().assert_code(0);
    assert_replays(&workspace, "kept.chess", &found);
}

#[test]
fn the_inline_word_of_a_schedule_replays() {
    let workspace = Workspace::shared("catalog");
    let found = find(&workspace, "abba::buggy", &[]);
    let file = fs::read_to_string(schedule_of(&workspace, &found)).unwrap();
    let word = file
        .split_whitespace()
        .find(|word| word.starts_with("chess1:"));
    assert_replays(&workspace, word.expect("the file says the word"), &found);
}

#[test]
fn the_id_of_a_saved_schedule_replays() {
    let workspace = Workspace::shared("catalog");
    let found = find(&workspace, "twostage::buggy", &[]);
    let path = schedule_of(&workspace, &found);
    let name = path.file_stem().unwrap().to_str().unwrap();
    let (_, id) = name.rsplit_once('-').expect("the name ends with the id");
    assert_replays(&workspace, id, &found);
}

#[test]
fn a_failure_replays_if_a_dependency_has_the_name_of_the_package() {
    let workspace = Workspace::empty();
    let manifest = |version, rest| {
        format!("[package]\nname = \"small\"\nversion = \"{version}\"\nedition = \"2024\"\n{rest}")
    };
    workspace.write("older/Cargo.toml", &manifest("0.0.1", ""));
    workspace.write("older/src/lib.rs", "pub fn one() -> u32 { 1 }\n");
    let rest = "[workspace]\nexclude = [\"older\"]\n\n[dev-dependencies]\n\
                older = { path = \"older\", package = \"small\" }\n";
    workspace.write("Cargo.toml", &manifest("0.1.0", rest));
    workspace.write(
        "Cargo.lock",
        "version = 4\n\n[[package]]\nname = \"small\"\nversion = \"0.0.1\"\n\n\
         [[package]]\nname = \"small\"\nversion = \"0.1.0\"\ndependencies = [\n \
         \"small 0.0.1\",\n]\n",
    );
    workspace.write(
        "src/lib.rs",
        r"
        #[test]
        fn counts() {
            use std::sync::atomic::{AtomicU32, Ordering::SeqCst};
            let count = AtomicU32::new(0);
            std::thread::scope(|scope| {
                for _ in 0..2 {
                    scope.spawn(|| count.store(count.load(SeqCst) + older::one(), SeqCst));
                }
            });
            assert_eq!(count.into_inner(), 2);
        }
        ",
    );
    let found = find(&workspace, "counts", &[]);
    let schedule = schedule_of(&workspace, &found);
    assert_replays(&workspace, schedule.to_str().unwrap(), &found);
}

#[test]
fn a_failure_beyond_the_limit_of_a_test_that_was_only_run_replays() {
    let workspace = Workspace::with_library(
        r"
        #[test]
        fn counts() {
            use std::sync::atomic::{AtomicU32, Ordering::SeqCst};
            let count = AtomicU32::new(0);
            std::thread::scope(|scope| {
                for _ in 0..2 {
                    scope.spawn(|| {
                        for _ in 0..200 {
                            count.store(count.load(SeqCst) + 1, SeqCst);
                        }
                    });
                }
            });
            assert_eq!(count.into_inner(), 400);
        }
        ",
    );
    let once = ["--schedules", "1", "--max-steps", "70"];
    for limit in [&[][..], &["--time", "60s"]] {
        let found = find(&workspace, "counts", &[&once, limit].concat());
        let schedule = schedule_of(&workspace, &found);
        let schedule = schedule.to_str().expect("its name is plain");
        assert_replays(&workspace, schedule, &found);
    }
}

#[test]
fn a_test_that_still_runs_at_the_end_of_the_time_has_not_passed() {
    let workspace = Workspace::with_library(
        r"
        #[test]
        fn waits_for_no_task() {
            use std::sync::atomic::{AtomicU32, Ordering::SeqCst};
            let count = AtomicU32::new(0);
            std::thread::scope(|scope| {
                scope.spawn(|| while count.fetch_add(1, SeqCst) < u32::MAX - 1 {});
                scope.spawn(|| while count.fetch_add(1, SeqCst) < u32::MAX - 1 {});
            });
        }
        ",
    );
    let once = ["--schedules", "1", "--time", "300ms"];
    let json = ["chess", "test", "--message-format", "json"];
    let verdict = workspace
        .chess(&[&json[..], &once].concat())
        .run()
        .verdict();
    assert_eq!(verdict["outcome"], "timeout", "{verdict}");
}
