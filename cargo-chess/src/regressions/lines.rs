//! The source lines before which a saved schedule preempts tasks. They are found again in a
//! changed program.

use std::fs;

use camino::Utf8Path;

use crate::protocol::Step;
use crate::schedule::PreemptedAt;
use crate::text::source_path;

/// The places at which tasks of an execution are preempted, in order. Each line occurs once.
pub(super) fn of_preemptions(root: &Utf8Path, events: &[Step]) -> Vec<PreemptedAt> {
    let mut places: Vec<PreemptedAt> = Vec::new();
    for event in events.iter().filter(|event| event.preempted) {
        let (Some(file), Some(line)) = (&event.file, event.line) else {
            continue;
        };
        let text = source(root, file).and_then(|source| {
            let line = source.lines().nth(line as usize - 1)?;
            Some(line.trim().to_owned())
        });
        let place = PreemptedAt {
            file: source_path(file),
            line,
            text: text.unwrap_or_default(),
        };
        if !places.contains(&place) {
            places.push(place);
        }
    }
    places
}

/// The current places of the lines in `places`, as `FILE:LINE`. The places of a line are all lines
/// of its file that have the same text. If no line has this text, the place is the line with the
/// same number.
pub(crate) fn current_places(root: &Utf8Path, places: &[PreemptedAt]) -> Vec<String> {
    let mut found = Vec::new();
    for PreemptedAt { file, line, text } in places {
        let source = source(root, file).unwrap_or_default();
        let numbered = (1u32..).zip(source.lines());
        let same = numbered.filter(|(_, now)| !text.is_empty() && now.trim() == text);
        let mut lines: Vec<u32> = same.map(|(line, _)| line).collect();
        if lines.is_empty() {
            lines.push(*line);
        }
        found.extend(lines.iter().map(|line| format!("{file}:{line}")));
    }
    found.sort();
    found.dedup();
    found
}

/// The text of a file of the workspace.
fn source(root: &Utf8Path, file: &str) -> Option<String> {
    fs::read_to_string(root.join(file)).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_is_found_where_it_has_moved_to() {
        let root = tempfile::tempdir().expect("a directory");
        let root = Utf8Path::from_path(root.path()).expect("a path in UTF-8");
        fs::write(root.join("a.rs"), "// new\n  load();\nstore();\nload();\n").expect("writable");
        let place = |file: &str, line, text: &str| PreemptedAt {
            file: file.into(),
            line,
            text: text.into(),
        };
        let now = |places: &[_]| current_places(root, places);
        assert_eq!(now(&[place("a.rs", 1, "load();")]), ["a.rs:2", "a.rs:4"]);
        assert_eq!(now(&[place("a.rs", 3, "swap();")]), ["a.rs:3"]);
        assert_eq!(
            now(&[place("queue-1.0.0/src/lib.rs", 7, "")]),
            ["queue-1.0.0/src/lib.rs:7"]
        );
    }
}
