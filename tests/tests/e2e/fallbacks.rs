//! Packages that do not compile under their policy are reported, and compiled with less
//! instrumentation. It is an error if nothing is left to explore.

use std::fs;
use std::os::unix::fs::PermissionsExt;

use end_to_end::{Run, Workspace};

const ARGS: [&str; 4] = ["test", "--no-fail-fast", "--message-format", "json"];

/// Returns the warnings on standard error, in order.
fn warnings(run: &Run) -> String {
    let lines = run.stderr.lines();
    let warnings: Vec<&str> = lines.filter(|line| line.starts_with("warning: ")).collect();
    warnings.join("\n")
}

#[test]
fn code_that_does_not_compile_redirected_or_marked_is_reported_in_each_run() {
    let workspace = Workspace::copy_of("fallbacks");
    let first = workspace.chess(&ARGS).run();
    first.assert_code(100);
    insta::assert_snapshot!(warnings(&first));
    for verdict in first.verdicts() {
        // Code without marks still uses the shims: each of these tests still loses its update.
        assert_eq!(verdict["kind"], "panic", "{verdict}");
        assert_eq!(verdict["preemptions"], 1, "{verdict}");
        let test = verdict["test"].as_str().expect("a name");
        let package = test.rsplit('_').next().expect("a package");
        let is_reported = verdict["outside"].to_string().contains(package);
        assert_eq!(
            is_reported,
            ["relies", "member"].contains(&package),
            "{verdict}"
        );
    }

    let second = workspace.chess(&ARGS).run();
    assert!(!second.stderr.contains("Compiling"), "{second:?}");
    assert_eq!(warnings(&second), warnings(&first));
    assert_eq!(first.verdicts().len(), 4);
    assert_eq!(second.verdicts().len(), 4);

    let list = workspace.chess(&["list"]).run();
    list.assert_code(0);
    insta::assert_snapshot!(list.stdout);
}

#[test]
fn a_package_that_compiles_again_is_no_longer_reported() {
    let workspace = Workspace::copy_of("fallbacks");
    workspace.chess(&ARGS).run().assert_code(100);
    let file = "relies/src/lib.rs";
    let text = std::fs::read_to_string(workspace.root().join(file)).unwrap();
    workspace.write(file, &text.replace("(needs_drop", "(true | needs_drop"));
    let run = workspace.chess(&ARGS).run();
    assert!(!warnings(&run).contains("relies"), "{run:?}");
}

#[test]
fn two_types_of_one_name_are_explained() {
    let workspace = Workspace::copy_of("fallbacks");
    workspace.write("Chess.toml", "[crates]\nshares = { policy = \"opaque\" }\n");
    let run = workspace.chess(&["test", "--features", "shares"]).run();
    run.assert_code(101);
    let (_, said) = run
        .stderr
        .split_once("\nThese packages are compiled unchanged: ")
        .expect("an explanation");
    let (named, _) = said.split_once(". ").expect("a sentence");
    assert!(named.contains("shares 0.4.0 (policy `opaque`)"), "{run:?}");
    assert!(
        said.contains(
            "fallbacks 0.1.0 does not compile with cargo chess's replacements for std: mismatched types (src/lib.rs:12)"
        ),
        "{run:?}"
    );
}

#[test]
fn a_run_in_which_no_test_is_under_control_is_an_error() {
    let workspace = Workspace::copy_of("policies");
    workspace.write("Chess.toml", "[policy]\nworkspace = \"opaque\"\n");
    let run = workspace.chess(&["test"]).run();
    run.assert_code(1);
    insta::assert_snapshot!(error(&run));
    let tolerated = workspace.chess(&["test", "--no-tests", "pass"]).run();
    tolerated.assert_code(0);

    let workspace = Workspace::with_library("#[test]\nfn plain() {}\n");
    workspace.write(
        "Cargo.toml",
        "[package]\nname = \"small\"\nversion = \"0.1.0\"\nedition = \"2024\"\n\n[lib]\nproc-macro = true\n\n[workspace]\n",
    );
    let run = workspace.chess(&["test"]).run();
    run.assert_code(1);
    insta::assert_snapshot!(error(&run));
}

/// A test with a race. The race is found only if the test is compiled with hooks before its
/// accesses.
const UNWATCHED: &str = r#"
#![feature(cfg_sanitize)]
#![cfg(test)]

#[cfg(sanitize = "thread")]
compile_error!("this is no place for a sanitizer");

static mut COUNT: u32 = 0;

#[test]
fn two_writers() {
    std::thread::scope(|scope| {
        scope.spawn(|| unsafe { COUNT = 1 });
        unsafe { COUNT = 2 };
    });
}
"#;

#[test]
fn a_unit_that_does_not_compile_with_hooks_is_compiled_without_them() {
    let workspace = Workspace::with_library(UNWATCHED);
    let run = workspace.chess(&["test"]).run();
    run.assert_code(0);
    insta::assert_snapshot!(warnings(&run));
}

/// Returns the error that ended the run.
fn error(run: &Run) -> &str {
    let at = run
        .stderr
        .find("error: ")
        .unwrap_or_else(|| panic!("no error in {run:?}"));
    &run.stderr[at..]
}

/// Returns the warnings of a run whose linker is a script. The script is called `name` and has the
/// content `script`.
fn warnings_of_linker(name: &str, script: &str) -> String {
    let workspace = Workspace::copy_of("opaque");
    workspace.write(name, &format!("#!/bin/sh\n{script}\n"));
    let linker = workspace.root().join(name);
    fs::set_permissions(&linker, fs::Permissions::from_mode(0o755)).expect("it is ours");
    let run = workspace
        .chess(&["test", "--test", "c_memory", "number::fixed"])
        .env("RUSTFLAGS", format!("-Clinker={}", linker.display()))
        .run();
    run.assert_code(0);
    warnings(&run)
}

#[test]
fn a_linker_that_takes_no_stubs_is_reported() {
    let script = "for arg; do case $arg in -Wl,--wrap=*) exit 1;; esac; done\nexec cc \"$@\"";
    insta::assert_snapshot!(warnings_of_linker("without-wrap", script));
}

#[test]
fn a_linker_that_is_no_compiler_is_reported() {
    let script = r#"for arg; do
    shift
    case $arg in
        -[!loL]*) set -- "$@" "-Wl,$arg" ;;
        *) set -- "$@" "$arg" ;;
    esac
done
exec cc "$@""#;
    insta::assert_snapshot!(warnings_of_linker("bare-ld", script));
}
