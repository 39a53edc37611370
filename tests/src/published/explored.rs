//! The verdict of `cargo chess test` on each test.

use std::collections::BTreeMap;
use std::fs;
use std::time::{Duration, Instant};

use serde_json::Value;

use super::native::Test;
use super::sources::Package;
use crate::{Chess, Run, Workspace};

/// The time limit of the exploration of a package. Only an exploration that hangs exceeds it.
const PATIENCE: Duration = Duration::from_hours(2);

/// The verdicts on the tests of a package.
pub struct Explored {
    /// The `test-finished` event of each test.
    pub verdicts: BTreeMap<Test, Value>,
    /// The time that building under control took.
    pub build: Duration,
    /// The time that exploring took.
    pub run: Duration,
    /// The error of the tool, if it did not run to its end.
    pub broken: Option<String>,
}

impl Explored {
    /// Explores the tests of `package` with the arguments `exploration`. The output of the tool is
    /// kept in a file called `what`, next to the workspace.
    pub fn of(
        package: &Package,
        workspace: &Workspace,
        exploration: &[String],
        what: &str,
    ) -> Self {
        let call = |kind: &str, args: &[&str], more: &[String]| {
            let [stdout, stderr] = [kind, &format!("{kind}.stderr")]
                .map(|ending| workspace.beside(&format!("{what}.{ending}")));
            // The output goes to files while the tool runs, so that it can be read during the run
            // and after a failure.
            let mut chess = Chess::in_shell(
                workspace.root(),
                r#"exec "$CHESS" chess "$@" >"$STDOUT" 2>"$STDERR""#,
            )
            .env("STDOUT", &stdout)
            .env("STDERR", &stderr)
            .arg("sh");
            for arg in args {
                chess = chess.arg(arg);
            }
            for arg in package.selection().iter().chain(more) {
                chess = chess.arg(arg);
            }
            let started = Instant::now();
            let run = chess.start().finish_or_kill(PATIENCE);
            let said = fs::read_to_string(stdout).unwrap_or_default();
            (run, said, started.elapsed())
        };

        let (listing, _, build) = call("list", &["list"], &[]);
        if let Some(broken) = error_of(&listing) {
            return Self {
                verdicts: BTreeMap::new(),
                build,
                run: Duration::ZERO,
                broken: Some(broken),
            };
        }
        let args = ["test", "--no-fail-fast", "--message-format=json"];
        let (run, text, time) = call("jsonl", &args, exploration);
        let verdicts = text
            .lines()
            .map(serde_json::from_str::<Value>)
            .filter_map(Result::ok)
            .filter(|event| event["type"] == "test-finished")
            .map(|verdict| (test_of(&verdict), verdict))
            .collect();
        Self {
            verdicts,
            build,
            run: time,
            broken: error_of(&run),
        }
    }
}

/// Returns the error of the tool, if it did not run to its end.
fn error_of(run: &Run) -> Option<String> {
    match run.code {
        Some(0 | 4 | 100) => None,
        None if run.killed => Some("hung".to_owned()),
        Some(101) => Some("does not build".to_owned()),
        _ => Some(format!("code {:?}, signal {:?}", run.code, run.signal)),
    }
}

fn test_of(verdict: &Value) -> Test {
    let text = |field: &str| verdict[field].as_str().unwrap_or_default().to_owned();
    (text("binary"), text("test"))
}
