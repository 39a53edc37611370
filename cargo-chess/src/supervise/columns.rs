//! Columns as the user's sources have them, where the compiler saw marked copies.

use std::collections::BTreeMap;

use camino::{Utf8Path, Utf8PathBuf};
use rewriter::{Request, Rewrite};

use super::protocol::Finished;
use crate::build::Build;
use crate::config::Policy;
use crate::plan::{Marked, Place, Plan};
use crate::wrapper::Fallback;

/// The files whose statements are marked.
#[derive(Default)]
pub(crate) struct MarkedSources {
    workspace_root: Utf8PathBuf,
    /// The places, as the compiler names them, and whether they are marked.
    places: Vec<(Place, bool)>,
}

impl MarkedSources {
    /// The files that `plan` marks, but for what `build` could not compile so.
    pub(crate) fn new(plan: &Plan, build: &Build) -> Self {
        let is_marked = |package: &str| {
            let mut records = build.records.iter();
            !records.any(|it| it.package == package && it.fallback != Fallback::Nothing)
        };
        let places = plan.packages.iter().flat_map(|package| {
            let marked = is_marked(&format!("{} {}", package.name, package.version));
            let places = package.places.iter();
            places.map(move |(place, policy)| (place.clone(), marked && *policy == Policy::Preempt))
        });
        Self {
            workspace_root: plan.workspace_root.clone(),
            places: places.collect(),
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
        // A file outside the package that has it as a module is no part of the copy.
        let mut parts = Utf8Path::new(file).components();
        if parts.any(|part| part.as_str() == "..") {
            return None;
        }
        let places = self.places.iter().map(|(place, marked)| (place, *marked));
        let marked = Marked::of(places, file);
        let request = Request {
            marks: true,
            lines: marked.lines()?,
            ..Request::default()
        };
        let source = std::fs::read_to_string(self.workspace_root.join(file)).ok()?;
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
            places: vec![(Place::all_of("src/"), true)],
        };
        let request = Request {
            marks: true,
            ..Request::default()
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
