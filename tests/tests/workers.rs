//! Several processes that explore one test: nothing that is told depends on how many there are.

use end_to_end::{Workspace, without_durations};

const TESTS: &str = r#"
#![cfg(test)]
use std::sync::Mutex;
use std::sync::atomic::{AtomicU32, Ordering::SeqCst};
use std::thread;

fn locked(threads: u32, increments: u32) {
    let count = Mutex::new(0);
    thread::scope(|scope| {
        for _ in 0..threads {
            scope.spawn(|| (0..increments).for_each(|_| *count.lock().unwrap() += 1));
        }
    });
    assert_eq!(count.into_inner().unwrap(), threads * increments);
}

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
"#;

#[test]
fn what_is_told_does_not_depend_on_the_number_of_workers() {
    let workspace = Workspace::with_library(TESTS);
    for (test, code) in [("passes", 0), ("fails_late", 100), ("writes_a_file", 0)] {
        let [one, two, three] = ["1", "2", "3"].map(|jobs| {
            let options = ["--strategy", "icb", "--preemptions", "6"];
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
