//! The build of a schedule's test, and the check that the workspace still has it.

use crate::cli::{CargoArgs, RebuildArgs};
use crate::error::{Error, Result};
use crate::plan::Plan;
use crate::schedule::Schedule;

/// Cargo's arguments for a build of the schedule's test and of little else. The flags of features
/// and profile are those of `args`. If `args` has none, they are those that were saved with the
/// schedule. They select no package: the caller adds its identifier ([`package_id`]) after it has
/// loaded the workspace.
pub(super) fn cargo_args(schedule: &Schedule, args: &RebuildArgs) -> Result<CargoArgs> {
    let given = CargoArgs {
        features: args.features.clone(),
        build: args.build.clone(),
        ..CargoArgs::default()
    };
    let mut cargo = if given.build_flags().is_empty() {
        let mut saved = CargoArgs::from_build_flags(&schedule.cargo)?;
        saved.build.jobs = args.build.jobs;
        saved.build.target.clone_from(&args.build.target);
        saved.build.target_dir.clone_from(&args.build.target_dir);
        saved
    } else {
        given
    };
    cargo.manifest = args.manifest.clone();
    select_target(schedule, &mut cargo)?;
    Ok(cargo)
}

fn select_target(schedule: &Schedule, cargo: &mut CargoArgs) -> Result<()> {
    let targets = &mut cargo.targets;
    match target_of(schedule) {
        Some(("lib", _)) => targets.lib = true,
        Some(("test", name)) => targets.test.push(name.to_owned()),
        Some(("bin", name)) => targets.bin.push(name.to_owned()),
        Some(("example", name)) => targets.example.push(name.to_owned()),
        _ => {
            let (package, binary) = (&schedule.test.package, &schedule.test.binary);
            return Err(Error::Usage(format!(
                "the schedule's key `binary` is `{binary}`. It must be `{package}` (the package), \
                 `{package}::TEST`, `{package}::bin/NAME` or `{package}::example/NAME`.\n\
                 Use the schedule as cargo chess saved it."
            )));
        }
    }
    Ok(())
}

/// The kind and the name of the target, according to the name of the binary. `None` if the name
/// has another form.
fn target_of(schedule: &Schedule) -> Option<(&str, &str)> {
    let rest = schedule.test.binary.strip_prefix(&schedule.test.package)?;
    match rest.strip_prefix("::") {
        None => rest.is_empty().then_some(("lib", "")),
        Some(target) => Some(target.split_once('/').unwrap_or(("test", target))),
    }
}

/// Cargo's identifier of the package of `schedule`. The name alone may also be that of a
/// dependency.
///
/// # Errors
///
/// If the workspace does not have the package or the target of `schedule`. Cargo's check would come
/// later, and its message would be less helpful.
pub(super) fn package_id(schedule: &Schedule, plan: &Plan) -> Result<String> {
    let package = &schedule.test.package;
    let Some(found) = plan
        .metadata
        .workspace_packages()
        .into_iter()
        .find(|member| member.name.as_str() == package)
    else {
        return Err(Error::Usage(format!(
            "the schedule is for the package `{package}`, which the workspace {} does not have.\n\
             Replay it in the workspace that it was saved in.",
            plan.workspace_root
        )));
    };
    let id = found.id.repr.clone();
    let Some((kind, name)) = target_of(schedule) else {
        return Ok(id);
    };
    let has = found.targets.iter().any(|target| match kind {
        "lib" => !(target.is_bin() || target.is_test() || target.is_example() || target.is_bench()),
        _ => target.name == name && target.kind.iter().any(|own| own.to_string() == kind),
    });
    if has {
        return Ok(id);
    }
    Err(Error::Usage(format!(
        "the schedule is for the test binary `{}`, which the package `{package}` does not have any more.\n\
         The program has changed since: run `cargo chess test` to explore it as it is now.",
        schedule.test.binary
    )))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::schedule::tests::sample;

    #[test]
    fn each_kind_of_binary_is_built_alone() {
        for (binary, flags) in [
            ("bank", "--lib"),
            ("bank::t", "--test t"),
            ("bank::bin/x", "--bin x"),
            ("bank::example/x", "--example x"),
        ] {
            let mut schedule = sample();
            schedule.test.binary = binary.into();
            let mut cargo = CargoArgs::default();
            select_target(&schedule, &mut cargo).expect(binary);
            assert_eq!(cargo.targets.to_cargo().join(" "), flags);
        }
    }

    #[test]
    fn a_binary_of_another_form_is_refused() {
        for binary in ["vault::t", "bank::bench/x", "bankrupt"] {
            let mut schedule = sample();
            schedule.test.binary = binary.into();
            let error = select_target(&schedule, &mut CargoArgs::default());
            assert!(error.is_err(), "{binary}");
        }
    }
}
