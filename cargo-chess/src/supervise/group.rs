//! The process group of a test: the test process, and the processes that it starts.
//!
//! The group's leader is reaped only after the group was killed. Until then, its id cannot be given
//! to another process.

use std::io;
use std::process::{Child, Command, ExitStatus};
use std::thread::sleep;
use std::time::{Duration, Instant};

/// The time that a group has to end after a request to end.
const GRACE: Duration = Duration::from_millis(500);

/// The longest interval between two checks whether the process has ended.
const POLL: Duration = Duration::from_millis(5);

/// Makes this process the parent of the orphans of test processes, if the system supports that.
/// Then this process can reap the orphans.
pub(super) fn adopt_orphans() {
    imp::adopt_orphans();
}

/// A running test process.
pub(super) struct Group {
    child: Child,
    status: Option<ExitStatus>,
}

impl Group {
    /// Starts `command` as the leader of its own group, which Ctrl-C on the terminal does not
    /// reach. The addresses of the process are not random, if the kernel permits this; else the
    /// runtime would have to start the test binary a second time.
    ///
    /// Call this on a thread that outlives the process: the system kills a test binary when the
    /// *thread* that started it ends (`PR_SET_PDEATHSIG`).
    pub(super) fn spawn(command: &mut Command) -> io::Result<Self> {
        imp::own_group(command);
        Ok(Self {
            child: imp::with_fixed_addresses(|| command.spawn())?,
            status: None,
        })
    }

    /// The test process. The caller takes its pipes.
    pub(super) fn child(&mut self) -> &mut Child {
        &mut self.child
    }

    /// Whether the process has ended. Does not wait.
    pub(super) fn has_ended(&mut self) -> bool {
        self.status.is_some() || imp::has_ended(&mut self.child)
    }

    /// Waits at most `patience` for the end of the process. Returns whether it has ended.
    pub(super) fn wait_for(&mut self, patience: Duration) -> bool {
        let deadline = Instant::now() + patience;
        // Most processes end at once, so the first checks follow each other quickly.
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

    /// Sends the whole group a request to end, and kills it after a short grace period.
    pub(super) fn terminate(&mut self) -> io::Result<ExitStatus> {
        imp::ask_to_end(&self.child);
        self.wait_for(GRACE);
        self.end()
    }

    /// Kills all processes of the group that still run, and reaps them. Returns the exit status of
    /// the test process.
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
        // An error cannot be handled here. `end` was called on every path without errors.
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
            // If this fails, orphans become children of the init process, which reaps them too.
            let _ = rustix::process::set_child_subreaper(Some(rustix::process::getpid()));
        }
    }

    pub(super) fn own_group(command: &mut Command) {
        command.process_group(0);
    }

    /// Calls `start` on this thread. The processes that it creates have no randomised addresses,
    /// if the kernel permits this: a process inherits the setting of the thread that creates it.
    pub(super) fn with_fixed_addresses<T>(start: impl FnOnce() -> T) -> T {
        #[cfg(target_os = "linux")]
        {
            use nix::sys::personality::{self, Persona};

            let before = personality::get();
            let fixed = before.and_then(|it| personality::set(it | Persona::ADDR_NO_RANDOMIZE));
            let started = start();
            // Other processes, such as compilers, keep their randomised addresses.
            if let Ok(before) = fixed {
                let _ = personality::set(before);
            }
            started
        }
        #[cfg(not(target_os = "linux"))]
        start()
    }

    pub(super) fn has_ended(child: &mut Child) -> bool {
        let look = WaitIdOptions::EXITED | WaitIdOptions::NOHANG | WaitIdOptions::NOWAIT;
        !matches!(waitid(WaitId::Pid(pid(child)), look), Ok(None))
    }

    pub(super) fn ask_to_end(child: &Child) {
        let _ = kill_process_group(pid(child), Signal::TERM);
    }

    pub(super) fn kill(child: &mut Child) {
        // Fails if no process of the group runs any more, which is the goal.
        let _ = kill_process_group(pid(child), Signal::KILL);
    }

    pub(super) fn reap_rest(child: &Child) {
        // If this process adopts orphans, the processes that were killed with the leader are now
        // its children, and are reaped here. If it does not, this loop finds no process.
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

    pub(super) fn with_fixed_addresses<T>(start: impl FnOnce() -> T) -> T {
        start()
    }

    pub(super) fn has_ended(child: &mut Child) -> bool {
        !matches!(child.try_wait(), Ok(None))
    }

    pub(super) fn ask_to_end(_child: &Child) {}

    pub(super) fn kill(child: &mut Child) {
        let _ = child.kill();
    }

    pub(super) fn reap_rest(_child: &Child) {}
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use std::io::Read;
    use std::process::Stdio;

    use nix::sys::personality::{self, Persona};

    use super::*;

    /// The setting of this thread, in the kernel's notation.
    fn own() -> String {
        std::fs::read_to_string("/proc/thread-self/personality").expect("the kernel shows it")
    }

    #[test]
    fn a_test_process_has_fixed_addresses_and_the_tool_keeps_its_own() {
        let before = own();
        let mut command = Command::new("cat");
        command.arg("/proc/self/personality").stdout(Stdio::piped());
        let mut group = Group::spawn(&mut command).expect("a process");
        let mut printed = String::new();
        let output = group.child().stdout.as_mut().expect("a pipe");
        output.read_to_string(&mut printed).expect("text");
        group.end().expect("it has ended");
        assert_eq!(own(), before);
        let setting = u32::from_str_radix(printed.trim(), 16).expect("a number");
        let is_fixed = setting & Persona::ADDR_NO_RANDOMIZE.bits().cast_unsigned() != 0;
        // A sandbox may not permit it. Then the runtime starts the test binary again.
        let fixed = |it| personality::set(it | Persona::ADDR_NO_RANDOMIZE);
        assert_eq!(
            is_fixed,
            personality::get().and_then(fixed).is_ok(),
            "{printed}"
        );
    }
}
