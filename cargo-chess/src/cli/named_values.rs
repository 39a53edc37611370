//! A parser of named values, as in Chess.toml. It also offers the names to the completions of
//! shells. Numbers, durations and amounts of work are parsed in `config/values.rs`.

use std::ffi::OsStr;
use std::fmt::Display;
use std::marker::PhantomData;
use std::str::FromStr;

use clap::builder::{PossibleValue, StringValueParser, TypedValueParser};
use clap::{Arg, Command};

/// The parser of a `T` with a fixed set of names.
#[derive(Clone)]
pub(super) struct ValueParser<T> {
    names: &'static [&'static str],
    parsed: PhantomData<fn() -> T>,
}

impl<T> ValueParser<T> {
    /// Creates the parser of a `T` with these names.
    pub(super) fn of(names: &'static [&'static str]) -> Self {
        Self {
            names,
            parsed: PhantomData,
        }
    }
}

impl<T: FromStr<Err = String> + Display + Clone + Send + Sync + 'static> TypedValueParser
    for ValueParser<T>
{
    type Value = T;

    fn parse_ref(
        &self,
        command: &Command,
        argument: Option<&Arg>,
        value: &OsStr,
    ) -> Result<T, clap::Error> {
        let parser = StringValueParser::new().try_map(|text| text.parse::<T>());
        parser.parse_ref(command, argument, value)
    }

    fn possible_values(&self) -> Option<Box<dyn Iterator<Item = PossibleValue> + '_>> {
        Some(Box::new(self.names.iter().map(PossibleValue::new)))
    }
}
