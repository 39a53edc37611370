//! The documents and the workflows of the repository agree with each other and with the code.

use std::fs;
use std::path::{Path, PathBuf};

use end_to_end::{Block, blocks};
use regex::Regex;

const REPOSITORY: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/..");

fn text(file: &str) -> String {
    let path = Path::new(REPOSITORY).join(file);
    fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

/// The names of the files and folders in `folder`, without `.rs`.
fn entries(folder: &str) -> Vec<String> {
    let entries = fs::read_dir(Path::new(REPOSITORY).join(folder)).expect("readable");
    let names = entries
        .flatten()
        .map(|entry| entry.file_name().to_string_lossy().into_owned());
    names
        .map(|name| name.trim_end_matches(".rs").to_owned())
        .collect()
}

#[test]
fn the_readme_is_short_and_the_links_of_all_documents_lead_to_files() {
    let lines = text("README.md").lines().count();
    assert!(lines <= 250, "{lines} lines");
    let link = Regex::new(r"\]\(([^)#:]+)\)").unwrap();
    for document in [
        "README.md",
        "CONTRIBUTING.md",
        "ARCHITECTURE.md",
        "GLOSSARY.md",
    ] {
        for link in link.captures_iter(&text(document)) {
            let file = PathBuf::from(REPOSITORY).join(&link[1]);
            assert!(file.exists(), "{document}: there is no {}", file.display());
        }
    }
}

/// All files below the folder `of` of the repository, except in build directories.
fn files_below(of: &Path, files: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(of).expect("readable").flatten() {
        let name = entry.file_name();
        let is_skipped = name == "target" || name == ".git";
        match entry.file_type() {
            Ok(kind) if kind.is_dir() && !is_skipped => files_below(&entry.path(), files),
            Ok(kind) if kind.is_file() => files.push(entry.path()),
            _ => {}
        }
    }
}

/// A name such as `search/src/icb/rounds.rs` in a document or in the header of a file is the name of
/// an existing file. It may begin at any folder.
#[test]
fn documents_and_headers_name_files_that_exist() {
    // These are names of new files in instructions, and of files of users.
    const EXAMPLES: [&str; 5] = [
        "runtime/src/shim/sync/foo.rs",
        "runtime/search/src/NAME.rs",
        "monitor/NAME.rs",
        "tests/t.rs",
        "src/a/b.rs",
    ];
    let mut files = Vec::new();
    files_below(Path::new(REPOSITORY), &mut files);
    let file = Regex::new(r"`([\w/-]+\.rs)`").unwrap();
    let documents = ["CONTRIBUTING.md", "ARCHITECTURE.md", "GLOSSARY.md"];
    let documents = documents.map(|name| (PathBuf::from(name), text(name)));
    let sources = files.iter().filter(|path| {
        let is_ours = |folder: &str| path.starts_with(Path::new(REPOSITORY).join(folder));
        path.extension().is_some_and(|it| it == "rs") && !is_ours("fixtures")
    });
    let headers = sources.map(|path| {
        let source = fs::read_to_string(path).expect("readable");
        let header = source.lines().take_while(|line| line.starts_with("//!"));
        (path.clone(), header.collect::<Vec<_>>().join("\n"))
    });
    for (source, text) in documents.into_iter().chain(headers) {
        for name in file.captures_iter(&text).map(|it| it[1].to_owned()) {
            let exists = files.iter().any(|file| file.ends_with(&name));
            assert!(
                exists || EXAMPLES.contains(&&*name),
                "{} names {name}, which does not exist",
                source.display()
            );
        }
    }
}

#[test]
fn ci_runs_the_test_command_of_the_readme() {
    let readme = blocks(&text("README.md"));
    let script = text(".ci/run");
    let mut commands = readme.iter().flat_map(Block::commands);
    let test = commands.find(|(command, _)| command.starts_with("cargo test"));
    let (test, _) = test.expect("the README has a test command");
    let test = test.split('#').next().expect("a command").trim();
    assert!(
        script.contains(&format!(" {test}\n")),
        "`{test}` is not in .ci/run"
    );
}

#[test]
fn the_map_names_each_folder_and_module() {
    let map = text("ARCHITECTURE.md");
    let not_of_the_map = ["lib", "main"];
    for name in entries("cargo-chess/src") {
        let is_named = map.contains(&format!("`{name}`"));
        assert!(
            is_named || not_of_the_map.contains(&&*name),
            "ARCHITECTURE.md does not name cargo-chess/src/{name}"
        );
    }
    let folders = entries("runtime/src").into_iter().filter(|name| {
        Path::new(REPOSITORY)
            .join("runtime/src")
            .join(name)
            .is_dir()
    });
    for name in folders {
        assert!(
            map.contains(&format!("`{name}/`")),
            "ARCHITECTURE.md does not name runtime/src/{name}"
        );
    }
}

#[test]
fn the_picture_of_the_floors_is_the_list_that_imports_are_held_against() {
    let map = blocks(&text("ARCHITECTURE.md"));
    let picture = map.iter().find(|block| block.note == "floors");
    let picture = picture.expect("a picture of the floors").lines.iter();
    let mut picture: Vec<Vec<String>> = picture
        .map(|floor| floor.split_whitespace().map(str::to_owned).collect())
        .collect();
    // The list begins with the lowest floor.
    picture.reverse();
    let test = text("runtime/tests/floors/main.rs");
    let (_, list) = test
        .split_once("const FLOORS: &[&[&str]] = &[")
        .expect("a list");
    let (list, _) = list.split_once("\n];").expect("its end");
    let name = Regex::new("\"(\\w+)\"").unwrap();
    let floors = list.lines().filter(|line| line.contains('"'));
    let floors: Vec<Vec<String>> = floors
        .map(|floor| {
            name.captures_iter(floor)
                .map(|it| it[1].to_owned())
                .collect()
        })
        .collect();
    assert_eq!(picture, floors);
}

#[test]
fn the_release_builds_the_archive_that_the_manifest_promises() {
    let manifest = text("cargo-chess/Cargo.toml");
    assert!(manifest.contains("/{ name }-{ target }.tar.gz\""));
    assert!(manifest.contains("bin-dir = \"{ bin }\""));
    let archive = text(".ci/archive");
    assert!(archive.contains("name=cargo-chess-$target\n"));
    assert!(archive.contains("--file \"$name.tar.gz\""));
    let workflow = text(".github/workflows/release.yml");
    assert!(workflow.contains("ARCHIVE: cargo-chess-x86_64-unknown-linux-gnu.tar.gz\n"));
}

#[test]
fn actions_are_pinned_by_hash() {
    let pinned = Regex::new(r"uses: [\w./-]+@[0-9a-f]{40} # v").unwrap();
    for name in ["ci.yml", "release.yml"] {
        let workflow = text(&format!(".github/workflows/{name}"));
        for line in workflow.lines().filter(|line| line.contains("uses:")) {
            assert!(pinned.is_match(line), "{name}: {line}");
        }
    }
}

#[test]
fn bug_reports_ask_for_the_schedule_word() {
    for name in ["bug.yml", "wrong-verdict.yml"] {
        let template = text(&format!(".github/ISSUE_TEMPLATE/{name}"));
        assert!(template.contains("chess1:"), "{name}");
    }
}
