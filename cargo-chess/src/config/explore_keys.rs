//! The keys of `[explore]`, set from text (environment) or from TOML. The other tables of
//! Chess.toml are in `file.rs`.

use std::ops::Range;
use std::str::FromStr;
use std::time::Duration;

use toml_edit::Value;

use super::layer::Layer;
use super::values::{
    Backend, Fault, Isolate, Memory, MemoryAccesses, Races, Spins, Spurious, StaleLoads, Strategy,
    Timers, Timing, parse_duration, parse_number, parse_positive, parse_work,
};
use crate::suggest;

/// The values that a key accepts.
#[derive(Clone, Copy)]
pub(crate) enum Kind {
    /// A whole number in this range. Both limits are included.
    Integer(u64, u64),
    /// A whole number from 1, or a text with a unit of thousands, millions or billions.
    Work,
    /// A string that is one of these names.
    Name(&'static [&'static str]),
    /// A text with a unit, or an integer number of seconds.
    Duration,
    /// A string that is one of these names, or a list of them.
    Names(&'static [&'static str]),
    /// `true` or `false`.
    Boolean,
}

/// The largest number in TOML.
pub(crate) const LARGEST: u64 = i64::MAX.cast_unsigned();

/// The keys of `[explore]`, and the values that each accepts. The schema is made from this list.
pub(crate) const KEYS: &[(&str, Kind)] = &[
    ("preemptions", Kind::Integer(0, u32::MAX as u64)),
    ("schedules", Kind::Integer(1, LARGEST)),
    ("work", Kind::Work),
    ("time", Kind::Duration),
    (TIME_TOTAL, Kind::Duration),
    ("max-steps", Kind::Integer(1, LARGEST)),
    ("strategy", Kind::Names(Strategy::NAMES)),
    ("seed", Kind::Integer(0, LARGEST)),
    ("memory", Kind::Name(Memory::NAMES)),
    ("memory-accesses", Kind::Name(MemoryAccesses::NAMES)),
    ("races", Kind::Name(Races::NAMES)),
    ("spins", Kind::Name(Spins::NAMES)),
    ("stale-loads", Kind::Name(StaleLoads::NAMES)),
    ("isolate", Kind::Name(Isolate::NAMES)),
    ("backend", Kind::Name(Backend::NAMES)),
    ("timers", Kind::Name(Timers::NAMES)),
    ("timing", Kind::Name(Timing::NAMES)),
    ("spurious", Kind::Name(Spurious::NAMES)),
    ("faults", Kind::Names(Fault::NAMES)),
    ("watchdog", Kind::Duration),
    ("keep-going", Kind::Boolean),
    ("save-regressions", Kind::Boolean),
    ("coverage", Kind::Boolean),
    ("leaks", Kind::Boolean),
    ("allow-unjoined-panics", Kind::Boolean),
    ("divide", Kind::Boolean),
];

/// The key that applies to a run, and not to a single test.
pub(super) const TIME_TOTAL: &str = "time-total";

/// The names of all keys.
pub(super) fn names() -> impl Iterator<Item = &'static str> + Clone {
    KEYS.iter().map(|(name, _)| *name)
}

impl Layer {
    /// Sets `key` to the value in `text`. Lists are separated by commas.
    pub(crate) fn set_from_text(&mut self, key: &str, text: &str) -> Result<(), String> {
        match key {
            "preemptions" => self.preemptions = Some(parse_number(text)?),
            "schedules" => self.schedules = Some(parse_positive(text)?),
            "work" => self.work = Some(parse_work(text)?),
            "time" => self.time = Some(parse_duration(text)?),
            TIME_TOTAL => self.time_total = Some(parse_duration(text)?),
            "max-steps" => self.max_steps = Some(parse_positive(text)?),
            "strategy" => self.strategy = Some(parse_list(text)?),
            "seed" => self.seed = Some(parse_number(text)?),
            "memory" => self.memory = Some(text.parse()?),
            "memory-accesses" => self.memory_accesses = Some(text.parse()?),
            "races" => self.races = Some(text.parse()?),
            "spins" => self.spins = Some(text.parse()?),
            "stale-loads" => self.stale_loads = Some(text.parse()?),
            "isolate" => self.isolate = Some(text.parse()?),
            "backend" => self.backend = Some(text.parse()?),
            "timers" => self.timers = Some(text.parse()?),
            "timing" => self.timing = Some(text.parse()?),
            "spurious" => self.spurious = Some(text.parse()?),
            "faults" => self.faults = Some(parse_list(text)?),
            "watchdog" => self.watchdog = Some(parse_duration(text)?),
            "keep-going" => self.keep_going = Some(parse_flag(text)?),
            "save-regressions" => self.save_regressions = Some(parse_flag(text)?),
            "coverage" => self.coverage = Some(parse_flag(text)?),
            "leaks" => self.leaks = Some(parse_flag(text)?),
            "allow-unjoined-panics" => self.allow_unjoined_panics = Some(parse_flag(text)?),
            "divide" => self.divide = Some(parse_flag(text)?),
            _ => return Err(unknown(key)),
        }
        Ok(())
    }

    /// Each key that is set, with the text of its value.
    pub(crate) fn texts(&self) -> Vec<(&'static str, String)> {
        fn of(value: Option<&impl ToString>) -> Option<String> {
            value.map(ToString::to_string)
        }
        let duration = |it: Option<Duration>| it.map(|it| format!("{}ms", it.as_millis()));
        let text = |key| match key {
            "preemptions" => of(self.preemptions.as_ref()),
            "schedules" => of(self.schedules.as_ref()),
            "work" => of(self.work.as_ref()),
            "time" => duration(self.time),
            TIME_TOTAL => duration(self.time_total),
            "max-steps" => of(self.max_steps.as_ref()),
            "strategy" => self.strategy.as_ref().map(|all| {
                let names: Vec<&str> = all.iter().map(|it| it.as_str()).collect();
                names.join(",")
            }),
            "seed" => of(self.seed.as_ref()),
            "memory" => of(self.memory.as_ref()),
            "memory-accesses" => of(self.memory_accesses.as_ref()),
            "races" => of(self.races.as_ref()),
            "spins" => of(self.spins.as_ref()),
            "stale-loads" => of(self.stale_loads.as_ref()),
            "isolate" => of(self.isolate.as_ref()),
            "backend" => of(self.backend.as_ref()),
            "timers" => of(self.timers.as_ref()),
            "timing" => of(self.timing.as_ref()),
            "spurious" => of(self.spurious.as_ref()),
            "faults" => self.faults.as_deref().map(Fault::list),
            "watchdog" => duration(self.watchdog),
            "keep-going" => of(self.keep_going.as_ref()),
            "save-regressions" => of(self.save_regressions.as_ref()),
            "coverage" => of(self.coverage.as_ref()),
            "leaks" => of(self.leaks.as_ref()),
            "allow-unjoined-panics" => of(self.allow_unjoined_panics.as_ref()),
            "divide" => of(self.divide.as_ref()),
            key => unreachable!("a key `{key}` without a text"),
        };
        names().filter_map(|key| Some((key, text(key)?))).collect()
    }

    /// Sets `key` to a value of Chess.toml. An error contains the range of the wrong value in the
    /// file, and the reason.
    pub(super) fn set_from_toml(
        &mut self,
        key: &str,
        value: &Value,
    ) -> Result<(), (Option<Range<usize>>, String)> {
        let Some((_, kind)) = KEYS.iter().find(|(name, _)| *name == key) else {
            return Err((value.span(), unknown(key)));
        };
        if let (Kind::Names(_), Some(list)) = (kind, value.as_array()) {
            // Each element is first parsed separately, so that an error points at the wrong
            // element.
            let mut texts = Vec::new();
            for element in list {
                let text = text(element).ok_or_else(|| {
                    let found = article(element.type_name());
                    let expected = "a string for each element";
                    let message = format!("`{key}`: expected {expected}, found {found}");
                    (element.span(), message)
                })?;
                self.set_from_text(key, &text)
                    .map_err(|message| (element.span(), message))?;
                texts.push(text);
            }
            if !texts.is_empty() {
                return self
                    .set_from_text(key, &texts.join(","))
                    .map_err(|message| (value.span(), message));
            }
        }
        self.set_scalar(key, *kind, value)
            .map_err(|message| (value.span(), message))
    }

    fn set_scalar(&mut self, key: &str, kind: Kind, value: &Value) -> Result<(), String> {
        let (expected, text) = match kind {
            Kind::Integer(..) => ("a whole number", integer(value)),
            Kind::Work => (
                "a whole number, or a string such as \"5M\"",
                text(value).or_else(|| integer(value)),
            ),
            Kind::Name(_) => ("a string", text(value)),
            Kind::Duration => (
                "a duration such as \"30s\", or a number of seconds",
                text(value).or_else(|| integer(value)),
            ),
            Kind::Names(_) => ("a string, or a list of at least one string", text(value)),
            Kind::Boolean => (
                "`true` or `false`",
                value.as_bool().map(|flag| flag.to_string()),
            ),
        };
        if let Some(text) = text {
            self.set_from_text(key, &text)
        } else {
            let found = match value.as_array() {
                Some(list) if list.is_empty() => "an empty list".to_owned(),
                _ => article(value.type_name()),
            };
            Err(format!("`{key}`: expected {expected}, found {found}"))
        }
    }
}

fn parse_list<T: FromStr<Err = String>>(text: &str) -> Result<Vec<T>, String> {
    text.split(',').map(|name| name.trim().parse()).collect()
}

fn parse_flag(text: &str) -> Result<bool, String> {
    match text {
        "true" | "1" => Ok(true),
        "false" | "0" => Ok(false),
        _ => Err(format!("expected `true` or `false`, found `{text}`")),
    }
}

/// The name of a TOML type with `a` or `an` before it.
pub(super) fn article(type_name: &str) -> String {
    let article = if type_name.starts_with(['a', 'i', 'o']) {
        "an"
    } else {
        "a"
    };
    format!("{article} {type_name}")
}

fn integer(value: &Value) -> Option<String> {
    value.as_integer().map(|number| number.to_string())
}

fn text(value: &Value) -> Option<String> {
    value.as_str().map(str::to_owned)
}

fn unknown(key: &str) -> String {
    match suggest::nearest(key, names()) {
        Some(name) => format!("there is no option `{key}`; did you mean `{name}`?"),
        None => format!(
            "there is no option `{key}`; the options are {}",
            names().collect::<Vec<_>>().join(", ")
        ),
    }
}
