//! The fields of a shard's report that describe the whole run, for `cargo chess merge`.

use super::inputs::Inputs;
use super::list::ListedTest;
use super::request::request_without_policies;
use crate::cli::NoTests;
use crate::config::Strategy;
use crate::digest;
use crate::error::Result;
use crate::plan::{Plan, PlannedPackage};
use crate::shard::{Part, Shard};

/// The number of digits of a digest in a part.
const DIGEST_LEN: usize = 16;

/// Describes `shard` of the run of `tests`. `tests` are the tests of all shards. The description
/// is the same on every machine.
pub(super) fn part(inputs: &Inputs<'_>, shard: Shard, tests: &[ListedTest]) -> Result<Part> {
    let names: Vec<String> = tests.iter().map(|test| test.id.to_string()).collect();
    Ok(Part {
        index: shard.index(),
        count: shard.count(),
        tests: tests.len(),
        divided: tests
            .iter()
            .filter(|test| is_divided(inputs, shard, tests)(test))
            .count(),
        binaries: binaries(tests),
        fail_fast: inputs.options.fail_fast,
        require_complete: inputs.options.require_complete,
        require_tests: inputs.options.no_tests == NoTests::Fail,
        selection: digest_of(&names),
        options: digest_of(&options(inputs, tests)),
        sources: inputs.plan.digest_of_sources()?,
        rustc: inputs.build.rustc_version.clone(),
    })
}

/// Returns a function that decides whether a test is divided: then every shard explores a part of
/// its schedules. Tests with the option `divide` are divided. If there are fewer `tests` than
/// shards, all tests are divided. Tests that are not explored, or that have no strategy that can
/// be divided, are never divided.
pub(super) fn is_divided<'a>(
    inputs: &Inputs<'a>,
    shard: Shard,
    tests: &[ListedTest],
) -> impl Fn(&ListedTest) -> bool + use<'a> {
    let are_few = tests.len() < shard.count() as usize;
    let config = inputs.config;
    move |test| {
        let exploration = config.for_test(&test.id.test);
        (are_few || exploration.divide)
            && test.not_explored.is_none()
            && exploration
                .strategy
                .into_iter()
                .any(Strategy::can_be_divided)
    }
}

/// The number of binaries that hold `tests`.
pub(super) fn binaries(tests: &[ListedTest]) -> usize {
    let mut binaries: Vec<usize> = tests.iter().map(|test| test.binary).collect();
    binaries.dedup();
    binaries.len()
}

/// All inputs of the verdicts on `tests` except their sources.
fn options(inputs: &Inputs<'_>, tests: &[ListedTest]) -> Vec<String> {
    let explorations = tests
        .iter()
        .map(|test| inputs.config.for_test(&test.id.test));
    let mut options: Vec<String> = explorations
        .map(|exploration| request_without_policies(&exploration))
        .collect();
    options.extend(policies(inputs.plan));
    options.push(inputs.cargo_flags.to_owned());
    options.extend(inputs.options.binary_args.iter().cloned());
    options
}

/// The policies and levels of each package. Places are named relative to their package, because
/// the directory of a registry differs between machines.
fn policies(plan: &Plan) -> impl Iterator<Item = String> {
    plan.packages.iter().flat_map(|package| {
        let PlannedPackage { name, version, .. } = package;
        let places = package.places.iter();
        let policies = places.map(move |(place, policy)| {
            let place = place.to_string();
            let inside = place.strip_prefix(&package.source_prefix);
            let inside = inside.unwrap_or_default();
            format!("{name} {version} {inside} {policy}")
        });
        let races = package.races.iter();
        let races = races.map(move |level| format!("{name} {version} races {level}"));
        let spins = package.spins.iter();
        let spins = spins.map(move |level| format!("{name} {version} spins {level}"));
        policies.chain(races).chain(spins)
    })
}

fn digest_of(fields: &[String]) -> String {
    digest::of_fields(fields.iter().map(String::as_str), DIGEST_LEN)
}
