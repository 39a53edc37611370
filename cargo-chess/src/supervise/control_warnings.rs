//! Warnings about code outside control, of the whole build and of single tests.

use crate::build::Build;
use crate::config::Policy;
use crate::plan::Plan;
use crate::wrapper::{Fallback, FallbackRecord};

/// The warnings that are printed before the tests run, for every verdict.
pub(super) fn warnings(plan: &Plan, build: &Build) -> Vec<String> {
    let mut warnings: Vec<String> = build
        .records
        .iter()
        .flat_map(FallbackRecord::sentences)
        .collect();
    let opaque = opaque_by_policy(plan);
    if !opaque.is_empty() {
        warnings.push(format!(
            "these packages are compiled unchanged (policy `opaque`), so only their blocking \
             operations are under control: {}. To explore them, give them another policy in Chess.toml",
            opaque.join(", ")
        ));
    }
    warnings
}

/// Adds the names of the opaque packages to the sentence of a test about calls into them. The test
/// binary does not know the names.
pub(super) fn name_opaque(sentence: Option<&mut String>, plan: &Plan, build: &Build) {
    if let Some(sentence) = sentence {
        let mut packages = opaque_by_policy(plan);
        let records = build.records.iter();
        let failed = records.filter(|record| record.fallback == Fallback::Opaque);
        packages.extend(failed.map(|record| record.package.clone()));
        *sentence = format!("{sentence}: {}", packages.join(", "));
    }
}

/// Adds the packages that link libraries of C code to the sentence of a test about calls into such
/// code, and states that it is not watched for races, if other code is.
pub(super) fn name_libraries(sentence: Option<&mut String>, plan: &Plan, build: &Build) {
    let Some(sentence) = sentence else { return };
    if plan.instruments {
        *sentence += ", whose accesses to memory were not watched for races";
    }
    let named = build.native_libraries.iter().filter_map(|linked| {
        let mut packages = plan.packages.iter();
        let package = packages.find(|package| package.id == linked.package)?;
        let names = linked.names.join(", ");
        Some(format!("{names} of {} {}", package.name, package.version))
    });
    let named: Vec<String> = named.collect();
    if !named.is_empty() {
        *sentence = format!("{sentence} (this build links {})", named.join(", "));
    }
}

fn opaque_by_policy(plan: &Plan) -> Vec<String> {
    let packages = plan.packages.iter();
    packages
        .filter(|package| package.policy == Policy::Opaque)
        .map(|package| format!("{} {}", package.name, package.version))
        .collect()
}
