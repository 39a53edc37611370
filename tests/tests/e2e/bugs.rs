//! The real bugs of published crates are found, and no failure is found in the fixed versions.

use end_to_end::program;

#[test]
fn known_bugs_of_published_crates_are_found_and_their_fixes_pass() {
    let output = program(env!("CARGO_BIN_EXE_bugs"))
        .output()
        .expect("the program runs");
    let table = String::from_utf8_lossy(&output.stdout);
    assert!(output.status.success(), "{table}");
    // 8 bugs that were published, and 68 tests that show defects of current releases.
    assert_eq!(table.matches(" failed ").count(), 76, "{table}");
    // The passing rows are the fixed versions and three clean entries.
    assert_eq!(table.matches(" passed ").count(), 11, "{table}");
}
