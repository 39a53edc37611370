//! That nothing changes outside an execution: each program under `programs`
//! is compiled against std and against the facades, from the same source, and
//! both print the same.

use std::path::{Path, PathBuf};
use std::process::{Command, Output};

/// The facades' libraries, built as this test was.
struct Facades {
    /// `name=path` of each, as `--extern` takes it.
    externs: Vec<String>,
    dependencies: PathBuf,
}

const EDITIONS: [&str; 4] = ["2015", "2018", "2021", "2024"];

#[test]
fn locks_are_those_of_std() {
    prints_the_same("locks", &["2021", "2024"]);
}

#[test]
fn initialisation_is_that_of_std() {
    prints_the_same("initialisation", &["2021"]);
}

#[test]
fn channels_are_those_of_std() {
    prints_the_same("channels", &["2021"]);
}

#[test]
fn atomics_are_those_of_std() {
    prints_the_same("atomics", &["2021"]);
}

#[test]
fn threads_are_those_of_std() {
    prints_the_same("threads", &["2021"]);
}

#[test]
fn arcs_are_those_of_std() {
    prints_the_same("arcs", &["2021"]);
}

#[test]
fn layouts_are_those_of_std() {
    prints_the_same("layouts", &["2021"]);
}

#[test]
fn preludes_and_macros_of_every_edition_are_those_of_std() {
    prints_the_same("preludes", &EDITIONS);
}

#[test]
fn crates_without_std_share_the_types_of_those_with_it() {
    let facades = Facades::build();
    let out = out_directory("no_std");
    let mut library = facades.rustc();
    library.args([
        "--crate-type",
        "rlib",
        "--crate-name",
        "no_std",
        "--edition",
        "2021",
    ]);
    compile(&mut library, "no_std", &out.join("libno_std.rlib"));
    let mut program = facades.rustc();
    program.args(["--edition", "2021", "-L"]).arg(&out);
    compile(&mut program, "no_std_user", &out.join("user"));
    assert_eq!(run(&out.join("user")), "3 true\n");
}

fn prints_the_same(program: &str, editions: &[&str]) {
    let facades = Facades::build();
    for edition in editions {
        let out = out_directory(&format!("{program}-{edition}"));
        let mut plain = rustc();
        compile(
            plain.args(["--edition", edition]),
            program,
            &out.join("plain"),
        );
        let mut swapped = facades.rustc();
        compile(
            swapped.args(["--edition", edition]),
            program,
            &out.join("swapped"),
        );
        let expected = run(&out.join("plain"));
        assert!(!expected.is_empty(), "{program} shows nothing");
        assert_eq!(
            run(&out.join("swapped")),
            expected,
            "{program}, edition {edition}"
        );
    }
}

impl Facades {
    fn build() -> Facades {
        let mut cargo = Command::new(env!("CARGO"));
        cargo.args(["build", "--message-format", "json", "--manifest-path"]);
        cargo.arg(Path::new(env!("CARGO_MANIFEST_DIR")).join("Cargo.toml"));
        cargo.args(["-p", "chess_std", "-p", "chess_core", "-p", "chess_alloc"]);
        let output = finished(&mut cargo);
        let messages = String::from_utf8(output.stdout).expect("JSON in UTF-8");
        let path_of = |name: &str| {
            let file = format!("lib{name}.rlib");
            let is_wanted = |text: &&str| Path::new(text).file_name().is_some_and(|f| *f == *file);
            let found = messages.split('"').find(is_wanted);
            PathBuf::from(found.unwrap_or_else(|| panic!("cargo built no {file}:\n{messages}")))
        };
        let std = path_of("chess_std");
        let directory = std.parent().expect("a directory");
        let externs = vec![
            format!("std={}", std.display()),
            format!("core={}", path_of("chess_core").display()),
            format!("noprelude:alloc={}", path_of("chess_alloc").display()),
        ];
        Facades {
            externs,
            dependencies: directory.join("deps"),
        }
    }

    /// The compiler, with the facades where std was: as `cargo chess` calls it.
    fn rustc(&self) -> Command {
        let mut rustc = rustc();
        rustc
            .env("RUSTC_BOOTSTRAP", "1")
            .args(["-Zunstable-options", "-L"]);
        rustc.arg(format!("dependency={}", self.dependencies.display()));
        for facade in &self.externs {
            rustc.args(["--extern", facade]);
        }
        rustc
    }
}

fn rustc() -> Command {
    let mut rustc = Command::new(std::env::var("RUSTC").unwrap_or_else(|_| "rustc".to_owned()));
    rustc.args(["--cap-lints", "allow"]);
    rustc
}

fn compile(rustc: &mut Command, program: &str, out: &Path) {
    let source = Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("tests/programs")
        .join(program);
    finished(rustc.arg(source.with_extension("rs")).arg("-o").arg(out));
}

fn run(program: &Path) -> String {
    String::from_utf8(finished(&mut Command::new(program)).stdout).expect("output in UTF-8")
}

fn finished(command: &mut Command) -> Output {
    let output = command
        .output()
        .unwrap_or_else(|error| panic!("{command:?}: {error}"));
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(
        output.status.success(),
        "{command:?}: {}\n{errors}",
        output.status
    );
    output
}

fn out_directory(name: &str) -> PathBuf {
    let directory = Path::new(env!("CARGO_TARGET_TMPDIR"))
        .join("unchanged")
        .join(name);
    std::fs::create_dir_all(&directory).expect("a directory for the programs");
    directory
}
