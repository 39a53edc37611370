//! Format 1 of a schedule: `key = value` lines, an empty line, and the decisions.
//!
//! The one-word form has this text, and ids are digests of it. Only earlier versions of this
//! program wrote it into files. New files have `format_2`, which has the same keys and the same
//! form of decisions.

mod escape;
mod header;

use std::fmt::Write as _;

use chess_vocabulary::Decisions;

use self::escape::{escape, unescape};
use self::header::Header;
pub(super) use self::header::KEYS;
use super::{Schedule, ScheduleError};
use crate::events::{Location, TestId};

/// The version of this format. The one-word form also contains it.
pub(super) const VERSION: u32 = 1;

/// The longest line of decisions.
const WIDTH: usize = 80;

/// The text of a schedule without the source lines of its preemptions. The id and the one-word
/// form are derived from this text.
pub(super) fn body(schedule: &Schedule) -> String {
    let mut text = String::new();
    let mut line = |key: &str, value: &dyn std::fmt::Display| {
        writeln!(text, "{key} = {value}").expect("memory takes every byte");
    };
    line("format", &VERSION);
    line("package", &schedule.test.package);
    line("binary", &schedule.test.binary);
    line("test", &schedule.test.test);
    line("kind", &schedule.kind);
    line("message", &escape(&schedule.message));
    if let Some(Location {
        file,
        line: number,
        column,
    }) = &schedule.location
    {
        line(
            "location",
            &format_args!("{}:{number}:{column}", escape(file)),
        );
    }
    if let Some(preemptions) = schedule.preemptions {
        line("preemptions", &preemptions);
    }
    line("strategy", &schedule.strategy);
    line("seed", &schedule.seed);
    line("memory", &schedule.memory);
    line("max-steps", &schedule.max_steps);
    line("isolate", &schedule.isolate);
    line("backend", &schedule.backend);
    if let Some(timers) = &schedule.timers {
        line("timers", timers);
    }
    if let Some(spurious) = &schedule.spurious {
        line("spurious", spurious);
    }
    if let Some(faults) = &schedule.faults {
        line("faults", faults);
    }
    if let Some(accesses) = &schedule.memory_accesses {
        line("memory-accesses", accesses);
    }
    if let Some(races) = &schedule.races {
        line("races", races);
    }
    if let Some(spins) = &schedule.spins {
        line("spins", spins);
    }
    if let Some(limit) = &schedule.only_run {
        line("only-run", limit);
    }
    for point in &schedule.points {
        line("point", &escape(point));
    }
    for place in &schedule.intended {
        line("unjoined-panic", &escape(place));
    }
    if !schedule.cargo.is_empty() {
        line("cargo", &schedule.cargo);
    }
    line("sources", &schedule.sources);
    line("decisions", &count(&schedule.decisions).unwrap_or(0));
    text.push('\n');
    text + &wrapped(&schedule.decisions)
}

/// The decisions, in lines of limited length.
pub(super) fn wrapped(decisions: &str) -> String {
    let mut text = String::new();
    let mut column = 0;
    for token in decisions.split_ascii_whitespace() {
        if column > 0 {
            let wrap = column + 1 + token.len() > WIDTH;
            text.push(if wrap { '\n' } else { ' ' });
            column = if wrap { 0 } else { column + 1 };
        }
        text.push_str(token);
        column += token.len();
    }
    text.push('\n');
    text
}

/// Reads the text of the one-word form, or a file of format 1.
pub(super) fn parse(text: &str) -> Result<Schedule, ScheduleError> {
    let mut lines = text
        .lines()
        .enumerate()
        .map(|(index, line)| (index + 1, line.trim()))
        .filter(|(_, line)| !line.starts_with('#'))
        .skip_while(|(_, line)| line.is_empty());
    let header = Header::parse(&mut lines)?;
    let decisions = decisions(lines)?;
    let expected: u64 = header.number("decisions")?;
    let found = count(&decisions).unwrap_or(0);
    if found < expected {
        return Err(ScheduleError::Truncated {
            missing: format!("it announces {expected} decisions and has {found}"),
        });
    }
    if found > expected {
        return Err(ScheduleError::Line {
            line: header.line_of("decisions"),
            problem: format!(
                "the header has `decisions = {expected}`, but {found} decisions follow"
            ),
        });
    }
    Ok(Schedule {
        test: TestId {
            package: header.text("package")?.to_owned(),
            binary: header.text("binary")?.to_owned(),
            test: header.text("test")?.to_owned(),
        },
        kind: header.kind()?,
        message: unescape(header.text("message")?),
        location: header.location()?,
        preemptions: header
            .optional("preemptions")
            .map(|_| header.number("preemptions"))
            .transpose()?,
        strategy: header.text("strategy")?.to_owned(),
        seed: header.number("seed")?,
        memory: header.text("memory")?.to_owned(),
        max_steps: header.number("max-steps")?,
        isolate: header.text("isolate")?.to_owned(),
        backend: header.text("backend")?.to_owned(),
        timers: header.optional("timers").map(str::to_owned),
        spurious: header.optional("spurious").map(str::to_owned),
        faults: header.optional("faults").map(str::to_owned),
        memory_accesses: header.optional("memory-accesses").map(str::to_owned),
        races: header.optional("races").map(str::to_owned),
        spins: header.optional("spins").map(str::to_owned),
        only_run: header.optional("only-run").map(str::to_owned),
        points: header.all("point").map(unescape).collect(),
        intended: header.all("unjoined-panic").map(unescape).collect(),
        cargo: header.optional("cargo").unwrap_or_default().to_owned(),
        sources: header.text("sources")?.to_owned(),
        preempted_at: header.preempted_at()?,
        decisions,
    })
}

/// The first line that is neither empty nor a comment.
pub(super) fn first_line(text: &str) -> &str {
    let mut lines = text.lines().map(str::trim);
    let first = lines.find(|line| !line.is_empty() && !line.starts_with('#'));
    first.unwrap_or_default()
}

/// The version in the first line, if this line is `format = VERSION`.
pub(super) fn version(text: &str) -> Option<&str> {
    let (key, version) = first_line(text).split_once('=')?;
    (key.trim() == "format").then(|| version.trim())
}

/// The decisions in one line, separated by single spaces.
fn decisions<'a>(lines: impl Iterator<Item = (usize, &'a str)>) -> Result<String, ScheduleError> {
    let mut tokens = Vec::new();
    for (number, line) in lines {
        for token in line.split_ascii_whitespace() {
            if decision(token).is_none() {
                return Err(ScheduleError::Line {
                    line: number,
                    problem: no_decision(token),
                });
            }
            tokens.push(token);
        }
    }
    Ok(tokens.join(" "))
}

/// The number of decisions in `text`, or `u64::MAX` if there are more. `None` if `text` contains
/// anything but decisions.
fn count(text: &str) -> Option<u64> {
    let mut numbers = text.split_ascii_whitespace().map(decision);
    numbers.try_fold(0, |sum: u64, number| Some(sum.saturating_add(number?)))
}

/// The number of decisions that `token` stands for; `None` if it is no decision.
pub(super) fn decision(token: &str) -> Option<u64> {
    Decisions::of_token(token).map(|it| it.times)
}

/// The description of a token that is no decision.
pub(super) fn no_decision(token: &str) -> String {
    format!(
        "expected a decision such as `1`, `1*12` or `?0`, found `{}`",
        shorten(token)
    )
}

/// The first line of a text for an error message: in backticks, or the word `empty`.
pub(super) fn quote(line: &str) -> String {
    match shorten(line) {
        none if none.is_empty() => "empty".to_owned(),
        line => format!("`{line}`"),
    }
}

/// A quotation of `text` that is short and printable enough for an error message.
pub(super) fn shorten(text: &str) -> String {
    const LONGEST: usize = 40;
    let printable: String = text
        .chars()
        .take(LONGEST)
        .map(|c| if c.is_control() { '\u{fffd}' } else { c })
        .collect();
    if text.chars().count() > LONGEST {
        printable + "..."
    } else {
        printable
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::sample;
    use super::*;

    #[test]
    fn the_text_has_a_line_for_each_value() {
        insta::assert_snapshot!(body(&sample()));
    }

    #[test]
    fn a_written_schedule_is_read_back() {
        let mut schedule = sample();
        assert_eq!(parse(&body(&schedule)), Ok(schedule.clone()));
        schedule.message = "  a = b \\n\n\r\t\u{1b}[31m \u{e4}\\ ".into();
        schedule.location = None;
        schedule.preemptions = None;
        schedule.cargo = "--release --features a".into();
        schedule.decisions = (0..200)
            .map(|n| format!("{n}*{} ?{n}", n + 1))
            .collect::<Vec<_>>()
            .join(" ");
        let text = body(&schedule);
        assert_eq!(parse(&text), Ok(schedule.clone()));
        assert_eq!(parse(&text.replace('\n', "\r\n")), Ok(schedule));
        let longest = text
            .lines()
            .filter(|line| !line.starts_with('#'))
            .map(str::len)
            .max();
        assert!(longest <= Some(WIDTH));
    }

    #[test]
    fn every_error_names_its_place_and_a_remedy() {
        let good = body(&sample());
        let cases = [
            (
                "another kind of file",
                "[package]\nname = \"bank\"\n".to_owned(),
            ),
            ("an empty file", String::new()),
            ("a future format", good.replace("format = 1", "format = 2")),
            (
                "cut off in the header",
                good[..good.find("seed").expect("a seed")].to_owned(),
            ),
            (
                "cut off in the decisions",
                good[..good.len() - 5].to_owned(),
            ),
            ("a misspelt key", good.replace("max-steps", "maxsteps")),
            (
                "a wrong number",
                good.replace("max-steps = 20000", "max-steps = many"),
            ),
            (
                "an unknown kind",
                good.replace("kind = panic", "kind = tiredness"),
            ),
            (
                "a broken location",
                good.replace("src/lib.rs:42:9", "src/lib.rs"),
            ),
            (
                "a control character",
                good.replace("strategy = icb", "strategy = i\u{0}cb"),
            ),
            ("no key and value", good.replace("seed = 0", "seed")),
            (
                "a key twice",
                good.replace("seed = 0", "seed = 0\nseed = 0"),
            ),
            ("a broken decision", good.replace("1*3", "1x3")),
            (
                "more decisions than a number can count",
                good.replace("1*3", "1*18446744073709551615"),
            ),
            ("decisions added", good.trim_end().to_owned() + " 1\n"),
        ];
        let errors: Vec<String> = cases
            .iter()
            .map(|(name, text)| {
                let error = parse(text).expect_err(name);
                format!("--- {name}\n{error}")
            })
            .collect();
        insta::assert_snapshot!(errors.join("\n"));
    }
}
