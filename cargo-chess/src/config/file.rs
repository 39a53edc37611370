//! Chess.toml: parsed with spans, so that each error names its line and column.

use std::fmt::Write as _;
use std::ops::Range;

use camino::{Utf8Path, Utf8PathBuf};
use toml_edit::{ArrayOfTables, Document, Item, Key, Table, TableLike, Value};

use super::exclusive::{ExclusiveEntry, Name};
use super::explore_keys;
use super::layer::Layer;
use super::values::{Policy, Races, Spins};
use crate::error::{ConfigError, Error, Result};
use crate::suggest;

/// The names of the tables of Chess.toml, and of the keys of each table. The schema of Chess.toml
/// is made from the same names. The keys of `[explore]` are in `explore_keys`.
pub(crate) mod tables {
    pub(crate) const ROOT: &[&str] = &[
        "explore",
        "policy",
        "crates",
        "exclusive",
        "test",
        "profile",
    ];
    pub(crate) const POLICY: &[&str] = &["workspace", "dependencies"];
    pub(crate) const CRATE: &[&str] = &["policy", "races", "spins", "scope"];
    pub(crate) const EXCLUSIVE: &[&str] = &["type", "methods", "readers"];
    pub(crate) const TEST: &[&str] = &["filter", "explore"];
    pub(crate) const PROFILE: &[&str] = &["explore"];
}

/// The parsed file. Everything is empty if the file does not exist.
#[derive(Debug, Default)]
pub(super) struct File {
    path: Utf8PathBuf,
    source: String,
    pub(super) explore: Layer,
    pub(super) workspace_policy: Option<Policy>,
    pub(super) dependency_policy: Option<Policy>,
    pub(super) crates: Vec<CrateEntry>,
    pub(super) exclusive: Vec<ExclusiveEntry>,
    pub(super) tests: Vec<TestEntry>,
    profiles: Vec<(String, Layer)>,
}

/// A `[crates.NAME]` table.
#[derive(Debug)]
pub(crate) struct CrateEntry {
    /// The package's name.
    pub name: String,
    /// The policy for the package, if one is set.
    pub policy: Option<Policy>,
    /// The level for data races in the package, if one is set.
    pub races: Option<Races>,
    /// The level for loops in the package that wait without yielding, if one is set.
    pub spins: Option<Spins>,
    /// The paths or modules to which the policy is limited. If empty, the policy applies
    /// everywhere.
    pub scope: Vec<String>,
    name_span: Range<usize>,
    scope_spans: Vec<Range<usize>>,
}

/// A `[[test]]` table.
#[derive(Debug)]
pub(super) struct TestEntry {
    pub(super) filter: String,
    pub(super) explore: Layer,
    filter_span: Range<usize>,
}

/// An error in the file, without the path of the file.
struct Problem {
    span: Range<usize>,
    message: String,
    help: Option<String>,
}

type Parsed<T> = Result<T, Problem>;

impl File {
    /// Reads and checks the file at `path`. If it does not exist, the configuration is empty.
    pub(super) fn read(path: &Utf8Path) -> Result<Self> {
        match std::fs::read_to_string(path) {
            Ok(source) => Self::parse(path, source),
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(Self {
                path: path.to_owned(),
                ..Self::default()
            }),
            Err(error) => Err(Error::Usage(format!("could not read {path}: {error}"))),
        }
    }

    /// Checks `source`, the text of the file at `path`.
    pub(super) fn parse(path: &Utf8Path, source: String) -> Result<Self> {
        let mut file = Self {
            path: path.to_owned(),
            source,
            ..Self::default()
        };
        let parsed = Document::parse(file.source.clone())
            .map_err(|error| Problem {
                span: error.span().unwrap_or(0..0),
                message: format!("not valid TOML: {}", error.message()),
                help: None,
            })
            .and_then(|document| file.take(document.as_table()));
        match parsed {
            Ok(()) => Ok(file),
            Err(problem) => Err(file
                .error(problem.span, problem.message, problem.help)
                .into()),
        }
    }

    /// The options of `[profile.NAME.explore]`.
    pub(super) fn profile(&self, name: &str) -> Result<&Layer> {
        let found = self.profiles.iter().find(|(known, _)| known == name);
        found.map(|(_, layer)| layer).ok_or_else(|| {
            let names: Vec<&str> = self
                .profiles
                .iter()
                .map(|(name, _)| name.as_str())
                .collect();
            let what_to_do = match suggest::nearest(name, names.iter().copied()) {
                Some(near) => format!("did you mean `{near}`?"),
                None if names.is_empty() => {
                    format!("the file has no profiles: add a table `[profile.{name}.explore]`")
                }
                None => format!("its profiles are: {}", names.join(", ")),
            };
            Error::Usage(format!(
                "there is no profile `{name}` in {}; {what_to_do}",
                self.path
            ))
        })
    }

    /// The error for an `entry` that names no package of the build.
    pub(super) fn unknown_crate<'a>(
        &self,
        entry: &CrateEntry,
        packages: impl IntoIterator<Item = &'a str>,
    ) -> ConfigError {
        let help =
            suggest::nearest(&entry.name, packages).map(|near| format!("did you mean `{near}`?"));
        self.error(
            entry.name_span.clone(),
            format!("no package `{}` is in this workspace's build", entry.name),
            help.or_else(|| {
                Some("`cargo chess list` shows all packages and their treatment".to_owned())
            }),
        )
    }

    /// The error for a scope of `entry` that matches no file of its package.
    pub(super) fn scope_error(
        &self,
        entry: &CrateEntry,
        index: usize,
        expected: &str,
    ) -> ConfigError {
        self.error(
            entry.scope_spans[index].clone(),
            format!(
                "the scope `{}` names no file of package `{}`",
                entry.scope[index], entry.name
            ),
            Some(expected.to_owned()),
        )
    }

    /// The warning for an `entry` whose filter matches none of `test_paths`.
    pub(super) fn filter_warning<'a>(
        &self,
        entry: &TestEntry,
        test_paths: impl IntoIterator<Item = &'a str>,
    ) -> ConfigError {
        let help = suggest::nearest(&entry.filter, test_paths)
            .map(|near| format!("did you mean `{near}`?"));
        ConfigError {
            is_warning: true,
            ..self.error(
                entry.filter_span.clone(),
                format!("the filter `{}` matches no test", entry.filter),
                help,
            )
        }
    }

    /// The error about `name`, which is in an `[[exclusive]]` table.
    pub(super) fn exclusive_error(
        &self,
        name: &Name,
        message: String,
        help: Option<String>,
    ) -> ConfigError {
        self.error(name.span.clone(), message, help)
    }

    fn error(&self, span: Range<usize>, message: String, help: Option<String>) -> ConfigError {
        ConfigError {
            is_warning: false,
            message,
            help,
            path: self.path.clone(),
            source: self.source.clone(),
            span,
        }
    }

    fn take(&mut self, root: &dyn TableLike) -> Parsed<()> {
        for (key, item) in entries(root) {
            match key.get() {
                "explore" => self.explore = explore(table(key, item)?)?,
                "policy" => self.take_policy(table(key, item)?)?,
                "crates" => {
                    for (name, item) in entries(table(key, item)?) {
                        self.crates.push(crate_entry(name, table(name, item)?)?);
                    }
                }
                "exclusive" => {
                    for table in list_of_tables(key, item)? {
                        self.exclusive.push(exclusive_entry(table)?);
                    }
                }
                "test" => {
                    for table in list_of_tables(key, item)? {
                        let table_span = table.span().unwrap_or(0..0);
                        self.tests.push(test_entry(table, table_span)?);
                    }
                }
                "profile" => {
                    for (name, item) in entries(table(key, item)?) {
                        let layer = profile(table(name, item)?)?;
                        self.profiles.push((name.get().to_owned(), layer));
                    }
                }
                _ => return Err(unknown_key(key, tables::ROOT)),
            }
        }
        Ok(())
    }

    fn take_policy(&mut self, table: &dyn TableLike) -> Parsed<()> {
        for (key, item) in entries(table) {
            match key.get() {
                "workspace" => self.workspace_policy = Some(policy(key, item)?),
                "dependencies" => self.dependency_policy = Some(policy(key, item)?),
                _ => return Err(unknown_key(key, tables::POLICY)),
            }
        }
        Ok(())
    }
}

fn list_of_tables<'a>(key: &Key, item: &'a Item) -> Parsed<&'a ArrayOfTables> {
    item.as_array_of_tables().ok_or_else(|| {
        let mut problem = wrong_type(key, item, "a list of tables");
        let _ = write!(problem.message, "; write `[[{}]]`", key.get());
        problem
    })
}

fn exclusive_entry(table: &Table) -> Parsed<ExclusiveEntry> {
    let (mut of, mut methods, mut readers) = (None, None, Vec::new());
    for (key, item) in entries(table) {
        match key.get() {
            "type" => {
                of = Some(Name {
                    text: text(key, item)?,
                    span: item.span().unwrap_or(0..0),
                });
            }
            "methods" => methods = Some(names(key, item)?),
            "readers" => readers = names(key, item)?,
            _ => return Err(unknown_key(key, tables::EXCLUSIVE)),
        }
    }
    let of = of.ok_or_else(|| {
        at(
            table.span(),
            "this `[[exclusive]]` has no `type`, the path of a type".to_owned(),
        )
    })?;
    if !of.text.contains("::") {
        return Err(Problem {
            span: of.span,
            message: format!(
                "the path `{}` does not begin with the name of a package",
                of.text
            ),
            help: Some(format!(
                "write `NAME::{}`, with the package's name",
                of.text
            )),
        });
    }
    let mut both = methods.iter().flatten().filter(|it| readers.contains(it));
    if let Some(twice) = both.next() {
        return Err(at(
            Some(twice.span.clone()),
            format!("`{}` is in both `methods` and `readers`", twice.text),
        ));
    }
    Ok(ExclusiveEntry {
        of,
        methods,
        readers,
    })
}

/// The names of methods in a list.
fn names(key: &Key, item: &Item) -> Parsed<Vec<Name>> {
    let wrong = || wrong_type(key, item, "a list of methods, as in [\"push\"]");
    let list = item.as_array().ok_or_else(wrong)?.iter();
    let name = |value: &Value| {
        Ok(Name {
            text: value.as_str().ok_or_else(wrong)?.to_owned(),
            span: value.span().unwrap_or(0..0),
        })
    };
    list.map(name).collect()
}

fn profile(table: &dyn TableLike) -> Parsed<Layer> {
    let mut layer = Layer::default();
    for (key, item) in entries(table) {
        match key.get() {
            "explore" => layer = explore(self::table(key, item)?)?,
            _ => return Err(unknown_key(key, tables::PROFILE)),
        }
    }
    Ok(layer)
}

fn explore(table: &dyn TableLike) -> Parsed<Layer> {
    let mut layer = Layer::default();
    for (key, item) in entries(table) {
        let names: Vec<&str> = explore_keys::names().collect();
        if !names.contains(&key.get()) {
            return Err(unknown_key(key, &names));
        }
        layer
            .set_from_toml(key.get(), value(key, item)?)
            .map_err(|(span, message)| at(span, message))?;
    }
    Ok(layer)
}

fn test_entry(table: &dyn TableLike, table_span: Range<usize>) -> Parsed<TestEntry> {
    let mut filter = None;
    let mut layer = Layer::default();
    for (key, item) in entries(table) {
        match key.get() {
            "filter" => filter = Some((text(key, item)?, item.span().unwrap_or(0..0))),
            "explore" => {
                let table = self::table(key, item)?;
                if let Some((key, _)) = table.get_key_value(explore_keys::TIME_TOTAL) {
                    let message = "`time-total` limits all tests together, so it belongs into `[explore]`: \
                                   the limit of one test is `time`";
                    return Err(at(key.span(), message.to_owned()));
                }
                layer = explore(table)?;
            }
            _ => return Err(unknown_key(key, tables::TEST)),
        }
    }
    let (filter, filter_span) = filter.ok_or_else(|| {
        at(
            Some(table_span),
            "this `[[test]]` has no key `filter`, which selects the tests that the table applies to".to_owned(),
        )
    })?;
    Ok(TestEntry {
        filter,
        explore: layer,
        filter_span,
    })
}

fn crate_entry(name: &Key, table: &dyn TableLike) -> Parsed<CrateEntry> {
    let mut entry = CrateEntry {
        name: name.get().to_owned(),
        policy: None,
        races: None,
        spins: None,
        scope: Vec::new(),
        name_span: name.span().unwrap_or(0..0),
        scope_spans: Vec::new(),
    };
    for (key, item) in entries(table) {
        match key.get() {
            "policy" => entry.policy = Some(policy(key, item)?),
            "races" => {
                let races = text(key, item)?.parse();
                entry.races = Some(races.map_err(|message| at(item.span(), message))?);
            }
            "spins" => {
                let spins = text(key, item)?.parse();
                entry.spins = Some(spins.map_err(|message| at(item.span(), message))?);
            }
            "scope" => {
                let expected = "a list of paths or modules, as in [\"src/ring.rs\"]";
                let list = item
                    .as_array()
                    .ok_or_else(|| wrong_type(key, item, expected))?;
                for value in list {
                    let path = value
                        .as_str()
                        .ok_or_else(|| wrong_type(key, item, expected))?;
                    entry.scope.push(path.to_owned());
                    entry.scope_spans.push(value.span().unwrap_or(0..0));
                }
            }
            _ => return Err(unknown_key(key, tables::CRATE)),
        }
    }
    if !entry.scope.is_empty() && !matches!(entry.policy, None | Some(Policy::Preempt)) {
        return Err(at(
            entry.scope_spans.first().cloned(),
            "`scope` needs the policy `preempt`, but this table sets another `policy`; remove one of the two".to_owned(),
        ));
    }
    Ok(entry)
}

/// The keys and values of a table, in the order of the file.
fn entries(table: &dyn TableLike) -> impl Iterator<Item = (&Key, &Item)> {
    table
        .iter()
        .filter_map(|(name, _)| table.get_key_value(name))
}

fn table<'a>(key: &Key, item: &'a Item) -> Parsed<&'a dyn TableLike> {
    item.as_table_like()
        .ok_or_else(|| wrong_type(key, item, "a table"))
}

fn value<'a>(key: &Key, item: &'a Item) -> Parsed<&'a Value> {
    item.as_value()
        .ok_or_else(|| wrong_type(key, item, "a value"))
}

fn text(key: &Key, item: &Item) -> Parsed<String> {
    item.as_str()
        .map(str::to_owned)
        .ok_or_else(|| wrong_type(key, item, "a string"))
}

fn policy(key: &Key, item: &Item) -> Parsed<Policy> {
    text(key, item)?
        .parse()
        .map_err(|message| at(item.span(), message))
}

fn wrong_type(key: &Key, item: &Item, expected: &str) -> Problem {
    let found = explore_keys::article(item.type_name());
    at(
        item.span().or_else(|| key.span()),
        format!("`{}`: expected {expected}, found {found}", key.get()),
    )
}

fn unknown_key(key: &Key, known: &[&str]) -> Problem {
    let help = suggest::nearest(key.get(), known.iter().copied()).map_or_else(
        || format!("the keys here are: {}", known.join(", ")),
        |near| format!("did you mean `{near}`?"),
    );
    Problem {
        span: key.span().unwrap_or(0..0),
        message: format!("unknown key `{}`", key.get()),
        help: Some(help),
    }
}

fn at(span: Option<Range<usize>>, message: String) -> Problem {
    Problem {
        span: span.unwrap_or(0..0),
        message,
        help: None,
    }
}
