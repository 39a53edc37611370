//! Test processes that run at the same time do not conflict in the file system.

use std::fs;
use std::time::Duration;

use end_to_end::{Workspace, assert_none_is_left, without_durations};
use serde_json::Value;

/// A time limit that is sufficient on a busy machine.
const PATIENCE: Duration = Duration::from_mins(2);

/// Returns four tests. They create files in the directory that is the value of the expression
/// `directory`. The names of the files are unique only within a process.
fn tests_below(directory: &str) -> String {
    let tests = r#"
static NEXT: AtomicU32 = AtomicU32::new(0);

fn check() {
    let dir = loop {
        let number = NEXT.fetch_add(1, SeqCst).to_string();
        let dir = std::path::Path::new(&DIRECTORY).join(number);
        if !dir.is_dir() {
            std::fs::create_dir_all(&dir).unwrap();
            break dir;
        }
    };
    thread::scope(|scope| {
        for name in ["a", "b"] {
            let dir = &dir;
            scope.spawn(move || std::fs::write(dir.join(name), "x").unwrap());
        }
    });
    locked(2, 3);
    assert_eq!(std::fs::read_dir(&dir).unwrap().count(), 2);
    std::fs::remove_dir_all(&dir).unwrap();
}

#[test] fn one() { check() }
#[test] fn two() { check() }
#[test] fn three() { check() }
#[test] fn four() { check() }
"#;
    tests.replace("DIRECTORY", directory)
}

/// Explores the tests with this number of jobs. Returns the verdicts and the output.
fn explore(workspace: &Workspace, jobs: &str) -> (Vec<Value>, String) {
    let args = ["test", "--no-fail-fast", "--message-format", "json"];
    let run = workspace
        .chess(&[&args[..], &["--jobs", jobs]].concat())
        .run();
    run.assert_code(0);
    (without_durations(run.events()), run.stderr)
}

#[test]
fn each_test_process_has_temporary_files_of_its_own() {
    let workspace = Workspace::with_locks(&tests_below("std::env::temp_dir()"));
    let (alone, _) = explore(&workspace, "1");
    let (together, said) = explore(&workspace, "4");
    assert_eq!(alone, together);
    assert!(!said.contains("warning"), "{said}");
}

#[test]
fn tests_that_write_elsewhere_have_the_verdicts_that_they_have_alone() {
    let workspace = Workspace::with_locks(&tests_below(
        r#"concat!(env!("CARGO_MANIFEST_DIR"), "/data")"#,
    ));
    let (together, said) = explore(&workspace, "4");
    let names = "`small four`, `small one`, `small three` and 1 more use ";
    assert!(said.contains(names), "{said}");
    assert!(said.contains("/data"), "{said}");
    assert!(
        said.contains("so these tests do not run at the same time"),
        "{said}"
    );
    let (again, _) = explore(&workspace, "4");
    let (alone, _) = explore(&workspace, "1");
    assert_eq!(together, alone);
    assert_eq!(again, alone);
}

/// Under libtest, the lock keeps these tests apart. The tool runs each one in a separate process.
#[test]
fn tests_that_use_one_port_have_the_verdicts_that_they_have_alone() {
    let port = {
        let listener = std::net::TcpListener::bind("127.0.0.1:0").expect("a free port");
        listener.local_addr().expect("it has an address").port()
    };
    let test = |name: &str| {
        format!(
            r#"
#[test]
fn {name}() {{
    let _held = ONE_AT_A_TIME.lock();
    let listener = std::net::TcpListener::bind("127.0.0.1:{port}").unwrap();
    for _ in 0..20 {{
        let _client = std::net::TcpStream::connect("127.0.0.1:{port}").unwrap();
        listener.accept().unwrap();
    }}
}}
"#
        )
    };
    let tests = ["one", "two", "three"].map(test).concat();
    let lock = "static ONE_AT_A_TIME: std::sync::Mutex<()> = std::sync::Mutex::new(());";
    let workspace = Workspace::with_library(&format!("#![cfg(test)]\n{lock}\n{tests}"));
    let (together, said) = explore(&workspace, "3");
    let sentence = format!("`small one`, `small three` and `small two` use port {port}, so these");
    assert!(said.contains(&sentence), "{said}");
    assert_eq!(together, explore(&workspace, "1").0);
}

#[test]
fn tests_that_only_look_at_files_of_others_have_the_verdicts_that_they_have_alone() {
    let workspace = Workspace::with_locks(
        r#"
const FLAG: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/data/flag");
const MANIFEST: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/Cargo.toml");

/// Whether the process runs that wrote the flag.
fn writer_runs() -> bool {
    let writer = std::fs::read_to_string(FLAG).unwrap_or_default();
    std::path::Path::new("/proc").join(writer).join("stat").exists()
}

#[test] fn writes() {
    std::fs::create_dir_all(std::path::Path::new(FLAG).parent().unwrap()).unwrap();
    std::fs::write(FLAG, std::process::id().to_string()).unwrap();
    locked(3, 3);
}

#[test] fn looks() {
    locked(2, 4);
    assert!(!writer_runs());
}

#[test] fn reads() {
    locked(2, 3);
    assert!(!std::fs::read_to_string(MANIFEST).unwrap().is_empty());
}
"#,
    );
    let (together, said) = explore(&workspace, "4");
    assert!(said.contains("3 passed"), "{said}");
    assert!(!said.contains("reads`"), "{said}");
    let (again, _) = explore(&workspace, "4");
    let (alone, _) = explore(&workspace, "1");
    assert_eq!(together, alone);
    assert_eq!(again, alone);
}

const WAITS: &str = r#"
#[test] fn leaves_a_file() {
    let dir = std::env::temp_dir();
    std::fs::write(dir.join("left"), "x").unwrap();
    locked(4, 6);
}

#[test] fn says_where_it_is() {
    let dir = std::env::temp_dir();
    panic!("in {}", dir.join("x").display());
}
"#;

#[test]
fn the_directory_is_removed_at_the_end_and_after_an_interrupt_and_a_kill() {
    let workspace = Workspace::with_locks(WAITS);
    let base = tempfile::tempdir().expect("a directory");
    let left = || {
        let entries = fs::read_dir(base.path()).expect("it is there").flatten();
        entries.map(|entry| entry.path()).collect::<Vec<_>>()
    };
    let chess = |test| {
        let chess =
            workspace.chess(&["test", test, "--schedules", "1000000", "--preemptions", "9"]);
        chess.env("TMPDIR", base.path())
    };
    let is_there = || {
        let entries = fs::read_dir(base.path()).expect("it is there").flatten();
        entries
            .map(|entry| entry.path().join("left"))
            .any(|it| it.exists())
    };
    let mut process = chess("leaves_a_file").start();
    assert!(process.wait_until(is_there));
    process.interrupt();
    process.finish(PATIENCE).assert_code(130);
    assert_eq!(left(), [] as [std::path::PathBuf; 0]);

    let mut process = chess("leaves_a_file").start();
    assert!(process.wait_until(is_there));
    process.kill();
    process.finish(PATIENCE);
    assert_none_is_left(workspace.root());
    let run = chess("says_where_it_is").run();
    run.assert_says(100, &["in $TMPDIR/x"]);
    assert_eq!(left(), [] as [std::path::PathBuf; 0]);
}

/// Tests that do not remove their temporary files. The names are unique within a process.
const LEAVING: &str = r#"
unsafe extern "C" {
    fn umask(mask: u32) -> u32;
    fn setsid() -> i32;
}

fn directory() -> std::path::PathBuf {
    static NEXT: AtomicU32 = AtomicU32::new(0);
    let (process, number) = (std::process::id(), NEXT.fetch_add(1, SeqCst));
    let path = std::env::temp_dir().join(format!("{process}-{number}"));
    std::fs::create_dir(&path).unwrap();
    path
}

#[test]
fn files() {
    let path = directory();
    std::fs::create_dir(path.join("below")).unwrap();
    std::fs::write(path.join("below/file"), "x").unwrap();
    std::os::unix::fs::symlink("/", path.join("link")).unwrap();
    locked(2, 3);
}

#[test]
fn of_another_process() {
    let path = std::env::temp_dir().join("file");
    assert!(!path.exists());
    let status = std::process::Command::new("touch").arg(&path).status();
    assert!(status.unwrap().success());
    locked(2, 3);
}

#[test]
fn changes_its_process() {
    let path = std::env::temp_dir().join("mask");
    std::fs::write(&path, "x").unwrap();
    let mode = std::os::unix::fs::PermissionsExt::mode(&path.metadata().unwrap().permissions());
    assert_ne!(mode & 0o777, 0o600);
    assert!(std::path::Path::new("Cargo.toml").exists());
    // The last call of a daemon's start gives each execution a process of its own.
    unsafe { umask(0o177) };
    std::env::set_current_dir("/").unwrap();
    unsafe { setsid() };
    locked(2, 3);
}

#[test]
fn crashes() {
    let path = std::env::temp_dir().join("crash");
    assert!(!path.exists());
    std::fs::write(path, "x").unwrap();
    let ready = AtomicU32::new(0);
    thread::scope(|scope| {
        scope.spawn(|| ready.store(1, SeqCst));
        // The first executions do not crash.
        if ready.load(SeqCst) == 1 && ready.load(SeqCst) == 1 {
            std::process::abort();
        }
    });
}
"#;

#[test]
fn an_execution_meets_no_files_of_the_one_before() {
    let workspace = Workspace::with_locks(LEAVING);
    for isolation in ["image", "fork"] {
        let args = ["test", "--no-fail-fast", "--message-format", "json"];
        let args = [&args[..], &["--isolate", isolation, "--keep-going"]].concat();
        let run = workspace.chess(&args).run();
        run.assert_code(100);
        for verdict in run.verdicts() {
            let crashes = verdict["test"] == "crashes";
            let kind = if crashes { "crash".into() } else { Value::Null };
            assert_eq!(verdict["kind"], kind, "{isolation}: {verdict}");
            assert_eq!(verdict["other_failures"], Value::Array(Vec::new()));
            assert!(verdict["schedules"].as_u64() > Some(1), "{verdict}");
        }
    }
}
