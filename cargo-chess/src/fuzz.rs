//! The parsers of text that people and other programs write, for the fuzz targets in `tests/fuzz`.
//!
//! Each function parses a text, uses the result as the program does, and describes the outcome.

use std::time::Duration;

use camino::Utf8Path;

use crate::config::Config;
use crate::events::{Event, TestId};
use crate::protocol::Line;
use crate::report::{Objects, Pointers};
use crate::schedule::{Schedule, inline};

/// Reads the text of a `*.chess` file, and describes the schedule that was read, or the error.
pub fn schedule_file(text: &str) -> String {
    read(Schedule::parse(text).map_err(|error| error.to_string()))
}

/// Parses `text` as a schedule file, and returns the text that the program would write for this
/// schedule.
///
/// # Panics
/// If `text` is not a schedule.
pub fn schedule_file_of(text: &str) -> String {
    Schedule::parse(text).expect("a schedule").to_text()
}

/// Makes a one-word form that contains `text`, and reads it. Describes the schedule that was read,
/// or the error.
pub fn schedule_word(text: &str) -> String {
    let word = inline::word(text);
    assert!(Schedule::is_inline(&word));
    read(Schedule::parse_inline(&word).map_err(|error| error.to_string()))
}

fn read(schedule: Result<Schedule, String>) -> String {
    let mut schedule = match schedule {
        Ok(schedule) => schedule,
        Err(error) => return error,
    };
    let again = Schedule::parse(&schedule.to_text());
    assert_eq!(again.as_ref(), Ok(&schedule), "the file is read back");
    // The word does not contain these lines.
    schedule.preempted_at.clear();
    let again = Schedule::parse_inline(&schedule.to_inline());
    assert_eq!(again.as_ref(), Ok(&schedule), "the word is read back");
    let stem = schedule.stem();
    assert!(stem.len() < 200 && !stem.contains('/'), "{stem}");
    format!("a schedule for a {}", schedule.kind)
}

/// Reads a line of a test process. If it is a verdict, also makes the event of the verdict.
pub fn protocol_line(text: &str) -> String {
    let line = match serde_json::from_str(text) {
        Ok(Line::Finished(mut finished)) => {
            let id = TestId {
                package: "bank".into(),
                binary: "bank::t".into(),
                test: "atomic".into(),
            };
            Pointers::default().apply(&mut finished);
            Objects::new(Utf8Path::new("/nonexistent")).apply(&mut finished);
            let event = finished.to_event(&id, Duration::ZERO, Vec::new());
            let event = Event::TestFinished(Box::new(event));
            let event = serde_json::to_string(&event).expect("an event can be written");
            assert!(!event.contains('\n'), "an event is a line");
            return format!("a verdict: {:?} {:?}", finished.outcome, finished.kind);
        }
        Ok(line) => line,
        Err(error) => return error.to_string(),
    };
    let line = serde_json::to_value(&line).expect("a line can be written");
    format!("a line: {}", line["type"])
}

/// Reads the text of a Chess.toml. If it has an error, describes the error with its line.
pub fn chess_toml(text: &str) -> String {
    match Config::parse(Utf8Path::new("Chess.toml"), text) {
        Ok(config) => {
            config.for_test("any");
            let warnings = config.unmatched_filters([]);
            let warnings: Vec<String> = warnings.iter().map(ToString::to_string).collect();
            match config.check_crates([]) {
                Ok(()) => format!("a configuration with {} warnings", warnings.len()),
                Err(error) => first_line(&error.to_string()),
            }
        }
        Err(error) => first_line(&error.to_string()),
    }
}

/// The first line of a message. The other lines are left out, because they quote the input.
fn first_line(message: &str) -> String {
    message.lines().next().unwrap_or_default().to_owned()
}
