//! The schema of Chess.toml. It is made from the table of keys by which the file is parsed, and
//! from the help texts of the flags.

use clap::CommandFactory;
use serde_json::{Map, Value, json};

use crate::cli::Cli;
use crate::config::{KEYS, Kind, LARGEST, Policy, Races, Spins, tables};

/// The texts that `parse_duration` accepts, except zero.
const DURATION: &str = "^0*[1-9][0-9]*(ms|s|m|min|h)?$";

const WORK: &str = "^[0_]*[1-9][0-9_]*(k|M|G)?$";

/// The parser counts in milliseconds, so larger numbers of seconds are not possible.
const MOST_SECONDS: u64 = u64::MAX / 1000;

/// The schema of the whole file.
pub(super) fn schema() -> Value {
    let table = |name: &str| match name {
        "explore" => reference("explore", "How tests are explored."),
        "policy" => policy(),
        "crates" => json!({
            "description": "How single packages are treated, by name.",
            "type": "object",
            "additionalProperties": krate(),
        }),
        "exclusive" => json!({
            "description": "Types with methods that two threads must not run on one object at the same time.",
            "type": "array",
            "items": exclusive(),
        }),
        "test" => json!({
            "description": "Overrides for the tests that match the filter. If several tables match a test, the later table takes precedence.",
            "type": "array",
            "items": test(),
        }),
        "profile" => json!({
            "description": "The options that `--profile NAME` sets over those of `[explore]`.",
            "type": "object",
            "additionalProperties": profile(),
        }),
        name => unreachable!("a table `{name}` without a schema"),
    };
    let mut schema = object(tables::ROOT.iter().map(|name| (*name, table(name))));
    schema["$schema"] = "https://json-schema.org/draft/2020-12/schema".into();
    schema["title"] = "Chess.toml".into();
    schema["description"] = "How cargo chess explores the tests of a workspace.".into();
    schema["$defs"] = json!({ "explore": explore() });
    schema
}

fn policy() -> Value {
    let what = |name: &str| match name {
        "workspace" => "How the members of the workspace are treated.",
        "dependencies" => "How all other packages are treated.",
        name => unreachable!("a key `{name}` without a schema"),
    };
    let keys = tables::POLICY.iter();
    let mut schema = object(keys.map(|name| (*name, names(what(name), Policy::NAMES))));
    schema["description"] = "How packages without a table below `crates` are treated.".into();
    schema
}

fn krate() -> Value {
    let property = |name: &str| match name {
        "policy" => names("How the package is treated.", Policy::NAMES),
        "races" => names(
            "Whether a data race in the package is a failure.",
            Races::NAMES,
        ),
        "spins" => names(
            "Whether a loop in the package that waits without yielding is a failure.",
            Spins::NAMES,
        ),
        "scope" => json!({
            "description": "The paths and modules with the policy `preempt`. The rest of the package has the policy `atomic`.",
            "type": "array",
            "items": { "type": "string" },
        }),
        name => unreachable!("a key `{name}` without a schema"),
    };
    let mut schema = object(tables::CRATE.iter().map(|name| (*name, property(name))));
    // A scope selects the code to preempt, so it needs the policy `preempt`.
    let others: Vec<_> = Policy::NAMES
        .iter()
        .filter(|it| **it != "preempt")
        .collect();
    schema["if"] =
        json!({ "properties": { "policy": { "enum": others } }, "required": ["policy"] });
    schema["then"] = json!({ "properties": { "scope": { "maxItems": 0 } } });
    schema
}

fn exclusive() -> Value {
    let methods = |description: &str| json!({ "description": description, "type": "array", "items": { "type": "string" } });
    let property = |name: &str| match name {
        "type" => json!({
            "description": "The path of the type, as in `ring::Producer`.",
            "type": "string",
            "pattern": "::",
        }),
        "methods" => {
            methods("The exclusive methods. By default, all methods that take `self` by reference.")
        }
        "readers" => methods(
            "Methods whose calls may overlap each other, but not the calls of exclusive methods.",
        ),
        name => unreachable!("a key `{name}` without a schema"),
    };
    let mut schema = object(tables::EXCLUSIVE.iter().map(|name| (*name, property(name))));
    schema["required"] = json!(["type"]);
    schema
}

fn test() -> Value {
    let property = |name: &str| match name {
        "filter" => json!({
            "description": "A part of the path of each test to which the table applies.",
            "type": "string",
        }),
        "explore" => reference(
            "explore",
            "The options of these tests, which override those of the run.",
        ),
        name => unreachable!("a key `{name}` without a schema"),
    };
    let mut schema = object(tables::TEST.iter().map(|name| (*name, property(name))));
    schema["required"] = json!(["filter"]);
    schema
}

fn profile() -> Value {
    let explore = || reference("explore", "The options of this profile.");
    object(tables::PROFILE.iter().map(|name| (*name, explore())))
}

fn explore() -> Value {
    let command = Cli::command();
    let flags = command.find_subcommand("test").expect("it is a command");
    let help = |key: &str| {
        let mut all = flags.get_arguments();
        let flag = all.find(|flag| flag.get_long() == Some(key));
        let help = flag.and_then(clap::Arg::get_help);
        help.map(ToString::to_string).expect("each key is a flag")
    };
    let keys = KEYS.iter();
    object(keys.map(|(key, kind)| (*key, value(&help(key), *kind))))
}

/// The schema of a key's value.
fn value(description: &str, kind: Kind) -> Value {
    match kind {
        Kind::Integer(least, most) => json!({
            "description": description,
            "type": "integer",
            "minimum": least,
            "maximum": most,
        }),
        Kind::Work => json!({
            "description": description,
            "anyOf": [
                { "type": "string", "pattern": WORK },
                { "type": "integer", "minimum": 1, "maximum": LARGEST },
            ],
        }),
        Kind::Name(all) => names(description, all),
        Kind::Names(all) => json!({
            "description": description,
            "anyOf": [one_or_several(all), {
                "type": "array",
                "items": one_or_several(all),
                "minItems": 1,
            }],
        }),
        Kind::Duration => json!({
            "description": description,
            "anyOf": [
                { "type": "string", "pattern": DURATION },
                { "type": "integer", "minimum": 1, "maximum": MOST_SECONDS },
            ],
        }),
        Kind::Boolean => json!({ "description": description, "type": "boolean" }),
    }
}

/// A name, or a string of several names, separated by commas as after a flag.
fn one_or_several(names: &[&str]) -> Value {
    let name = names.join("|");
    json!({ "anyOf": [
        { "enum": names },
        { "type": "string", "pattern": format!(r"^\s*({name})\s*(,\s*({name})\s*)*$") },
    ] })
}

fn names(description: &str, names: &[&str]) -> Value {
    json!({ "description": description, "enum": names })
}

fn reference(name: &str, description: &str) -> Value {
    json!({ "$ref": format!("#/$defs/{name}"), "description": description })
}

/// A table of these keys and no others.
fn object<'a>(properties: impl Iterator<Item = (&'a str, Value)>) -> Value {
    let properties = properties.map(|(name, schema)| (name.to_owned(), schema));
    let properties: Map<String, Value> = properties.collect();
    json!({ "type": "object", "properties": properties, "additionalProperties": false })
}

#[cfg(test)]
mod tests;
