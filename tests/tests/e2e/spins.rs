//! Loops that wait without yielding: the reported loops, their lines, and the consequences.

use end_to_end::{Run, Workspace};
use serde_json::Value;

/// Tests whose names begin with `spins_` have a loop that waits without yielding, in the line with
/// the comment `here`.
const LIBRARY: &str = r"
#![cfg(test)]
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering::SeqCst};
use std::sync::{Mutex, mpsc};
use std::time::Duration;
use std::{hint, thread};

/// Another thread sets the flag.
fn waits(wait: impl FnOnce(&AtomicBool)) {
    let flag = AtomicBool::new(false);
    thread::scope(|scope| {
        scope.spawn(|| flag.store(true, SeqCst));
        wait(&flag);
    });
}

#[test]
fn spins_for_a_flag() {
    waits(|flag| {
        while !flag.load(SeqCst) {} // here
    });
}

#[test]
fn waits_for_a_flag_with_yields() {
    waits(|flag| {
        while !flag.load(SeqCst) {
            thread::yield_now();
        }
    });
}

#[test]
fn waits_for_a_flag_with_hints() {
    waits(|flag| {
        while !flag.load(SeqCst) {
            hint::spin_loop();
        }
    });
}

#[test]
#[allow(unused_unsafe)]
fn waits_for_a_flag_with_pauses() {
    waits(|flag| {
        while !flag.load(SeqCst) {
            unsafe { std::arch::x86_64::_mm_pause() };
        }
    });
}

#[test]
fn waits_for_a_flag_with_sleeps() {
    waits(|flag| {
        while !flag.load(SeqCst) {
            thread::sleep(Duration::from_millis(1));
        }
    });
}

/// A hint now and then is one.
#[test]
fn waits_for_a_flag_in_phases() {
    waits(|flag| {
        loop {
            if (0..5).any(|_| flag.load(SeqCst)) {
                break;
            }
            thread::yield_now();
        }
    });
}

/// It ends by itself: nothing says that it waits.
#[test]
fn looks_at_a_flag_a_few_times() {
    waits(|flag| {
        let _ = (0..20).any(|_| flag.load(SeqCst));
    });
}

#[test]
fn spins_for_two_flags() {
    let other = AtomicBool::new(false);
    waits(|flag| {
        while !flag.load(SeqCst) // here
            && !other.load(SeqCst)
        {}
    });
}

#[test]
fn waits_for_two_flags() {
    let other = AtomicBool::new(false);
    waits(|flag| {
        while !flag.load(SeqCst) && !other.load(SeqCst) {
            hint::spin_loop();
        }
    });
}

#[test]
fn spins_for_a_lock() {
    let lock = Mutex::new(0);
    thread::scope(|scope| {
        scope.spawn(|| *lock.lock().unwrap() += 1);
        loop {
            if let Ok(mut value) = lock.try_lock() { // here
                *value += 1;
                break;
            }
        }
    });
}

#[test]
fn waits_for_a_lock() {
    let lock = Mutex::new(0);
    thread::scope(|scope| {
        scope.spawn(|| *lock.lock().unwrap() += 1);
        loop {
            if let Ok(mut value) = lock.try_lock() {
                *value += 1;
                break;
            }
            thread::yield_now();
        }
    });
}

/// Two threads add one in a section that `take` lets one of them enter.
fn enters(take: impl Fn(&AtomicBool) -> bool + Sync) {
    let (lock, count) = (AtomicBool::new(false), AtomicUsize::new(0));
    thread::scope(|scope| {
        for _ in 0..2 {
            scope.spawn(|| {
                while !take(&lock) {}
                count.store(count.load(SeqCst) + 1, SeqCst);
                lock.store(false, SeqCst);
            });
        }
    });
    assert_eq!(count.load(SeqCst), 2);
}

#[test]
fn spins_for_a_swap() {
    enters(|lock| {
        !lock.swap(true, SeqCst) // here
    });
}

#[test]
fn spins_for_an_exchange() {
    enters(|lock| {
        lock.compare_exchange(false, true, SeqCst, SeqCst).is_ok() // here
    });
}

#[test]
fn waits_for_an_exchange() {
    enters(|lock| {
        let taken = lock.compare_exchange(false, true, SeqCst, SeqCst).is_ok();
        if !taken {
            hint::spin_loop();
        }
        taken
    });
}

/// Each turn fails since another thread went on.
#[test]
fn adds_without_a_lock() {
    let count = AtomicUsize::new(0);
    let add = || loop {
        let old = count.load(SeqCst);
        if count.compare_exchange(old, old + 1, SeqCst, SeqCst).is_ok() {
            break;
        }
    };
    thread::scope(|scope| {
        scope.spawn(add);
        scope.spawn(add);
    });
}

#[test]
fn spins_for_a_message() {
    let (sender, receiver) = mpsc::channel();
    let other = thread::spawn(move || sender.send(1).unwrap());
    while receiver.try_recv().is_err() {} // here
    other.join().unwrap();
}

#[test]
fn spins_for_an_end() {
    let other = thread::spawn(|| {});
    while !other.is_finished() {} // here
    other.join().unwrap();
}

#[test]
fn waits_for_an_end() {
    thread::spawn(|| {}).join().unwrap();
}
";

/// Returns the names of the tests with a spinning loop, each with the line of its loop.
fn lines() -> Vec<(String, usize)> {
    let mut lines = Vec::new();
    let mut test = String::new();
    for (line, number) in LIBRARY.lines().zip(1..) {
        if let Some(name) = line.strip_prefix("fn spins_") {
            test = format!("spins_{}", name.trim_end_matches("() {"));
        }
        if line.ends_with("// here") {
            lines.push((test.clone(), number));
        }
    }
    lines.sort();
    lines
}

/// Returns the names of the tests in the warnings, each with the line in its warning.
fn printed(run: &Run) -> Vec<(String, usize)> {
    let mut printed = Vec::new();
    for verdict in run.verdicts() {
        for warning in verdict["warnings"].as_array().expect("a list") {
            let place = warning
                .as_str()
                .and_then(|it| it.strip_prefix("src/lib.rs:"));
            let (line, _) = place.and_then(|it| it.split_once(':')).expect("a line");
            let name = verdict["test"].as_str().expect("a name").to_owned();
            printed.push((name, line.parse().expect("a number")));
        }
    }
    printed.sort();
    printed
}

const JSON: [&str; 3] = ["test", "--message-format", "json"];

#[test]
fn each_loop_that_waits_without_yielding_is_reported_once_and_no_other() {
    let workspace = Workspace::with_library(LIBRARY);
    let lines = lines();
    assert_eq!(lines.len(), 7);
    for more in [
        &["--jobs", "1"][..],
        &["--jobs", "2"],
        &["--strategy", "dpor"],
        &["--strategy", "delay"],
        &["--backend", "threads"],
        &["--cargo-profile", "release"],
    ] {
        let run = workspace.chess(&[&JSON, more].concat()).run();
        run.assert_code(0);
        assert_eq!(printed(&run), lines, "{more:?}");
        for verdict in run.verdicts() {
            let name = verdict["test"].as_str().unwrap_or_default();
            // Under `delay`, the search of a waiting loop is not complete: there is no largest
            // number of delays.
            let is_finite = verdict["complete"] == true || more.contains(&"delay");
            assert!(is_finite || !name.starts_with("spins_"), "{verdict}");
        }
    }
}

#[test]
fn a_spin_is_printed_with_its_line_and_a_remedy() {
    let workspace = Workspace::with_library(LIBRARY);
    let run = workspace.chess(&JSON).arg("spins_for_a_flag").run();
    insta::assert_snapshot!(run.verdict()["warnings"].to_string());
    let run = workspace.chess(&["test", "spins_for_a_flag"]).run();
    run.assert_code(0);
    let warning = "warning: small spins_for_a_flag: src/lib.rs:";
    assert_eq!(run.stderr.matches(warning).count(), 1, "{}", run.stderr);
}

#[test]
fn a_spin_in_a_dependency_is_printed_with_the_package() {
    let workspace = Workspace::with_library(
        "#[test]
        fn waits() {
            let flag = std::sync::atomic::AtomicBool::new(false);
            std::thread::scope(|scope| {
                scope.spawn(|| flag.store(true, std::sync::atomic::Ordering::SeqCst));
                flags::wait(&flag);
            });
        }",
    );
    workspace.write(
        "Cargo.toml",
        "[package]\nname = \"small\"\nversion = \"0.1.0\"\nedition = \"2024\"\n\
         [dependencies]\nflags = { path = \"flags\" }\n[workspace]\nexclude = [\"flags\"]\n",
    );
    workspace.write(
        "flags/Cargo.toml",
        "[package]\nname = \"flags\"\nversion = \"1.2.3\"\nedition = \"2024\"\n",
    );
    workspace.write(
        "flags/src/lib.rs",
        "use std::sync::atomic::{AtomicBool, Ordering};\n\
         pub fn wait(flag: &AtomicBool) {\n    while !flag.load(Ordering::SeqCst) {}\n}\n",
    );
    let run = workspace.chess(&JSON).run();
    run.assert_code(0);
    insta::assert_snapshot!(run.verdict()["warnings"].to_string());
    workspace.write("Chess.toml", "[crates.flags]\nspins = \"allow\"\n");
    let run = workspace.chess(&JSON).run();
    assert_eq!(run.verdict()["warnings"], Value::Array(Vec::new()));
}

#[test]
fn a_spin_that_is_denied_fails_and_its_schedule_replays() {
    let workspace = Workspace::with_library(LIBRARY);
    let args = [&JSON[..], &["--spins", "deny", "--no-fail-fast"]].concat();
    let run = workspace.chess(&args).run();
    run.assert_code(100);
    let lines = lines();
    for verdict in run.verdicts() {
        let name = verdict["test"].as_str().expect("a name");
        let Some((_, line)) = lines.iter().find(|(test, _)| test == name) else {
            assert_eq!(verdict["outcome"], "passed", "{verdict}");
            continue;
        };
        assert_eq!(verdict["kind"], "spin", "{verdict}");
        assert_eq!(verdict["location"]["line"], *line, "{verdict}");
        assert_eq!(verdict["warnings"], Value::Array(Vec::new()), "{verdict}");
        if name == "spins_for_two_flags" {
            insta::assert_snapshot!("denied", verdict["message"].as_str().unwrap_or_default());
            let schedule = verdict["schedule"].as_str().expect("it was saved");
            let replay = workspace.chess(&["replay", schedule]).run();
            replay.assert_code(100);
            assert!(replay.stderr.contains("Reproduced"), "{}", replay.stderr);
        }
    }
}

#[test]
fn configuration_and_environment_decide_the_outcome_of_a_spin() {
    let workspace = Workspace::with_library(LIBRARY);
    let run = || workspace.chess(&JSON).arg("spins_for_a_flag");
    let silent = |run: &Run| {
        run.assert_code(0);
        assert_eq!(run.verdict()["warnings"], Value::Array(Vec::new()));
    };
    silent(&run().env("CHESS_EXPLORE_SPINS", "allow").run());
    workspace.write("Chess.toml", "[crates.small]\nspins = \"allow\"\n");
    silent(&run().env("CHESS_EXPLORE_SPINS", "deny").run());
    workspace.write("Chess.toml", "[explore]\nspins = \"deny\"\n");
    let denied = run().run();
    denied.assert_code(100);
    assert_eq!(denied.verdict()["kind"], "spin");
}
