//! Sources that report their memory accesses: the code compiles, some sites are left out, and
//! reports name the right places.

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
        (*slot.0.get()).push(value); other::COUNT += 1;
        (*slot.0.get())[0]
    }
}

pub fn taken(boxed: Box<Option<String>>) -> String {
    unsafe {
        let taken = match *boxed { Some(name) => name, None => String::new() };
        taken + &other::COUNT.to_string()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_are_kept() {
        let slot = Slot(UnsafeCell::new(vec![]));
        assert_eq!(unsafe { fill(&slot, 7) }, 7);
        assert_eq!(taken(Box::new(Some("count ".to_owned()))), "count 1");
    }

    #[test]
    fn fails() {
        let cell = UnsafeCell::new(0);
        let p = cell.get();
        unsafe { *p = 1; *p += 1; assert!(*p == 1); }
    }

    #[test]
    fn fails_further_on() {
        let cell = UnsafeCell::new(vec![1]);
        unsafe { (*cell.get()).push(2); let _ = (*cell.get())[5]; }
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
fn accesses_are_told_of_but_for_those_that_rustc_refuses() {
    let workspace = workspace();
    let run = workspace
        .chess(&["test", "--exact", "tests::values_are_kept"])
        .run();
    run.assert_code(0);
    assert!(!run.stderr.contains("warning"), "{}", run.stderr);
    let build = workspace.root().join("target/chess/build");
    let refused = texts(&build, ".refused");
    assert!(
        refused.ends_with(" 21 27 Inspect src/lib.rs\n"),
        "{refused}"
    );
    // The library and its test may each have rejected the site.
    let first = refused.lines().next();
    assert!(refused.lines().all(|it| Some(it) == first), "{refused}");
    let told = texts(&build, "src/lib.rs");
    assert!(
        told.contains("*__chess::update(&raw mut other::COUNT) += 1;"),
        "{told}"
    );
    assert!(told.contains("match *boxed {"), "{told}");

    let again = workspace
        .chess(&["test", "--exact", "tests::values_are_kept"])
        .run();
    again.assert_code(0);
    assert!(!again.stderr.contains("Compiling"), "{}", again.stderr);
}

#[test]
fn the_list_says_how_many_accesses_are_told_of() {
    let workspace = workspace();
    let list = workspace.chess(&["list"]).run();
    list.assert_code(0);
    let words = "8 of 9 memory accesses in unsafe code are watched (1 did not compile)";
    assert!(list.stdout.contains(words), "{}", list.stdout);
    let list = workspace.chess(&["list", "--message-format", "json"]).run();
    let accesses = r#""accesses":{"found":9,"told":8,"left":{"did not compile":1}}"#;
    assert!(list.stdout.contains(accesses), "{}", list.stdout);
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
    let expected = [place("assert!(*p == 1)"), place("[5]")];
    assert_eq!(places, expected);
}

#[test]
fn what_is_told_of_can_be_reviewed() {
    let workspace = workspace();
    let shown = workspace.chess(&["rewrite"]).run();
    shown.assert_code(0);
    insta::assert_snapshot!(shown.stdout);
}
