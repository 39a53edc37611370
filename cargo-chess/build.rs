//! Embeds the runtime's sources, and a digest of them, into the library.
//!
//! What is embedded lies in `shipped`, as links to where it is kept: cargo packs what they
//! lead to, so that the package builds without the repository.

use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::{env, fs};

use sha2::{Digest, Sha256};

/// What decides how the runtime is built, beside its sources.
const RUNTIME_BUILD: &str = "src/build/runtime.rs";

/// The sources that decide how units are compiled against the runtime and linked.
const WRAPPER: &[&str] = &["src/wrapper", "src/linker", "shipped/runtime/overlays"];

/// The sources of the rewriter, which decide that, too. The package depends on its own
/// version of it, and so needs no digest of them.
const REWRITER: &str = "../rewriter/src";

fn main() {
    let package = PathBuf::from(env::var_os("CARGO_MANIFEST_DIR").expect("cargo sets it"));
    let runtime = package.join("shipped/runtime");
    let mut files = Vec::new();
    collect(&runtime.join("src"), &mut files);
    collect(&runtime.join("search/src"), &mut files);
    collect(&runtime.join("vocabulary/src"), &mut files);
    for facade in ["chess_core", "chess_alloc", "chess_std", "chess_test"] {
        collect(
            &runtime.join("facades").join(facade).join("src"),
            &mut files,
        );
    }
    files.sort();
    let mut overlays = Vec::new();
    collect(&runtime.join("overlays"), &mut overlays);
    overlays.sort();

    let mut digest = Sha256::new();
    for file in &files {
        add_to(&mut digest, name_of(file, &runtime), file);
    }
    let build = package.join(RUNTIME_BUILD);
    println!("cargo::rerun-if-changed={}", build.display());
    add_to(&mut digest, RUNTIME_BUILD, &build);

    let generated = format!(
        "pub(super) const DIGEST: &str = \"{}\";\n\
         pub(super) const WRAPPER_DIGEST: &str = \"{}\";\n\
         pub(super) const FILES: &[(&str, &[u8])] = &[\n{}];\n\
         pub(in crate::build) const OVERLAYS: &[(&str, &str)] = &[\n{}];\n",
        hex(digest),
        hex(wrapper_digest(&package)),
        list(&files, &runtime, "include_bytes"),
        list(&overlays, &runtime.join("overlays"), "include_str"),
    );
    let out = PathBuf::from(env::var_os("OUT_DIR").expect("cargo sets it"));
    fs::write(out.join("runtime_sources.rs"), generated).expect("OUT_DIR is writable");
}

fn wrapper_digest(package: &Path) -> Sha256 {
    let mut digest = Sha256::new();
    let rewriter = package.join(REWRITER).is_dir().then_some(&REWRITER);
    digest.update(env::var("CARGO_PKG_VERSION").expect("cargo sets it"));
    for place in WRAPPER.iter().chain(rewriter) {
        let place = package.join(place);
        let mut files = Vec::new();
        collect(&place, &mut files);
        files.sort();
        for file in &files {
            add_to(&mut digest, name_of(file, &place), file);
        }
    }
    digest
}

/// The elements of an array of names and contents.
fn list(files: &[PathBuf], base: &Path, include: &str) -> String {
    let mut list = String::new();
    for file in files {
        let name = name_of(file, base);
        let path = file.to_str().expect("the checkout's path is UTF-8");
        writeln!(list, "    ({name:?}, {include}!({path:?})),").expect("strings take it");
    }
    list
}

fn name_of<'a>(file: &'a Path, base: &Path) -> &'a str {
    let name = file.strip_prefix(base).expect("below the base");
    name.to_str().expect("names of sources are UTF-8")
}

fn hex(digest: Sha256) -> String {
    digest
        .finalize()
        .iter()
        .take(16)
        .fold(String::new(), |mut hex, byte| {
            write!(hex, "{byte:02x}").expect("strings take it");
            hex
        })
}

/// Adds the files below a directory, except for those that only tests have: a change of a test
/// does not build the runtime again.
///
/// A directory is not watched, because that includes all files below it. A new file is noticed
/// nevertheless: another file has to name it.
fn collect(dir: &Path, files: &mut Vec<PathBuf>) {
    let mut found = Vec::new();
    collect_all(dir, &mut found);
    let modules: Vec<PathBuf> = found.iter().flat_map(|file| test_modules(file)).collect();
    found.retain(|file| {
        let is_of = |module: &PathBuf| {
            file.starts_with(module.with_extension("")) || file.starts_with(module)
        };
        !modules.iter().any(is_of)
    });
    for file in &found {
        println!("cargo::rerun-if-changed={}", file.display());
    }
    files.append(&mut found);
}

/// The attributes of modules that only tests use.
const OF_TESTS: [&str; 2] = ["#[cfg(test)]", "#[cfg(any(test, feature = \"testing\"))]"];

/// The files of the modules that a source file declares as `#[cfg(test)] mod NAME;`.
fn test_modules(file: &Path) -> Vec<PathBuf> {
    if file.extension().is_none_or(|it| it != "rs") {
        return Vec::new();
    }
    let text =
        fs::read_to_string(file).unwrap_or_else(|error| panic!("{}: {error}", file.display()));
    let dir = match file.file_name().and_then(|name| name.to_str()) {
        Some("mod.rs" | "lib.rs") => file.parent().expect("a file is in a directory").to_owned(),
        _ => file.with_extension(""),
    };
    let mut lines = text.lines().map(str::trim);
    let mut modules = Vec::new();
    while lines.any(|line| OF_TESTS.contains(&line)) {
        let declaration = lines.next().unwrap_or_default().trim_end_matches(';');
        let mut words = declaration.split(' ').skip_while(|word| *word != "mod");
        // `mod NAME {` has another word after the name.
        if let (Some(_), Some(name), None) = (words.next(), words.next(), words.next()) {
            modules.push(dir.join(name).with_extension("rs"));
        }
    }
    modules
}

fn collect_all(dir: &Path, files: &mut Vec<PathBuf>) {
    let entries = fs::read_dir(dir)
        .unwrap_or_else(|error| panic!("the sources in {}: {error}", dir.display()));
    for entry in entries {
        let path = entry.expect("a readable directory").path();
        if path.is_dir() {
            collect_all(&path, files);
        } else {
            files.push(path);
        }
    }
}

fn add_to(digest: &mut Sha256, name: &str, file: &Path) {
    let bytes = fs::read(file).unwrap_or_else(|error| panic!("{}: {error}", file.display()));
    digest.update(name);
    digest.update((bytes.len() as u64).to_le_bytes());
    digest.update(bytes);
}
