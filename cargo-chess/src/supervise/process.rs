//! Runs one test process to its end: its lines, its silence, its death.

use std::ffi::OsString;
use std::fs::File;
use std::io::{self, BufRead, BufReader, Read};
use std::process::{Command, ExitStatus, Stdio};
use std::sync::mpsc::{Receiver, RecvTimeoutError, SyncSender, sync_channel};
use std::thread;
use std::time::{Duration, Instant};

use camino::Utf8PathBuf;

use super::group::Group;
use crate::build::TestBinary;

/// How often a waiting supervisor looks whether it is to stop.
const TICK: Duration = Duration::from_millis(50);

/// How long a process may take to exit after its last word, and its output to
/// arrive after its exit.
const EXIT_GRACE: Duration = Duration::from_secs(2);

/// The longest line that is kept whole; a program may print without end.
const LONGEST_LINE: u64 = 256 << 20;

/// How much of standard error is kept, from its beginning and from its end.
const STDERR_KEPT: usize = 32 << 10;

/// What to run.
pub(super) struct Invocation {
    program: Utf8PathBuf,
    args: Vec<OsString>,
    directory: Utf8PathBuf,
    env: Vec<(String, String)>,
    /// Whether standard error is kept to be shown with a failure.
    capture_stderr: bool,
    /// What it reads from standard input, if anything.
    stdin: Option<File>,
}

impl Invocation {
    /// `binary` with `args`, where and as `cargo test` would run it.
    pub(super) fn new<S: Into<OsString>>(
        binary: &TestBinary,
        args: impl IntoIterator<Item = S>,
    ) -> Self {
        Self {
            program: binary.path.clone(),
            args: args.into_iter().map(Into::into).collect(),
            directory: binary.package_root.clone(),
            env: binary.env.clone(),
            capture_stderr: true,
            stdin: None,
        }
    }

    /// Adds a variable to the environment.
    pub(super) fn env(mut self, name: &str, value: String) -> Self {
        self.env.push((name.to_owned(), value));
        self
    }

    /// Gives it this file to read, from where the file is.
    pub(super) fn stdin(mut self, file: Option<File>) -> Self {
        self.stdin = file;
        self
    }

    /// Lets standard error go where ours goes.
    pub(super) fn inherit_stderr(mut self, inherit: bool) -> Self {
        self.capture_stderr = !inherit;
        self
    }

    fn command(self) -> Command {
        let mut command = Command::new(&self.program);
        command
            .args(&self.args)
            .current_dir(&self.directory)
            .envs(self.env.iter().map(|(name, value)| (name, value)))
            .stdin(self.stdin.map_or_else(Stdio::null, Stdio::from))
            .stdout(Stdio::piped())
            .stderr(if self.capture_stderr {
                Stdio::piped()
            } else {
                Stdio::inherit()
            });
        command
    }
}

/// Whether to go on watching.
#[derive(PartialEq, Eq)]
pub(super) enum Flow {
    /// More may come.
    Continue,
    /// This was the last word: the process has only to exit.
    Last,
}

/// How a process ended.
#[derive(Debug)]
pub(super) enum End {
    /// By itself.
    Exited(ExitStatus),
    /// It was killed: nothing was heard of it for too long.
    Silent,
    /// It was killed: the supervisor was told to stop.
    Stopped,
}

/// A process that has ended.
#[derive(Debug)]
pub(super) struct Ended {
    /// How.
    pub end: End,
    /// What it wrote to standard error.
    pub stderr: String,
}

/// How long nothing was heard, in ticks that went by while this process could have heard
/// it: a machine that lets the supervisor wait for its turn makes no silence longer.
struct Silence {
    patience: Option<Duration>,
    lasted: Duration,
}

impl Silence {
    fn new(patience: Option<Duration>) -> Self {
        let lasted = Duration::ZERO;
        Self { patience, lasted }
    }

    fn broken(&mut self) {
        self.lasted = Duration::ZERO;
    }

    fn goes_on(&mut self) {
        self.lasted += TICK;
    }

    fn is_too_long(&self) -> bool {
        self.patience.is_some_and(|patience| self.lasted > patience)
    }
}

/// Runs `invocation`, giving each line of its output to `on_line`, until it ends,
/// says its last word, is silent for longer than `patience`, or `stop` says so.
///
/// However it ends, nothing of its process group is left.
pub(super) fn watch(
    invocation: Invocation,
    patience: Option<Duration>,
    stop: &dyn Fn() -> bool,
    on_line: &mut dyn FnMut(&[u8]) -> Flow,
) -> io::Result<Ended> {
    let mut group = Group::spawn(&mut invocation.command())?;
    let lines = group.child().stdout.take().map(read_lines);
    let stderr = group.child().stderr.take().map(read_all);

    let end = match lines {
        Some(lines) => listen(&mut group, &lines, patience, stop, on_line)?,
        None => None,
    };
    let end = match end {
        Some(end) => end,
        None => End::Exited(group.end()?),
    };
    let stderr = stderr.and_then(|stderr| stderr.recv_timeout(EXIT_GRACE).ok());
    Ok(Ended {
        end,
        stderr: stderr.unwrap_or_default(),
    })
}

/// Until the process has ended by itself (none) or was killed.
fn listen(
    group: &mut Group,
    lines: &Receiver<Vec<u8>>,
    patience: Option<Duration>,
    stop: &dyn Fn() -> bool,
    on_line: &mut dyn FnMut(&[u8]) -> Flow,
) -> io::Result<Option<End>> {
    let mut silence = Silence::new(patience);
    loop {
        match lines.recv_timeout(TICK) {
            Ok(line) => {
                silence.broken();
                if on_line(&line) == Flow::Last {
                    group.wait_for(EXIT_GRACE);
                    return Ok(None);
                }
            }
            // The pipe is closed, and mostly the process is gone.
            Err(RecvTimeoutError::Disconnected) if group.wait_for(TICK) => return Ok(None),
            Err(_) if group.has_ended() => {
                // Something that it started holds the pipe open. It is killed with
                // the group; what is in the pipe is still of interest.
                group.end()?;
                let deadline = Instant::now() + EXIT_GRACE;
                while let Ok(line) =
                    lines.recv_timeout(deadline.saturating_duration_since(Instant::now()))
                {
                    if on_line(&line) == Flow::Last {
                        break;
                    }
                }
                return Ok(None);
            }
            Err(_) => silence.goes_on(),
        }
        if stop() {
            group.terminate()?;
            return Ok(Some(End::Stopped));
        }
        if silence.is_too_long() {
            group.terminate()?;
            return Ok(Some(End::Silent));
        }
    }
}

/// The lines of `pipe`, read by a thread that ends with the pipe or the receiver.
fn read_lines(pipe: impl Read + Send + 'static) -> Receiver<Vec<u8>> {
    let (sender, receiver) = sync_channel(64);
    thread::spawn(move || forward_lines(pipe, &sender));
    receiver
}

fn forward_lines(pipe: impl Read, sender: &SyncSender<Vec<u8>>) {
    let mut reader = BufReader::new(pipe);
    loop {
        let mut line = Vec::new();
        match reader
            .by_ref()
            .take(LONGEST_LINE)
            .read_until(b'\n', &mut line)
        {
            Ok(0) | Err(_) => return,
            Ok(_) => {
                while line
                    .last()
                    .is_some_and(|last| matches!(last, b'\n' | b'\r'))
                {
                    line.pop();
                }
                if sender.send(line).is_err() {
                    return;
                }
            }
        }
    }
}

/// All that comes out of `pipe`, or its beginning and end where it is long.
fn read_all(mut pipe: impl Read + Send + 'static) -> Receiver<String> {
    let (sender, receiver) = sync_channel(1);
    thread::spawn(move || {
        let mut kept = Kept::default();
        let mut buffer = [0; 8192];
        while let Ok(n @ 1..) = pipe.read(&mut buffer) {
            kept.push(&buffer[..n]);
        }
        // The watcher may have given up on a pipe that stayed open.
        let _ = sender.send(kept.into_text());
    });
    receiver
}

/// The beginning and the end of a text.
#[derive(Default)]
struct Kept {
    head: Vec<u8>,
    tail: Vec<u8>,
    omitted: usize,
}

impl Kept {
    fn push(&mut self, bytes: &[u8]) {
        let room = STDERR_KEPT.saturating_sub(self.head.len()).min(bytes.len());
        self.head.extend_from_slice(&bytes[..room]);
        self.tail.extend_from_slice(&bytes[room..]);
        if self.tail.len() > 2 * STDERR_KEPT {
            let surplus = self.tail.len() - STDERR_KEPT;
            self.tail.drain(..surplus);
            self.omitted += surplus;
        }
    }

    fn into_text(self) -> String {
        let head = String::from_utf8_lossy(&self.head).into_owned();
        let tail = String::from_utf8_lossy(&self.tail);
        if self.omitted == 0 {
            head + &tail
        } else {
            format!("{head}\n... {} bytes left out ...\n{tail}", self.omitted)
        }
    }
}

#[cfg(test)]
mod tests {
    use std::cell::Cell;

    use super::*;

    /// Listens to a process that says a line of its own accord each `every` ticks, twelve ticks
    /// long and then its last one, with a patience of five: whether it could say that.
    fn can_say_its_last_word(every: u32) -> bool {
        let mut group = Group::spawn(Command::new("sleep").arg("1000")).expect("a process");
        let (sender, lines) = sync_channel(1);
        let ticks = Cell::new(0);
        // The supervisor asks this once in each round, a tick or a line, before it goes on.
        let stop = || {
            ticks.set(ticks.get() + 1);
            let line: &[u8] = match ticks.get() {
                13.. => b"last",
                n if n % every == 0 => b"progress",
                _ => return false,
            };
            sender.send(line.to_vec()).expect("there is room");
            false
        };
        let mut said_last = false;
        let ended = listen(&mut group, &lines, Some(5 * TICK), &stop, &mut |line| {
            said_last = line == b"last";
            if said_last {
                Flow::Last
            } else {
                Flow::Continue
            }
        });
        assert_eq!(ended.expect("it is our child").is_none(), said_last);
        said_last
    }

    #[test]
    fn a_line_is_a_sign_of_life_however_slow_the_machine_is() {
        assert!(can_say_its_last_word(4));
        assert!(!can_say_its_last_word(100));
    }

    #[test]
    fn of_a_long_text_the_beginning_and_the_end_are_kept() {
        let mut kept = Kept::default();
        kept.push(b"first ");
        for _ in 0..100 {
            kept.push(&[b'.'; 4096]);
        }
        kept.push(b" last");
        let text = kept.into_text();
        assert!(text.starts_with("first "));
        assert!(text.ends_with(" last"));
        assert!(text.contains("bytes left out"));
        assert!(text.len() < 4 * STDERR_KEPT);
    }

    #[test]
    fn a_short_text_is_kept_whole() {
        let mut kept = Kept::default();
        kept.push("gr\u{fc}n".as_bytes());
        assert_eq!(kept.into_text(), "gr\u{fc}n");
    }
}
