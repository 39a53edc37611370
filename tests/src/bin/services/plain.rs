//! Plain runs of the tests, without the tool: the binaries of `cargo test` are run repeatedly.

use std::path::PathBuf;
use std::process::{Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use end_to_end::{Chess, Workspace};
use serde_json::Value;

/// A run that takes longer counts as failed, because it hangs.
const PATIENCE: Duration = Duration::from_mins(1);

/// The binaries of the tests.
pub(crate) struct Plain {
    /// Their names and paths.
    binaries: Vec<(String, PathBuf)>,
}

impl Plain {
    /// Builds the tests of `workspace`.
    pub(crate) fn build(workspace: &Workspace) -> Self {
        let args = ["test", "--no-run", "--locked", "--message-format", "json"];
        let run = Chess::cargo(workspace.root(), &args).run();
        run.assert_code(0);
        let messages = run.stdout.lines();
        let messages = messages.filter_map(|line| serde_json::from_str::<Value>(line).ok());
        let binary = |message: Value| {
            let kind = message["target"]["kind"][0].as_str()?;
            let path = message["executable"].as_str()?;
            let name = message["target"]["name"].as_str()?.to_owned();
            (kind == "test").then(|| (name, path.into()))
        };
        Self {
            binaries: messages.filter_map(binary).collect(),
        }
    }

    /// A run of a test in its own process. `binary` is the name that the tool gives to its binary.
    fn command(&self, binary: &str, test: &str) -> Command {
        let name = binary.rsplit("::").next().unwrap_or_default();
        let mut binaries = self.binaries.iter();
        let (_, path) = binaries.find(|(it, _)| it == name).expect("it is built");
        let mut command = Command::new(path);
        command.args(["--exact", test, "--nocapture"]);
        command
    }

    /// The state that a run prints, after the word `state`. On a machine with one core, libtest
    /// prints the name of the test before it on the same line.
    pub(crate) fn state(&self, binary: &str, test: &str) -> String {
        let mut command = self.command(binary, test);
        let output = command
            .env("SHOW_STATES", "1")
            .output()
            .expect("the test runs");
        let printed = String::from_utf8_lossy(&output.stdout);
        let state = printed.lines().find_map(|line| line.split_once("state "));
        let (_, state) = state.expect("the test prints its state");
        state.to_owned()
    }

    /// The numbers of runs and of failures of a test within `time`. At least one run is made.
    pub(crate) fn stress(&self, binary: &str, test: &str, time: Duration) -> (u64, u64) {
        let started = Instant::now();
        let (mut runs, mut failures) = (0, 0);
        while runs == 0 || started.elapsed() < time {
            runs += 1;
            failures += u64::from(!self.passes(binary, test));
        }
        (runs, failures)
    }

    fn passes(&self, binary: &str, test: &str) -> bool {
        let mut command = self.command(binary, test);
        command.stdout(Stdio::null()).stderr(Stdio::null());
        let started = Instant::now();
        let mut child = command.spawn().expect("the test runs");
        loop {
            if let Some(status) = child.try_wait().expect("it is a child") {
                return status.success();
            }
            if started.elapsed() > PATIENCE {
                child.kill().expect("it is a child");
                child.wait().expect("it is a child");
                return false;
            }
            thread::sleep(Duration::from_millis(1));
        }
    }
}
