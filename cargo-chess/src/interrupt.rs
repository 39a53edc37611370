//! Ctrl-C and termination signals: they set a flag, which all waiting code checks. After an
//! interrupt, `supervise/run.rs` reports the results so far.

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

/// The interval between two checks of a child that must end with the run.
const TICK: Duration = Duration::from_millis(20);

/// The user's request to end the run.
#[derive(Clone, Debug, Default)]
pub(crate) struct Interrupt {
    requested: Arc<AtomicBool>,
    terminated: Arc<AtomicBool>,
}

impl Interrupt {
    /// Handles Ctrl-C and termination signals: from now on, they only set flags. Signals that were
    /// ignored when this program started stay ignored: `nohup` ignores SIGHUP, and a shell ignores
    /// SIGINT in background commands of a script.
    ///
    /// Call it once per process. The signal's handler itself sets the flag: the same Ctrl-C may end
    /// a child, and the flag must be set before this process detects the end of the child.
    pub(crate) fn install() -> Self {
        let interrupt = Self::default();
        let register = |signal, flag: &Arc<AtomicBool>| {
            flag::register(signal, flag.clone()).expect("these are signals that can be caught");
        };
        // A signal gets its handler before the handler's action is registered. A signal between
        // these two would be lost: it would neither end the process nor set a flag. So all signals
        // are blocked until both are done.
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
        // The parent process may have set SIGCHLD to be ignored. Then this process could not wait
        // for a child.
        register(SIGCHLD, &Arc::default());
        before.thread_set_mask().expect("it was the mask");
        interrupt
    }

    /// Requests the end of the run.
    #[cfg(test)]
    pub(crate) fn request(&self) {
        self.requested.store(true, Ordering::Relaxed);
    }

    /// Whether the run should end.
    pub(crate) fn requested(&self) -> bool {
        self.requested.load(Ordering::Relaxed)
    }

    /// Returns a guard. Until the guard is dropped, a request to end the run ends `child` with
    /// SIGTERM. This also holds if the signal was sent only to this process, or before the child
    /// existed.
    pub(crate) fn ending(&self, child: &Child) -> Ending {
        let (dropped, is_dropped) = channel();
        let interrupt = self.clone();
        let id = Pid::from_child(child);
        // Unlike a process id, a descriptor never refers to another process. An old kernel has no
        // such descriptors. On such a kernel, only the signals from the terminal end the child.
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

    /// Whether a signal other than Ctrl-C requested the end of the run. Under a debugger, Ctrl-C
    /// does not end the run.
    pub(crate) fn terminated(&self) -> bool {
        self.terminated.load(Ordering::Relaxed)
    }

    /// Clears every Ctrl-C so far, because it was meant for a debugger.
    pub(crate) fn forget(&self) {
        self.requested.store(self.terminated(), Ordering::Relaxed);
    }
}

/// While this exists, the end of the run ends a child.
pub(crate) struct Ending {
    _dropped: Sender<()>,
}

/// The set of signals that this process ignores: bit 0 is signal 1. The set is empty if the system
/// does not report it.
fn ignored_signals() -> u64 {
    let status = fs::read_to_string("/proc/self/status").unwrap_or_default();
    let mut lines = status.lines();
    let mask = lines.find_map(|line| line.strip_prefix("SigIgn:"));
    mask.and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok())
        .unwrap_or(0)
}
