//! The exit status and the output of a call of the tool.

use std::collections::BTreeMap;
use std::fmt;

use serde_json::Value;

/// The end of a process, and its output.
pub struct Run {
    /// The exit code, unless a signal ended the process.
    pub code: Option<i32>,
    /// The signal that ended the process.
    pub signal: Option<i32>,
    /// Whether the test sent the signal, because the process took too long.
    pub killed: bool,
    /// Standard output.
    pub stdout: String,
    /// Standard error.
    pub stderr: String,
    /// The command, for messages.
    pub(crate) description: String,
}

impl Run {
    /// Panics, with the whole output, unless the process exited with `code`.
    #[track_caller]
    pub fn assert_code(&self, code: i32) {
        assert_eq!(self.code, Some(code), "exit code of {self:?}");
    }

    /// Checks that the call exited with `code` and printed all of `parts` on standard error.
    ///
    /// # Panics
    /// If it did not.
    #[track_caller]
    pub fn assert_says(&self, code: i32, parts: &[&str]) {
        self.assert_code(code);
        for part in parts {
            assert!(
                self.stderr.contains(part),
                "`{part}` is not said in {self:?}"
            );
        }
    }

    /// Returns the JSON events, in order.
    #[track_caller]
    pub fn events(&self) -> Vec<Value> {
        let parse = |line| match serde_json::from_str::<Value>(line) {
            Ok(event) if event["type"].is_string() => event,
            _ => panic!("not an event: {line}\nin {self:?}"),
        };
        self.stdout.lines().map(parse).collect()
    }

    /// Returns the `test-finished` events.
    #[track_caller]
    pub fn verdicts(&self) -> Vec<Value> {
        let mut events = self.events();
        events.retain(|event| event["type"] == "test-finished");
        events
    }

    /// Returns the verdicts by the names of the tests.
    #[track_caller]
    pub fn verdicts_by_name(&self) -> BTreeMap<String, Value> {
        let name = |verdict: &Value| verdict["test"].as_str().expect("a name").to_owned();
        let verdicts = self.verdicts().into_iter();
        verdicts.map(|it| (name(&it), it)).collect()
    }

    /// Returns the verdict of the only test.
    #[track_caller]
    pub fn verdict(&self) -> Value {
        match &*self.verdicts() {
            [verdict] => verdict.clone(),
            verdicts => panic!("{} verdicts instead of one in {self:?}", verdicts.len()),
        }
    }

    /// Returns standard error without the parts that differ between runs, for
    /// snapshots.
    ///
    /// The progress lines of cargo and of the tool are removed, too: they depend on earlier
    /// builds, and on the speed of the machine.
    pub fn message(&self) -> String {
        let is_progress = |line: &&str| {
            let verbs = [
                "Compiling",
                "Finished",
                "Building",
                "Locking",
                "Updating",
                "Adding",
            ];
            let more = [
                "Downloading",
                "Downloaded",
                "Blocking",
                "Running",
                "Checking",
                "Cached",
                "Waiting",
            ];
            let word = line.split_whitespace().next().unwrap_or_default();
            line.starts_with(' ') && (verbs.contains(&word) || more.contains(&word))
        };
        let lines: Vec<_> = self
            .stderr
            .lines()
            .filter(|line| !is_progress(line))
            .collect();
        lines.join("\n")
    }
}

impl fmt::Debug for Run {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self {
            code,
            signal,
            killed: _,
            stdout,
            stderr,
            description,
        } = self;
        writeln!(f, "{description}\ncode {code:?}, signal {signal:?}")?;
        writeln!(f, "--- stdout\n{stdout}\n--- stderr\n{stderr}")
    }
}

/// Returns `events` without their durations.
pub fn without_durations(mut events: Vec<Value>) -> Vec<Value> {
    for event in &mut events {
        if let Some(fields) = event.as_object_mut() {
            fields.remove("duration_ms");
        }
    }
    events
}
