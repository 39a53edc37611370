//! The effects outside control in all tests of a run.

use std::collections::BTreeMap;

use crate::events::TestFinished;
use crate::text::plural;

/// Each sentence about an effect, and the tests that have this effect.
#[derive(Default)]
pub(super) struct OutsideEffects(BTreeMap<String, Vec<String>>);

impl OutsideEffects {
    /// Adds the effects of a finished test.
    pub(super) fn add(&mut self, test: &TestFinished) {
        for sentence in &test.outside {
            let tests = self.0.entry(sentence.clone()).or_default();
            tests.push(test.id().to_string());
        }
    }

    /// A line for each effect. It names the test that has the effect. If several tests have it, the
    /// line has their number instead.
    pub(super) fn sentences(&self) -> impl Iterator<Item = String> {
        self.0.iter().map(|(sentence, tests)| match &tests[..] {
            [test] => format!("control, in {test}: {sentence}"),
            tests => format!(
                "control, in {}: {sentence}",
                plural(tests.len() as u64, "test")
            ),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::super::samples;
    use super::*;
    use crate::protocol::{Finished, OutsideEffect};
    use chess_vocabulary::OutsideEffect as Kind;
    use std::time::Duration;

    #[test]
    fn an_effect_of_many_tests_is_printed_once() {
        let effect = |kind| OutsideEffect {
            kind,
            location: None,
        };
        let mut outside = OutsideEffects::default();
        for (name, kinds) in [
            ("a", &[Kind::Child][..]),
            ("b", &[Kind::Child, Kind::Signals]),
        ] {
            let finished = Finished {
                outside: kinds.iter().copied().map(effect).collect(),
                ..samples::passed(Some(2), false)
            };
            let id = crate::events::TestId {
                package: "bank".into(),
                binary: "bank::t".into(),
                test: name.into(),
            };
            outside.add(&finished.to_event(&id, Duration::ZERO, Vec::new()));
        }
        let said: Vec<String> = outside.sentences().collect();
        insta::assert_snapshot!(said.join("\n"), @r"
        control, in 2 tests: waited for a child process
        control, in bank::t b: waited for signals
        ");
    }
}
