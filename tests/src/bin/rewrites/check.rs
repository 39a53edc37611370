//! Compilation of the rewritten sources, and removal of the edits that do not compile.

use std::fs;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::path::{Path, PathBuf};
use std::process::Command;

use end_to_end::{Workspace, source_of};
use serde_json::Value;

use crate::sources::{Rewritten, patched_user};

/// Compiles the rewritten packages. While rustc rejects sites, leaves these sites unchanged and
/// compiles again. Returns the errors that are not at a site.
pub(crate) fn until_it_compiles(all: &mut [Rewritten]) -> Vec<String> {
    let user = patched_user(all);
    let hooks = hooks(&user);
    loop {
        let errors = check(&user, &hooks);
        let mut unexplained = Vec::new();
        let before: usize = all.iter().map(|one| one.refused.len()).sum();
        for error in &errors {
            let is_explained = error.places.iter().any(|(file, line, column)| {
                let path = Path::new(file);
                all.iter_mut()
                    .any(|one| one.refuse(path, *line, *column, &error.message))
            });
            if !is_explained {
                unexplained.push(error.to_string());
            }
        }
        let after: usize = all.iter().map(|one| one.refused.len()).sum();
        if before == after {
            return unexplained;
        }
        all.iter_mut().for_each(Rewritten::back_off);
    }
}

struct Error {
    message: String,
    /// The files, lines and columns that the error is about, with the primary spans first.
    places: Vec<(String, usize, usize)>,
}

impl std::fmt::Display for Error {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}", self.message)?;
        match self.places.first() {
            Some((file, line, column)) => write!(f, " ({file}:{line}:{column})"),
            None => Ok(()),
        }
    }
}

/// Compiles the replacement for `__chess`, and returns its directory.
///
/// Each version of the replacement has its own directory, because cargo notices a changed
/// replacement only by its path.
fn hooks(user: &Workspace) -> PathBuf {
    let source = source_of("../rewriter/tests/hooks/lib.rs");
    let text = fs::read(&source).expect("the hooks are there");
    let mut hasher = DefaultHasher::new();
    text.hash(&mut hasher);
    let directory = user.root().join(format!("hooks-{:x}", hasher.finish()));
    if !directory.exists() {
        let status = Command::new("rustc")
            .args([
                "--edition=2024",
                "--crate-type=rlib",
                "--crate-name=__chess",
            ])
            .arg("--out-dir")
            .args([&directory, &source])
            .status()
            .expect("rustc runs");
        assert!(status.success(), "the hooks compile");
    }
    directory
}

fn check(user: &Workspace, hooks: &Path) -> Vec<Error> {
    let hooks = hooks.display();
    let output = Command::new("cargo")
        .args(["check", "--keep-going", "--message-format=json", "-j2"])
        .current_dir(user.root())
        .env(
            "RUSTFLAGS",
            // Packages that depend on rewritten ones need the library too.
            format!("--extern=__chess={hooks}/lib__chess.rlib -L {hooks} --cap-lints=allow"),
        )
        .env_remove("CARGO_TARGET_DIR")
        .output()
        .expect("cargo runs");
    let text = String::from_utf8_lossy(&output.stdout);
    let mut errors: Vec<Error> = text.lines().filter_map(error).collect();
    if errors.is_empty() && !output.status.success() {
        errors.push(Error {
            message: String::from_utf8_lossy(&output.stderr).into_owned(),
            places: vec![],
        });
    }
    errors
}

fn error(line: &str) -> Option<Error> {
    let line: Value = serde_json::from_str(line).ok()?;
    let message = &line["message"];
    if message["level"] != "error" || message["spans"].as_array()?.is_empty() {
        return None;
    }
    let root = line["manifest_path"]
        .as_str()?
        .trim_end_matches("Cargo.toml");
    let mut places = Vec::new();
    let mut add = |spans: &Value, primary: bool| {
        for span in spans.as_array().into_iter().flatten() {
            if span["is_primary"] == primary {
                let file = span["file_name"].as_str().unwrap_or_default();
                let number = |key: &str| usize::try_from(span[key].as_u64().unwrap_or(0));
                let (Ok(line), Ok(column)) = (number("line_start"), number("column_start")) else {
                    continue;
                };
                let file = Path::new(root).join(file);
                places.push((file.display().to_string(), line, column));
            }
        }
    };
    add(&message["spans"], true);
    for child in message["children"].as_array().into_iter().flatten() {
        add(&child["spans"], true);
    }
    add(&message["spans"], false);
    let code = message["code"]["code"].as_str().unwrap_or_default();
    let text = message["message"].as_str().unwrap_or_default();
    Some(Error {
        message: format!("{code} {text}"),
        places,
    })
}
