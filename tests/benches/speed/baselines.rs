//! The program that explores the workloads under loom and shuttle: it is built and run here.

use std::env;
use std::path::PathBuf;
use std::process::{Command, Stdio};
use std::time::Duration;

use end_to_end::Workspace;
use serde_json::Value;

use crate::sample::{Profile, Sample};

/// The processor time, in milliseconds, for which loom or shuttle explores for one sample.
const MILLISECONDS: &str = "500";

/// The program, built as a user of loom or shuttle would build it.
pub(crate) struct Baselines {
    program: PathBuf,
}

impl Baselines {
    pub(crate) fn build(workspace: &Workspace, profile: Profile) -> Self {
        let target = workspace.root().join("target/baselines");
        let status = Command::new(env::var_os("CARGO").unwrap_or_else(|| "cargo".into()))
            .current_dir(workspace.root())
            .args(["build", "--quiet", "--locked", "--package", "baselines"])
            .args(["--profile", profile.name()])
            .arg("--target-dir")
            .arg(&target)
            .status()
            .expect("cargo runs");
        assert!(status.success(), "the baselines could not be built");
        Self {
            program: target.join(profile.directory()).join("baselines"),
        }
    }

    /// Returns the sample of `tool` on `workload`, or the reason why there is none.
    pub(crate) fn sample(&self, tool: &str, workload: &str) -> Result<Sample, String> {
        self.measure(tool, workload, MILLISECONDS)
    }

    /// Like [`Self::sample`], for this number of milliseconds.
    pub(crate) fn measure(
        &self,
        tool: &str,
        workload: &str,
        milliseconds: &str,
    ) -> Result<Sample, String> {
        let output = Command::new(&self.program)
            .args([tool, workload, milliseconds])
            .stdin(Stdio::null())
            // Shuttle prints its seed to standard error.
            .stderr(Stdio::null())
            .output()
            .expect("the baselines run");
        let line = String::from_utf8_lossy(&output.stdout);
        let measured: Value = serde_json::from_str(&line)
            .unwrap_or_else(|error| panic!("{tool} on {workload} said `{line}`: {error}"));
        if let Some(error) = measured["error"].as_str() {
            return Err(error.to_owned());
        }
        let count = |field: &str| measured[field].as_f64().expect("a number");
        Ok(Sample {
            executions: count("executions"),
            points: count("points"),
            time: Duration::from_secs_f64(count("nanoseconds") / 1e9),
        })
    }
}
