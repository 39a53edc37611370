//! The output and the input of the tool conform to its JSON schemas.

use std::fs;
use std::path::{Path, PathBuf};

use end_to_end::{Run, Workspace, source_of};
use jsonschema::Validator;
use serde_json::{Value, json};

fn schema_of(what: &str) -> Validator {
    let run = Workspace::empty().chess(&["schema", what]).run();
    run.assert_code(0);
    let schema = serde_json::from_str(&run.stdout).expect("it is JSON");
    // The schema itself is validated against its draft: a misspelled keyword would be an error.
    jsonschema::meta::validate(&schema).expect("it is a schema");
    jsonschema::draft202012::new(&schema).expect("it can be used")
}

#[track_caller]
fn assert_all_valid(validator: &Validator, run: &Run) {
    let lines = run.events();
    assert!(!lines.is_empty(), "{run:?}");
    for line in lines {
        let errors: Vec<_> = validator
            .iter_errors(&line)
            .map(|it| it.to_string())
            .collect();
        assert!(errors.is_empty(), "{errors:?} in {line}");
    }
}

/// Adds the Chess.toml files below `directory`.
fn configurations(directory: &Path, found: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(directory).expect("readable").flatten() {
        let path = entry.path();
        if path.is_dir() && !path.ends_with("target") {
            configurations(&path, found);
        } else if path.ends_with("Chess.toml") {
            found.push(path);
        }
    }
}

#[test]
fn the_configurations_of_all_fixtures_and_of_init_are_valid() {
    let workspace = Workspace::with_library("");
    workspace.chess(&["init"]).run().assert_code(0);
    let mut files = vec![workspace.root().join("Chess.toml")];
    configurations(&source_of(""), &mut files);
    assert!(files.len() > 20, "{files:?}");
    let validator = schema_of("config");
    for file in files {
        let text = fs::read_to_string(&file).expect("readable");
        let value: Value = toml::from_str(&text).expect("it is TOML");
        let errors: Vec<_> = validator
            .iter_errors(&value)
            .map(|it| it.to_string())
            .collect();
        assert!(errors.is_empty(), "{}: {errors:?}", file.display());
    }
    assert!(!validator.is_valid(&json!({ "explore": { "preemption": 3 } })));
}

#[test]
fn the_events_of_runs_are_valid() {
    let validator = schema_of("events");
    let catalog = Workspace::shared("catalog");
    let passed_and_failed = catalog.chess(&["test", "bank::", "--no-fail-fast"]);
    let several = catalog.chess(&["test", "bank::buggy", "--keep-going", "--schedules", "50"]);
    let ignored =
        Workspace::with_library("#[test]\n#[ignore]\nfn one() {}\n#[test]\nfn two() {}\n");
    let skipped = ignored.chess(&["test"]);
    let part = catalog.chess(&[
        "test",
        "bank::",
        "--shard",
        "1/2",
        "--divide",
        "--no-fail-fast",
    ]);
    for call in [passed_and_failed, several, skipped, part] {
        let run = call.arg("--message-format").arg("json").run();
        assert_all_valid(&validator, &run);
    }
}

#[test]
fn the_events_of_a_replay_and_of_joined_shards_are_valid() {
    let validator = schema_of("events");
    let workspace =
        Workspace::with_locks("#[test] fn fails() { locked(2, 1); panic!(\"here\") }\n");
    workspace.chess(&["test"]).run().assert_code(100);
    let saved = fs::read_dir(workspace.root().join("target/chess/failures"));
    let saved = saved
        .expect("it was saved")
        .flatten()
        .next()
        .expect("one")
        .path();
    let replay = workspace.chess(&[
        "replay",
        &saved.to_string_lossy(),
        "--message-format",
        "json",
    ]);
    assert_all_valid(&validator, &replay.run());
    let script = "for n in 1 2; do \"$CHESS\" test --shard $n/2 --message-format json > $n.jsonl || [ $? = 100 ]; done\n\
                  \"$CHESS\" merge 1.jsonl 2.jsonl";
    assert_all_valid(&validator, &workspace.shell(script).run());
}

#[test]
fn the_list_is_valid() {
    let run = Workspace::shared("members")
        .chess(&["list", "--message-format", "json"])
        .run();
    run.assert_code(0);
    assert_all_valid(&schema_of("list"), &run);
}

#[test]
fn a_value_that_is_no_event_is_not_valid() {
    let validator = schema_of("events");
    let event = json!({
        "type": "progress", "package": "bank", "binary": "bank", "test": "t",
        "schedules": 1, "bound": null, "estimate": 0.5,
    });
    assert!(validator.is_valid(&event));
    let broken = |change: &dyn Fn(&mut Value)| {
        let mut event = event.clone();
        change(&mut event);
        assert!(!validator.is_valid(&event), "{event}");
    };
    broken(&|event| event["type"] = json!("progressed"));
    broken(&|event| event["schedules"] = json!("1"));
    broken(&|event| event["schedules"] = json!(-1));
    broken(&|event| event["estimate"] = json!("half"));
    broken(&|event| {
        event.as_object_mut().expect("an object").remove("bound");
    });
}
