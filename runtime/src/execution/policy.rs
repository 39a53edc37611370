//! The policies of source lines. The file and the number of a line determine its policy. A cache
//! finds it by the address of the line's `Site`.

use super::terms::Site;
use crate::base::memory::{EngineVec, engine_vec};

/// The explored part of a package's behaviour.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Policy {
    /// A scheduling point before each synchronization access.
    Preempt,
    /// A call into the package is one step: the engine sees its events and its blocking, and
    /// preempts nothing inside.
    Atomic,
}

struct Rule {
    prefix: EngineVec<u8>,
    /// The lines of the file to which the rule applies, or `ALL_LINES`.
    lines: (u32, u32),
    policy: Policy,
}

const CACHE: usize = 512;
/// The maximum number of files of `atomic` code that are remembered.
const ATOMIC_FILES: usize = 64;

/// The policies of a run. The longest matching prefix wins; among equal prefixes, a rule with lines
/// wins. If no rule matches, relative paths (the workspace's) are `Preempt` and absolute ones
/// `Atomic`.
pub(crate) struct Policies {
    rules: EngineVec<Rule>,
    /// The only lines before which tasks are preempted, in ascending order, each with the end of
    /// the path of its file. Empty if tasks are preempted before all lines.
    preempted: EngineVec<(EngineVec<u8>, u32)>,
    /// The lines of test code. The search lets no call in these lines fail.
    faultless: EngineVec<(EngineVec<u8>, (u32, u32))>,
    /// The directory of the workspace.
    root: EngineVec<u8>,
    cache: [(usize, Option<Policy>); CACHE],
    /// The files of `atomic` code that performed synchronization operations, in the order of their
    /// first operations.
    pub(crate) atomic_files: EngineVec<&'static str>,
}

impl Policies {
    pub(crate) const fn new() -> Self {
        Self {
            rules: engine_vec(),
            preempted: engine_vec(),
            faultless: engine_vec(),
            root: engine_vec(),
            cache: [(0, None); CACHE],
            atomic_files: engine_vec(),
        }
    }

    /// Adds a rule for the files at `place`: `src/ring.rs`, the files below `src/`, or the lines of
    /// `src/lib.rs:12-40`.
    pub(crate) fn add(&mut self, place: &str, policy: Policy) {
        let (prefix, lines) = prefix_and_lines(place);
        let mut bytes = engine_vec();
        bytes.extend_from_slice(prefix.as_bytes());
        self.rules.push(Rule {
            prefix: bytes,
            lines,
            policy,
        });
    }

    /// Adds lines of test code, in which the search lets no call fail. `place` is as in
    /// [`add`](Self::add).
    pub(crate) fn add_faultless(&mut self, place: &str) {
        let (prefix, lines) = prefix_and_lines(place);
        let mut bytes = engine_vec();
        bytes.extend_from_slice(prefix.as_bytes());
        self.faultless.push((bytes, lines));
    }

    /// Whether the search may let a call at the line `site` fail.
    pub(crate) fn may_fail(&self, site: Site) -> bool {
        let (file, line) = (site.file(), site.line());
        let is_test = |(prefix, (first, last)): &(EngineVec<u8>, (u32, u32))| {
            covers(prefix, file.as_bytes()) && (*first..=*last).contains(&line)
        };
        self.is_preempted(file, line) && !self.faultless.iter().any(is_test)
    }

    /// Adds a line to the only lines before which tasks are preempted.
    pub(crate) fn preempt_at(&mut self, file: &str, line: u32) {
        let mut bytes = engine_vec();
        bytes.extend_from_slice(file.as_bytes());
        let place = self.preempted.partition_point(|(_, other)| *other < line);
        self.preempted.insert(place, (bytes, line));
    }

    /// Allows preemptions before all lines again, after [`preempt_at`](Self::preempt_at) has
    /// confined them.
    pub(crate) fn preempt_anywhere(&mut self) {
        self.preempted.clear();
    }

    /// Whether tasks are preempted only before some lines.
    #[inline]
    pub(crate) fn confines(&self) -> bool {
        !self.preempted.is_empty()
    }

    /// Whether a task may be preempted before its operation at `site`.
    pub(crate) fn may_preempt_at(&self, site: Option<Site>) -> bool {
        let is_at = |site: Site| {
            let line = site.line();
            let first = self.preempted.partition_point(|(_, other)| *other < line);
            let mut same = self.preempted[first..].iter().take_while(|it| it.1 == line);
            same.any(|(file, _)| ends(site.file(), file))
        };
        !self.confines() || site.is_some_and(is_at)
    }

    /// The policy of the code at `site`. `None` for std's own code, which has the policy of its
    /// caller: an iterator's `sum` calls a channel's `next` for the program.
    #[inline]
    pub(crate) fn of(&mut self, site: Site) -> Option<Policy> {
        let address = core::ptr::from_ref(site).addr();
        let slot = (address >> 3) & (CACHE - 1);
        let (cached, policy) = self.cache[slot];
        if cached == address {
            return policy;
        }
        let file = site.file();
        let policy = (!is_std(file)).then(|| self.decide(file, site.line()));
        let known = self.atomic_files.len() >= ATOMIC_FILES;
        if policy == Some(Policy::Atomic) && !known && !self.atomic_files.contains(&file) {
            self.atomic_files.push(file);
        }
        self.cache[slot] = (address, policy);
        policy
    }

    /// Sets the directory to which the paths of source files are relative.
    pub(crate) fn set_root(&mut self, root: &str) {
        self.root.clear();
        self.root.extend_from_slice(root.as_bytes());
    }

    /// The name that sites use for a source file. `None` for files of the standard library and of
    /// this tool.
    pub(crate) fn source_name<'a>(&self, path: &'a str) -> Option<&'a str> {
        let root = str::from_utf8(&self.root).unwrap_or_default();
        let is_known = !is_std(path) && !path.starts_with("/cargo-chess/");
        is_known.then(|| path.strip_prefix(root).unwrap_or(path))
    }

    /// Whether the code at a line has the policy [`Policy::Preempt`].
    pub(crate) fn is_preempted(&self, file: &str, line: u32) -> bool {
        self.decide(file, line) == Policy::Preempt
    }

    #[cold]
    fn decide(&self, file: &str, line: u32) -> Policy {
        let matching = self.rules.iter().filter(|rule| {
            let (first, last) = rule.lines;
            covers(&rule.prefix, file.as_bytes()) && (first..=last).contains(&line)
        });
        match matching.max_by_key(|rule| (rule.prefix.len(), rule.lines != ALL_LINES)) {
            Some(rule) => rule.policy,
            None if file.starts_with('/') => Policy::Atomic,
            None => Policy::Preempt,
        }
    }
}

/// Whether a file belongs to the standard library, or to this runtime, which replaces parts of it.
/// Such a file lies in the component `rust-src`, or its path has a prefix to which the toolchain's
/// builders, or this tool, remapped it.
fn is_std(file: &str) -> bool {
    file.starts_with("/rustc/")
        || file.starts_with("/cargo-chess/runtime/")
        || file.contains("/rustlib/src/rust/library/")
}

/// Whether `file` is the path `end`, or ends with it.
fn ends(file: &str, end: &[u8]) -> bool {
    let rest = file.as_bytes().strip_suffix(end);
    rest.is_some_and(|rest| rest.is_empty() || rest.ends_with(b"/"))
}

const ALL_LINES: (u32, u32) = (0, u32::MAX);

/// The file or directory of a place, and its lines.
fn prefix_and_lines(place: &str) -> (&str, (u32, u32)) {
    let lines = place
        .rsplit_once(':')
        .and_then(|(file, lines)| Some((file, range(lines)?)));
    lines.unwrap_or((place, ALL_LINES))
}

/// Parses a range of lines, such as `12-40`.
fn range(text: &str) -> Option<(u32, u32)> {
    let (first, last) = text.split_once('-')?;
    Some((first.parse().ok()?, last.parse().ok()?))
}

/// Whether `file` is `prefix` or lies below it.
pub(crate) fn covers(prefix: &[u8], file: &[u8]) -> bool {
    file.strip_prefix(prefix)
        .is_some_and(|rest| rest.is_empty() || rest[0] == b'/' || prefix.ends_with(b"/"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_longest_prefix_decides_and_paths_are_matched_whole() {
        let mut policies = Policies::new();
        policies.add("/registry/queue-1.0.0", Policy::Preempt);
        policies.add("crates/a/src", Policy::Atomic);
        policies.add("crates/a/src/ring.rs", Policy::Preempt);
        policies.add("crates/a/src/lib.rs:12-40", Policy::Preempt);
        policies.add("odd:name/", Policy::Atomic);
        assert_eq!(policies.decide("crates/a/src/lib.rs", 12), Policy::Preempt);
        assert_eq!(policies.decide("crates/a/src/lib.rs", 41), Policy::Atomic);
        assert_eq!(policies.decide("odd:name/lib.rs", 1), Policy::Atomic);
        assert_eq!(policies.decide("src/lib.rs", 1), Policy::Preempt);
        assert_eq!(
            policies.decide("/registry/queue-1.0.0/src/lib.rs", 1),
            Policy::Preempt
        );
        assert_eq!(
            policies.decide("/registry/queue-1.0.01/src/lib.rs", 1),
            Policy::Atomic
        );
        assert_eq!(policies.decide("crates/a/src/lib.rs", 1), Policy::Atomic);
        assert_eq!(policies.decide("crates/a/src/ring.rs", 1), Policy::Preempt);
        assert!(is_std(
            "/rustc/0123/library/core/src/iter/traits/iterator.rs"
        ));
        assert!(is_std("/cargo-chess/runtime/src/shim/task.rs"));
        assert!(!is_std("src/library/mod.rs"));
    }

    #[test]
    fn a_path_ends_with_whole_names() {
        assert!(ends("src/lib.rs", b"src/lib.rs"));
        assert!(ends(
            "/registry/queue-1.0.0/src/lib.rs",
            b"queue-1.0.0/src/lib.rs"
        ));
        assert!(!ends("src/mylib.rs", b"lib.rs"));
    }
}
