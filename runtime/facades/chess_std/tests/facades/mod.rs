//! The libraries of the facades, built by cargo, and a call of the compiler that uses the facades in
//! place of std.

use std::path::{Path, PathBuf};
use std::process::{Command, Output};

/// The libraries of the facades.
pub(crate) struct Facades {
    /// The value `name=path` of `--extern` for each facade.
    externs: Vec<String>,
    dependencies: PathBuf,
}

impl Facades {
    pub(crate) fn build() -> Facades {
        let mut cargo = Command::new(env!("CARGO"));
        cargo.args(["build", "--message-format", "json", "--manifest-path"]);
        cargo.arg(Path::new(env!("CARGO_MANIFEST_DIR")).join("Cargo.toml"));
        cargo.args([
            "-p",
            "chess_std",
            "-p",
            "chess_core",
            "-p",
            "chess_alloc",
            "-p",
            "chess_test",
        ]);
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
            format!("noprelude:test={}", path_of("chess_test").display()),
        ];
        Facades {
            externs,
            dependencies: directory.join("deps"),
        }
    }

    /// Returns the compiler with the facades in place of std, as `cargo chess` calls it.
    pub(crate) fn rustc(&self) -> Command {
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

pub(crate) fn rustc() -> Command {
    let mut rustc = Command::new(std::env::var("RUSTC").unwrap_or_else(|_| "rustc".to_owned()));
    rustc.args(["--cap-lints", "allow"]);
    rustc
}

pub(crate) fn compile(rustc: &mut Command, program: &str, out: &Path) {
    let source = Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("tests/programs")
        .join(program);
    finished(rustc.arg(source.with_extension("rs")).arg("-o").arg(out));
}

pub(crate) fn run(program: &Path) -> String {
    String::from_utf8(finished(&mut Command::new(program)).stdout).expect("output in UTF-8")
}

pub(crate) fn finished(command: &mut Command) -> Output {
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

pub(crate) fn out_directory(name: &str) -> PathBuf {
    let directory = Path::new(env!("CARGO_TARGET_TMPDIR"))
        .join("unchanged")
        .join(name);
    std::fs::create_dir_all(&directory).expect("a directory for the programs");
    directory
}
