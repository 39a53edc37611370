//! Messages of the engine inside a test: about tests that it does not support, that die, or that
//! leave its control.

use end_to_end::{Run, Workspace};
use serde_json::Value;

const TESTS: &str = r#"
use std::arch::asm;
use std::panic::panic_any;
use std::thread;

unsafe extern "C" {
    fn pthread_self() -> usize;
    fn pthread_cancel(thread: usize) -> i32;
    fn syscall(number: i64, ...) -> i64;
}

extern "C" fn unwinds() {
    panic!("out of C");
}

#[test]
fn aborts() {
    unwinds();
}

#[test]
fn is_illegal() {
    unsafe { asm!("ud2") }
}

#[test]
fn panics_without_text() {
    panic_any(7);
}

#[test]
fn leaves_a_panic_without_a_join() {
    std::panic::set_hook(Box::new(|_| ()));
    drop(thread::spawn(|| panic!("unheard")));
}

#[test]
fn leaves_control() {
    unsafe {
        assert_ne!(pthread_cancel(pthread_self()), 0);
        asm!("rdtsc", out("eax") _, out("edx") _);
        asm!(LONG);
    }
}

#[test]
fn gets_no_threads() {
    const SYS_SETRLIMIT: i64 = 160;
    const RLIMIT_AS: i32 = 9;
    // The runtime does not see this call, so it does not undo it.
    let limits = [1u64 << 20; 2];
    assert_eq!(unsafe { syscall(SYS_SETRLIMIT, RLIMIT_AS, &raw const limits) }, 0);
    let threads: Vec<_> = (0..20).map(|_| thread::spawn(|| ())).collect();
    threads.into_iter().for_each(|it| it.join().unwrap());
}
"#;

fn workspace() -> Workspace {
    let long = format!("\"{}\"", "nop; ".repeat(4000));
    Workspace::with_library(&TESTS.replace("LONG", &long))
}

fn verdict(run: &Run, test: &str) -> Value {
    let mut verdicts = run.verdicts().into_iter();
    let verdict = verdicts.find(|verdict| verdict["test"] == test);
    verdict.unwrap_or_else(|| panic!("no verdict on {test} in {run:?}"))
}

#[test]
fn deaths_and_calls_that_leave_control_are_reported() {
    let workspace = workspace();
    let args = ["test", "--no-fail-fast", "--message-format", "json"];
    let run = workspace.chess(&args).run();
    run.assert_code(100);
    let message = |test| verdict(&run, test)["message"].to_string();
    let aborts = message("aborts");
    assert!(
        aborts
            .contains("the test was killed by SIGABRT (abort), after a panic: panic in a function"),
        "{aborts}"
    );
    let illegal = message("is_illegal");
    assert!(
        illegal.contains("the test was killed by SIGILL (an illegal instruction)"),
        "{illegal}"
    );
    let no_text = message("panics_without_text");
    assert!(
        no_text.contains("a panic whose payload is no text"),
        "{no_text}"
    );
    let warnings = verdict(&run, "leaves_a_panic_without_a_join")["warnings"].to_string();
    let is_reported = warnings.contains("an unjoined thread panics at src/lib.rs:");
    assert!(is_reported, "a hook of the program's own: {warnings}");
    let no_threads = verdict(&run, "gets_no_threads");
    assert_eq!(no_threads["outcome"], "timeout", "{no_threads}");
    insta::assert_snapshot!(message("gets_no_threads"), @r#""the system refused to create a thread for another task (error 11): the number of threads or the memory may be limited (`ulimit -u`, `ulimit -v`, limits of the container)""#);
    let outside = verdict(&run, "leaves_control")["outside"].to_string();
    for what in [
        "called pthread_cancel, which fails under exploration",
        "ran inline assembly that reads the processor's clock or random numbers",
        "ran inline assembly that is too long to be checked",
    ] {
        assert!(outside.contains(what), "`{what}` is not said in {outside}");
    }
}

#[test]
fn a_request_that_cannot_be_served_is_refused_with_a_remedy() {
    let workspace = workspace();
    workspace.chess(&["list"]).run().assert_code(0);
    let refused = |limit: &str, request: &str, test: &str| {
        let script = format!(
            "{limit}; for binary in target/chess/build/*/*/debug/deps/small-*; do \
             case $binary in *.d) ;; *) CHESS_REQUEST='{request}' $binary --exact {test};; esac; done"
        );
        let run = workspace.shell(&script).run();
        let answer = run.events().pop();
        let answer = answer.unwrap_or_else(|| panic!("no answer in {run:?}"));
        assert_eq!(answer["type"], "error", "{run:?}");
        answer["message"].as_str().expect("a sentence").to_owned()
    };
    insta::assert_snapshot!(refused(":", "news", "aborts"), @"the test binary does not understand the request line `news`: another version of cargo chess may have built the binary; run `cargo chess clean`, and build it again");
    insta::assert_snapshot!(refused(":", "seed=many", "aborts"), @"the test binary does not understand the request line `seed=many`: another version of cargo chess may have built the binary; run `cargo chess clean`, and build it again");
    insta::assert_snapshot!(refused(":", "mode=explore", "leads"), @"the test binary has no test `leads`; run it with --list to print its tests");
    insta::assert_snapshot!(refused(":", "mode=replay\ndecisions=0 x 1", "aborts"), @"the schedule has an invalid decision: expected a decision such as `1`, `1*12` or `?0`, found `x`");
    insta::assert_snapshot!(refused("ulimit -v 100000", "mode=explore", "aborts"), @"the kernel refused address space for the explorer, which needs 256 MiB in addition to the test: the limit of address space (`ulimit -v`) may be too low");
}
