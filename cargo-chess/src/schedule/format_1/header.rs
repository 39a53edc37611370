//! The `key = value` lines of format 1.

use std::str::FromStr;

use super::super::{PreemptedAt, ScheduleError};
use super::escape::unescape;
use super::{VERSION, quote, shorten};
use crate::events::{Kind, Location};
use crate::suggest;

/// The keys that occur at most once. Files of later formats have the same keys.
pub(in crate::schedule) const KEYS: &[&str] = &[
    "format",
    "package",
    "binary",
    "test",
    "kind",
    "message",
    "location",
    "preemptions",
    "strategy",
    "seed",
    "memory",
    "max-steps",
    "isolate",
    "backend",
    "timers",
    "spurious",
    "faults",
    "memory-accesses",
    "races",
    "spins",
    "only-run",
    "cargo",
    "sources",
    "preempted-at",
    "decisions",
];

/// The keys that may occur several times.
const SEVERAL: &[&str] = &["point", "unjoined-panic"];

/// The `key = value` lines: key, value and number of each line.
pub(super) struct Header<'a>(Vec<(&'a str, &'a str, usize)>);

impl<'a> Header<'a> {
    pub(super) fn parse(
        lines: &mut impl Iterator<Item = (usize, &'a str)>,
    ) -> Result<Self, ScheduleError> {
        let mut entries: Vec<(&str, &str, usize)> = Vec::new();
        for (number, line) in lines.take_while(|(_, line)| !line.is_empty()) {
            let entry = line
                .split_once('=')
                .map(|(key, value)| (key.trim(), value.trim()));
            if entries.is_empty() {
                match entry {
                    Some(("format", version)) if version == VERSION.to_string() => {}
                    Some(("format", version)) => {
                        return Err(ScheduleError::Version {
                            expected: VERSION,
                            found: version.to_owned(),
                        });
                    }
                    _ => return Err(foreign(line)),
                }
            }
            let Some((key, value)) = entry else {
                return Err(ScheduleError::Line {
                    line: number,
                    problem: format!("expected `key = value`, found `{}`", shorten(line)),
                });
            };
            let mut names = KEYS.iter().chain(SEVERAL).copied();
            if !names.clone().any(|name| name == key) {
                let nearest = suggest::nearest(key, &mut names)
                    .map_or_else(String::new, |name| format!(" (did you mean `{name}`?)"));
                return Err(ScheduleError::Line {
                    line: number,
                    problem: format!("there is no key `{}`{nearest}", shorten(key)),
                });
            }
            let mut earlier = entries.iter();
            let same = |name| name == key && !SEVERAL.contains(&key);
            if let Some((_, _, first)) = earlier.find(|(name, ..)| same(*name)) {
                return Err(ScheduleError::Line {
                    line: number,
                    problem: format!("the key `{key}` is there twice: first on line {first}"),
                });
            }
            if value.contains(char::is_control) {
                return Err(ScheduleError::Line {
                    line: number,
                    problem: format!(
                        "expected a value without control characters for `{key}`, found `{}`",
                        shorten(value)
                    ),
                });
            }
            entries.push((key, value, number));
        }
        if entries.is_empty() {
            return Err(foreign(""));
        }
        Ok(Self(entries))
    }

    pub(super) fn optional(&self, key: &str) -> Option<&'a str> {
        let found = self.0.iter().find(|(name, ..)| *name == key);
        found.map(|(_, value, _)| *value)
    }

    pub(super) fn all(&self, key: &str) -> impl Iterator<Item = &'a str> {
        let found = self.0.iter().filter(move |(name, ..)| *name == key);
        found.map(|(_, value, _)| *value)
    }

    pub(super) fn text(&self, key: &str) -> Result<&'a str, ScheduleError> {
        self.optional(key).ok_or_else(|| ScheduleError::Truncated {
            missing: format!("the line `{key} = ...` is missing"),
        })
    }

    pub(super) fn line_of(&self, key: &str) -> usize {
        let found = self.0.iter().find(|(name, ..)| *name == key);
        found.map_or(0, |(_, _, line)| *line)
    }

    pub(super) fn number<T: FromStr>(&self, key: &str) -> Result<T, ScheduleError> {
        let value = self.text(key)?;
        value.parse().map_err(|_| ScheduleError::Line {
            line: self.line_of(key),
            problem: format!(
                "expected a whole number for `{key}`, found `{}`",
                shorten(value)
            ),
        })
    }

    pub(super) fn kind(&self) -> Result<Kind, ScheduleError> {
        let name = self.text("kind")?;
        let found = Kind::ALL.iter().find(|kind| kind.name() == name);
        found.copied().ok_or_else(|| {
            let names: Vec<&str> = Kind::ALL.iter().map(|kind| kind.name()).collect();
            ScheduleError::Line {
                line: self.line_of("kind"),
                problem: format!(
                    "expected one of {} for `kind`, found `{}`",
                    names.join(", "),
                    shorten(name)
                ),
            }
        })
    }

    pub(super) fn preempted_at(&self) -> Result<Vec<PreemptedAt>, ScheduleError> {
        let value = unescape(self.optional("preempted-at").unwrap_or_default());
        let places = value.lines().map(|place| {
            let (place, text) = place.split_once(": ").unwrap_or((place, ""));
            let (file, line) = place.rsplit_once(':')?;
            Some(PreemptedAt {
                file: file.to_owned(),
                line: line.parse().ok()?,
                text: text.to_owned(),
            })
        });
        let places: Option<Vec<_>> = places.collect();
        places.ok_or_else(|| ScheduleError::Line {
            line: self.line_of("preempted-at"),
            problem: format!(
                "expected `FILE:LINE: TEXT` for `preempted-at`, found `{}`",
                shorten(&value)
            ),
        })
    }

    pub(super) fn location(&self) -> Result<Option<Location>, ScheduleError> {
        let Some(value) = self.optional("location") else {
            return Ok(None);
        };
        let mut parts = value.rsplitn(3, ':');
        let (column, line, file) = (parts.next(), parts.next(), parts.next());
        let number = |part: Option<&str>| part.and_then(|part| part.parse().ok());
        match (file, number(line), number(column)) {
            (Some(file), Some(line), Some(column)) => Ok(Some(Location {
                file: unescape(file),
                line,
                column,
            })),
            _ => Err(ScheduleError::Line {
                line: self.line_of("location"),
                problem: format!(
                    "expected `FILE:LINE:COLUMN` for `location`, found `{}`",
                    shorten(value)
                ),
            }),
        }
    }
}

fn foreign(line: &str) -> ScheduleError {
    ScheduleError::Foreign {
        expected: VERSION,
        found: quote(line),
    }
}
