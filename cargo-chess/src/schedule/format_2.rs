//! Format 2: the current format of schedule files (`*.chess`). It is TOML.
//!
//! `format_1/` is the older format. Files in it are still read, and the one-word form
//! (`inline.rs`) contains a text in it.

use std::ops::Range;

use toml_edit::{Array, Document, InlineTable, Item, Table, TableLike, Value};

use super::format_1::{self, quote, shorten};
use super::{PreemptedAt, Schedule, ScheduleError, replay_command};
use crate::events::{Kind, Location, TestId};
use crate::suggest;

/// The version of the format that this program writes. The program also reads files of
/// [`format_1`].
const FORMAT: u32 = 2;

/// The keys of arrays. [`format_1::KEYS`] has the other keys.
const ARRAYS: &[&str] = &["points", "unjoined-panics"];

impl Schedule {
    /// Reads a `*.chess` file of this version or of an earlier one.
    pub(crate) fn parse(text: &str) -> Result<Self, ScheduleError> {
        let text = text.strip_prefix('\u{feff}').unwrap_or(text);
        if format_1::version(text) == Some(&format_1::VERSION.to_string()) {
            return format_1::parse(text);
        }
        parse(text)
    }

    /// The text of a `*.chess` file.
    pub(crate) fn to_text(&self) -> String {
        print(self, &self.id())
    }
}

/// The whole file: comments for the reader, and then the keys.
pub(super) fn print(schedule: &Schedule, id: &str) -> String {
    format!(
        "# A failing schedule, saved by cargo chess. To run it again: {}\n\
         # The whole schedule as one word, for `cargo chess replay` and for issues:\n# {}\n{}",
        replay_command(id),
        schedule.to_inline(),
        table(schedule)
    )
}

fn table(schedule: &Schedule) -> Table {
    let mut table = Table::new();
    let mut line = |key: &str, value: Option<Value>| {
        if let Some(value) = value {
            table.insert(key, Item::Value(value));
        }
    };
    let text = |text: &String| Some(Value::from(text));
    line("format", Some(i64::from(FORMAT).into()));
    line("package", text(&schedule.test.package));
    line("binary", text(&schedule.test.binary));
    line("test", text(&schedule.test.test));
    line("kind", Some(schedule.kind.name().into()));
    line("message", text(&schedule.message));
    line("location", schedule.location.as_ref().map(location));
    let preemptions = schedule.preemptions.map(|it| i64::from(it).into());
    line("preemptions", preemptions);
    line("strategy", text(&schedule.strategy));
    line("seed", Some(number(schedule.seed)));
    line("memory", text(&schedule.memory));
    line("max-steps", Some(number(schedule.max_steps)));
    line("isolate", text(&schedule.isolate));
    line("backend", text(&schedule.backend));
    line("timers", schedule.timers.as_ref().and_then(text));
    line("spurious", schedule.spurious.as_ref().and_then(text));
    line("faults", schedule.faults.as_ref().and_then(text));
    let accesses = schedule.memory_accesses.as_ref();
    line("memory-accesses", accesses.and_then(text));
    line("races", schedule.races.as_ref().and_then(text));
    line("spins", schedule.spins.as_ref().and_then(text));
    line("only-run", schedule.only_run.as_ref().and_then(text));
    line("points", array(schedule.points.iter().map(Value::from)));
    let intended = schedule.intended.iter().map(Value::from);
    line("unjoined-panics", array(intended));
    let cargo = Some(&schedule.cargo).filter(|it| !it.is_empty());
    line("cargo", cargo.and_then(text));
    line("sources", text(&schedule.sources));
    let places = schedule.preempted_at.iter().map(place);
    line("preempted-at", array(places));
    line("decisions", Some(decisions(&schedule.decisions)));
    table
}

/// The TOML value of a number: an integer, or a string if the number is too large for TOML's
/// integers.
fn number(number: u64) -> Value {
    i64::try_from(number).map_or_else(|_| number.to_string().into(), Value::from)
}

fn location(location: &Location) -> Value {
    let mut table = InlineTable::new();
    table.insert("file", location.file.as_str().into());
    table.insert("line", i64::from(location.line).into());
    table.insert("column", i64::from(location.column).into());
    table.into()
}

fn place(place: &PreemptedAt) -> Value {
    let mut table = InlineTable::new();
    table.insert("file", place.file.as_str().into());
    table.insert("line", i64::from(place.line).into());
    table.insert("text", place.text.as_str().into());
    table.into()
}

/// An array with a line for each element. `None` if there are no elements.
fn array(elements: impl Iterator<Item = Value>) -> Option<Value> {
    let mut array: Array = elements.map(|it| it.decorated("\n    ", "")).collect();
    array.set_trailing("\n");
    array.set_trailing_comma(true);
    (!array.is_empty()).then(|| array.into())
}

/// The string of the decisions. It has lines of limited length.
fn decisions(decisions: &str) -> Value {
    let lines = format_1::wrapped(decisions);
    let written = format!("\"\"\"\n{lines}\"\"\"");
    // No decision contains a quotation mark or a backslash.
    written.parse().unwrap_or_else(|_| lines.into())
}

/// Reads a file of this format.
fn parse(text: &str) -> Result<Schedule, ScheduleError> {
    // An editor or git may have changed the line ends, and a string may contain some.
    let text = &text.replace("\r\n", "\n");
    let Some(version) = format_1::version(text) else {
        return Err(ScheduleError::Foreign {
            expected: FORMAT,
            found: quote(format_1::first_line(text)),
        });
    };
    if version != FORMAT.to_string() {
        return Err(ScheduleError::Version {
            expected: FORMAT,
            found: shorten(version),
        });
    }
    let document = Document::parse(text).map_err(|error| {
        let span = error.span().unwrap_or(0..0);
        let problem = error.message().lines().collect::<Vec<_>>().join(", ");
        // If a value at the end of the text is not complete, the text is cut off.
        if span.end >= text.trim_end().len() {
            let missing = format!("its end is not valid TOML: {problem}");
            return ScheduleError::Truncated { missing };
        }
        at(text, span, format!("not valid TOML: {problem}"))
    })?;
    let keys = Keys {
        text,
        table: document.as_table(),
    };
    keys.check_names()?;
    Ok(Schedule {
        test: TestId {
            package: keys.text("package")?,
            binary: keys.text("binary")?,
            test: keys.text("test")?,
        },
        kind: keys.kind()?,
        message: keys.required("message", TEXT, |it| it.as_value().and_then(read_text))?,
        location: keys.optional("location", LOCATION, read_location)?,
        preemptions: keys.optional("preemptions", NUMBER, read_number)?,
        strategy: keys.text("strategy")?,
        seed: keys.required("seed", NUMBER, read_number)?,
        memory: keys.text("memory")?,
        max_steps: keys.required("max-steps", NUMBER, read_number)?,
        isolate: keys.text("isolate")?,
        backend: keys.text("backend")?,
        timers: keys.optional_text("timers")?,
        spurious: keys.optional_text("spurious")?,
        faults: keys.optional_text("faults")?,
        memory_accesses: keys.optional_text("memory-accesses")?,
        races: keys.optional_text("races")?,
        spins: keys.optional_text("spins")?,
        only_run: keys.optional_text("only-run")?,
        points: keys.all("points", PLACES, read_text)?,
        intended: keys.all("unjoined-panics", PLACES, read_text)?,
        cargo: keys.optional_text("cargo")?.unwrap_or_default(),
        sources: keys.text("sources")?,
        preempted_at: keys.all("preempted-at", PREEMPTED_AT, read_place)?,
        decisions: keys.decisions()?,
    })
}

const TEXT: &str = "a string";
const LINE: &str = "a string on one line, without spaces at its start or end,";
const NUMBER: &str = "a whole number";
const LOCATION: &str = "`{ file = \"FILE\", line = LINE, column = COLUMN }`";
const PLACES: &str = "an array of strings `FILE:LINE`";
const PREEMPTED_AT: &str = "an array of `{ file = \"FILE\", line = LINE, text = \"TEXT\" }`";

/// The keys of a file, and the text that their spans refer to.
struct Keys<'a> {
    text: &'a str,
    table: &'a Table,
}

impl Keys<'_> {
    fn check_names(&self) -> Result<(), ScheduleError> {
        for (name, _) in self.table {
            let mut names = format_1::KEYS.iter().chain(ARRAYS).copied();
            if !names.clone().any(|key| key == name) {
                let nearest = suggest::nearest(name, &mut names)
                    .map_or_else(String::new, |name| format!(" (did you mean `{name}`?)"));
                let span = self.table.key(name).and_then(toml_edit::Key::span);
                let problem = format!("there is no key `{}`{nearest}", shorten(name));
                return Err(at(self.text, span.unwrap_or(0..0), problem));
            }
        }
        Ok(())
    }

    fn optional<T>(
        &self,
        key: &str,
        expected: &str,
        read: impl Fn(&Item) -> Option<T>,
    ) -> Result<Option<T>, ScheduleError> {
        let Some(item) = self.table.get(key) else {
            return Ok(None);
        };
        let wrong = || self.wrong(item.span(), &format!("expected {expected} for `{key}`"));
        read(item).map(Some).ok_or_else(wrong)
    }

    fn required<T>(
        &self,
        key: &str,
        expected: &str,
        read: impl Fn(&Item) -> Option<T>,
    ) -> Result<T, ScheduleError> {
        let found = self.optional(key, expected, read)?;
        found.ok_or_else(|| ScheduleError::Truncated {
            missing: format!("the line `{key} = ...` is missing"),
        })
    }

    fn text(&self, key: &str) -> Result<String, ScheduleError> {
        self.required(key, LINE, read_line)
    }

    fn optional_text(&self, key: &str) -> Result<Option<String>, ScheduleError> {
        self.optional(key, LINE, read_line)
    }

    /// The elements of an array. Empty if the key is absent.
    fn all<T>(
        &self,
        key: &str,
        expected: &str,
        read: impl Fn(&Value) -> Option<T>,
    ) -> Result<Vec<T>, ScheduleError> {
        let Some(item) = self.table.get(key) else {
            return Ok(Vec::new());
        };
        let expected = format!("expected {expected} for `{key}`");
        let array = item.as_array();
        let array = array.ok_or_else(|| self.wrong(item.span(), &expected))?;
        let wrong = |value: &Value| self.wrong(value.span(), &expected);
        let elements = array.iter();
        elements
            .map(|value| read(value).ok_or_else(|| wrong(value)))
            .collect()
    }

    fn kind(&self) -> Result<Kind, ScheduleError> {
        let names: Vec<&str> = Kind::ALL.iter().map(|kind| kind.name()).collect();
        let expected = format!("one of {}", names.join(", "));
        let kind = |item: &Item| {
            let name = item.as_str()?;
            Kind::ALL.iter().find(|kind| kind.name() == name).copied()
        };
        self.required("kind", &expected, kind)
    }

    /// The decisions in one line, separated by single spaces.
    fn decisions(&self) -> Result<String, ScheduleError> {
        let decisions = self.required("decisions", TEXT, |it| it.as_value().and_then(read_text))?;
        let mut tokens = Vec::new();
        for token in decisions.split_ascii_whitespace() {
            if format_1::decision(token).is_none() {
                let span = self.table.get("decisions").and_then(Item::span);
                let span = span.unwrap_or(0..0);
                let inside = self.text.get(span.clone()).unwrap_or_default();
                let start = span.start + inside.find(token).unwrap_or(0);
                return Err(at(self.text, start..start, format_1::no_decision(token)));
            }
            tokens.push(token);
        }
        Ok(tokens.join(" "))
    }

    fn wrong(&self, span: Option<Range<usize>>, expected: &str) -> ScheduleError {
        let span = span.unwrap_or(0..0);
        let found = self.text.get(span.clone()).unwrap_or_default();
        let problem = format!("{expected}, found `{}`", shorten(found));
        at(self.text, span, problem)
    }
}

fn read_text(value: &Value) -> Option<String> {
    value.as_str().map(str::to_owned)
}

/// Returns the string if it has no control characters, and no whitespace at its ends. The one-word
/// form cannot contain other strings, because it writes this value without escapes.
fn read_line(item: &Item) -> Option<String> {
    let text = item.as_str()?;
    let is_line = text.trim() == text && !text.contains(char::is_control);
    is_line.then(|| text.to_owned())
}

fn read_number<T: TryFrom<u64>>(item: &Item) -> Option<T> {
    let number = match item.as_integer() {
        Some(number) => u64::try_from(number).ok()?,
        None => item.as_str()?.parse().ok()?,
    };
    number.try_into().ok()
}

fn read_location(item: &Item) -> Option<Location> {
    let table = item.as_table_like().filter(|it| it.len() == 3)?;
    Some(Location {
        file: member(table, "file")?.as_str()?.to_owned(),
        line: read_number(member(table, "line")?)?,
        column: read_number(member(table, "column")?)?,
    })
}

fn read_place(value: &Value) -> Option<PreemptedAt> {
    let table = value.as_inline_table().filter(|it| it.len() == 3)?;
    Some(PreemptedAt {
        file: member(table, "file")?.as_str()?.to_owned(),
        line: read_number(member(table, "line")?)?,
        text: member(table, "text")?.as_str()?.to_owned(),
    })
}

fn member<'a>(table: &'a dyn TableLike, key: &str) -> Option<&'a Item> {
    table.get(key)
}

/// An error in the line in which `span` begins.
fn at(text: &str, span: Range<usize>, problem: String) -> ScheduleError {
    let before = text.get(..span.start).unwrap_or(text);
    ScheduleError::Line {
        line: before.matches('\n').count() + 1,
        problem,
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::sample;
    use super::*;

    /// A schedule with a value for each key.
    fn full() -> Schedule {
        let place = |line, text: &str| PreemptedAt {
            file: "src/a b.rs".into(),
            line,
            text: text.into(),
        };
        Schedule {
            timers: Some("early".into()),
            spurious: Some("never".into()),
            faults: Some("no-space,short".into()),
            memory_accesses: Some("preempt".into()),
            races: Some("warn".into()),
            spins: Some("deny".into()),
            only_run: Some("time".into()),
            points: vec!["src/lib.rs:12".into(), "src/odd, name.rs:7".into()],
            intended: vec!["src/lib.rs:3".into()],
            cargo: "--release --features a".into(),
            preempted_at: vec![place(31, "*total -= 1; // \\n"), place(40, "")],
            ..sample()
        }
    }

    #[test]
    fn the_file_is_toml_for_people_and_editors() {
        insta::assert_snapshot!(full().to_text());
    }

    #[test]
    fn a_written_schedule_is_read_back() {
        let mut schedule = full();
        assert_eq!(parse(&schedule.to_text()), Ok(schedule.clone()));
        schedule.message = "  a = b \\n\n\r\t\u{1b}[31m \"\"\" ''' \u{7f}\u{e4}\\ ".into();
        schedule.location = None;
        schedule.preemptions = None;
        schedule.seed = u64::MAX;
        schedule.decisions = (0..200)
            .map(|n| format!("{n}*{} ?{n}", n + 1))
            .collect::<Vec<_>>()
            .join(" ");
        let text = schedule.to_text();
        assert_eq!(parse(&text), Ok(schedule.clone()), "{text}");
        assert_eq!(parse(&text.replace('\n', "\r\n")), Ok(schedule));
    }

    /// A file of format 1, with escapes and source lines.
    const OLD: &str = r"# A failing schedule, saved by cargo chess. To run it again: cargo chess replay ea1d
format = 1
package = bank
binary = bank::t
test = transfer_is_atomic
kind = panic
message = assertion `left == right` failed\n  left: 1\n right: 2
location = src/lib.rs:42:9
preemptions = 1
strategy = icb
seed = 0
memory = sc
max-steps = 20000
isolate = image
backend = fibers
sources = 9f86d081884c7d659a2feaa0c55ad015
preempted-at = src/a b.rs:31: *total -= 1; // \\n\nsrc/a b.rs:40:\s
decisions = 17

0*12 1*3 ?1 0
";

    #[test]
    fn a_file_of_format_1_is_read() {
        let schedule = Schedule {
            preempted_at: full().preempted_at,
            ..sample()
        };
        assert_eq!(Schedule::parse(OLD), Ok(schedule.clone()));
        assert_eq!(Schedule::parse(&OLD.replace('\n', "\r\n")), Ok(schedule));
    }

    #[test]
    fn every_error_names_its_place_and_a_remedy() {
        let good = full().to_text();
        let cut_at = |text: &str| good[..good.find(text).expect(text)].to_owned();
        let cases = [
            (
                "another kind of file",
                "[package]\nname = \"bank\"\n".to_owned(),
            ),
            ("an empty file", String::new()),
            ("a future format", good.replace("format = 2", "format = 3")),
            ("cut off between keys", cut_at("seed")),
            ("cut off in a key", cut_at("ed = 0")),
            ("cut off in the message", cut_at("right: 2")),
            ("cut off in an array", cut_at("\"src/odd")),
            ("cut off in the decisions", cut_at("1*3")),
            ("a misspelt key", good.replace("max-steps", "maxsteps")),
            ("a wrong number", good.replace("= 20000", "= \"many\"")),
            ("a negative number", good.replace("= 20000", "= -1")),
            (
                "a name that the word cannot hold",
                good.replace("\"fibers\"", "\" fibers\""),
            ),
            (
                "a name of several lines",
                good.replace("\"bank::t\"", "\"bank\\nkind = spin\""),
            ),
            ("no string", good.replace("\"icb\"", "7")),
            (
                "an unknown kind",
                good.replace("\"panic\"", "\"tiredness\""),
            ),
            ("a broken location", good.replace(", column = 9", "")),
            ("a broken place", good.replace("line = 31", "line = \"a\"")),
            ("no key and value", good.replace("seed = 0", "seed")),
            (
                "a key twice",
                good.replace("seed = 0", "seed = 0\nseed = 0"),
            ),
            ("a broken decision", good.replace("1*3", "1x3")),
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
