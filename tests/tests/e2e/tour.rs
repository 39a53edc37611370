//! The book's tour: the output of each command equals that in the chapter.

use std::fs;
use std::path::Path;

use end_to_end::{Block, Workspace, blocks, needs, with_method};

/// The placeholder in the chapter for any number of lines.
const ELISION: &str = "[... the same report ...]";

const MANIFEST: &str = r#"
[package]
name = "pool"
version = "0.1.0"
edition = "2024"

[workspace]
"#;

/// Returns the lines of `text` with placeholders for the parts that differ between machines: times,
/// addresses, threads, the digits of an id or of a commit, and the number of frames of the runtime
/// in a stack.
fn same_everywhere(text: &str) -> Vec<String> {
    let filters = [
        (r"\b\d+\.\d\ds\b", "[time]"),
        (
            r"(tests-lends_no_more_than_its_limit-|replay )[0-9a-f]{4}\b",
            "$1[id]",
        ),
        (r"left at [0-9a-f]{9}\b", "left at [commit]"),
        (r"0x[0-9a-f]+", "[address]"),
        (r"(LWP|process) \d+", "$1 [number]"),
        (r"(?m)^(\(gdb\) )?#\d+ +", "$1#[frame] "),
        // gdb breaks lines at its guess of the terminal's width.
        (r"\n +at ", " at "),
    ];
    let mut text = text.to_owned();
    for (pattern, replacement) in filters {
        let pattern = regex::Regex::new(pattern).expect("it is a pattern");
        text = pattern.replace_all(&text, replacement).into_owned();
    }
    text.lines()
        .map(|line| line.trim_end().to_owned())
        .collect()
}

/// Returns `lines` without the empty lines at both ends. The parts before and after a placeholder
/// may end or begin with empty lines.
fn without_blank_ends(lines: &[String]) -> &[String] {
    let is_blank = |line: &&String| line.is_empty();
    let before = lines.iter().take_while(is_blank).count();
    let after = lines[before..].iter().rev().take_while(is_blank).count();
    &lines[before..lines.len() - after]
}

/// Panics unless `actual` is the `expected` output of the chapter.
#[track_caller]
fn assert_printed(command: &str, expected: &[String], actual: &[String]) {
    let parts: Vec<&[String]> = expected
        .split(|line| line.trim() == ELISION)
        .map(without_blank_ends)
        .collect();
    let same = match &parts[..] {
        [all] => actual == *all,
        [first, between @ .., last] => {
            let mut rest = actual;
            let mut follow = |part: &[String]| {
                let at = rest.windows(part.len().max(1)).position(|it| it == part);
                at.map(|at| rest = &rest[at + part.len()..]).is_some()
            };
            actual.starts_with(first)
                && between.iter().all(|part| follow(part))
                && actual.ends_with(last)
        }
        [] => false,
    };
    assert!(
        same,
        "`{command}` prints\n{}\n\nwhere the chapter has\n{}",
        actual.join("\n"),
        expected.join("\n"),
    );
}

/// A command of the tour, and its output.
struct Call<'a> {
    command: &'a str,
    printed: Vec<&'a str>,
}

/// Returns the commands of a block (the lines that begin with `$`), each with its output.
fn calls(lines: &[String]) -> Vec<Call<'_>> {
    let mut calls: Vec<Call<'_>> = Vec::new();
    for line in lines {
        if let Some(command) = line.strip_prefix("$ ") {
            let printed = Vec::new();
            calls.push(Call { command, printed });
        } else if let Some(call) = calls.last_mut() {
            call.printed.push(line);
        }
    }
    calls
}

/// Returns two texts: the debugger commands in `printed`, one for each line, and all other lines.
/// A debugger without a terminal does not echo its input, so that each response directly follows
/// its prompt.
fn dialogue(printed: &str) -> (String, String) {
    const PROMPT: &str = "(gdb) ";
    let said = printed
        .lines()
        .filter_map(|line| line.strip_prefix(PROMPT))
        .map(|line| format!("{line}\n"));
    let pattern = regex::Regex::new(r"(?m)^\(gdb\) .*\n").expect("it is a pattern");
    (
        said.collect(),
        pattern.replace_all(printed, PROMPT).into_owned(),
    )
}

/// Returns a repository with the files of `cargo new`. The command itself would find the workspace
/// and the repository around this one.
fn new_project() -> Workspace {
    let workspace = Workspace::empty();
    workspace.write("Cargo.toml", MANIFEST);
    workspace.write(".gitignore", "/target\n");
    let git = "git init --quiet --initial-branch=main && git config user.name tour \
               && git config user.email tour@example.com";
    workspace.shell(git).run().assert_code(0);
    workspace
}

#[test]
fn the_tour_prints_the_output_of_the_chapter() {
    if !needs(&["gdb"]) {
        return;
    }
    let chapter = Path::new(env!("CARGO_MANIFEST_DIR")).join("../cargo-chess/book/src/tour.md");
    let chapter = fs::read_to_string(chapter).expect("there is a tour");
    let blocks = blocks(&chapter);
    let workspace = new_project();
    let mut source = String::new();
    let mut id = String::new();
    let mut commands = Vec::new();
    for Block {
        language, lines, ..
    } in &blocks
    {
        let text = lines.join("\n");
        match &**language {
            "rust" if source.is_empty() => {
                source = text + "\n";
                workspace.write("src/lib.rs", &source);
            }
            "rust" => {
                source = with_method(&source, &text);
                workspace.write("src/lib.rs", &source);
            }
            "console" => {
                for Call { command, printed } in calls(lines) {
                    let real = command.replace(same_id(&chapter), &id);
                    let real = real.replace("cargo chess ", "\"$CHESS\" ");
                    let (input, printed) = dialogue(&(printed.join("\n") + "\n"));
                    let script = format!("{real} 1>&2 <<'END'\n{input}END");
                    let run = workspace.shell(&script).run();
                    let said = run.message();
                    if let Some((_, saved)) = said.split_once("Replay cargo chess replay ") {
                        saved[..4].clone_into(&mut id);
                    }
                    // The `Finished` lines of cargo and of the tool are left out, as in the
                    // expected output.
                    let printed = printed
                        .lines()
                        .filter(|line| !line.starts_with("    Finished "));
                    let printed = same_everywhere(printed.collect::<Vec<_>>().join("\n").trim());
                    assert_printed(command, &printed, &same_everywhere(said.trim()));
                    let words: Vec<_> = command.split(' ').collect();
                    commands.extend(words.get(2).filter(|_| words[0] == "cargo").copied());
                }
            }
            _ => {}
        }
    }
    assert_eq!(
        commands,
        [
            "test", "replay", "explain", "replay", "test", "gate", "replay", "gate"
        ]
    );
}

/// Returns the id of the tour's schedule in the chapter.
fn same_id(chapter: &str) -> &str {
    let (_, rest) = chapter
        .split_once("$ cargo chess replay ")
        .expect("the tour replays a schedule");
    &rest[..4]
}
