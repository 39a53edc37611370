//! Unsupported compilers are rejected in one sentence. Installed compilers of other channels are
//! tried.

use std::path::PathBuf;

use end_to_end::{LOSES_AN_UPDATE, Run, Workspace};

/// Returns a compiler that reports the version `release`. `more` is a part of its script: further
/// cases of its arguments.
fn compiler(workspace: &Workspace, release: &str, more: &str) -> PathBuf {
    let script = format!(
        "#!/bin/sh\n\
         case \"$*\" in\n\
         -vV) rustc -vV | sed -e 's/^rustc [^ ]*/rustc {release}/' -e 's/^release: .*/release: {release}/' ;;\n\
         {more}\n\
         *) exec rustc \"$@\" ;;\n\
         esac\n"
    );
    workspace.write("rustc-of-another-version", &script);
    let script = "chmod +x rustc-of-another-version";
    workspace.shell(script).run().assert_code(0);
    workspace.root().join("rustc-of-another-version")
}

/// Returns the error of a run. The run must have exactly one error, in a single line.
fn sentence(run: &Run) -> &str {
    let lines: Vec<&str> = run.stderr.lines().collect();
    let errors = lines.iter().filter(|line| line.starts_with("error: "));
    assert_eq!(errors.count(), 1, "{run:?}");
    let last = lines.last().expect("there is an error");
    assert!(last.starts_with("error: "), "{run:?}");
    last
}

#[test]
fn an_old_compiler_is_refused_before_anything_is_built() {
    let workspace = Workspace::with_library(LOSES_AN_UPDATE);
    let rustc = compiler(&workspace, "1.80.1", "");
    for command in ["test", "list", "rewrite"] {
        let run = workspace.chess(&[command]).env("RUSTC", &rustc).run();
        run.assert_code(1);
        assert_eq!(run.stderr.lines().count(), 1, "{run:?}");
        let said = sentence(&run);
        assert!(said.contains("rustc 1.80.1 "), "{said}");
        assert!(said.contains("stable Rust 1.93 to 1.95, and for beta and nightly"));
        assert!(said.contains("`cargo +stable chess test`"), "{said}");
    }
    assert!(!workspace.root().join("target").exists());
}

#[test]
fn a_project_that_asks_for_an_old_compiler_gets_an_error_with_the_place() {
    let workspace = Workspace::with_library(LOSES_AN_UPDATE);
    let toolchain = "[toolchain]\nchannel = \"1.80\"\n";
    workspace.write("rust-toolchain.toml", toolchain);
    // With this file present, rustup would install the compiler.
    let script = "real=$(rustc --print sysroot); mkdir bin; ln -s \"$real/bin/rustc\" bin/rustc";
    let script =
        format!("rm rust-toolchain.toml; {script}; printf '{toolchain}' > rust-toolchain.toml");
    workspace.shell(&script).run().assert_code(0);
    let rustc = compiler(&workspace, "1.80.1", "");
    let path = std::env::var("PATH").expect("there is one");
    let bin = workspace.root().join("bin");
    let run = workspace
        .chess(&["test"])
        .env("RUSTC", &rustc)
        .env("RUSTUP_TOOLCHAIN", "1.80-x86_64-unknown-linux-gnu")
        .env("PATH", format!("{}:{path}", bin.display()))
        .run();
    run.assert_code(1);
    let said = sentence(&run);
    let file = workspace.root().join("rust-toolchain.toml");
    assert!(
        said.contains(&format!("{} selects this version", file.display())),
        "{said}"
    );
}

#[test]
fn a_new_compiler_that_does_not_accept_the_runtime_is_refused_and_its_words_are_kept() {
    let workspace = Workspace::with_library(LOSES_AN_UPDATE);
    let cache = workspace.root().join("cache");
    for (name, release, problem) in [
        (
            "chess_runtime",
            "1.99.0-nightly",
            "crate chess_runtime does not compile",
        ),
        (
            "chess_canary",
            "1.99.0",
            "does not accept the facades in place of the standard library",
        ),
    ] {
        // To save time, the compiler does not compile the other crates of the tool.
        let makes = "for last; do :; done; touch \"$(dirname \"$0\")/made\"";
        let more = format!(
            "*chess_canary*|*{name}*) echo 'error: the library is another one' >&2; exit 1 ;;\n\
             *--crate-name?chess_*) {makes} ;;"
        );
        let rustc = compiler(&workspace, release, &more);
        let run = workspace
            .chess(&["test"])
            .env("RUSTC", &rustc)
            .env("CHESS_CACHE_DIR", &cache)
            .run();
        run.assert_code(1);
        let said = sentence(&run);
        let start = format!("error: rustc {release} ");
        assert!(said.starts_with(&start), "{said}");
        assert!(
            said.contains("does not accept the runtime of cargo chess"),
            "{said}"
        );
        let log = workspace.root().join("target/chess/unsupported-rustc.log");
        assert!(said.ends_with(&log.display().to_string()), "{said}");
        let kept = std::fs::read_to_string(log).expect("it was kept");
        assert!(kept.contains(problem), "{kept}");
        assert!(
            kept.ends_with("error: the library is another one\n"),
            "{kept}"
        );
    }
}

/// The test leaves out compilers that rustup has not installed.
#[test]
fn beta_and_nightly_explore_or_are_refused() {
    for channel in ["beta", "nightly"] {
        let workspace = Workspace::with_library(LOSES_AN_UPDATE);
        let script = format!("rustup run {channel} rustc -vV");
        if workspace.shell(&script).run().code != Some(0) {
            continue;
        }
        let run = workspace
            .chess(&["test"])
            .env("RUSTUP_TOOLCHAIN", channel)
            .run();
        if run.code == Some(1) {
            let said = sentence(&run);
            assert!(said.contains("does not accept the runtime"), "{said}");
        } else {
            run.assert_code(100);
        }
    }
}
