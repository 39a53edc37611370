//! What of a build is not under control: said before its tests run, and of each test that met it.

use crate::build::Build;
use crate::config::Policy;
use crate::plan::Plan;
use crate::wrapper::{Fallback, Record};

/// What to say before the tests run, whatever their verdicts will be.
pub(super) fn warnings(plan: &Plan, build: &Build) -> Vec<String> {
    let mut warnings: Vec<String> = build.records.iter().flat_map(Record::sentences).collect();
    let opaque = opaque_by_policy(plan);
    if !opaque.is_empty() {
        warnings.push(format!(
            "compiled as they are, only their blocking is under control: {}",
            opaque.join(", ")
        ));
    }
    warnings
}

/// Names the opaque packages in the sentence on calls into them: a test binary does not know
/// which there are.
pub(super) fn name_opaque(sentence: Option<&mut String>, plan: &Plan, build: &Build) {
    if let Some(sentence) = sentence {
        let mut packages = opaque_by_policy(plan);
        let records = build.records.iter();
        let failed = records.filter(|record| record.fallback == Fallback::Opaque);
        packages.extend(failed.map(|record| record.package.clone()));
        *sentence = format!("{sentence}: {}", packages.join(", "));
    }
}

fn opaque_by_policy(plan: &Plan) -> Vec<String> {
    let packages = plan.packages.iter();
    packages
        .filter(|package| package.policy == Policy::Opaque)
        .map(|package| format!("{} {}", package.name, package.version))
        .collect()
}
