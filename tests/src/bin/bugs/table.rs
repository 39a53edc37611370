//! The rows of the table: for each entry the result, the expected result, and that of the fixed
//! version.

use crate::expected::Bug;
use crate::exploration::Exploration;

/// The header with an explanation of the columns. Seconds are those of exploration alone.
pub(crate) const HEADER: &str = "\
entry                     verdict  kind         schedules  preemptions  expected  seconds  | fixed    verdict  schedules  seconds";

/// Returns the row of a bug.
pub(crate) fn bug(bug: &Bug, buggy: &Exploration, fixed: &Exploration) -> String {
    let failed = buggy.failed();
    let number = |field: &str| failed.map_or("-".to_owned(), |verdict| verdict[field].to_string());
    let kind = failed.and_then(|verdict| verdict["kind"].as_str());
    format!(
        "{:<25} {:<8} {:<12} {:>9}  {:>11}  {:>8}  {:>7}  | {:<8} {:<8} {:>9}  {:>7}",
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

/// Returns the row of an entry without bugs.
pub(crate) fn clean(explored: &Exploration) -> String {
    let failed = explored.failed();
    let kind = failed.and_then(|verdict| verdict["kind"].as_str());
    format!(
        "{:<25} {:<8} {:<12} {:>9}  {:>11}  {:>8}  {:>7}  |",
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
    #[expect(clippy::cast_precision_loss, reason = "far below 2^52")]
    let milliseconds = explored.sum("duration_ms") as f64;
    format!("{:.2}", milliseconds / 1000.0)
}
