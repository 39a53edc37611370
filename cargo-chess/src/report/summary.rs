//! What a run guarantees, in words that never say more than was explored.

use super::Detail;
use super::text::{plural, thousands};
use crate::events::{Outcome, TestFinished};

/// What the tests in which no failure was found were explored to.
#[derive(Default)]
pub(super) struct Guarantee {
    complete: u64,
    /// Number of tests by the bound that they finished.
    bounds: std::collections::BTreeMap<u32, u64>,
    /// Tests that were sampled.
    sampled: u64,
    /// Tests that stopped before their bound was finished, in words.
    cut_short: Vec<String>,
}

impl Guarantee {
    /// Takes a finished test into account.
    pub(super) fn add(&mut self, test: &TestFinished, detail: &Detail) {
        if test.outcome != Outcome::Passed {
            return;
        }
        let wanted = detail.exploration.preemptions;
        match test.bound_completed {
            _ if test.complete => self.complete += 1,
            Some(bound) => {
                *self.bounds.entry(bound).or_default() += 1;
                if bound < wanted {
                    self.cut_short.push(cut_short(test, detail, Some(bound)));
                }
            }
            None if is_search(test) => {
                self.sampled += 1;
                self.cut_short.push(cut_short(test, detail, None));
            }
            None => self.sampled += 1,
        }
    }

    /// The sentences, each on its own line.
    pub(super) fn sentences(&self) -> Vec<String> {
        let mut sentences = Vec::new();
        if self.complete > 0 {
            sentences.push(format!(
                "{}: complete, every sequentially consistent interleaving was explored",
                plural(self.complete, "test")
            ));
        }
        for (bound, count) in self.bounds.iter().rev() {
            sentences.push(format!(
                "{}: any remaining bug needs {} or more, or weakly ordered memory",
                plural(*count, "test"),
                plural(u64::from(*bound) + 1, "preemption")
            ));
        }
        if self.sampled > 0 {
            sentences.push(format!(
                "{}: sampled, nothing is guaranteed",
                plural(self.sampled, "test")
            ));
        }
        sentences
    }

    /// A sentence for each test that stopped early.
    pub(super) fn cut_short(&self) -> &[String] {
        &self.cut_short
    }
}

/// Whether the strategy works bound by bound.
fn is_search(test: &TestFinished) -> bool {
    matches!(test.strategy.as_deref(), Some("icb" | "auto"))
}

fn cut_short(test: &TestFinished, detail: &Detail, finished: Option<u32>) -> String {
    let bound = finished.map_or(0, |bound| bound + 1);
    let ended = if test.schedules >= detail.exploration.schedules {
        let budget = plural(detail.exploration.schedules, "schedule");
        format!("its budget of {budget} ended in bound {bound}")
    } else {
        format!(
            "its time ended in bound {bound}, after {}",
            plural(test.schedules, "schedule")
        )
    };
    let done = match finished {
        Some(bound) => format!("bound {bound} is finished"),
        None => "no bound is finished".to_owned(),
    };
    format!("{}: {ended} ({done})", test.id())
}

/// How far a test was explored, for its line.
pub(super) fn reached(test: &TestFinished, detail: &Detail) -> String {
    let schedules = plural(test.schedules, "schedule");
    match (test.complete, test.bound_completed) {
        (true, _) => format!("{schedules}, complete"),
        (false, Some(bound)) if bound < detail.exploration.preemptions => {
            format!(
                "{schedules}, only up to {}",
                plural(bound.into(), "preemption")
            )
        }
        (false, Some(bound)) => {
            format!("{schedules}, up to {}", plural(bound.into(), "preemption"))
        }
        (false, None) => format!("{schedules}, sampled"),
    }
}

/// The line of a run's counts: `11 passed, 1 failed`.
pub(super) fn counts(run: &crate::events::RunFinished) -> String {
    let mut parts = vec![
        format!("{} passed", thousands(run.passed as u64)),
        format!("{} failed", thousands(run.failed as u64)),
    ];
    for (count, what) in [
        (run.timeout, "timed out"),
        (run.skipped, "not explored"),
        (run.not_run, "not run"),
    ] {
        if count > 0 {
            parts.push(format!("{} {what}", thousands(count as u64)));
        }
    }
    parts.join(", ")
}

#[cfg(test)]
mod tests {
    use super::super::samples;
    use super::*;

    fn told(tests: &[(&str, crate::supervise::protocol::Finished)]) -> String {
        let mut guarantee = Guarantee::default();
        for (name, finished) in tests {
            let (event, detail) = samples::test(name, finished.clone(), "");
            guarantee.add(&event, &detail);
        }
        let mut lines = guarantee.sentences();
        lines.extend(guarantee.cut_short().iter().cloned());
        lines.join("\n")
    }

    #[test]
    fn each_group_of_tests_is_told_what_it_was_explored_to() {
        let mut over_budget = samples::passed(Some(1), false);
        over_budget.schedules = 100_000;
        let mut sampled = samples::passed(None, false);
        sampled.strategy = Some("random".into());
        insta::assert_snapshot!(told(&[
            ("one_task", samples::passed(None, true)),
            ("a", samples::passed(Some(2), false)),
            ("b", samples::passed(Some(2), false)),
            ("large", over_budget),
            ("slow", samples::passed(None, false)),
            ("random", sampled),
            ("fails", samples::panic()),
        ]));
    }

    #[test]
    fn a_run_without_a_passed_test_guarantees_nothing() {
        assert_eq!(
            told(&[("fails", samples::panic()), ("skipped", samples::skipped())]),
            ""
        );
    }
}
