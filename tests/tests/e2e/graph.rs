//! Every kind of package that cargo supports is under control, or stays outside of control if
//! necessary.

use std::fs;

use end_to_end::{Expected, Run, Workspace};

const ARGS: [&str; 5] = [
    "test",
    "--workspace",
    "--no-fail-fast",
    "--message-format",
    "json",
];

#[test]
fn each_package_of_the_graph_is_redirected() {
    let workspace = Workspace::copy_of("graph");
    let before = workspace.tree();
    let run = workspace.chess(&ARGS).run();
    run.assert_code(100);
    Expected::of(workspace.root()).assert_met_by(&run);
    // The only warning is about a test of the procedural macro. A package that is compiled without
    // instrumentation would cause another one.
    let warnings = run.stderr.lines().filter(|it| it.starts_with("warning"));
    assert_eq!(warnings.count(), 1, "{run:?}");
    assert!(
        run.stderr
            .contains("warning: macros tests::threads_are_real: not explored")
    );
    before.assert_same_as(workspace.root());

    let again = workspace.chess(&ARGS).run();
    assert!(!again.stderr.contains("Compiling"), "{again:?}");
    Expected::of(workspace.root()).assert_met_by(&again);
}

#[test]
fn a_call_into_each_dependency_is_reported_with_its_version() {
    let workspace = Workspace::shared("graph");
    let run = workspace.chess(&ARGS).run();
    let printed = |test: &str| {
        let verdict = run.verdicts().into_iter().find(|it| it["test"] == test);
        verdict.expect("a verdict")["atomic"].to_string()
    };
    assert_eq!(printed("version_1"), r#"["near 1.0.0"]"#);
    assert_eq!(printed("version_2"), r#"["near 2.0.0"]"#);
    assert_eq!(printed("without_std"), r#"["bare 0.2.0"]"#);
    // The code that the build script of a member generates belongs to the member.
    assert_eq!(printed("build_script"), "[]");
    assert_eq!(printed("derive"), "[]");
}

#[test]
fn generated_code_is_treated_as_its_package() {
    let workspace = Workspace::copy_of("graph");
    workspace.write("Chess.toml", "[crates.generated]\npolicy = \"atomic\"\n");
    let run = workspace
        .chess(&ARGS)
        .arg("build_script")
        .arg("--exact")
        .run();
    run.assert_code(100);
    assert_eq!(
        run.verdict()["atomic"].to_string(),
        r#"["generated 0.7.0"]"#
    );
}

/// The library of the git repository. Its `bump` loses an update within a call.
const COUNTER: &str = "use std::sync::Mutex;

static COUNT: Mutex<u32> = Mutex::new(0);

pub fn get() -> u32 {
    *COUNT.lock().unwrap()
}

pub fn bump() {
    let seen = get();
    *COUNT.lock().unwrap() = seen + 1;
}
";

const TEST: &str = "#[test]
fn two_bumps() {
    let other = std::thread::spawn(counter::bump);
    counter::bump();
    other.join().unwrap();
    assert_eq!(counter::get(), 2);
}
";

#[test]
fn a_git_dependency_is_treated_as_chess_toml_says() {
    let place = Workspace::empty();
    let package = "[package]\nname = \"counter\"\nversion = \"3.1.0\"\nedition = \"2021\"\n";
    place.write("repository/Cargo.toml", package);
    place.write("repository/src/lib.rs", COUNTER);
    let script = "cd repository && git init -q && git add . && \
        git -c user.name=a -c user.email=a@example.org commit -q -m counter";
    place.shell(script).run().assert_code(0);
    let url = format!("file://{}/repository", place.root().display());
    let package = "[package]\nname = \"user\"\nversion = \"0.1.0\"\nedition = \"2024\"\n";
    let rest = format!("[workspace]\n\n[dependencies]\ncounter = {{ git = \"{url}\" }}\n");
    place.write("user/Cargo.toml", &format!("{package}\n{rest}"));
    place.write("user/src/lib.rs", TEST);

    let explore = |policy: &str| -> Run {
        if !policy.is_empty() {
            let text = format!("[crates.counter]\npolicy = \"{policy}\"\n");
            place.write("user/Chess.toml", &text);
        }
        let manifest = place.root().join("user/Cargo.toml");
        let run = place.chess(&["test", "--message-format", "json", "--manifest-path"]);
        // The checkout goes to a separate home directory of cargo.
        let run = run
            .arg(manifest)
            .env("CARGO_HOME", place.root().join("home"));
        run.run()
    };
    let run = explore("");
    run.assert_code(0);
    assert_eq!(run.verdict()["atomic"].to_string(), r#"["counter 3.1.0"]"#);
    let lock = fs::read(place.root().join("user/Cargo.lock")).expect("cargo made it");
    let run = explore("preempt");
    run.assert_code(100);
    assert_eq!(run.verdict()["preemptions"], 1, "{run:?}");
    let run = explore("opaque");
    run.assert_code(0);
    let printed = run.verdict()["outside"].to_string();
    assert!(printed.contains("counter 3.1.0"), "{printed}");
    explore("preempt").assert_code(100);
    let now = fs::read(place.root().join("user/Cargo.lock")).expect("cargo made it");
    assert_eq!(lock, now, "the lock file");
}
