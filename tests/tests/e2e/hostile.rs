//! Tests that escape the scheduler end with a plain message about their action.

use std::time::Duration;

use end_to_end::{Run, Workspace, descendants, is_test_process, wants_privileges};
use rustix::process::{Pid, Signal, kill_process};

fn explore(test: &str) -> Run {
    let workspace = Workspace::shared("hostile");
    workspace.chess(&["test", "--exact", test]).run()
}

/// Compares the report on a failing test with a snapshot.
macro_rules! assert_report {
    ($run:expr) => {{
        let run = $run;
        run.assert_code(100);
        let message = Workspace::shared("hostile").redact(&run.message());
        insta::with_settings!({
            filters => vec![
                (r"\b\d+(\.\d+)?(ms|s)\b", "[TIME]"),
                (r"-[0-9a-f]{4,16}\b", "-[HASH]"),
                (r"chess replay [0-9a-f]{4,16}\b", "chess replay [HASH]"),
                (r"0x[0-9a-f]+", "[ADDRESS]"),
                (r"/[a-z0-9_./-]*/rustlib/", "[RUSTLIB]/"),
            ],
        }, { insta::assert_snapshot!(message) });
    }};
}

#[test]
fn a_segfault_is_reported_with_its_interleaving() {
    assert_report!(explore("segfault_in_some_schedules"));
}

#[test]
fn an_abort_is_reported_with_its_interleaving() {
    assert_report!(explore("abort_in_some_schedules"));
}

#[test]
fn a_double_free_is_reported_with_its_interleaving() {
    assert_report!(explore("double_free_in_some_schedules"));
}

#[test]
fn a_stack_overflow_is_reported() {
    assert_report!(explore("stack_overflow_in_a_task"));
}

#[test]
fn a_panic_of_a_detached_thread_is_reported() {
    assert_report!(explore("panic_in_a_detached_thread"));
}

#[test]
fn a_panic_of_a_detached_thread_may_be_allowed() {
    let workspace = Workspace::shared("hostile");
    let test = "panic_in_a_detached_thread";
    let allowed = ["test", "--exact", test, "--allow-unjoined-panics"];
    workspace.chess(&allowed).run().assert_code(0);
}

#[test]
fn a_panic_of_a_detached_thread_in_the_first_schedule_is_a_warning() {
    let run = explore("panic_in_a_detached_thread_in_all_schedules");
    let warning = "warning: hostile::crash panic_in_a_detached_thread_in_all_schedules: an \
                   unjoined thread panics at tests/crash.rs:77 in the first schedule. `cargo test` \
                   ignores this panic";
    run.assert_says(0, &[warning]);
}

#[test]
fn an_exit_with_success_is_no_success() {
    assert_report!(explore("exit_in_a_task"));
}

#[test]
fn an_exit_in_some_schedules_is_reported_with_its_interleaving() {
    assert_report!(explore("exit_in_some_schedules"));
}

#[test]
fn a_child_process_is_no_failure() {
    explore("a_child_process").assert_code(0);
}

#[test]
fn a_fork_is_no_failure() {
    explore("fork_without_exec").assert_code(0);
}

#[test]
fn a_task_that_never_comes_back_is_named_with_its_last_event() {
    assert_report!(explore("loop_without_synchronization"));
}

#[test]
fn a_task_that_waits_for_the_outside_is_named_with_the_awaited_object() {
    assert_report!(explore("wait_for_a_child_that_never_ends"));
}

#[test]
fn a_task_that_waits_for_the_kernel_is_named_with_its_system_call() {
    assert_report!(explore("lock_a_file_twice"));
}

#[test]
fn a_test_process_killed_from_outside_is_distinguished_from_a_crash_of_the_test() {
    let workspace = Workspace::shared("catalog");
    let args = [
        "test",
        "--preemptions",
        "9",
        "--schedules",
        "100000000",
        "--exact",
    ];
    let mut process = workspace.chess(&args).arg("bounded_buffer::fixed").start();
    let id = process.id();
    let exploring = || {
        descendants(id)
            .into_iter()
            .filter(|(_, line)| is_test_process(line))
    };
    assert!(
        process.wait_until(|| exploring().next().is_some()),
        "a test process starts"
    );
    std::thread::sleep(Duration::from_millis(500));
    for (test, _) in exploring() {
        let pid = Pid::from_raw(test.cast_signed()).expect("a process id is not zero");
        // The parent of the process may have ended it already.
        let _gone = kill_process(pid, Signal::KILL);
    }
    let run = process.finish(Duration::from_secs(20));
    run.assert_code(100);
    assert!(run.stderr.contains("SIGKILL"), "{run:?}");
}

/// Pins its thread to one processor, in each execution. The parent process is not pinned.
const PINS: &str = r#"
use std::sync::atomic::{AtomicU32, Ordering};
use std::{process, thread};

type Processors = [u64; 16];

unsafe extern "C" {
    safe fn getppid() -> i32;
    fn sched_getaffinity(process: i32, length: usize, set: *mut Processors) -> i32;
    fn sched_setaffinity(process: i32, length: usize, set: *const Processors) -> i32;
}

fn processors(process: i32) -> Processors {
    let mut set = [0; 16];
    // SAFETY: the set is as long as said.
    let result = unsafe { sched_getaffinity(process, size_of_val(&set), &raw mut set) };
    assert_eq!(result, 0);
    set
}

#[test]
fn pins() {
    let mut set = processors(0);
    assert_eq!(set, processors(getppid()), "process {}", process::id());
    let used = set.iter().rposition(|bits| *bits != 0).unwrap();
    let last = 1 << set[used].ilog2();
    set = [0; 16];
    set[used] = last;
    // SAFETY: as above.
    assert_eq!(unsafe { sched_setaffinity(0, size_of_val(&set), &raw const set) }, 0);
    assert_eq!(processors(0), set);
    let count = AtomicU32::new(0);
    thread::scope(|scope| {
        for _ in 0..2 {
            scope.spawn(|| count.fetch_add(1, Ordering::SeqCst));
        }
    });
}
"#;

#[test]
fn the_processors_of_a_thread_are_put_back() {
    let workspace = Workspace::with_library(PINS);
    workspace.chess(&["test"]).run().assert_code(0);
}

/// Thread-locals of more than a mebibyte.
const LARGE_THREAD_LOCALS: &str = r"
use std::cell::Cell;
use std::thread;

thread_local! {
    static CALLS: [Cell<u8>; 3 << 19] = const { [const { Cell::new(0) }; 3 << 19] };
}

fn calls() -> u8 {
    CALLS.with(|calls| calls[7].replace(calls[7].get() + 1))
}

#[test]
fn begin_anew() {
    for _ in 0..2 {
        thread::spawn(|| assert_eq!(calls(), 0)).join().unwrap();
    }
    assert_eq!(calls(), 0);
    thread::scope(|scope| {
        for _ in 0..2 {
            scope.spawn(|| assert_eq!(calls(), 0));
        }
    });
}
";

#[test]
fn large_thread_locals_begin_anew_in_each_task() {
    let workspace = Workspace::with_library(LARGE_THREAD_LOCALS);
    workspace.chess(&["test"]).run().assert_code(0);
}

/// Drops real privileges, again in each execution. Only root has them.
const DROPS: &str = r#"
use std::{fs, io::ErrorKind, ptr, thread};

const NOBODY: u32 = 65534;

unsafe extern "C" {
    safe fn setgid(id: u32) -> i32;
    safe fn setuid(id: u32) -> i32;
    safe fn geteuid() -> u32;
    fn setgroups(count: usize, groups: *const u32) -> i32;
}

fn drop_all() {
    // SAFETY: no group is passed.
    assert_eq!(unsafe { setgroups(0, ptr::null()) }, 0);
    assert_eq!((setgid(NOBODY), setuid(NOBODY)), (0, 0));
}

fn is_denied() -> bool {
    fs::read("/etc/shadow").is_err_and(|error| error.kind() == ErrorKind::PermissionDenied)
}

#[test]
fn too_late() {
    let serving = thread::spawn(is_denied);
    drop_all();
    assert!(serving.join().unwrap(), "served with all privileges");
}

#[test]
fn in_time() {
    drop_all();
    assert_eq!((geteuid(), setuid(0)), (NOBODY, -1));
    let serving = thread::spawn(is_denied);
    assert!(is_denied());
    assert!(serving.join().unwrap(), "served with all privileges");
}
"#;

#[test]
fn privileges_are_given_up_in_each_execution() {
    if !wants_privileges() {
        return;
    }
    for backend in ["fibers", "threads"] {
        let workspace = Workspace::with_library(DROPS);
        let args = ["test", "--no-fail-fast", "--message-format", "json"];
        let args = [&args[..], &["--backend", backend]].concat();
        let run = workspace.chess(&args).run();
        run.assert_code(100);
        let verdict = |test: &str| {
            let events = run.events();
            let is = |event: &&serde_json::Value| {
                event["type"] == "test-finished" && event["test"] == test
            };
            events.iter().find(is).cloned().expect("a verdict")
        };
        assert_eq!(verdict("too_late")["outcome"], "failed");
        assert_eq!(verdict("too_late")["preemptions"], 1);
        assert_eq!(verdict("in_time")["outcome"], "passed");
        assert_eq!(verdict("in_time")["complete"], true);
    }
}

/// Looks up a name while a second task exists. glibc loads libidn2 to convert this name.
const LOOKS_UP: &str = r#"
use std::ffi::{c_char, c_int, c_void};
use std::sync::atomic::{AtomicU32, Ordering::SeqCst};
use std::{fs, ptr, thread};

static LOOKUPS: AtomicU32 = AtomicU32::new(0);

unsafe extern "C" {
    fn getaddrinfo(
        name: *const c_char,
        service: *const c_char,
        hints: *const c_int,
        found: *mut *mut c_void,
    ) -> c_int;
    fn setlocale(category: c_int, name: *const c_char) -> *mut c_char;
}

fn look_up() {
    const AI_NUMERICHOST: c_int = 4;
    const AI_IDN: c_int = 0x40;
    let mut hints = [0; 12];
    hints[0] = AI_NUMERICHOST | AI_IDN;
    let mut found = ptr::null_mut();
    // SAFETY: a name that ends in a zero, and hints of the right size.
    let result =
        unsafe { getaddrinfo(c"b\u{fc}cher".as_ptr(), ptr::null(), hints.as_ptr(), &mut found) };
    assert_ne!(result, 0, "it is no number");
    LOOKUPS.fetch_add(1, SeqCst);
    if fs::read_to_string("/proc/self/maps").unwrap().contains("libidn2") {
        println!("a library is loaded");
    }
}

#[test]
fn looks_up() {
    const LC_CTYPE: c_int = 0;
    // SAFETY: no other thread runs yet.
    unsafe { setlocale(LC_CTYPE, c"C.UTF-8".as_ptr()) };
    let other = thread::spawn(look_up);
    look_up();
    other.join().unwrap();
    assert_eq!(LOOKUPS.load(SeqCst), 2);
}
"#;

/// The warning says that the test needs a process for each execution. Without these processes, the
/// execution after the load of the library would crash in the dynamic linker.
#[test]
fn a_name_whose_lookup_loads_a_library_is_looked_up_in_each_execution() {
    let workspace = Workspace::with_library(LOOKS_UP);
    let args = ["test", "--lib", "--", "--nocapture"];
    let native = end_to_end::Chess::cargo(workspace.root(), &args).run();
    native.assert_code(0);
    let loads = native.stdout.contains("a library is loaded");
    for backend in ["fibers", "threads"] {
        let run = workspace.chess(&["test", "--backend", backend]).run();
        run.assert_code(0);
        let warns = run.stderr.contains("the program calls getaddrinfo");
        assert_eq!(warns, loads, "{run:?}");
    }
}

/// libc writes the text to a full pipe, and waits in the kernel for the reader. The engine does not
/// see this wait.
#[test]
fn a_task_that_waits_in_the_kernel_has_no_verdict_after_the_time_of_the_watchdog() {
    let workspace = Workspace::with_library(
        r#"
use std::ffi::{c_char, c_int};
use std::io::Read;
use std::os::fd::AsRawFd;

unsafe extern "C" {
    fn dprintf(descriptor: c_int, format: *const c_char, ...) -> c_int;
}

/// The pipe is full before libc has written all bytes.
#[test]
fn prints_much() {
    let (mut reader, writer) = std::io::pipe().unwrap();
    std::thread::scope(|scope| {
        scope.spawn(move || reader.read_to_end(&mut Vec::new()).unwrap());
        scope.spawn(move || unsafe {
            dprintf(writer.as_raw_fd(), c"%100000s".as_ptr(), c"".as_ptr())
        });
    });
}
"#,
    );
    let start = std::time::Instant::now();
    let run = workspace.chess(&["test", "--watchdog", "2s"]).run();
    run.assert_says(
        100,
        &[
            "timeout: small prints_much",
            "reached no scheduling point for 2 s",
            "it is in the system call write (1)",
        ],
    );
    // For a task that computes, the limit would be a minute.
    assert!(start.elapsed() < Duration::from_mins(1));
}
