//! A task that reads the same value repeatedly, and computes in between, does not wait: it is
//! explored like all others. Only if it does so for long, it counts as waiting, and the report says so.

use end_to_end::{LOSE_AND_KEEP, Workspace};

const LIBRARY: &str = r#"
#![cfg(test)]
use std::sync::atomic::{AtomicU32, AtomicBool, Ordering::SeqCst};
use std::sync::{Arc, LazyLock, RwLock, mpsc};
use std::{ffi, hint, net, thread};
use updates::{keep, lose};

unsafe extern "C" {
    safe fn labs(number: ffi::c_long) -> ffi::c_long;
    fn pthread_mutex_lock(lock: *mut ffi::c_void) -> ffi::c_int;
    fn pthread_mutex_trylock(lock: *mut ffi::c_void) -> ffi::c_int;
    fn pthread_mutex_unlock(lock: *mut ffi::c_void) -> ffi::c_int;
}

static LEVEL: AtomicU32 = AtomicU32::new(0);
static FACTOR: LazyLock<u32> = LazyLock::new(|| 3);

fn log(text: &str) {
    if LEVEL.load(SeqCst) > 0 {
        eprintln!("{text}");
    }
}

fn ten_lines() {
    log("1");
    log("2");
    log("3");
    log("4");
    log("5");
    log("6");
    log("7");
    log("8");
    log("9");
    log("10");
}

#[test]
fn lines() {
    lose(ten_lines);
}

#[test]
fn lines_fixed() {
    keep(ten_lines);
}

#[test]
fn items() {
    lose(|| (0..20).for_each(|item| log(&format!("{item}"))));
}

#[test]
fn items_fixed() {
    keep(|| (0..20).for_each(|item| log(&format!("{item}"))));
}

#[test]
fn factors() {
    lose(|| assert_eq!((0..20).map(|item| *FACTOR * item).sum::<u32>(), 570));
}

#[test]
fn guards() {
    let factor = RwLock::new(3);
    lose(|| assert_eq!((0..20).map(|item| *factor.read().unwrap() * item).sum::<u32>(), 570));
}

#[test]
fn counts() {
    let shared = Arc::new(());
    lose(|| assert_eq!((0..20).map(|_| Arc::strong_count(&shared)).sum::<usize>(), 20));
}

#[test]
fn attempts() {
    let (_sender, receiver) = mpsc::channel::<u32>();
    lose(move || assert!((0..20).all(|_| receiver.try_recv().is_err())));
}

#[test]
fn jobs_until_stopped() {
    let stop = AtomicBool::new(false);
    lose(|| {
        let mut done = Vec::new();
        for job in 0..20 {
            if stop.load(SeqCst) {
                break;
            }
            done.push(job);
        }
        assert_eq!(done.len(), 20);
    });
}

#[test]
fn items_after_c() {
    lose(|| {
        labs(1);
        (0..20).for_each(|item| log(&format!("{item}")));
    });
}

fn socket() -> net::UdpSocket {
    let socket = net::UdpSocket::bind("127.0.0.1:0").unwrap();
    socket.set_nonblocking(true).unwrap();
    socket
}

#[test]
fn datagrams() {
    let socket = socket();
    lose(move || assert!((0..20).all(|_| socket.recv(&mut [0]).is_err())));
}

#[test]
fn names() {
    let directory = std::env::temp_dir().join(format!("names-{}", std::process::id()));
    let total = AtomicU32::new(0);
    thread::scope(|scope| {
        scope.spawn(|| {
            let seen = (0..20).filter(|_| directory.exists()).count();
            hint::black_box(seen);
            total.fetch_add(1, SeqCst);
        });
        let before = total.load(SeqCst);
        total.store(before + 1, SeqCst);
        // This change makes the calls of the worker scheduling points.
        std::fs::create_dir_all(&directory).unwrap();
    });
    std::fs::remove_dir_all(directory).unwrap();
    assert_eq!(total.into_inner(), 2);
}

/// A lock in code that nothing redirects.
struct Lock(std::cell::UnsafeCell<[u64; 8]>);

// SAFETY: pthreads synchronises the accesses.
unsafe impl Sync for Lock {}

impl Lock {
    fn call(&self, function: unsafe extern "C" fn(*mut ffi::c_void) -> ffi::c_int) -> bool {
        // SAFETY: zeros are an unlocked mutex, and it does not move while it is in use.
        unsafe { function(self.0.get().cast()) == 0 }
    }
}

#[test]
fn locks() {
    static LOCK: Lock = Lock(std::cell::UnsafeCell::new([0; 8]));
    LOCK.call(pthread_mutex_lock);
    lose(|| assert!((0..20).all(|_| !LOCK.call(pthread_mutex_trylock))));
    LOCK.call(pthread_mutex_unlock);
}

#[test]
fn waits_for_a_lock() {
    static LOCK: Lock = Lock(std::cell::UnsafeCell::new([0; 8]));
    LOCK.call(pthread_mutex_lock);
    thread::scope(|scope| {
        scope.spawn(|| while !LOCK.call(pthread_mutex_trylock) {});
        LOCK.call(pthread_mutex_unlock);
    });
}

#[test]
fn waits_for_a_datagram() {
    let socket = socket();
    let address = socket.local_addr().unwrap();
    thread::scope(|scope| {
        scope.spawn(|| while socket.recv(&mut [0]).is_err() {});
        let other = net::UdpSocket::bind("127.0.0.1:0").unwrap();
        other.send_to(b"x", address).unwrap();
    });
}

#[test]
fn waits_after_c() {
    labs(1);
    let done = AtomicBool::new(false);
    thread::scope(|scope| {
        scope.spawn(|| done.store(true, SeqCst));
        while !done.load(SeqCst) {}
    });
}

#[test]
fn many_items() {
    lose(|| (0..300).for_each(|item| log(&format!("{item}"))));
}

#[test]
fn waits_and_counts() {
    let ready = AtomicBool::new(false);
    thread::scope(|scope| {
        scope.spawn(|| ready.store(true, SeqCst));
        let mut iterations = 0;
        while !ready.load(SeqCst) {
            iterations += 1;
        }
        hint::black_box(iterations);
    });
}
"#;

fn workspace() -> Workspace {
    Workspace::with_library(&format!("{LIBRARY}{LOSE_AND_KEEP}"))
}

/// The buggy tests that are found with one preemption.
const BUGGY: [&str; 11] = [
    "lines",
    "items",
    "factors",
    "guards",
    "counts",
    "attempts",
    "jobs_until_stopped",
    "items_after_c",
    "datagrams",
    "names",
    "locks",
];

/// The tests that wait in loops without a yield.
const WAITING: [&str; 3] = ["waits_for_a_lock", "waits_for_a_datagram", "waits_after_c"];

#[test]
fn repeated_reads_are_explored_like_all_others() {
    let workspace = workspace();
    for strategy in ["auto", "icb", "dpor"] {
        let args = ["test", "--no-fail-fast", "--message-format=json"];
        let run = workspace
            .chess(&args)
            .args(["--strategy", strategy])
            .args(BUGGY)
            .run();
        run.assert_code(100);
        let verdicts = run.verdicts_by_name();
        for name in BUGGY {
            let verdict = &verdicts[name];
            assert_eq!(
                verdict["outcome"], "failed",
                "{name} by {strategy}: {verdict}"
            );
            assert_eq!(verdict["preemptions"], 1, "{name} by {strategy}: {verdict}");
        }
        for name in ["lines_fixed", "items_fixed"] {
            let verdict = &verdicts[name];
            assert_eq!(verdict["complete"], true, "{name} by {strategy}: {verdict}");
            assert_eq!(verdict["long_spins"], false, "{name}: {verdict}");
        }
    }
}

#[test]
fn a_loop_that_waits_is_no_long_repetition() {
    let workspace = workspace();
    let args = ["test", "--strategy", "icb", "--message-format=json"];
    let run = workspace.chess(&args).args(WAITING).run();
    run.assert_code(0);
    for (name, verdict) in run.verdicts_by_name() {
        assert_eq!(verdict["long_spins"], false, "{name}: {verdict}");
        let is_explored = verdict["complete"] == true || verdict["bound_completed"] == 2;
        assert!(is_explored, "{name}: {verdict}");
    }
}

#[test]
fn many_reads_count_as_waiting_and_the_report_says_so() {
    let workspace = workspace();
    let run = workspace
        .chess(&["test", "--exact", "waits_and_counts"])
        .run();
    run.assert_code(0);
    let read = |line: &str| line.contains("while !ready.load");
    let line = LIBRARY.lines().position(read).unwrap() + 1;
    let warning = format!("src/lib.rs:{line}: a thread repeats `load` many times");
    assert!(run.stderr.contains(&warning), "{run:?}");
    let clause = ", where threads that yield repeatedly, or read unchanged values very often, let \
                  other threads run";
    assert!(run.stderr.contains(clause), "{run:?}");
}

#[test]
fn a_bug_past_many_reads_is_found_with_one_more_preemption() {
    let workspace = workspace();
    let run = workspace
        .chess(&["test", "--message-format=json", "--exact", "many_items"])
        .run();
    run.assert_code(100);
    assert_eq!(run.verdict()["preemptions"], 2, "{run:?}");
}
