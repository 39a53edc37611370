//! Joins the parts of one test into the verdict of a single search for all of its schedules.

use std::cmp::Reverse;
use std::collections::BTreeMap;

use super::file::TestEvents;
use crate::events::{
    Covered, Event, Kind, NOT_DETERMINISTIC, OtherFailure, Outcome, Reach, TestFinished, TestPart,
    coverage,
};

/// The message for a test whose assumptions hold in no schedule of any part.
const VACUOUS: &str = "an assumption failed in all schedules: nothing was tested";

/// Joins the parts of one test, one from each shard. If a part has no verdict, the test has a
/// verdict only if another part did not pass.
pub(super) fn join(mut parts: Vec<TestEvents>) -> TestEvents {
    let verdicts: Vec<TestFinished> = parts
        .iter()
        .filter_map(TestEvents::verdict)
        .cloned()
        .collect();
    let is_whole = verdicts.len() == parts.len();
    let first = parts.swap_remove(0);
    let mut events: Vec<Event> = first.events.into_iter().take(1).collect();
    let verdict = joined(&verdicts).filter(|test| is_whole || test.outcome != Outcome::Passed);
    events.extend(verdict.map(|test| Event::TestFinished(Box::new(test))));
    TestEvents {
        id: first.id,
        events,
    }
}

fn joined(all: &[TestFinished]) -> Option<TestFinished> {
    let mut test = all.iter().min_by_key(|test| rank(test))?.clone();
    let parts: Vec<&TestPart> = all.iter().filter_map(|test| test.part.as_ref()).collect();
    let shared = parts.iter().map(|part| part.shared).max().unwrap_or(0);
    let is_all_shared = all.iter().zip(&parts).all(|(test, part)| {
        // A process that crashed could not report its shared schedules.
        let is_same_crash =
            test.kind == Some(Kind::Crash) && test.counts.steps == all[0].counts.steps;
        test.counts.schedules == part.shared || is_same_crash
    });
    if !is_all_shared {
        let sum = |count: fn(&TestFinished) -> u64| all.iter().map(count).sum::<u64>();
        let most = |count: fn(&TestFinished) -> u64| all.iter().map(count).max().unwrap_or(0);
        let shared_by_all: u64 = parts.iter().map(|part| part.shared).sum();
        test.counts.schedules =
            sum(|test| test.counts.schedules) - shared_by_all + shared - surplus(&parts);
        let pruned = parts.iter().map(|part| part.shared_pruned);
        let pruned_by_all: u64 = pruned.clone().sum();
        let pruned_once = pruned.max().unwrap_or(0);
        test.counts.pruned =
            (sum(|test| test.counts.pruned) + pruned_once).saturating_sub(pruned_by_all);
        test.counts.executions = sum(|test| test.counts.executions);
        test.counts.unmet_assumptions = sum(|test| test.counts.unmet_assumptions);
        test.counts.steps = sum(|test| test.counts.steps);
        test.counts.work = sum(|test| test.counts.work);
        // It is not known how many graphs different parts have in common.
        test.counts.distinct = most(|test| test.counts.distinct);
        test.counts.covered =
            Covered::merged(all.iter().filter_map(|test| test.counts.covered.as_ref()));
        test.counts.max_steps_in_execution = most(|test| test.counts.max_steps_in_execution);
        test.counts.threads = all
            .iter()
            .map(|test| test.counts.threads)
            .max()
            .unwrap_or(0);
    }
    test.duration_ms = all.iter().map(|test| test.duration_ms).sum();
    test.time_ended = all.iter().any(|test| test.time_ended);
    test.warnings = union(all, |test| test.warnings_of_time_and_others().0);
    test.warnings
        .extend(union(all, |test| test.warnings_of_time_and_others().1));
    test.atomic = union(all, |test| &test.atomic);
    test.outside = union(all, |test| &test.outside);
    test.other_failures = other_failures(&test, all);
    test.stopped = all.iter().filter_map(|test| test.stopped).min();
    test.part = None;
    if all.iter().any(|test| test.coverage == NOT_DETERMINISTIC) {
        (test.complete, test.timers_last) = (false, None);
        (test.bound_completed, test.delays_completed) = (None, None);
        NOT_DETERMINISTIC.clone_into(&mut test.coverage);
        return Some(test);
    }
    test.complete = all.iter().any(|test| test.complete) || parts.iter().all(|it| it.complete);
    test.bound_completed = bound_completed(all, &parts);
    test.delays_completed = delays_completed(all);
    test.timers_last = timers_last(all);
    test.coverage = coverage(test.outcome, test.reach(), test.timers_last, &test.atomic);
    test.long_spins = all.iter().any(|test| test.long_spins);
    test.fair_only = all.iter().any(|test| test.fair_only);
    test.misses_clock_reads = all.iter().any(|test| test.misses_clock_reads);
    test.look_for_threads();
    let is_vacuous = |test: &TestFinished| test.counts.unmet_assumptions == test.counts.schedules;
    if test.counts.unmet_assumptions > 0 && test.kind.is_none() && all.iter().all(is_vacuous) {
        test.outcome = Outcome::Failed;
        test.kind = Some(Kind::Assumption);
        test.message = Some(VACUOUS.to_owned());
    }
    if test.outcome == Outcome::Passed {
        let conditions = test.conditions();
        test.coverage.push_str(&conditions.to_string());
        if let Some(options) = &test.options {
            test.coverage.extend(options.limits());
        }
    }
    Some(test)
}

/// The rank of a verdict. Failures come first, and among these the one with the fewest
/// preemptions, switches and steps.
fn rank(test: &TestFinished) -> (Reverse<u8>, Option<u32>, Option<(u64, u64)>) {
    let outcome = match test.outcome {
        Outcome::Failed => 3,
        Outcome::Timeout => 2,
        Outcome::Timing => 1,
        Outcome::Passed | Outcome::Skipped => 0,
    };
    let size = test.minimised.map(|it| (it.to.switches, it.to.steps));
    (Reverse(outcome), test.counts.preemptions, size)
}

/// The number to subtract from the sum of all parts' schedules, because several parts counted the
/// same groups of schedules. For each group it is the sum of the counts without the largest one.
/// It leaves out the schedules that all parts share.
fn surplus(parts: &[&TestPart]) -> u64 {
    let mut groups: BTreeMap<&str, (u64, u64)> = BTreeMap::new();
    for (name, count) in parts.iter().flat_map(|part| &part.late) {
        let (sum, most) = groups.entry(name).or_default();
        *sum += count;
        *most = (*most).max(*count);
    }
    groups.values().map(|(sum, most)| sum - most).sum()
}

/// The highest preemption bound that is finished for all schedules. It is the larger one of two
/// bounds. The first one is the highest bound of the verdicts in `all`. The second one is the
/// lowest bound of the parts that are not complete, because a complete part has finished every
/// bound. If all parts are complete, the second one is the highest bound of a part.
fn bound_completed(all: &[TestFinished], parts: &[&TestPart]) -> Option<u32> {
    let known = all.iter().map(|test| test.bound_completed).max().flatten();
    let open = parts.iter().filter(|part| !part.complete);
    let least = open.map(|part| part.bound_completed).min();
    let most = || {
        parts
            .iter()
            .map(|part| part.bound_completed)
            .max()
            .flatten()
    };
    known.max(least.unwrap_or_else(most))
}

/// The largest number of delays up to which every schedule was run. Only one part explores
/// schedules by delays, and this part explores all of them.
fn delays_completed(all: &[TestFinished]) -> Option<u32> {
    all.iter().filter_map(|test| test.delays_completed).max()
}

/// The explored part of the schedules without early timeouts. `None` if no part reports it,
/// because it is the same as that of all schedules.
fn timers_last(all: &[TestFinished]) -> Option<Reach> {
    all.iter().find_map(|test| test.timers_last)?;
    // If a part has no such value, its value for all schedules also holds for the schedules
    // without early timeouts.
    let lasts: Vec<TestFinished> = all
        .iter()
        .map(|test| {
            let mut last = test.clone();
            if let Some(reach) = test.timers_last {
                (last.complete, last.bound_completed) = (reach.complete, reach.bound_completed);
                last.delays_completed = reach.delays_completed;
            }
            if let Some(part) = &mut last.part
                && let Some(reach) = part.timers_last
            {
                (part.complete, part.bound_completed) = (reach.complete, reach.bound_completed);
            }
            last
        })
        .collect();
    let parts: Vec<&TestPart> = lasts.iter().filter_map(|test| test.part.as_ref()).collect();
    Some(Reach {
        complete: lasts.iter().any(|test| test.complete) || parts.iter().all(|it| it.complete),
        bound_completed: bound_completed(&lasts, &parts),
        delays_completed: delays_completed(&lasts),
    })
}

/// All values of all parts, without duplicates.
fn union(all: &[TestFinished], values: fn(&TestFinished) -> &[String]) -> Vec<String> {
    let mut union: Vec<String> = Vec::new();
    for value in all.iter().flat_map(values) {
        if !union.contains(value) {
            union.push(value.clone());
        }
    }
    union
}

/// The other failures of the test. If the search continues after a failure, these include the
/// failures of all parts, each once.
fn other_failures(test: &TestFinished, all: &[TestFinished]) -> Vec<OtherFailure> {
    let mut others = test.other_failures.clone();
    if !test.options.as_ref().is_some_and(|it| it.keep_going) {
        return others;
    }
    let of_part = |part: &TestFinished| {
        let first = part.kind.map(|kind| OtherFailure {
            kind,
            message: part.message.clone(),
            location: part.location.clone(),
            preemptions: part.counts.preemptions,
            late_effects: part.counts.late_effects,
            early: u32::try_from(part.early.len()).unwrap_or(u32::MAX),
            schedule: part.schedule.clone(),
        });
        first.into_iter().chain(part.other_failures.clone())
    };
    for other in all.iter().flat_map(of_part) {
        let is_reported = test.kind == Some(other.kind) && test.message == other.message;
        let is_same = |it: &OtherFailure| it.kind == other.kind && it.message == other.message;
        if !is_reported && !others.iter().any(is_same) {
            others.push(other);
        }
    }
    others
}
