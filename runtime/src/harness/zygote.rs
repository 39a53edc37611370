//! The process around the explorer: it stays as it was at the program's start, forks
//! the explorer, watches it, and speaks for one that died.

use core::ffi::{c_int, c_void};
use core::mem;
use core::sync::atomic::{AtomicU32, AtomicU64, Ordering};
use std::fs::File;
use std::io::Write;
use std::panic::catch_unwind;
use std::time::{Duration, Instant};

use super::counters::Counters;
use super::failures::Found;
use super::report::{self, Verdict};
use super::request::{Request, VARIABLE};
use super::saved::Passing;
use super::silence::Activity;
use super::{Exploration, Test, debugger, explore, process, silence, tell};
use crate::engine::{self, Engine, engine};
use crate::monitor::Failure;
use crate::monitor::race::{Learnt, Level, Points};
use crate::platform::handover::Backend;
use crate::platform::memory::engine_vec;
use crate::platform::{context, interpose, refusal, sys};
use crate::search::{Decision, format_schedule};

/// How often the explorer is looked at.
const LOOK: Duration = Duration::from_millis(100);
/// How often the supervisor hears of progress.
const TELL: Duration = Duration::from_millis(500);

/// Serves the supervisor's request and ends the process.
pub fn serve(tests: &[Test], request: Result<Request, String>) -> ! {
    process::fix_addresses();
    // SAFETY: this is the only thread. A test that starts its own executable means
    // it to run as it does alone.
    unsafe { std::env::remove_var(VARIABLE) };
    let mut out = process::take_stdout();
    let line = match serve_request(tests, request, &mut out) {
        Ok(line) => line,
        Err(message) => report::error(&message),
    };
    answer(&mut out, &line);
    sys::exit_now(0)
}

fn answer(out: &mut File, line: &str) {
    // A supervisor that is gone needs no answer.
    let _ = out.write_all(format!("{line}\n").as_bytes());
}

fn serve_request(
    tests: &[Test],
    request: Result<Request, String>,
    out: &mut File,
) -> Result<String, String> {
    let request = request?;
    check_backend(request.backend, context::supported())?;
    let mut arguments = std::env::args().skip(1).filter(|a| !a.starts_with("--"));
    let wanted = arguments.next().unwrap_or_default();
    let test = tests
        .iter()
        .find(|test| test.name == wanted)
        .ok_or_else(|| {
            format!("the test binary has no test `{wanted}`; with --list it says which it has")
        })?;
    engine::create(request.backend)?;
    tell::to(out);
    // After the engine was made: schedules are kept in its memory.
    if let Some(decisions) = &request.replay
        && let Err(token) = crate::search::parse_schedule(decisions)
    {
        return Err(format!(
            "the schedule has a decision that is not understood: expected one such as `1`, `1*12` or \
             `?0`, found `{token}`"
        ));
    }
    // SAFETY: this process alone uses the engine: there is no explorer yet.
    unsafe {
        let exploration = &mut (*engine()).exploration;
        exploration.mailbox.open();
        if request.resume {
            exploration.saved.read_earlier(&exploration.mailbox);
        }
    }
    process::limit_core_files();
    let status = watch(test, &request, out);
    // SAFETY: the explorer is gone; this process alone uses the engine.
    let engine = unsafe { &mut *engine() };
    let has_failure = engine.exploration.failure.is_some();
    Ok(match status {
        Status::Ended(_) if engine.exploration.finished => report_end(engine, &request),
        _ if has_failure => report_collected(engine, &request, test, &status, out),
        Status::Silent(activity) => report_silence(engine, &request, activity),
        Status::Ended(_) if !engine.exploration.broke_off.is_empty() => {
            report_break(engine, &request)
        }
        Status::Ended(status) => report_crash(engine, &request, test, status, out),
    })
}

/// What became of the explorer.
enum Status {
    /// It ended, with this wait status.
    Ended(c_int),
    /// It reached no scheduling point for too long, did this, and was killed.
    Silent(Activity),
}

/// Fails for fibers if these are not `supported`.
fn check_backend(backend: Backend, supported: bool) -> Result<(), String> {
    if backend == Backend::Fibers && !supported {
        return Err(
            "this machine's kernel does not let programs set the FS base (FSGSBASE, Linux 5.9); use \
             --backend threads"
                .to_owned(),
        );
    }
    Ok(())
}

/// Forks the explorer and waits for its end.
fn watch(test: &Test, request: &Request, out: &mut File) -> Status {
    let parent = std::process::id();
    // SAFETY: this process has one thread.
    let child = unsafe { interpose::real::fork() };
    if child == 0 {
        process::die_with_parent(parent);
        // SAFETY: this process alone closes its own.
        unsafe { (*engine()).exploration.mailbox.close() };
        explorer_main(test, request);
    }
    let handle = process::open_process(child);
    process::adopt_orphans();
    let limit = Duration::from_millis(request.watchdog_ms.max(1));
    // The region is shared: the explorer changes what is read here.
    let pulse = || {
        // SAFETY: an aligned word of the engine, which stays mapped.
        unsafe { AtomicU64::from_ptr(&raw mut (*engine()).execution.pulse) }.load(Ordering::Relaxed)
    };
    let (mut last_pulse, mut last_change) = (pulse(), Instant::now());
    let mut last_told = Instant::now();
    let mut passing = Passing::new(request);
    let deadline =
        (request.time_ms > 0).then(|| Instant::now() + Duration::from_millis(request.time_ms));
    loop {
        let left = deadline.map(|d| d.saturating_duration_since(Instant::now()));
        if left.is_some_and(|left| left.is_zero()) {
            // SAFETY: an atomic of the engine, which stays mapped.
            unsafe {
                (*engine())
                    .exploration
                    .out_of_time
                    .store(true, Ordering::Relaxed);
            };
        }
        let look = left
            .filter(|left| !left.is_zero())
            .map_or(LOOK, |left| left.min(LOOK));
        if process::wait_for(handle, look) {
            let status = process::reap(child);
            end_orphans();
            return Status::Ended(status);
        }
        let now = pulse();
        if now != last_pulse {
            (last_pulse, last_change) = (now, Instant::now());
        } else if last_change.elapsed() > limit {
            // SAFETY: the explorer is silent: it is not within the engine.
            let activity = Activity::of_running_task(unsafe { &*engine() }, request);
            // SAFETY: our own child, not yet reaped.
            unsafe {
                sys::syscall(
                    sys::number::KILL,
                    [child as usize, sys::SIGKILL as usize, 0, 0, 0, 0],
                );
            }
            process::reap(child);
            end_orphans();
            return Status::Silent(activity);
        }
        // SAFETY: the explorer leaves alone what is not atomic there.
        let mailbox = unsafe { &(*engine()).exploration.mailbox };
        mailbox.look();
        // SAFETY: what is not atomic there the explorer leaves alone while it is read.
        // A supervisor that is gone needs no state.
        let _ = passing.look(unsafe { &(*engine()).exploration.saved }, mailbox, out);
        if last_told.elapsed() > TELL {
            last_told = Instant::now();
            // SAFETY: plain counters; a torn one would only be shown once.
            answer(out, &report::progress(unsafe { &(*engine()).exploration }));
        }
    }
}

/// Ends the children that the explorer had when it ended: they are ours now.
fn end_orphans() {
    // SAFETY: the explorer is gone; this process alone uses the engine.
    unsafe { (*engine()).execution.descriptors.end_children() };
}

/// The explorer process. It explores on a thread of its own, with a stack of a
/// size that we choose. Not one of std's threads: what std does on both sides
/// of a thread's start and end would be going on while the image is taken.
fn explorer_main(test: &Test, request: &Request) -> ! {
    process::silence_stdout();
    if request.backend == Backend::Threads {
        process::pin_to_one_processor();
    }
    if request.debugged.is_some() {
        debugger::prepare();
    }
    let parked = AtomicU32::new(0);
    let mut work = Exploring {
        test,
        request,
        parked: &parked,
    };
    let started = process::start_thread(EXPLORER_STACK, explorer_thread, (&raw mut work).cast());
    if let Err(why) = started {
        break_off(&why);
    }
    parked.store(1, Ordering::Release);
    sys::futex_wake(&parked);
    loop {
        // The explorer ends the process. This thread touches nothing any more.
        sys::futex_wait(&parked, 1);
    }
}

/// Stack of the exploring thread, in bytes.
const EXPLORER_STACK: usize = 8 << 20;

/// What the exploring thread is given.
struct Exploring<'a> {
    test: &'a Test,
    request: &'a Request,
    /// Not 0 once the main thread touches nothing any more.
    parked: &'a AtomicU32,
}

unsafe extern "C" fn explorer_thread(work: *mut c_void) -> *mut c_void {
    // SAFETY: the main thread keeps what it passed alive, and only waits.
    let Exploring {
        test,
        request,
        parked,
    } = unsafe { &*work.cast::<Exploring<'_>>() };
    while parked.load(Ordering::Acquire) == 0 {
        sys::futex_wait(parked, 0);
    }
    // SAFETY: this thread alone uses the engine.
    unsafe { (*engine()).exploration.kernel_thread = sys::kernel_thread_id() };
    match catch_unwind(|| explore::run(test, request)) {
        Ok(()) => sys::exit_now(0),
        Err(payload) => break_off(&refusal::why(&*payload)),
    }
}

/// Ends the explorer, which cannot go on: this says why.
fn break_off(why: &str) -> ! {
    // SAFETY: no other thread uses the engine.
    let exploration = unsafe { &mut (*engine()).exploration };
    exploration.broke_off.extend_from_slice(why.as_bytes());
    sys::exit_now(1)
}

fn report_end(engine: &mut Engine, request: &Request) -> String {
    let counters = Counters::read(&engine.exploration);
    let failure = engine.exploration.failure.clone();
    let failure = failure.map(|failure| report::in_words(engine, failure));
    let message = failure
        .as_ref()
        .map(|f| String::from_utf8_lossy(&f.message).into_owned());
    let nothing_known = failure.is_none() && nothing_is_known(&engine.exploration);
    let gave_up = nothing_known && engine.exploration.too_long > 0;
    let message = message.or_else(|| gave_up.then(|| report::given_up(&engine.execution)));
    let verdict = Verdict {
        outcome: match &failure {
            Some(_) => "failed",
            None if nothing_known => "timeout",
            None => "passed",
        },
        kind: failure.as_ref().map(|f| f.kind),
        message,
        failure: failure.as_ref(),
    };
    report::finished(engine, request, &counters, &verdict)
}

/// The budget ended before the first execution did, or all were given up.
fn nothing_is_known(exploration: &Exploration) -> bool {
    exploration.schedules == exploration.too_long
}

/// A task never came back: no verdict, but the place is known.
fn report_silence(engine: &mut Engine, request: &Request, activity: Activity) -> String {
    let counters = Counters::read(&engine.exploration);
    let verdict = Verdict {
        outcome: "timeout",
        kind: None,
        message: Some(silence::describe(engine, request, activity)),
        failure: None,
    };
    report::finished(engine, request, &counters, &verdict)
}

/// The explorer could not go on: no verdict.
fn report_break(engine: &mut Engine, request: &Request) -> String {
    let counters = Counters::read(&engine.exploration);
    let why = String::from_utf8_lossy(&engine.exploration.broke_off).into_owned();
    let verdict = Verdict {
        outcome: "timeout",
        kind: None,
        message: Some(why),
        failure: None,
    };
    report::finished(engine, request, &counters, &verdict)
}

/// The explorer died: says how, and whether the same schedule kills it again.
fn report_crash(
    engine: &mut Engine,
    request: &Request,
    test: &Test,
    status: c_int,
    out: &mut File,
) -> String {
    let mut counters = Counters::read(&engine.exploration).with_crash(&engine.execution);
    let found = if request.replay.is_some() {
        let failure = engine.death(status);
        last_execution(engine, failure)
    } else {
        counters.add_executions(1);
        confirm_crash(engine, request, test, status, out)
    };
    let exploration = &mut engine.exploration;
    exploration.preemptions = found.preemptions;
    exploration.decisions = found.decisions;
    exploration.learnt = found.learnt;
    let verdict = failed(&found.failure, &found.failure.message);
    report::finished(engine, request, &counters, &verdict)
}

/// The explorer came to no end after it had found failures, while it looked for
/// more or made them smaller: the first one stays what is reported. Its execution
/// has to be made once more.
fn report_collected(
    engine: &mut Engine,
    request: &Request,
    test: &Test,
    status: &Status,
    out: &mut File,
) -> String {
    let mut counters = Counters::read(&engine.exploration);
    let end = match *status {
        Status::Silent(activity) => {
            let silence = silence::describe(engine, request, activity);
            counters.warn(&format!("the search ended early: {silence}"));
            None
        }
        Status::Ended(_) if !engine.exploration.broke_off.is_empty() => {
            let why = String::from_utf8_lossy(&engine.exploration.broke_off);
            counters.warn(&format!("the search ended early: {why}"));
            None
        }
        Status::Ended(status) => {
            counters = counters.with_crash(&engine.execution);
            counters.add_executions(1);
            counters.warn("the search ended early: a crash takes the explorer with it");
            Some(status)
        }
    };
    let exploration = &mut engine.exploration;
    let mut first = exploration.failure.take().expect("a failure was found");
    let (preemptions, learnt) = (exploration.preemptions, exploration.learnt);
    let decisions = mem::replace(&mut exploration.decisions, engine_vec());
    let mut others = mem::replace(&mut exploration.others, engine_vec());
    if let Some(status) = end {
        others.push(confirm_crash(engine, request, test, status, out));
    }
    counters.add_executions(1);
    run_again(engine, request, test, (&decisions, learnt), out);
    match engine.exploration.failure.take() {
        Some(again) if again.is_like(&first) => first = again,
        _ => first = first.not_repeated(),
    }
    let first = report::in_words(engine, first);
    let exploration = &mut engine.exploration;
    exploration.preemptions = preemptions;
    exploration.decisions = decisions;
    exploration.learnt = learnt;
    exploration.others = others;
    let verdict = failed(&first, &first.message);
    report::finished(engine, request, &counters, &verdict)
}

fn failed<'a>(failure: &'a Failure, message: &[u8]) -> Verdict<'a> {
    Verdict {
        outcome: "failed",
        kind: Some(failure.kind),
        message: Some(String::from_utf8_lossy(message).into_owned()),
        failure: Some(failure),
    }
}

/// The crash that ended the explorer, and whether its schedule leads to it again.
fn confirm_crash(
    engine: &mut Engine,
    request: &Request,
    test: &Test,
    status: c_int,
    out: &mut File,
) -> Found {
    let failure = engine.death(status);
    let mut found = last_execution(engine, failure);
    let schedule = (&found.decisions[..], found.learnt);
    let again = match run_again(engine, request, test, schedule, out) {
        Status::Ended(status) if !engine.exploration.finished => Some(engine.death(status)),
        Status::Ended(_) | Status::Silent(_) => None,
    };
    if !again.is_some_and(|again| again.is_like(&found.failure)) {
        found.failure = found.failure.not_repeated();
    }
    found
}

/// The execution that the engine holds, which ended in `failure`.
fn last_execution(engine: &Engine, failure: Failure) -> Found {
    Found {
        failure,
        preemptions: engine.execution.preemptions,
        decisions: engine.execution.whole_decisions(),
        learnt: engine.monitors.races.learnt(),
    }
}

/// Runs a schedule in an explorer of its own, with what was known of races then.
fn run_again(
    engine: &mut Engine,
    request: &Request,
    test: &Test,
    (decisions, learnt): (&[Decision], Learnt),
    out: &mut File,
) -> Status {
    let lines = mem::replace(&mut engine.monitors.races.points, Points::new());
    let points = lines.first(learnt.points).iter().map(|line| {
        let file = String::from_utf8_lossy(&line.file).into_owned();
        (file, line.number)
    });
    let again = Request {
        replay: Some(format_schedule(decisions)),
        preempt_at: Vec::new(),
        points: points.collect(),
        races: match learnt.forgiven {
            0 => request.races,
            _ => Level::Allow,
        },
        ..request.clone()
    };
    *engine = new_engine(engine);
    let status = watch(test, &again, out);
    engine.monitors.races.points = lines;
    status
}

fn new_engine(before: &mut Engine) -> Engine {
    let mut engine = engine::empty(before.pool.backend());
    mem::swap(
        &mut engine.exploration.mailbox,
        &mut before.exploration.mailbox,
    );
    engine
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fibers_are_refused_where_the_kernel_is_too_old_for_them() {
        let refused = check_backend(Backend::Fibers, false).expect_err("no fibers");
        assert!(refused.ends_with("(FSGSBASE, Linux 5.9); use --backend threads"));
        assert_eq!(check_backend(Backend::Threads, false), Ok(()));
        assert_eq!(check_backend(Backend::Fibers, true), Ok(()));
    }
}
