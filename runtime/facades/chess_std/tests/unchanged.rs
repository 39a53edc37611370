//! Equal behaviour outside an execution: programs under `programs` are compiled against std and
//! against the facades, from the same source, and both must print the same. Programs that std cannot
//! compile must print a given text.

#[path = "facades/mod.rs"]
mod facades;

use facades::{Facades, compile, out_directory, run, rustc};

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
fn waits_for_signals_are_those_of_libc() {
    prints_the_same("signals", &["2024"]);
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
fn inline_assembly_is_that_of_std() {
    prints_the_same("assembly", &EDITIONS);
}

#[test]
fn statements_can_be_marked_in_every_edition() {
    let facades = Facades::build();
    for edition in EDITIONS {
        let out = out_directory(&format!("marks-{edition}"));
        let mut program = facades.rustc();
        program.args(["--edition", edition]);
        compile(&mut program, "marks", &out.join("marks"));
        assert_eq!(run(&out.join("marks")), "1 2 1\n", "edition {edition}");
    }
}

#[test]
fn borrows_can_be_reported_in_every_edition() {
    let facades = Facades::build();
    for edition in EDITIONS {
        let out = out_directory(&format!("borrows-{edition}"));
        let mut program = facades.rustc();
        program.args(["--edition", edition]);
        compile(&mut program, "borrows", &out.join("borrows"));
        assert_eq!(
            run(&out.join("borrows")),
            "2 [5, 2] 6 8 4\n",
            "edition {edition}"
        );
    }
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
