//! The state of a search is written to the journal and read back.

use std::fs;

use super::fake::{Fakes, PASSED};
use crate::error::exit_code;
use crate::events::Outcome;

/// A test that passes if it resumes from the state `foobar`. Without a state, it writes that state
/// and dies.
const SEARCH: &str = r#"
read cores
case "$CHESS_REQUEST" in
*save-ms=1000*resume=1*)
    [ "$(cat)" = foobar ] || exit 4
    echo '{"type":"state","schedules":9}'
    echo 'VERDICT';;
*save-ms=1000*resume=0*)
    [ -z "$(cat)" ] || exit 5
    for state in foo foobar; do
        printf '01\n%s' $state 1<>/dev/stdin
        echo '{"type":"state","schedules":4}'
        while [ "$(wc -c </dev/stdin)" -gt 3 ]; do sleep 0.01; done
    done
    printf '01\nbaz' 1<>/dev/stdin
    exit 3;;
esac
"#;

/// A run that ended when its first test died.
fn cut_short() -> Fakes {
    let search = SEARCH.replace("VERDICT", PASSED);
    let after = format!("echo '{PASSED}'");
    let mut fakes = Fakes::new().binary("t", &[("search", &search), ("then", &after)]);
    fakes.options.fail_fast = true;
    fakes.options.jobs = Some(1);
    assert_eq!(fakes.run().code(), exit_code::FAILURE_FOUND);
    fakes.options.fail_fast = false;
    fakes
}

fn journal(fakes: &Fakes) -> Vec<String> {
    entries(fakes, ".search")
}

fn entries(fakes: &Fakes, extension: &str) -> Vec<String> {
    let dir = fakes.root().join("target/chess/journal");
    let entries = dir.read_dir_utf8().expect("a journal");
    let mut names: Vec<String> = entries
        .map(|entry| entry.expect("readable").file_name().to_owned())
        .collect();
    names.retain(|name| name.ends_with(extension));
    names
}

#[test]
fn a_search_continues_from_its_last_state() {
    let mut fakes = cut_short();
    assert_eq!(journal(&fakes).len(), 1);
    fakes.options.resume = true;
    let ran = fakes.run();
    assert_eq!(ran.code(), exit_code::OK);
    assert_eq!(ran.verdicts().len(), 2);
    assert!(!fakes.root().join("target/chess/journal").exists());
}

#[test]
fn a_damaged_state_is_not_gone_on_from() {
    let mut fakes = cut_short();
    let names = journal(&fakes);
    let path = fakes.root().join("target/chess/journal").join(&names[0]);
    let mut bytes = fs::read(&path).expect("a state");
    bytes.pop();
    fs::write(&path, bytes).expect("writable");
    fakes.options.resume = true;
    let ran = fakes.run();
    assert_eq!(ran.verdicts()[0].outcome, Outcome::Failed);
    let message = ran.verdicts()[0].message.as_deref();
    assert!(
        message.is_some_and(|it| it.contains("code 3")),
        "{message:?}"
    );
}

#[test]
fn a_run_that_begins_anew_forgets_the_state() {
    let fakes = cut_short();
    let ran = fakes.run();
    let message = ran.verdicts()[0].message.as_deref();
    assert!(
        message.is_some_and(|it| it.contains("code 3")),
        "{message:?}"
    );
}

#[test]
fn a_verdict_that_another_build_of_this_version_wrote_is_reported_and_run_anew() {
    let passes = format!("echo '{PASSED}'");
    // The failure of the second test ends the run. So the last test has no verdict, whether it has
    // begun or not.
    let tests = [("a", &*passes), ("b", "exit 3"), ("c", "exec sleep 1000")];
    let mut fakes = Fakes::new().binary("t", &tests);
    fakes.options.fail_fast = true;
    fakes.options.jobs = Some(1);
    assert_eq!(fakes.run().code(), exit_code::FAILURE_FOUND);
    let dir = fakes.root().join("target/chess/journal");
    let path = dir.join(&entries(&fakes, ".verdict")[0]);
    let bytes = fs::read(&path).expect("a verdict");
    // A valid entry with another body after the key line.
    let mut lines = bytes.splitn(3, |byte| *byte == b'\n');
    let (_, key) = (lines.next(), lines.next().expect("a key"));
    let rest = [key, b"\n{}"].concat();
    let digest = crate::digest::short(&rest, 64);
    let head = format!("cargo-chess journal 1 {digest}\n");
    fs::write(&path, [head.as_bytes(), &rest].concat()).expect("writable");
    fakes.options.resume = true;
    let ran = fakes.run();
    let printed =
        "these tests run again from the start, because their saved results could not be read: ";
    assert!(
        ran.recorded
            .warnings
            .iter()
            .any(|it| it.starts_with(printed)),
        "{:?}",
        ran.recorded.warnings
    );
}
