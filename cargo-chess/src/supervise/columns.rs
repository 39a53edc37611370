//! Columns as the user's sources have them, where the compiler saw marked copies.

use std::collections::BTreeMap;

use camino::Utf8PathBuf;
use rewriter::{Request, Rewrite};

use super::protocol::Finished;
use crate::build::Build;
use crate::config::Policy;
use crate::plan::Plan;
use crate::wrapper::Fallback;

/// The files whose statements are marked.
#[derive(Default)]
pub(crate) struct MarkedSources {
    workspace_root: Utf8PathBuf,
    /// The beginnings of files' names as the compiler shows them, and whether
    /// these files are marked; the longest decides.
    prefixes: Vec<(String, bool)>,
}

impl MarkedSources {
    /// The files that `plan` marks, but for what `build` could not compile so.
    pub(crate) fn new(plan: &Plan, build: &Build) -> Self {
        let is_marked = |package: &str| {
            let mut records = build.records.iter();
            !records.any(|it| it.package == package && it.fallback != Fallback::Nothing)
        };
        let prefixes = plan.packages.iter().flat_map(|package| {
            let marked = is_marked(&format!("{} {}", package.name, package.version));
            let prefixes = package.prefixes.iter();
            prefixes
                .map(move |(prefix, policy)| (prefix.clone(), marked && *policy == Policy::Preempt))
        });
        Self {
            workspace_root: plan.workspace_root.clone(),
            prefixes: prefixes.collect(),
        }
    }

    /// Puts every column of a verdict right.
    pub(crate) fn restore(&self, finished: &mut Finished) {
        let mut rewrites = BTreeMap::new();
        let mut column = |file: &str, line: u32, column: &mut u32| {
            let known = rewrites
                .entry(file.to_owned())
                .or_insert_with(|| self.rewrite(file));
            if let Some((source, rewrite)) = known {
                let original = rewrite.original_column(source, line as usize, *column as usize);
                *column = u32::try_from(original).unwrap_or(*column);
            }
        };
        let others = finished.others.iter_mut().map(|other| &mut other.location);
        let held = finished.blocked.iter_mut().map(|it| &mut it.held_at);
        let locations = others.chain(held).chain([&mut finished.location]);
        for location in locations.flatten() {
            column(&location.file, location.line, &mut location.column);
        }
        for step in &mut finished.events {
            if let (Some(file), Some(line), Some(at)) = (&step.file, step.line, &mut step.column) {
                column(file, line, at);
            }
        }
        for task in &mut finished.blocked {
            if let (Some(file), Some(line), Some(at)) = (&task.file, task.line, &mut task.column) {
                column(file, line, at);
            }
        }
    }

    /// A file's text and what was inserted into it, if it is marked.
    fn rewrite(&self, file: &str) -> Option<(String, Rewrite)> {
        let matching = self
            .prefixes
            .iter()
            .filter(|(prefix, _)| file.starts_with(prefix.as_str()));
        let (_, marked) = matching.max_by_key(|(prefix, _)| prefix.len())?;
        if !marked {
            return None;
        }
        let source = std::fs::read_to_string(self.workspace_root.join(file)).ok()?;
        let request = Request {
            marks: true,
            entries: &[],
        };
        let rewrite = rewriter::rewrite(&source, &request).ok()?;
        Some((source, rewrite))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::events::{Location, Outcome};

    #[test]
    fn a_column_behind_a_mark_is_that_of_the_users_line() {
        let dir = tempfile::tempdir().expect("a temporary directory");
        let root = Utf8PathBuf::from_path_buf(dir.path().to_owned()).expect("a UTF-8 path");
        let line = "fn f() { let x = g(); h(x); }\n";
        std::fs::create_dir(root.join("src")).expect("writable");
        std::fs::write(root.join("src/lib.rs"), line).expect("writable");
        let sources = MarkedSources {
            workspace_root: root,
            prefixes: vec![("src/".into(), true), ("src/plain".into(), false)],
        };
        let request = Request {
            marks: true,
            entries: &[],
        };
        let marked = rewriter::rewrite(line, &request)
            .expect("valid Rust")
            .apply(line);
        let column = |text: &str| {
            let at = text.find("h(x)").expect("it is there");
            u32::try_from(at).expect("a short line") + 1
        };
        let mut finished = Finished::new(Outcome::Failed);
        finished.location = Some(Location {
            file: "src/lib.rs".into(),
            line: 1,
            column: column(&marked),
        });
        sources.restore(&mut finished);
        let location = finished.location.expect("it was set");
        assert_eq!(location.column, column(line));
    }
}
