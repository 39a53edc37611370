//! The tests with a defect: the time that the tool needs, and plain runs in the same time.

use std::time::Duration;

use end_to_end::Workspace;
use serde_json::Value;

use crate::plain::Plain;

/// A row for each test whose name ends with `buggy`. The plain runs of a test take as long as the
/// tool took, and at least `least`.
pub(crate) fn table(workspace: &Workspace, plain: &Plain, least: Duration) -> String {
    let args = ["test", "buggy", "--locked", "--no-fail-fast", "--jobs", "1"];
    let run = workspace
        .chess(&[&args[..], &["--message-format", "json"]].concat())
        .run();
    run.assert_code(100);
    let row = |test: &str, schedule: &str, seconds: &str, plain: &str| {
        format!("{test:<54}{schedule:>9}{seconds:>9}  {plain}")
    };
    let mut lines = vec![row(
        "test",
        "schedule",
        "seconds",
        "plain runs in this time",
    )];
    for verdict in run.verdicts() {
        let field = |key: &str| verdict[key].as_str().expect("a text");
        let (binary, test) = (field("binary"), field("test"));
        let time = Duration::from_millis(verdict["duration_ms"].as_u64().expect("a time"));
        let (runs, failures) = plain.stress(binary, test, time.max(least));
        let schedule = match &verdict["schedules"] {
            Value::Number(number) => number.to_string(),
            _ => "-".to_owned(),
        };
        let seconds = format!("{:.1}", time.as_secs_f64());
        let plain = format!("{failures} of {runs} fail");
        let package = binary.split("::").next().unwrap_or_default();
        lines.push(row(
            &format!("{package} {test}"),
            &schedule,
            &seconds,
            &plain,
        ));
    }
    lines.join("\n")
}
