//! `cargo chess gate` explores only the tests that a change may affect, and fails if it finds a
//! problem.

use std::path::Path;
use std::process::Command;

use end_to_end::{Chess, Run, Workspace};

const MEMBERS: &str =
    "[workspace]\nmembers = [\"counter\", \"user\", \"other\"]\nresolver = \"3\"\n";

const COUNTER: &str = r"
use std::sync::atomic::{AtomicU32, Ordering::SeqCst};

#[derive(Default)]
pub struct Counter(AtomicU32);

impl Counter {
    pub fn increment(&self) {
        self.0.fetch_add(1, SeqCst);
    }

    pub fn get(&self) -> u32 {
        self.0.load(SeqCst)
    }
}
";

/// A replacement in [`COUNTER`] with which an increment can be lost.
const RACY: &str = "let old = self.get();\n        self.0.store(old + 1, SeqCst);";

const USER: &str = r"
#[test]
fn two_threads_count() {
    let counter = counter::Counter::default();
    std::thread::scope(|scope| {
        scope.spawn(|| counter.increment());
        scope.spawn(|| counter.increment());
    });
    assert_eq!(counter.get(), 2);
}
";

const OTHER: &str = r"
#[test]
fn two_threads_lock() {
    let lock = std::sync::Mutex::new(0);
    std::thread::scope(|scope| {
        scope.spawn(|| *lock.lock().unwrap() += 1);
        scope.spawn(|| *lock.lock().unwrap() += 1);
    });
    assert_eq!(*lock.lock().unwrap(), 2);
}
";

fn git(directory: &Path, args: &[&str]) {
    let identity = [
        "-c",
        "user.name=a",
        "-c",
        "user.email=a@b",
        "-c",
        "commit.gpgsign=false",
    ];
    let output = Command::new("git")
        .current_dir(directory)
        .args(identity)
        .args(args)
        .output()
        .expect("git can be run");
    assert!(output.status.success(), "git {args:?}: {output:?}");
}

fn member(workspace: &Workspace, name: &str, dependencies: &str, library: &str) {
    workspace.write(
        &format!("{name}/Cargo.toml"),
        &format!(
            "[package]\nname = \"{name}\"\nversion = \"0.1.0\"\nedition = \"2024\"\n\n\
             [dependencies]\n{dependencies}"
        ),
    );
    workspace.write(&format!("{name}/src/lib.rs"), library);
}

/// Returns a repository of three crates with one commit on `main`. The crate `user` depends on the
/// crate `counter`.
fn repository() -> Workspace {
    let workspace = Workspace::empty();
    workspace.write("Cargo.toml", MEMBERS);
    workspace.write(".gitignore", "/target\n");
    workspace.write("notes/plan.md", "None yet.\n");
    member(&workspace, "counter", "", COUNTER);
    let path = "counter = { path = \"../counter\" }\n";
    member(&workspace, "user", path, USER);
    member(&workspace, "other", "", OTHER);
    Chess::cargo(workspace.root(), &["generate-lockfile", "--offline"])
        .run()
        .assert_code(0);
    git(
        workspace.root(),
        &["init", "--quiet", "--initial-branch=main"],
    );
    commit(&workspace);
    git(workspace.root(), &["switch", "--quiet", "--create=change"]);
    workspace
}

fn commit(workspace: &Workspace) {
    git(workspace.root(), &["add", "--all"]);
    git(workspace.root(), &["commit", "--quiet", "--message=a"]);
}

fn gate(workspace: &Workspace, args: &[&str]) -> Run {
    workspace.chess(&[&["gate"], args].concat()).run()
}

/// Returns the explored tests, and for each one whether its verdict was taken over from an earlier
/// run.
fn explored(run: &Run) -> Vec<(String, bool)> {
    let verdicts = run.verdicts();
    let printed = verdicts.iter().map(|test| {
        let name = test["test"].as_str().expect("a name").to_owned();
        (name, test["cached"] == true)
    });
    printed.collect()
}

fn assert_says(run: &Run, words: &str) {
    assert!(run.stderr.contains(words), "not `{words}`: {run:?}");
}

#[test]
fn a_change_explores_its_dependents_and_nothing_else() {
    let workspace = repository();
    let json = ["--message-format", "json"];
    // Committed changes, tracked files and untracked files are all part of the change.
    workspace.write("counter/src/lib.rs", &format!("// New.\n{COUNTER}"));
    commit(&workspace);
    let run = gate(&workspace, &json);
    run.assert_code(0);
    assert_says(
        &run,
        "Affected 2 of 3: counter (changed), user (uses counter)",
    );
    assert_eq!(explored(&run), [("two_threads_count".to_owned(), false)]);

    workspace.write("other/tests/more.rs", "#[test]\nfn more() {}\n");
    let subfolder = workspace.root().join("user");
    let run = Chess::new(&subfolder, &["gate", "--message-format", "json"]).run();
    run.assert_code(0);
    assert_says(
        &run,
        "Affected 3 of 3: counter (changed), other (changed), user",
    );
    let mut names = explored(&run);
    names.sort();
    // `user` has not changed since then.
    let expected = [
        ("more", false),
        ("two_threads_count", true),
        ("two_threads_lock", false),
    ];
    assert_eq!(
        names,
        expected.map(|(name, cached)| (name.to_owned(), cached))
    );

    let run = gate(&workspace, &[&json[..], &["--no-cache"]].concat());
    run.assert_code(0);
    assert!(explored(&run).iter().all(|(_, cached)| !cached), "{run:?}");
}

#[test]
fn a_change_that_affects_no_test_is_not_explored() {
    let workspace = repository();
    let run = gate(&workspace, &["--base", "HEAD"]);
    run.assert_code(0);
    assert_says(&run, "Affected 0 of 3");
    workspace.write("notes/plan.md", "Some.\n");
    let run = gate(&workspace, &[]);
    run.assert_code(0);
    assert_says(&run, "Ignored notes/plan.md: in no package");
    assert_says(&run, "passed: the change affects no test");
    assert!(
        !workspace.root().join("target").exists(),
        "nothing was built"
    );
    // A change of Chess.toml, which concerns all packages, affects the tests of all packages.
    workspace.write("Chess.toml", "[explore]\npreemptions = 1\n");
    let run = gate(&workspace, &[]);
    run.assert_code(0);
    assert_says(&run, "Affected 3 of 3: counter (Chess.toml changed)");
}

#[test]
fn each_kind_of_fault_closes_it_with_words_of_its_own() {
    let workspace = repository();
    workspace
        .chess(&["rewrite", "--accept"])
        .run()
        .assert_code(0);
    commit(&workspace);
    git(workspace.root(), &["branch", "--force", "main"]);
    let racy = COUNTER.replace("self.0.fetch_add(1, SeqCst);", RACY);
    workspace.write("counter/src/lib.rs", &racy);
    workspace
        .chess(&["rewrite", "--accept"])
        .run()
        .assert_code(0);
    let run = gate(&workspace, &["--save-regressions"]);
    run.assert_code(100);
    assert_says(&run, "error: the gate failed: 1 test fails\n");
    // The test failed while it explored only the changed lines.
    assert_says(
        &run,
        "user two_threads_count: panic (schedule 3, 1 preemption",
    );

    // The corrected version passes, and so does the regression. Then the fault returns.
    workspace.write("counter/src/lib.rs", COUNTER);
    workspace
        .chess(&["rewrite", "--accept"])
        .run()
        .assert_code(0);
    commit(&workspace);
    git(workspace.root(), &["branch", "--force", "main"]);
    workspace.write("counter/src/lib.rs", &racy);
    let run = gate(&workspace, &[]);
    run.assert_code(100);
    assert_says(&run, "error: the gate failed: 1 saved regression fails\n");

    // The only remaining problem is a rewrite that has not been reviewed.
    let fence = "std::sync::atomic::fence(SeqCst);\n        self.0.load(SeqCst)";
    let fenced = COUNTER.replace("self.0.load(SeqCst)", fence);
    workspace.write("counter/src/lib.rs", &fenced);
    let run = gate(&workspace, &[]);
    run.assert_code(6);
    assert_says(&run, "\n+   13     std::sync::atomic::fence ");
    assert!(!run.stderr.contains("Gate passed"), "{}", run.stderr);
    assert_says(
        &run,
        "error: the gate failed: the rewritten code differs from its snapshots",
    );
}

#[test]
fn changed_lines_are_preempted_first() {
    let workspace = Workspace::with_locks(
        r"
#[test]
fn large() {
    locked(3, 3);
    let count = AtomicU32::new(0);
    thread::scope(|scope| {
        for _ in 0..2 {
            scope.spawn(|| {
                let old = count.load(SeqCst);
                count.store(old + 1, SeqCst);
            });
        }
    });
    locked(3, 3);
    assert_eq!(count.into_inner(), 2);
}
",
    );
    workspace.write(".gitignore", "/target\n");
    git(
        workspace.root(),
        &["init", "--quiet", "--initial-branch=main"],
    );
    commit(&workspace);
    let json = ["--strategy", "icb", "--message-format", "json"];
    let run = workspace.chess(&[&["test"], &json[..]].concat()).run();
    run.assert_code(100);
    let everywhere = run.verdict()["schedules"].as_u64().expect("a number");
    let source = std::fs::read_to_string(workspace.root().join("src/lib.rs")).expect("written");
    let changed = source.replace(
        "count.store(old + 1, SeqCst)",
        "count.store(1 + old, SeqCst)",
    );
    workspace.write("src/lib.rs", &changed);
    let run = gate(&workspace, &json);
    run.assert_code(100);
    assert_says(&run, "1 test fails");
    let there = run.verdict()["schedules"].as_u64().expect("a number");
    assert!(there < everywhere, "{there} of {everywhere}: {run:?}");
}

#[test]
fn a_missing_base_is_an_error_with_a_remedy() {
    let workspace = repository();
    let run = gate(&workspace, &["--base", "origin/release"]);
    run.assert_code(1);
    assert_says(&run, "there is no commit `origin/release` to compare with");
    assert_says(&run, "git fetch origin release:refs/remotes/origin/release");
    let outside = tempfile::tempdir().expect("a directory");
    let run = workspace
        .chess(&["gate"])
        .env("GIT_CEILING_DIRECTORIES", "/")
        .env("GIT_DIR", outside.path())
        .run();
    run.assert_code(1);
    assert_says(&run, "is not in a git work tree");
}

#[test]
fn a_shallow_clone_compares_with_the_commit_that_it_has() {
    let origin = repository();
    origin.write("other/src/lib.rs", &format!("// New.\n{OTHER}"));
    commit(&origin);
    let clone = Workspace::empty();
    let url = format!("file://{}", origin.root().display());
    let depth = [
        "clone",
        "--quiet",
        "--depth=1",
        "--branch=change",
        &url,
        ".",
    ];
    git(clone.root(), &depth);
    let run = gate(&clone, &["--base", "origin/main"]);
    run.assert_code(1);
    assert_says(&run, "this clone is shallow, and does not have it");
    let main = "main:refs/remotes/origin/main";
    git(
        clone.root(),
        &["fetch", "--quiet", "--depth=1", "origin", main],
    );
    let run = gate(&clone, &["--base", "origin/main"]);
    run.assert_code(0);
    assert_says(&run, "Affected 1 of 3: other (changed)");
    assert_says(&run, "perhaps because the clone is shallow");
}
