//! Tests of the accepted command lines and of the resolved options.

use std::fmt::Write as _;

use clap::error::ErrorKind;
use clap::{CommandFactory, Parser};

use super::{CargoArgs, Cli, Command, RunIgnored, RunOptions, TestArgs};
use crate::config::{Exploration, Strategy};

fn parse(line: &str) -> Result<Command, clap::Error> {
    let args = ["cargo-chess"].into_iter().chain(line.split_whitespace());
    Cli::try_parse_from(args).map(|cli| cli.command)
}

fn test(line: &str) -> TestArgs {
    match parse(line) {
        Ok(Command::Test(args)) => *args,
        other => panic!("expected `test`, found {other:?}"),
    }
}

fn refusal(line: &str) -> String {
    parse(line).expect_err("not valid").to_string()
}

#[test]
fn the_definition_is_consistent() {
    Cli::command().debug_assert();
}

#[test]
fn every_flag_of_the_selection_goes_to_cargo_as_cargo_spells_it() {
    let args = test(
        "test -p a --package b --workspace --exclude c --lib --bins --bin d --tests --test e \
         --examples --example f -F g,h --features i --all-features --no-default-features --release \
         --manifest-path m/Cargo.toml --locked --offline --frozen -j 3",
    );
    let cargo = &args.cargo;
    let mut flags = cargo.packages.to_cargo();
    flags.extend(cargo.targets.to_cargo());
    flags.extend(cargo.features.to_cargo());
    flags.extend(cargo.build.to_cargo());
    flags.extend(cargo.manifest.to_cargo());
    assert_eq!(
        flags.join(" "),
        "--package a --package b --workspace --exclude c --lib --bins --bin d --tests --test e \
         --examples --example f --features g --features h --features i --all-features \
         --no-default-features --jobs 3 --release --manifest-path m/Cargo.toml --locked --offline --frozen"
    );
    assert_eq!(RunOptions::from_test(&args).jobs, Some(3));
}

#[test]
fn exploration_flags_are_the_topmost_layer() {
    let args = test(
        "test --preemptions 3 --schedules 10_000 --time 30s --max-steps 5 --strategy icb,random \
         --seed 7 --memory sc --isolate fork --backend threads --watchdog 5 --keep-going --leaks \
         --allow-unjoined-panics",
    );
    let Exploration {
        preemptions,
        schedules,
        work,
        strategy,
        keep_going,
        leaks,
        allow_unjoined_panics,
        ..
    } = args.explore.to_layer().resolve();
    assert_eq!((preemptions, schedules), (3, Some(10_000)));
    assert_eq!(work, None);
    assert!(keep_going && leaks && allow_unjoined_panics);
    assert_eq!(strategy, [Strategy::Icb, Strategy::Random]);
    assert_eq!(test("test").explore.to_layer().keep_going, None);
}

#[test]
fn the_nearest_name_of_a_value_is_proposed() {
    assert!(refusal("test --memory c1").contains("did you mean `c11`?"));
    assert!(refusal("test --strategy icbb").contains("did you mean `icb`?"));
}

#[test]
fn the_options_of_libtest_have_their_meaning_after_the_dashes() {
    let args = test(
        "test bank:: -- --exact --skip slow --include-ignored --test-threads=1 --nocapture other --bench",
    );
    let options = RunOptions::from_test(&args);
    assert!(options.exact && options.no_capture);
    assert_eq!(options.skip, ["slow"]);
    assert_eq!(options.run_ignored, RunIgnored::All);
    assert_eq!(options.jobs, Some(1));
    assert_eq!(options.filters, ["bank::", "other"]);
    assert_eq!(options.binary_args, ["--bench"]);
}

#[test]
fn filters_match_as_in_cargo_test() {
    let select = |line: &str, path| RunOptions::from_test(&test(line)).selects(path);
    assert!(select("test", "a::b"));
    assert!(select("test x a::", "a::b"));
    assert!(!select("test x", "a::b"));
    assert!(!select("test a:: --exact", "a::b"));
    assert!(select("test a::b --exact", "a::b"));
    assert!(!select("test -- --skip b", "a::b"));
}

#[test]
fn build_flags_survive_being_saved_with_a_schedule() {
    let cargo = test("test --release -F a,b --no-default-features -p x --locked").cargo;
    let saved = cargo.build_flags();
    assert_eq!(
        saved,
        "--features a --features b --no-default-features --release"
    );
    let restored = CargoArgs::from_build_flags(&saved).expect("our own flags");
    assert_eq!(restored.build_flags(), saved);
    let cargo = test("test --cargo-profile bench").cargo;
    assert_eq!(cargo.build_flags(), "--cargo-profile bench");
    assert!(CargoArgs::from_build_flags("--frobnicate").is_err());
    assert_eq!(
        CargoArgs::from_build_flags("").expect("none").build_flags(),
        ""
    );
}

#[test]
fn help_lists_each_flag_under_its_heading() {
    let mut help = String::new();
    for command in ["test", "list", "replay", "clean", "demo"] {
        let answer = parse(&format!("{command} --help")).expect_err("help ends the command");
        assert_eq!(answer.kind(), ErrorKind::DisplayHelp);
        let _ = writeln!(help, "{answer}");
    }
    insta::assert_snapshot!(help);
}
