//! The dependencies in which the tests of a run found data races, and how to report the races to
//! the authors.

use std::collections::BTreeMap;

use crate::events::TestFinished;
use crate::text::plural;

/// The name and version of each dependency, such as `tokio 1.13.0`, and the number of tests that
/// found races in it.
#[derive(Default)]
pub(super) struct RacingDependencies(BTreeMap<String, u64>);

impl RacingDependencies {
    /// Counts a finished test for each dependency in which it found races.
    pub(super) fn add(&mut self, test: &TestFinished) {
        for package in &test.racing {
            *self.0.entry(package.clone()).or_default() += 1;
        }
    }

    /// A sentence for each dependency.
    pub(super) fn sentences(&self) -> impl Iterator<Item = String> {
        self.0.iter().map(|(package, tests)| {
            let name = package.split(' ').next().unwrap_or(package);
            format!(
                "in {package} ({}): the warnings name the lines of the race. For a report to the authors of \
                 {name}, set `races = \"deny\"` below `[crates.{name}]` in Chess.toml: the race is then \
                 a failure with a schedule, which `cargo chess explain` shows",
                plural(*tests, "test")
            )
        })
    }
}

#[cfg(test)]
mod tests {
    use super::super::samples;
    use super::*;
    use std::time::Duration;

    #[test]
    fn a_dependency_is_named_once_with_the_number_of_its_tests() {
        let mut racing = RacingDependencies::default();
        for (name, packages) in [
            ("a", &["tokio 1.13.0"][..]),
            ("b", &["tokio 1.13.0", "small 0.1.0"]),
            ("c", &[]),
        ] {
            let id = crate::events::TestId {
                package: "bank".into(),
                binary: "bank::t".into(),
                test: name.into(),
            };
            let finished = samples::passed(Some(2), false);
            let mut test = finished.to_event(&id, Duration::ZERO, Vec::new());
            test.racing = packages.iter().map(|it| (*it).to_owned()).collect();
            racing.add(&test);
        }
        let said: Vec<String> = racing.sentences().collect();
        insta::assert_snapshot!(said.join("\n"), @r#"
        in small 0.1.0 (1 test): the warnings name the lines of the race. For a report to the authors of small, set `races = "deny"` below `[crates.small]` in Chess.toml: the race is then a failure with a schedule, which `cargo chess explain` shows
        in tokio 1.13.0 (2 tests): the warnings name the lines of the race. For a report to the authors of tokio, set `races = "deny"` below `[crates.tokio]` in Chess.toml: the race is then a failure with a schedule, which `cargo chess explain` shows
        "#);
    }
}
