//! The output of a run depends only on the sources and the options.

use end_to_end::{Workspace, without_durations};

fn events(args: &[&str]) -> Vec<serde_json::Value> {
    let workspace = Workspace::shared("catalog");
    let common = ["test", "--no-fail-fast", "--message-format", "json"];
    let run = workspace.chess(&[&common, args].concat()).run();
    run.assert_code(100);
    without_durations(run.events())
}

#[test]
fn two_runs_print_the_same_events() {
    // Enough for several rounds of the longer tests.
    let args = ["--work", "1M"];
    let first = events(&args);
    assert!(first.len() > 60, "{} events", first.len());
    assert_eq!(first, events(&args));
}

#[test]
fn two_random_runs_with_one_seed_print_the_same_events() {
    let args = [
        "--strategy",
        "random",
        "--seed",
        "7",
        "--schedules",
        "300",
        "--test",
        "locks",
    ];
    assert_eq!(events(&args), events(&args));
}

#[test]
fn results_do_not_depend_on_how_many_tests_run_at_once() {
    let verdicts = |jobs| {
        let mut events = events(&["--test", "locks", "--test", "atomics", "--jobs", jobs]);
        events.retain(|event| event["type"] == "test-finished");
        events.sort_by_key(|event| event["test"].as_str().map(str::to_owned));
        events
    };
    assert_eq!(verdicts("1"), verdicts("4"));
}

/// A test that behaves differently in each execution, because it depends on a file.
const TOGGLES: &str = r#"
#[test]
fn toggles() {
    use std::sync::atomic::{AtomicU32, Ordering::SeqCst};
    let count = AtomicU32::new(0);
    std::thread::scope(|scope| {
        scope.spawn(|| count.fetch_add(1, SeqCst));
        if std::fs::remove_file("toggle").is_ok() {
            count.store(2, SeqCst);
        } else {
            std::fs::write("toggle", "").unwrap();
            count.load(SeqCst);
        }
    });
}
"#;

#[test]
fn the_first_difference_of_two_runs_of_one_schedule_is_reported_with_common_causes() {
    let workspace = Workspace::with_library(TOGGLES);
    let run = workspace.chess(&["test"]).run();
    let said = run.message();
    let warning = said.lines().find(|line| line.starts_with("warning"));
    insta::assert_snapshot!(warning.expect("a warning"));
}

/// A test whose first two executions have more steps than all others. It counts them in a file.
/// After the first one the search begins anew, because this execution shows that the tasks use files.
const SHORTER: &str = r#"
#[test]
fn shorter() {
    use std::sync::atomic::{AtomicU32, Ordering::SeqCst};
    let count = AtomicU32::new(0);
    std::thread::scope(|scope| {
        scope.spawn(|| count.fetch_add(1, SeqCst));
        let earlier = std::fs::read("count").map_or(0, |file| file.len());
        std::fs::write("count", vec![0; earlier + 1]).unwrap();
        if earlier < 2 {
            (0..5).for_each(|_| _ = count.fetch_add(1, SeqCst));
        }
    });
}
"#;

#[test]
fn dpor_survives_an_execution_that_is_shorter_when_it_is_repeated() {
    let workspace = Workspace::with_library(SHORTER);
    let run = workspace.chess(&["test", "--strategy", "dpor"]).run();
    run.assert_code(0);
    let said = run.message();
    assert!(
        said.contains("two runs of the first schedule differed"),
        "{said}"
    );
    assert!(said.contains("1 schedule, not deterministic"), "{said}");
}

/// Tests that create files whose names repeat in each execution. Some leave the files outside of the
/// temporary directory.
const LEFT: &str = r#"
#[cfg(test)]
mod tests {
    use std::fs::{self, File};
    use std::path::{Path, PathBuf};
    use std::sync::atomic::{AtomicU32, Ordering::SeqCst};
    use std::time::{SystemTime, UNIX_EPOCH};

    fn path(directory: &Path) -> PathBuf {
        let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap();
        directory.join(format!("file-{}", now.as_nanos()))
    }
    fn create(directory: &Path) -> PathBuf {
        let path = path(directory);
        File::create_new(&path).unwrap();
        count();
        path
    }
    fn count() -> u32 {
        let count = AtomicU32::new(0);
        std::thread::scope(|scope| {
            scope.spawn(|| count.fetch_add(1, SeqCst));
            count.load(SeqCst)
        })
    }
    #[test]
    fn leaves_a_file() {
        create("target".as_ref());
    }
    #[test]
    fn leaves_a_directory() {
        let path = path("target".as_ref());
        fs::create_dir(&path).unwrap();
        fs::create_dir(path.join("inner")).unwrap();
        fs::write(path.join("inner/file"), "text").unwrap();
        count();
    }
    #[test]
    fn leaves_below_the_temporary_directory() {
        create(&std::env::temp_dir());
    }
    #[test]
    fn removes() {
        fs::remove_file(create("target".as_ref())).unwrap();
    }
    #[test]
    fn takes_another_name() {
        let free = (0..).find(|number| File::create_new(format!("target/{number}")).is_ok());
        if free.unwrap() % 2 == 0 {
            count();
        }
        count();
    }
    #[test]
    fn fails_anyway() {
        fs::create_dir_all("target/data").unwrap();
        assert_eq!(count(), 0);
    }
    #[test]
    fn both_create_one_file() {
        std::thread::scope(|scope| {
            for _ in 0..2 {
                scope.spawn(|| _ = File::create_new("target/of-both").unwrap());
            }
        });
    }
    #[test]
    fn looks_before_it_creates() {
        let path = Path::new("target/looked-for");
        let create = || {
            if !path.exists() {
                File::create_new(path).unwrap();
            }
        };
        std::thread::scope(|scope| {
            scope.spawn(create);
            scope.spawn(create);
        });
        fs::remove_file(path).unwrap();
    }
    #[test]
    fn finds_a_file_of_the_user() {
        assert!(File::create_new("target/kept").is_err());
        count();
        panic!("as always");
    }
}
"#;

#[test]
fn files_that_an_earlier_execution_has_left_make_no_test_fail() {
    let workspace = Workspace::with_library(LEFT);
    workspace.write("target/kept", "text");
    let run = workspace.chess(&["test", "--no-fail-fast"]).run();
    run.assert_code(100);
    let said = run.message();
    for complete in [
        "leaves_a_file (2 schedules, complete",
        "leaves_a_directory (2 schedules, complete",
        "leaves_below_the_temporary_directory (2 schedules, complete",
        "removes (2 schedules, complete",
        "Failed small tests::fails_anyway: panic",
        "Failed small tests::both_create_one_file: panic",
        "Failed small tests::looks_before_it_creates: panic",
        "Failed small tests::finds_a_file_of_the_user: panic",
    ] {
        assert!(said.contains(complete), "{complete} in {said}");
    }
    let differing: Vec<&str> = said.lines().filter(|it| it.contains("differed")).collect();
    let [differing] = differing[..] else {
        panic!("{said}");
    };
    for part in ["takes_another_name", "could not create `/", "/target/"] {
        assert!(differing.contains(part), "{part} in {said}");
    }
    let kept = std::fs::read_to_string(workspace.root().join("target/kept"));
    assert_eq!(kept.expect("the file of the user"), "text");
}
