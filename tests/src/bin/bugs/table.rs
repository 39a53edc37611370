//! The rows of the table: for each entry the result, the expected result, and the result of the
//! fixed version.

use end_to_end::catalogue::{Bug, Found};
use serde_json::Value;

use crate::exploration::Exploration;

/// The titles of the columns. The times are those of exploration without the builds, in seconds.
pub(crate) const HEADER: &str = "\
entry                          verdict  kind           schedules  preemptions  expected  seconds  | fixed    verdict  schedules  seconds";

/// Returns the row of a bug.
pub(crate) fn bug(bug: &Bug, buggy: &Exploration, fixed: &Exploration) -> String {
    let failed = buggy.failed();
    let number = |field: &str| failed.map_or("-".to_owned(), |verdict| verdict[field].to_string());
    let kind = failed.and_then(|verdict| verdict["kind"].as_str());
    format!(
        "{:<30} {:<8} {:<14} {:>9}  {:>11}  {:>8}  {:>7}  | {:<8} {:<8} {:>9}  {:>7}",
        bug.entry,
        buggy.outcome(),
        kind.unwrap_or("-"),
        buggy.sum("schedules"),
        number("preemptions"),
        bug.preemptions,
        seconds(buggy),
        bug.fixed,
        fixed.outcome(),
        fixed.sum("schedules"),
        seconds(fixed),
    )
}

/// Returns the row of a test that shows a defect of a current release. The row ends with the name
/// of the test, because no fixed version exists.
pub(crate) fn found(found: &Found, explored: &Exploration) -> String {
    let none = Value::Null;
    let verdict = explored.verdict_of(&found.test).unwrap_or(&none);
    let number = |field: &str| verdict[field].as_u64();
    let text = |field: &str| number(field).map_or("-".to_owned(), |number| number.to_string());
    format!(
        "{:<30} {:<8} {:<14} {:>9}  {:>11}  {:>8}  {:>7}  | {}",
        found.entry,
        verdict["outcome"].as_str().unwrap_or("no verdict"),
        verdict["kind"].as_str().unwrap_or("-"),
        text("schedules"),
        text("preemptions"),
        found.preemptions,
        in_seconds(number("duration_ms").unwrap_or_default()),
        found.test,
    )
}

/// Returns the row of an entry without bugs.
pub(crate) fn clean(explored: &Exploration) -> String {
    let failed = explored.failed();
    let kind = failed.and_then(|verdict| verdict["kind"].as_str());
    format!(
        "{:<30} {:<8} {:<14} {:>9}  {:>11}  {:>8}  {:>7}  |",
        explored.entry,
        explored.outcome(),
        kind.unwrap_or("-"),
        explored.sum("schedules"),
        "-",
        "-",
        seconds(explored),
    )
}

fn seconds(explored: &Exploration) -> String {
    in_seconds(explored.sum("duration_ms"))
}

fn in_seconds(milliseconds: u64) -> String {
    #[expect(clippy::cast_precision_loss, reason = "far below 2^52")]
    let milliseconds = milliseconds as f64;
    format!("{:.2}", milliseconds / 1000.0)
}
