//! Messages for failures that the end of their execution explains.

use chess_vocabulary::{Wait, deadlock};

use crate::base::source_path::{Place, line_of};
use crate::execution::{Ending, Execution, Limit, Op, Site, TaskId, called};
use crate::harness::Exploration;
use crate::harness::engine::Engine;
use crate::harness::names::ObjectNames;
use crate::monitor::{self, Blocked, Failure, Kind, Monitor};

/// Adds to `failure` the message and the place that follow from the end of its execution, which
/// must be the last execution.
pub(in crate::harness) fn in_words(engine: &Engine, mut failure: Failure) -> Failure {
    let execution = &engine.execution;
    engine.monitors.explain(&mut failure);
    let words = explain(execution, &failure);
    failure.message.clear();
    failure.message.extend_from_slice(words.as_bytes());
    let blocked = monitor::blocked_tasks(execution);
    let site = blocked_site(Some(failure.kind), &blocked, &monitor::cycle(&blocked));
    failure.place = failure.place.or_else(|| site.map(Place::of));
    failure
}

/// The reason for the missing verdict if every execution was too long.
pub(in crate::harness) fn given_up(execution: &Execution) -> String {
    let steps = execution.budget.steps;
    // If a test is only run, and its time is limited, the number of its steps is not limited.
    let (limit, option) = if execution.options.only_runs == Some(Limit::Time) {
        ("the time limit", "--time")
    } else {
        ("the limit", "--max-steps")
    };
    format!(
        "no execution ended within {limit} ({steps} steps), and no execution was a livelock: use \
         fewer iterations in the test, or a larger {option}"
    )
}

/// The message for a test of which nothing is known, because its assumptions hold in no schedule.
pub(in crate::harness) fn vacuous(exploration: &Exploration) -> String {
    let schedules = match exploration.schedules {
        1 => "the only schedule".to_owned(),
        count => format!("all {count} schedules"),
    };
    format!("an assumption failed in {schedules}: nothing was tested")
}

/// The message for a failure that the end of its execution explains.
fn explain(execution: &Execution, failure: &Failure) -> String {
    let own = with_error(
        String::from_utf8_lossy(&failure.message).into_owned(),
        execution,
    );
    // The message has the limit and not the number of steps: a search that knows the length of the
    // test stops earlier than a replay.
    let limit = execution.options.max_steps;
    let words = match (failure.kind, execution.ending) {
        (Kind::Deadlock, _) | (Kind::Nondeterminism, Ending::Deadlock) => {
            describe_deadlock(execution)
        }
        (Kind::Livelock, _) | (Kind::Nondeterminism, Ending::Livelock) => format!(
            "the execution ran far beyond {limit} steps without an end, although each task that could \
             run had its turns (for a test that is only long, use a larger --max-steps)"
        ),
        (Kind::Spin, Ending::Spin(task)) => format!(
            "{} ran for far more than {limit} steps without yielding, while other tasks could run: \
             call std::hint::spin_loop or std::thread::yield_now in a loop that waits",
            called(task)
        ),
        _ => return own,
    };
    own + &words + &still_hot(execution)
}

/// The end of the message on a deadlock, livelock or spin: the liveness properties of the test
/// that are hot.
fn still_hot(execution: &Execution) -> String {
    let hot = execution.liveness.hot.iter();
    let words = hot.map(|it| {
        let name = String::from_utf8_lossy(&it.name);
        format!(
            "; the liveness property \"{name}\" has been hot since {}",
            line_of(it.since)
        )
    });
    words.collect()
}

/// Returns `message`. If the test returned an error, the result has this error, which libtest
/// prints, in place of the generic words that libtest puts into the message.
fn with_error(message: String, execution: &Execution) -> String {
    const INTRO: &str = "the test returned an error: ";
    let output = String::from_utf8_lossy(&execution.recording.output);
    let error = output
        .lines()
        .rev()
        .find_map(|line| line.strip_prefix("Error: "));
    match error {
        Some(error) if message.starts_with(INTRO) => format!("{INTRO}{error}"),
        _ => message,
    }
}

fn describe_deadlock(execution: &Execution) -> String {
    let names = ObjectNames::of(execution);
    let blocked = monitor::blocked_tasks(execution);
    let waits = blocked.iter().map(|it| Wait {
        task: it.task,
        op: it.op,
        object: names.name(it.object).map(|name| name.to_string()),
        place: it.site.map(line_of),
        holder: it.holder,
        held_at: it.held_at.map(line_of),
    });
    deadlock(&waits.collect::<Vec<_>>(), &monitor::cycle(&blocked))
}

/// The place of a deadlock; `None` for other kinds of failure. If the waits form a cycle, this is
/// the place of the first wait of the cycle. Otherwise it is the first wait that is not for the
/// end of another task. If there is none, it is the first wait.
pub(super) fn blocked_site(
    kind: Option<Kind>,
    blocked: &[Blocked],
    cycle: &[TaskId],
) -> Option<Site> {
    if kind != Some(Kind::Deadlock) {
        return None;
    }
    let waits_for_task = |b: &&Blocked| matches!(b.op, Op::Join | Op::ScopeEnd);
    let wait = match cycle.first() {
        Some(&first) => blocked.iter().find(|b| b.task == first),
        None => blocked
            .iter()
            .find(|b| !waits_for_task(b))
            .or(blocked.first()),
    };
    wait?.site
}
