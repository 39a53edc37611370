//! Ctrl-C: a flag that everything which waits looks at.

use std::process::Child;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{RecvTimeoutError, Sender, channel};
use std::time::Duration;
use std::{fs, thread};

use nix::sys::signal::{SigSet, SigmaskHow};
use rustix::process::{Pid, PidfdFlags, Signal, pidfd_open, pidfd_send_signal};
use signal_hook::consts::{SIGCHLD, SIGHUP, SIGINT, SIGTERM};
use signal_hook::flag;

/// How often a child is looked at that is to end with the run.
const TICK: Duration = Duration::from_millis(20);

/// Whether the user asked the run to end.
#[derive(Clone, Debug, Default)]
pub struct Interrupt {
    requested: Arc<AtomicBool>,
    terminated: Arc<AtomicBool>,
}

impl Interrupt {
    /// Takes over Ctrl-C and termination signals: from now on they only set flags. Those that
    /// whoever starts this program has it ignore stay ignored: `nohup` does so with SIGHUP, a
    /// shell with SIGINT in what a script runs in the background.
    ///
    /// Call it once a process. The signal's handler itself sets the flag: a child
    /// that the same Ctrl-C ends must not be seen to fail before that.
    pub fn install() -> Self {
        let interrupt = Self::default();
        let register = |signal, flag: &Arc<AtomicBool>| {
            flag::register(signal, flag.clone()).expect("these are signals that can be caught");
        };
        // A signal has its handler before it is known there what to do: one that came between
        // would be lost, and neither end the process nor set a flag. So all wait until then.
        let before = SigSet::all().thread_swap_mask(SigmaskHow::SIG_BLOCK);
        let before = before.expect("these arguments are valid");
        let ignored = ignored_signals();
        let wanted = |signal: &i32| ignored >> (signal - 1) & 1 == 0;
        for signal in [SIGINT, SIGTERM, SIGHUP].into_iter().filter(wanted) {
            register(signal, &interrupt.requested);
        }
        for signal in [SIGTERM, SIGHUP].into_iter().filter(wanted) {
            register(signal, &interrupt.terminated);
        }
        // Who starts this program may ignore the end of children, and nobody could wait for one then.
        register(SIGCHLD, &Arc::default());
        before.thread_set_mask().expect("it was the mask");
        interrupt
    }

    /// Asks the run to end.
    pub fn request(&self) {
        self.requested.store(true, Ordering::Relaxed);
    }

    /// Whether the run is to end.
    pub fn requested(&self) -> bool {
        self.requested.load(Ordering::Relaxed)
    }

    /// Until the result is dropped, the end of the run ends `child` with SIGTERM: also where
    /// the signal came to this process alone, or before there was a child.
    pub(crate) fn ending(&self, child: &Child) -> Ending {
        let (dropped, is_dropped) = channel();
        let interrupt = self.clone();
        let id = Pid::from_child(child);
        // Unlike the number of a process, a descriptor is never that of another one. An old
        // kernel has none: there only what the terminal sends ends the child.
        if let Ok(process) = pidfd_open(id, PidfdFlags::empty()) {
            thread::spawn(move || {
                while is_dropped.recv_timeout(TICK) == Err(RecvTimeoutError::Timeout) {
                    if interrupt.requested() {
                        let _has_ended = pidfd_send_signal(&process, Signal::TERM);
                        return;
                    }
                }
            });
        }
        Ending { _dropped: dropped }
    }

    /// Whether it is to end though Ctrl-C is a debugger's.
    pub(crate) fn terminated(&self) -> bool {
        self.terminated.load(Ordering::Relaxed)
    }

    /// Forgets every Ctrl-C so far: it was a debugger's.
    pub(crate) fn forget(&self) {
        self.requested.store(self.terminated(), Ordering::Relaxed);
    }
}

/// A child is ended with the run as long as there is this.
pub(crate) struct Ending {
    _dropped: Sender<()>,
}

/// The signals that this process ignores: bit 0 is signal 1. None where the system does not say.
fn ignored_signals() -> u64 {
    let status = fs::read_to_string("/proc/self/status").unwrap_or_default();
    let mut lines = status.lines();
    let mask = lines.find_map(|line| line.strip_prefix("SigIgn:"));
    mask.and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok())
        .unwrap_or(0)
}
