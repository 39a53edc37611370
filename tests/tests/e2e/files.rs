//! Files, file locks and environment variables: the reduced searches reach the outcomes of all
//! schedules, for each pair of operations and for random programs of three operations.
//!
//! The reference is `delay`, which omits no schedule, on a program with an added conflict that
//! makes each call on a file a scheduling point.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use std::fs;

use end_to_end::Workspace;

/// Returns the number of random programs: the environment variable `CHESS_PROGRAMS`, or a default.
fn programs() -> usize {
    const USUAL: usize = 12;
    let asked = std::env::var("CHESS_PROGRAMS");
    asked.map_or(USUAL, |text| {
        text.parse().expect("CHESS_PROGRAMS is a number")
    })
}

/// The number of operations in the library.
const OPERATIONS: usize = 28;

/// Short operations. Each pair of them is always tested.
const SHORT: [usize; 13] = [0, 2, 3, 5, 6, 7, 8, 10, 11, 14, 20, 22, 23];

/// If at least this number of random programs is tested, each pair of operations is tested, too.
/// This takes an hour.
const MANY: usize = 1000;

const LIBRARY: &str = r#"
use std::fs::{self, File, OpenOptions};
use std::io::{Read, Seek, Write};
use std::os::unix::fs::{FileExt, PermissionsExt, symlink};
use std::path::{Path, PathBuf};
use std::{env, thread};

/// What the tasks share: a directory, and a file that is open.
struct Shared {
    at: PathBuf,
    file: File,
}

fn append(path: &Path) -> File {
    OpenOptions::new().append(true).open(path).unwrap()
}

/// What an operation came to.
fn operate(operation: usize, shared: &Shared) -> String {
    let at = |name: &str| shared.at.join(name);
    let kind = |result: std::io::Result<()>| match result {
        Ok(()) => "done".to_owned(),
        Err(error) => format!("{:?}", error.kind()),
    };
    match operation {
        0 => kind(File::create_new(at("a")).map(drop)),
        1 => kind(File::create_new(at("b")).map(drop)),
        2 => kind(fs::remove_file(at("a"))),
        3 => kind(fs::rename(at("a"), at("b"))),
        4 => fs::read_to_string(at("a")).unwrap_or("none".to_owned()),
        5 => kind(fs::write(at("a"), "x")),
        6 => {
            let opened = OpenOptions::new().append(true).open(at("a"));
            kind(opened.and_then(|mut file| file.write_all(b"y")))
        }
        7 => at("b").exists().to_string(),
        8 => kind(fs::hard_link(at("a"), at("b"))),
        9 => kind(fs::create_dir(at("t"))),
        10 => kind(fs::remove_dir(at("s"))),
        11 => kind(File::create_new(at("s/f")).map(drop)),
        12 => {
            let entries = fs::read_dir(&shared.at).unwrap();
            let names = entries.map(|entry| entry.unwrap().file_name().into_string().unwrap());
            let mut names: Vec<_> = names.collect();
            names.sort();
            names.concat()
        }
        13 => kind(shared.file.set_len(0)),
        14 => fs::metadata(at("a")).map_or(99, |found| found.len()).to_string(),
        15 => kind(symlink("a", at("b"))),
        16 => fs::read_to_string(at("b")).unwrap_or("none".to_owned()),
        17 => kind((&shared.file).write_all(b"1")),
        18 => (&shared.file).stream_position().unwrap().to_string(),
        19 => {
            let mut file = append(&at("l"));
            file.lock().unwrap();
            file.write_all(b"<").unwrap();
            file.write_all(b">").unwrap();
            file.unlock().unwrap();
            String::new()
        }
        20 => {
            let mut file = append(&at("l"));
            let taken = file.try_lock().is_ok();
            if taken {
                file.write_all(b"!").unwrap();
            }
            taken.to_string()
        }
        21 => {
            let file = File::open(at("l")).unwrap();
            file.lock_shared().unwrap();
            let mut text = String::new();
            (&file).read_to_string(&mut text).unwrap();
            text
        }
        22 => {
            // SAFETY: tasks take turns.
            unsafe { env::set_var("CHESS_FILES", "set") };
            String::new()
        }
        23 => env::var("CHESS_FILES").unwrap_or("not set".to_owned()),
        24 => {
            let mode = fs::Permissions::from_mode(0o600);
            kind(fs::set_permissions(at("a"), mode))
        }
        25 => fs::metadata(at("a")).map_or(0, |found| found.permissions().mode()).to_string(),
        26 => kind(fs::rename(at("s"), at("r"))),
        27 => {
            let mut bytes = [0; 4];
            let count = shared.file.read_at(&mut bytes, 0).unwrap();
            String::from_utf8_lossy(&bytes[..count]).into_owned()
        }
        _ => unreachable!(),
    }
}

/// What is in the directory at the end.
fn state(at: &Path) -> String {
    let mut all: Vec<_> = fs::read_dir(at)
        .unwrap()
        .map(|entry| {
            let path = entry.unwrap().path();
            let name = path.strip_prefix(at).unwrap().display().to_string();
            match fs::read_to_string(&path) {
                Ok(text) => format!("{name}={text}"),
                Err(_) => format!("{name}/{}", path.read_dir().map_or(0, Iterator::count)),
            }
        })
        .collect();
    all.sort();
    all.join(" ")
}

/// Runs a program of tasks that perform these operations, and notes what came of it.
pub fn run(name: &str, tasks: &[&[usize]], conflicts: bool) {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let at = root.join("work").join(name);
    _ = fs::remove_dir_all(&at);
    fs::create_dir_all(at.join("s")).unwrap();
    fs::write(at.join("a"), "A").unwrap();
    fs::write(at.join("l"), "").unwrap();
    fs::set_permissions(at.join("a"), fs::Permissions::from_mode(0o644)).unwrap();
    let file = OpenOptions::new().read(true).write(true).open(at.join("a")).unwrap();
    let shared = Shared { at, file };
    let results: Vec<_> = thread::scope(|scope| {
        let run = |(number, operations): (usize, &&'static [usize])| {
            let (operations, shared) = (*operations, &shared);
            let conflicts = conflicts && number < 2;
            scope.spawn(move || {
                if conflicts {
                    // SAFETY: tasks take turns.
                    unsafe { env::set_var("CHESS_CONFLICT", "set") };
                }
                let results = operations.iter().map(|&it| operate(it, shared));
                results.collect::<Vec<_>>().join(",")
            })
        };
        // SAFETY: the operations live as long as the program.
        let tasks: &[&'static [usize]] = unsafe { std::mem::transmute(tasks) };
        let tasks: Vec<_> = tasks.iter().enumerate().map(run).collect();
        tasks.into_iter().map(|task| task.join().unwrap()).collect()
    });
    let outcome = format!("{} {}", results.join(" | "), state(&shared.at));
    fs::remove_dir_all(&shared.at).unwrap();
    let path = root.join("outcomes").join(name.replace("all", "reduced"));
    let known = fs::read_to_string(&path).unwrap_or_default();
    if !known.lines().any(|line| line == outcome) {
        fs::write(&path, known + &outcome + "\n").unwrap();
    }
}
"#;

/// Returns a test of a program, both unchanged and with the added conflict.
fn test_of(name: &str, tasks: &[Vec<usize>]) -> String {
    let mut tests = String::new();
    let tasks: Vec<_> = tasks.iter().map(|task| format!("&{task:?}")).collect();
    let tasks = tasks.join(", ");
    for (set, conflicts) in [("reduced", false), ("all", true)] {
        let call = format!("small::run(\"{set}_{name}\", &[{tasks}], {conflicts});");
        write!(tests, "#[test]\nfn {set}_{name}() {{\n    {call}\n}}\n\n").expect("a string");
    }
    tests
}

/// Explores the tests that `arguments` selects. Returns the outcomes of each program, by its name.
fn outcomes(workspace: &Workspace, arguments: &[&str]) -> BTreeMap<String, BTreeSet<String>> {
    let directory = workspace.root().join("outcomes");
    _ = fs::remove_dir_all(&directory);
    fs::create_dir(&directory).expect("it can be made");
    let common = ["test", "--no-fail-fast", "--message-format=json"];
    let limits = ["--schedules=3000000", "--time=600s"];
    let run = workspace
        .chess(&[&common[..], &limits, arguments].concat())
        .run();
    run.assert_code(0);
    for verdict in run.verdicts() {
        let is_bounded = arguments.contains(&"--strategy=icb");
        assert!(is_bounded || verdict["complete"] == true, "{verdict}");
        assert_ne!(verdict["unstable"], true, "{verdict}");
    }
    let files = fs::read_dir(&directory).expect("it is there");
    let lines = |file: std::io::Result<fs::DirEntry>| {
        let file = file.expect("it can be listed");
        let text = fs::read_to_string(file.path()).expect("it can be read");
        let name = file.file_name().into_string().expect("ours");
        (name, text.lines().map(str::to_owned).collect())
    };
    files.map(lines).collect()
}

/// Checks that the reduced searches reach the same outcomes as a search of all schedules.
fn compare(workspace: &Workspace) {
    let all = outcomes(workspace, &["--strategy=delay", "all"]);
    for strategy in ["dpor", "auto", "icb"] {
        let strategy = format!("--strategy={strategy}");
        // For a pair of short tasks, 4 preemptions suffice to reach all outcomes.
        let reduced = outcomes(workspace, &[&strategy, "--preemptions=4", "reduced"]);
        assert_eq!(reduced.len(), all.len());
        for (name, reached) in &reduced {
            assert_eq!(reached, &all[name], "{name} by {strategy}");
        }
    }
}

#[test]
fn each_pair_of_operations_has_all_its_outcomes() {
    let workspace = Workspace::with_library(LIBRARY);
    let mut tests = String::new();
    let is_tried = |operation: &usize| programs() >= MANY || SHORT.contains(operation);
    let tried: Vec<_> = (0..OPERATIONS).filter(is_tried).collect();
    for (at, first) in tried.iter().enumerate() {
        for second in &tried[at..] {
            let tasks = [vec![*first], vec![*second]];
            tests += &test_of(&format!("{first}_{second}"), &tasks);
        }
    }
    workspace.write("tests/pairs.rs", &tests);
    compare(&workspace);
}

#[test]
fn random_programs_have_all_their_outcomes() {
    let workspace = Workspace::with_library(LIBRARY);
    let mut random = 0x9e37_79b9_7f4a_7c15_u64;
    let mut below = |n: usize| {
        random ^= random << 13;
        random ^= random >> 7;
        random ^= random << 17;
        usize::try_from(random >> 11).expect("few bits") % n
    };
    let mut tests = String::new();
    for program in 0..programs() {
        let mut task = |length| (0..length).map(|_| SHORT[below(SHORT.len())]).collect();
        let tasks: [Vec<usize>; 2] = [2, 1].map(&mut task);
        tests += &test_of(&program.to_string(), &tasks);
    }
    workspace.write("tests/programs.rs", &tests);
    compare(&workspace);
}

/// Tests in which one task changes a directory that another one reads.
const DIRECTORIES: &str = r#"
#![cfg(test)]
use std::ffi::{CString, c_char, c_void};
use std::fs::{self, File};
use std::path::PathBuf;
use std::thread;

/// Returns a new directory with five files.
fn directory(name: &str) -> PathBuf {
    let at = std::env::temp_dir().join(name);
    _ = fs::remove_dir_all(&at);
    fs::create_dir(&at).unwrap();
    for name in 0..5 {
        File::create_new(at.join(name.to_string())).unwrap();
    }
    at
}

fn entries(at: &PathBuf) -> usize {
    fs::read_dir(at).unwrap().count()
}

#[test]
fn two_listings() {
    let at = directory("two_listings");
    let counts = thread::scope(|scope| {
        scope.spawn(|| File::create_new(at.join("new")).unwrap());
        scope.spawn(|| (0..2).map(|_| entries(&at)).collect::<Vec<_>>()).join().unwrap()
    });
    assert_eq!(counts, [0, 0]);
}

/// The order of the objects depends on the file that an earlier execution has left.
#[test]
fn left_file() {
    let at = directory("left_file");
    let file = at.join("new");
    let seen = thread::scope(|scope| {
        let created = scope.spawn(|| File::create_new(&file).is_ok());
        let removed = scope.spawn(|| fs::remove_file(&file).is_ok());
        (file.exists(), created.join().unwrap(), removed.join().unwrap())
    });
    panic!("{seen:?}");
}

#[test]
fn waits_for_an_entry() {
    let at = directory("waits_for_an_entry");
    thread::scope(|scope| {
        scope.spawn(|| while entries(&at) < 6 {});
        scope.spawn(|| File::create_new(at.join("new")).unwrap());
    });
}

unsafe extern "C" {
    fn opendir(path: *const c_char) -> *mut c_void;
    fn readdir(directory: *mut c_void) -> *mut c_void;
    fn rewinddir(directory: *mut c_void);
}

/// As above, with one open directory.
#[test]
fn waits_for_an_entry_by_rewinding() {
    let at = directory("waits_for_an_entry_by_rewinding");
    let path = CString::new(at.to_str().unwrap()).unwrap();
    thread::scope(|scope| {
        scope.spawn(|| unsafe {
            let open = opendir(path.as_ptr());
            loop {
                let mut entries = 0;
                while !readdir(open).is_null() {
                    entries += 1;
                }
                // `.` and `..` are entries, too.
                if entries == 8 {
                    break;
                }
                rewinddir(open);
            }
        });
        scope.spawn(|| File::create_new(at.join("new")).unwrap());
    });
}
"#;

#[test]
fn each_outcome_of_changes_of_a_directory_is_found() {
    let workspace = Workspace::with_library(DIRECTORIES);
    for strategy in ["delay", "dpor", "icb", "auto"] {
        let strategy = format!("--strategy={strategy}");
        let arguments = ["test", "--keep-going", "--no-fail-fast", &strategy];
        let limits = [
            "--preemptions=4",
            "--schedules=1000",
            "--message-format=json",
        ];
        let run = workspace.chess(&[&arguments[..], &limits].concat()).run();
        let verdicts = run.verdicts_by_name();
        // A single listing is no spin, because each of its calls returns another entry.
        for (test, outcomes) in [("two_listings", 3), ("left_file", 4)] {
            let verdict = &verdicts[test];
            assert_eq!(verdict["complete"], true, "{strategy}: {verdict}");
            let others = verdict["other_failures"].as_array().expect("a list");
            assert_eq!(others.len() + 1, outcomes, "{strategy}: {verdict}");
        }
        // A loop of listings is a spin.
        for test in ["waits_for_an_entry", "waits_for_an_entry_by_rewinding"] {
            let waiting = &verdicts[test];
            assert_eq!(waiting["outcome"], "passed", "{strategy}: {waiting}");
            let steps = waiting["max_steps_in_execution"].as_u64();
            assert!(steps < Some(1000), "{strategy}: {waiting}");
        }
    }
}
