//! The documentation of the toolchain, and that of the shims, which is built for the test.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::LazyLock;

use crate::rustdoc_page::Page;

/// The documentation of std and of the shims.
pub(crate) struct Docs {
    real: PathBuf,
    shim: PathBuf,
}

/// An item of a module: `struct`, `Mutex`.
pub(crate) struct Item {
    pub(crate) kind: String,
    pub(crate) name: String,
}

/// Built once, because the tests of this program run at the same time and share one directory.
static DOCS: LazyLock<Docs> = LazyLock::new(|| Docs {
    real: documentation_of_std(),
    shim: document_the_shims(),
});

impl Docs {
    pub(crate) fn get() -> &'static Docs {
        &DOCS
    }

    /// Returns the public items of a module of std, unstable ones included.
    pub(crate) fn items(&self, module: &str) -> Vec<Item> {
        let directory = self.real.join(module);
        let entries = fs::read_dir(&directory)
            .unwrap_or_else(|error| panic!("cannot list {}: {error}", directory.display()));
        let mut items: Vec<Item> = entries
            .filter_map(|entry| {
                let name = entry.expect("a readable directory").file_name();
                let (kind, name) = name.to_str()?.strip_suffix(".html")?.split_once('.')?;
                let known = ["struct", "enum", "union", "trait", "fn", "constant", "type"];
                known.contains(&kind).then(|| Item {
                    kind: kind.into(),
                    name: name.into(),
                })
            })
            .collect();
        items.sort_by(|a, b| a.name.cmp(&b.name));
        assert!(
            !items.is_empty(),
            "{} documents nothing",
            directory.display()
        );
        items
    }

    /// Returns the names of the shims for which std has a type at the same path: `sync::Mutex`.
    pub(crate) fn stand_ins(&self) -> BTreeSet<String> {
        let mut found = BTreeSet::new();
        self.add_stand_ins("", &mut found);
        found
    }

    fn add_stand_ins(&self, module: &str, found: &mut BTreeSet<String>) {
        let directory = self.shim.join("shim").join(module);
        for entry in fs::read_dir(&directory).expect("a directory of pages") {
            let name = entry.expect("a readable directory").file_name();
            let name = name.to_str().expect("a name in UTF-8");
            let Some(page) = name.strip_suffix(".html") else {
                if directory.join(name).is_dir() {
                    self.add_stand_ins(&format!("{module}{name}/"), found);
                }
                continue;
            };
            let is_of_std = self.real.join("std").join(module).join(name).exists();
            if let Some((kind, item)) = page.split_once('.')
                && is_of_std
                && ["struct", "enum", "union"].contains(&kind)
                && Page::read(&directory.join(name)).is_some_and(|page| !page.is_of_std())
            {
                found.insert(format!("{}{item}", module.replace('/', "::")));
            }
        }
    }

    pub(crate) fn real_page(&self, module: &str, item: &Item) -> Page {
        let path = page_path(&self.real.join(module), item);
        Page::read(&path).unwrap_or_else(|| panic!("cannot read {}", path.display()))
    }

    /// Returns the page of the same item in a shim module, if it is there.
    pub(crate) fn shim_page(&self, module: &str, item: &Item) -> Option<Page> {
        Page::read(&page_path(&self.shim.join(module), item))
    }
}

fn page_path(module: &Path, item: &Item) -> PathBuf {
    module.join(format!("{}.{}.html", item.kind, item.name))
}

fn documentation_of_std() -> PathBuf {
    let output = Command::new(env_or("RUSTC", "rustc"))
        .args(["--print", "sysroot"])
        .output()
        .expect("rustc starts");
    let sysroot = String::from_utf8(output.stdout).expect("a sysroot in UTF-8");
    let html = Path::new(sysroot.trim()).join("share/doc/rust/html");
    assert!(
        html.join("std/sync/index.html").exists(),
        "this test compares the shims with the toolchain's own documentation, which is not in {}; \
         install it with `rustup component add rust-docs`",
        html.display()
    );
    html
}

/// Compiles the metadata of `chess_NAME`, a dependency of the runtime, for rustdoc, and adds the
/// crate to `externs`. The crate may depend on the crates that are already in `externs`.
fn compile(name: &str, out: &Path, externs: &mut Vec<String>) {
    fs::create_dir_all(out).expect("the directory can be made");
    let library = out.join(format!("libchess_{name}.rmeta"));
    let output = Command::new(env_or("RUSTC", "rustc"))
        .arg(Path::new(env!("CARGO_MANIFEST_DIR")).join(format!("{name}/src/lib.rs")))
        .args(["--crate-name", &format!("chess_{name}")])
        .args(["--crate-type", "lib", "--cap-lints", "allow"])
        .args(["--edition", "2024", "--emit", "metadata", "-o"])
        .arg(&library)
        .args(&*externs)
        .env("RUSTC_BOOTSTRAP", "1")
        .output()
        .expect("rustc starts");
    let messages = String::from_utf8_lossy(&output.stderr);
    assert!(
        output.status.success(),
        "rustc failed on chess_{name}:\n{messages}"
    );
    externs.push("--extern".to_owned());
    externs.push(format!("chess_{name}={}", library.display()));
}

fn document_the_shims() -> PathBuf {
    let out = Path::new(env!("CARGO_TARGET_TMPDIR")).join("std_api");
    // The pages of an earlier run would hide the removal of an item.
    let _ = fs::remove_dir_all(&out);
    let mut externs = Vec::new();
    compile("vocabulary", &out, &mut externs);
    compile("search", &out, &mut externs);
    let output = Command::new(env_or("RUSTDOC", "rustdoc"))
        .arg(Path::new(env!("CARGO_MANIFEST_DIR")).join("src/lib.rs"))
        .args(&externs)
        // The search depends on the vocabulary. This option lets rustdoc find that crate, too.
        .arg("-L")
        .arg(&out)
        .args([
            "--crate-name",
            "chess_runtime",
            "--edition",
            "2024",
            "--cap-lints",
            "allow",
            "-o",
        ])
        .arg(&out)
        .env("RUSTC_BOOTSTRAP", "1")
        .output()
        .expect("rustdoc starts");
    let messages = String::from_utf8_lossy(&output.stderr);
    assert!(
        output.status.success(),
        "rustdoc failed on the runtime:\n{messages}"
    );
    out.join("chess_runtime")
}

fn env_or(variable: &str, default: &str) -> String {
    std::env::var(variable).unwrap_or_else(|_| default.to_owned())
}
