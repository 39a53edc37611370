//! A replay under a debugger. The debugger has the terminal until the replay ends.

mod debug_info;

use std::cell::RefCell;
use std::env;
use std::ffi::OsString;
use std::fs;
use std::io;
use std::path::PathBuf;
use std::process::{Child, Command};
use std::thread;
use std::time::Duration;

use camino::{Utf8Path, Utf8PathBuf};

use crate::cli::{BuildArgs, Debugger, MessageFormat, ReplayArgs};
use crate::config::Backend;
use crate::error::{Error, Result};
use crate::events::Kind;
use crate::interrupt::Interrupt;
use crate::protocol::Line;
use crate::schedule::Schedule;
use crate::shell::Shell;
use crate::supervise::{ReplayObserver, ReplayResult, Replayed, Stage};

/// The time limit of a replay in a debugger. It is too long to have an effect.
const NEVER: Duration = Duration::from_hours(24 * 365);

/// The interval between two checks of a debugger that has the terminal.
const LOOK: Duration = Duration::from_millis(20);

impl Debugger {
    fn program(self) -> &'static str {
        match self {
            Self::Gdb => "gdb",
            Self::Lldb => "lldb",
        }
    }

    /// The names and the contents of the files with the debugger's commands. The debugger reads
    /// the first file, whose commands may use the other files.
    fn files(self) -> &'static [(&'static str, &'static str)] {
        match self {
            Self::Gdb => &[("chess.gdb", include_str!("chess.gdb"))],
            Self::Lldb => &[
                ("chess.lldb", include_str!("chess.lldb")),
                ("here.lldb", include_str!("here.lldb")),
                ("next-switch.lldb", include_str!("next-switch.lldb")),
                ("tasks.lldb", include_str!("tasks.lldb")),
            ],
        }
    }

    /// Adds the arguments to `command` that make the debugger read its commands from `dir`. For
    /// gdb, also makes it load rustc's scripts in `rust`, which print Rust's values.
    fn read(self, command: &mut Command, dir: &Utf8Path, rust: &Utf8Path) {
        let commands = dir.join(self.files()[0].0);
        match self {
            Self::Gdb => command
                .env("PYTHONPATH", rust)
                .args(["--quiet", "--directory", rust.as_str()])
                .arg("--init-eval-command")
                .arg(format!("add-auto-load-safe-path {rust}"))
                .args(["--command", commands.as_str()]),
            Self::Lldb => command
                .args([
                    "--one-line-before-file",
                    "settings set interpreter.echo-commands false",
                ])
                .args(["--source-quietly", "--source", commands.as_str()]),
        };
    }
}

/// An installed debugger.
pub(super) struct Installed {
    debugger: Debugger,
    program: PathBuf,
    args: Vec<OsString>,
}

/// Finds the debugger that `args` name; `None` if they name none. Fails if it is not installed, or
/// if its output would be mixed with events.
pub(super) fn find(args: &ReplayArgs) -> Result<Option<Installed>> {
    let Some(debugger) = args.debugger else {
        return Ok(None);
    };
    if args.output.message_format == MessageFormat::Json {
        return Err(Error::Usage(
            "standard output cannot have both JSON events and the output of a debugger: leave out \
             --message-format json or --debugger"
                .to_owned(),
        ));
    }
    let program = debugger.program();
    let path = env::var_os("PATH").unwrap_or_default();
    let mut places = env::split_paths(&path).map(|dir| dir.join(program));
    if let Some(program) = places.find(|place| place.is_file()) {
        let args = args.debugger_args.clone();
        return Ok(Some(Installed {
            debugger,
            program,
            args,
        }));
    }
    let other = match debugger {
        Debugger::Gdb => Debugger::Lldb,
        Debugger::Lldb => Debugger::Gdb,
    };
    Err(Error::Unsupported(format!(
        "there is no program `{program}` in PATH.\n\
         Install it (on Debian and Ubuntu: apt install {program}), or use --debugger {}.",
        other.program()
    )))
}

impl Installed {
    /// Fails if the binary of `stage`, built with `args`, has no information for the debugger.
    pub(super) fn check(&self, stage: &Stage<'_>, args: &BuildArgs) -> Result<()> {
        debug_info::check(&stage.binary, args, self.debugger.program())
    }
}

/// Runs `schedule` under a debugger. Tasks run on threads, which debuggers support best. First,
/// the schedule runs without a debugger. If the schedule no longer fits the program, no debugger
/// is started.
pub(super) fn replay(
    stage: &mut Stage<'_>,
    schedule: &Schedule,
    installed: &Installed,
    shell: Shell,
    interrupt: &Interrupt,
) -> Result<Replayed> {
    let own = stage.exploration.clone();
    stage.exploration.backend = Backend::Threads;
    let alone = stage.replay(schedule, interrupt)?;
    let result = alone.result(schedule);
    if let ReplayResult::Stale(_) = result {
        return Ok(alone);
    }
    stage.exploration.watchdog = NEVER;
    stage.exploration.time = stage.exploration.time.map(|_| NEVER);
    let tasks = alone.verdict.finished.counts.threads;
    let session = Session::new(stage.session, installed, tasks)?;
    shell.status(
        "Debugging",
        format!(
            "{} in {}; commands: `continue` (to the next preemption or failure), `run-to-next-switch`, `tasks`",
            schedule.test,
            installed.debugger.program()
        ),
    );
    let stop = || interrupt.terminated() || session.is_lost();
    let shown = stage.replay_live(schedule, &stop, Some(&session));
    session.end(interrupt)?;
    let mut shown = shown?;
    if shown.result(schedule) != result && is_killed(&shown) {
        return Err(Error::Interrupted);
    }
    shown.exploration = own;
    Ok(shown)
}

/// The signal by which a debugger ends the process.
const SIGKILL: i32 = 9;

/// Whether the debugger or the user has killed the process.
fn is_killed(replayed: &Replayed) -> bool {
    let finished = &replayed.verdict.finished;
    finished.kind == Some(Kind::Crash) && finished.signal == Some(SIGKILL)
}

/// A debugger for one replay.
struct Session<'a> {
    installed: &'a Installed,
    /// The directory of the debugger's commands.
    dir: Utf8PathBuf,
    /// The directory of rustc's scripts that print Rust's values.
    rust: Utf8PathBuf,
    /// The number of tasks that the replay will have.
    tasks: u32,
    state: RefCell<State>,
}

#[derive(Default)]
struct State {
    /// The started debugger, or the error of its start.
    started: Option<io::Result<Child>>,
    /// Whether the debugger has attached to the process and set its breakpoints.
    has_attached: bool,
}

impl<'a> Session<'a> {
    /// Creates the session, and the directory of the debugger's commands.
    fn new(
        workspace: &crate::session::Session,
        installed: &'a Installed,
        tasks: u32,
    ) -> Result<Self> {
        let dir = workspace.plan.chess_dir.join("debugger");
        fs::create_dir_all(&dir).map_err(Error::io("create the directory", &dir))?;
        Ok(Self {
            installed,
            dir,
            rust: workspace.toolchain.sysroot.join("lib/rustlib/etc"),
            tasks,
            state: RefCell::default(),
        })
    }

    /// Writes the debugger's commands, and starts the debugger, which attaches to `process`.
    fn start(&self, process: u32) -> io::Result<Child> {
        let Installed {
            debugger,
            args,
            program,
        } = self.installed;
        for (name, text) in debugger.files() {
            let text = text.replace("{DIRECTORY}", self.dir.as_str());
            let text = text.replace("{PROCESS}", &process.to_string());
            fs::write(self.dir.join(name), text)?;
        }
        let mut command = Command::new(program);
        debugger.read(&mut command, &self.dir, &self.rust);
        command.args(args).spawn()
    }

    /// Whether the debugger did not start, or ended before it attached to the process.
    fn is_lost(&self) -> bool {
        let state = &mut *self.state.borrow_mut();
        match &mut state.started {
            Some(Ok(child)) => !state.has_attached && !matches!(child.try_wait(), Ok(None)),
            Some(Err(_)) => true,
            None => false,
        }
    }

    /// Waits for the end of the debugger.
    fn end(self, interrupt: &Interrupt) -> Result<()> {
        let is_lost = self.is_lost();
        let program = self.installed.program.display();
        let mut child = match self.state.into_inner().started {
            None => return Ok(()),
            Some(Err(error)) => {
                return Err(Error::Unsupported(format!(
                    "could not start {program}: {error}"
                )));
            }
            Some(Ok(child)) => child,
        };
        while let Ok(None) = child.try_wait() {
            if interrupt.terminated() {
                let _ = child.kill();
            }
            thread::sleep(LOOK);
        }
        if interrupt.terminated() {
            return Err(Error::Interrupted);
        }
        // The user pressed Ctrl-C for the debugger, and not for this program.
        interrupt.forget();
        if is_lost {
            return Err(Error::Unsupported(format!(
                "{program} ended before it attached to the test process; its output above has the \
                 reason.\n\
                 If attaching is forbidden, write 0 or 1 to /proc/sys/kernel/yama/ptrace_scope, or \
                 start the container with --cap-add SYS_PTRACE."
            )));
        }
        Ok(())
    }
}

impl ReplayObserver for Session<'_> {
    fn request(&self) -> String {
        format!("debugger={}\n", self.tasks)
    }

    fn observe(&self, line: Line) {
        let state = &mut *self.state.borrow_mut();
        match line {
            Line::Debuggee { process } if state.started.is_none() => {
                state.started = Some(self.start(process));
            }
            Line::Debugging => state.has_attached = true,
            _ => {}
        }
    }
}
