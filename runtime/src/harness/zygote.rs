//! The process around the explorer: it stays as it was at the program's start, forks
//! the explorer, watches it, and speaks for one that died.

use core::ffi::{c_char, c_int};
use core::sync::atomic::{AtomicU64, Ordering};
use std::fmt::Write as _;
use std::fs::File;
use std::io::Write;
use std::os::fd::FromRawFd;
use std::time::{Duration, Instant};

use super::report::{self, Counters, Verdict};
use super::request::Request;
use super::{Exploration, Test, explore};
use crate::engine::{self, Engine, engine};
use crate::execution::{Fatal, State};
use crate::monitor::{Failure, Kind};
use crate::platform::donor::Backend;
use crate::platform::{context, interpose, sys};
use crate::search::format_schedule;

/// How often the explorer is looked at.
const LOOK: Duration = Duration::from_millis(100);
/// How often the supervisor hears of progress.
const TELL: Duration = Duration::from_millis(500);

/// Serves the supervisor's request and ends the process.
pub fn serve(tests: &[Test], request: Result<Request, String>) -> ! {
    fix_addresses();
    let mut out = take_stdout();
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
    if let Some(decisions) = &request.replay
        && let Err(token) = crate::search::parse_schedule(decisions)
    {
        return Err(format!(
            "the schedule has a decision that is not understood: `{token}`"
        ));
    }
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
    limit_core_files();
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
        die_with_parent(parent);
        explorer_main(test, request);
    }
    let handle = open_process(child);
    let limit = Duration::from_millis(request.watchdog_ms.max(1));
    // The region is shared: the explorer changes what is read here.
    let pulse = || {
        // SAFETY: an aligned word of the engine, which stays mapped.
        unsafe { AtomicU64::from_ptr(&raw mut (*engine()).execution.pulse) }.load(Ordering::Relaxed)
    };
    let (mut last_pulse, mut last_change) = (pulse(), Instant::now());
    let mut last_told = Instant::now();
    loop {
        if wait_for(handle, LOOK) {
            return Status::Ended(reap(child));
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
            reap(child);
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
    silence_stdout();
    if request.backend == Backend::Threads {
        pin_to_one_processor();
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
    let first = crash(engine, status);
    let mut counters = Counters::read(&engine.exploration).with_crash(&engine.execution);
    let preemptions = engine.execution.preemptions;
    let decisions = format_schedule(&explore::last_decisions(engine));
    let original = request.replay.take();
    let mut failure = first.clone();
    if original.is_none() {
        // Again, to say only what repeats.
        let mut again = request.clone();
        again.replay = Some(decisions.clone());
        *engine = new_engine();
        let second = match watch(test, &again, out) {
            Status::Ended(status) if !engine.exploration.finished => Some(crash(engine, status)),
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

/// A death as a failure.
pub(super) fn crash(engine: &Engine, status: c_int) -> Failure {
    let exploration = &engine.exploration;
    match exploration.fatal {
        Some(Fatal::DoubleFree) => {
            return Failure::new(Kind::DoubleFree, "a block of memory was freed twice");
        }
        Some(Fatal::InvalidFree) => {
            let text = "memory was freed that was never allocated";
            return Failure::new(Kind::Crash, text);
        }
        None => {}
    }
    let signal = status & 0x7f;
    if signal == 0 {
        let code = status >> 8 & 0xff;
        return Failure::new(
            Kind::Crash,
            &format!("the test ended the process with exit code {code}"),
        );
    }
    let mut text = format!("the test died by {}", signal_name(signal));
    if signal == sys::SIGSEGV
        && let Some(address) = exploration.fault
    {
        if engine.pool.overflowed(address).is_some() {
            let task = engine.execution.current.0;
            text = format!("task {task} overflowed its stack");
        } else {
            let _ = write!(text, ", accessing address {address:#x}");
        }
    }
    let mut failure = Failure::new(Kind::Crash, &text);
    if signal == sys::SIGABRT
        && let Some(panic) = engine.execution.panics.last()
    {
        let said = format!(
            ", after a panic: {}",
            String::from_utf8_lossy(&panic.message)
        );
        failure.message.extend_from_slice(said.as_bytes());
        failure.place = Some(panic.place.clone());
    }
    failure
}

fn signal_name(signal: c_int) -> String {
    match signal {
        4 => "SIGILL (an illegal instruction)".to_owned(),
        5 => "SIGTRAP".to_owned(),
        sys::SIGABRT => "SIGABRT (abort)".to_owned(),
        sys::SIGBUS => "SIGBUS".to_owned(),
        8 => "SIGFPE".to_owned(),
        sys::SIGKILL => "SIGKILL".to_owned(),
        sys::SIGSEGV => "SIGSEGV (an invalid memory access)".to_owned(),
        15 => "SIGTERM".to_owned(),
        other => format!("signal {other}"),
    }
}

/// Waits for the end of a child process; its wait status.
pub(super) fn reap(child: c_int) -> c_int {
    let mut status: c_int = 0;
    let at = &raw mut status as usize;
    // SAFETY: our own child; `at` is writable. Interrupted calls are repeated.
    while unsafe { sys::syscall(sys::number::WAIT4, [child as usize, at, 0, 0, 0, 0]) } == -4 {}
    status
}

/// A descriptor that becomes readable when the process ends.
fn open_process(child: c_int) -> isize {
    // SAFETY: a plain system call.
    unsafe { sys::syscall(sys::number::PIDFD_OPEN, [child as usize, 0, 0, 0, 0, 0]) }
}

/// Whether the process behind `handle` ends within `time`. Kernels without such
/// descriptors (before 5.3) are refused by `wrfsbase` already.
fn wait_for(handle: isize, time: Duration) -> bool {
    #[repr(C)]
    struct Poll {
        descriptor: i32,
        wanted: i16,
        got: i16,
    }
    let mut poll = Poll {
        descriptor: handle as i32,
        wanted: 1,
        got: 0,
    };
    let at = &raw mut poll as usize;
    // SAFETY: one entry, which is writable.
    let ready = unsafe {
        sys::syscall(
            sys::number::POLL,
            [at, 1, time.as_millis() as usize, 0, 0, 0],
        )
    };
    ready > 0
}

/// Makes this process end when `parent` does.
fn die_with_parent(parent: u32) {
    const PR_SET_PDEATHSIG: usize = 1;
    const GETPPID: usize = 110;
    // SAFETY: plain system calls.
    unsafe {
        sys::syscall(
            sys::number::PRCTL,
            [PR_SET_PDEATHSIG, sys::SIGKILL as usize, 0, 0, 0, 0],
        );
        // It may have ended before the call.
        if sys::syscall(GETPPID, [0; 6]) != parent as isize {
            sys::exit_now(1);
        }
    }
}

/// Keeps the protocol's pipe from the program: what it writes to standard output
/// goes to standard error until the explorer silences it.
fn take_stdout() -> File {
    const F_DUPFD_CLOEXEC: usize = 1030;
    const PR_SET_PDEATHSIG: usize = 1;
    // SAFETY: descriptors 1 and 2 are this process' own; the duplicate is new.
    unsafe {
        sys::syscall(
            sys::number::PRCTL,
            [PR_SET_PDEATHSIG, sys::SIGKILL as usize, 0, 0, 0, 0],
        );
        let own = sys::syscall(sys::number::FCNTL, [1, F_DUPFD_CLOEXEC, 3, 0, 0, 0]);
        sys::syscall(sys::number::DUP2, [2, 1, 0, 0, 0, 0]);
        File::from_raw_fd(own as c_int)
    }
}

/// Sends what the program writes to standard output past std's capture (from C,
/// say) to nowhere: thousands of executions would repeat it.
fn silence_stdout() {
    if let Ok(null) = File::options().write(true).open("/dev/null") {
        use std::os::fd::AsRawFd;
        // SAFETY: both descriptors are open.
        unsafe {
            sys::syscall(
                sys::number::DUP2,
                [null.as_raw_fd() as usize, 1, 0, 0, 0, 0],
            )
        };
    }
}

/// A crash must not leave a core file in the user's tree.
fn limit_core_files() {
    const PRLIMIT64: usize = 302;
    const RLIMIT_CORE: usize = 4;
    let none = [0u64; 2];
    let at = &raw const none as usize;
    // SAFETY: two readable words.
    unsafe { sys::syscall(PRLIMIT64, [0, RLIMIT_CORE, at, 0, 0, 0]) };
}

/// Kernel threads that hand control to each other are fastest on one processor.
fn pin_to_one_processor() {
    let mut allowed = [0u64; 16];
    let (at, bytes) = (&raw mut allowed as usize, size_of_val(&allowed));
    // SAFETY: the mask is writable and as long as said.
    unsafe {
        sys::syscall(sys::number::SCHED_GETAFFINITY, [0, bytes, at, 0, 0, 0]);
        let processors: Vec<usize> = (0..1024)
            .filter(|&p| allowed[p / 64] >> (p % 64) & 1 != 0)
            .collect();
        if processors.is_empty() {
            return;
        }
        // Explorers that run side by side spread over the processors.
        let chosen = processors[std::process::id() as usize % processors.len()];
        let mut chosen_mask = [0u64; 16];
        chosen_mask[chosen / 64] = 1 << (chosen % 64);
        let at = &raw const chosen_mask as usize;
        sys::syscall(sys::number::SCHED_SETAFFINITY, [0, bytes, at, 0, 0, 0]);
    }
}

/// Starts the program anew without address space randomisation: statics and
/// stacks then lie at the same addresses in every process, so that a program
/// which hashes addresses replays elsewhere.
fn fix_addresses() {
    const ADDR_NO_RANDOMIZE: usize = 0x0004_0000;
    const QUERY: usize = 0xffff_ffff;
    unsafe extern "C" {
        static environ: *const *const c_char;
        fn execve(
            path: *const c_char,
            arguments: *const *const c_char,
            environment: *const *const c_char,
        ) -> c_int;
    }
    // SAFETY: plain system calls, and `execve` with arrays that end in null.
    unsafe {
        let persona = sys::syscall(sys::number::PERSONALITY, [QUERY, 0, 0, 0, 0, 0]);
        if persona < 0 || persona as usize & ADDR_NO_RANDOMIZE != 0 {
            return;
        }
        let wanted = persona as usize | ADDR_NO_RANDOMIZE;
        if sys::syscall(sys::number::PERSONALITY, [wanted, 0, 0, 0, 0, 0]) < 0 {
            return;
        }
        let arguments: Vec<_> = std::env::args_os()
            .filter_map(|a| std::ffi::CString::new(a.into_encoded_bytes()).ok())
            .collect();
        let mut pointers: Vec<*const c_char> = arguments.iter().map(|a| a.as_ptr()).collect();
        pointers.push(core::ptr::null());
        // If it fails, the program goes on as it is.
        execve(c"/proc/self/exe".as_ptr(), pointers.as_ptr(), environ);
    }
}
