//! Tests of the layers' precedence and of the errors' texts.

use std::fmt::Write as _;
use std::time::Duration;

use camino::Utf8Path;

use super::file::File;
use super::{Backend, Config, KEYS, Kind, Layer, Policy, Strategy, values};
use crate::error::{Error, Result, exit_code};

const LAYERED: &str = r#"
[explore]
preemptions = 3
schedules = 7_000
strategy = ["icb", "random"]
time = "5m"

[[test]]
filter = "stress::"
explore = { preemptions = 1, watchdog = 10 }

[[test]]
filter = "stress::long"
explore = { preemptions = 0 }

[profile.ci.explore]
preemptions = 4
schedules = 9_000
backend = "threads"
"#;

fn load(text: &str, profile: Option<&str>, env: &[(&str, &str)], flags: &Layer) -> Result<Config> {
    let root = tempfile::tempdir().expect("a temporary directory");
    let root = Utf8Path::from_path(root.path()).expect("a UTF-8 path");
    std::fs::write(root.join(super::FILE_NAME), text).expect("a writable directory");
    let env = env.iter().map(|(name, value)| (name.into(), value.into()));
    Config::load(root, profile, env, flags)
}

fn config(text: &str) -> Config {
    load(text, None, &[], &Layer::default()).expect("a valid configuration")
}

#[test]
fn without_a_file_the_defaults_hold() {
    let root = tempfile::tempdir().expect("a temporary directory");
    let root = Utf8Path::from_path(root.path()).expect("a UTF-8 path");
    let config = Config::load(root, None, [], &Layer::default()).expect("no file is fine");
    let options = config.for_test("any");
    assert_eq!(options, Layer::default().resolve());
    assert_eq!(
        (options.preemptions, options.schedules, options.work),
        (2, None, Some(20_000_000))
    );
    assert_eq!(options.time_limit(), Some(Duration::from_mins(1)));
    assert_eq!(config.workspace_policy(), Policy::Preempt);
    assert_eq!(config.dependency_policy(), Policy::Atomic);
}

#[test]
fn the_file_sets_the_keys_that_it_names_and_leaves_the_rest() {
    let options = config(LAYERED).for_test("any");
    assert_eq!(options.preemptions, 3);
    assert_eq!((options.schedules, options.work), (Some(7_000), None));
    assert_eq!(options.time_limit(), options.time);
    assert_eq!(options.strategy, [Strategy::Icb, Strategy::Random]);
    assert_eq!(options.time, Some(Duration::from_mins(5)));
    assert_eq!(options.max_steps, 20_000);
}

#[test]
fn a_profile_wins_over_explore() {
    let config = load(LAYERED, Some("ci"), &[], &Layer::default()).expect("valid");
    let options = config.for_test("any");
    assert_eq!((options.preemptions, options.schedules), (4, Some(9_000)));
    assert_eq!(options.backend, Backend::Threads);
    assert_eq!(options.time, Some(Duration::from_mins(5)));
}

#[test]
fn a_matching_test_entry_wins_over_the_profile_and_a_later_one_over_an_earlier() {
    let config = load(LAYERED, Some("ci"), &[], &Layer::default()).expect("valid");
    let options = config.for_test("stress::short");
    assert_eq!((options.preemptions, options.schedules), (1, Some(9_000)));
    let options = config.for_test("deep::stress::long_run");
    assert_eq!(options.preemptions, 0);
    assert_eq!(options.watchdog, Duration::from_secs(10));
}

#[test]
fn the_environment_wins_over_test_entries_and_flags_over_the_environment() {
    let env = [
        ("CHESS_EXPLORE_PREEMPTIONS", "5"),
        ("CHESS_EXPLORE_MAX_STEPS", "99"),
        ("CHESS_CACHE_DIR", "not an option"),
    ];
    let from_env = load(LAYERED, None, &env, &Layer::default()).expect("valid");
    assert_eq!(from_env.for_test("stress::short").preemptions, 5);
    let flags = Layer {
        preemptions: Some(6),
        ..Layer::default()
    };
    let from_flags = load(LAYERED, None, &env, &flags).expect("valid");
    let options = from_flags.for_test("stress::short");
    assert_eq!((options.preemptions, options.max_steps), (6, 99));
}

#[test]
fn a_bad_variable_is_named() {
    let error = |name, value| {
        load("", None, &[(name, value)], &Layer::default())
            .expect_err("not valid")
            .to_string()
    };
    assert_eq!(
        error("CHESS_EXPLORE_PREEMPTIONS", "many"),
        "environment variable CHESS_EXPLORE_PREEMPTIONS: expected a whole number from 0 to 4294967295, found `many`"
    );
    assert_eq!(
        error("CHESS_EXPLORE_PREEMPTION", "1"),
        "environment variable CHESS_EXPLORE_PREEMPTION: there is no option `preemption`; did you mean `preemptions`?"
    );
    assert_eq!(
        error("CHESS_EXPLORE_MEMORY", "c1"),
        "environment variable CHESS_EXPLORE_MEMORY: `c1` is not a value of `memory` (did you mean `c11`?); the values are: sc, tso, c11"
    );
}

#[test]
fn policies_and_scopes_are_read() {
    let config = config(
        r#"
        [policy]
        workspace = "atomic"
        dependencies = "opaque"
        [crates.my-queue]
        scope = ["src/ring.rs", "my_queue::slots"]
        [crates]
        metrics = { policy = "opaque" }
        "#,
    );
    assert_eq!(config.workspace_policy(), Policy::Atomic);
    assert_eq!(config.dependency_policy(), Policy::Opaque);
    let queue = config.crate_entry("my-queue").expect("it is there");
    assert_eq!(queue.policy, None);
    assert_eq!(queue.scope, ["src/ring.rs", "my_queue::slots"]);
    let metrics = config.crate_entry("metrics").expect("it is there");
    assert_eq!(metrics.policy, Some(Policy::Opaque));
}

#[test]
fn each_mistake_in_the_file_names_its_place_and_the_nearest_valid_name() {
    let mistakes = [
        "[explore]\npreemptoins = 2\n",
        "[explroe]\n",
        "[explore]\npreemptions = \"2\"\n",
        "[explore]\npreemptions = -1\n",
        "[explore]\nschedules = 0\n",
        "[explore]\nstrategy = [\"icbb\"]\n",
        "[explore]\nstrategy = [1]\n",
        "[explore]\nmemory = \"c1\"\n",
        "[explore]\ntime = \"5 parsecs\"\n",
        "[explore]\nkeep-going = 1\n",
        "explore = 3\n",
        "[policy]\nworkspace = \"preemt\"\n",
        "[policy]\nworkspaces = \"preempt\"\n",
        "[crates.a]\npolcy = \"atomic\"\n",
        "[crates.a]\nscope = \"src\"\n",
        "[crates.a]\npolicy = \"atomic\"\nscope = [\"src\"]\n",
        "[[test]]\nexplore = { seed = 1 }\n",
        "[test]\nfilter = \"a\"\n",
        "[[test]]\nfilter = \"a\"\nexplore = { sed = 1 }\n",
        "[profile.ci]\nexplre = {}\n",
        "[explore]\npreemptions = 2\npreemptions = 3\n",
        "[explore\n",
    ];
    let mut texts = String::new();
    for mistake in mistakes {
        let error = File::parse(Utf8Path::new("Chess.toml"), mistake.to_owned())
            .expect_err("this is a mistake");
        assert_eq!(error.exit_code(), exit_code::USAGE);
        let _ = writeln!(texts, "{error}\n");
    }
    insta::assert_snapshot!(texts);
}

#[test]
fn an_unknown_crate_is_an_error_and_suggests_a_package() {
    let config = config("[crates.crossbeam-quue]\npolicy = \"preempt\"\n");
    assert!(config.check_crates(["crossbeam-quue"]).is_ok());
    let error = config
        .check_crates(["bank", "crossbeam-queue"])
        .expect_err("there is no such package");
    assert_eq!(error.exit_code(), exit_code::USAGE);
    insta::assert_snapshot!(without_directory(&error.to_string()));
}

#[test]
fn a_filter_that_matches_no_test_is_a_warning() {
    let config = config("[[test]]\nfilter = \"sterss::\"\n\n[[test]]\nfilter = \"quick\"\n");
    let warnings = config.unmatched_filters(["stress::a", "quick"]);
    assert_eq!(warnings.len(), 1);
    insta::assert_snapshot!(without_directory(&warnings[0].to_string()));
}

#[test]
fn an_unknown_profile_is_an_error_and_names_those_there_are() {
    let error = |text, name| {
        let error = load(text, Some(name), &[], &Layer::default()).expect_err("no such profile");
        assert!(matches!(error, Error::Usage(_)));
        without_directory(&error.to_string())
    };
    assert_eq!(
        error(LAYERED, "cl"),
        "there is no profile `cl` in Chess.toml; did you mean `ci`?"
    );
    assert_eq!(
        error("", "ci"),
        "there is no profile `ci` in Chess.toml; the file has no profiles: add a table `[profile.ci.explore]`"
    );
}

#[test]
fn durations_take_units_and_are_never_nothing() {
    let parse = super::parse_duration;
    assert_eq!(parse("90"), Ok(Duration::from_secs(90)));
    assert_eq!(parse("500ms"), Ok(Duration::from_millis(500)));
    assert_eq!(parse("2h"), Ok(Duration::from_hours(2)));
    assert!(parse("0s").is_err());
    assert!(parse("s").is_err());
    assert!(parse("99999999999999999999").is_err());
}

/// The text without the temporary directory of the file.
fn without_directory(text: &str) -> String {
    let at = text.find("/Chess.toml");
    let Some(end) = at else {
        return text.to_owned();
    };
    let start = text[..end].rfind(' ').map_or(0, |space| space + 1);
    format!("{}{}", &text[..start], &text[end + 1..])
}

#[test]
fn a_layer_is_set_by_the_texts_that_it_returns() {
    let sample = |kind: &Kind| match kind {
        Kind::Integer(..) | Kind::Work => "7",
        Kind::Name(names) => names[0],
        Kind::Names(names) => names[1],
        Kind::Duration => "1500ms",
        Kind::Boolean => "true",
    };
    let mut layer = Layer::default();
    assert_eq!(layer.texts(), []);
    for (key, kind) in KEYS {
        layer
            .set_from_text(key, sample(kind))
            .expect("a value of its kind");
    }
    let expected: Vec<_> = KEYS
        .iter()
        .map(|(key, kind)| (*key, sample(kind).to_owned()))
        .collect();
    assert_eq!(layer.texts(), expected);
}

#[test]
fn where_no_name_is_near_all_are_listed() {
    let error = |text: &str| {
        let error = load(text, None, &[], &Layer::default()).expect_err("a mistake");
        error.to_string()
    };
    let key = error("[crates.a]\nzzzzzz = 1\n");
    assert!(
        key.contains("unknown key `zzzzzz`") && key.contains("the keys here are: policy, "),
        "{key}"
    );
    let list = error("[explore]\nstrategy = []\n");
    assert!(list.contains("a list of at least one string"), "{list}");
    let unknown = config("[crates.zzzzzz]\n").check_crates(["bank"]);
    let unknown = unknown.expect_err("no such crate").to_string();
    assert!(
        unknown.contains("no package `zzzzzz` is in this workspace's build")
            && unknown.contains("`cargo chess list` shows all packages and their treatment"),
        "{unknown}"
    );
}

#[test]
fn the_kinds_of_faults_are_those_of_the_vocabulary() {
    use chess_vocabulary::Token as _;

    let kinds = values::Fault::kinds(&[values::Fault::All]);
    let tokens = chess_vocabulary::Fault::ALL.iter().map(|it| it.token());
    assert!(kinds.iter().map(|it| it.as_str()).eq(tokens));
    let list = [
        values::Fault::Short,
        values::Fault::NoSpace,
        values::Fault::Short,
    ];
    assert_eq!(
        values::Fault::list(&values::Fault::kinds(&list)),
        "no-space,short"
    );
    assert_eq!(values::Fault::kinds(&[values::Fault::None]), []);
}
