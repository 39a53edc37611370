//! The line that ends a test: its outcome, and the results of its exploration.
//!
//! `../zygote/endings.rs` chooses the outcome. The tool reads the line in `protocol/finished.rs`.

use std::borrow::Cow;

use chess_vocabulary::words::sentence;
use chess_vocabulary::{OutsideEffect, Token as _};

use super::execution::{
    blocked_task, calls, decided, early_waits, events, hot, panics, place, tasks,
};
use super::failure_messages::blocked_site;
use super::milestone;
use crate::base::source_path::Place;
use crate::execution::{Execution, Timers};
use crate::harness::Paused;
use crate::harness::counters::Counters;
use crate::harness::covered_pairs::Operation;
use crate::harness::distinct_failures::FoundFailure;
use crate::harness::engine::Engine;
use crate::harness::exploration::{Exploration, Minimised};
use crate::harness::json::{Object, location, quoted};
use crate::harness::names::ObjectNames;
use crate::harness::request::Request;
use crate::memory::Stale;
use crate::monitor::race::Learnt;
use crate::monitor::{self, Failure, Kind, Spin};
use crate::search::{Decision, Measure, PairOrders, Part, format_schedule};

/// The outcome of a test, in addition to the results of the exploration.
pub(in crate::harness) struct Verdict<'a> {
    pub(in crate::harness) outcome: &'a str,
    pub(in crate::harness) kind: Option<Kind>,
    pub(in crate::harness) message: Option<String>,
    pub(in crate::harness) failure: Option<&'a Failure>,
}

/// The line that ends a test.
pub(in crate::harness) fn finished(
    engine: &Engine,
    request: &Request,
    counters: &Counters,
    verdict: &Verdict<'_>,
) -> String {
    let failed = verdict.kind.is_some();
    let names = ObjectNames::of(&engine.execution);
    let shown = failed || request.replay.is_some();
    let blocked = if shown {
        monitor::blocked_tasks(&engine.execution)
    } else {
        Vec::new()
    };
    let cycle = monitor::cycle(&blocked);
    let exploration = &engine.exploration;
    // A vacuous test needs no schedule: in every schedule, an assumption does not hold.
    let is_vacuous = verdict.kind == Some(Kind::Assumption);
    let has_schedule = failed && !is_vacuous;
    let decisions = has_schedule.then(|| format_schedule(&exploration.decisions));
    let place_of_failure = verdict.failure.and_then(|f| f.place.as_ref());
    let unmet = counters.first_unmet.as_ref().filter(|_| is_vacuous);
    let location = place_of_failure.or(unmet).map(location);
    let waits = || blocked_site(verdict.kind, &blocked, &cycle).map(place);
    let location = location.or_else(waits);
    let signal = u64::try_from(exploration.signal).ok();
    let is_crash = verdict.kind == Some(Kind::Crash);
    let object = Object::new()
        .string("type", "finished")
        .string("outcome", verdict.outcome)
        .optional_string("kind", verdict.kind.map(Kind::token))
        .optional_number("signal", signal.filter(|&it| is_crash && it != 0))
        .optional_string("message", message(verdict).as_deref())
        .raw("location", location.as_deref().unwrap_or("null"));
    let object = with_extent(object, engine, counters);
    let object = with_findings(object, engine, counters);
    let object = with_covered(object, engine, request, counters);
    let object = with_limits(object, &engine.execution, shown);
    with_surroundings(object, engine)
        .optional_number(
            "preemptions",
            failed.then_some(exploration.cost.preemptions.into()),
        )
        .optional_number(
            "late_effects",
            failed.then_some(exploration.cost.late_effects.into()),
        )
        .optional_string("timers", failed.then(|| name_of(exploration.phases.timers)))
        .array("early", early_waits(&engine.execution).filter(|_| shown))
        .boolean("unstable", counters.unstable)
        .string("strategy", counters.strategy)
        .number("seed", request.seed)
        .optional_string("decisions", decisions.as_deref())
        .array("points", points(engine, exploration.learnt))
        .boolean("time_ended", engine.execution.is_out_of_time())
        .array("written", paths(engine.process.elsewhere.written()))
        .array("read", paths(engine.process.elsewhere.read()))
        .array(
            "intended",
            engine.monitors.outcome.intended.iter().map(|place| {
                let file = String::from_utf8_lossy(&place.file);
                quoted(&format!("{file}:{}", place.line))
            }),
        )
        .array("tasks", tasks(&engine.execution).filter(|_| shown))
        .array(
            "events",
            events(&engine.execution, &names, request.replay.is_some()).filter(|_| shown),
        )
        .array(
            "decided",
            decided(&engine.execution).filter(|_| request.replay.is_some()),
        )
        .array("calls", calls(&engine.execution).filter(|_| shown))
        .array(
            "blocked",
            blocked
                .iter()
                .map(|b| blocked_task(b, &engine.execution, &names)),
        )
        .array("cycle", cycle.iter().map(|t| t.0.to_string()))
        .array("hot", hot(&engine.execution).filter(|_| shown))
        .array("panics", panics_of(engine).filter(|_| shown))
        .string(
            "output",
            &String::from_utf8_lossy(&engine.execution.recording.output),
        )
        .array(
            "others",
            exploration.others.iter().map(|found| other(engine, found)),
        )
        .raw(
            "part",
            part(request, engine, counters).as_deref().unwrap_or("null"),
        )
        .raw(
            "minimised",
            minimised(exploration.minimised.as_ref())
                .as_deref()
                .unwrap_or("null"),
        )
        .raw(
            "diverged",
            divergence(exploration).as_deref().unwrap_or("null"),
        )
        .finish()
}

/// Adds what the limits left out of the execution, if it is `shown`: the number of events that were
/// not kept, and the step from which on the search explores no choices, if there may be choices.
fn with_limits(object: Object, execution: &Execution, shown: bool) -> Object {
    let misses_choices = shown && execution.misses_choices();
    let left_out = if shown { execution.log.left_out } else { 0 };
    object.number("events_left_out", left_out).optional_number(
        "choices_end",
        misses_choices.then_some(execution.options.max_steps),
    )
}

/// Adds the findings that deserve a warning.
fn with_findings(object: Object, engine: &Engine, counters: &Counters) -> Object {
    object
        .array("spins", counters.spins.iter().map(spin))
        .array("stale_loads", counters.stale_loads.iter().map(stale_load))
        .boolean("fair_only", engine.exploration.fair_only)
        .boolean("misses_clock_reads", engine.exploration.misses_clock_reads)
        .boolean("unclear_loads", engine.exploration.unclear_loads)
        .number("unmet_assumptions", counters.unmet)
        .array("warnings", counters.warnings.iter().cloned())
}

/// Adds the covered part of the test, if that is requested or if the test observes states.
fn with_covered(object: Object, engine: &Engine, request: &Request, counters: &Counters) -> Object {
    if !request.coverage && counters.states == 0 {
        return object;
    }
    let growth = counters.growth.iter().map(|growth| {
        Object::new()
            .number("schedules", growth.schedules)
            .number("states", growth.states)
            .number("graphs", growth.graphs)
            .finish()
    });
    let covered_pairs = &engine.exploration.covered.pairs;
    let pairs = covered_pairs.pairs();
    let covered = Object::new()
        .number("states", counters.states)
        .number("graphs", counters.distinct)
        .array("growth", growth)
        .array("pairs", pairs.iter().map(pair))
        .boolean("all_pairs", !covered_pairs.is_limited);
    object.raw("covered", &covered.finish())
}

/// A pair of conflicting operations, and the orders in which it was seen.
fn pair((first, second, orders): &(&Operation, &Operation, PairOrders)) -> String {
    let operation = |operation: &Operation| {
        Object::new()
            .raw("location", &location(&operation.place))
            .string("operation", operation.name)
            .finish()
    };
    Object::new()
        .raw("first", &operation(first))
        .raw("second", &operation(second))
        .boolean("first_before_second", orders.forward)
        .boolean("second_before_first", orders.backward)
        .finish()
}

/// Adds the code and the effects that the search covers only in part.
fn with_surroundings(object: Object, engine: &Engine) -> Object {
    let execution = &engine.execution;
    object
        .array("atomic", atomic_files(execution))
        .array("racing", racing_files(&engine.exploration))
        .array("outside", execution.outside.iter().map(outside_effect))
}

/// The words of a failure, as a sentence. The words of a panic are left unchanged, because they
/// are the program's.
fn message<'a>(verdict: &'a Verdict<'_>) -> Option<Cow<'a, str>> {
    let message = verdict.message.as_deref()?;
    Some(match verdict.kind {
        Some(Kind::Panic) => message.into(),
        _ => sentence(message),
    })
}

/// An effect outside control, with its place if that is known.
fn outside_effect((effect, place): &(OutsideEffect, Option<Place>)) -> String {
    let place = place.as_ref().map(location);
    Object::new()
        .string("kind", effect.token())
        .raw("location", place.as_deref().unwrap_or("null"))
        .finish()
}

/// The panics of the last execution.
fn panics_of(engine: &Engine) -> impl Iterator<Item = String> + '_ {
    let body = &engine.exploration.body;
    panics(&engine.monitors.outcome, &engine.execution, body)
}

/// These paths, as JSON.
fn paths<'a>(paths: impl Iterator<Item = &'a [u8]>) -> impl Iterator<Item = String> {
    paths.map(|path| quoted(&String::from_utf8_lossy(path)))
}

/// Adds the extent of the exploration.
fn with_extent(object: Object, engine: &Engine, counters: &Counters) -> Object {
    let exploration = &engine.exploration;
    object
        .number("schedules", counters.schedules)
        .number("work", counters.work)
        .boolean("paused", exploration.paused.is_some())
        .boolean("lost", exploration.paused == Some(Paused::Lost))
        .number("executions", counters.executions)
        .number("distinct", counters.distinct)
        .number("pruned", exploration.progress.pruned)
        .number("steps", counters.steps)
        .number("max_steps_in_execution", counters.max_steps)
        .number("threads", counters.threads as u64)
        .optional_string("one_thread_runtime", one_thread_runtime(&engine.execution))
        .optional_number(
            "bound_completed",
            counters.reach.bound_of_all.map(u64::from),
        )
        .optional_number(
            "delays_completed",
            counters.reach.delays_completed.map(u64::from),
        )
        .array("milestones", counters.milestones.iter().map(milestone))
        .boolean("complete", counters.reach.complete_of_all)
        .raw(
            "timers_last",
            timers_last(counters).as_deref().unwrap_or("null"),
        )
}

/// The reach of the schedules in which time passes only when no task can run, if it differs from
/// the reach of all schedules.
fn timers_last(counters: &Counters) -> Option<String> {
    let reach = counters.reach_last?;
    let object = Object::new()
        .boolean("complete", reach.complete_of_all)
        .optional_number("bound_completed", reach.bound_of_all.map(u64::from))
        .optional_number("delays_completed", reach.delays_completed.map(u64::from))
        .boolean("part_complete", reach.complete)
        .optional_number("part_bound_completed", reach.bound_completed.map(u64::from));
    Some(object.finish())
}

fn name_of(timers: Timers) -> &'static str {
    match timers {
        Timers::Any => "any",
        Timers::Last => "last",
    }
}

fn one_thread_runtime(execution: &Execution) -> Option<&'static str> {
    let library = execution.one_thread_runtime;
    (!library.is_empty()).then_some(library)
}

/// A loop that waits without yielding and is reported as a warning, as JSON.
fn spin(spin: &Spin) -> String {
    let place = spin.place.as_ref().map(location);
    Object::new()
        .string("operation", spin.operation)
        .raw("location", place.as_deref().unwrap_or("null"))
        .boolean("waits", spin.waits)
        .finish()
}

fn stale_load(stale: &Stale) -> String {
    let newer = stale.newer.as_ref().map(location);
    Object::new()
        .string("operation", stale.operation)
        .raw("location", &location(&stale.place))
        .raw("newer", newer.as_deref().unwrap_or("null"))
        .finish()
}

/// The results of a part of the space, which the supervisor merges with those of the other parts.
/// `None` if the request is for the whole space.
fn part(request: &Request, engine: &Engine, counters: &Counters) -> Option<String> {
    if request.part == Part::WHOLE {
        return None;
    }
    let exploration = &engine.exploration;
    // A schedule that both phases run is counted in each of them. So the names of the earlier
    // phase's late units (groups of schedules that several parts may explore) are inverted, to
    // differ from those of the later phase.
    let shares = [(&exploration.share, 0), (&exploration.share_last, !0)];
    let shares = shares.map(|(share, names)| share.as_ref().map(|share| (share, names)));
    let shares = || shares.iter().flatten();
    let late = shares().flat_map(|&(share, names)| {
        let named = move |&(name, count)| format!("[\"{:016x}\",{count}]", name ^ names);
        share.late.iter().map(named)
    });
    let object = Object::new()
        .number("index", u64::from(request.part.index) + 1)
        .number("count", request.part.count.into())
        .number("shared", shares().map(|(share, _)| share.shared).sum())
        .number(
            "shared_pruned",
            shares().map(|(share, _)| share.shared_pruned).sum(),
        )
        .array("late", late)
        .optional_number(
            "bound_completed",
            counters.reach.bound_completed.map(u64::from),
        )
        .boolean("complete", counters.reach.complete);
    Some(object.finish())
}

/// The result of the minimisation of the failing schedule.
fn minimised(minimised: Option<&Minimised>) -> Option<String> {
    let measure = |measure: Measure| {
        Object::new()
            .number("preemptions", measure.cost.preemptions.into())
            .number("late_effects", measure.cost.late_effects.into())
            .number("switches", measure.switches)
            .number("steps", measure.steps)
            .finish()
    };
    let minimised = minimised?;
    Some(
        Object::new()
            .number("executions", minimised.executions)
            .raw("from", &measure(minimised.from))
            .raw("to", &measure(minimised.to))
            .boolean("fewest_preemptions", minimised.fewest)
            .boolean("weak", minimised.is_weak)
            .finish(),
    )
}

/// A failure after the first one.
fn other(engine: &Engine, found: &FoundFailure) -> String {
    let failure = &found.failure;
    let location = failure.place.as_ref().map(location);
    Object::new()
        .string("kind", failure.kind.token())
        .string("message", &String::from_utf8_lossy(&failure.message))
        .raw("location", location.as_deref().unwrap_or("null"))
        .number("preemptions", found.cost.preemptions.into())
        .number("late_effects", found.cost.late_effects.into())
        .string("decisions", &format_schedule(&found.decisions))
        .array("points", points(engine, found.learnt))
        .string("timers", name_of(found.timers))
        .number("early", found.early.into())
        .boolean(
            "forgives_races",
            found.learnt.forgiven > 0 && failure.kind != Kind::Race,
        )
        .finish()
}

/// The lines whose accesses to plain memory were scheduling points.
fn points(engine: &Engine, learnt: Learnt) -> impl Iterator<Item = String> {
    let lines = engine.monitors.races.points.first(learnt.points);
    lines.iter().map(|line| {
        let file = String::from_utf8_lossy(&line.file);
        quoted(&format!("{file}:{}", line.number))
    })
}

/// The files of `atomic` code: each call into them took one step. They are sorted, because their
/// order may depend on the search.
fn atomic_files(execution: &Execution) -> impl Iterator<Item = String> {
    let mut files = execution.policies.atomic_files.to_vec();
    files.sort_unstable();
    files.into_iter().map(quoted)
}

/// The files of code with races that are warnings. They are sorted, because their order may depend
/// on the search.
fn racing_files(exploration: &Exploration) -> impl Iterator<Item = String> {
    let files = exploration.racing_files.iter();
    let mut files: Vec<_> = files
        .map(|file| String::from_utf8_lossy(file).into_owned())
        .collect();
    files.sort_unstable();
    files.into_iter().map(|file| quoted(&file))
}

fn divergence(exploration: &Exploration) -> Option<String> {
    let divergence = exploration.divergence?;
    let (task, outcome) = match divergence.expected {
        Decision::Task(task) => (Some(task.0), None),
        Decision::Outcome(outcome) => (None, Some(outcome)),
    };
    let ended = divergence.index as usize >= exploration.decisions.len();
    Some(
        Object::new()
            .number("step", divergence.index.into())
            .optional_number("task", task.map(u64::from))
            .optional_number("outcome", outcome.map(u64::from))
            .boolean("ended", ended)
            .finish(),
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::execution::TaskId;
    use crate::search::Divergence;

    #[test]
    fn the_place_where_a_schedule_no_longer_fits_is_reported_with_its_decision() {
        let mut exploration = Exploration::new();
        assert_eq!(divergence(&exploration), None);
        let mut printed = |index, expected| {
            exploration.decisions.clear();
            exploration.decisions.push(Decision::Task(TaskId(0)));
            exploration.divergence = Some(Divergence { index, expected });
            divergence(&exploration).expect("it does not fit")
        };
        assert_eq!(
            printed(0, Decision::Task(TaskId(3))),
            r#"{"step":0,"task":3,"outcome":null,"ended":false}"#
        );
        assert_eq!(
            printed(1, Decision::Outcome(2)),
            r#"{"step":1,"task":null,"outcome":2,"ended":true}"#
        );
    }
}
