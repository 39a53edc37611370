//! The process around the explorer: it stays as it was at the program's start, forks
//! the explorer, watches it, and speaks for one that died.

use core::ffi::c_int;
use core::sync::atomic::{AtomicU64, Ordering};
use std::fmt::Write as _;
use std::fs::File;
use std::io::Write;
use std::time::{Duration, Instant};

use super::report::{self, Counters, Verdict};
use super::request::Request;
use super::{Exploration, Test, crash, explore, process};
use crate::engine::{self, Engine, engine};
use crate::execution::State;
use crate::monitor::Kind;
use crate::platform::handover::Backend;
use crate::platform::{context, interpose, sys};
use crate::search::format_schedule;

/// How often the explorer is looked at.
const LOOK: Duration = Duration::from_millis(100);
/// How often the supervisor hears of progress.
const TELL: Duration = Duration::from_millis(500);

/// Serves the supervisor's request and ends the process.
pub fn serve(tests: &[Test], request: Result<Request, String>) -> ! {
    process::fix_addresses();
    let mut out = process::take_stdout();
    let line = match serve_request(tests, request, &mut out) {
        Ok(line) => line,
        Err(message) => report::error(&message),
    };
    tell(&mut out, &line);
    sys::exit_now(0)
}

fn tell(out: &mut File, line: &str) {
    // A supervisor that is gone needs no answer.
    let _ = out.write_all(format!("{line}\n").as_bytes());
}

fn serve_request(
    tests: &[Test],
    request: Result<Request, String>,
    out: &mut File,
) -> Result<String, String> {
    let mut request = request?;
    if request.backend == Backend::Fibers && !context::supported() {
        return Err(
            "this machine's kernel does not let programs set the FS base (FSGSBASE, \
                    Linux 5.9); use --backend threads"
                .to_owned(),
        );
    }
    let mut arguments = std::env::args().skip(1).filter(|a| !a.starts_with("--"));
    let wanted = arguments.next().unwrap_or_default();
    let test = tests
        .iter()
        .find(|test| test.name == wanted)
        .ok_or_else(|| format!("the test binary has no test `{wanted}`"))?;
    engine::create(request.backend)?;
    // After the engine was made: schedules are kept in its memory.
    if let Some(decisions) = &request.replay
        && let Err(token) = crate::search::parse_schedule(decisions)
    {
        return Err(format!(
            "the schedule has a decision that is not understood: `{token}`"
        ));
    }
    process::limit_core_files();
    let status = watch(test, &request, out);
    // SAFETY: the explorer is gone; this process alone uses the engine.
    let engine = unsafe { &mut *engine() };
    match status {
        Status::Silent => Ok(report_silence(engine, &request)),
        Status::Ended(_) if engine.exploration.finished => Ok(report_end(engine, &request)),
        Status::Ended(status) => Ok(report_crash(engine, &mut request, test, status, out)),
    }
}

/// What became of the explorer.
enum Status {
    /// It ended, with this wait status.
    Ended(c_int),
    /// It reached no scheduling point for too long, and was killed.
    Silent,
}

/// Forks the explorer and waits for its end.
fn watch(test: &Test, request: &Request, out: &mut File) -> Status {
    let parent = std::process::id();
    // SAFETY: this process has one thread.
    let child = unsafe { interpose::real::fork() };
    if child == 0 {
        process::die_with_parent(parent);
        explorer_main(test, request);
    }
    let handle = process::open_process(child);
    let limit = Duration::from_millis(request.watchdog_ms.max(1));
    // The region is shared: the explorer changes what is read here.
    let pulse = || {
        // SAFETY: an aligned word of the engine, which stays mapped.
        unsafe { AtomicU64::from_ptr(&raw mut (*engine()).execution.pulse) }.load(Ordering::Relaxed)
    };
    let (mut last_pulse, mut last_change) = (pulse(), Instant::now());
    let mut last_told = Instant::now();
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
            return Status::Ended(process::reap(child));
        }
        let now = pulse();
        if now != last_pulse {
            (last_pulse, last_change) = (now, Instant::now());
        } else if last_change.elapsed() > limit {
            // SAFETY: our own child, not yet reaped.
            unsafe {
                sys::syscall(
                    sys::number::KILL,
                    [child as usize, sys::SIGKILL as usize, 0, 0, 0, 0],
                );
            }
            process::reap(child);
            return Status::Silent;
        }
        if last_told.elapsed() > TELL {
            last_told = Instant::now();
            // SAFETY: plain counters; a torn one would only be shown once.
            tell(out, &report::progress(unsafe { &(*engine()).exploration }));
        }
    }
}

/// The explorer process. It explores on a thread of its own: the main thread's
/// stack belongs to the program's start, and is not one of our sizes.
fn explorer_main(test: &Test, request: &Request) -> ! {
    let (test, request) = (*test, request.clone());
    process::silence_stdout();
    if request.backend == Backend::Threads {
        process::pin_to_one_processor();
    }
    let explorer = std::thread::Builder::new().name("chess explorer".into());
    let thread = explorer
        .stack_size(8 << 20)
        .spawn(move || explore::run(&test, &request));
    let ended = thread.is_ok_and(|thread| thread.join().is_ok());
    sys::exit_now(if ended { 0 } else { 70 })
}

fn report_end(engine: &mut Engine, request: &Request) -> String {
    let counters = Counters::read(&engine.exploration);
    let failure = engine.exploration.failure.clone();
    let message = failure
        .as_ref()
        .map(|f| report::explain(&engine.execution, f));
    let nothing_known = failure.is_none() && counters_say_nothing(&engine.exploration);
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

/// The budget ended before the first execution did.
fn counters_say_nothing(exploration: &Exploration) -> bool {
    exploration.schedules == 0
}

/// A task never came back: no verdict, but the place is known.
fn report_silence(engine: &mut Engine, request: &Request) -> String {
    let counters = Counters::read(&engine.exploration);
    let execution = &engine.execution;
    let seconds = request.watchdog_ms as f64 / 1000.0;
    let mut message = format!("no scheduling point for {seconds} s: ");
    match execution.live_tasks().nth(execution.current.0 as usize) {
        Some((id, task)) if task.state != State::Finished => {
            let _ = write!(
                message,
                "task {} never came back after {}",
                id.0,
                task.op.name()
            );
            if let Some(site) = task.site {
                let _ = write!(message, " at {}:{}", site.file(), site.line());
            }
            message.push_str(
                "; it computes, or waits for something outside the scheduler's reach (--watchdog \
                 sets how long is too long)",
            );
        }
        _ => message.push_str("the test has not begun"),
    }
    let verdict = Verdict {
        outcome: "timeout",
        kind: None,
        message: Some(message),
        failure: None,
    };
    report::finished(engine, request, &counters, &verdict)
}

/// The explorer died: says how, and whether the same schedule kills it again.
fn report_crash(
    engine: &mut Engine,
    request: &mut Request,
    test: &Test,
    status: c_int,
    out: &mut File,
) -> String {
    let first = crash::describe(engine, status);
    let mut counters = Counters::read(&engine.exploration).with_crash(&engine.execution);
    let preemptions = engine.execution.preemptions;
    let decisions = format_schedule(&engine.execution.decisions);
    let original = request.replay.take();
    let mut failure = first.clone();
    if original.is_none() {
        // Again, to say only what repeats.
        let mut again = request.clone();
        again.replay = Some(decisions.clone());
        *engine = new_engine();
        let second = match watch(test, &again, out) {
            Status::Ended(status) if !engine.exploration.finished => {
                Some(crash::describe(engine, status))
            }
            Status::Ended(_) | Status::Silent => None,
        };
        counters.add_executions(1);
        if second.as_ref() != Some(&first) {
            failure.kind = Kind::Nondeterminism;
            let intro = "the same schedule did not fail in the same way again; at first: ";
            failure.message.splice(0..0, intro.bytes());
        }
    }
    request.replay = original;
    engine.exploration.preemptions = preemptions;
    engine.exploration.decisions =
        crate::search::parse_schedule(&decisions).expect("just formatted");
    let message = String::from_utf8_lossy(&failure.message).into_owned();
    let verdict = Verdict {
        outcome: "failed",
        kind: Some(failure.kind),
        message: Some(message),
        failure: Some(&failure),
    };
    report::finished(engine, request, &counters, &verdict)
}

fn new_engine() -> Engine {
    // SAFETY: read only for its pool's backend; the explorer is gone.
    let backend = unsafe { (*engine()).pool.backend() };
    engine::empty(backend)
}
