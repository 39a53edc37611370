//! The zygote's report on an explorer that has ended, or that the zygote had to end.

use core::ffi::c_int;
use core::mem;
use std::fs::File;

use super::super::counters::Counters;
use super::super::distinct_failures::FoundFailure;
use super::super::phase::Phases;
use super::super::report::{self, Verdict};
use super::super::request::Request;
use super::super::watchdog::{self, Activity};
use super::super::{Exploration, Test};
use super::{Status, watch};
use crate::base::memory::engine_vec;
use crate::execution::Timers;
use crate::harness::engine::{self, Engine};
use crate::monitor::race::{Learnt, RacePoints};
use crate::monitor::{Failure, Kind, Level};
use crate::search::{Decision, Part, format_schedule};

/// The last line of the answer to a request: the verdict.
pub(super) fn report(
    engine: &mut Engine,
    request: &Request,
    test: &Test,
    status: &Status,
    out: &mut File,
) -> String {
    let exploration = &engine.exploration;
    let has_failure = exploration.failure.is_some();
    match *status {
        Status::Ended(_) if exploration.finished => report_end(engine, request),
        _ if has_failure => report_collected(engine, request, test, status, out),
        Status::Silent(activity) => report_watchdog(engine, request, activity),
        Status::Ended(_) if !exploration.broke_off.is_empty() => report_break(engine, request),
        Status::Ended(status) => report_crash(engine, request, test, status, out),
    }
}

fn report_end(engine: &mut Engine, request: &Request) -> String {
    let counters = Counters::read(engine);
    let failure = engine.exploration.failure.clone();
    let failure = failure.map(|failure| report::in_words(engine, failure));
    let message = failure
        .as_ref()
        .map(|f| String::from_utf8_lossy(&f.message).into_owned());
    let nothing_known = failure.is_none() && nothing_is_known(&engine.exploration);
    let gave_up = nothing_known && engine.exploration.too_long > 0;
    let message = message.or_else(|| gave_up.then(|| report::given_up(&engine.execution)));
    let is_search = request.replay.is_none() && request.part == Part::WHOLE;
    let is_vacuous = failure.is_none() && is_search && is_vacuous(&engine.exploration);
    let message = message.or_else(|| is_vacuous.then(|| report::vacuous(&engine.exploration)));
    let verdict = Verdict {
        outcome: match &failure {
            Some(failure) => outcome_of(&engine.exploration.phases, failure),
            None if nothing_known => "timeout",
            None if is_vacuous => "failed",
            None => "passed",
        },
        kind: match &failure {
            Some(failure) => Some(failure.kind),
            None => is_vacuous.then_some(Kind::Assumption),
        },
        message,
        failure: failure.as_ref(),
    };
    report::finished(engine, request, &counters, &verdict)
}

/// Whether the budget ended before the first execution did, or all executions were abandoned.
fn nothing_is_known(exploration: &Exploration) -> bool {
    exploration.schedules == exploration.too_long
}

/// Whether an assumption of the test failed in each schedule.
fn is_vacuous(exploration: &Exploration) -> bool {
    exploration.unmet > 0 && exploration.schedules == exploration.unmet
}

/// Reports a task that reaches no scheduling point: there is no verdict, but the message names the
/// task and its last operation.
fn report_watchdog(engine: &mut Engine, request: &Request, activity: Activity) -> String {
    let counters = Counters::read(engine);
    let verdict = Verdict {
        outcome: "timeout",
        kind: None,
        message: Some(watchdog::describe(engine, request, activity)),
        failure: None,
    };
    report::finished(engine, request, &counters, &verdict)
}

/// Reports an explorer that could not continue: there is no verdict.
fn report_break(engine: &mut Engine, request: &Request) -> String {
    let counters = Counters::read(engine);
    let why = String::from_utf8_lossy(&engine.exploration.broke_off).into_owned();
    let verdict = Verdict {
        outcome: "timeout",
        kind: None,
        message: Some(why),
        failure: None,
    };
    report::finished(engine, request, &counters, &verdict)
}

/// Reports the death of the explorer, its cause, and whether the same schedule repeats it.
fn report_crash(
    engine: &mut Engine,
    request: &Request,
    test: &Test,
    status: c_int,
    out: &mut File,
) -> String {
    let mut counters = Counters::read(engine).with_crash(&engine.execution);
    let found = if request.replay.is_some() {
        let failure = engine.death(status);
        last_execution(engine, failure)
    } else {
        counters.add_executions(1);
        confirm_crash(engine, request, test, status, out)
    };
    let exploration = &mut engine.exploration;
    exploration.cost = found.cost;
    exploration.phases.timers = found.timers;
    exploration.phases.early = found.early;
    exploration.decisions = found.decisions;
    exploration.learnt = found.learnt;
    let verdict = failed(&exploration.phases, &found.failure, &found.failure.message);
    report::finished(engine, request, &counters, &verdict)
}

/// Reports the failures that the explorer had collected before it ended early, during the search
/// for more failures or during their minimisation. Repeats the execution of the first failure,
/// because the report shows this execution.
fn report_collected(
    engine: &mut Engine,
    request: &Request,
    test: &Test,
    status: &Status,
    out: &mut File,
) -> String {
    let mut counters = Counters::read(engine);
    let end = match *status {
        Status::Silent(activity) => {
            let description = watchdog::describe(engine, request, activity);
            counters.ended_early(Some(&description));
            None
        }
        Status::Ended(_) if !engine.exploration.broke_off.is_empty() => {
            let why = String::from_utf8_lossy(&engine.exploration.broke_off);
            counters.ended_early(Some(&why));
            None
        }
        Status::Ended(status) => {
            counters = counters.with_crash(&engine.execution);
            counters.add_executions(1);
            counters.ended_early(None);
            Some(status)
        }
    };
    let exploration = &mut engine.exploration;
    let mut first = exploration.failure.take().expect("a failure was found");
    let (cost, learnt) = (exploration.cost, exploration.learnt);
    let decisions = mem::replace(&mut exploration.decisions, engine_vec());
    let mut others = mem::replace(&mut exploration.others, engine_vec());
    if let Some(status) = end {
        others.push(confirm_crash(engine, request, test, status, out));
    }
    counters.add_executions(1);
    let timers = engine.exploration.phases.timers;
    run_again(engine, request, test, (&decisions, timers, learnt), out);
    match engine.exploration.failure.take() {
        Some(again) if again.is_like(&first) => first = again,
        _ => first = first.not_repeated(),
    }
    let first = report::in_words(engine, first);
    let exploration = &mut engine.exploration;
    exploration.cost = cost;
    exploration.decisions = decisions;
    exploration.learnt = learnt;
    exploration.others = others;
    let verdict = failed(&exploration.phases, &first, &first.message);
    report::finished(engine, request, &counters, &verdict)
}

/// The outcome of a test with a failure. Undefined behaviour that needs an early timeout is a
/// failure as well, because a duration orders no accesses to memory.
fn outcome_of(phases: &Phases, failure: &Failure) -> &'static str {
    if phases.is_timing() && !failure.kind.is_undefined_behaviour() {
        "timing"
    } else {
        "failed"
    }
}

fn failed<'a>(phases: &Phases, failure: &'a Failure, message: &[u8]) -> Verdict<'a> {
    Verdict {
        outcome: outcome_of(phases, failure),
        kind: Some(failure.kind),
        message: Some(String::from_utf8_lossy(message).into_owned()),
        failure: Some(failure),
    }
}

/// The crash that ended the explorer with the wait status `status`. Runs its schedule once more.
/// If that does not repeat the crash, the failure states this.
fn confirm_crash(
    engine: &mut Engine,
    request: &Request,
    test: &Test,
    status: c_int,
    out: &mut File,
) -> FoundFailure {
    let failure = engine.death(status);
    let mut found = last_execution(engine, failure);
    let schedule = (&found.decisions[..], found.timers, found.learnt);
    let again = match run_again(engine, request, test, schedule, out) {
        Status::Ended(status) if !engine.exploration.finished => Some(engine.death(status)),
        Status::Ended(_) | Status::Silent(_) => None,
    };
    if !again.is_some_and(|again| again.is_like(&found.failure)) {
        found.failure = found.failure.not_repeated();
    }
    found
}

/// The execution in the engine, which ended in `failure`.
fn last_execution(engine: &Engine, failure: Failure) -> FoundFailure {
    FoundFailure {
        failure,
        cost: engine.execution.cost(),
        decisions: engine.execution.whole_decisions(),
        timers: engine.execution.options.timers,
        early: engine.execution.recording.early,
        learnt: engine.monitors.races.learnt(),
    }
}

/// Runs a schedule in a new explorer. `learnt` is the knowledge about races (scheduling points,
/// and races that are no failures any more) with which the schedule was first run.
fn run_again(
    engine: &mut Engine,
    request: &Request,
    test: &Test,
    (decisions, timers, learnt): (&[Decision], Timers, Learnt),
    out: &mut File,
) -> Status {
    let lines = mem::replace(&mut engine.monitors.races.points, RacePoints::new());
    let points = lines.first(learnt.points).iter().map(|line| {
        let file = String::from_utf8_lossy(&line.file).into_owned();
        (file, line.number)
    });
    let again = Request {
        replay: Some(format_schedule(decisions)),
        timers,
        preempt_at: Vec::new(),
        points: points.collect(),
        races: match learnt.forgiven {
            0 => request.races,
            _ => Level::Allow,
        },
        ..request.clone()
    };
    let phases = engine.exploration.phases;
    let could_be_early = engine.execution.could_be_early;
    *engine = engine::after(engine);
    let status = watch(test, &again, out);
    engine.monitors.races.points = lines;
    engine.exploration.phases = phases;
    engine.execution.could_be_early = could_be_early;
    status
}
