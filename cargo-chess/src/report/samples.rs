//! Sample verdicts of test binaries, for the tests of reports.

use std::time::Duration;

use camino::Utf8Path;
use chess_vocabulary::{Note, TaskId};

use crate::analysis::Detail;
use crate::config::{Exploration, Layer};
use crate::events::{
    Counts, Event, Kind, Location, OtherFailure, Outcome, RunFinished, TestFinished, TestId,
};
use crate::protocol::{self, op_named};
use crate::protocol::{Blocked, Finished, Other, Step, Task};
use crate::report::Reporter;
use crate::schedule::Schedule;

pub(crate) fn exploration() -> Exploration {
    Layer::default().resolve()
}

fn at(line: u32) -> Location {
    Location {
        file: "src/lib.rs".into(),
        line,
        column: 9,
    }
}

fn tasks(names: &[Option<&str>]) -> Vec<Task> {
    names
        .iter()
        .zip(0..)
        .map(|(name, id)| Task {
            id,
            name: name.map(str::to_owned),
        })
        .collect()
}

fn step(task: u32, op: &str, object: &str, line: u32) -> Step {
    Step {
        object: (!object.is_empty()).then(|| object.into()),
        file: (line > 0).then(|| "src/lib.rs".into()),
        line: (line > 0).then_some(line),
        column: (line > 0).then_some(9),
        ..protocol::step(task, op_named(op))
    }
}

fn blocked(task: u32, op: &str, object: &str, line: u32) -> Blocked {
    Blocked {
        task,
        op: op_named(op),
        object: Some(object.into()),
        file: Some("src/lib.rs".into()),
        line: Some(line),
        column: Some(9),
        after: None,
        holder: None,
        held_at: None,
        call: None,
        caller: None,
        preempted: false,
        note: None,
    }
}

fn searched(outcome: Outcome) -> Finished {
    Finished {
        counts: Counts {
            schedules: 17,
            executions: 19,
            distinct: 11,
            pruned: 4,
            steps: 412,
            max_steps_in_execution: 61,
            threads: 3,
            ..Counts::default()
        },
        strategy: Some("icb".into()),
        ..Finished::new(outcome)
    }
}

/// A failure whose schedule has this number of preemptions.
fn failed(preemptions: u32) -> Finished {
    let mut finished = searched(Outcome::Failed);
    finished.counts.preemptions = Some(preemptions);
    finished
}

pub(crate) fn passed(bound: Option<u32>, complete: bool) -> Finished {
    Finished {
        bound_completed: bound,
        complete,
        ..searched(Outcome::Passed)
    }
}

/// `finished`, with calls into `package` that were single steps. `package` also stands for the
/// file of the calls.
pub(crate) fn with_atomic(package: &str, finished: Finished) -> Finished {
    Finished {
        atomic: vec![package.into()],
        ..finished
    }
}

pub(crate) fn unstable() -> Finished {
    Finished {
        unstable: true,
        own_warnings: vec!["two runs of the first schedule differed, so the test depends on more than its schedule. The usual causes are real time, random numbers, files, the environment, addresses that are used as numbers, and state outside of the process. No guarantee about the explored schedules is possible. Every reported failure is real".into()],
        ..passed(None, false)
    }
}

pub(crate) fn out_of_time() -> Finished {
    Finished {
        time_ended: true,
        ..passed(Some(0), false)
    }
}

pub(crate) fn panic() -> Finished {
    let mut resumed = step(1, "store", "A1", 10);
    resumed.preempted = true;
    Finished {
        kind: Some(Kind::Panic),
        message: Some("assertion `left == right` failed\n  left: 110\n right: 120".into()),
        location: Some(at(3)),
        bound_completed: Some(0),
        decisions: Some("0*3 1 2*3 1*2 0".into()),
        tasks: tasks(&[Some("transfer_is_atomic"), None, Some("auditor")]),
        events: vec![
            step(0, "spawn", "T1", 20),
            step(0, "spawn", "T2", 21),
            step(1, "load", "A1", 9),
            step(2, "start", "", 0),
            step(2, "load", "A1", 9),
            step(2, "store", "A1", 10),
            step(2, "exit", "", 0),
            resumed,
            step(1, "exit", "", 0),
            step(0, "join", "T1", 24),
        ],
        output: "deposit 10\ndeposit 20\n".into(),
        ..failed(1)
    }
}

/// `finished`, with the warning that choices past the step limit were not explored.
pub(crate) fn with_choices_past_the_limit(mut finished: Finished) -> Finished {
    let warning = serde_json::json!({"kind": "long", "count": 1, "schedules": 1});
    finished.warnings = vec![serde_json::from_value(warning).unwrap()];
    finished
}

pub(crate) fn deadlock() -> Finished {
    let mut first = blocked(1, "Mutex::lock", "M2", 20);
    first.holder = Some(2);
    first.held_at = Some(at(29));
    first.preempted = true;
    let mut second = blocked(2, "Mutex::lock", "M1", 30);
    second.holder = Some(1);
    second.held_at = Some(at(19));
    let mut main = blocked(0, "join", "T1", 40);
    main.holder = Some(1);
    Finished {
        kind: Some(Kind::Deadlock),
        message: Some("deadlock: no task can run".into()),
        location: Some(at(20)),
        bound_completed: Some(0),
        decisions: Some("0*2 1 2".into()),
        tasks: tasks(&[None, Some("left"), Some("right")]),
        events: vec![
            step(0, "spawn", "T1", 35),
            step(0, "spawn", "T2", 36),
            step(1, "Mutex::lock", "M1", 19),
            step(2, "Mutex::lock", "M2", 29),
        ],
        blocked: vec![main, first, second],
        cycle: vec![1, 2],
        ..failed(1)
    }
}

pub(crate) fn many_failures() -> Finished {
    let other = |finished: Finished| Other {
        failure: OtherFailure {
            message: finished.message,
            location: finished.location,
            preemptions: finished.counts.preemptions,
            ..OtherFailure::of_kind(finished.kind.expect("a failure has a kind"))
        },
        timers: None,
        points: vec![],
        forgives_races: false,
        decisions: finished.decisions.expect("a failure has a schedule"),
    };
    let mut second = panic();
    second.location = Some(at(4));
    second.decisions = Some("0*3 2 1*3 2*2 0".into());
    Finished {
        others: vec![other(second), other(deadlock()), other(livelock())],
        ..panic()
    }
}

pub(crate) fn livelock() -> Finished {
    let mut events: Vec<Step> = (0..30)
        .map(|n| step(0, "store", &format!("A{n}"), 50 + n))
        .collect();
    events.extend([step(0, "spawn", "T1", 80), step(0, "spawn", "T2", 81)]);
    for _ in 0..5000 {
        events.extend([
            step(1, "Mutex::try_lock", "M1", 10),
            step(1, "yield_now", "", 11),
        ]);
        events.extend([
            step(2, "Mutex::try_lock", "M2", 20),
            step(2, "yield_now", "", 21),
        ]);
    }
    Finished {
        kind: Some(Kind::Livelock),
        message: Some("livelock: an execution in which every task gets its turn does not end within 20000 steps".into()),
        decisions: Some("0*32 1*10000 2*10000".into()),
        tasks: tasks(&[None, None, None]),
        events,
        ..failed(0)
    }
}

/// A failure with notes on operations: after an operation, in the line below an operation, and for
/// a waiting operation.
pub(crate) fn noted() -> Finished {
    let note = |mut step: Step, note: Note| {
        step.note = Some(note);
        step
    };
    let mut waits = blocked(1, "Condvar::wait", "C1", 12);
    waits.note = Some(Note::WOKE_SPURIOUSLY);
    Finished {
        tasks: tasks(&[None, Some("waiter"), None]),
        events: vec![
            step(0, "spawn", "T1", 20),
            step(0, "spawn", "T2", 21),
            note(
                step(2, "compare_exchange_weak", "A1", 30),
                Note::FAILED_SPURIOUSLY,
            ),
            note(
                step(0, "Condvar::notify_one", "C1", 22),
                Note::wakes(TaskId(1)),
            ),
            note(step(2, "park_timeout", "", 31), Note::TIMED_OUT),
        ],
        blocked: vec![waits],
        ..deadlock()
    }
}

/// A failure whose operations and source lines are too long for one line.
pub(crate) fn long_names() -> Finished {
    let file =
        "/home/u/.cargo/registry/src/index-0123456789abcdef/parking_lot-0.12.5/src/raw_mutex.rs";
    let mut events: Vec<Step> = (0..3)
        .map(|task| step(task, "compare_exchange_weak", "A1", 104))
        .collect();
    for event in &mut events {
        event.file = Some(file.into());
    }
    events[2].preempted = true;
    Finished {
        tasks: tasks(&[None; 3]),
        events,
        blocked: vec![blocked(0, "scope end", "scope 1", 20)],
        ..deadlock()
    }
}

pub(crate) fn many_tasks() -> Finished {
    Finished {
        kind: Some(Kind::Panic),
        message: Some("boom".into()),
        tasks: tasks(&[None; 16]),
        events: (0..16)
            .map(|task| step(task, "compare_exchange_weak", "A1", 7))
            .collect(),
        ..searched(Outcome::Failed)
    }
}

pub(crate) fn crash() -> Finished {
    Finished {
        kind: Some(Kind::Crash),
        message: Some("the test process was killed by SIGKILL (by another process, or by the system because memory ran out) before it had a verdict: check the memory limit, or use fewer --jobs".into()),
        own_warnings: vec!["the test process printed 1 line in an unknown format; the first: `hello`".into()],
        ..Finished::new(Outcome::Failed)
    }
}

pub(crate) fn timeout() -> Finished {
    Finished {
        message: Some("task 1 reached no scheduling point for 60 s; its last event was load A1 at src/lib.rs:9".into()),
        location: Some(at(2)),
        ..Finished::new(Outcome::Timeout)
    }
}

pub(crate) fn skipped() -> Finished {
    Finished {
        counts: Counts::of_one_run(),
        own_warnings: vec!["not explored, because its binary has a test harness of its own: it was run once, and exited with code 0".into()],
        ..Finished::new(Outcome::Skipped)
    }
}

/// The event and the detail of a test called `name` with this verdict.
pub(crate) fn test(name: &str, finished: Finished, stderr: &str) -> (TestFinished, Detail) {
    let id = TestId {
        package: "bank".into(),
        binary: "bank::t".into(),
        test: name.into(),
    };
    let saved = |kind, decisions| Schedule {
        test: id.clone(),
        kind,
        decisions,
        ..crate::schedule::tests::sample()
    };
    let schedule = finished
        .decisions
        .clone()
        .map(|decisions| saved(finished.kind.expect("a failure has a kind"), decisions));
    let others: Vec<Schedule> = finished
        .others
        .iter()
        .map(|other| saved(other.failure.kind, other.decisions.clone()))
        .collect();
    let path = |schedule: &Schedule| format!("target/chess/failures/{}.chess", schedule.stem());
    let atomic = finished.atomic.clone();
    let mut event = finished.to_event(&id, Duration::from_millis(12), atomic);
    event.schedule = schedule.as_ref().map(path);
    for (failure, saved) in event.other_failures.iter_mut().zip(&others) {
        failure.schedule = Some(path(saved));
    }
    let mut exploration = exploration();
    exploration.keep_going = !finished.others.is_empty();
    let detail = Detail {
        exploration,
        finished,
        stderr: stderr.into(),
        schedule,
    };
    (event, detail)
}

/// Runs a reporter on a panic, a deadlock and a test that passes. Returns the text of the file
/// that it writes. `create` creates the reporter from a workspace's root and the path of that
/// file.
pub(crate) fn reported<R: Reporter>(create: impl FnOnce(&Utf8Path, &Utf8Path) -> R) -> String {
    let directory = tempfile::tempdir().unwrap();
    let root = Utf8Path::from_path(directory.path()).unwrap();
    std::fs::create_dir_all(root.join("src")).unwrap();
    std::fs::write(root.join("src/lib.rs"), "").unwrap();
    let path = root.join("report");
    let mut reporter = create(root, &path);
    for (name, finished, stderr) in [
        ("transfer", panic(), "thread 'main' panicked"),
        ("circle", deadlock(), ""),
        ("fine", passed(Some(2), true), ""),
    ] {
        let (test, detail) = test(name, finished, stderr);
        let event = Event::TestFinished(Box::new(test));
        reporter.event(&event, Some(&detail)).unwrap();
    }
    let end = Event::RunFinished(RunFinished::default());
    reporter.event(&end, None).unwrap();
    std::fs::read_to_string(path).unwrap()
}
