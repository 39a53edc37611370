//! The test code of the packages under `preempt`. The search chooses no faults for calls in this
//! code.

use camino::{Utf8Path, Utf8PathBuf};
use rewriter::TestCode;

use super::rust_files::rust_files;
use super::{Place, Plan, PlannedPackage};
use crate::config::Policy;
use crate::error::Result;

/// The directories of a package in which cargo finds programs that are not products.
const DIRECTORIES: [&str; 3] = ["tests", "benches", "examples"];

impl Plan {
    /// The `faultless=` lines of a request to a test binary: the places of test code.
    ///
    /// # Errors
    /// If a directory of a package cannot be read. A file that cannot be read or is not Rust has no
    /// test code: rustc reports it if it is used.
    pub(crate) fn faultless_lines(&self) -> Result<Vec<String>> {
        let mut lines = Vec::new();
        let preempted = |it: &&PlannedPackage| it.policy == Policy::Preempt;
        for package in self.packages.iter().filter(preempted) {
            let mut places = DIRECTORIES
                .map(|it| Place::all_of(format!("{it}/")))
                .to_vec();
            for file in rust_files(&package.root)? {
                places.extend(places_of(&package.root, &file));
            }
            let places = places.into_iter();
            let written =
                places.map(|it| format!("faultless={}", it.below(&package.source_prefix)));
            lines.extend(written);
        }
        Ok(lines)
    }
}

/// The places of the test code in a file, and of the files of its test modules. `file` and the
/// places are relative to `root`.
fn places_of(root: &Utf8Path, file: &Utf8Path) -> Vec<Place> {
    let Ok(text) = std::fs::read_to_string(root.join(file)) else {
        return Vec::new();
    };
    let Ok(code) = TestCode::of(&text) else {
        return Vec::new();
    };
    let number = |line: &usize| u32::try_from(*line).unwrap_or(u32::MAX);
    let lines = code.lines.iter().map(|lines| Place {
        path: file.to_string(),
        lines: Some((number(lines.start()), number(lines.end()))),
    });
    let directory = directory_of_modules(file);
    let modules = code.modules.iter().flat_map(|path| {
        let module = path.iter().fold(directory.clone(), |at, it| at.join(it));
        [format!("{module}.rs"), format!("{module}/")].map(Place::all_of)
    });
    lines.chain(modules).collect()
}

/// The directory that has the files of the modules that `file` declares.
fn directory_of_modules(file: &Utf8Path) -> Utf8PathBuf {
    let directory = file.parent().unwrap_or(Utf8Path::new(""));
    match file.file_stem() {
        Some(stem) if !["lib", "main", "mod"].contains(&stem) => directory.join(stem),
        _ => directory.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    #[test]
    fn test_code_is_lines_and_files_of_modules() {
        let directory = tempfile::tempdir().expect("a directory");
        let root = Utf8Path::from_path(directory.path()).expect("text");
        fs::create_dir(root.join("src")).expect("it is new");
        let text = "#[cfg(test)]\nmod tests;\n\n#[test]\nfn works() {\n}\n";
        for file in ["src/lib.rs", "src/store.rs"] {
            fs::write(root.join(file), text).expect("it can be written");
        }
        let shown = |file: &str| {
            let places = places_of(root, Utf8Path::new(file)).into_iter();
            places.map(|it| it.to_string()).collect::<Vec<_>>()
        };
        assert_eq!(
            shown("src/lib.rs"),
            [
                "src/lib.rs:1-2",
                "src/lib.rs:4-6",
                "src/tests.rs",
                "src/tests/"
            ]
        );
        assert_eq!(
            shown("src/store.rs")[2..],
            ["src/store/tests.rs", "src/store/tests/"]
        );
        assert_eq!(shown("src/missing.rs"), [""; 0]);
    }
}
