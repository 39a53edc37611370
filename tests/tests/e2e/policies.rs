//! The policy of a package determines at which operations a task in its code can be preempted, and
//! nothing else.

use end_to_end::{Chess, Run, Workspace};
use serde_json::Value;

/// Explores all tests of the fixture completely. The policies are those of the Chess.toml in
/// `workspace`.
fn explore(workspace: &Workspace, strategy: &str) -> Run {
    let args = [
        "test",
        "--workspace",
        "--no-fail-fast",
        "--message-format",
        "json",
    ];
    let to_the_end = ["--preemptions", "9", "--strategy", strategy];
    workspace.chess(&[&args[..], &to_the_end].concat()).run()
}

/// Returns the verdict on `test`.
#[track_caller]
fn verdict(run: &Run, test: &str) -> Value {
    let found = run.verdicts().into_iter().find(|it| it["test"] == test);
    found.unwrap_or_else(|| panic!("no verdict on {test} in {run:?}"))
}

/// Panics unless `test` passed after exactly `schedules` schedules, and the search is complete.
#[track_caller]
fn assert_passed(run: &Run, test: &str, schedules: u64) {
    let verdict = verdict(run, test);
    assert_eq!(verdict["outcome"], "passed", "{verdict}");
    assert_eq!(verdict["complete"], true, "{verdict}");
    assert_eq!(verdict["schedules"], schedules, "{verdict}");
}

/// Panics unless `test` lost an update with one preemption.
#[track_caller]
fn assert_lost(run: &Run, test: &str) {
    let verdict = verdict(run, test);
    assert_eq!(verdict["kind"], "panic", "{verdict}");
    assert_eq!(verdict["preemptions"], 1, "{verdict}");
}

#[test]
fn each_call_into_an_atomic_dependency_is_one_step() {
    let run = explore(&Workspace::shared("policies"), "dpor");
    run.assert_code(100);
    // The orders of the calls of two tasks: 2 orders if each task has one call, 6 if each has two.
    assert_passed(&run, "near::within_a_call", 2);
    assert_passed(&run, "deep::within_a_call", 2);
    assert_passed(&run, "near::two_calls", 6);
    assert_passed(&run, "near::two_calls_on_one_line", 6);
    assert_lost(&run, "near::between_calls");
    assert_passed(&run, "of_one_task", 1);
}

#[test]
fn a_policy_takes_effect_at_the_next_run_and_rebuilds_its_packages() {
    let workspace = Workspace::copy_of("policies");
    explore(&workspace, "icb").assert_code(100);
    // Each case: a line of Chess.toml, whether a task can be preempted in the methods of the two
    // counters, and whether a build is needed.
    let cases = [
        ("policy = \"preempt\"", true, true, true),
        ("scope = [\"src/near.rs\"]", true, false, true),
        ("scope = [\"src/deep\"]", false, true, true),
        // The same configuration, written differently.
        ("scope = [\"store::deep\"]", false, true, false),
        ("scope = [\"store::near\"]", true, false, true),
        ("policy = \"opaque\"", false, false, true),
        ("policy = \"atomic\"", false, false, true),
    ];
    for (policy, near, deep, is_rebuilt) in cases {
        workspace.write("Chess.toml", &format!("[crates.store]\n{policy}\n"));
        let run = explore(&workspace, "icb");
        for (test, preempted) in [("near::within_a_call", near), ("deep::within_a_call", deep)] {
            if preempted {
                assert_lost(&run, test);
            } else {
                assert_passed(&run, test, 2);
            }
        }
        assert_lost(&run, "near::between_calls");
        let compiled = |package: &str| run.stderr.contains(&format!("Compiling {package} "));
        assert_eq!(compiled("store"), is_rebuilt, "{policy}: {run:?}");
        assert!(
            !compiled("shelf") && !compiled("member"),
            "{policy}: {run:?}"
        );
    }
}

#[test]
fn places_in_a_marked_package_are_those_of_cargo_test() {
    let workspace = Workspace::copy_of("policies");
    let args = ["test", "--offline", "-p", "member"];
    Chess::cargo(workspace.root(), &args).run().assert_code(0);
    let run = explore(&workspace, "icb");
    for test in [
        "files_are_found",
        "places_are_told",
        "panics_name_their_place",
    ] {
        assert_passed(&run, &format!("tests::{test}"), 1);
    }
}

#[test]
fn columns_are_those_of_the_users_line() {
    let workspace = Workspace::shared("policies");
    let run = explore(&workspace, "icb");
    let verdict = verdict(&run, "tests::fails_on_one_line");
    let text = std::fs::read_to_string(workspace.root().join("src/lib.rs")).unwrap();
    let assertion = "assert_eq!(count, 2)";
    let (index, line) = text
        .lines()
        .enumerate()
        .find(|(_, line)| line.contains(assertion))
        .expect("the assertion");
    assert_eq!(verdict["location"]["line"], index + 1, "{verdict}");
    let column = line.find(assertion).expect("the assertion") + 1;
    assert_eq!(verdict["location"]["column"], column, "{verdict}");
}

#[test]
fn an_edited_or_deleted_source_file_is_seen() {
    let workspace = Workspace::copy_of("policies");
    workspace.write("Chess.toml", "[crates.store]\npolicy = \"preempt\"\n");
    assert_lost(&explore(&workspace, "icb"), "near::within_a_call");

    let near = std::fs::read_to_string(workspace.root().join("store/src/near.rs")).unwrap();
    let wrong = "let seen = self.get(); self.set(seen + 1);";
    assert!(near.contains(wrong));
    workspace.write(
        "store/src/near.rs",
        &near.replace(wrong, "*self.0.lock().unwrap() += 1;"),
    );
    let run = explore(&workspace, "icb");
    assert_eq!(verdict(&run, "near::within_a_call")["outcome"], "passed");
    assert_lost(&run, "deep::within_a_call");

    std::fs::remove_dir_all(workspace.root().join("store/src/deep")).unwrap();
    workspace.write("store/src/lib.rs", "pub mod near;\npub use near as deep;\n");
    let run = explore(&workspace, "icb");
    assert_eq!(verdict(&run, "deep::within_a_call")["outcome"], "passed");
}

#[test]
fn spaces_in_the_path_change_nothing() {
    let workspace = Workspace::copy_called("a project, and its path", "policies");
    let args = [
        "test",
        "--workspace",
        "--no-fail-fast",
        "--message-format",
        "json",
    ];
    for policy in ["preempt", "atomic"] {
        workspace.write(
            "Chess.toml",
            &format!("[crates.store]\npolicy = \"{policy}\"\n"),
        );
        let run = workspace.chess(&args).run();
        let lost = if policy == "preempt" {
            "failed"
        } else {
            "passed"
        };
        assert_eq!(verdict(&run, "near::within_a_call")["outcome"], lost);
        assert_eq!(verdict(&run, "tests::files_are_found")["outcome"], "passed");
        assert_eq!(run.message().matches("warning").count(), 0, "{run:?}");
        let again = workspace.chess(&args).run();
        assert!(!again.stderr.contains("Compiling"), "{again:?}");
    }
}

#[test]
fn the_compiler_shows_the_users_own_text() {
    let workspace = Workspace::with_library(
        "pub fn f() { let unused = 1; drop(1); }\npub fn g() -> u32 { f(); \"text\" }\n",
    );
    let run = workspace.chess(&["test"]).run();
    run.assert_code(101);
    // The rest of the message depends on which of the library's two units was compiled first.
    let message = run.message();
    let (said, _) = message
        .split_once("For more information")
        .expect("an error with a number");
    insta::assert_snapshot!(said);

    workspace.write(
        "src/lib.rs",
        "pub fn f() { let unused = 1; drop(2); }\n\n#[test]\nfn t() { f(); f(); }\n",
    );
    let run = workspace.chess(&["test"]).run();
    run.assert_code(0);
    assert!(!run.stderr.contains("__chess_mark"), "{run:?}");
}

#[test]
fn a_marked_package_may_have_files_beside_it_and_files_of_any_name() {
    use std::ffi::OsStr;
    use std::os::unix::ffi::OsStrExt;

    let place = Workspace::empty();
    let package = |name: &str, rest: &str| {
        let head =
            format!("[package]\nname = \"{name}\"\nversion = \"0.1.0\"\nedition = \"2024\"\n");
        place.write(&format!("{name}/Cargo.toml"), &format!("{head}\n{rest}"));
    };
    package(
        "user",
        "[workspace]\n\n[dependencies]\nbeside = { path = \"../beside\" }\n",
    );
    package("beside", "");
    place.write("step.rs", "pub const STEP: u32 = 1;\n");
    place.write(
        "beside/src/lib.rs",
        "#[path = \"../../step.rs\"]\nmod step;\n\
         static COUNT: std::sync::Mutex<u32> = std::sync::Mutex::new(0);\n\
         pub fn get() -> u32 { *COUNT.lock().unwrap() }\n\
         pub fn bump() { let seen = get(); *COUNT.lock().unwrap() = seen + step::STEP; }\n",
    );
    place.write(
        "user/src/lib.rs",
        "#[test]\nfn two() {\n    let other = std::thread::spawn(beside::bump);\n    \
         beside::bump();\n    other.join().unwrap();\n    assert_eq!(beside::get(), 2);\n}\n",
    );
    place.write("user/Chess.toml", "[crates.beside]\npolicy = \"preempt\"\n");
    std::fs::write(
        place.root().join(OsStr::from_bytes(b"user/src/\xff.rs")),
        "",
    )
    .unwrap();
    std::fs::write(place.root().join(OsStr::from_bytes(b"beside/\xff")), "").unwrap();
    std::os::unix::fs::symlink(".", place.root().join("user/src/loop")).unwrap();

    let manifest = place.root().join("user/Cargo.toml");
    let explore = || {
        let run = place.chess(&["test", "--message-format", "json", "--manifest-path"]);
        run.arg(&manifest).run()
    };
    let run = explore();
    run.assert_code(100);
    assert_eq!(run.verdict()["preemptions"], 1, "{run:?}");
    assert!(!run.stderr.contains("warning"), "{run:?}");
    place.write("step.rs", "pub const STEP: u32 = 2;\n");
    let run = explore();
    assert!(run.stderr.contains("Compiling beside "), "{run:?}");
    assert_eq!(run.verdict()["preemptions"], 0, "{run:?}");
}
