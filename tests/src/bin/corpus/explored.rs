//! What `cargo chess test` says of each test.

use std::collections::BTreeMap;
use std::fs;
use std::time::{Duration, Instant};

use end_to_end::{Chess, Workspace};
use serde_json::Value;

use crate::native::Test;
use crate::sources::{Package, beside};

/// No exploration of a package takes so long, unless it hangs.
const PATIENCE: Duration = Duration::from_hours(2);

/// The verdicts on the tests of a package.
pub(crate) struct Explored {
    pub(crate) verdicts: BTreeMap<Test, Value>,
    /// Building included.
    pub(crate) time: Duration,
    /// How the tool ended, unless it ran to its end.
    pub(crate) broken: Option<String>,
}

impl Explored {
    /// Explores the tests of `package` as the arguments `exploration` say; what
    /// the tool says is kept beside the workspace under the name `what`.
    pub(crate) fn of(
        package: &Package,
        workspace: &Workspace,
        exploration: &[String],
        what: &str,
    ) -> Self {
        let started = Instant::now();
        let [events, stderr] =
            ["jsonl", "stderr"].map(|kind| beside(workspace, &format!("{what}.{kind}")));
        // Into files, as it comes: for whoever watches, or looks into a failure later.
        let mut chess = Chess::in_shell(
            workspace.root(),
            r#"exec "$CHESS" "$@" >"$EVENTS" 2>"$STDERR""#,
        )
        .env("EVENTS", &events)
        .env("STDERR", &stderr);
        let args = [
            "sh",
            "chess",
            "test",
            "--no-fail-fast",
            "--message-format=json",
        ];
        for arg in args {
            chess = chess.arg(arg);
        }
        for arg in package.selection().iter().chain(exploration) {
            chess = chess.arg(arg);
        }
        let run = chess.start().finish_or_kill(PATIENCE);

        let text = fs::read_to_string(events).unwrap_or_default();
        let events = text.lines().map(serde_json::from_str::<Value>);
        let verdicts = events
            .filter_map(Result::ok)
            .filter(|event| event["type"] == "test-finished")
            .map(|verdict| (test_of(&verdict), verdict))
            .collect();
        let broken = match run.code {
            Some(0 | 4 | 100) => None,
            None if run.killed => Some("hung".to_owned()),
            Some(101) => Some("does not build".to_owned()),
            _ => Some(format!("code {:?}, signal {:?}", run.code, run.signal)),
        };
        Self {
            verdicts,
            time: started.elapsed(),
            broken,
        }
    }
}

fn test_of(verdict: &Value) -> Test {
    let text = |field: &str| verdict[field].as_str().unwrap_or_default().to_owned();
    (text("binary"), text("test"))
}
