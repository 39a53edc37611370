//! One run of rustc, whose messages are buffered until its success is certain. The order of the
//! attempts is in `fallback.rs`, and the sentences about failed attempts are in
//! `fallback_reasons.rs`.
//!
//! Cargo reads rustc's messages immediately, and starts the dependents of a unit when rustc names
//! the unit's metadata. So the messages of a run are kept back until rustc names a product. If
//! rustc fails before that, cargo has seen nothing of this run, and the unit can be compiled in
//! another way.

use std::io::{self, BufRead, BufReader, Write};
use std::process::{Command, ExitStatus, Stdio};

use serde_json::Value;

/// The start of each message in which rustc names a file that it has written.
const ARTIFACT: &[u8] = br#"{"$message_type":"artifact""#;

/// The end of the message that names the list of sources. rustc writes this list before it
/// compiles.
const DEP_INFO: &[u8] = br#""emit":"dep-info"}"#;

/// A run that failed before it made any product. Cargo knows nothing about it.
pub(super) struct Attempt {
    status: ExitStatus,
    messages: Vec<u8>,
}

/// The end of a run.
pub(super) enum Outcome {
    /// Cargo has all messages of the run. Contains the exit code.
    Ended(i32),
    /// The run failed, and another run may follow.
    Failed(Attempt),
    /// The run was aborted, because its sources have to be changed first.
    GivenUp,
}

impl Attempt {
    /// Runs `command` to its end. When the list of sources is written, calls `gives_up`. If
    /// `gives_up` returns true, aborts the run.
    pub(super) fn run(
        mut command: Command,
        gives_up: &mut dyn FnMut() -> io::Result<bool>,
    ) -> io::Result<Outcome> {
        let mut child = command.stderr(Stdio::piped()).spawn()?;
        let mut messages = Vec::new();
        let mut passed_on = false;
        let mut reader = BufReader::new(child.stderr.take().expect("it is piped"));
        loop {
            let start = messages.len();
            if reader.read_until(b'\n', &mut messages)? == 0 {
                break;
            }
            if !passed_on && is_dep_info(&messages[start..]) && gives_up()? {
                child.kill()?;
                // Wait for the processes that the killed process has started: if it is a wrapper,
                // rustc may still run.
                io::copy(&mut reader, &mut io::sink())?;
                child.wait()?;
                return Ok(Outcome::GivenUp);
            }
            passed_on |= is_product(&messages[start..]);
            if passed_on {
                pass_on(&messages)?;
                messages.clear();
            }
        }
        let status = child.wait()?;
        if status.success() || passed_on {
            pass_on(&messages)?;
            return Ok(Outcome::Ended(code(status)));
        }
        Ok(Outcome::Failed(Self { status, messages }))
    }

    /// Passes on the compiler's messages.
    pub(super) fn show(&self) -> io::Result<()> {
        pass_on(&self.messages)
    }

    /// The compiler's exit code.
    pub(super) fn code(&self) -> i32 {
        code(self.status)
    }

    /// Whether the compiler did not find a file.
    pub(super) fn misses_file(&self) -> bool {
        let messages = String::from_utf8_lossy(&self.messages);
        messages.contains("E0583") || messages.contains("couldn't read")
    }

    /// The places that each error names: file, line and column. Primary places come first.
    pub(super) fn errors(&self) -> Vec<Vec<(String, usize, usize)>> {
        let lines = self.messages.split(|byte| *byte == b'\n');
        let messages = lines.filter_map(|line| serde_json::from_slice::<Value>(line).ok());
        let errors = messages.filter(|message| message["level"] == "error");
        errors.map(|error| places(&error)).collect()
    }

    /// The first error, with its place.
    pub(super) fn reason(&self) -> Option<String> {
        let mut lines = self.messages.split(|byte| *byte == b'\n');
        lines.find_map(|line| {
            let message: Value = serde_json::from_slice(line).ok()?;
            if message["level"] != "error" {
                return None;
            }
            let text = message["message"].as_str()?;
            let place = message["spans"].as_array().and_then(|spans| {
                let primary = |span: &&Value| span["is_primary"] == true;
                let span = spans.iter().find(primary)?;
                let (file, line) = (span["file_name"].as_str()?, &span["line_start"]);
                Some(format!(" ({file}:{line})"))
            });
            Some(format!("{text}{}", place.unwrap_or_default()))
        })
    }
}

fn places(message: &Value) -> Vec<(String, usize, usize)> {
    let children = message["children"].as_array();
    let children = children.into_iter().flatten().map(|child| &child["spans"]);
    let spans: Vec<&Value> = [&message["spans"]]
        .into_iter()
        .chain(children)
        .filter_map(Value::as_array)
        .flatten()
        .collect();
    let (primary, others): (Vec<&Value>, Vec<&Value>) = spans
        .into_iter()
        .partition(|span| span["is_primary"] == true);
    let place = |span: &Value| {
        let number = |key: &str| usize::try_from(span[key].as_u64()?).ok();
        let file = span["file_name"].as_str()?.to_owned();
        Some((file, number("line_start")?, number("column_start")?))
    };
    primary
        .into_iter()
        .chain(others)
        .filter_map(place)
        .collect()
}

/// Whether the message names a product that other units may use.
fn is_product(message: &[u8]) -> bool {
    message.starts_with(ARTIFACT) && !is_dep_info(message)
}

/// Whether the message names the list of sources.
fn is_dep_info(message: &[u8]) -> bool {
    message.starts_with(ARTIFACT) && message.trim_ascii_end().ends_with(DEP_INFO)
}

fn code(status: ExitStatus) -> i32 {
    status.code().unwrap_or(101)
}

fn pass_on(messages: &[u8]) -> io::Result<()> {
    let mut out = io::stderr().lock();
    out.write_all(messages)?;
    out.flush()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shell(script: &str) -> Outcome {
        let mut command = Command::new("sh");
        command.args(["-c", script]);
        Attempt::run(command, &mut || Ok(false)).expect("a shell")
    }

    #[test]
    fn a_failure_is_kept_with_its_reason() {
        let message = r#"{"level":"error","message":"no field","spans":[{"file_name":"src/a.rs","line_start":7,"is_primary":true}]}"#;
        let script = format!("echo 'a line of no meaning' >&2; echo '{message}' >&2; exit 3");
        let Outcome::Failed(attempt) = shell(&script) else {
            panic!("it failed");
        };
        assert_eq!(attempt.code(), 3);
        assert_eq!(attempt.reason().as_deref(), Some("no field (src/a.rs:7)"));
    }

    #[test]
    fn it_can_be_given_up_when_the_sources_are_known() {
        let list = r#"{"$message_type":"artifact","artifact":"x.d","emit":"dep-info"}"#;
        let mut command = Command::new("sh");
        command.args(["-c", &format!("echo '{list}' >&2; exec sleep 1000")]);
        let outcome = Attempt::run(command, &mut || Ok(true)).expect("a shell");
        assert!(matches!(outcome, Outcome::GivenUp));
    }

    #[test]
    fn once_cargo_knows_of_a_product_there_is_no_other_way() {
        let metadata = r#"{"$message_type":"artifact","artifact":"x","emit":"metadata"}"#;
        assert!(is_product(format!("{metadata}\n").as_bytes()));
        let list = r#"{"$message_type":"artifact","artifact":"x.d","emit":"dep-info"}"#;
        assert!(!is_product(format!("{list}\n").as_bytes()));
    }
}
