//! The treatment and the meaning of the parts of `std` for code under test.

use std::fmt;

/// The way in which cargo chess treats an item of `std`.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Treatment {
    /// The item of `std` is replaced by a type or function of cargo chess.
    Redirected,
    /// The item is `std`'s own. The calls of the C library that the item makes reach the engine.
    Interposed,
    /// The item is `std`'s own, and the engine does not see its use.
    Unseen,
}

impl fmt::Display for Treatment {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Self::Redirected => "redirected",
            Self::Interposed => "interposed",
            Self::Unseen => "not seen",
        })
    }
}

/// The meaning of an item of `std` for code under test.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Meaning {
    /// The way in which cargo chess treats the item.
    pub treatment: Treatment,
    /// A description of the item's behaviour in a test.
    pub words: &'static str,
}

/// A rule: a module, a list of names in the module, and the meaning of these names. An empty list
/// stands for all names. A rule with `None` excludes its names from the rules after it.
type Rule = (
    &'static [&'static str],
    &'static [&'static str],
    Option<(Treatment, &'static str)>,
);

const THREAD_LOCAL: (Treatment, &str) = (
    Treatment::Interposed,
    "each task has its own value, which is new in each execution",
);
const OUTSIDE: (Treatment, &str) = (
    Treatment::Interposed,
    "outside control, except that waits of tasks are seen",
);

/// The rules for the meanings of items. The first rule that matches an item applies.
const RULES: &[Rule] = &[
    (&["sync", "atomic"], &["Ordering"], None),
    (
        &["sync", "atomic"],
        &[],
        Some((
            Treatment::Redirected,
            "a scheduling point before each operation",
        )),
    ),
    (
        &["sync", "mpsc"],
        &[],
        Some((
            Treatment::Redirected,
            "a channel of the engine, in which tasks wait",
        )),
    ),
    (
        &["sync"],
        &["Arc", "Weak"],
        Some((
            Treatment::Redirected,
            "its counters are treated like atomics",
        )),
    ),
    (
        &["sync"],
        &[
            "Mutex",
            "MutexGuard",
            "RwLock",
            "RwLockReadGuard",
            "RwLockWriteGuard",
        ],
        Some((
            Treatment::Redirected,
            "a lock of the engine: tasks wait for it, and the task that acquires it is a choice",
        )),
    ),
    (
        &["sync"],
        &["Condvar", "WaitTimeoutResult"],
        Some((
            Treatment::Redirected,
            "tasks wait in it; the woken task, spurious wake-ups and timeouts are choices",
        )),
    ),
    (
        &["sync"],
        &["Barrier", "BarrierWaitResult"],
        Some((Treatment::Redirected, "tasks wait at it")),
    ),
    (
        &["sync"],
        &["LazyLock", "Once", "OnceLock", "OnceState", "ONCE_INIT"],
        Some((
            Treatment::Redirected,
            "initialised anew in each execution, while other tasks wait",
        )),
    ),
    (
        &["sync"],
        &["*", "self"],
        Some((Treatment::Redirected, "the stand-ins of the module")),
    ),
    (&["sync"], &[], None),
    (
        &["thread"],
        &["park", "park_timeout", "park_timeout_ms"],
        Some((
            Treatment::Redirected,
            "a task waits; a spurious wake-up or a timeout is a choice",
        )),
    ),
    (
        &["thread"],
        &["sleep", "sleep_ms", "sleep_until", "yield_now"],
        Some((
            Treatment::Redirected,
            "other tasks may run; the search chooses when the time has passed",
        )),
    ),
    (
        &["thread"],
        &["available_parallelism"],
        Some((Treatment::Redirected, "2 on every machine")),
    ),
    (
        &["thread"],
        &["AccessError", "LocalKey"],
        Some(THREAD_LOCAL),
    ),
    (&["thread_local"], &[], Some(THREAD_LOCAL)),
    (&["thread"], &["Result", "panicking"], None),
    (
        &["thread"],
        &[],
        Some((Treatment::Redirected, "a thread is a task of the engine")),
    ),
    (
        &["hint"],
        &["spin_loop", "*", "self"],
        Some((Treatment::Redirected, "other tasks may run")),
    ),
    (
        &["time"],
        &["Instant", "SystemTime", "UNIX_EPOCH", "*", "self"],
        Some((
            Treatment::Interposed,
            "a virtual clock, which the search controls",
        )),
    ),
    (
        &["cell"],
        &["UnsafeCell"],
        Some((
            Treatment::Redirected,
            "memory that tasks share: the engine sees when its address is taken",
        )),
    ),
    (
        &["cell"],
        &["Cell", "RefCell", "OnceCell", "LazyCell", "*", "self"],
        Some((
            Treatment::Unseen,
            "no task can share it, unless `unsafe` code says otherwise",
        )),
    ),
    (
        &["ptr"],
        &["drop_in_place", "*", "self"],
        Some((
            Treatment::Redirected,
            "`drop_in_place` announces the dropped value to the engine",
        )),
    ),
    (
        &["task"],
        &["Wake"],
        Some((Treatment::Redirected, "uses the stand-in for `Arc`")),
    ),
    (
        &["arch"],
        &["asm", "global_asm", "naked_asm"],
        Some((
            Treatment::Redirected,
            "instructions that synchronize are operations, or are reported as outside control",
        )),
    ),
    (
        &["alloc"],
        &[
            "alloc",
            "alloc_zeroed",
            "dealloc",
            "realloc",
            "GlobalAlloc",
            "System",
            "Global",
            "*",
            "self",
        ],
        Some((
            Treatment::Interposed,
            "a heap whose state is the same at the start of each execution",
        )),
    ),
    (
        &["process"],
        &["ExitCode", "ExitStatus", "Stdio", "Termination"],
        None,
    ),
    (
        &["process"],
        &["abort", "exit"],
        Some((Treatment::Interposed, "ends the execution: a failure")),
    ),
    (&["process"], &[], Some(OUTSIDE)),
    (
        &["net"],
        &[
            "IpAddr",
            "Ipv4Addr",
            "Ipv6Addr",
            "SocketAddr",
            "SocketAddrV4",
            "SocketAddrV6",
            "AddrParseError",
            "Shutdown",
        ],
        None,
    ),
    (
        &["net"],
        &[],
        Some((
            Treatment::Interposed,
            "explored between tasks of the test; outside control otherwise",
        )),
    ),
    (&["os", "unix", "net"], &["SocketAddr"], None),
    (
        &["os", "unix", "net"],
        &[],
        Some((
            Treatment::Interposed,
            "explored between tasks of the test; outside control otherwise",
        )),
    ),
    (&["fs"], &[], Some(OUTSIDE)),
    (&["io"], &["pipe", "stdin", "Stdin"], Some(OUTSIDE)),
    (
        &["hash"],
        &["RandomState"],
        Some((Treatment::Interposed, "the same numbers in each execution")),
    ),
    (
        &["collections", "hash_map"],
        &["RandomState"],
        Some((Treatment::Interposed, "the same numbers in each execution")),
    ),
];

/// Returns the meaning of the item at `path`. The path lacks its first segment `std`, `core` or
/// `alloc`. Returns `None` if no rule gives the item a meaning.
///
/// A module itself has a meaning only if a rule lists `self` or covers all names in the module.
pub(super) fn of(path: &[&str]) -> Option<Meaning> {
    let (_, _, meaning) = RULES
        .iter()
        .find(|(module, names, _)| fits(path, module, names))?;
    let (treatment, words) = (*meaning)?;
    Some(Meaning { treatment, words })
}

/// Whether `path` is a module for which there is a rule, or which contains such a module. The path
/// lacks its first segment `std`, `core` or `alloc`.
pub(super) fn is_module(path: &[&str]) -> bool {
    RULES
        .iter()
        .any(|(module, ..)| module.starts_with(path) && *module != ["thread_local"])
}

fn fits(path: &[&str], module: &[&str], names: &[&str]) -> bool {
    let Some(rest) = path.strip_prefix(module) else {
        return false;
    };
    match rest.first() {
        None => names.is_empty() || names.contains(&"self"),
        Some(name) => names.is_empty() || names.contains(name),
    }
}
