//! Runs one test process to its end: passes on the lines of its output, and ends a process that is
//! silent for too long.

use std::ffi::OsString;
use std::fs::File;
use std::io::{self, BufRead, BufReader, Read};
use std::os::fd::{AsFd, OwnedFd};
use std::process::{Command, ExitStatus, Stdio};
use std::sync::mpsc::{Receiver, RecvTimeoutError, SyncSender, sync_channel};
use std::thread;
use std::time::{Duration, Instant};

use camino::Utf8PathBuf;
use rustix::event::{PollFd, PollFlags, Timespec, poll};

use super::group::Group;
use crate::build::TestBinary;

/// The interval at which a waiting supervisor checks whether it should stop.
const TICK: Duration = Duration::from_millis(50);

/// The time in which a process must exit after its last message. Also the time for which a pipe is
/// read after the end of the process group, if another process has it open for writing.
const EXIT_GRACE: Duration = Duration::from_secs(2);

/// The maximum length of a line in bytes. A longer line is split, because a program may print
/// without end.
const LONGEST_LINE: u64 = 256 << 20;

/// The number of bytes that are kept from the beginning of standard error. Up to twice as many are
/// kept from its end.
const STDERR_KEPT: usize = 32 << 10;

/// The program to run, with its arguments and environment.
pub(super) struct Invocation {
    program: Utf8PathBuf,
    args: Vec<OsString>,
    directory: Utf8PathBuf,
    env: Vec<(String, String)>,
    /// Whether standard error is kept, to print it with a failure.
    capture_stderr: bool,
    /// The standard input of the process, if there is one.
    stdin: Option<File>,
}

impl Invocation {
    /// Creates an invocation of `binary` with `args`, in the directory and environment that `cargo
    /// test` would use.
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

    /// Sets the standard input of the process. The process reads from the file's current position.
    pub(super) fn stdin(mut self, file: Option<File>) -> Self {
        self.stdin = file;
        self
    }

    /// If `inherit` is true, lets the process inherit this process's standard error.
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

/// Whether a process may print more lines.
#[derive(PartialEq, Eq)]
pub(super) enum Flow {
    /// More lines may come.
    Continue,
    /// This line was the last message. Only the exit of the process is still to come.
    Last,
}

/// The end of a process.
#[derive(Debug)]
pub(super) enum End {
    /// The process ended by itself, or was killed because it did not exit after its last message.
    Exited(ExitStatus),
    /// The process was killed, because it printed nothing for too long.
    Silent,
    /// The process was killed, because the supervisor should stop.
    Stopped,
}

/// A process that has ended.
#[derive(Debug)]
pub(super) struct Ended {
    /// The kind of the end.
    pub end: End,
    /// The text that the process wrote to standard error.
    pub stderr: String,
}

/// The current silence of a process. Its duration is the number of [`TICK`]s without output. If a
/// busy machine delays the supervisor, the delay does not count.
struct Silence {
    patience: Option<Duration>,
    lasted: Duration,
}

impl Silence {
    fn new(patience: Option<Duration>) -> Self {
        let lasted = Duration::ZERO;
        Self { patience, lasted }
    }

    fn reset(&mut self) {
        self.lasted = Duration::ZERO;
    }

    fn extend(&mut self) {
        self.lasted += TICK;
    }

    fn is_too_long(&self) -> bool {
        self.patience.is_some_and(|patience| self.lasted > patience)
    }
}

/// Runs `invocation` and passes each line of its output to `on_line`. Returns when the process has
/// ended, `on_line` has returned [`Flow::Last`], the process has been silent for longer than
/// `patience`, or `stop` returns true.
///
/// When this function returns, all processes of the process's group have ended.
pub(super) fn watch(
    invocation: Invocation,
    patience: Option<Duration>,
    stop: &dyn Fn() -> bool,
    on_line: &mut dyn FnMut(&[u8]) -> Flow,
) -> io::Result<Ended> {
    let mut group = Group::spawn(&mut invocation.command())?;
    let lines = group.child().stdout.take().map(read_lines).transpose()?;
    let stderr = group.child().stderr.take().map(read_all).transpose()?;

    let end = match lines {
        Some(lines) => listen(&mut group, &lines, patience, stop, on_line)?,
        None => None,
    };
    let end = match end {
        Some(end) => end,
        None => End::Exited(group.end()?),
    };
    let stderr = stderr.and_then(|stderr| stderr.rest(Instant::now() + EXIT_GRACE));
    Ok(Ended {
        end,
        stderr: stderr.unwrap_or_default(),
    })
}

/// Passes each line to `on_line`. Returns `None` if the process ended by itself or `on_line`
/// returned [`Flow::Last`]. In the other cases, ends the process and returns the reason.
fn listen(
    group: &mut Group,
    lines: &Output<Vec<u8>>,
    patience: Option<Duration>,
    stop: &dyn Fn() -> bool,
    on_line: &mut dyn FnMut(&[u8]) -> Flow,
) -> io::Result<Option<End>> {
    let mut silence = Silence::new(patience);
    loop {
        match lines.received.recv_timeout(TICK) {
            Ok(line) => {
                silence.reset();
                if on_line(&line) == Flow::Last {
                    group.wait_for(EXIT_GRACE);
                    return Ok(None);
                }
            }
            // The pipe is closed, and usually the process has ended.
            Err(RecvTimeoutError::Disconnected) if group.wait_for(TICK) => return Ok(None),
            Err(_) if group.has_ended() => {
                // A process that the test started holds the pipe open. It is killed with the group,
                // but the contents of the pipe are still read.
                group.end()?;
                let deadline = Instant::now() + EXIT_GRACE;
                while let Some(line) = lines.rest(deadline) {
                    if on_line(&line) == Flow::Last {
                        break;
                    }
                }
                return Ok(None);
            }
            Err(_) => silence.extend(),
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

/// The contents of a pipe of a process, which a thread reads.
struct Output<T> {
    received: Receiver<T>,
    pipe: OwnedFd,
}

impl<T> Output<T> {
    /// Returns the next part of the contents, or `None` at their end. Called after the end of the
    /// process group. On a busy machine, the thread may read the last parts long after the
    /// processes have written them. The limit `deadline` is only for a pipe that another process
    /// holds open.
    fn rest(&self, deadline: Instant) -> Option<T> {
        loop {
            match self.received.recv_timeout(TICK) {
                Ok(part) => return Some(part),
                Err(RecvTimeoutError::Timeout) if Instant::now() < deadline || self.ends() => {}
                Err(_) => return None,
            }
        }
    }

    /// Whether no process has the pipe open for writing, so that the thread will reach its end.
    fn ends(&self) -> bool {
        let mut polled = [PollFd::new(&self.pipe, PollFlags::IN)];
        poll(&mut polled, Some(&Timespec::default())).is_ok()
            && polled[0].revents().contains(PollFlags::HUP)
    }
}

/// Returns the lines of `pipe`. A thread reads the lines until the pipe or the receiver is closed.
fn read_lines(pipe: impl AsFd + Read + Send + 'static) -> io::Result<Output<Vec<u8>>> {
    let (sender, received) = sync_channel(64);
    let second = pipe.as_fd().try_clone_to_owned()?;
    thread::spawn(move || forward_lines(pipe, &sender));
    Ok(Output {
        received,
        pipe: second,
    })
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

/// Returns the whole contents of `pipe`, or their beginning and end if they are long.
fn read_all(mut pipe: impl AsFd + Read + Send + 'static) -> io::Result<Output<String>> {
    let (sender, received) = sync_channel(1);
    let second = pipe.as_fd().try_clone_to_owned()?;
    thread::spawn(move || {
        let mut kept = Kept::default();
        let mut buffer = [0; 8192];
        while let Ok(n @ 1..) = pipe.read(&mut buffer) {
            kept.push(&buffer[..n]);
        }
        // The watcher may have stopped waiting for a pipe that stayed open.
        let _ = sender.send(kept.into_text());
    });
    Ok(Output {
        received,
        pipe: second,
    })
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
    use std::io::Write as _;
    use std::os::fd::BorrowedFd;

    use super::*;

    /// Calls [`listen`] with a patience of five ticks. During twelve ticks, a line arrives every
    /// `every` ticks. Then the last line arrives. Returns whether `listen` received the last line.
    fn can_say_its_last_word(every: u32) -> bool {
        let mut group = Group::spawn(Command::new("sleep").arg("1000")).expect("a process");
        let (sender, received) = sync_channel(1);
        let (pipe, _writer) = io::pipe().expect("a pipe");
        let lines = Output {
            received,
            pipe: pipe.into(),
        };
        let ticks = Cell::new(0);
        // The supervisor calls this once in each iteration, after a tick or a line.
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

    /// A pipe that is read with a delay, as on a busy machine.
    struct Delayed(io::PipeReader);

    impl AsFd for Delayed {
        fn as_fd(&self) -> BorrowedFd<'_> {
            self.0.as_fd()
        }
    }

    impl Read for Delayed {
        fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
            thread::sleep(EXIT_GRACE + 10 * TICK);
            self.0.read(into)
        }
    }

    #[test]
    fn output_that_is_read_long_after_the_end_of_the_process_is_not_lost() {
        let (pipe, writer) = io::pipe().expect("a pipe");
        let mut command = Command::new("echo");
        let mut group = Group::spawn(command.arg("verdict").stdout(writer)).expect("a process");
        drop(command);
        let lines = read_lines(Delayed(pipe)).expect("a second descriptor");
        let mut said = Vec::new();
        let ended = listen(&mut group, &lines, None, &|| false, &mut |line| {
            said.extend_from_slice(line);
            Flow::Last
        });
        assert!(ended.expect("it is our child").is_none());
        assert_eq!(said, b"verdict");
    }

    #[test]
    fn a_pipe_that_another_process_holds_open_is_read_for_a_limited_time() {
        let (pipe, mut writer) = io::pipe().expect("a pipe");
        let lines = read_lines(pipe).expect("a second descriptor");
        writer.write_all(b"a line\n").expect("there is room");
        let deadline = Instant::now() + 2 * TICK;
        assert_eq!(lines.rest(deadline).as_deref(), Some(&b"a line"[..]));
        assert_eq!(lines.rest(deadline), None);
        drop(writer);
        assert!(lines.ends());
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
