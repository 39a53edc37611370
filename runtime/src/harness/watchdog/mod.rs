//! The watchdog: the limit of real time without a scheduling point.
//!
//! The explorer counts its scheduling points in a pulse. The loop of the zygote (`zygote/mod.rs`),
//! which waits for the end of the explorer, calls [`Watchdog::look`], and ends an explorer that is
//! silent for too long. A task that only computes may be found earlier, by its processor time: the
//! exploration then continues without it. The tool has an outer limit for a process that reports
//! nothing: `patience` in `cargo-chess/src/supervise/test_process.rs`.

mod message;

use std::fs;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

pub(super) use message::describe;

use super::nondeterminism::Performed;
use super::request::Request;
use crate::base::source_path::Place;
use crate::execution::{Known, execution};
use crate::harness::engine::{Engine, engine};
use crate::platform::handover::Backend;

/// The limit of real time for a task that only computes, as a multiple of the watchdog's limit. On
/// a busy machine, such a task may need that long to use the watchdog's limit as processor time.
const BUSY: u32 = 30;

/// After this time without processor time, a task waits in the kernel.
const UNSEEN_WAIT: Duration = Duration::from_millis(200);

/// The observation of an explorer.
pub(super) struct Watchdog {
    limit: Duration,
    /// The pulse (the number of scheduling points so far) at the last look.
    pulse: u64,
    /// The time of the first look that found this pulse.
    since: Instant,
    silence: Option<Silence>,
}

/// The result of a look at the explorer.
pub(super) enum Look {
    /// The explorer has reached a scheduling point, or may still reach one.
    Lives,
    /// The running task of the explorer computes without end, with this history.
    Endless(Known),
    /// The explorer has reached no scheduling point for the limit, with this activity.
    Silent(Activity),
}

impl Watchdog {
    /// A watchdog that observes the explorer from now on.
    pub(super) fn new(request: &Request) -> Self {
        Self {
            limit: Duration::from_millis(request.watchdog_ms.max(1)),
            pulse: pulse(),
            since: Instant::now(),
            silence: None,
        }
    }

    /// Looks whether the explorer has reached a scheduling point since the last look.
    pub(super) fn look(&mut self, request: &Request) -> Look {
        let now = pulse();
        if now != self.pulse {
            (self.pulse, self.since) = (now, Instant::now());
            return Look::Lives;
        }
        // SAFETY: the explorer is silent, so that it is not within the engine.
        let engine = unsafe { &*engine() };
        let silence = self.silence.take().filter(|silence| silence.is_at(now));
        let mut silence = silence.unwrap_or_else(|| Silence::new(engine, now));
        let endless = silence.is_endless(engine, request);
        let idle = silence.time_without_processor();
        let is_idle = idle > self.limit;
        if idle > UNSEEN_WAIT {
            // The task may wait for a child in a call that the engine does not see, such as a read
            // of a C stream.
            engine.execution.descriptors.children.wake();
        }
        self.silence = Some(silence);
        if let Some(known) = endless
            && pulse() == now
        {
            return Look::Endless(known);
        }
        // A task that computes may use the whole limit as processor time, even on a busy machine.
        let may_be_endless = engine.execution.endless_if_silent().is_some();
        let limit = if may_be_endless {
            self.limit * BUSY
        } else {
            self.limit
        };
        if is_idle || self.since.elapsed() > limit {
            Look::Silent(Activity::of_running_task(engine))
        } else {
            Look::Lives
        }
    }
}

/// The number of scheduling points of the explorer so far. The explorer changes this word, which
/// lies in shared memory.
fn pulse() -> u64 {
    // SAFETY: an aligned word of the engine, which stays mapped.
    unsafe { AtomicU64::from_ptr(&raw mut (*execution()).pulse) }.load(Ordering::Relaxed)
}

/// The activity of a silent task according to the kernel.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Activity {
    /// The task runs, or is ready to run.
    Computes,
    /// The task waits in the system call of this number.
    Waits(usize),
    /// The kernel does not report the activity.
    Unknown,
}

impl Activity {
    /// The activity of the running task, while the explorer lives.
    pub(super) fn of_running_task(engine: &Engine) -> Self {
        let thread = thread_of_running_task(engine);
        let path = format!("/proc/{thread}/syscall");
        fs::read_to_string(path).map_or(Self::Unknown, |text| Self::parse(&text))
    }

    /// Parses the kernel's file `syscall`: a word, or a number and arguments.
    fn parse(text: &str) -> Self {
        match text.split_whitespace().next() {
            Some("running") => Self::Computes,
            Some(number) => number.parse().map_or(Self::Unknown, Self::Waits),
            None => Self::Unknown,
        }
    }
}

/// The kernel thread of the running task.
fn thread_of_running_task(engine: &Engine) -> i32 {
    let execution = &engine.execution;
    let thread = engine.exploration.kernel_thread;
    let current = execution
        .live_tasks()
        .nth(execution.schedule.current.0 as usize);
    match (engine.pool.backend(), current) {
        (Backend::Threads, Some((_, task))) => engine.pool.get(task.donor).kernel_thread,
        _ if engine.execution.options.has_processes => only_child_of(thread).unwrap_or(0),
        _ => thread,
    }
}

/// The observation of a task that has reached no scheduling point for some time.
struct Silence {
    /// The pulse at the last scheduling point.
    pulse: u64,
    /// The kernel thread of the task.
    thread: i32,
    /// The processor time of this thread at the beginning of the observation.
    start: Duration,
    /// The processor time at the last look, and the time of the first look that found it.
    last: (Duration, Instant),
}

impl Silence {
    /// The observation that begins now, at this `pulse`.
    fn new(engine: &Engine, pulse: u64) -> Self {
        let thread = thread_of_running_task(engine);
        let start = processor_time(thread).unwrap_or(Duration::MAX);
        Self {
            pulse,
            thread,
            start,
            last: (start, Instant::now()),
        }
    }

    fn is_at(&self, pulse: u64) -> bool {
        self.pulse == pulse
    }

    /// The time for which the task has used no processor: it waits in the kernel. Zero if the
    /// processor time is not known.
    fn time_without_processor(&mut self) -> Duration {
        let now = processor_time(self.thread).unwrap_or(Duration::MAX);
        if now != self.last.0 || now == Duration::MAX {
            self.last = (now, Instant::now());
        }
        self.last.1.elapsed()
    }

    /// The history of the running task if other tasks should continue without it: it still
    /// computes, and has used the processor time that is allowed. Otherwise `None`.
    fn is_endless(&self, engine: &Engine, request: &Request) -> Option<Known> {
        let (known, time) = engine.execution.endless_if_silent()?;
        let watchdog = Duration::from_millis(request.watchdog_ms);
        let used = processor_time(self.thread)?.checked_sub(self.start)?;
        let computes = || Activity::of_running_task(engine) == Activity::Computes;
        (used >= time.min(watchdog) && computes()).then_some(known)
    }
}

/// The processor time of a kernel thread.
fn processor_time(thread: i32) -> Option<Duration> {
    let text = fs::read_to_string(format!("/proc/{thread}/schedstat")).ok()?;
    let nanos = text.split_whitespace().next()?.parse().ok()?;
    Some(Duration::from_nanos(nanos))
}

/// The last operation of the running task, which computes without end.
pub(super) fn endless(engine: &Engine) -> Option<Performed> {
    let execution = &engine.execution;
    let running = execution
        .live_tasks()
        .nth(execution.schedule.current.0 as usize);
    running.map(|(id, task)| Performed {
        task: id,
        op: task.op,
        place: task.site.map(Place::of),
    })
}

/// The child process of a thread, if it has one. It has at most one.
fn only_child_of(thread: i32) -> Option<i32> {
    let children = fs::read_to_string(format!("/proc/{thread}/task/{thread}/children")).ok()?;
    children.split_whitespace().last()?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_kernel_s_words_are_understood() {
        let waits = "73 0x3 0x2 0x0 0x0 0x0 0x0 0x7ffe0 0x7f00\n";
        assert_eq!(Activity::parse(waits), Activity::Waits(73));
        assert_eq!(Activity::parse("running\n"), Activity::Computes);
        // Blocked, but in no system call: by a page fault, for instance.
        assert_eq!(Activity::parse("-1 0x7ffe0 0x7f00\n"), Activity::Unknown);
        assert_eq!(Activity::parse(""), Activity::Unknown);
    }
}
