//! The instructions for the wrapper about each package, from the plan's policies and the overlays.
//!
//! `wrapper/fallback_reasons.rs` has the reasons why the wrapper does not follow an instruction.

use std::path::PathBuf;

use camino::{Utf8Path, Utf8PathBuf};
use cargo_metadata::Artifact;

use super::overlays::{self, Overlay};
use crate::atomic_file;
use crate::config::Policy;
use crate::error::{Error, Result};
use crate::plan::{Guard, Place, Plan, PlannedPackage};
use crate::wrapper::{Entry, FallbackRecord, Instructions, PackageInstructions};

/// The directory of the wrapper's records, below the target directory.
const RECORDS: &str = "chess-records";

/// The directory of the changed copies of sources, below the target directory.
pub(super) fn sources(target_dir: &Utf8Path) -> Utf8PathBuf {
    target_dir.join("chess-sources")
}

/// The packages of a registry that map addresses to source lines. std has its own copies of them.
/// They are not instrumented unless the user gives them another policy than `atomic`: an
/// unoptimised and instrumented backtrace takes seconds, and they access no memory of the program.
/// A package of the user may have such a name, so only packages of a registry count.
const SYMBOLIZERS: [&str; 5] = [
    "addr2line",
    "backtrace",
    "gimli",
    "object",
    "rustc-demangle",
];

/// The instructions for a build into `target_dir` against the runtime in `facades`. `next` is the
/// user's own wrapper.
pub(super) fn instructions(
    plan: &Plan,
    facades: &Utf8Path,
    target_dir: &Utf8Path,
    next: Option<PathBuf>,
) -> Result<Instructions> {
    let overlays = overlays::all()?;
    Ok(Instructions {
        facades: facades.to_owned(),
        next,
        sources: sources(target_dir),
        records: target_dir.join(RECORDS),
        // Cargo queries the configuration only once, and also uses the answer for other graphs of
        // dependencies. So the names of all overlays are set.
        cfg: overlays.iter().flat_map(|it| it.cfg.clone()).collect(),
        instruments: plan.instruments,
        packages: plan
            .packages
            .iter()
            .map(|package| of_package(package, &overlays, plan.instruments))
            .filter(PackageInstructions::is_special)
            .collect(),
    })
}

/// The instructions for one package.
pub(crate) fn treatment_of(plan: &Plan, package: &PlannedPackage) -> Result<PackageInstructions> {
    Ok(of_package(package, &overlays::all()?, plan.instruments))
}

fn of_package(
    package: &PlannedPackage,
    overlays: &[Overlay],
    is_instrumented: bool,
) -> PackageInstructions {
    let mut instructions = PackageInstructions {
        name: package.name.clone(),
        version: package.version.clone(),
        root: package.root.clone(),
        opaque: package.policy == Policy::Opaque,
        ..PackageInstructions::default()
    };
    if instructions.opaque {
        return instructions;
    }
    instructions.unwatched = is_instrumented
        && package.policy == Policy::Atomic
        && package.id.starts_with("registry+")
        && SYMBOLIZERS.contains(&package.name.as_str());
    instructions.marks = package
        .places
        .iter()
        .map(|(place, policy)| {
            let inside = place.path.strip_prefix(&package.source_prefix);
            let inside = Place {
                path: inside.unwrap_or(&place.path).to_owned(),
                lines: place.lines,
            };
            (inside, *policy == Policy::Preempt)
        })
        .collect();
    instructions.borrows = is_instrumented && instructions.marks.iter().any(|(_, marked)| *marked);
    instructions.entries = package.guards.iter().map(entry).collect();
    for overlay in overlays.iter().filter(|it| it.fits(package)) {
        instructions.replace.extend(overlay.replace.iter().cloned());
        instructions.entries.extend(overlay.entries.iter().cloned());
        instructions.cfg.extend(overlay.cfg.iter().cloned());
    }
    instructions
}

/// The statement at the start of a checked method: see `runtime/src/shim/exclusive.rs`.
fn entry(guard: &Guard) -> Entry {
    let Guard {
        of, method, entry, ..
    } = guard;
    let hook = if guard.is_shared {
        "shared"
    } else {
        "exclusive"
    };
    let object = format!("{}self", "*".repeat(guard.dereferences));
    Entry {
        file: guard.file.clone(),
        function: format!("{}::{method}", guard.owner),
        line: Some(guard.line),
        statement: format!(
            "let __chess_call=__chess::{hook}(&raw const {object},{entry},({of:?},{method:?}));"
        ),
    }
}

/// The wrapper's record about the unit that produced `artifact`, if there is one.
pub(super) fn record(target_dir: &Utf8Path, artifact: &Artifact) -> Option<FallbackRecord> {
    let files = artifact.filenames.iter().chain(&artifact.executable);
    let mut stems = files.filter_map(|file| file.file_stem());
    let records = target_dir.join(RECORDS);
    stems.find_map(|stem| {
        let of_library = FallbackRecord::read(&records, stem.strip_prefix("lib").unwrap_or(stem));
        of_library.or_else(|| FallbackRecord::read(&records, stem))
    })
}

/// Saves the instructions in a file whose name depends on their content: another run with other
/// instructions may build at the same time. The wrappers of another run with the same instructions
/// may read the file while this run writes it.
pub(super) fn save(instructions: &Instructions, target_dir: &Utf8Path) -> Result<Utf8PathBuf> {
    let text = serde_json::to_vec(instructions).expect("they are plain data");
    let name = format!("chess-{}.json", crate::digest::short(&text, 16));
    let path = target_dir.join(name);
    atomic_file::write(&path, text).map_err(Error::io("write", &path))?;
    Ok(path)
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicBool, Ordering};
    use std::thread;

    use super::*;
    use crate::plan::PolicyOrigin;

    #[test]
    fn packages_that_symbolize_backtraces_are_not_instrumented() {
        let is_unwatched = |source: &str, name: &str, policy, is_instrumented| {
            let package = PlannedPackage {
                name: name.into(),
                version: "0.1.0".into(),
                id: format!("{source}#{name}@0.1.0"),
                root: "/sources".into(),
                is_member: false,
                policy,
                why: PolicyOrigin::DependencyDefault,
                source_prefix: String::new(),
                races: None,
                spins: None,
                guards: Vec::new(),
                places: Vec::new(),
            };
            let instructions = of_package(&package, &[], is_instrumented);
            assert_eq!(instructions.is_special(), instructions.unwatched);
            instructions.unwatched
        };
        let registry = "registry+https://example.org/index";
        assert!(is_unwatched(registry, "gimli", Policy::Atomic, true));
        assert!(!is_unwatched(registry, "gimli", Policy::Atomic, false));
        assert!(!is_unwatched(registry, "gimli", Policy::Preempt, true));
        assert!(!is_unwatched(registry, "flate2", Policy::Atomic, true));
        let own = "path+file:///sources";
        assert!(!is_unwatched(own, "object", Policy::Atomic, true));
    }

    /// Two runs in one workspace have the same instructions. One run may build while the other
    /// starts.
    #[test]
    fn instructions_can_be_read_while_another_run_saves_the_same_ones() {
        let directory = tempfile::tempdir().expect("a temporary directory");
        let target_dir = Utf8Path::from_path(directory.path()).expect("UTF-8");
        let instructions = Instructions {
            cfg: vec!["x".repeat(100_000)],
            ..Instructions::default()
        };
        let file = save(&instructions, target_dir).expect("it is written");
        let is_over = AtomicBool::new(false);
        thread::scope(|scope| {
            scope.spawn(|| {
                for _ in 0..1_000 {
                    save(&instructions, target_dir).expect("it is written");
                }
                is_over.store(true, Ordering::Relaxed);
            });
            while !is_over.load(Ordering::Relaxed) {
                let text = std::fs::read(&file).expect("it is there");
                serde_json::from_slice::<Instructions>(&text).expect("it is complete");
            }
        });
    }
}
