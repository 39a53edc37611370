//! The real bugs of published crates are found, and no failure is found in the fixed versions.

use std::process::Command;

#[test]
fn known_bugs_of_published_crates_are_found_and_their_fixes_pass() {
    let output = Command::new(env!("CARGO_BIN_EXE_bugs"))
        // It would take a third of the time of the builds.
        .env("CARGO_PROFILE_DEV_DEBUG", "0")
        .output()
        .expect("the program runs");
    let table = String::from_utf8_lossy(&output.stdout);
    assert!(output.status.success(), "{table}");
    // 8 bugs that were published, and 20 tests that show defects of current releases.
    assert_eq!(table.matches(" failed ").count(), 28, "{table}");
    // The passing rows are the fixed versions and three clean entries.
    assert_eq!(table.matches(" passed ").count(), 11, "{table}");
}
