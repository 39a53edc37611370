//! A running command: signals to it, and its end.

use std::fs;
use std::io::Read;
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::path::Path;
use std::process::{Child, Command};
use std::sync::atomic::AtomicBool;
use std::sync::{Arc, Once};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process, kill_process_group};
use signal_hook::consts::SIGINT;
use signal_hook::flag;

use crate::Run;

/// The interval at which a waiting test checks its condition.
const TICK: Duration = Duration::from_millis(5);

/// Makes this process catch Ctrl-C. The signal still ends this process. If this process ignored
/// Ctrl-C, as a background job of a shell script does, its child processes would also ignore it.
/// Child processes do not inherit the treatment of a signal that is caught.
fn listen_to_interrupts() {
    static LISTENS: Once = Once::new();
    LISTENS.call_once(|| {
        let is_default = Arc::new(AtomicBool::new(true));
        flag::register_conditional_default(SIGINT, is_default).expect("it can be caught");
    });
}

/// A command that runs in its own process group.
pub struct Process {
    child: Child,
    description: String,
    stdout: Option<JoinHandle<String>>,
    stderr: Option<JoinHandle<String>>,
}

impl Process {
    pub(crate) fn start(mut command: Command) -> Self {
        listen_to_interrupts();
        let description = format!("{command:?}");
        let mut child = command
            .process_group(0)
            .spawn()
            .expect("the command starts");
        let stdout = child.stdout.take().map(read);
        let stderr = child.stderr.take().map(read);
        Self {
            child,
            description,
            stdout,
            stderr,
        }
    }

    /// Returns the process id.
    pub fn id(&self) -> u32 {
        self.child.id()
    }

    /// Sends SIGINT to the whole process group, as Ctrl-C on a terminal does.
    pub fn interrupt(&self) {
        // The process may have ended by itself.
        let _gone = kill_process_group(self.pid(), Signal::INT);
    }

    /// Sends SIGHUP to the whole process group, as the end of a terminal does.
    pub fn hang_up(&self) {
        let _gone = kill_process_group(self.pid(), Signal::HUP);
    }

    /// Sends SIGTERM to the tool alone.
    pub fn terminate(&self) {
        let _gone = kill_process(self.pid(), Signal::TERM);
    }

    /// Sends SIGKILL to the tool alone. Its child processes must notice that it has ended.
    pub fn kill(&self) {
        let _gone = kill_process(self.pid(), Signal::KILL);
    }

    /// Waits until `condition` holds. Returns `false` if the process ends first.
    pub fn wait_until(&mut self, mut condition: impl FnMut() -> bool) -> bool {
        loop {
            if condition() {
                return true;
            }
            if self.child.try_wait().expect("it is our child").is_some() {
                return condition();
            }
            thread::sleep(TICK);
        }
    }

    /// Waits for the end of the process. Returns the peak memory of the largest of its
    /// descendants, in bytes. The number includes memory that several processes share.
    pub fn peak_memory(&mut self) -> u64 {
        let (id, mut peak) = (self.id(), 0);
        self.wait_until(|| {
            let below = descendants(id);
            peak = below
                .iter()
                .map(|(id, _)| peak_of(*id))
                .fold(peak, u64::max);
            false
        });
        peak
    }

    /// Waits for the end of the process. If the process has not ended after `patience`, kills its
    /// whole group and panics.
    pub fn finish(self, patience: Duration) -> Run {
        let run = self.finish_or_kill(patience);
        assert!(
            !run.killed,
            "{} did not end: {}",
            run.description, run.stderr
        );
        run
    }

    /// Waits for the end of the process. If the process has not ended after `patience`, kills its
    /// whole group.
    pub fn finish_or_kill(mut self, patience: Duration) -> Run {
        let deadline = Instant::now() + patience;
        let mut killed = false;
        let status = loop {
            if let Some(status) = self.child.try_wait().expect("it is our child") {
                break status;
            }
            if Instant::now() > deadline && !killed {
                killed = true;
                let _gone = kill_process_group(self.pid(), Signal::KILL);
            }
            thread::sleep(TICK);
        };
        let text = |reader: Option<JoinHandle<String>>| {
            reader.map_or_else(String::new, |reader| {
                reader.join().expect("reading does not panic")
            })
        };
        Run {
            code: status.code(),
            signal: status.signal(),
            killed,
            stdout: text(self.stdout.take()),
            stderr: text(self.stderr.take()),
            description: self.description,
        }
    }

    fn pid(&self) -> Pid {
        Pid::from_child(&self.child)
    }
}

fn read(mut pipe: impl Read + Send + 'static) -> JoinHandle<String> {
    thread::spawn(move || {
        let mut bytes = Vec::new();
        pipe.read_to_end(&mut bytes).expect("the pipe can be read");
        String::from_utf8_lossy(&bytes).into_owned()
    })
}

/// Returns the peak memory of a process in bytes, or 0 if it has ended.
fn peak_of(id: u32) -> u64 {
    let status = fs::read_to_string(format!("/proc/{id}/status")).unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
    let kibibytes = line.and_then(|line| line.trim().strip_suffix(" kB")?.parse().ok());
    kibibytes.map_or(0, |count: u64| count * 1024)
}

/// Whether a process with this command line runs a test.
///
/// A child has its parent's command line until it executes another program, so the name of a test
/// in a child's command line does not count.
pub fn is_test_process(line: &str) -> bool {
    let program = line.split(' ').next().unwrap_or_default();
    program.contains("/chess/build/") && line.contains("--exact")
}

/// Waits until no program below `directory` runs.
///
/// # Panics
/// If a program still runs after ten seconds: it would probably never end.
pub fn assert_none_is_left(directory: &Path) {
    let programs = || {
        let entries = fs::read_dir("/proc").expect("there is a /proc");
        let links = entries.filter_map(|entry| fs::read_link(entry.ok()?.path().join("exe")).ok());
        links.filter(|program| program.starts_with(directory))
    };
    let start = Instant::now();
    while let Some(program) = programs().next() {
        let waited = start.elapsed();
        assert!(
            waited < Duration::from_secs(10),
            "{} still runs",
            program.display()
        );
        thread::sleep(Duration::from_millis(10));
    }
}

/// Returns the processes below process `root` that are running, with their command lines.
pub fn descendants(root: u32) -> Vec<(u32, String)> {
    let processes: Vec<(u32, u32)> = fs::read_dir("/proc")
        .expect("there is a /proc")
        .filter_map(|entry| entry.ok()?.file_name().to_str()?.parse().ok())
        .filter_map(|id: u32| {
            let stat = fs::read_to_string(format!("/proc/{id}/stat")).ok()?;
            // The name of the process, in parentheses, may contain any character.
            let parent = stat.rsplit_once(')')?.1.split_whitespace().nth(1)?;
            Some((id, parent.parse().ok()?))
        })
        .collect();
    let mut found = vec![root];
    let mut next = 0;
    while let Some(&parent) = found.get(next) {
        found.extend(
            processes
                .iter()
                .filter(|(_, of)| *of == parent)
                .map(|(id, _)| *id),
        );
        next += 1;
    }
    found
        .into_iter()
        .skip(1)
        .map(|id| {
            let line = fs::read(format!("/proc/{id}/cmdline")).unwrap_or_default();
            (id, String::from_utf8_lossy(&line).replace('\0', " "))
        })
        .collect()
}
