//! Behaviour inside an execution: under every schedule with up to two preemptions, the shims
//! behave as std documents, and the search finds each behaviour that std permits. The name of each
//! test in `programs/inside_*.rs` begins with the expected result.

mod facades;

use std::fmt::Write;
use std::path::Path;
use std::process::Command;

use facades::{Facades, compile, finished, out_directory};

#[test]
fn the_search_finds_the_behaviour_that_std_allows_of_locks_and_nothing_else() {
    assert_verdicts("inside_locks", 25);
}

#[test]
fn the_search_finds_the_behaviour_that_std_allows_of_threads_and_nothing_else() {
    assert_verdicts("inside_threads", 25);
}

#[test]
fn the_search_sees_the_fences_in_inline_assembly_and_chooses_draws() {
    assert_verdicts("inside_assembly", 13);
}

#[test]
fn inline_assembly_outside_control_is_named() {
    let program = build("inside_assembly", "");
    let named = |test| {
        let finished = explore(&program, test, 2, "fibers");
        let (_, rest) = finished.split_once("\"outside\":[").expect("a list");
        rest.split(']').next().unwrap_or_default().to_owned()
    };
    let fence = "fails_by_panic_so_is_one_on_a_local_variable";
    assert_eq!(named(fence), "");
    let exchange = named("fails_by_panic_an_exchange_with_memory_is_a_scheduling_point");
    let effect = r#"{"kind":"assembly-memory","location":{"file":"program.rs","line":"#;
    assert!(exchange.starts_with(effect), "{exchange}");
    let call = named("passed_a_call_of_the_kernel_is_no_scheduling_point");
    let effect = r#"{"kind":"assembly-kernel","location":{"file":"program.rs","line":"#;
    assert!(call.starts_with(effect), "{call}");
}

/// Explores all tests of a program on both backends, and checks their results. The program must
/// have at least `tests` tests, and the name of each test must begin with its expected result.
fn assert_verdicts(program: &str, tests: usize) {
    let program = build(program, "");
    let list = finished(Command::new(&program).args(["--list", "--format", "terse"]));
    let list = String::from_utf8(list.stdout).expect("names in UTF-8");
    let names: Vec<&str> = list
        .lines()
        .filter_map(|line| line.strip_suffix(": test"))
        .collect();
    assert!(names.len() >= tests, "only {names:?}");
    let mut wrong = String::new();
    for backend in ["fibers", "threads"] {
        for name in &names {
            let finished = explore(&program, name, 2, backend);
            let found = match value(&finished, "outcome") {
                "failed" => format!("fails_by_{}", value(&finished, "kind")),
                other => other.to_owned(),
            };
            if !name.starts_with(&found) {
                let message = value(&finished, "message");
                writeln!(wrong, "{name} on {backend}: {found}: {message}").unwrap();
            }
        }
    }
    assert!(
        wrong.is_empty(),
        "verdicts that std does not warrant:\n{wrong}"
    );
}

/// Compares programs of `unchanged.rs`: inside an execution they must print the same.
#[test]
fn programs_print_the_same_inside_an_execution() {
    for name in [
        "locks",
        "initialisation",
        "channels",
        "atomics",
        "arcs",
        "layouts",
    ] {
        let entry = "#[test] fn shown() { main(); panic!(\"end of output\") }";
        let program = build(name, entry);
        let printed = unescape(value(&explore(&program, "shown", 0, "fibers"), "output"));
        let out = out_directory(&format!("{name}-real"));
        compile(
            facades::rustc().args(["--edition", "2021"]),
            name,
            &out.join("real"),
        );
        let expected = facades::run(&out.join("real"));
        // The panic hook of a program also prints the last panic.
        let printed = printed
            .strip_suffix("panic: end of output\n")
            .unwrap_or(&printed);
        assert_eq!(printed, expected, "{name}");
    }
}

/// Builds a program's tests as `cargo chess` would, with `more` appended to its source.
fn build(name: &str, more: &str) -> std::path::PathBuf {
    let out = out_directory(&format!("{name}-inside"));
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join(format!("tests/programs/{name}.rs"));
    let text = std::fs::read_to_string(source).expect("a program") + more;
    std::fs::write(out.join("program.rs"), text).expect("a copy of the program");
    let mut rustc = Facades::build().rustc();
    rustc.args(["--test", "--edition", "2021", "program.rs", "-o", "program"]);
    finished(rustc.current_dir(&out));
    out.join("program")
}

/// Returns the report of a test's exploration.
fn explore(program: &Path, test: &str, preemptions: u32, backend: &str) -> String {
    let request = format!(
        "mode=explore\nstrategy=icb\npreemptions={preemptions}\nschedules=20000\nbackend={backend}"
    );
    let mut command = Command::new(program);
    let output = finished(
        command
            .args(["--exact", test])
            .env("CHESS_REQUEST", request),
    );
    let lines = String::from_utf8(output.stdout).expect("JSON in UTF-8");
    let last = lines.lines().last().unwrap_or_default();
    assert_eq!(value(last, "type"), "finished", "{test}: {lines}");
    last.to_owned()
}

/// Returns the value of a string member in a line of JSON, still escaped. Returns an empty text if
/// the member is missing or `null`.
fn value<'a>(line: &'a str, key: &str) -> &'a str {
    let start = format!("\"{key}\":\"");
    let Some(at) = line.find(&start) else {
        return "";
    };
    let rest = &line[at + start.len()..];
    let mut escaped = false;
    let end = rest.find(|c| {
        let ends = c == '"' && !escaped;
        escaped = c == '\\' && !escaped;
        ends
    });
    &rest[..end.unwrap_or(rest.len())]
}

fn unescape(text: &str) -> String {
    let mut plain = String::new();
    let mut characters = text.chars();
    while let Some(character) = characters.next() {
        if character != '\\' {
            plain.push(character);
            continue;
        }
        match characters.next() {
            Some('n') => plain.push('\n'),
            Some('t') => plain.push('\t'),
            Some('u') => {
                let digits: String = characters.by_ref().take(4).collect();
                let code = u32::from_str_radix(&digits, 16).expect("four digits");
                plain.push(char::from_u32(code).expect("a character"));
            }
            Some(other) => plain.push(other),
            None => {}
        }
    }
    plain
}
