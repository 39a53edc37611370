//! The process around the explorer. It keeps the state of the program's start, forks the explorer,
//! watches it, and reports the verdict, even if the explorer has died.

mod endings;

use core::ffi::{c_int, c_void};
use core::sync::atomic::{AtomicU32, Ordering};
use std::fs::File;
use std::io::Write;
use std::panic::catch_unwind;
use std::time::{Duration, Instant};

use super::checkpoint_handover::Passing;
use super::exploration;
use super::request::{Request, VARIABLE};
use super::watchdog::{self, Activity, Look, Watchdog};
use super::{Exploration, Paused, Test, debugger, explore, explorer_output, process, report};
use crate::base::real;
use crate::base::sys;
use crate::execution::Known;
use crate::execution::execution;
use crate::harness::engine::{self, engine};
use crate::platform::handover::Backend;
use crate::platform::{abort, context, executable, places};
use crate::search::parse_schedule;

/// The interval at which the explorer is checked.
const LOOK: Duration = Duration::from_millis(100);
/// The interval of progress lines to the supervisor.
const PROGRESS_INTERVAL: Duration = Duration::from_millis(500);

/// Serves the supervisor's request and ends the process.
pub fn serve(tests: &[Test], request: Result<Request, String>) -> ! {
    process::fix_addresses();
    // SAFETY: this is the only thread. The variable is removed, because a test that starts its own
    // executable expects an ordinary run of it.
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
    // If the supervisor has ended, it needs no answer.
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
            format!("the test binary has no test `{wanted}`; run it with --list to print its tests")
        })?;
    engine::create(request.backend)?;
    executable::find();
    places::load();
    explorer_output::to(out);
    // After the creation of the engine, because schedules are in its memory.
    if let Some(decisions) = &request.replay
        && let Err(token) = parse_schedule(decisions)
    {
        return Err(format!(
            "the schedule has an invalid decision: expected a decision such as `1`, `1*12` or `?0`, \
             found `{token}`"
        ));
    }
    // SAFETY: only this process uses the engine: there is no explorer yet.
    unsafe {
        let exploration = &mut *exploration();
        exploration.shared_file.open();
        if request.resume {
            exploration
                .checkpoints
                .read_earlier(&exploration.shared_file);
        }
    }
    process::limit_core_files();
    let status = watch(test, &request, out);
    // SAFETY: the explorer has ended, so that only this process uses the engine.
    let engine = unsafe { &mut *engine() };
    if engine.exploration.paused == Some(Paused::Resumable) {
        let Exploration {
            schedules,
            checkpoints,
            shared_file,
            ..
        } = &engine.exploration;
        // If the supervisor has ended, it needs no state.
        if !matches!(
            checkpoints.pass_last(*schedules, shared_file, out),
            Ok(true)
        ) {
            engine.exploration.paused = Some(Paused::Lost);
        }
    }
    Ok(endings::report(engine, &request, test, &status, out))
}

/// The end of the explorer.
enum Status {
    /// The explorer ended, with this wait status.
    Ended(c_int),
    /// The explorer reached no scheduling point for too long, and was killed. Its running task had
    /// this activity.
    Silent(Activity),
}

/// Fails for fibers if they are not `supported`.
fn check_backend(backend: Backend, supported: bool) -> Result<(), String> {
    if backend == Backend::Fibers && !supported {
        return Err(
            "the kernel of this machine does not let programs set the FS base (FSGSBASE, since Linux \
             5.9): use --backend threads"
                .to_owned(),
        );
    }
    Ok(())
}

/// Runs an explorer, and returns its end. If a task is found to compute without end, and the other
/// tasks can continue without it, ends the explorer and runs a new one, which knows this task.
fn watch(test: &Test, request: &Request, out: &mut File) -> Status {
    let deadline =
        (request.time_ms > 0).then(|| Instant::now() + Duration::from_millis(request.time_ms));
    loop {
        let known = match watch_explorer(test, request, deadline, out) {
            Ok(status) => return status,
            Err(known) => known,
        };
        // SAFETY: the explorer has ended, so that only this process uses the engine.
        let engine = unsafe { &mut *engine() };
        if !engine.execution.endless.learn(known) {
            return Status::Silent(Activity::Computes);
        }
        let first = watchdog::endless(engine);
        *engine = engine::after(engine);
        let known = &mut engine.exploration.first_endless;
        *known = known.take().or(first);
    }
}

/// Forks an explorer and waits for its end. The error is the history of a task that computes
/// without end, for which the explorer was killed.
fn watch_explorer(
    test: &Test,
    request: &Request,
    deadline: Option<Instant>,
    out: &mut File,
) -> Result<Status, Known> {
    let parent = std::process::id();
    // SAFETY: this process has one thread.
    let child = unsafe { real::fork() };
    if child == 0 {
        process::die_with_parent(parent);
        // SAFETY: this process alone closes its own descriptor.
        unsafe { (*exploration()).shared_file.close() };
        explorer_main(test, request);
    }
    let handle = process::open_process(child);
    process::adopt_orphans();
    let mut last_progress = Instant::now();
    let mut passing = Passing::new(request);
    let mut watchdog = Watchdog::new(request);
    let end = || {
        // SAFETY: our own child, not yet reaped.
        unsafe {
            sys::syscall(
                sys::number::KILL,
                [child as usize, sys::SIGKILL as usize, 0, 0, 0, 0],
            );
        }
        process::reap(child);
        end_orphans();
    };
    loop {
        let left = deadline.map(|d| d.saturating_duration_since(Instant::now()));
        if left.is_some_and(|left| left.is_zero()) {
            // SAFETY: an atomic of the engine, which stays mapped.
            unsafe {
                (*execution()).out_of_time.store(true, Ordering::Relaxed);
            };
        }
        let look = left
            .filter(|left| !left.is_zero())
            .map_or(LOOK, |left| left.min(LOOK));
        if process::wait_for(handle, look) {
            let status = process::reap(child);
            end_orphans();
            return Ok(Status::Ended(status));
        }
        match watchdog.look(request) {
            Look::Lives => {}
            Look::Endless(known) => {
                end();
                process::end_children();
                return Err(known);
            }
            Look::Silent(activity) => {
                end();
                return Ok(Status::Silent(activity));
            }
        }
        // SAFETY: the explorer does not change the non-atomic parts of it.
        let shared_file = unsafe { &(*exploration()).shared_file };
        shared_file.look();
        // SAFETY: the explorer does not change the non-atomic parts of it while they are read. If
        // the supervisor has ended, it needs no state.
        let _ = passing.look(unsafe { &(*exploration()).checkpoints }, shared_file, out);
        if last_progress.elapsed() > PROGRESS_INTERVAL {
            last_progress = Instant::now();
            // SAFETY: plain counters; a torn value would only be shown once.
            answer(out, &report::progress(unsafe { &*exploration() }));
        }
    }
}

/// Ends the child processes that the explorer had at its end. This process has adopted them.
fn end_orphans() {
    // SAFETY: the explorer has ended, so that only this process uses the engine.
    unsafe { (*execution()).descriptors.children.end() };
}

/// The explorer process. It explores on a separate thread, which has a stack of a chosen size.
/// This thread is not a thread of std: code of std for its start and its end would be in progress
/// in both threads while the image is taken.
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
        // The explorer ends the process. From now on this thread touches nothing.
        sys::futex_wait(&parked, 1);
    }
}

/// The stack of the exploring thread, in bytes.
const EXPLORER_STACK: usize = 8 << 20;

/// The arguments of the exploring thread.
struct Exploring<'a> {
    test: &'a Test,
    request: &'a Request,
    /// Not 0 once the main thread accesses nothing any more.
    parked: &'a AtomicU32,
}

unsafe extern "C" fn explorer_thread(work: *mut c_void) -> *mut c_void {
    // SAFETY: the main thread keeps its arguments alive, and only waits.
    let Exploring {
        test,
        request,
        parked,
    } = unsafe { &*work.cast::<Exploring<'_>>() };
    while parked.load(Ordering::Acquire) == 0 {
        sys::futex_wait(parked, 0);
    }
    // SAFETY: only this thread uses the engine.
    unsafe { (*exploration()).kernel_thread = sys::kernel_thread_id() };
    match catch_unwind(|| explore::run(test, request)) {
        Ok(()) => sys::exit_now(0),
        Err(payload) => break_off(&abort::message_of(&*payload)),
    }
}

/// Ends the explorer, which cannot continue for the reason `why`.
fn break_off(why: &str) -> ! {
    // SAFETY: no other thread uses the engine.
    let exploration = unsafe { &mut *exploration() };
    exploration.broke_off.extend_from_slice(why.as_bytes());
    sys::exit_now(1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fibers_are_refused_where_the_kernel_is_too_old_for_them() {
        let refused = check_backend(Backend::Fibers, false).expect_err("no fibers");
        assert!(refused.ends_with("(FSGSBASE, since Linux 5.9): use --backend threads"));
        assert_eq!(check_backend(Backend::Threads, false), Ok(()));
        assert_eq!(check_backend(Backend::Fibers, true), Ok(()));
    }
}
