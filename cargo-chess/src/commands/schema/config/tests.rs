//! The schema and the parser agree on every key, and on right and wrong Chess.toml files.

use camino::Utf8Path;
use jsonschema::Validator;

use super::*;
use crate::config::{Config, Layer};

fn validator() -> Validator {
    jsonschema::draft202012::new(&schema()).expect("it is a schema")
}

/// Whether the parser of Chess.toml accepts the text.
fn parses(text: &str) -> bool {
    let directory = tempfile::tempdir().expect("a temporary directory");
    let root = Utf8Path::from_path(directory.path()).expect("a UTF-8 path");
    std::fs::write(root.join("Chess.toml"), text).expect("writable");
    Config::load(root, None, [], &Layer::default()).is_ok()
}

/// Fails if the schema and the parser disagree about `text`.
fn assert_agreed(validator: &Validator, text: &str, expected: Option<bool>) {
    let value: Value = toml::from_str(text).expect("it is TOML");
    let errors: Vec<_> = validator
        .iter_errors(&value)
        .map(|it| it.to_string())
        .collect();
    assert_eq!(parses(text), errors.is_empty(), "{text}\n{errors:?}");
    if let Some(expected) = expected {
        assert_eq!(errors.is_empty(), expected, "{text}\n{errors:?}");
    }
}

#[test]
fn every_key_takes_the_same_values_in_the_schema_and_in_the_parser() {
    let mut values: Vec<String> = [
        "0",
        "1",
        "-1",
        "7",
        "4294967295",
        "4294967296",
        "9223372036854775807",
        "1.5",
        "true",
        "false",
        "\"\"",
        "\"0s\"",
        "\"30s\"",
        "\"500ms\"",
        "\"5m\"",
        "\"5min\"",
        "\"2h\"",
        "\"007\"",
        "\"3d\"",
        "\"s\"",
        "\"-1s\"",
        "\"auto\"",
        "\"icb, pct\"",
        "\"icb,\"",
        "\"Icb\"",
        "[]",
        "[1]",
        "[\"icb\"]",
        "[\"icb\", \"pct\"]",
        "[\"icb,pct\", \"pos\"]",
        "[\"icbb\"]",
        "[\"icb\", 3]",
        "{}",
        "{ a = 1 }",
        "1979-05-27",
    ]
    .map(str::to_owned)
    .into();
    let names = KEYS.iter().flat_map(|(_, kind)| match kind {
        Kind::Name(names) | Kind::Names(names) => *names,
        _ => &[],
    });
    values.extend(names.map(|name| format!("{name:?}")));
    let validator = validator();
    for (key, _) in KEYS {
        let mut taken = 0;
        for value in &values {
            let text = format!("[explore]\n{key} = {value}\n");
            assert_agreed(&validator, &text, None);
            taken += usize::from(parses(&text));
        }
        assert!((1..values.len()).contains(&taken), "{key} takes {taken}");
    }
}

#[test]
fn tables_are_the_same_in_the_schema_and_in_the_parser() {
    let validator = validator();
    let right = [
        "",
        "[policy]\nworkspace = \"preempt\"\ndependencies = \"opaque\"\n",
        "[crates.a]\npolicy = \"atomic\"\nraces = \"warn\"\nscope = []\n",
        "[crates.a]\nscope = [\"src/ring.rs\", \"a::slots\"]\n",
        "[crates.a]\npolicy = \"preempt\"\nscope = [\"src\"]\n",
        "[[test]]\nfilter = \"x\"\n[[test]]\nfilter = \"y\"\nexplore = { seed = 3 }\n",
        "[[exclusive]]\ntype = \"a::Ring\"\n[[exclusive]]\ntype = \"a::b::Ring\"\n",
        "[[exclusive]]\ntype = \"a::Ring\"\nmethods = [\"push\"]\nreaders = []\n",
        "[profile.ci]\n[profile.ci.explore]\nschedules = 1_000_000\n",
        "crates = {}\nprofile = {}\nexplore = {}\n",
    ];
    let wrong = [
        "explore = 3\n",
        "[exploration]\n",
        "[explore]\npreemption = 3\n",
        "[policy]\nmembers = \"preempt\"\n",
        "[policy]\nworkspace = \"preempted\"\n",
        "[crates]\na = \"preempt\"\n",
        "[crates.a]\npolicies = \"preempt\"\n",
        "[crates.a]\nraces = \"forbid\"\n",
        "[crates.a]\nscope = \"src\"\n",
        "[crates.a]\nscope = [1]\n",
        "[crates.a]\npolicy = \"atomic\"\nscope = [\"src\"]\n",
        "[test]\nfilter = \"x\"\n",
        "[[test]]\nexplore = { seed = 3 }\n",
        "[[test]]\nfilter = 3\n",
        "[[test]]\nfilter = \"x\"\nseed = 3\n",
        "[[test]]\nfilter = \"x\"\nexplore = { sead = 3 }\n",
        "[profile.ci]\nschedules = 1\n",
        "[profile.ci.explore]\nschedules = 0\n",
        "profile = []\n",
        "[exclusive]\ntype = \"a::Ring\"\n",
        "[[exclusive]]\nmethods = [\"push\"]\n",
        "[[exclusive]]\ntype = \"Ring\"\n",
        "[[exclusive]]\ntype = \"a::Ring\"\nmethods = \"push\"\n",
        "[[exclusive]]\ntype = \"a::Ring\"\nreaders = [1]\n",
        "[[exclusive]]\ntype = \"a::Ring\"\nmethod = [\"push\"]\n",
    ];
    for text in right {
        assert_agreed(&validator, text, Some(true));
    }
    for text in wrong {
        assert_agreed(&validator, text, Some(false));
    }
}

#[test]
fn each_key_is_described_as_its_flag_is() {
    let schema = schema();
    let explore = schema["$defs"]["explore"]["properties"]
        .as_object()
        .expect("keys");
    assert_eq!(explore.len(), KEYS.len());
    assert_eq!(
        explore["seed"]["description"],
        "Seed of random choices [default: 0]"
    );
    assert!(explore.values().all(|key| key["description"].is_string()));
}
