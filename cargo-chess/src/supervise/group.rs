//! A test process with everything that it starts: its process group.
//!
//! The group's leader is reaped only after the group was killed: until then its
//! id cannot be given to another process.

use std::io;
use std::process::{Child, Command, ExitStatus};
use std::thread::sleep;
use std::time::{Duration, Instant};

/// How long a group may take to end after it was asked to.
const GRACE: Duration = Duration::from_millis(500);

/// How often a group that is to end is looked at.
const POLL: Duration = Duration::from_millis(5);

/// Lets orphans of test processes become children of this one, which reaps
/// them, where the system can do that.
pub(super) fn adopt_orphans() {
    imp::adopt_orphans();
}

/// A running test process.
pub(super) struct Group {
    child: Child,
    status: Option<ExitStatus>,
}

impl Group {
    /// Starts `command` as the leader of a group of its own, which Ctrl-C on
    /// the terminal does not reach.
    ///
    /// A test binary asks the system to be killed when the *thread* that started
    /// it ends: call this on a thread that outlives the process.
    pub(super) fn spawn(command: &mut Command) -> io::Result<Self> {
        imp::own_group(command);
        Ok(Self {
            child: command.spawn()?,
            status: None,
        })
    }

    /// The process itself, for its pipes.
    pub(super) fn child(&mut self) -> &mut Child {
        &mut self.child
    }

    /// Whether the process has ended. Does not wait.
    pub(super) fn has_ended(&mut self) -> bool {
        self.status.is_some() || imp::has_ended(&mut self.child)
    }

    /// Waits until the process has ended, at most for `patience`.
    pub(super) fn wait_for(&mut self, patience: Duration) -> bool {
        let deadline = Instant::now() + patience;
        // Most end at once: the first looks come quickly one after another.
        let mut pause = Duration::from_micros(50);
        while !self.has_ended() {
            let now = Instant::now();
            if now >= deadline {
                return false;
            }
            sleep(pause.min(deadline - now));
            pause = (pause * 2).min(POLL);
        }
        true
    }

    /// Asks the whole group to end, and after a short grace ends it.
    pub(super) fn terminate(&mut self) -> io::Result<ExitStatus> {
        imp::ask_to_end(&self.child);
        self.wait_for(GRACE);
        self.end()
    }

    /// Ends whatever of the group still runs, and reaps it.
    pub(super) fn end(&mut self) -> io::Result<ExitStatus> {
        if let Some(status) = self.status {
            return Ok(status);
        }
        imp::kill(&mut self.child);
        let status = self.child.wait()?;
        self.status = Some(status);
        imp::reap_rest(&self.child);
        Ok(status)
    }
}

impl Drop for Group {
    fn drop(&mut self) {
        // Nothing can be done about an error here; `end` was called on every
        // path that ends well.
        let _ = self.end();
    }
}

#[cfg(unix)]
mod imp {
    use std::os::unix::process::CommandExt;
    use std::process::{Child, Command};

    use rustix::process::{
        Pid, Signal, WaitId, WaitIdOptions, WaitOptions, kill_process_group, waitid, waitpgid,
    };

    pub(super) fn adopt_orphans() {
        #[cfg(target_os = "linux")]
        {
            // Without it orphans go to the init process, which reaps them too.
            let _ = rustix::process::set_child_subreaper(Some(rustix::process::getpid()));
        }
    }

    pub(super) fn own_group(command: &mut Command) {
        command.process_group(0);
    }

    pub(super) fn has_ended(child: &mut Child) -> bool {
        let look = WaitIdOptions::EXITED | WaitIdOptions::NOHANG | WaitIdOptions::NOWAIT;
        !matches!(waitid(WaitId::Pid(pid(child)), look), Ok(None))
    }

    pub(super) fn ask_to_end(child: &Child) {
        let _ = kill_process_group(pid(child), Signal::TERM);
    }

    pub(super) fn kill(child: &mut Child) {
        // Fails where nothing of the group runs any more, which is what is wanted.
        let _ = kill_process_group(pid(child), Signal::KILL);
    }

    pub(super) fn reap_rest(child: &Child) {
        // Those killed with the leader are ours by now, if orphans are adopted;
        // else this finds none.
        while let Ok(Some(_)) = waitpgid(pid(child), WaitOptions::empty()) {}
    }

    fn pid(child: &Child) -> Pid {
        Pid::from_child(child)
    }
}

#[cfg(not(unix))]
mod imp {
    use std::process::{Child, Command};

    pub(super) fn adopt_orphans() {}

    pub(super) fn own_group(_command: &mut Command) {}

    pub(super) fn has_ended(child: &mut Child) -> bool {
        !matches!(child.try_wait(), Ok(None))
    }

    pub(super) fn ask_to_end(_child: &Child) {}

    pub(super) fn kill(child: &mut Child) {
        let _ = child.kill();
    }

    pub(super) fn reap_rest(_child: &Child) {}
}
