//! Tests with programs that rustc instrumented.

use std::process::Command;

use chess_vocabulary::places::{Places, trailer};

use super::*;

/// Hooks that do nothing.
const HOOKS: &str = r#"
    use std::arch::global_asm;
    macro_rules! hooks {
        ($($name:literal $code:literal)*) => { $(
            global_asm!(concat!(".globl __tsan_", $name), concat!("__tsan_", $name, ":"), $code);
        )* };
    }
    hooks! {
        "read1" "ret" "read2" "ret" "read4" "ret" "read8" "ret" "read16" "ret"
        "write1" "ret" "write2" "ret" "write4" "ret" "write8" "ret" "write16" "ret"
        "unaligned_read2" "ret" "unaligned_read4" "ret" "unaligned_read8" "ret"
        "unaligned_read16" "ret" "unaligned_write2" "ret" "unaligned_write4" "ret"
        "unaligned_write8" "ret" "unaligned_write16" "ret" "init" "ret"
        "memcpy" "jmp memcpy@PLT" "memmove" "jmp memmove@PLT" "memset" "jmp memset@PLT"
    }
    pub fn link() {}
"#;

/// A line that ends with a comment calls hooks, or calls functions of the library that call hooks.
/// Other lines do neither.
const PROGRAM: &str = r#"
    use std::hint::black_box;
    struct Pair { first: u32, second: u64 }
    fn write(p: *mut u32) {
        unsafe { *p = 1 } // own
    }
    fn take(p: &mut Option<Box<u32>>) -> Option<Box<u32>> {
        p.take() // own
    }
    fn push(v: &mut Vec<u32>) {
        v.push( // own
            7,
        );
    }
    fn copy(to: &mut [u64; 20], from: &[u64; 20]) {
        *to = *from; // own
    }
    fn second(pair: &Pair) -> u64 {
        let _address = &raw const pair.first;
        pair.second // own
    }
    fn iterate(v: &[u32]) -> u32 {
        v.iter() // own
            .map(|x| x + 1) // own
            .sum() // own
    }
    fn dynamic(f: &dyn Fn(u32) -> u32) -> u32 {
        f(3) // own
    }
    fn of_both(p: *mut u32) {
        write(p);
    }
    macro_rules! put {
        ($p:expr) => { unsafe { *$p = 8 } }; // own
    }
    fn through_macro(p: *mut u32) {
        put!(p);
    }
    fn is_some(p: &Option<u64>) -> bool {
        match p { // dead
            Some(_) => true,
            None => false,
        }
    }
    fn main() {
        hooks::link();
        println!("{}", std::panic::Location::caller().file());
        black_box((write as fn(_), take as fn(&mut _) -> _, push as fn(&mut _)));
        black_box((copy as fn(&mut _, &_), second as fn(&_) -> _, iterate as fn(&_) -> _));
        black_box((dynamic as fn(&_) -> _, of_both as fn(_), through_macro as fn(_)));
        black_box(is_some as fn(&_) -> _);
    }
"#;

fn rustc(directory: &Path, args: &[&str]) {
    let output = Command::new(std::env::var_os("RUSTC").unwrap_or("rustc".into()))
        .current_dir(directory)
        .env("RUSTC_BOOTSTRAP", "1")
        .args(["--edition", "2024", "-Cunsafe-allow-abi-mismatch=sanitizer"])
        .args(["--cap-lints", "allow", "-L", "."])
        .args(args)
        .output();
    let output = output.expect("rustc runs");
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{args:?}: {errors}");
}

/// Builds [`PROGRAM`] with instrumentation, in a new temporary directory, which it returns. `args`
/// are further arguments of rustc.
fn built(args: &[&str]) -> tempfile::TempDir {
    let directory = tempfile::tempdir().expect("it can be made");
    let root = directory.path();
    fs::create_dir(root.join("src")).expect("it can be made");
    fs::write(root.join("hooks.rs"), HOOKS).expect("it can be written");
    fs::write(root.join("src/main.rs"), PROGRAM).expect("it can be written");
    rustc(root, &["--crate-type", "rlib", "hooks.rs"]);
    let mut all = vec!["src/main.rs", "--extern", "hooks", "-o", "program"];
    all.extend([
        "-Zsanitizer=thread",
        "-Zexternal-clangrt",
        "-Zshare-generics=no",
        "-Cforce-frame-pointers=yes",
        "-Cllvm-args=-tsan-instrument-func-entry-exit=0",
        "-Cllvm-args=-tsan-instrument-atomics=0",
    ]);
    all.extend(args);
    rustc(root, &all);
    directory
}

/// The entries of a table.
struct Found {
    /// The lines of `src/main.rs`.
    own: Vec<usize>,
    /// The lines of `src/main.rs` that have dead reads.
    dead: Vec<usize>,
    /// The number of entries for calls in the library.
    library: usize,
}

fn found(program: &Path) -> Found {
    append(program).expect("it can be read and written");
    let bytes = fs::read(program).expect("it is there");
    let (offset, length) = trailer(&bytes).expect("a table");
    let bytes = &bytes[offset..][..length];
    let places = Places::new(bytes).expect("a sound table");
    let calls = bytes[48..places.records()].chunks_exact(8);
    let (mut own, mut dead) = (Vec::new(), Vec::new());
    let mut library = 0;
    for call in calls {
        let address = u32::from_le_bytes(*call.first_chunk().expect("an address"));
        let entry = places.find(address).expect("each entry is found");
        let position = places.position(entry.place()).expect("it has a place");
        let line = position.line as usize;
        if entry.is_of_library() {
            assert!(position.file.starts_with("/rustc/"), "{position:?}");
            library += 1;
        } else if position.file == "src/main.rs" {
            own.push(line);
            if entry.is_ignored() {
                dead.push(line);
            }
        } else {
            panic!("{position:?}");
        }
    }
    own.sort_unstable();
    own.dedup();
    Found { own, dead, library }
}

/// The lines before `main` that end with a comment.
fn marked(comments: &[&str]) -> Vec<usize> {
    let lines = PROGRAM.split("fn main").next().expect("a part").lines();
    let marked = (1..).zip(lines);
    let marked = marked.filter(|(_, line)| comments.iter().any(|it| line.ends_with(it)));
    marked.map(|(number, _)| number).collect()
}

fn line_of(source: &str) -> usize {
    let at = PROGRAM.find(source).expect("it is in the program");
    PROGRAM[..at].lines().count()
}

fn main_starts() -> usize {
    line_of("fn main")
}

#[test]
fn calls_have_the_lines_of_the_program() {
    let directory = built(&["-Cdebuginfo=2", "-Zmir-opt-level=0"]);
    let program = directory.path().join("program");
    let mut found = found(&program);
    found.own.retain(|line| *line < main_starts());
    assert_eq!(found.own, marked(&["// own", "// dead"]));
    assert_eq!(found.dead, marked(&["// dead"]));
    assert!(found.library > 20);
    let output = Command::new(&program).output().expect("it still runs");
    assert_eq!(output.stdout, b"src/main.rs\n");
}

#[test]
fn inlined_code_of_the_library_has_the_lines_of_the_program() {
    let directory = built(&["-Copt-level=3", "-Cdebuginfo=line-tables-only"]);
    let found = found(&directory.path().join("program"));
    let expected = marked(&["// own", "// dead"]);
    let own = found.own.iter().filter(|line| **line < main_starts());
    let unexpected: Vec<_> = own.filter(|line| !expected.contains(line)).collect();
    assert!(unexpected.is_empty(), "{unexpected:?}");
    for source in [
        "*p = 1",
        "p.take()",
        "v.push(",
        "*$p = 8",
        "pair.second",
        ".sum()",
    ] {
        assert!(found.own.contains(&line_of(source)), "{source}");
    }
    assert!(found.dead.is_empty(), "{:?}", found.dead);
}

#[test]
fn names_are_those_that_rustc_was_given() {
    for (remap, file) in [
        ("src=elsewhere", "elsewhere/main.rs"),
        ("src=/elsewhere", "/elsewhere/main.rs"),
    ] {
        let directory = built(&["-Cdebuginfo=1", "--remap-path-prefix", remap]);
        let program = directory.path().join("program");
        let printed = Command::new(&program).output().expect("it runs").stdout;
        assert_eq!(String::from_utf8_lossy(&printed).trim(), file);
        append(&program).expect("it can be read and written");
        let bytes = fs::read(program).expect("it is there");
        let (offset, length) = trailer(&bytes).expect("a table");
        let places = Places::new(&bytes[offset..][..length]).expect("a sound table");
        let mut files = (0..places.count()).filter_map(|place| Some(places.position(place)?.file));
        assert!(files.any(|it| it == file), "{file}");
        let mut files = (0..places.count()).filter_map(|place| Some(places.position(place)?.file));
        let other = files.find(|it| *it != file && !it.starts_with("/rustc/"));
        assert_eq!(other, None);
    }
}

#[test]
fn one_program_has_one_table() {
    let directory = built(&["-Cdebuginfo=1"]);
    let bytes = fs::read(directory.path().join("program")).expect("it was made");
    let first = table(&bytes).expect("it can be read").expect("a table");
    for _ in 0..3 {
        assert_eq!(
            table(&bytes).expect("it can be read").as_ref(),
            Some(&first)
        );
    }
}

#[test]
fn a_program_without_hooks_stays_as_it_is() {
    let directory = tempfile::tempdir().expect("it can be made");
    let root = directory.path();
    fs::write(root.join("main.rs"), "fn main() {}").expect("it can be written");
    rustc(root, &["main.rs", "-o", "program"]);
    let before = fs::read(root.join("program")).expect("it was made");
    append(&root.join("program")).expect("nothing to do");
    assert_eq!(fs::read(root.join("program")).expect("it is there"), before);
    fs::write(root.join("text"), "no program").expect("it can be written");
    assert!(append(&root.join("text")).is_err());
}
