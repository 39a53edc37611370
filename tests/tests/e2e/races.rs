//! Data races: detection, reports, and the behaviour after a race that is allowed.

use std::collections::BTreeSet;

use end_to_end::{Chess, Expected, Workspace};

#[track_caller]
fn assert_verdicts(more_args: &[&str]) {
    let workspace = Workspace::shared("races");
    let args = ["test", "--no-fail-fast", "--message-format", "json"];
    let run = workspace.chess(&[&args, more_args].concat()).run();
    run.assert_code(100);
    Expected::of(workspace.root()).assert_met_by(&run);
}

#[test]
fn each_program_has_the_verdict_that_the_memory_model_gives() {
    assert_verdicts(&[]);
}

#[test]
fn so_it_has_on_threads() {
    assert_verdicts(&["--backend", "threads"]);
}

#[test]
fn so_it_has_in_processes_of_its_own() {
    assert_verdicts(&["--isolate", "fork"]);
}

/// A counter that is read and written in two steps, without synchronization.
const COUNTER: &str = r#"
use std::thread;

static mut COUNT: u32 = 0;

fn add() {
    unsafe {
        let count = COUNT;
        COUNT = count + 1;
    }
}

#[test]
fn counts() {
    let other = thread::spawn(add);
    add();
    other.join().unwrap();
    let count = unsafe { COUNT };
    assert_eq!(count, 2, "lost");
}
"#;

fn counter() -> Workspace {
    Workspace::with_library(COUNTER)
}

#[test]
fn a_race_in_a_process_of_its_own_has_its_place() {
    let workspace = counter();
    let run = workspace.chess(&["test", "--isolate", "fork"]).run();
    run.assert_code(100);
    // The child process has found the place, and another process prints it.
    let text = run.stdout + &run.stderr;
    assert!(text.contains(" --> src/lib.rs:"), "{text}");
}

#[test]
fn a_race_is_printed_with_both_accesses_and_the_order_that_is_missing() {
    let workspace = counter();
    let run = workspace.chess(&["test"]).run();
    run.assert_code(100);
    insta::with_settings!({
        filters => vec![
            (r"\b\d+(\.\d+)?(ms|s)\b", "[TIME]"),
            (r"-[0-9a-f]{4,16}\b", "-[HASH]"),
            (r"chess replay [0-9a-f]{4,16}\b", "chess replay [HASH]"),
        ],
    }, { insta::assert_snapshot!(workspace.redact(&run.message())) });
}

#[test]
fn a_replay_leads_to_the_same_race() {
    let workspace = counter();
    let run = workspace.chess(&["test", "--message-format", "json"]).run();
    let verdict = run.verdict();
    assert_eq!(verdict["kind"], "race");
    assert_eq!(verdict["location"]["file"], "src/lib.rs");
    let schedule = verdict["schedule"].as_str().expect("it was saved");
    let replay = workspace.chess(&["replay", schedule]).run();
    replay.assert_code(100);
    assert!(replay.stderr.contains("Reproduced"), "{}", replay.stderr);
}

#[test]
fn each_pair_of_lines_is_reported_once() {
    let workspace = counter();
    let args = ["test", "--keep-going", "--message-format", "json"];
    let verdict = workspace.chess(&args).run().verdict();
    let others = verdict["other_failures"].as_array().expect("a list");
    let races = others.iter().filter(|other| other["kind"] == "race");
    let printed: Vec<_> = races.map(|race| race["message"].to_string()).collect();
    assert!(printed.len() <= 2, "three pairs of lines race: {printed:?}");
    let distinct: BTreeSet<_> = printed
        .iter()
        .chain([&verdict["message"].to_string()])
        .cloned()
        .collect();
    assert_eq!(distinct.len(), printed.len() + 1, "{printed:?}");
    // The behaviour after the race was explored, too.
    assert!(others.iter().any(|it| it["kind"] == "panic"), "{verdict}");
}

#[test]
fn the_consequences_of_a_permitted_race_are_explored() {
    let workspace = counter();
    for level in ["allow", "warn"] {
        let args = ["test", "--races", level, "--message-format", "json"];
        let run = workspace.chess(&args).run();
        run.assert_code(100);
        let verdict = run.verdict();
        assert_eq!(verdict["kind"], "panic", "{verdict}");
        assert_eq!(verdict["preemptions"], 1, "{verdict}");
        let warnings = verdict["warnings"].to_string();
        assert_eq!(
            warnings.contains("data race: "),
            level == "warn",
            "{warnings}"
        );
        let schedule = verdict["schedule"].as_str().expect("it was saved");
        let text = std::fs::read_to_string(workspace.root().join(schedule)).expect("it is there");
        assert!(text.contains("\n    \"src/lib.rs:8\",\n"), "{text}");
        assert!(text.contains(&format!("\nraces = \"{level}\"\n")), "{text}");
        let replay = workspace.chess(&["replay", schedule]).run();
        replay.assert_code(100);
        assert!(replay.stderr.contains("Reproduced"), "{}", replay.stderr);
    }
}

#[test]
fn the_found_races_do_not_depend_on_the_number_of_processes() {
    let three = "let more = thread::spawn(add);\n    let other";
    let source = COUNTER.replace("let other", three);
    let source = source.replace(
        "other.join().unwrap();",
        "other.join().unwrap(); more.join().unwrap();",
    );
    let source = source.replace("assert_eq!(count, 2, \"lost\")", "assert!(count > 0)");
    let workspace = Workspace::with_library(&source);
    let verdict = |jobs| {
        let args = [
            "test",
            "--races",
            "allow",
            "--jobs",
            jobs,
            "--strategy",
            "icb",
            "--message-format",
            "json",
        ];
        let run = workspace.chess(&args).run();
        run.assert_code(0);
        let mut verdict = run.verdict();
        verdict["duration_ms"] = 0.into();
        verdict
    };
    assert_eq!(verdict("1"), verdict("2"));
}

#[test]
fn each_access_can_be_a_scheduling_point() {
    let workspace = counter();
    let args = |how| {
        [
            "test",
            "--races",
            "allow",
            "--memory-accesses",
            how,
            "--message-format",
            "json",
        ]
    };
    let run = workspace.chess(&args("preempt")).run();
    run.assert_code(100);
    let verdict = run.verdict();
    assert_eq!(
        (&verdict["kind"], &verdict["preemptions"]),
        (&"panic".into(), &1.into())
    );
    let schedule = verdict["schedule"]
        .as_str()
        .expect("it was saved")
        .to_owned();
    let replay = workspace.chess(&["replay", &schedule]).run();
    assert!(replay.stderr.contains("Reproduced"), "{}", replay.stderr);
    let run = workspace.chess(&args("ignore")).run();
    run.assert_code(0);
}

#[test]
fn the_package_decides_the_outcome_of_a_race_in_it() {
    let workspace = counter();
    workspace.write("Chess.toml", "[crates.small]\nraces = \"allow\"\n");
    let args = ["test", "--message-format", "json"];
    let verdict = workspace.chess(&args).run().verdict();
    assert_eq!(verdict["kind"], "panic", "{verdict}");
    workspace.write("Chess.toml", "[crates.small]\nraces = \"alow\"\n");
    let run = workspace.chess(&args).run();
    run.assert_code(1);
    insta::assert_snapshot!(workspace.redact(&run.message()));
}

#[test]
fn a_race_in_a_dependency_is_a_warning_that_leads_to_a_report() {
    let workspace = Workspace::empty();
    workspace.write(
        "shelf/Cargo.toml",
        "[package]\nname = \"shelf\"\nversion = \"1.2.3\"\nedition = \"2024\"\n",
    );
    workspace.write(
        "shelf/src/lib.rs",
        "pub struct Shelf(std::cell::UnsafeCell<u64>);

         unsafe impl Sync for Shelf {}

         impl Shelf {
             pub const fn new() -> Self {
                 Self(std::cell::UnsafeCell::new(0))
             }

             pub fn put(&self) {
                 unsafe { *self.0.get() += 1 }
             }
         }",
    );
    workspace.write(
        "user/Cargo.toml",
        "[package]\nname = \"user\"\nversion = \"0.1.0\"\nedition = \"2024\"\n
         [dependencies]\nshelf = { path = \"../shelf\" }\n
         [workspace]\n",
    );
    workspace.write(
        "user/src/lib.rs",
        "#[test]
         fn puts() {
             let shelf = shelf::Shelf::new();
             std::thread::scope(|scope| {
                 scope.spawn(|| shelf.put());
                 shelf.put();
             });
         }",
    );
    let directory = workspace.root().join("user");
    let run = Chess::new(&directory, &["test"]).run();
    run.assert_code(0);
    let said = run.stderr.lines().find(|line| line.contains("Race in"));
    insta::assert_snapshot!(said.unwrap_or_default().trim(), @r#"Race in shelf 1.2.3 (1 test): the warnings name the lines of the race. For a report to the authors of shelf, set `races = "deny"` below `[crates.shelf]` in Chess.toml: the race is then a failure with a schedule, which `cargo chess explain` shows"#);
    let json = ["test", "--message-format", "json"];
    let verdict = Chess::new(&directory, &json).run().verdict();
    assert_eq!(
        verdict["racing"],
        serde_json::json!(["shelf 1.2.3"]),
        "{verdict}"
    );
    workspace.write("user/Chess.toml", "[crates.shelf]\nraces = \"deny\"\n");
    let verdict = Chess::new(&directory, &json).run().verdict();
    assert_eq!(verdict["kind"], "race", "{verdict}");
    assert_eq!(verdict["racing"], serde_json::json!([]), "{verdict}");
}

/// A C string that grows while another thread reads its length. Each test fails at one of the two
/// lengths.
const TEXT: &str = "
use std::cell::UnsafeCell;
use std::ffi::{CStr, c_char};

struct Text(UnsafeCell<[c_char; 4]>);

unsafe impl Sync for Text {}

fn is_never(length: usize) {
    let text = Text(UnsafeCell::new([1, 1, 0, 0]));
    let measured = std::thread::scope(|scope| {
        let text = &text;
        scope.spawn(move || unsafe { text.0.get().cast::<c_char>().add(2).write(1) });
        unsafe { CStr::from_ptr(text.0.get().cast()).count_bytes() }
    });
    assert_ne!(measured, length);
}

#[test]
fn two() {
    is_never(2);
}

#[test]
fn three() {
    is_never(3);
}
";

#[test]
fn a_c_string_is_read_after_the_scheduling_point_of_the_read() {
    let workspace = Workspace::with_library(TEXT);
    let args = ["test", "--no-fail-fast", "--races", "allow"];
    let json = ["--memory-accesses", "preempt", "--message-format", "json"];
    let run = workspace.chess(&[&args[..], &json].concat()).run();
    run.assert_code(100);
    for verdict in run.verdicts() {
        assert_eq!(verdict["kind"], "panic", "{verdict}");
    }
}

/// Threads that write to different places. `run` creates all its threads before the first join.
const MANY: &str = r"
use std::thread;

static mut COUNTS: [u32; 1100] = [0; 1100];

fn run(how_many: usize) {
    let count = |place| thread::spawn(move || unsafe { COUNTS[place] += 1 });
    let threads: Vec<_> = (0..how_many).map(count).collect();
    for thread in threads {
        thread.join().unwrap();
    }
}

#[test]
fn too_many() {
    run(1100);
}

#[test]
fn many_one_after_the_other() {
    for _ in 0..11 {
        run(100);
    }
}
";

#[test]
fn accesses_left_out_for_the_number_of_tasks_are_reported() {
    let workspace = Workspace::with_library(MANY);
    let args = ["test", "--schedules", "1", "--message-format", "json"];
    let run = workspace.chess(&args).run();
    run.assert_code(0);
    for verdict in run.verdicts() {
        let warnings = verdict["warnings"].to_string();
        let is_said = warnings.contains("1 of 1 schedules had more than 1024 tasks");
        assert_eq!(is_said, verdict["test"] == "too_many", "{verdict}");
    }
}

const MUCH_MEMORY: &str = "
fn write(pages: usize) {
    let mut memory = vec![0_u8; pages << 12];
    let start = memory.as_mut_ptr();
    std::thread::scope(|scope| {
        let start = start as usize;
        scope.spawn(move || {
            for page in 0..pages {
                unsafe { *((start + (page << 12)) as *mut u8) = 1 }
            }
        });
    });
}

#[test]
fn too_much() {
    write((1 << 16) + 100);
}

#[test]
fn much() {
    write(1 << 15);
}
";

#[test]
fn accesses_left_out_for_the_amount_of_memory_are_reported() {
    let workspace = Workspace::with_library(MUCH_MEMORY);
    let args = ["test", "--schedules", "1", "--message-format", "json"];
    let run = workspace.chess(&args).run();
    run.assert_code(0);
    for verdict in run.verdicts() {
        let warnings = verdict["warnings"].to_string();
        let is_said = warnings.contains("accessed more plain memory than the 256 MiB")
            && warnings.contains("use less memory in the test");
        assert_eq!(is_said, verdict["test"] == "too_much", "{verdict}");
    }
}

/// A write that is reported in three ways, depending on the later operations of its task.
const UNORDERED: &str = r"
use std::sync::atomic::{AtomicBool, Ordering::{Relaxed, Release}};
use std::thread;

static mut VALUE: u32 = 0;
static WRITTEN: AtomicBool = AtomicBool::new(false);
static READ: AtomicBool = AtomicBool::new(false);

fn wait_for(flag: &AtomicBool) {
    while !flag.load(Relaxed) {
        thread::yield_now();
    }
}

fn read_while(write: fn()) {
    let writer = thread::spawn(write);
    wait_for(&WRITTEN);
    let value = unsafe { VALUE };
    READ.store(true, Relaxed);
    writer.join().unwrap();
    assert_eq!(value, 1);
}

#[test]
fn released_nothing() {
    read_while(|| {
        unsafe { VALUE = 1 };
        WRITTEN.store(true, Relaxed);
        wait_for(&READ);
    });
}

#[test]
fn released_it() {
    read_while(|| {
        unsafe { VALUE = 1 };
        WRITTEN.store(true, Release);
        wait_for(&READ);
    });
}

#[test]
fn ended() {
    thread::scope(|scope| {
        scope.spawn(|| {
            unsafe { VALUE = 1 };
            WRITTEN.store(true, Relaxed);
        });
        wait_for(&WRITTEN);
        assert_eq!(unsafe { VALUE }, 1);
    });
}
";

#[test]
fn the_missing_order_of_the_accesses_is_reported() {
    let workspace = Workspace::with_library(UNORDERED);
    let args = ["test", "--no-fail-fast", "--message-format", "json"];
    let run = workspace.chess(&args).run();
    run.assert_code(100);
    let said = [
        (
            "ended",
            "ended since, but main has not waited for the end of task 1",
        ),
        (
            "released_it",
            "since performed the release store at src/lib.rs:37, but main has not synchronized with this release",
        ),
        ("released_nothing", "performed no release since"),
    ];
    for (verdict, (test, words)) in run.verdicts().iter().zip(said) {
        assert_eq!(verdict["test"], test);
        let message = verdict["message"].as_str().expect("a sentence");
        assert!(message.contains("the read by main at "), "{message}");
        assert!(
            message.contains(" races with the write by task 1 at "),
            "{message}"
        );
        assert!(
            message.contains(&format!("task 1 has {words}")),
            "{message}"
        );
    }
}
