//! The guarantee of a run, as sentences that never claim more than was explored.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet};

use crate::analysis::Detail;
use crate::config::{Memory, StaleLoads};
use crate::events::{self, Conditions, Outcome, TestFinished, TestOptions};
use crate::plan::STD;
use crate::text::{plural, thousands, units};

/// The explored part of a test.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord)]
enum Reach {
    Complete,
    /// There is one thread, and it had choices. All of their outcomes were explored, and there is
    /// nothing to interleave.
    OneThread,
    /// One part of the schedules, as with `--shard`. The other parts are not known.
    Part,
    /// All schedules up to this preemption bound.
    Bound(Reverse<u32>),
    /// All schedules up to this number of delays.
    Delays(Reverse<u32>),
    Sampled,
    NotDeterministic,
    /// There is one thread, and it has no choices. The text says so, and names the reason for the
    /// single thread if it is known.
    Nothing(String),
}

/// The results that all tests of a group share. One sentence is printed for each group. The second
/// reach is that of the schedules without early timeouts, if it differs from the first one. The
/// texts are the packages into which calls were single steps.
type Group = (Executions, Reach, Option<Reach>, Vec<String>);

/// The kind of executions that a search explores.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct Executions {
    memory: Memory,
    /// Whether the explored executions are all that C11 allows, because no operation in them can
    /// have a late effect.
    are_all_of_c11: bool,
    /// The conditions that the explored executions meet.
    conditions: Conditions,
}

/// All executions of a memory model, and a restriction of this set, in words.
fn all_executions(executions: Executions) -> (&'static str, &'static str) {
    match executions.memory {
        Memory::Sc => (
            "every interleaving of the synchronization operations",
            of_interleavings(executions),
        ),
        Memory::Tso => (
            "every execution that x86's memory model (TSO) allows",
            "assuming that the compiler does not reorder atomics",
        ),
        Memory::C11 => (
            "every execution that the language's memory model (C11) allows",
            "except load buffering",
        ),
    }
}

/// The memory model of a search for interleavings, in words.
fn of_interleavings(executions: Executions) -> &'static str {
    if executions.are_all_of_c11 {
        "under sequential consistency, and the language's memory model (C11) allows no other executions"
    } else {
        "under sequential consistency"
    }
}

/// In words: the least cost of a bug that remains after this bound is finished, and the other
/// conditions under which a bug may remain.
fn beyond(memory: Memory, bound: u32) -> (String, &'static str) {
    let more = u64::from(bound) + 1;
    match memory {
        Memory::Sc => (plural(more, "preemption"), "or a weak memory order, "),
        Memory::Tso => (
            format!("{} or stale loads", plural(more, "preemption")),
            "or a memory order that x86 does not allow, ",
        ),
        Memory::C11 => (format!("{} or stale loads", plural(more, "preemption")), ""),
    }
}

impl Reach {
    /// The reach of schedules of several threads.
    fn of(reach: events::Reach) -> Self {
        match (reach.bound_completed, reach.delays_completed) {
            _ if reach.complete => Self::Complete,
            (Some(bound), _) => Self::Bound(Reverse(bound)),
            (None, Some(delays)) => Self::Delays(Reverse(delays)),
            (None, None) => Self::Sampled,
        }
    }

    /// The reach in words. `inside` names the calls whose steps may hide a further bug.
    fn words(&self, executions: Executions, inside: &str) -> String {
        let (all, of) = all_executions(executions);
        match self {
            Self::Complete => format!(
                "{all} was explored ({of}; plain memory accesses are not scheduling points)"
            ),
            Self::OneThread => {
                "one thread; all outcomes of the test's choices, of timeouts and of spurious events \
                 were explored"
                    .to_owned()
            }
            Self::Nothing(words) => words.clone(),
            Self::Bound(Reverse(bound)) => {
                let (more, or) = beyond(executions.memory, *bound);
                format!("every remaining bug needs at least {more}, {or}or a data race{inside}")
            }
            Self::Delays(Reverse(delays)) => format!(
                "every remaining bug needs at least {} (a delay skips the next task), or a weak \
                 memory order, or a data race{inside}",
                plural(u64::from(*delays) + 1, "delay")
            ),
            Self::Part => "a part of the interleavings was explored; `cargo chess merge` \
                           prints the guarantee of all parts"
                .to_owned(),
            Self::Sampled => "sampled, nothing is guaranteed".to_owned(),
            Self::NotDeterministic => "not deterministic, nothing is guaranteed".to_owned(),
        }
    }

    /// The words for a test with two results: `self` for the schedules without early timeouts, and
    /// `all` for all schedules.
    fn words_of_last(&self, all: &Self, executions: Executions, inside: &str) -> String {
        let (all_of_them, of) = match executions.memory {
            Memory::Sc => ("every interleaving", of_interleavings(executions)),
            _ => all_executions(executions),
        };
        let early = match all {
            Self::Bound(Reverse(bound)) => format!(
                "schedules with early timeouts were explored up to {}",
                plural(u64::from(*bound), "preemption")
            ),
            Self::Delays(Reverse(delays)) => format!(
                "schedules with early timeouts were explored up to {}",
                plural(u64::from(*delays), "delay")
            ),
            _ => "nothing is guaranteed for early timeouts".to_owned(),
        };
        match self {
            Self::Complete => {
                format!(
                    "{all_of_them} without early timeouts was explored ({of}; plain memory accesses \
                     are not scheduling points); {early}"
                )
            }
            Self::Bound(Reverse(bound)) => {
                let (more, or) = beyond(executions.memory, *bound);
                format!(
                    "every remaining bug needs at least {more}, or an early timeout, {or}or a data \
                     race{inside}; {early}"
                )
            }
            Self::Delays(Reverse(delays)) => format!(
                "every remaining bug needs at least {} (a delay skips the next task), or an early \
                 timeout, or a weak memory order, or a data race{inside}; {early}",
                plural(u64::from(*delays) + 1, "delay")
            ),
            _ => self.words(executions, inside),
        }
    }

    /// Whether bugs may remain that need a certain number of preemptions or delays.
    fn has_bound(&self) -> bool {
        matches!(self, Self::Bound(_) | Self::Delays(_))
    }
}

/// The reach of the search to which the option `preemptions` applies: the search without early
/// timeouts, if there was one.
fn reach_of_bound(test: &TestFinished) -> events::Reach {
    test.own_reach_last().unwrap_or_else(|| test.own_reach())
}

/// The explored parts of the tests without a failure, or with failures that need early timeouts.
#[derive(Default)]
pub(super) struct Guarantee {
    /// The number of tests in each group.
    groups: BTreeMap<Group, u64>,
    /// Sentences about the tests that stopped before their bound was finished.
    cut_short: Vec<String>,
    /// The limits that options set on the exploration of any of the tests, in words.
    limits: BTreeSet<&'static str>,
}

impl Guarantee {
    /// Adds a finished test. Returns whether `cut_short` has a sentence about the test.
    pub(super) fn add(&mut self, test: &TestFinished, detail: &Detail) -> bool {
        if !matches!(test.outcome, Outcome::Passed | Outcome::Timing) {
            return false;
        }
        let options = TestOptions::of(&detail.exploration);
        self.limits.extend(options.limits());
        let reach = if detail.finished.is_unstable() {
            Reach::NotDeterministic
        } else if test.own_reach() != test.reach() {
            Reach::Part
        } else if test.nothing_to_explore {
            Reach::Nothing(test.of_one_thread() + why_one_thread(test))
        } else if test.complete && test.counts.threads == 1 {
            Reach::OneThread
        } else {
            Reach::of(test.reach())
        };
        let last = test.own_reach_last().map(|last| match reach {
            Reach::Part => Reach::Part,
            _ => Reach::of(last),
        });
        let last = last.filter(|last| *last != reach);
        let is_short = match last.as_ref().unwrap_or(&reach) {
            Reach::Bound(Reverse(bound)) => *bound < detail.exploration.preemptions,
            Reach::Delays(_) | Reach::Sampled => is_search(test) || is_dpor(test),
            Reach::Part => {
                let reach = reach_of_bound(test);
                !reach.complete && reach.bound_completed < Some(detail.exploration.preemptions)
            }
            Reach::Complete | Reach::OneThread | Reach::NotDeterministic | Reach::Nothing(_) => {
                false
            }
        };
        if is_short {
            self.cut_short.push(cut_short(test, detail));
        }
        let atomic = match last.as_ref().unwrap_or(&reach) {
            Reach::Complete | Reach::OneThread | Reach::Bound(_) | Reach::Delays(_) => {
                test.atomic.clone()
            }
            Reach::Part | Reach::Sampled | Reach::NotDeterministic | Reach::Nothing(_) => {
                Vec::new()
            }
        };
        let finished = &detail.finished;
        let executions = Executions {
            memory: detail.exploration.memory,
            are_all_of_c11: detail.exploration.stale_loads == StaleLoads::Warn
                && finished.stale_loads.is_empty()
                && !finished.unclear_loads
                // The monitor does not see the atomics of code outside of control.
                && test.outside.is_empty(),
            conditions: match last.as_ref().unwrap_or(&reach) {
                Reach::Part | Reach::Sampled | Reach::NotDeterministic => Conditions::default(),
                _ => test.conditions(),
            },
        };
        let group = (executions, reach, last, atomic);
        *self.groups.entry(group).or_default() += 1;
        is_short
    }

    /// The sentences, each on its own line.
    pub(super) fn sentences(&self) -> Vec<String> {
        let sentence = |((executions, reach, last, atomic), count): (&Group, &u64)| {
            let (mut inside, mut steps) = (String::new(), String::new());
            if !atomic.is_empty() {
                let remedy = if atomic == &[STD] {
                    ""
                } else {
                    " (policy = \"preempt\" in Chess.toml explores such calls)"
                };
                if last.as_ref().unwrap_or(reach).has_bound() {
                    let packages = atomic.join(", ");
                    inside = format!(", or a switch inside a call into {packages}{remedy}");
                } else {
                    steps = format!("; {}{remedy}", single_steps(atomic));
                }
            }
            let what = last.as_ref().map_or_else(
                || reach.words(*executions, &inside),
                |last| last.words_of_last(reach, *executions, &inside),
            );
            let mut limits = String::new();
            if !matches!(
                last.as_ref().unwrap_or(reach),
                Reach::Part | Reach::Sampled | Reach::NotDeterministic
            ) {
                limits.push_str(&executions.conditions.to_string());
                limits.extend(self.limits.iter().copied());
            }
            format!("{}: {what}{limits}{steps}", plural(*count, "test"))
        };
        self.groups.iter().map(sentence).collect()
    }

    /// A sentence for each test that stopped before its bound was finished.
    pub(super) fn cut_short(&self) -> &[String] {
        &self.cut_short
    }
}

/// For example, `calls into parking_lot 0.12.5 were single steps`.
pub(super) fn single_steps(atomic: &[String]) -> String {
    format!("calls into {} were single steps", atomic.join(", "))
}

/// The reason why a test has a single thread. The text is empty if the reason is not known.
fn why_one_thread(test: &TestFinished) -> &'static str {
    match test.one_thread_runtime.as_deref() {
        Some("tokio") => {
            ": tokio's current-thread runtime, the default of #[tokio::test], runs all tasks on \
             the test's thread (flavor = \"multi_thread\" starts more threads)"
        }
        _ => "",
    }
}

/// Whether the strategy explores one preemption bound after the other.
fn is_search(test: &TestFinished) -> bool {
    matches!(test.strategy.as_deref(), Some("icb" | "auto"))
}

/// Whether the only strategy was `dpor`, which has no bounds.
fn is_dpor(test: &TestFinished) -> bool {
    test.strategy.as_deref() == Some("dpor")
}

fn cut_short(test: &TestFinished, detail: &Detail) -> String {
    let reach = reach_of_bound(test);
    let bound_completed = reach.bound_completed;
    let bound = bound_completed.map_or(0, |bound| bound + 1);
    let out_of_time = test.time_ended;
    let exploration = &detail.exploration;
    let is_used_up = |budget: Option<u64>, used: u64| budget.filter(|&budget| used >= budget);
    // A search with a budget of work ends at the execution whose end is nearest to the budget. So
    // half an execution may be missing.
    let half = test.counts.work / test.counts.schedules.max(1) / 2;
    let work = test.counts.work + half;
    let count = plural(test.counts.schedules, "schedule");
    let before = if is_dpor(test) {
        "before the search did".to_owned()
    } else {
        format!("before {} were run", schedules_up_to(bound))
    };
    let after = format!("after {count}, {before}");
    let ended = if test.stopped.is_some() {
        format!("the end of the run stopped it after {count}")
    } else if let Some(budget) = is_used_up(exploration.schedules, test.counts.schedules) {
        format!(
            "its budget of {} ended {before}",
            plural(budget, "schedule")
        )
    } else if let Some(budget) = is_used_up(exploration.work, work) {
        format!("its budget of {} of work ended {after}", units(budget))
    } else if !out_of_time && is_dpor(test) {
        return format!(
            "{}: dpor stopped after {count}: the test is too large for dpor, or uses an operation \
             that dpor does not support (the book's chapter on guarantees lists them); try without \
             --strategy",
            test.id()
        );
    } else if !out_of_time && detail.finished.was_ended_by_steps() {
        format!("its search ended {after}, because it explores no choices after --max-steps steps")
    } else if !out_of_time {
        format!("its search ended {after}")
    } else if exploration.time.is_some() {
        format!("its time ended {after}")
    } else {
        let limit = exploration.time_limit().unwrap_or_default().as_secs();
        format!("its time of {limit} s, the default, ended {after}; give more --time")
    };
    let done = match bound_completed {
        None if is_dpor(test) => "not all schedules were run".to_owned(),
        Some(bound) => format!("{} were run", schedules_up_to(bound)),
        None => match reach.delays_completed {
            Some(delays) => {
                let delays = plural(delays.into(), "delay");
                format!("all schedules with at most {delays} were run")
            }
            None => "no bound was finished".to_owned(),
        },
    };
    format!("{}: {ended} ({done})", test.id())
}

/// The schedules of a preemption bound, in words.
fn schedules_up_to(bound: u32) -> String {
    match bound {
        0 => "all schedules without preemptions".to_owned(),
        _ => format!(
            "all schedules with at most {}",
            plural(bound.into(), "preemption")
        ),
    }
}

/// The explored part of a test, for the line of the test.
pub(super) fn reached(test: &TestFinished, detail: &Detail) -> String {
    if test.nothing_to_explore {
        return test.of_one_thread();
    }
    let part = test.part.as_ref().map_or_else(String::new, |part| {
        format!(" in part {}/{} of the space", part.index, part.count)
    });
    let one_thread = if test.counts.threads == 1 {
        " of one thread"
    } else {
        ""
    };
    let left_out = match test.counts.unmet_assumptions {
        0 => String::new(),
        count => format!(", {} left out by an assumption", thousands(count)),
    };
    let schedules = plural(test.counts.schedules, "schedule") + one_thread + &part + &left_out;
    let preemptions = |bound: u32| plural(bound.into(), "preemption");
    let words = |reach: events::Reach| match (reach.bound_completed, reach.delays_completed) {
        _ if reach.complete => "complete".to_owned(),
        (Some(bound), _) if bound < detail.exploration.preemptions => {
            format!("finished only up to {}", preemptions(bound))
        }
        (Some(bound), _) => format!("up to {}", preemptions(bound)),
        (None, Some(delays)) => format!("up to {}", plural(delays.into(), "delay")),
        (None, None) if is_search(test) => "no bound finished".to_owned(),
        (None, None) => "sampled".to_owned(),
    };
    let all = words(test.own_reach());
    let last = test.own_reach_last().map(words);
    let how_far = match last.filter(|last| *last != all) {
        _ if detail.finished.is_unstable() => "not deterministic".to_owned(),
        Some(last) => format!("{last} without early timeouts, {all} with them"),
        None => all,
    };
    format!("{schedules}, {how_far}")
}

/// The counts of a run, for example `11 passed, 1 failed`.
pub(super) fn counts(run: &crate::events::RunFinished) -> String {
    let nothing = match run.nothing_to_explore {
        0 => String::new(),
        count => format!(" ({} with nothing to explore)", thousands(count as u64)),
    };
    let mut parts = vec![
        format!("{} passed{nothing}", thousands(run.passed as u64)),
        format!("{} failed", thousands(run.failed as u64)),
    ];
    for (count, what) in [
        (run.timing, "timing"),
        (run.timeout, "timed out"),
        (run.skipped - run.ignored, "not explored"),
        (run.ignored, "ignored"),
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
    use crate::protocol::{Finished, OutsideEffect};

    fn printed(tests: &[(&str, crate::protocol::Finished)]) -> String {
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
    fn each_group_of_tests_is_printed_with_the_extent_of_its_exploration() {
        let mut over_budget = samples::passed(Some(1), false);
        (over_budget.counts.schedules, over_budget.counts.work) = (100_000, 25_000_000);
        let mut one_thread = samples::passed(None, true);
        (one_thread.counts.schedules, one_thread.counts.threads) = (1, 1);
        let mut drawing = one_thread.clone();
        drawing.counts.schedules = 2;
        let future = Finished {
            one_thread_runtime: Some("tokio".to_owned()),
            ..one_thread.clone()
        };
        let library = Finished {
            outside: vec![OutsideEffect {
                kind: chess_vocabulary::OutsideEffect::KernelThread,
                location: None,
            }],
            ..one_thread.clone()
        };
        let delayed = Finished {
            delays_completed: Some(1),
            strategy: Some("auto".to_owned()),
            ..samples::passed(None, false)
        };
        let mut sampled = samples::passed(None, false);
        sampled.strategy = Some("random".into());
        let later = samples::with_choices_past_the_limit(samples::passed(None, false));
        let mut without_bound = samples::passed(None, false);
        without_bound.strategy = Some("dpor".into());
        let mut long = without_bound.clone();
        long.counts.work = 25_000_000;
        insta::assert_snapshot!(printed(&vec![
            ("small", samples::passed(None, true)),
            ("one_thread", one_thread.clone()),
            ("drawing", drawing),
            ("future", future),
            ("library", library),
            ("a", samples::passed(Some(2), false)),
            ("b", samples::passed(Some(2), false)),
            ("large", over_budget),
            ("slow", samples::out_of_time()),
            ("slower", samples::passed(None, false)),
            ("later", later),
            (
                "locks",
                samples::with_atomic("parking_lot 0.12.5", samples::passed(Some(2), false))
            ),
            (
                "locks_once",
                samples::with_atomic("parking_lot 0.12.5", samples::passed(None, true))
            ),
            (
                "sums",
                samples::with_atomic("std", samples::passed(Some(2), false))
            ),
            ("sometimes", samples::unstable()),
            ("many_threads", delayed),
            ("random", sampled),
            ("dpor", without_bound),
            ("long_dpor", long),
            ("fails", samples::panic()),
        ]));
    }

    #[test]
    fn ignored_tests_are_counted_apart_from_those_that_cannot_be_explored() {
        let run = crate::events::RunFinished {
            passed: 3,
            skipped: 2,
            ignored: 1,
            ..crate::events::RunFinished::default()
        };
        assert_eq!(
            counts(&run),
            "3 passed, 0 failed, 1 not explored, 1 ignored"
        );
    }

    #[test]
    fn tests_with_nothing_to_explore_are_counted_among_those_that_pass() {
        let run = crate::events::RunFinished {
            passed: 3,
            nothing_to_explore: 2,
            ..crate::events::RunFinished::default()
        };
        assert_eq!(
            counts(&run),
            "3 passed (2 with nothing to explore), 0 failed"
        );
    }

    #[test]
    fn a_run_without_a_passed_test_guarantees_nothing() {
        assert_eq!(
            printed(&[("fails", samples::panic()), ("skipped", samples::skipped())]),
            ""
        );
    }
}
