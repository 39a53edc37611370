//! Maps lines and columns of the rewritten copies, which the compiler saw, to the user's sources.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

use camino::{Utf8Path, Utf8PathBuf};
use rewriter::Rewrite;

use crate::build::{Build, treatment_of};
use crate::plan::Plan;
use crate::protocol::Finished;
use crate::wrapper::{Fallback, PackageFacts, PackageInstructions, RejectedSites, Rewriting};

/// The packages whose sources are rewritten.
#[derive(Default)]
pub(crate) struct MarkedSources {
    workspace_root: Utf8PathBuf,
    packages: Vec<MarkedPackage>,
    /// The rewrites of the files that verdicts have named so far; `None` for a file that is not
    /// rewritten.
    known: Mutex<BTreeMap<String, Option<Arc<RewrittenFile>>>>,
}

/// The text of a file, and its rewrite.
type RewrittenFile = (String, Rewrite);

/// A package, or the files that the build script of a package generated.
#[derive(Clone, Default)]
struct MarkedPackage {
    /// The prefix of the compiler's names of the package's files.
    prefix: String,
    /// Whether `prefix` is that of the files that the build script generated.
    is_generated: bool,
    /// The treatment of the package.
    treatment: PackageInstructions,
    /// The borrows of the package that are not reported, because rustc rejected the inserted text.
    rejected: RejectedSites,
    /// The facts about the package's files. They are read at the first use, because a package may
    /// have very many files.
    facts: OnceLock<Option<PackageFacts>>,
}

impl MarkedSources {
    /// Creates the mapping for the packages of `plan`. A package that `build` could not compile
    /// from its rewritten sources counts as not rewritten.
    pub(crate) fn new(plan: &Plan, build: &Build) -> Self {
        let is_rewritten = |package: &str| {
            let mut records = build.records.iter();
            !records.any(|it| it.package == package && it.fallback != Fallback::Nothing)
        };
        let packages = plan.packages.iter().filter_map(|package| {
            let name = format!("{} {}", package.name, package.version);
            let treatment = if is_rewritten(&name) {
                treatment_of(plan, package).ok()?
            } else {
                PackageInstructions::default()
            };
            let rejected = RejectedSites::next_to(&treatment.copy(&build.sources));
            let written = MarkedPackage {
                prefix: package.source_prefix.clone(),
                is_generated: false,
                treatment,
                rejected,
                facts: OnceLock::new(),
            };
            let generated = build.generated.iter().filter(|it| it.package == package.id);
            let generated = generated.map(|it| MarkedPackage {
                prefix: format!("{}/", it.directory),
                is_generated: true,
                ..written.clone()
            });
            Some(generated.chain([written.clone()]).collect::<Vec<_>>())
        });
        Self {
            workspace_root: plan.workspace_root.clone(),
            packages: packages.flatten().collect(),
            known: Mutex::default(),
        }
    }

    /// Replaces every line and column of a verdict by its place in the user's sources.
    pub(crate) fn restore(&self, finished: &mut Finished) {
        let place = |file: &str, line: &mut u32, column: &mut u32| {
            if let Some(known) = self.rewrite(file) {
                let (source, rewrite) = &*known;
                let original = rewrite.original_place(source, *line as usize, *column as usize);
                *line = u32::try_from(original.0).unwrap_or(*line);
                *column = u32::try_from(original.1).unwrap_or(*column);
            }
        };
        let others = finished
            .others
            .iter_mut()
            .map(|other| &mut other.failure.location);
        let held = finished.blocked.iter_mut().map(|it| &mut it.held_at);
        let locations = others.chain(held).chain([&mut finished.location]);
        let spins = finished.spins.iter_mut();
        let spins = spins.filter_map(|spin| spin.location.as_mut());
        let stale = finished.stale_loads.iter_mut();
        let stale = stale.flat_map(|it| it.newer.iter_mut().chain([&mut it.location]));
        for location in locations.flatten().chain(spins).chain(stale) {
            place(&location.file, &mut location.line, &mut location.column);
        }
        let panics = finished.panics.iter_mut().map(|it| &mut it.location);
        for location in panics.chain(finished.hot.iter_mut().map(|it| &mut it.since)) {
            place(&location.file, &mut location.line, &mut location.column);
        }
        let callers = finished.events.iter_mut().map(|it| &mut it.caller);
        let callers = callers.chain(finished.blocked.iter_mut().map(|it| &mut it.caller));
        for caller in callers.flatten() {
            let location = &mut caller.location;
            place(&location.file, &mut location.line, &mut location.column);
        }
        for step in &mut finished.events {
            if let (Some(file), Some(line), Some(column)) =
                (&step.file, &mut step.line, &mut step.column)
            {
                place(file, line, column);
            }
        }
        for task in &mut finished.blocked {
            if let (Some(file), Some(line), Some(column)) =
                (&task.file, &mut task.line, &mut task.column)
            {
                place(file, line, column);
            }
        }
    }

    /// Returns a file's text and its rewrite; `None` if the file is not rewritten.
    fn rewrite(&self, file: &str) -> Option<Arc<RewrittenFile>> {
        let mut known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(known) = known.get(file) {
            return known.clone();
        }
        let rewrite = self.rewrite_first(file).map(Arc::new);
        known.insert(file.to_owned(), rewrite.clone());
        rewrite
    }

    fn rewrite_first(&self, file: &str) -> Option<RewrittenFile> {
        let owners = self.packages.iter();
        let owners = owners.filter(|it| file.starts_with(it.prefix.as_str()));
        // The innermost package: a package may lie in another one's directory.
        let owner = owners.max_by_key(|it| it.prefix.len())?;
        let path = self.workspace_root.join(file);
        let source = std::fs::read_to_string(&path).ok()?;
        let (treatment, rejected) = (&owner.treatment, owner.rejected.clone());
        let rewriting = if owner.is_generated {
            Rewriting::new(treatment, rejected, [&*path].into_iter()).ok()?
        } else {
            let read = || PackageFacts::read(treatment, [].into_iter()).ok();
            Rewriting::with(treatment, rejected, owner.facts.get_or_init(read).clone()?)
        };
        let inside = if owner.is_generated {
            Utf8Path::new(file)
        } else {
            Utf8Path::new(&file[owner.prefix.len()..])
        };
        let rewrite = rewriting.of_file(inside, &source)?.ok()?;
        Some((source, rewrite))
    }
}

#[cfg(test)]
mod tests {
    use rewriter::Request;

    use super::*;
    use crate::events::{Location, Outcome};
    use crate::plan::Place;

    #[test]
    fn a_column_behind_a_mark_is_that_of_the_users_line() {
        let dir = tempfile::tempdir().expect("a temporary directory");
        let root = Utf8PathBuf::from_path_buf(dir.path().to_owned()).expect("a UTF-8 path");
        let line = "fn f() { let x = g(); h(x); }\n";
        std::fs::create_dir(root.join("src")).expect("writable");
        std::fs::write(root.join("src/lib.rs"), line).expect("writable");
        let treatment = PackageInstructions {
            marks: vec![(Place::all_of("src/"), true)],
            ..PackageInstructions::default()
        };
        let sources = MarkedSources {
            workspace_root: root,
            packages: vec![MarkedPackage {
                treatment,
                ..MarkedPackage::default()
            }],
            known: Mutex::default(),
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
