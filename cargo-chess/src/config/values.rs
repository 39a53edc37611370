//! The values of exploration options, and their only parser for flags, variables and Chess.toml.

use std::fmt;
use std::str::FromStr;
use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::suggest;

/// Defines an enumeration of the named values of the option `$key`.
macro_rules! named {
    (
        $(#[$meta:meta])*
        $name:ident, $key:literal, { $($(#[$vmeta:meta])* $variant:ident = $text:literal),+ $(,)? }
    ) => {
        $(#[$meta])*
        #[derive(Serialize, Deserialize, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
        pub(crate) enum $name { $($(#[$vmeta])* $variant),+ }

        impl $name {
            /// Every accepted name.
            pub(crate) const NAMES: &'static [&'static str] = &[$($text),+];

            /// The name in flags, Chess.toml, requests and reports.
            pub(crate) fn as_str(self) -> &'static str {
                match self { $(Self::$variant => $text),+ }
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(self.as_str())
            }
        }

        impl FromStr for $name {
            type Err = String;

            fn from_str(text: &str) -> Result<Self, String> {
                match text {
                    $($text => Ok(Self::$variant),)+
                    _ => Err(not_known($key, text, Self::NAMES)),
                }
            }
        }
    };
}

named! {
    /// The rule by which schedules are chosen.
    Strategy, "strategy", {
        /// The tool's own combination: `icb`, then other strategies as far as the budget allows.
        Auto = "auto",
        /// Every schedule with 0 preemptions, then with 1, and so on up to the bound.
        Icb = "icb",
        /// Each happens-before graph once, without a bound.
        Dpor = "dpor",
        /// A random task at each scheduling point.
        Random = "random",
        /// Random priorities of tasks, with a few random changes of the priorities.
        Pct = "pct",
        /// Random priorities of operations, which are drawn anew for racing operations.
        Pos = "pos",
        /// All orders of the accesses to an object, each with the same probability.
        Surw = "surw",
        /// Every schedule with 0 delays of a fixed order of tasks, then with 1, and so on.
        Delay = "delay",
    }
}

impl Strategy {
    /// Whether the work of the strategy can be divided among shards.
    pub(crate) fn can_be_divided(self) -> bool {
        !matches!(self, Self::Dpor | Self::Delay)
    }
}

named! {
    /// The memory model that atomics follow.
    Memory, "memory", {
        /// Sequential consistency: the interleavings alone.
        Sc = "sc",
        /// The memory model of x86 (TSO): a store may reach memory after later loads of its
        /// thread.
        Tso = "tso",
        /// The memory model of the language (C11).
        C11 = "c11",
    }
}

named! {
    /// Whether operations are reported that could read older stores under the language's memory
    /// model.
    StaleLoads, "stale-loads", {
        /// Such operations are not reported.
        Allow = "allow",
        /// Such operations are warnings.
        Warn = "warn",
    }
}

named! {
    /// The times at which the timeouts of waits and sleeps fire.
    Timers, "timers", {
        /// Timeouts fire at any time. An early timeout costs as much as a preemption.
        Any = "any",
        /// Timeouts fire only when no task can run, in the order of their deadlines.
        Last = "last",
        /// The search first uses `last`. Then it uses `any` with a part of the budget, if this
        /// adds schedules.
        LastThenAny = "last-then-any",
    }
}

named! {
    /// The outcome of a failure that needs an early timeout.
    Timing, "timing", {
        /// The failure is not found: such schedules are not explored.
        Allow = "allow",
        /// The outcome of the test is `timing`, which is no failure of the run.
        Warn = "warn",
        /// The test fails.
        Deny = "deny",
    }
}

named! {
    /// Whether spurious events that `std` allows are tried: wake-ups, and failures of weak
    /// exchanges.
    Spurious, "spurious", {
        /// All spurious events are tried. Each costs as much as a preemption.
        Any = "any",
        /// None is tried.
        Never = "never",
    }
}

named! {
    /// Calls of the standard library that the search may let fail.
    Fault, "faults", {
        /// None; an empty list.
        None = "none",
        /// All kinds.
        All = "all",
        /// Writes to files and the creation of files fail, because the disk is full.
        NoSpace = "no-space",
        /// `File::sync_all` and `File::sync_data` fail.
        Sync = "sync",
        /// `fs::rename` fails.
        Rename = "rename",
        /// Reads and writes transfer half of the bytes.
        Short = "short",
        /// Reads and writes return `Interrupted`.
        Interrupted = "interrupted",
        /// Connections are refused.
        Refused = "refused",
        /// Connections are not made in time.
        TimedOut = "timed-out",
        /// Connections break.
        Reset = "reset",
        /// `thread::Builder::spawn` fails.
        Spawn = "spawn",
        /// Child processes cannot be spawned.
        Process = "process",
        /// `try_reserve` and `try_reserve_exact` fail.
        Allocation = "allocation",
    }
}

impl Fault {
    /// The kinds in `list`, each once, in the order of their declaration. `all` stands for all
    /// kinds, and `none` for no kind.
    pub(crate) fn kinds(list: &[Self]) -> Vec<Self> {
        let all = Self::NAMES.iter().filter_map(|name| name.parse().ok());
        let kinds = all.filter(|kind| ![Self::None, Self::All].contains(kind));
        let holds = |kind: &Self| list.contains(kind) || list.contains(&Self::All);
        kinds.filter(|kind| holds(kind)).collect()
    }

    /// A list of kinds, as text.
    pub(crate) fn list(kinds: &[Self]) -> String {
        let names: Vec<&str> = kinds.iter().map(|it| it.as_str()).collect();
        names.join(",")
    }
}

named! {
    /// The treatment of accesses to plain memory.
    MemoryAccesses, "memory-accesses", {
        /// Accesses to plain memory are ignored.
        Ignore = "ignore",
        /// Data races are found; accesses that race become scheduling points.
        Watch = "watch",
        /// Like `watch`, and each access is a scheduling point.
        Preempt = "preempt",
    }
}

named! {
    /// The level of a data race.
    Races, "races", {
        /// A data race is not reported.
        Allow = "allow",
        /// The test has a warning.
        Warn = "warn",
        /// The test fails.
        Deny = "deny",
    }
}

named! {
    /// The level of a loop that waits without yielding.
    Spins, "spins", {
        /// A loop that waits without yielding is not reported.
        Allow = "allow",
        /// The test has a warning.
        Warn = "warn",
        /// The test fails.
        Deny = "deny",
    }
}

named! {
    /// The way in which executions are kept apart from one another.
    Isolate, "isolate", {
        /// The whole memory image is restored before each execution.
        Image = "image",
        /// Only thread-locals are reset.
        Tls = "tls",
        /// A process for each execution.
        Fork = "fork",
    }
}

named! {
    /// The stacks or threads on which tasks run.
    Backend, "backend", {
        /// Fibers on the stacks of parked threads (Linux x86-64).
        Fibers = "fibers",
        /// Operating system threads, of which one may run at a time.
        Threads = "threads",
    }
}

named! {
    /// The treatment of a package.
    Policy, "policy", {
        /// Redirected, and preempted at every synchronization access.
        Preempt = "preempt",
        /// Redirected. A call into the package is one atomic step, and its blocking is under
        /// control.
        Atomic = "atomic",
        /// Compiled unchanged. Only its blocking system calls are under control.
        Opaque = "opaque",
    }
}

/// Parses `90`, `90s`, `500ms`, `5m` or `2h`; a bare number is seconds.
pub(crate) fn parse_duration(text: &str) -> Result<Duration, String> {
    let digits = text.len() - text.trim_start_matches(|c: char| c.is_ascii_digit()).len();
    let (number, unit) = text.split_at(digits);
    let millis_per_unit: u64 = match unit {
        "ms" => 1,
        "" | "s" => 1_000,
        "m" | "min" => 60_000,
        "h" => 3_600_000,
        _ => 0,
    };
    let millis = number
        .parse::<u64>()
        .ok()
        .and_then(|n| n.checked_mul(millis_per_unit))
        .filter(|_| millis_per_unit != 0)
        .ok_or_else(|| {
            format!("expected a duration such as `30s`, `500ms`, `5m` or `2h`, found `{text}`")
        })?;
    if millis == 0 {
        return Err(format!("expected a duration above 0, found `{text}`"));
    }
    Ok(Duration::from_millis(millis))
}

/// Parses a whole number of at least 1; `_` may group digits, as in TOML.
pub(crate) fn parse_positive(text: &str) -> Result<u64, String> {
    match parse_number::<u64>(text)? {
        0 => Err("expected a whole number of at least 1, found `0`".to_owned()),
        n => Ok(n),
    }
}

/// Parses units of work: a whole number of at least 1, or a number of thousands, millions or
/// billions, as in `500k`, `5M` and `1G`.
pub(crate) fn parse_work(text: &str) -> Result<u64, String> {
    let is_digit = |c: char| c.is_ascii_digit() || c == '_';
    let (number, unit) = text.split_at(text.len() - text.trim_start_matches(is_digit).len());
    let units = match unit {
        "" => Some(1),
        "k" => Some(1_000),
        "M" => Some(1_000_000),
        "G" => Some(1_000_000_000),
        _ => None,
    };
    let number = number.replace('_', "").parse::<u64>().ok();
    let work = number
        .zip(units)
        .and_then(|(n, units)| n.checked_mul(units));
    work.filter(|&work| work > 0).ok_or_else(|| {
        format!(
            "expected a number of units of work such as `500k`, `5M` or `1G` (5M units take about \
             half a second), found `{text}`"
        )
    })
}

/// Parses a whole number of an unsigned type; `_` may group digits, as in TOML.
pub(crate) fn parse_number<T: FromStr + fmt::Display>(text: &str) -> Result<T, String> {
    text.replace('_', "").parse().map_err(|_| {
        let most = u64::MAX >> (64 - 8 * size_of::<T>());
        format!("expected a whole number from 0 to {most}, found `{text}`")
    })
}

fn not_known(key: &str, text: &str, names: &[&str]) -> String {
    let nearest = suggest::nearest(text, names.iter().copied())
        .map_or_else(String::new, |name| format!(" (did you mean `{name}`?)"));
    format!(
        "`{text}` is not a value of `{key}`{nearest}; the values are: {}",
        names.join(", ")
    )
}
