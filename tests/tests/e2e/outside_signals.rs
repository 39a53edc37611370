//! Signals from outside the process: a handler runs on a task, and never within the engine.

use end_to_end::Workspace;

const TESTS: &str = r#"
#![cfg(test)]
use std::ffi::{c_int, c_void};
use std::process::{Child, Command};
use std::sync::atomic::{AtomicI32, AtomicU32, Ordering::SeqCst};
use std::thread;
use std::time::{Duration, Instant};

const SIGUSR1: c_int = 10;
const SIGCHLD: c_int = 17;

unsafe extern "C" {
    fn signal(signal: c_int, handler: usize) -> usize;
    fn pause() -> c_int;
    fn pthread_sigmask(how: c_int, new: *const u64, old: *mut u64) -> c_int;
    fn raise(signal: c_int) -> c_int;
    fn pipe(ends: *mut c_int) -> c_int;
    fn read(descriptor: c_int, bytes: *mut c_void, length: usize) -> isize;
    fn write(descriptor: c_int, bytes: *const c_void, length: usize) -> isize;
}

static ENDED: AtomicU32 = AtomicU32::new(0);
static OTHERS: AtomicU32 = AtomicU32::new(0);
static PIPE: AtomicI32 = AtomicI32::new(0);

extern "C" fn count(_: c_int) {
    ENDED.fetch_add(1, SeqCst);
}

extern "C" fn count_others(_: c_int) {
    OTHERS.fetch_add(1, SeqCst);
}

extern "C" fn write_to_pipe(_: c_int) {
    count(0);
    assert_eq!(unsafe { write(PIPE.load(SeqCst), b"x".as_ptr().cast(), 1) }, 1);
}

fn install(number: c_int, handler: extern "C" fn(c_int)) -> usize {
    unsafe { signal(number, handler as *const () as usize) }
}

fn start(script: &str) -> Child {
    Command::new("sh").args(["-c", script]).spawn().unwrap()
}

#[test]
fn self_pipe() {
    let mut ends = [0; 2];
    assert_eq!(unsafe { pipe(ends.as_mut_ptr()) }, 0);
    PIPE.store(ends[1], SeqCst);
    install(SIGCHLD, write_to_pipe);
    thread::scope(|scope| {
        let mut child = start("exit 3");
        let waiting = scope.spawn(move || {
            let mut byte = 0u8;
            assert_eq!(unsafe { read(ends[0], (&raw mut byte).cast(), 1) }, 1);
            child.try_wait().unwrap().expect("it has ended").code()
        });
        assert_eq!(waiting.join().unwrap(), Some(3));
    });
}

#[test]
fn pauses() {
    install(SIGCHLD, count);
    let mut child = start("exit 0");
    while ENDED.load(SeqCst) == 0 {
        unsafe { pause() };
    }
    assert!(child.try_wait().unwrap().is_some());
}

/// Polls until a child has ended.
fn poll(pause: fn()) {
    install(SIGCHLD, count);
    let mut child = start("sleep 0.01");
    while ENDED.load(SeqCst) == 0 {
        pause();
    }
    assert!(child.try_wait().unwrap().is_some());
}

#[test]
fn sleeps() {
    poll(|| thread::sleep(Duration::from_millis(1)));
}

#[test]
fn yields() {
    poll(thread::yield_now);
}

/// The handler runs before a task sees the end of the child.
#[test]
fn waits_for_the_child() {
    let mut first = start("exit 0");
    install(SIGCHLD, count);
    assert_eq!(install(SIGCHLD, count), count as *const () as usize);
    let mut second = start("sleep 0.01");
    thread::scope(|scope| {
        for child in [&mut first, &mut second] {
            scope.spawn(move || {
                child.wait().unwrap();
            });
        }
    });
    assert!((1..=2).contains(&ENDED.load(SeqCst)));
}

/// A child sends a signal, and continues.
#[test]
fn other_signals() {
    install(SIGUSR1, count_others);
    let mut child = start("kill -USR1 $PPID; sleep 0.01");
    child.wait().unwrap();
    assert_eq!(OTHERS.load(SeqCst), 1);
}

/// A signal that the process has sent itself is handled as soon as it is not blocked any more.
#[test]
fn unblocks() {
    install(SIGUSR1, count_others);
    start("exit 0").wait().unwrap();
    let set = [1u64 << (SIGUSR1 - 1); 16];
    unsafe {
        pthread_sigmask(0, set.as_ptr(), std::ptr::null_mut());
        raise(SIGUSR1);
        assert_eq!(OTHERS.load(SeqCst), 0);
        pthread_sigmask(1, set.as_ptr(), std::ptr::null_mut());
    }
    assert_eq!(OTHERS.load(SeqCst), 1);
}

/// Tasks that wait for each other are still a deadlock.
#[test]
fn deadlock() {
    install(SIGCHLD, count);
    start("exit 0").wait().unwrap();
    let (sender, receiver) = std::sync::mpsc::channel::<()>();
    _ = receiver.recv();
    drop(sender);
}

/// As above, beside a child that has ended and for which no task waits.
#[test]
fn deadlock_beside_a_child() {
    let mut ends = [0; 2];
    assert_eq!(unsafe { pipe(ends.as_mut_ptr()) }, 0);
    let child = start("exit 0");
    thread::sleep(Duration::from_millis(1));
    let mut byte = 0u8;
    unsafe { read(ends[0], (&raw mut byte).cast(), 1) };
    drop(child);
}

/// The start of a process takes virtual time.
#[test]
fn processes_for_a_while() {
    let start = Instant::now();
    let mut children = 0;
    thread::scope(|scope| _ = scope.spawn(|| ()));
    while start.elapsed() < Duration::from_millis(20) {
        Command::new("true").status().unwrap();
        children += 1;
    }
    assert!((1..30).contains(&children), "{children}");
}
"#;

/// A handler that stores after its write to a pipe. A task reads the stores after the write.
const OUTCOMES: &str = r#"
extern "C" fn write_and_store(_: c_int) {
    write_to_pipe(0);
    OTHERS.store(1, SeqCst);
    ENDED.store(7, SeqCst);
}

#[test]
fn outcomes() {
    let mut ends = [0; 2];
    assert_eq!(unsafe { pipe(ends.as_mut_ptr()) }, 0);
    PIPE.store(ends[1], SeqCst);
    install(SIGCHLD, write_and_store);
    let mut child = start("exit 0");
    let mut byte = 0u8;
    assert_eq!(unsafe { read(ends[0], (&raw mut byte).cast(), 1) }, 1);
    let seen = (ENDED.load(SeqCst), OTHERS.load(SeqCst));
    child.wait().unwrap();
    panic!("{seen:?}");
}
"#;

/// `delay` omits no schedule, so it confirms the expected outcomes.
#[test]
fn each_outcome_of_a_handler_is_found() {
    let workspace = Workspace::with_library(&[TESTS, OUTCOMES].concat());
    for strategy in ["delay", "icb", "dpor", "auto"] {
        let strategy = format!("--strategy={strategy}");
        let limits = ["--preemptions=4", "--schedules=1000", "--keep-going"];
        let arguments = ["test", &strategy, "--message-format=json"];
        let run = workspace.chess(&[&arguments[..], &limits, &["outcomes"]].concat());
        let verdict = run.run().verdict();
        let others = verdict["other_failures"].as_array().expect("a list").iter();
        let mut messages: Vec<&str> = others
            .chain([&verdict])
            .map(|failure| failure["message"].as_str().expect("a panic"))
            .collect();
        messages.sort_unstable();
        assert_eq!(messages, ["(1, 0)", "(1, 1)", "(7, 1)"], "{strategy}");
        assert_eq!(verdict["complete"], true, "{strategy}: {verdict}");
    }
}

#[test]
fn signals_of_children_are_handled_by_a_task() {
    let workspace = Workspace::with_library(TESTS);
    for arguments in [
        &["--strategy=auto"][..],
        &["--backend=threads", "--strategy=icb"],
        &["--isolate=fork", "--strategy=random"],
    ] {
        let limits = ["--schedules=20", "--no-fail-fast", "--timing=allow"];
        let format = ["--message-format=json"];
        let run = workspace
            .chess(&[&["test"], &limits[..], &format, arguments].concat())
            .run();
        // The number of polls until a signal arrives depends on real time.
        let polls = |line: &str| ["sleeps", "yields"].iter().any(|test| line.contains(test));
        let other = |line: &&str| line.starts_with("warning: ") && !polls(line);
        assert_eq!(run.stderr.lines().find(other), None, "{}", run.stderr);
        let verdicts = run.verdicts_by_name();
        assert_eq!(verdicts.len(), 10, "{}", run.stderr);
        for (test, verdict) in verdicts {
            let expected = match test.as_str() {
                "deadlock" | "deadlock_beside_a_child" => ("failed", "deadlock"),
                _ => ("passed", ""),
            };
            let kind = verdict["kind"].as_str().unwrap_or("");
            let found = (verdict["outcome"].as_str().expect("text"), kind);
            assert_eq!(found, expected, "{arguments:?}: {verdict}");
        }
    }
}
