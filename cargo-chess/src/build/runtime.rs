//! The runtime: it is built once for each toolchain from the embedded sources, in a cache that all
//! runs share.

use std::fmt::Write as _;
use std::fs::{self, File, TryLockError};
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::{Duration, SystemTime};

use camino::{Utf8Path, Utf8PathBuf};

use super::canary;
use super::unused;
use super::versions;
use crate::digest;
use crate::error::{Error, OF_RUSTC, Result, not_run};
use crate::interrupt::Interrupt;
use crate::shell::Shell;
use crate::toolchain::Toolchain;
use crate::toolchain::cache;

mod sources {
    //! The runtime's files and their digest, from `build.rs`.
    include!(concat!(env!("OUT_DIR"), "/runtime_sources.rs"));
}

/// The interval between two checks whether another build of the runtime has ended.
const RETRY: Duration = Duration::from_millis(50);

/// The vocabulary of the runtime and of this program.
const VOCABULARY: Crate = Crate {
    name: "chess_vocabulary",
    root: "vocabulary/src/lib.rs",
    needs: &[],
};

/// The search of the runtime.
const SEARCH: Crate = Crate {
    name: "chess_search",
    root: "search/src/lib.rs",
    needs: &[VOCABULARY.name],
};

/// The crate on which all facades depend.
const BASE: Crate = Crate {
    name: "chess_runtime",
    root: "src/lib.rs",
    needs: &[VOCABULARY.name, SEARCH.name],
};

/// The facades. Each of them depends only on [`BASE`].
const FACADES: &[Crate] = &[
    Crate {
        name: "chess_std",
        root: "facades/chess_std/src/lib.rs",
        needs: &[BASE.name],
    },
    Crate {
        name: "chess_core",
        root: "facades/chess_core/src/lib.rs",
        needs: &[BASE.name],
    },
    Crate {
        name: "chess_alloc",
        root: "facades/chess_alloc/src/lib.rs",
        needs: &[BASE.name],
    },
    Crate {
        name: "chess_test",
        root: "facades/chess_test/src/lib.rs",
        needs: &[BASE.name],
    },
];

/// The name of the file that lists the files of a built runtime with their sizes. It is written
/// last: if it exists, the build was complete.
pub(super) const COMPLETE: &str = "complete";

/// A built runtime.
#[derive(Debug)]
pub(super) struct Runtime {
    /// The directory of the libraries.
    pub(super) dir: Utf8PathBuf,
    /// The key that distinguishes this runtime from those of other sources and compilers.
    pub(super) key: String,
}

struct Crate {
    name: &'static str,
    root: &'static str,
    /// The names of the crates that this crate depends on.
    needs: &'static [&'static str],
}

pub(super) use sources::OVERLAYS;

/// The digest of the sources of this program that determine how units are compiled against the
/// runtime.
pub(super) fn wrapper_digest() -> &'static str {
    sources::WRAPPER_DIGEST
}

/// The digest of the runtime's sources and of its build and link options.
pub(super) fn digest() -> &'static str {
    sources::DIGEST
}

/// Finds the runtime for `toolchain` in a cache, or builds it there.
pub(super) fn ensure(
    toolchain: &Toolchain,
    chess_dir: &Utf8Path,
    shell: Shell,
    interrupt: &Interrupt,
) -> Result<Runtime> {
    let key = key(toolchain);
    let candidates = cache::candidates(chess_dir)?;
    let mut caches = candidates.iter();
    if let Some(cache) = caches.find(|cache| is_complete(&cache.join(&key))) {
        unused::mark_used(cache, &key);
        let dir = cache.join(&key);
        return Ok(Runtime { dir, key });
    }
    let mut unusable = None;
    for cache in &candidates {
        match lock(cache, &key, shell, interrupt) {
            Ok(lock) => {
                let dir = cache.join(&key);
                if !is_complete(&dir) {
                    if lock.is_some() {
                        remove_left_over(cache, &key);
                    }
                    build(toolchain, cache, &key, chess_dir, shell, interrupt)?;
                    unused::remove(cache, SystemTime::now());
                }
                drop(lock);
                return Ok(Runtime { dir, key });
            }
            Err(error) => unusable = Some(error),
        }
    }
    Err(unusable.expect("there is a candidate"))
}

/// If this tool has debug assertions, as in its own tests, the runtime checks that no code borrows
/// the execution twice.
const CHECKS: Option<[&str; 2]> = if cfg!(debug_assertions) {
    Some(["--cfg", "chess_checks_borrows"])
} else {
    None
};

fn key(toolchain: &Toolchain) -> String {
    let mut digest = digest::Streamed::default();
    digest.update(sources::DIGEST.as_bytes());
    digest.update(toolchain.key().as_bytes());
    digest.update(&[CHECKS.is_some().into()]);
    digest.short(16)
}

/// Whether `dir` has every file of the list in [`COMPLETE`], each with the listed size.
fn is_complete(dir: &Utf8Path) -> bool {
    let Ok(list) = fs::read_to_string(dir.join(COMPLETE)) else {
        return false;
    };
    !list.is_empty()
        && list.lines().all(|line| {
            line.split_once(' ').is_some_and(|(size, name)| {
                dir.join(name)
                    .metadata()
                    .is_ok_and(|metadata| metadata.len().to_string() == size)
            })
        })
}

/// The path of the file that is locked while the runtime `key` is built. Its modification time is
/// the last use of the runtime.
pub(super) fn lock_path(cache: &Utf8Path, key: &str) -> Utf8PathBuf {
    cache.join(format!("{key}.lock"))
}

/// Locks the file of the runtime `key` in `cache`, and waits until no other process has the lock.
/// Returns `None` if the file system has no locks.
fn lock(cache: &Utf8Path, key: &str, shell: Shell, interrupt: &Interrupt) -> Result<Option<File>> {
    fs::create_dir_all(cache).map_err(Error::io("create the directory", cache))?;
    let path = lock_path(cache, key);
    let file = File::options()
        .write(true)
        .create(true)
        .truncate(false)
        .open(&path)
        .map_err(Error::io("create", &path))?;
    match file.try_lock() {
        Ok(()) => return Ok(Some(file)),
        Err(TryLockError::WouldBlock) => {
            shell.status("Waiting", "for another cargo chess to build the runtime");
        }
        Err(TryLockError::Error(_)) => return Ok(None),
    }
    loop {
        match file.try_lock() {
            Ok(()) => return Ok(Some(file)),
            Err(TryLockError::WouldBlock) if interrupt.requested() => {
                return Err(Error::Interrupted);
            }
            Err(TryLockError::WouldBlock) => thread::sleep(RETRY),
            Err(TryLockError::Error(error)) => return Err(Error::io("lock", &path)(error)),
        }
    }
}

fn build(
    toolchain: &Toolchain,
    cache: &Utf8Path,
    key: &str,
    chess_dir: &Utf8Path,
    shell: Shell,
    interrupt: &Interrupt,
) -> Result<()> {
    let workshop = tempfile::Builder::new()
        .prefix(&workshop_prefix(key))
        .tempdir_in(cache)
        .map_err(Error::io("create a directory in", cache))?;
    let place =
        Utf8Path::from_path(workshop.path()).expect("what is in the cache is UTF-8 as it is");
    let libraries = place.join("lib");
    let sources = place.join("runtime");
    write_sources(&sources)?;
    fs::create_dir(&libraries).map_err(Error::io("create the directory", &libraries))?;

    shell.status(
        "Building",
        format!(
            "the runtime of cargo chess, once for {}",
            toolchain.version()
        ),
    );
    let compiler = Compiler {
        toolchain,
        sources: &sources,
        libraries: &libraries,
        key,
        chess_dir,
        interrupt,
    };
    for it in [&VOCABULARY, &SEARCH, &BASE] {
        compiler.finish(it, compiler.start(it)?)?;
    }
    let running: Result<Vec<_>> = FACADES
        .iter()
        .map(|facade| Ok((facade, compiler.start(facade)?)))
        .collect();
    // Wait for the end of all compilers, because they write to a directory that is removed later.
    let finished = running?.into_iter();
    let finished: Vec<_> = finished
        .map(|(facade, child)| compiler.finish(facade, child))
        .collect();
    finished.into_iter().collect::<Result<()>>()?;
    canary::check(toolchain, place, &libraries, chess_dir)?;

    write_complete(&libraries)?;
    let dir = cache.join(key);
    if dir.exists() && !is_complete(&dir) {
        fs::remove_dir_all(&dir).map_err(Error::io("remove", &dir))?;
    }
    match fs::rename(&libraries, &dir) {
        // If the file system has no locks, another process may have built the same runtime before.
        Err(_) if is_complete(&dir) => Ok(()),
        renamed => renamed.map_err(Error::io("create", &dir)),
    }
}

fn workshop_prefix(key: &str) -> String {
    format!(".building-{key}-")
}

/// Removes the files of killed builds of `key`. The caller has the lock, so no process builds this
/// runtime now.
fn remove_left_over(cache: &Utf8Path, key: &str) {
    let prefix = workshop_prefix(key);
    for entry in cache.read_dir_utf8().into_iter().flatten().flatten() {
        if entry.file_name().starts_with(&prefix) {
            let _ = fs::remove_dir_all(entry.path());
        }
    }
}

fn write_sources(dir: &Utf8Path) -> Result<()> {
    for (name, bytes) in sources::FILES {
        let path = dir.join(name);
        let parent = path.parent().expect("below `dir`");
        fs::create_dir_all(parent).map_err(Error::io("create the directory", parent))?;
        let mut contents = bytes.to_vec();
        if FACADES.iter().any(|facade| facade.root == *name) {
            contents.extend_from_slice(canary::MARK.as_bytes());
        }
        fs::write(&path, contents).map_err(Error::io("write", &path))?;
    }
    Ok(())
}

fn write_complete(libraries: &Utf8Path) -> Result<()> {
    let mut list = String::new();
    let entries = libraries
        .read_dir_utf8()
        .map_err(Error::io("read the directory", libraries))?;
    for entry in entries.flatten() {
        let metadata = entry
            .metadata()
            .map_err(Error::io("look at", entry.path()))?;
        let _ = writeln!(list, "{} {}", metadata.len(), entry.file_name());
    }
    let path = libraries.join(COMPLETE);
    fs::write(&path, list).map_err(Error::io("write", &path))
}

/// The compilation of the runtime's crates.
struct Compiler<'a> {
    toolchain: &'a Toolchain,
    sources: &'a Utf8Path,
    libraries: &'a Utf8Path,
    key: &'a str,
    /// The directory for the compiler's messages.
    chess_dir: &'a Utf8Path,
    /// Ends the compilers on Ctrl-C.
    interrupt: &'a Interrupt,
}

impl Compiler<'_> {
    /// Starts the compilation of a crate of the runtime. The crate is always optimised, whatever
    /// the user's profile is.
    fn start(&self, it: &Crate) -> Result<Child> {
        let mut command = Command::new(&self.toolchain.rustc);
        command
            .arg(self.sources.join(it.root))
            .args(["--crate-name", it.name, "--crate-type", "rlib"])
            .args(["--edition", "2024", "--cap-lints", "allow"])
            .args(["--target", self.toolchain.host()])
            // With 4 units, a build on two cores takes two thirds of the time that it takes with
            // one unit, and executions are as fast. With 8 units, executions take 2 to 4 % longer.
            .args(["-Copt-level=3", "-Ccodegen-units=4"])
            // More inlining than rustc's default: 5 to 15 % more executions a second.
            .arg("-Cllvm-args=-inline-threshold=1000")
            // The runtime is loaded when the program starts. So one instruction can access its
            // thread-locals. By default, rustc would call a function, as in every library.
            .arg("-Ztls-model=initial-exec")
            // Without bitcode, a user's profile with link-time optimisation fails.
            .args(["-Cembed-bitcode=yes", "-Cdebuginfo=line-tables-only"])
            .arg(format!("-Cmetadata={}", self.key))
            .arg(format!(
                "--remap-path-prefix={}=/cargo-chess/runtime",
                self.sources
            ))
            .args(["--out-dir", self.libraries.as_str()])
            .args(["-L", &format!("dependency={}", self.libraries)])
            .args(CHECKS.into_iter().flatten())
            .env("RUSTC_BOOTSTRAP", "1")
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::piped());
        for needed in it.needs {
            let library = self.libraries.join(format!("lib{needed}.rlib"));
            command.args(["--extern", &format!("{needed}={library}")]);
        }
        command
            .spawn()
            .map_err(|error| Error::Unsupported(not_run(&self.toolchain.rustc, OF_RUSTC, &error)))
    }

    fn finish(&self, it: &Crate, child: Child) -> Result<()> {
        let ending = self.interrupt.ending(&child);
        let output = child
            .wait_with_output()
            .map_err(Error::io("wait for rustc on", self.sources.join(it.root)))?;
        drop(ending);
        if output.status.success() {
            return Ok(());
        }
        let said = String::from_utf8_lossy(&output.stderr);
        if said.contains("No space left on device") {
            let full = std::io::ErrorKind::StorageFull.into();
            return Err(Error::io("build the runtime in", self.libraries)(full));
        }
        let problem = format!(
            "the runtime's crate {} does not compile with {} ({})",
            it.name,
            self.toolchain.version(),
            output.status,
        );
        let chess_dir = self.chess_dir;
        Err(versions::refused(
            self.toolchain,
            &problem,
            &said,
            chess_dir,
        ))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::error::exit_code;

    #[test]
    fn a_runtime_counts_only_while_each_of_its_files_is_whole() {
        let dir = tempfile::tempdir().expect("a temporary directory");
        let dir = Utf8Path::from_path(dir.path()).expect("a UTF-8 path");
        let library = dir.join("libchess_std.rlib");
        assert!(!is_complete(dir));
        fs::write(&library, "code").expect("writable");
        assert!(!is_complete(dir));
        write_complete(dir).expect("writable");
        assert!(is_complete(dir));
        fs::write(&library, "co").expect("writable");
        assert!(!is_complete(dir));
        fs::remove_file(&library).expect("writable");
        assert!(!is_complete(dir));
    }

    #[test]
    fn the_files_of_a_killed_build_are_removed_and_nothing_else() {
        let cache = tempfile::tempdir().expect("a temporary directory");
        let cache = Utf8Path::from_path(cache.path()).expect("a UTF-8 path");
        for name in [".building-k1-x", ".building-k2-x", "k1"] {
            fs::create_dir(cache.join(name)).expect("writable");
        }
        remove_left_over(cache, "k1");
        assert!(!cache.join(".building-k1-x").exists());
        assert!(cache.join(".building-k2-x").exists());
        assert!(cache.join("k1").exists());
    }

    #[test]
    fn a_runtime_that_does_not_compile_is_a_defect_with_the_tested_compiler() {
        let toolchain = Toolchain::find().expect("there is a compiler");
        let place = Utf8Path::new("/nowhere");
        let error = |toolchain: &Toolchain, script: &str| {
            let mut command = Command::new("sh");
            let command = command.args(["-c", script]).stderr(Stdio::piped());
            let compiler = Compiler {
                toolchain,
                sources: place,
                libraries: place,
                key: "",
                chess_dir: place,
                interrupt: &Interrupt::default(),
            };
            let ended = compiler.finish(&BASE, command.spawn().expect("there is a shell"));
            ended.expect_err("it fails")
        };
        let said = "echo 'error: no' >&2; exit 1";
        let defect = error(&toolchain, said);
        assert_eq!(defect.exit_code(), exit_code::INTERNAL);
        let text = defect.to_string();
        assert!(
            text.contains("chess_runtime does not compile with rustc 1.")
                && text.contains("(exit status: 1):\nerror: no\nThis is a defect of cargo chess"),
            "{text}"
        );
        let full = error(&toolchain, "echo 'No space left on device' >&2; exit 1").to_string();
        assert!(
            full.starts_with("could not build the runtime in /nowhere")
                && full.contains("The disk is full"),
            "{full}"
        );
    }

    #[test]
    fn the_sources_carried_hold_the_roots_of_all_crates() {
        for it in FACADES.iter().chain([&BASE, &SEARCH, &VOCABULARY]) {
            assert!(
                sources::FILES.iter().any(|(name, _)| *name == it.root),
                "{} is missing",
                it.root
            );
        }
        assert_eq!(digest().len(), 32);
    }

    /// If the sources had files that only tests use, each change of a test would build the runtime
    /// again.
    #[test]
    fn the_sources_carried_leave_out_files_that_only_tests_have() {
        let names = || sources::FILES.iter().map(|(name, _)| *name);
        assert!(names().any(|name| name == "search/src/icb/mod.rs"));
        let of_tests = [
            "/tests",
            "search/src/testing",
            "search/src/nondeterminism_tests.rs",
            "src/memory/weak_tests",
        ];
        let is_of_tests = |name: &&str| of_tests.iter().any(|part| name.contains(part));
        assert_eq!(names().find(is_of_tests), None);
    }
}
