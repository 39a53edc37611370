//! The supervisor's request: `key=value` lines in one environment variable.

use chess_vocabulary::{Fault, Token as _};

use super::work;
use crate::execution::{Faults, Policy, Spurious, Timers};
use crate::memory::Model;
use crate::monitor::Level;
use crate::monitor::race::Accesses;
use crate::platform::handover::Backend;
use crate::search::Part;

/// The variable that makes a test binary explore.
pub const VARIABLE: &str = "CHESS_REQUEST";

/// The isolation of executions from each other.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Isolation {
    /// Statics, heap and thread-locals are restored in place.
    Image,
    /// Only thread-locals are restored.
    Tls,
    /// Each execution runs in its own process.
    Fork,
}

/// The names of the strategies.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum StrategyName {
    /// The default strategy: a sequence of `icb`, samplers and `dpor`.
    Auto,
    /// Iterative context bounding.
    Icb,
    /// Optimal dynamic partial-order reduction.
    Dpor,
    /// The random walk.
    Random,
    /// Random priorities with a few changes.
    Pct,
    /// Partial order sampling.
    Pos,
    /// Selectively uniform random walk.
    Surw,
    /// Delay bounding.
    Delay,
}

impl StrategyName {
    /// Whether the strategy continues on most programs until the budget ends. Several such
    /// strategies alternate.
    pub(crate) fn alternates(self) -> bool {
        match self {
            Self::Auto | Self::Icb | Self::Dpor => false,
            Self::Random | Self::Pct | Self::Pos | Self::Surw | Self::Delay => true,
        }
    }

    /// Whether several processes without communication can do different parts of the strategy's
    /// work.
    fn can_be_divided(self) -> bool {
        !matches!(self, Self::Dpor | Self::Delay)
    }
}

/// A request of the supervisor.
#[expect(
    clippy::struct_excessive_bools,
    reason = "independent facts, not a state machine"
)]
#[derive(Clone, Debug)]
pub struct Request {
    pub(crate) replay: Option<String>,
    /// Whether the schedule of a replay is known to have no end.
    pub(crate) is_endless: bool,
    /// The maximum number of runs of the schedule in a replay. A run that fails differently from
    /// the first one is the last run.
    pub(crate) repeat: u64,
    pub(crate) strategies: Vec<StrategyName>,
    pub(crate) preemptions: u32,
    pub(crate) schedules: u64,
    /// The [`work`] that the search may do, including that of earlier processes; 0 for
    /// no limit.
    pub(crate) work: u64,
    /// The work after which the search pauses, including that of earlier processes; 0 for never.
    pub(crate) pause: u64,
    /// The time in milliseconds after which the search pauses in this process; 0 for never.
    pub(crate) pause_ms: u64,
    pub(crate) time_ms: u64,
    pub(crate) max_steps: u64,
    pub(crate) seed: u64,
    pub(crate) isolation: Isolation,
    pub(crate) backend: Backend,
    pub(crate) watchdog_ms: u64,
    /// Whether the search continues after a failure.
    pub(crate) keep_going: bool,
    /// Whether the orders of conflicting operations are recorded.
    pub(crate) coverage: bool,
    pub(crate) timers: Timers,
    /// Whether a second search follows the first one. In the first, timeouts end only when no task
    /// can run. In the second, they end at any time.
    pub(crate) early_after: bool,
    pub(crate) spurious: Spurious,
    /// The kinds of failing calls that the search may choose.
    pub(crate) faults: Faults,
    /// The places of test code, in which no call fails by the search's choice.
    pub(crate) faultless: Vec<String>,
    /// Whether allocated memory that no reference reaches is a failure.
    pub(crate) leaks: bool,
    /// Whether a thread that is never joined may panic.
    pub(crate) allow_unjoined_panics: bool,
    /// The interval in milliseconds at which the state of the search is saved; 0 for never.
    pub(crate) save_ms: u64,
    /// The part of the space to explore.
    pub(crate) part: Part,
    /// Whether the state of an earlier search is on standard input.
    pub(crate) resume: bool,
    pub(crate) policies: Vec<(String, Policy)>,
    /// The only source lines before which tasks are preempted; empty for all lines.
    pub(crate) preempt_at: Vec<(String, u32)>,
    /// The base directory of relative paths of source files.
    pub(crate) root: String,
    /// The treatment of accesses to plain memory.
    pub(crate) memory_accesses: Accesses,
    /// The memory model.
    pub(crate) memory: Model,
    /// Whether operations that could have late effects under a weaker model are recorded.
    pub(crate) stale_loads: bool,
    /// The level of data races.
    pub(crate) races: Level,
    /// The level of data races in the files below a prefix.
    pub(crate) races_of: Vec<(String, Level)>,
    /// The level of loops that wait without yielding.
    pub(crate) spins: Level,
    /// The level of loops that wait without yielding, in the files below a prefix.
    pub(crate) spins_of: Vec<(String, Level)>,
    /// Lines whose accesses to plain memory are scheduling points.
    pub(crate) points: Vec<(String, u32)>,
    /// Lines whose panics are intended if no join receives them.
    pub(crate) intended: Vec<(String, u32)>,
    /// The test's own directory for temporary files; empty if it has none.
    pub(crate) scratch: String,
    /// The number of tasks, for a replay that waits for a debugger and is shown there. `None` for
    /// all other requests.
    pub(crate) debugged: Option<usize>,
    /// Whether a replay reports each event as it happens.
    pub(crate) traced: bool,
}

impl Request {
    /// Reads the request from the environment; `None` if there is none.
    ///
    /// # Errors
    /// Returns a sentence that names the invalid line.
    pub fn from_environment() -> Option<Result<Self, String>> {
        let text = std::env::var(VARIABLE).ok()?;
        Some(Self::parse(&text))
    }

    pub(super) fn parse(text: &str) -> Result<Self, String> {
        let mut request = Self::default();
        let mut replays = false;
        let mut decisions = String::new();
        for line in text.lines().filter(|line| !line.is_empty()) {
            let wrong = || not_understood(line);
            let (key, value) = line.split_once('=').ok_or_else(wrong)?;
            let number = || value.parse::<u64>().map_err(|_| wrong());
            match key {
                "mode" => replays = value == "replay",
                "strategy" => {
                    request.strategies = value
                        .split(',')
                        .map(strategy)
                        .collect::<Option<_>>()
                        .ok_or_else(wrong)?;
                }
                "preemptions" => request.preemptions = value.parse().map_err(|_| wrong())?,
                "schedules" => request.schedules = number()?,
                "work" => request.work = number()?,
                "pause" => request.pause = number()?,
                "pause-ms" => request.pause_ms = number()?,
                "time-ms" => request.time_ms = number()?,
                "max-steps" => request.max_steps = number()?,
                "seed" => request.seed = number()?,
                "words" if value == "scrambled" => chess_vocabulary::words::scramble(),
                "isolate" => request.isolation = isolation(value).ok_or_else(wrong)?,
                "backend" => request.backend = backend(value).ok_or_else(wrong)?,
                "watchdog-ms" => request.watchdog_ms = number()?,
                "keep-going" => request.keep_going = value.parse().map_err(|_| wrong())?,
                "coverage" => request.coverage = value.parse().map_err(|_| wrong())?,
                "leaks" => request.leaks = value.parse().map_err(|_| wrong())?,
                "allow-unjoined-panics" => {
                    request.allow_unjoined_panics = value.parse().map_err(|_| wrong())?;
                }
                "timers" => {
                    (request.timers, request.early_after) = timers(value).ok_or_else(wrong)?;
                }
                "spurious" => request.spurious = spurious(value).ok_or_else(wrong)?,
                "faults" => request.faults = faults(value).ok_or_else(wrong)?,
                "faultless" => request.faultless.push(value.to_owned()),
                "save-ms" => request.save_ms = number()?,
                "part" => request.part = part(value).ok_or_else(wrong)?,
                "resume" => request.resume = number()? != 0,
                "policy" => {
                    let (prefix, policy) = value.rsplit_once('=').ok_or_else(wrong)?;
                    // `opaque` is treated as `atomic`: opaque code does not call the shims, so none
                    // of its events has a line.
                    let policy = if policy == "preempt" {
                        Policy::Preempt
                    } else {
                        Policy::Atomic
                    };
                    request.policies.push((prefix.to_owned(), policy));
                }
                "preempt-at" => request.preempt_at.push(line_of(value).ok_or_else(wrong)?),
                "root" => value.clone_into(&mut request.root),
                "memory" => request.memory = Model::named(value).ok_or_else(wrong)?,
                "stale-loads" => request.stale_loads = value == "warn",
                "memory-accesses" => {
                    request.memory_accesses = Accesses::named(value).ok_or_else(wrong)?;
                }
                "races" => request.races = Level::named(value).ok_or_else(wrong)?,
                "races-of" => request.races_of.push(level_of(value).ok_or_else(wrong)?),
                "spins" => request.spins = Level::named(value).ok_or_else(wrong)?,
                "spins-of" => request.spins_of.push(level_of(value).ok_or_else(wrong)?),
                "point" => request.points.push(line_of(value).ok_or_else(wrong)?),
                "intended" => request.intended.push(line_of(value).ok_or_else(wrong)?),
                "scratch" => value.clone_into(&mut request.scratch),
                "debugger" => request.debugged = Some(number()? as usize),
                "trace" => request.traced = number()? != 0,
                "repeat" => request.repeat = number()?.max(1),
                "endless" => request.is_endless = value.parse().map_err(|_| wrong())?,
                "decisions" => value.clone_into(&mut decisions),
                // Lines of later versions are ignored.
                _ => {}
            }
        }
        request.replay = replays.then_some(decisions);
        if !request.part.is_first() {
            request.strategies.retain(|name| name.can_be_divided());
        }
        Ok(request)
    }
}

impl Default for Request {
    /// A request without lines.
    fn default() -> Self {
        Self {
            replay: None,
            is_endless: false,
            repeat: 1,
            strategies: vec![StrategyName::Auto],
            preemptions: 2,
            schedules: 100_000,
            work: 0,
            pause: 0,
            pause_ms: 0,
            time_ms: 0,
            max_steps: 20_000,
            seed: 0,
            isolation: Isolation::Image,
            backend: Backend::Fibers,
            watchdog_ms: 60_000,
            keep_going: false,
            timers: Timers::Any,
            early_after: false,
            spurious: Spurious::Any,
            faults: Faults::NONE,
            faultless: Vec::new(),
            coverage: false,
            leaks: false,
            allow_unjoined_panics: false,
            save_ms: 0,
            part: Part::WHOLE,
            resume: false,
            policies: Vec::new(),
            preempt_at: Vec::new(),
            root: String::new(),
            memory_accesses: Accesses::Watched,
            memory: Model::Sc,
            stale_loads: false,
            races: Level::Deny,
            races_of: Vec::new(),
            spins: Level::Warn,
            spins_of: Vec::new(),
            points: Vec::new(),
            intended: Vec::new(),
            scratch: String::new(),
            debugged: None,
            traced: false,
        }
    }
}

/// The budget of a strategy with several stages.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Allowance {
    /// The amount, in schedules or in work.
    pub(crate) amount: u64,
    pub(crate) is_work: bool,
    /// The maximum number of schedules that are possible with this amount.
    pub(crate) schedules: u64,
}

impl Request {
    /// The budget of a strategy. `work` is the work that is left (`None` if it is unlimited), and
    /// `schedules` the number of schedules that are left.
    pub(crate) fn allowance(&self, work: Option<u64>, schedules: u64) -> Allowance {
        let amount = match (work, self.time_ms) {
            (None, 0) => None,
            // Only the time is limited: the stages share the work that is usually done in this
            // time, and the last stage has the rest.
            (None, time) if self.schedules == u64::MAX => Some(time.saturating_mul(work::PER_MS)),
            (None, _) => None,
            (left, _) => left,
        };
        Allowance {
            amount: amount.unwrap_or(schedules),
            is_work: amount.is_some(),
            schedules: amount.map_or(schedules, |all| schedules.min(all / work::PER_EXECUTION)),
        }
    }

    /// The seed of the samplers, which differs in each part.
    pub(crate) fn seed_of_part(&self) -> u64 {
        let parts_before = u64::from(self.part.index);
        self.seed.wrapping_add(parts_before.wrapping_mul(1 << 32))
    }
}

fn not_understood(line: &str) -> String {
    format!(
        "the test binary does not understand the request line `{line}`: another version of cargo chess \
         may have built the binary; run `cargo chess clean`, and build it again"
    )
}

/// A line of a file, for instance `src/lib.rs:12`.
fn line_of(value: &str) -> Option<(String, u32)> {
    let (file, line) = value.rsplit_once(':')?;
    Some((file.to_owned(), line.parse().ok()?))
}

/// The level of the files below a prefix, for instance `src=warn`.
fn level_of(value: &str) -> Option<(String, Level)> {
    let (prefix, level) = value.rsplit_once('=')?;
    Some((prefix.to_owned(), Level::named(level)?))
}

fn strategy(name: &str) -> Option<StrategyName> {
    Some(match name {
        "auto" => StrategyName::Auto,
        "icb" => StrategyName::Icb,
        "dpor" => StrategyName::Dpor,
        "random" => StrategyName::Random,
        "pct" => StrategyName::Pct,
        "pos" => StrategyName::Pos,
        "surw" => StrategyName::Surw,
        "delay" => StrategyName::Delay,
        _ => return None,
    })
}

/// A part such as `2/3`, counted from 1.
fn part(text: &str) -> Option<Part> {
    let (number, count) = text.split_once('/')?;
    let (number, count): (u32, u32) = (number.parse().ok()?, count.parse().ok()?);
    let index = number.checked_sub(1).filter(|&index| index < count)?;
    Some(Part { index, count })
}

fn isolation(name: &str) -> Option<Isolation> {
    Some(match name {
        "image" => Isolation::Image,
        "tls" => Isolation::Tls,
        "fork" => Isolation::Fork,
        _ => return None,
    })
}

/// The rule for timeouts in the first search, and whether a second search follows, in which
/// timeouts end at any time.
fn timers(name: &str) -> Option<(Timers, bool)> {
    Some(match name {
        "any" => (Timers::Any, false),
        "last" => (Timers::Last, false),
        "last-then-any" => (Timers::Last, true),
        _ => return None,
    })
}

/// Parses a list of kinds of faults, which may be empty.
fn faults(names: &str) -> Option<Faults> {
    let names = names.split(',').filter(|name| !name.is_empty());
    let mut kinds = names.map(Fault::of_token);
    kinds.try_fold(Faults::NONE, |all, kind| Some(all.with(kind?)))
}

fn spurious(name: &str) -> Option<Spurious> {
    Some(match name {
        "any" => Spurious::Any,
        "never" => Spurious::Never,
        _ => return None,
    })
}

fn backend(name: &str) -> Option<Backend> {
    Some(match name {
        "fibers" => Backend::Fibers,
        "threads" => Backend::Threads,
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_request_is_read_line_by_line() {
        let text = "mode=replay\nstrategy=icb,random\npreemptions=3\nisolate=fork\n\
                    backend=threads\nkeep-going=true\npolicy=/r/a=b-1.0=preempt\ndecisions=0*2 1\nnew=thing\n";
        let request = Request::parse(text).unwrap();
        assert_eq!(request.replay.as_deref(), Some("0*2 1"));
        assert_eq!(
            request.strategies,
            [StrategyName::Icb, StrategyName::Random]
        );
        assert_eq!(request.preemptions, 3);
        assert_eq!(request.isolation, Isolation::Fork);
        assert_eq!(request.backend, Backend::Threads);
        assert!(request.keep_going);
        assert_eq!(
            request.policies,
            [("/r/a=b-1.0".to_owned(), Policy::Preempt)]
        );
    }

    #[test]
    fn a_line_that_is_not_understood_is_named() {
        let error = Request::parse("mode=explore\nschedules=many").unwrap_err();
        assert!(error.contains("schedules=many"), "{error}");
        assert!(Request::parse("strategy=magic").is_err());
    }
}
