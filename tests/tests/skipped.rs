//! Prints the number of tests that were skipped because a program is missing. Cargo runs the test
//! binaries in the order of their names, so that this is the last one.

use std::io::{self, Write};

use end_to_end::take_skipped;

#[test]
fn skipped_tests_are_printed() {
    let skipped = take_skipped();
    let text = match skipped.len() {
        0 => "no test was skipped".to_owned(),
        1 => format!("1 test was skipped\n{}", skipped[0]),
        n => format!("{n} tests were skipped\n{}", skipped.join("\n")),
    };
    // The message bypasses libtest's capture, so that it is visible when all tests pass.
    writeln!(io::stderr(), "\n{text}").expect("standard error is open");
}
