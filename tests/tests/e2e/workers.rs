//! Several processes that explore one test: the output does not depend on their number.

use std::fs;
use std::time::Duration;

use end_to_end::{Workspace, descendants, without_durations};
use rustix::process::{Pid, Signal, kill_process};

const TESTS: &str = r#"
#[test] fn passes() { locked(3, 5) }

#[test] fn fails_late() {
    let (first, second) = (AtomicU32::new(0), AtomicU32::new(0));
    let is_hit = AtomicU32::new(0);
    thread::scope(|scope| {
        scope.spawn(|| {
            for _ in 0..12 {
                first.fetch_add(1, SeqCst);
                second.fetch_add(1, SeqCst);
            }
        });
        scope.spawn(|| {
            let seen = [5, 7, 9].map(|turn| {
                let is_here = first.load(SeqCst) == turn;
                is_here && second.load(SeqCst) == turn - 1
            });
            is_hit.fetch_add(seen.iter().map(|&hit| u32::from(hit)).sum(), SeqCst);
        });
    });
    assert!(is_hit.into_inner() < 3);
}

#[test] fn writes_a_file() {
    let path = std::env::temp_dir().join("chess-workers-writes-a-file");
    std::fs::write(&path, "1").unwrap();
    locked(3, 4);
    assert_eq!(std::fs::read_to_string(&path).unwrap(), "1");
    std::fs::remove_file(path).unwrap();
}

struct Numbers([std::cell::UnsafeCell<u32>; 3]);
// SAFETY: wrong, since the tasks race.
unsafe impl Sync for Numbers {}

#[test] fn races_at_several_lines() {
    let numbers = Numbers([0, 0, 0].map(std::cell::UnsafeCell::new));
    let numbers = &numbers;
    let turn = AtomicU32::new(0);
    thread::scope(|scope| {
        for task in 0..3 {
            let turn = &turn;
            scope.spawn(move || {
                // SAFETY: wrong, as above.
                unsafe { *numbers.0[0].get() += 1 };
                if turn.fetch_add(1, SeqCst) == 2 - task {
                    // SAFETY: wrong, as above.
                    unsafe { *numbers.0[1].get() += 1 };
                } else if turn.load(SeqCst) == 3 {
                    // SAFETY: wrong, as above.
                    unsafe { *numbers.0[2].get() += 1 };
                }
            });
        }
    });
}
"#;

#[test]
fn the_report_does_not_depend_on_the_number_of_workers() {
    let workspace = Workspace::with_locks(TESTS);
    // The lines of races that are allowed become scheduling points one after the other.
    let tests = [
        ("passes", 0),
        ("fails_late", 100),
        ("writes_a_file", 0),
        ("races_at_several_lines", 0),
    ];
    for (test, code) in tests {
        let [one, two, three] = ["1", "2", "3"].map(|jobs| {
            let options = [
                "--strategy",
                "icb",
                "--preemptions",
                "6",
                "--races",
                "allow",
            ];
            let options = [&options[..], &["--schedules", "10000", "--jobs", jobs]].concat();
            let args = [&["test", test, "--message-format", "json"][..], &options].concat();
            let run = workspace.chess(&args).run();
            run.assert_code(code);
            without_durations(run.events())
        });
        assert_eq!(one, two, "{test}");
        assert_eq!(one, three, "{test}");
    }
}

/// Two tests: the exploration of `long` takes long, and that of `short` does not.
const LONG: &str = r"
#[test] fn long() { locked(4, 5) }

#[test] fn short() {}
";

/// Returns the helper processes among the descendants of a process. Only helpers have a filter of
/// system calls (seccomp).
fn helpers(process: u32) -> Vec<u32> {
    let is_confined = |id: &u32| {
        let status = fs::read_to_string(format!("/proc/{id}/status"));
        status.is_ok_and(|status| status.contains("Seccomp:\t2"))
    };
    let all = descendants(process).into_iter().map(|(id, _)| id);
    all.filter(is_confined).collect()
}

#[test]
fn the_last_test_has_all_cores_and_ends_even_if_its_helper_is_killed() {
    let workspace = Workspace::with_locks(LONG);
    let args = ["test", "--message-format", "json", "--strategy", "icb"];
    // The bound is above two preemptions, because the search within two preemptions ends before it
    // can be observed.
    let long = ["--preemptions", "3", "--schedules", "150000", "--jobs", "2"];
    let args = [&args[..], &long].concat();
    let undisturbed = workspace.chess(&args).run();
    undisturbed.assert_code(0);
    let mut process = workspace.chess(&args).start();
    let root = process.id();
    assert!(
        process.wait_until(|| !helpers(root).is_empty()),
        "no process helps the one that is left"
    );
    for helper in helpers(root) {
        let helper = Pid::from_raw(helper.cast_signed()).expect("a process");
        // The helper may have ended by itself.
        let _gone = kill_process(helper, Signal::KILL);
    }
    let disturbed = process.finish(Duration::from_mins(2));
    assert_eq!(
        without_durations(disturbed.events()),
        without_durations(undisturbed.events())
    );
}
