//! Embeds the runtime's sources, and a digest of them, into the library.

use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::{env, fs};

use sha2::{Digest, Sha256};

/// What decides how the runtime is built and linked, beside its sources.
const BUILD_SOURCES: &[&str] = &["src/build/runtime.rs", "src/wrapper.rs"];

fn main() {
    let package = PathBuf::from(env::var_os("CARGO_MANIFEST_DIR").expect("cargo sets it"));
    let runtime = package.join("../runtime");
    let mut files = Vec::new();
    collect(&runtime.join("src"), &mut files);
    for facade in ["chess_core", "chess_alloc", "chess_std", "chess_test"] {
        collect(
            &runtime.join("facades").join(facade).join("src"),
            &mut files,
        );
    }
    files.sort();

    let mut digest = Sha256::new();
    let mut list = String::new();
    for file in &files {
        let name = file.strip_prefix(&runtime).expect("below the runtime");
        let name = name.to_str().expect("names of sources are UTF-8");
        add_to(&mut digest, name, file);
        let path = file.to_str().expect("the checkout's path is UTF-8");
        writeln!(list, "    ({name:?}, include_bytes!({path:?})),").expect("strings take it");
    }
    for name in BUILD_SOURCES {
        let file = package.join(name);
        println!("cargo::rerun-if-changed={}", file.display());
        add_to(&mut digest, name, &file);
    }

    let digest = digest.finalize();
    let hex = digest.iter().take(16).fold(String::new(), |mut hex, byte| {
        write!(hex, "{byte:02x}").expect("strings take it");
        hex
    });
    let generated = format!(
        "pub(super) const DIGEST: &str = \"{hex}\";\n\
         pub(super) const FILES: &[(&str, &[u8])] = &[\n{list}];\n"
    );
    let out = PathBuf::from(env::var_os("OUT_DIR").expect("cargo sets it"));
    fs::write(out.join("runtime_sources.rs"), generated).expect("OUT_DIR is writable");
}

fn collect(dir: &Path, files: &mut Vec<PathBuf>) {
    println!("cargo::rerun-if-changed={}", dir.display());
    let entries = fs::read_dir(dir)
        .unwrap_or_else(|error| panic!("the runtime's sources in {}: {error}", dir.display()));
    for entry in entries {
        let path = entry.expect("a readable directory").path();
        if path.is_dir() {
            collect(&path, files);
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
