//! Sources that report their references to raw memory: the code compiles, some sites are left out,
//! and reports name the right places.

use std::fs;
use std::path::Path;

use end_to_end::Workspace;

const LIBRARY: &str = r#"#![deny(warnings, unsafe_op_in_unsafe_fn)]
use std::cell::UnsafeCell;
mod other;

pub struct Slot(UnsafeCell<Vec<u32>>);

unsafe impl Sync for Slot {}

/// # Safety
///
/// No other thread uses the slot.
pub unsafe fn fill(slot: &Slot, value: u32) -> u32 {
    unsafe {
        (&mut *slot.0.get()).push(value); *(&raw mut other::COUNT).as_mut().unwrap() += 1;
        let values = &*slot.0.get();
        values[0]
    }
}

pub fn lengths(name: *const String) -> usize {
    unsafe {
        let two: &[u32] = [1, 2].as_ref();
        two.len() + name.as_ref().map_or(0, |it| it.len())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_are_kept() {
        let slot = Slot(UnsafeCell::new(vec![]));
        assert_eq!(unsafe { fill(&slot, 7) }, 7);
        assert_eq!(lengths(&String::from("name")), 6);
    }

    #[test]
    fn fails() {
        let cell = UnsafeCell::new(0);
        let p = cell.get();
        unsafe { *(&mut *p) = 1; assert!(*&*p == 0); }
    }

    #[test]
    fn fails_further_on() {
        let cell = UnsafeCell::new(vec![1]);
        unsafe { (&mut *cell.get()).push(2); let _ = (&*cell.get())[5]; }
    }
}
"#;

fn workspace() -> Workspace {
    let workspace = Workspace::with_library(LIBRARY);
    workspace.write("src/other.rs", "pub static mut COUNT: u32 = 0;\n");
    workspace
}

/// Returns the texts of the files below a directory whose paths have this ending.
fn texts(directory: &Path, end: &str) -> String {
    let mut text = String::new();
    for entry in fs::read_dir(directory).expect("it can be read") {
        let path = entry.expect("it can be read").path();
        if path.is_dir() && !path.is_symlink() {
            text += &texts(&path, end);
        } else if path.to_string_lossy().ends_with(end) && !path.is_symlink() {
            text += &fs::read_to_string(&path).expect("it is text");
        }
    }
    text
}

#[test]
fn references_are_reported_except_those_that_rustc_rejects() {
    let workspace = workspace();
    let run = workspace
        .chess(&["test", "--exact", "tests::values_are_kept"])
        .run();
    run.assert_code(0);
    assert!(!run.stderr.contains("warning"), "{}", run.stderr);
    let build = workspace.root().join("target/chess/build");
    let refused = texts(&build, ".refused");
    assert!(
        refused.ends_with(" 22 34 BorrowThrough src/lib.rs\n"),
        "{refused}"
    );
    // The site may have been rejected twice: in the build of the library and in that of its tests.
    let first = refused.lines().next();
    assert!(refused.lines().all(|it| Some(it) == first), "{refused}");
    let library = texts(&build, "src/lib.rs");
    let reported = "({__chess::borrow_through(&raw const name);},name.as_ref()).1";
    assert!(library.contains(reported), "{library}");
    assert!(library.contains("= [1, 2].as_ref();"), "{library}");

    let again = workspace
        .chess(&["test", "--exact", "tests::values_are_kept"])
        .run();
    again.assert_code(0);
    assert!(!again.stderr.contains("Compiling"), "{}", again.stderr);
}

#[test]
fn the_list_has_the_number_of_reported_references() {
    let workspace = workspace();
    let list = workspace.chess(&["list"]).run();
    list.assert_code(0);
    let words = "every load and store is watched, and 8 of 9 references made from raw pointers (not watched: 1 did not compile)";
    assert!(list.stdout.contains(words), "{}", list.stdout);
    let list = workspace.chess(&["list", "--message-format", "json"]).run();
    let references = r#""references":{"found":9,"watched":8,"left":{"did not compile":1}}"#;
    assert!(list.stdout.contains(references), "{}", list.stdout);
}

#[test]
fn the_list_has_no_references_if_no_memory_is_watched() {
    let workspace = workspace();
    workspace.write("Chess.toml", "[explore]\nmemory-accesses = \"ignore\"\n");
    for format in ["human", "json"] {
        let list = workspace.chess(&["list", "--message-format", format]).run();
        list.assert_code(0);
        assert!(!list.stdout.contains("references"), "{}", list.stdout);
    }
    let library = texts(&workspace.root().join("target/chess/build"), "src/lib.rs");
    assert!(library.contains("__chess_mark!();"), "{library}");
    assert!(!library.contains("__chess::borrow"), "{library}");
}

#[test]
fn places_are_those_of_the_users_text() {
    let args = [
        "test",
        "--no-fail-fast",
        "--message-format",
        "json",
        "fails",
    ];
    let run = workspace().chess(&args).run();
    run.assert_code(100);
    let mut places: Vec<_> = run
        .verdicts()
        .iter()
        .map(|verdict| {
            let location = &verdict["location"];
            (location["line"].as_u64(), location["column"].as_u64())
        })
        .collect();
    places.sort_unstable();
    let place = |text: &str| {
        let lines = LIBRARY.lines().zip(1..);
        let found = lines.filter_map(|(line, number)| Some((number, line.find(text)? as u64 + 1)));
        let mut found = found.map(|(line, column)| (Some(line), Some(column)));
        found.next().expect("it is in the library")
    };
    let expected = [place("assert!(*&*p == 0)"), place("[5]")];
    assert_eq!(places, expected);
}

#[test]
fn reports_can_be_reviewed() {
    let workspace = workspace();
    let shown = workspace.chess(&["rewrite"]).run();
    shown.assert_code(0);
    insta::assert_snapshot!(shown.stdout);
}

/// If one feature set does not compile, no reports are left out from another one, although the
/// digest of the sources is the same.
#[test]
fn an_error_of_the_program_leaves_the_reports_of_later_builds() {
    let workspace = workspace();
    let broken = "#[cfg(feature = \"broken\")]\ncompile_error!(\"broken\");\n";
    workspace.write(
        "src/other.rs",
        &format!("pub static mut COUNT: u32 = 0;\n{broken}"),
    );
    let manifest = workspace.root().join("Cargo.toml");
    let text = fs::read_to_string(&manifest).expect("it can be read");
    workspace.write("Cargo.toml", &format!("{text}\n[features]\nbroken = []\n"));
    let run = workspace
        .chess(&["test", "--no-run", "--features", "broken"])
        .run();
    run.assert_code(101);
    let run = workspace.chess(&["list"]).run();
    run.assert_code(0);
    let watched = "8 of 9 references made from raw pointers (not watched: 1 did not compile)";
    assert!(run.stdout.contains(watched), "{run:?}");
}
