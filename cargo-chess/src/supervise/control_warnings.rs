//! Warnings about code outside control, of the whole build and of single tests.

use chess_vocabulary::OutsideEffect as Kind;

use crate::build::Build;
use crate::config::Policy;
use crate::plan::Plan;
use crate::protocol::OutsideEffect;
use crate::wrapper::{Fallback, FallbackRecord};

/// The warnings about code outside control that concern all tests. They are printed before the
/// tests run.
pub(super) fn warnings(plan: &Plan, build: &Build) -> Vec<String> {
    let mut warnings: Vec<String> = build
        .records
        .iter()
        .flat_map(FallbackRecord::sentences)
        .collect();
    let opaque = opaque_by_policy(plan);
    if !opaque.is_empty() {
        warnings.push(format!(
            "these packages are compiled unchanged (policy `opaque`): {}. Threads are switched only \
             at calls into them and at their blocking operations, and data races in them are not \
             detected. To explore their code, set their policy to `preempt` in Chess.toml",
            opaque.join(", ")
        ));
    }
    warnings
}

/// The end of the sentence about an effect outside control. For opaque code it names packages, and
/// for C code it names libraries, because the test binary does not know these names. It is empty
/// for all other kinds of effects.
pub(super) fn of_effect(effect: &OutsideEffect, plan: &Plan, build: &Build) -> String {
    match effect.kind {
        Kind::OpaqueCode => opaque_packages(plan, build),
        Kind::ForeignCode => native_libraries(plan, build),
        _ => String::new(),
    }
}

fn opaque_packages(plan: &Plan, build: &Build) -> String {
    let mut packages = opaque_by_policy(plan);
    let records = build.records.iter();
    let failed = records.filter(|record| record.fallback == Fallback::Opaque);
    packages.extend(failed.map(|record| record.package.clone()));
    format!(": {}", packages.join(", "))
}

/// Returns the end of the sentence about C code: the C libraries that this build links, and the
/// packages that link them. If memory accesses are watched in this build, the text also says that
/// the accesses of C code were not watched for races, and names the flag that changes this.
fn native_libraries(plan: &Plan, build: &Build) -> String {
    let unwatched = if plan.instruments {
        ", whose accesses to memory were not watched for races"
    } else {
        ""
    };
    let named = build.native_libraries.iter().filter_map(|linked| {
        let mut packages = plan.packages.iter();
        let package = packages.find(|package| package.id == linked.package)?;
        let names = linked.names.join(", ");
        Some(format!("{names} of {} {}", package.name, package.version))
    });
    let named: Vec<String> = named.collect();
    if named.is_empty() {
        return unwatched.to_owned();
    }
    let linked = format!("{unwatched} (this build links {})", named.join(", "));
    if plan.instruments {
        linked + ". `CFLAGS=-fsanitize=thread` explores C code that a build script compiles"
    } else {
        linked
    }
}

fn opaque_by_policy(plan: &Plan) -> Vec<String> {
    let packages = plan.packages.iter();
    packages
        .filter(|package| package.policy == Policy::Opaque)
        .map(|package| format!("{} {}", package.name, package.version))
        .collect()
}
