//! The last test binary, by its name: how many tests were skipped because a program is missing.

use std::io::{self, Write};

use end_to_end::take_skipped;

#[test]
fn what_was_skipped_is_told() {
    let skipped = take_skipped();
    let text = match skipped.len() {
        0 => "no test was skipped".to_owned(),
        1 => format!("1 test was skipped\n{}", skipped[0]),
        n => format!("{n} tests were skipped\n{}", skipped.join("\n")),
    };
    // Past libtest's capture: it is to be seen where all tests pass.
    writeln!(io::stderr(), "\n{text}").expect("standard error is open");
}
