//! The common causes of several failures, printed once at the end of a run.

use std::collections::BTreeMap;

use crate::events::{Kind, Location, TestFinished};
use crate::text::source_path;

/// The highest number of groups of failures that are printed.
const MOST_SHOWN: usize = 3;

/// The kind and the line that failures have in common.
#[derive(PartialEq, Eq, PartialOrd, Ord)]
struct Cause<'a> {
    kind: &'a str,
    place: Option<String>,
    /// The first line of the message, if the failures have no source line.
    message: Option<&'a str>,
}

/// Sentences about the causes that at least two of `failures` have, the most frequent causes
/// first. At most [`MOST_SHOWN`] causes have a sentence.
pub(super) fn sentences<'a>(failures: impl Iterator<Item = &'a TestFinished>) -> Vec<String> {
    let mut causes: BTreeMap<Cause<'_>, Vec<&TestFinished>> = BTreeMap::new();
    let mut all = 0;
    for test in failures {
        all += 1;
        if let Some(kind) = test.kind
            && let Some(cause) = cause(test, kind)
        {
            causes.entry(cause).or_default().push(test);
        }
    }
    let mut causes: Vec<_> = causes.into_iter().filter(|it| it.1.len() > 1).collect();
    causes.sort_by_key(|(_, tests)| std::cmp::Reverse(tests.len()));
    let shown = causes.iter().take(MOST_SHOWN);
    shown
        .map(|(cause, tests)| {
            let place = cause.place.as_ref();
            let place = place.map_or_else(String::new, |place| format!(" at {place}"));
            let first = tests.first().and_then(|test| message(test));
            let is_same = tests.iter().all(|test| message(test) == first);
            let said = first.filter(|_| is_same);
            let said = said.map_or_else(String::new, |said| format!(": {said}"));
            format!(
                "{} of {all} failures: {}{place}{said}",
                tests.len(),
                cause.kind
            )
        })
        .collect()
}

/// The cause of a failure; `None` if neither its line nor its message is known.
fn cause(test: &TestFinished, kind: Kind) -> Option<Cause<'_>> {
    let place = test.location.as_ref().map(line_of);
    let message = message(test).filter(|_| place.is_none());
    (place.is_some() || message.is_some()).then_some(Cause {
        kind: kind.name(),
        place,
        message,
    })
}

fn line_of(location: &Location) -> String {
    format!("{}:{}", source_path(&location.file), location.line)
}

fn message(test: &TestFinished) -> Option<&str> {
    test.message.as_deref()?.lines().next()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::events::{Outcome, TestId};
    use crate::protocol::Finished;

    fn failed(kind: Kind, line: Option<u32>, message: &str) -> TestFinished {
        let finished = Finished {
            kind: Some(kind),
            message: Some(message.to_owned()),
            location: line.map(|line| Location {
                file: "src/lib.rs".to_owned(),
                line,
                column: 1,
            }),
            ..Finished::new(Outcome::Failed)
        };
        let id = TestId {
            package: "p".to_owned(),
            binary: "p".to_owned(),
            test: "t".to_owned(),
        };
        finished.to_event(&id, std::time::Duration::ZERO, Vec::new())
    }

    #[test]
    fn the_common_part_of_several_failures_is_printed_once_and_nothing_else() {
        let lost = failed(Kind::Panic, Some(3), "lost\nleft: 1");
        let gone = failed(Kind::Panic, Some(4), "gone");
        let late = failed(Kind::Panic, Some(4), "late");
        let race = failed(Kind::Race, Some(4), "lost");
        let crash = failed(Kind::Crash, None, "killed");
        let shown = |tests: &[&TestFinished]| sentences(tests.iter().copied());
        assert_eq!(shown(&[]), [""; 0]);
        assert_eq!(shown(&[&lost, &gone, &race, &crash]), [""; 0]);
        assert_eq!(
            shown(&[&gone, &lost, &late, &lost, &lost, &crash, &race, &crash]),
            [
                "3 of 8 failures: panic at src/lib.rs:3: lost",
                "2 of 8 failures: crash: killed",
                "2 of 8 failures: panic at src/lib.rs:4",
            ]
        );
    }
}
