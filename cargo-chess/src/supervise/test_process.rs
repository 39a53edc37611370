//! One test in its own process, from the request to the verdict.

use std::fs::File;
use std::io::{self, Read};
use std::time::{Duration, Instant};

use super::callers::Callers;
use super::child_process::{End, Ended, Flow, Invocation, watch};
use super::columns::MarkedSources;
use super::cores::{Core, Cores};
use super::exclusion::Exclusion;
use super::exit_status;
use super::list::{ListedTest, OWN_HARNESS};
use super::request::{self, Mode, Pause, request};
use super::scratch::{self, Scratch};
use crate::build::{NotExplored, TestBinary};
use crate::config::{Exploration, Timing};
use crate::error::{Error, Result};
use crate::events::{Counts, Kind, Outcome, TestPart};
use crate::protocol::{Finished, Line, Milestone};
use crate::shard::Shard;
use crate::text::{plural, with_source_paths};

/// A test process is ended if it is silent for this time after the limit of its own watchdog. If
/// that limit is shorter than this time, the process is ended after twice the limit.
const BACKSTOP: Duration = Duration::from_secs(10);

/// The number of lines outside the protocol that are kept. They are the first ones of the output.
const QUOTED: usize = 5;

/// The verdict on a test, and the other output of its process.
#[derive(Clone, Debug)]
pub(crate) struct Verdict {
    /// The report of the process, or a verdict derived from its end.
    pub(crate) finished: Finished,
    /// The process's output on standard error.
    pub(crate) stderr: String,
    /// The duration of the exploration.
    pub(crate) duration: Duration,
}

/// The progress of an exploration.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Advance {
    /// The number of schedules explored so far.
    pub(crate) schedules: u64,
    /// The preemption bound being explored.
    pub(crate) bound: Option<u32>,
    /// The progress of the search after each 10,000 schedules.
    pub(crate) milestones: Vec<Milestone>,
}

/// The work to do with a test.
#[derive(Clone, Copy)]
pub(crate) struct Job<'a> {
    /// The test.
    pub(crate) test: &'a ListedTest,
    /// The test's binary.
    pub(crate) binary: &'a TestBinary,
    /// The options of the test's exploration.
    pub(crate) exploration: &'a Exploration,
    /// The part of the test's schedules to explore; `None` for all schedules.
    pub(crate) part: Option<Shard>,
    /// Whether to search or to replay.
    pub(crate) mode: Mode<'a>,
    /// The `policy=` lines of the request.
    pub(crate) policies: &'a [String],
    /// The only source lines before which tasks may be preempted, as `FILE:LINE`. If empty, there
    /// is no such limit.
    pub(crate) preempt_at: &'a [String],
    /// Maps lines and columns of rewritten files to those of the user's files.
    pub(crate) marked: &'a MarkedSources,
    /// The lookup for the callers in the user's code.
    pub(crate) callers: &'a Callers,
    /// Whether the test's output is passed on directly.
    pub(crate) no_capture: bool,
    /// Further arguments for the binary.
    pub(crate) binary_args: &'a [String],
    /// The cores for the exploration, and the test's index. If `None`, one core is used.
    pub(crate) cores: Option<(&'a Cores, usize)>,
    /// The exclusion of tests that write the same files, and the test's index.
    pub(crate) exclusion: Option<(&'a Exclusion, usize)>,
    /// The storage for the state of the search, if the state is saved.
    pub(crate) states: Option<&'a dyn States>,
    /// The limits of the search in this process. If `None`, the whole search is run.
    pub(crate) slice: Option<Slice>,
    /// The observer of a replay in progress.
    pub(crate) live: Option<&'a dyn ReplayObserver>,
}

/// The limits of a search in one process.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Slice {
    /// The moment at which the search pauses. If `None`, the search runs to its end.
    pub(crate) pause: Option<Pause>,
    /// The time limit.
    pub(crate) time: Option<Duration>,
}

/// An observer of a replay in progress.
pub(crate) trait ReplayObserver {
    /// Further lines of the request.
    fn request(&self) -> String;

    /// Receives a line about the replay: any line except progress, states, errors and the verdict.
    fn observe(&self, line: Line);
}

/// Stores the state of a test's search, from which a later run resumes after a kill.
pub(crate) trait States {
    /// The state from which the search resumes, if there is one.
    fn earlier(&self) -> Option<File>;

    /// Stores a later state.
    fn keep(&self, state: &mut dyn Read);

    /// Stores the verdict so far at a pause of the search, and the state of the search, if there is
    /// one.
    fn pause(&self, so_far: &Verdict, state: Option<&mut dyn Read>);
}

/// The storage for a search that begins anew. It provides no earlier state, and new states replace
/// the stored ones.
struct Anew<'a>(&'a dyn States);

impl States for Anew<'_> {
    fn earlier(&self) -> Option<File> {
        None
    }

    fn keep(&self, state: &mut dyn Read) {
        self.0.keep(state);
    }

    fn pause(&self, so_far: &Verdict, state: Option<&mut dyn Read>) {
        self.0.pause(so_far, state);
    }
}

impl Job<'_> {
    /// Runs the job. Returns `None` if `stop` returned true first.
    pub(crate) fn run(
        &self,
        stop: &dyn Fn() -> bool,
        on_advance: &mut dyn FnMut(Advance),
    ) -> Result<Option<Verdict>> {
        let Some((exclusion, test)) = self.exclusion else {
            return self.run_once(stop, on_advance);
        };
        exclusion.run(test, stop, &mut |again| {
            if again {
                // The first run has reported the progress. The state that the first run left is
                // not valid.
                let anew = self.states.map(Anew);
                let states = anew.as_ref().map(|anew| anew as &dyn States);
                Job { states, ..*self }.run_once(stop, &mut |_| ())
            } else {
                self.run_once(stop, on_advance)
            }
        })
    }

    fn run_once(
        &self,
        stop: &dyn Fn() -> bool,
        on_advance: &mut dyn FnMut(Advance),
    ) -> Result<Option<Verdict>> {
        let start = Instant::now();
        let scratch = Scratch::create(&self.test.id.to_string());
        let scratch = scratch.as_ref();
        let mut answer = Answer::default();
        let explored = self.test.not_explored.is_none();
        let patience = explored.then(|| patience(self.exploration));
        let mut on_line = |core: Option<&Core<'_>>, line: &[u8]| {
            if explored {
                answer.receive(line, on_advance, self.states.zip(core), self.live)
            } else {
                answer.unknown.push(line);
                Flow::Continue
            }
        };
        let (ended, core) = self
            .watch(explored, scratch, patience, stop, &mut on_line)
            .map_err(Error::io("run", &self.binary.path))?;
        if let Some(message) = answer.error {
            return Err(Error::Unsupported(format!(
                "cannot explore `{}`: {message}",
                self.test.id
            )));
        }
        let Some(mut finished) = (match self.test.not_explored {
            None => self.explored(answer.finished, &answer.unknown, &ended)?,
            Some(why) => not_explored(why, &answer.unknown, &ended),
        }) else {
            return Ok(None);
        };
        if explored && let Some(warning) = answer.unknown.warning() {
            finished.own_warnings.push(warning);
        }
        if finished.part.is_none() {
            // The process died before it could report its part.
            finished.part = self.part.map(TestPart::unknown);
        }
        self.callers.find(&self.binary.path, &mut finished);
        self.marked.restore(&mut finished);
        let mut stderr = ended.stderr;
        if let Some(scratch) = scratch {
            finished.texts().for_each(|text| scratch.shorten(text));
            scratch.shorten(&mut stderr);
        }
        let verdict = Verdict {
            finished,
            stderr,
            duration: start.elapsed(),
        };
        if let Some(states) = self.states.filter(|_| verdict.finished.paused) {
            let is_left = |core: &Core<'_>| !verdict.finished.lost && core.has_state();
            let mut state = core.as_ref().filter(|core| is_left(core)).map(Core::state);
            let state = state.as_mut().map(|state| state as &mut dyn Read);
            states.pause(&verdict, state);
        }
        Ok(Some(verdict))
    }

    /// Starts the process and watches it until its end. Returns the kind of its end, and its
    /// cores, from which the last state of the search can be read.
    fn watch(
        &self,
        explored: bool,
        scratch: Option<&Scratch>,
        patience: Option<Duration>,
        stop: &dyn Fn() -> bool,
        on_line: &mut dyn FnMut(Option<&Core<'_>>, &[u8]) -> Flow,
    ) -> io::Result<(Ended, Option<Core<'_>>)> {
        let earlier = self.states.filter(|_| explored).and_then(States::earlier);
        let cores = self.cores.filter(|_| explored);
        let core = cores.map(|(cores, test)| cores.begin(test, earlier));
        let core = core.transpose()?;
        let known = core.as_ref();
        let invocation = self.invocation(explored, scratch, known)?;
        let ended = watch(invocation, patience, stop, &mut |line| on_line(known, line))?;
        Ok((ended, core))
    }

    fn invocation(
        &self,
        explored: bool,
        scratch: Option<&Scratch>,
        core: Option<&Core<'_>>,
    ) -> io::Result<Invocation> {
        let mut args: Vec<&str> = Vec::new();
        if self.test.id.test != OWN_HARNESS || self.binary.harness {
            args.extend(["--exact", &self.test.id.test]);
            args.extend(self.test.ignored.then_some("--ignored"));
            args.extend(self.no_capture.then_some("--nocapture"));
        }
        args.extend(self.binary_args.iter().map(String::as_str));
        let mut invocation = Invocation::new(self.binary, args)
            .inherit_stderr(self.no_capture)
            // A failing execution must not leave snapshots in the user's tree.
            .env("INSTA_UPDATE", "no".to_owned())
            .env("INSTA_FORCE_PASS", "0".to_owned());
        if let Some(scratch) = scratch {
            invocation = invocation.env(scratch::VARIABLE, scratch.path().to_owned());
        }
        if explored {
            let mut text = request(self.exploration, self.mode, self.policies);
            text += &request::part(self.part);
            text += &request::pause(self.slice.and_then(|slice| slice.pause));
            text += &request::preempt_at(self.preempt_at);
            text += &scratch.map_or_else(String::new, |it| request::scratch(it.path()));
            text += &self.live.map_or_else(String::new, ReplayObserver::request);
            if let Some((_, core)) = self.states.zip(core) {
                text += &request::saving(core.resumes());
            }
            if let Some(slice) = self.slice {
                text += &request::time(slice.time);
            }
            let stdin = core.map(Core::stdin).transpose()?;
            Ok(invocation.env(request::VARIABLE, text).stdin(stdin))
        } else {
            Ok(invocation)
        }
    }

    /// The verdict on an explored test; `None` if it was stopped.
    fn explored(
        &self,
        finished: Option<Box<Finished>>,
        unknown: &UnknownLines,
        ended: &Ended,
    ) -> Result<Option<Finished>> {
        if let Some(finished) = finished {
            let mut finished = without_machine_paths(*finished);
            finished.explain_timeout();
            if finished.outcome == Outcome::Timing && self.exploration.timing == Timing::Deny {
                finished.outcome = Outcome::Failed;
            }
            return Ok(Some(finished));
        }
        let (outcome, kind, message) = match &ended.end {
            End::Stopped => return Ok(None),
            End::Silent => (
                Outcome::Timeout,
                None,
                format!(
                    "the test process reported nothing for {} s and was killed. Its watchdog ({} s) should have ended it earlier: if this happens again, please report it",
                    patience(self.exploration).as_secs_f64(),
                    self.exploration.watchdog.as_secs_f64()
                ),
            ),
            End::Exited(status) if status.success() && unknown.is_libtest() => {
                return Err(Error::Unsupported(format!(
                    "`{}` is not under control: its binary ran the test as plain `cargo test` does.\n\
                     Remove the file {} and try again; if that does not help, please report it.",
                    self.test.id, self.binary.path
                )));
            }
            End::Exited(status) => (
                Outcome::Failed,
                Some(Kind::Crash),
                format!(
                    "the test process {} before it had a verdict{}",
                    exit_status::in_words(*status),
                    exit_status::remedy(*status)
                ),
            ),
        };
        let signal = match &ended.end {
            End::Exited(status) => exit_status::signal(*status),
            _ => None,
        };
        Ok(Some(Finished {
            kind,
            signal,
            message: Some(message),
            seed: self.exploration.seed,
            ..Finished::new(outcome)
        }))
    }
}

/// `finished` with machine-independent paths in the messages of this tool. The message of a panic
/// belongs to the program and is unchanged.
fn without_machine_paths(mut finished: Finished) -> Finished {
    let others = finished.others.iter_mut();
    let others = others.map(|other| (Some(other.failure.kind), other.failure.message.as_mut()));
    let all = others.chain([(finished.kind, finished.message.as_mut())]);
    for (kind, message) in all {
        if let Some(message) = message.filter(|_| kind != Some(Kind::Panic)) {
            *message = with_source_paths(message);
        }
    }
    finished
}

/// The longest silence of a test process. It is longer than the process's own watchdog.
fn patience(exploration: &Exploration) -> Duration {
    exploration.watchdog + exploration.watchdog.min(BACKSTOP)
}

/// The verdict on a binary that was only run, without an exploration.
fn not_explored(why: NotExplored, output: &UnknownLines, ended: &Ended) -> Option<Finished> {
    let End::Exited(status) = &ended.end else {
        return None;
    };
    let words = exit_status::in_words(*status);
    let why = why.reason();
    let warning = format!("not explored, because its binary {why}: it was run once, and {words}");
    Some(if status.success() {
        Finished {
            counts: Counts::of_one_run(),
            own_warnings: vec![warning],
            ..Finished::new(Outcome::Skipped)
        }
    } else {
        Finished {
            kind: Some(Kind::Crash),
            message: Some(format!("the test process {words}")),
            counts: Counts::of_one_run(),
            own_warnings: vec![warning],
            output: output.text(),
            ..Finished::new(Outcome::Failed)
        }
    })
}

/// The output of a test binary on its standard output.
#[derive(Default)]
struct Answer {
    finished: Option<Box<Finished>>,
    error: Option<String>,
    unknown: UnknownLines,
}

impl Answer {
    fn receive(
        &mut self,
        line: &[u8],
        on_advance: &mut dyn FnMut(Advance),
        states: Option<(&dyn States, &Core<'_>)>,
        onlooker: Option<&dyn ReplayObserver>,
    ) -> Flow {
        match serde_json::from_slice(line) {
            Ok(Line::Progress {
                schedules,
                bound,
                milestones,
            }) => on_advance(Advance {
                schedules,
                bound,
                milestones,
            }),
            Ok(Line::State { .. }) => {
                if let Some((states, core)) = states {
                    states.keep(&mut core.state());
                    // If this fails, the process saves no later state.
                    let _ = core.clear_state();
                }
            }
            Ok(Line::Finished(finished)) => {
                self.finished = Some(finished);
                return Flow::Last;
            }
            Ok(Line::Error { message }) => {
                self.error = Some(message);
                return Flow::Last;
            }
            Ok(line) => {
                if let Some(onlooker) = onlooker {
                    onlooker.observe(line);
                }
            }
            Err(_) => self.unknown.push(line),
        }
        Flow::Continue
    }
}

/// Lines that are not part of the protocol.
#[derive(Default)]
struct UnknownLines {
    first: Vec<String>,
    last: Vec<String>,
    count: usize,
}

impl UnknownLines {
    fn push(&mut self, line: &[u8]) {
        self.count += 1;
        let line = String::from_utf8_lossy(line).into_owned();
        if self.first.len() < QUOTED {
            self.first.push(line);
        } else {
            if self.last.len() == 20 * QUOTED {
                self.last.remove(0);
            }
            self.last.push(line);
        }
    }

    /// Whether the first line of plain libtest is among the lines.
    fn is_libtest(&self) -> bool {
        self.first.iter().any(|line| {
            line.strip_prefix("running ")
                .is_some_and(|rest| rest.ends_with(" test") || rest.ends_with(" tests"))
        })
    }

    fn warning(&self) -> Option<String> {
        let first = self.first.iter().find(|line| !line.trim().is_empty())?;
        let shown: String = first
            .chars()
            .take(100)
            .filter(|c| !c.is_control())
            .collect();
        let lines = plural(self.count as u64, "line");
        let which = if self.count == 1 {
            ""
        } else {
            ", the first of them"
        };
        Some(format!(
            "the test process printed {lines} in an unknown format{which}: `{shown}`"
        ))
    }

    fn text(&self) -> String {
        let omitted = self.count - self.first.len() - self.last.len();
        let mut lines = self.first.clone();
        if omitted > 0 {
            lines.push(format!("... {omitted} lines left out ..."));
        }
        lines.extend(self.last.iter().cloned());
        lines.join("\n")
    }
}
