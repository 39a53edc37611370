//! A workspace of fake test binaries, and a run over it.

use std::fs;
use std::io;
use std::os::unix::fs::PermissionsExt;
use std::process::Command;
use std::time::Duration;

use camino::{Utf8Path, Utf8PathBuf};

use crate::analysis::Detail;
use crate::build::{Build, NotExplored, TestBinary};
use crate::cli::{OutputArgs, RunOptions};
use crate::config::{Config, Layer};
use crate::error::Result;
use crate::events::{Event, TestFinished};
use crate::interrupt::Interrupt;
use crate::plan::Plan;
use crate::report::Reporter;
use crate::supervise::{Inputs, run};

/// A verdict line without a failure.
pub(in crate::supervise) const PASSED: &str = r#"{"type":"finished","outcome":"passed","schedules":7,"executions":8,"distinct":0,"pruned":0,"steps":0,"max_steps_in_execution":0,"threads":0,"bound_completed":2,"strategy":"icb"}"#;

/// A verdict line with a failure.
pub(in crate::supervise) const FAILED: &str = r#"{"type":"finished","outcome":"failed","kind":"panic","message":"boom","location":{"file":"src/lib.rs","line":1,"column":1},"schedules":3,"executions":4,"distinct":0,"pruned":0,"steps":0,"max_steps_in_execution":0,"threads":0,"preemptions":1,"bound_completed":0,"strategy":"icb","decisions":"0*2 1"}"#;

/// Fake binaries in a directory of their own.
pub(in crate::supervise) struct Fakes {
    directory: tempfile::TempDir,
    pub(in crate::supervise) binaries: Vec<TestBinary>,
    pub(in crate::supervise) options: RunOptions,
    pub(in crate::supervise) flags: Layer,
    pub(in crate::supervise) interrupt: Interrupt,
}

impl Fakes {
    /// Creates an empty set of binaries. Two tests run at once, and the watchdog is short.
    pub(in crate::supervise) fn new() -> Self {
        Self {
            directory: tempfile::tempdir().expect("a directory"),
            binaries: Vec::new(),
            options: RunOptions {
                fail_fast: false,
                ..RunOptions::new(&OutputArgs::default(), Some(2))
            },
            flags: Layer {
                watchdog: Some(Duration::from_secs(20)),
                ..Layer::default()
            },
            interrupt: Interrupt::default(),
        }
    }

    /// Adds a binary with `tests`. Each test is a name and the shell commands that it runs.
    pub(in crate::supervise) fn binary(mut self, name: &str, tests: &[(&str, &str)]) -> Self {
        let lines = |which: &dyn Fn(&str) -> bool| {
            let tests = tests.iter().filter(|(test, _)| which(test));
            let lines: Vec<String> = tests
                .map(|(test, _)| format!("echo '{test}: test'; "))
                .collect();
            lines.concat()
        };
        let names = lines(&|_| true);
        let ignored = lines(&|test| test.starts_with("ignored"));
        let cases: Vec<String> = tests
            .iter()
            .map(|(test, body)| format!("{test})\n{body}\n;;\n"))
            .collect();
        let cases = cases.concat();
        let script = format!(
            "#!/bin/sh\n\
             case \"$*\" in\n\
             '--list --format terse') {names} exit 0;;\n\
             '--list --format terse --ignored') {ignored} exit 0;;\n\
             esac\n\
             case \"$2\" in\n{cases}esac\n"
        );
        self.add(name, &script, true);
        self
    }

    /// Adds a binary with its own harness.
    pub(in crate::supervise) fn own_harness(mut self, name: &str, body: &str) -> Self {
        self.add(name, &format!("#!/bin/sh\n{body}\n"), false);
        self
    }

    /// Adds a binary that runs this script, also to list its tests.
    pub(in crate::supervise) fn script(mut self, name: &str, body: &str) -> Self {
        self.add(name, &format!("#!/bin/sh\n{body}\n"), true);
        self
    }

    fn add(&mut self, name: &str, script: &str, harness: bool) {
        let path = self.root().join(name);
        let script = script.replacen('\n', "\n[ \"$1\" = --probe ] && exit\n", 1);
        fs::write(&path, script).expect("a file");
        fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).expect("our own file");
        // A child of another thread may have this file open for writing until the child executes
        // its program. Until then, this file cannot be executed.
        while matches!(
            Command::new(&path).arg("--probe").status(),
            Err(error) if error.kind() == io::ErrorKind::ExecutableFileBusy
        ) {}
        self.binaries.push(TestBinary {
            package: "bank".into(),
            package_root: self.root(),
            id: format!("bank::{name}"),
            path,
            harness,
            has_debug_info: true,
            why_not: (!harness).then_some(NotExplored::OwnHarness),
            env: vec![("CARGO_PKG_NAME".into(), "bank".into())],
        });
    }

    /// The directory of the scripts, in which they also run.
    pub(in crate::supervise) fn root(&self) -> Utf8PathBuf {
        Utf8Path::from_path(self.directory.path())
            .expect("a path in UTF-8")
            .to_owned()
    }

    /// Runs all tests.
    pub(in crate::supervise) fn run(&self) -> Ran {
        let mut recorded = EventRecorder::default();
        let code = self.run_with(&mut recorded);
        Ran { code, recorded }
    }

    /// Runs all tests with this reporter.
    pub(in crate::supervise) fn run_with(&self, reporter: &mut dyn Reporter) -> Result<u8> {
        let root = self.root();
        let plan = Plan {
            workspace_root: root.clone(),
            target_dir: root.join("target"),
            run_dir: root.join("target/chess"),
            chess_dir: root.join("target/chess"),
            packages: Vec::new(),
            instruments: false,
            metadata: no_metadata(&root),
        };
        let config = Config::load(&root, None, [], &self.flags).expect("flags alone");
        let build = Build {
            binaries: self.binaries.clone(),
            ..Build::default()
        };
        run(
            Inputs {
                plan: &plan,
                config: &config,
                build: &build,
                cargo_flags: "",
                options: &self.options,
                gating: None,
                interrupt: &self.interrupt,
            },
            reporter,
        )
    }
}

fn no_metadata(root: &Utf8Path) -> cargo_metadata::Metadata {
    let json = serde_json::json!({
        "packages": [], "workspace_members": [], "workspace_default_members": [], "resolve": null,
        "workspace_root": root, "target_directory": root.join("target"), "version": 1,
    });
    serde_json::from_value(json).expect("what cargo prints")
}

/// The result and the events of a run.
#[derive(Debug)]
pub(in crate::supervise) struct Ran {
    /// The exit code.
    pub(in crate::supervise) code: Result<u8>,
    /// The events.
    pub(in crate::supervise) recorded: EventRecorder,
}

/// A reporter that records all events.
#[derive(Default, Debug)]
pub(in crate::supervise) struct EventRecorder {
    /// The events, in order.
    pub(in crate::supervise) events: Vec<Event>,
    details: Vec<Detail>,
    /// The warnings that belong to no test.
    pub(in crate::supervise) warnings: Vec<String>,
}

impl Reporter for EventRecorder {
    fn event(&mut self, event: &Event, detail: Option<&Detail>) -> io::Result<()> {
        self.events.push(event.clone());
        self.details.extend(detail.cloned());
        Ok(())
    }

    fn warn(&mut self, message: &str) {
        self.warnings.push(message.to_owned());
    }
}

impl Ran {
    /// The verdicts in their reported order.
    pub(in crate::supervise) fn verdicts(&self) -> Vec<&TestFinished> {
        let mut verdicts = Vec::new();
        for event in &self.recorded.events {
            if let Event::TestFinished(test) = event {
                verdicts.push(&**test);
            }
        }
        verdicts
    }

    /// The only verdict.
    pub(in crate::supervise) fn verdict(&self) -> &TestFinished {
        let verdicts = self.verdicts();
        assert_eq!(verdicts.len(), 1, "{self:?}");
        verdicts[0]
    }

    /// The detail of the only verdict.
    pub(in crate::supervise) fn detail(&self) -> &Detail {
        assert_eq!(self.recorded.details.len(), 1);
        &self.recorded.details[0]
    }

    /// The exit code of a run without an error.
    pub(in crate::supervise) fn code(&self) -> u8 {
        *self.code.as_ref().unwrap_or_else(|error| panic!("{error}"))
    }

    /// The events as JSON, without durations.
    pub(in crate::supervise) fn json(&self) -> Vec<serde_json::Value> {
        let without_duration = |event| {
            let mut value = serde_json::to_value(event).expect("plain data");
            if let Some(object) = value.as_object_mut() {
                object.remove("duration_ms");
            }
            value
        };
        self.recorded.events.iter().map(without_duration).collect()
    }
}
