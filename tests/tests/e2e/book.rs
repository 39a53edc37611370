//! The book: every command in it runs and prints the output in the book, and all commands and
//! options are mentioned.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use end_to_end::{Block, Chess, Run, blocks, wants, with_method};
use regex::Regex;
use serde_json::Value;
use tempfile::TempDir;

const REPOSITORY: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/..");
const BOOK: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../cargo-chess/book/src");

/// A placeholder for any number of lines.
const ELISION: &str = "[...]";

fn chapter(name: &str) -> String {
    let path = Path::new(BOOK).join(name);
    fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

/// Returns the lines of `text` without cargo's progress and without trailing white space. Times
/// and the digits of ids are replaced by placeholders.
fn shown(text: &str) -> Vec<String> {
    let of_cargo = Regex::new(
        r"^ +(Compiling|Finished `|Waiting for another|Blocking|Locking|Adding|Updating|Building the runtime) ?",
    )
    .unwrap();
    let filters = [
        (r"\b\d+\.\d\ds\b", "[time]"),
        (r"-[0-9a-f]{4}\.chess\b", "-[id].chess"),
        (r"\breplay [0-9a-f]{4}\b", "replay [id]"),
    ];
    let mut text = text.to_owned();
    for (pattern, replacement) in filters {
        let pattern = Regex::new(pattern).expect("it is a pattern");
        text = pattern.replace_all(&text, replacement).into_owned();
    }
    let lines = text.lines().filter(|line| !of_cargo.is_match(line));
    let lines: Vec<_> = lines.map(|line| line.trim_end().to_owned()).collect();
    trimmed(&lines).to_vec()
}

/// Returns `lines` without the empty ones at both ends.
fn trimmed(lines: &[String]) -> &[String] {
    let is_blank = |line: &&String| line.is_empty();
    let before = lines.iter().take_while(is_blank).count();
    let after = lines[before..].iter().rev().take_while(is_blank).count();
    &lines[before..lines.len() - after]
}

/// Whether `actual` matches `expected`, in which an elision matches any lines.
fn fits(expected: &[String], actual: &[String]) -> bool {
    let mut parts = expected.split(|line| line == ELISION).map(trimmed);
    let first = parts.next().unwrap_or_default();
    let Some(mut rest) = actual.strip_prefix(first) else {
        return false;
    };
    let parts: Vec<_> = parts.collect();
    let Some((last, between)) = parts.split_last() else {
        return rest.is_empty();
    };
    for part in between.iter().filter(|part| !part.is_empty()) {
        match rest.windows(part.len()).position(|it| it == *part) {
            Some(at) => rest = &rest[at + part.len()..],
            None => return false,
        }
    }
    rest.ends_with(last)
}

/// A reader who follows the instructions of a chapter.
struct Reader {
    /// The directory of the reader's work, outside of this repository.
    place: TempDir,
    /// The directory of the file `cwd`, which contains the path of the reader's current directory.
    notes: TempDir,
    /// Pairs of an id in the book and the id that this run has in its place.
    ids: Vec<(String, String)>,
}

impl Reader {
    fn new() -> Self {
        let directory = || tempfile::tempdir().expect("a directory outside of the repository");
        let reader = Self {
            place: directory(),
            notes: directory(),
            ids: Vec::new(),
        };
        let here = reader.place.path().to_string_lossy().into_owned();
        fs::write(reader.notes.path().join("cwd"), here).expect("writable");
        reader
    }

    fn directory(&self) -> PathBuf {
        let cwd = fs::read_to_string(self.notes.path().join("cwd")).expect("it is kept");
        cwd.trim_end().into()
    }

    fn run(&self, command: &str) -> Run {
        const SCRIPT: &str = "PATH=\"${CHESS%/*}:$PATH\"; set +eu; eval \"$2\"; code=$?; pwd > \"$1/cwd\"; exit $code";
        let mut command = command.to_owned();
        // The reader uses the crate of this revision.
        let added = "cargo add --quiet --dev chess-spec";
        command = command.replace(added, &format!("{added} --path {REPOSITORY}/runtime/spec"));
        for (written, here) in &self.ids {
            command = command.replace(&format!("replay {written}"), &format!("replay {here}"));
        }
        Chess::in_shell(&self.directory(), SCRIPT)
            .arg("sh")
            .arg(self.notes.path())
            .arg(command)
            .env("GIT_AUTHOR_NAME", "Reader")
            .env("GIT_AUTHOR_EMAIL", "reader@example.org")
            .env("GIT_COMMITTER_NAME", "Reader")
            .env("GIT_COMMITTER_EMAIL", "reader@example.org")
            .run()
    }

    fn work_through(&mut self, block: &Block) {
        if let Some(file) = block.file() {
            let text = block.lines.join("\n") + "\n";
            fs::write(self.directory().join(file), text).expect("writable");
        }
        if let Some(file) = block.file_of_method() {
            let file = self.directory().join(file);
            let source = fs::read_to_string(&file).expect("readable");
            let source = with_method(&source, &block.lines.join("\n"));
            fs::write(file, source).expect("writable");
        }
        if block.mark == "needs cargo nextest" && !wants("cargo nextest") {
            return;
        }
        let code = block.mark.strip_prefix("exit ");
        let code = code.map_or(0, |code| code.parse().expect("an exit code"));
        for (command, expected) in block.commands() {
            let run = self.run(&command);
            run.assert_code(code);
            if block.language == "sh" {
                continue;
            }
            let here = self.place.path().to_string_lossy();
            let said = format!("{}{}", run.stderr, run.stdout).replace(&*here, "/home/you");
            let expected = expected.join("\n");
            let id = |text: &str| {
                let (_, rest) = text.split_once("cargo chess replay ")?;
                rest.get(..4).map(str::to_owned)
            };
            self.ids.extend(id(&expected).zip(id(&said)));
            let (expected, actual) = (shown(&expected), shown(&said));
            assert!(
                fits(&expected, &actual),
                "`{command}` prints\n{}\n\nwhere the book has\n{}",
                actual.join("\n"),
                expected.join("\n"),
            );
        }
    }
}

/// Follows the instructions of a chapter, in its order.
fn work_through(name: &str) {
    work_through_text(name, &chapter(name));
}

fn work_through_text(name: &str, text: &str) {
    let blocks = blocks(text);
    let commands = blocks.iter().flat_map(Block::commands).count();
    assert!(commands > 0, "{name} has no command");
    let mut reader = Reader::new();
    for block in &blocks {
        reader.work_through(block);
    }
}

macro_rules! chapters {
    ($($test:ident: $name:literal;)*) => {
        const RUN: &[&str] = &[$($name),*];
        $(#[test] fn $test() { work_through($name); })*
    };
}

chapters! {
    five_minutes: "start.md";
    reading_a_report: "reports.md";
    choices_of_a_test: "choices.md";
    linearizability: "linearizability.md";
    faults: "faults.md";
    coverage: "coverage.md";
    models_and_properties_of_a_test: "models.md";
    services: "services.md";
    tests_that_explore_well: "tests.md";
    chess_toml: "chess-toml.md";
    strategies: "strategies.md";
    ci_the_gate_exit_codes_shards_and_nextest: "ci.md";
    editors_shells_and_scripts: "editors.md";
    how_it_works: "how-it-works.md";
}

/// The chapter that the tests in `tour.rs` check, because it needs a debugger.
const TOUR: &str = "tour.md";

#[test]
fn the_quick_start_of_the_readme() {
    let readme = chapter("../../../README.md");
    let (_, section) = readme
        .split_once("\n## Quick start\n")
        .expect("it is there");
    let (section, _) = section.split_once("\n## ").expect("another one follows");
    work_through_text("README.md", section);
    // The report at the top of the README is that of the same example in the book.
    let shown = blocks(&readme);
    let report = shown.iter().find(|block| block.language == "console");
    let report = report.expect("a report").lines.join("\n");
    assert!(chapter("start.md").contains(&report), "{report}");
}

#[test]
fn every_chapter_is_in_the_summary_and_every_one_with_commands_is_worked_through() {
    let link = Regex::new(r"\]\(([\w-]+\.md)\)").unwrap();
    let links = |text: &str| -> BTreeSet<String> {
        link.captures_iter(text)
            .map(|it| it[1].to_owned())
            .collect()
    };
    let summary = links(&chapter("SUMMARY.md"));
    let files = fs::read_dir(BOOK).expect("readable").flatten();
    let files = files.map(|file| file.file_name().to_string_lossy().into_owned());
    let files: BTreeSet<_> = files
        .filter(|name| name != "SUMMARY.md" && name != "services.svg")
        .collect();
    assert_eq!(summary, files);
    for name in files {
        let text = chapter(&name);
        let dead: Vec<_> = links(&text).difference(&summary).cloned().collect();
        assert!(dead.is_empty(), "{name} leads to {dead:?}");
        let runs = blocks(&text)
            .iter()
            .any(|block| !block.commands().is_empty());
        assert_eq!(runs, RUN.contains(&&*name) || name == TOUR, "{name}");
    }
}

#[test]
fn the_files_that_the_book_includes_exist() {
    let include = Regex::new(r"\{\{#include ([^:}]+):(\w+)\}\}").unwrap();
    let text = chapter("extending.md");
    let include = include.captures(&text).expect("it includes something");
    let text = chapter(&include[1]);
    let (begin, end) = (
        format!("<!-- ANCHOR: {} -->", &include[2]),
        format!("<!-- ANCHOR_END: {} -->", &include[2]),
    );
    let (_, rest) = text.split_once(&begin).expect("it begins");
    let (inner, _) = rest.split_once(&end).expect("it ends");
    let lines = inner.lines().count();
    assert!(lines > 80, "{lines} lines");
}

#[test]
fn the_reference_has_the_keys_that_are_parsed() {
    let run = Reader::new().run("cargo chess schema config");
    run.assert_code(0);
    let schema: Value = serde_json::from_str(&run.stdout).expect("JSON");
    let text = chapter("chess-toml.md");
    let row = |key: &str| {
        let start = format!("| `{key}` |");
        let row = text.lines().find(|line| line.starts_with(&start));
        row.unwrap_or_else(|| panic!("no row for {key}")).to_owned()
    };
    let keys = |value: &Value| -> Vec<String> {
        value
            .as_object()
            .expect("an object")
            .keys()
            .cloned()
            .collect()
    };
    let explore = &schema["$defs"]["explore"]["properties"];
    for key in keys(explore) {
        let row = row(&key);
        // If a field is a list, the names are one level deeper.
        let names = [
            &explore[&key]["enum"],
            &explore[&key]["anyOf"][0]["anyOf"][0]["enum"],
        ];
        let names = names.into_iter().filter_map(Value::as_array).flatten();
        for name in names.filter_map(Value::as_str) {
            assert!(row.contains(&format!("`{name}`")), "{name} in {row}");
        }
    }
    for key in keys(&schema["properties"]["policy"]["properties"]) {
        row(&format!("policy.{key}"));
    }
    for key in keys(&schema["properties"]["crates"]["additionalProperties"]["properties"]) {
        row(&format!("crates.NAME.{key}"));
    }
    for key in keys(&schema["properties"]["exclusive"]["items"]["properties"]) {
        row(&format!("exclusive.{key}"));
    }
    let rows = text.lines().filter(|line| line.starts_with("| `")).count();
    assert_eq!(
        rows,
        keys(explore).len() + 9,
        "rows of keys that there are not"
    );
}

#[test]
fn the_defaults_of_the_reference_are_the_defaults() {
    let rows = chapter("chess-toml.md");
    let rows = rows
        .lines()
        .filter(|line| line.starts_with("| `") && !line.contains('.'));
    let rows = rows.map(|row| row.split('|').map(str::trim).collect::<Vec<_>>());
    let rows = rows.filter(|row| row[3] != "none");
    let lines = rows.map(|row| [row[1], "=", row[3]].join(" ").replace('`', ""));
    let init = Reader::new();
    init.run("cargo new --quiet --lib x && cd x && cargo chess init")
        .assert_code(0);
    let file = fs::read_to_string(init.directory().join("Chess.toml")).expect("written");
    for line in lines {
        // Another test checks that the defaults in the file of `init` are those of the tool.
        assert!(file.contains(&format!("# {line} ")), "{line}\n{file}");
    }
}

#[test]
fn problem_matchers_match_the_output() {
    let blocks = blocks(&chapter("editors.md"));
    let printed = blocks
        .iter()
        .find(|block| block.language == "console")
        .expect("an example");
    let (_, printed) = printed.commands().pop().expect("a command");
    let matchers: Vec<_> = blocks
        .iter()
        .filter(|block| block.note == "matcher")
        .collect();
    assert_eq!(matchers.len(), 2);
    for matcher in matchers {
        let matcher: Value = serde_json::from_str(&matcher.lines.join("\n")).expect("JSON");
        let pattern = [
            &matcher["tasks"][0]["problemMatcher"]["pattern"],
            &matcher["problemMatcher"][0]["pattern"][0],
        ];
        let pattern = pattern
            .into_iter()
            .find(|it| it.is_object())
            .expect("a pattern");
        let regex = Regex::new(pattern["regexp"].as_str().expect("text")).expect("a pattern");
        assert!(regex.is_match(&printed[0]), "{}", printed[0]);
        // The matcher of a CI service matches no notes.
        for line in &printed {
            let Some(found) = regex.captures(line) else {
                assert!(line.contains(": note: "), "{line}");
                continue;
            };
            let group = |name: &str| {
                let index = pattern[name].as_u64().expect("a number");
                found[usize::try_from(index).expect("small")].to_owned()
            };
            assert_eq!(group("file"), "src/lib.rs");
            assert!(group("line").parse::<u32>().is_ok() && group("column").parse::<u32>().is_ok());
            assert!(["error", "note"].contains(&&*group("severity")), "{line}");
            assert!(line.ends_with(&group("message")), "{line}");
        }
    }
}

/// Adds the texts of all sources below `directory`, with continued string literals joined as the
/// compiler joins them.
fn sources(directory: &Path, text: &mut String) {
    for entry in fs::read_dir(directory).expect("readable").flatten() {
        let path = entry.path();
        if path.is_dir() {
            sources(&path, text);
        } else if path.extension().is_some_and(|it| it == "rs") {
            *text += &fs::read_to_string(&path).expect("readable");
        }
    }
}

#[test]
fn each_message_of_the_troubleshooting_chapter_is_one() {
    let mut code = String::new();
    for place in ["cargo-chess/src", "runtime/src"] {
        sources(&Path::new(REPOSITORY).join(place), &mut code);
    }
    // String literals may continue on the next line after a backslash, and may contain line breaks.
    let code = Regex::new(r"(\\n)?\\\n\s*").unwrap().replace_all(&code, "");
    let code = code.replace("{SUPPORTED_TARGET}", "x86_64-unknown-linux-gnu");
    let chapter = chapter("troubleshooting.md");
    let messages: Vec<_> = chapter
        .lines()
        .filter_map(|line| line.strip_prefix("### "))
        .map(|message| message.trim_matches(['`', ' ']))
        .collect();
    assert!(messages.len() > 25, "{messages:?}");
    for message in messages {
        let parts = message
            .split('…')
            .map(|part| part.trim_matches([' ', '`', ';', ',']));
        let parts: Vec<_> = parts.filter(|part| part.len() > 3).collect();
        assert!(!parts.is_empty(), "{message}");
        for part in parts {
            assert!(code.contains(part), "no message has `{part}`");
        }
    }
}
