//! The storage for `--resume`: verdicts and states of searches of an interrupted run.
//!
//! Each verdict and each state is saved without delay. The states of searches are also stored here
//! between two rounds of a run. Only the runtime reads the content of a state:
//! `harness/explore/checkpoints.rs` continues a search, and `harness/checkpoint_counters.rs` its
//! counts of executions.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::fs::File;
use std::io::{self, Read};
use std::sync::{Mutex, MutexGuard, OnceLock, PoisonError};
use std::time::Duration;

use serde::{Deserialize, Serialize};

use super::list::ListedTest;
use super::request::{self, Mode, request};
use super::rounds::Look;
use super::test_process::{States, Verdict};
use crate::build::TestBinary;
use crate::config::Exploration;
use crate::digest;
use crate::events::{Kind, Outcome, TestId, millis};
use crate::journal::{Claimed, Found, Journal, Key, Part};
use crate::plan::Plan;
use crate::protocol::Finished;
use crate::shard::Shard;
use crate::text::thousands;

/// The highest number of tests that are named for one reason.
const NAMED: usize = 3;

/// The stored verdicts and states of searches, of this run and of the run that it resumes.
pub(super) struct Verdicts<'a> {
    claimed: &'a Claimed,
    /// The journal with the verdicts of finished explorations of all runs; `None` if it is not
    /// used.
    results: Option<Journal>,
    tests: &'a [ListedTest],
    binaries: &'a [TestBinary],
    /// For each test, the request to its binary: the options of the test and the arguments of the
    /// binary.
    options: Vec<String>,
    /// The digest of each binary, computed at its first use; `None` if the binary cannot be read.
    digests: Vec<OnceLock<Option<String>>>,
    /// The findings of the earlier run about each test, as they were at the start of this run.
    earlier: Vec<Earlier>,
    /// The first error of a write to the journal.
    trouble: Mutex<Option<io::Error>>,
}

/// The findings of the earlier run about a test.
enum Earlier {
    Nothing,
    /// An unfinished search: its pauses, and the length of its state in bytes.
    Search(Box<Pauses>, u64),
    Verdict(Vec<Look>, Box<Verdict>),
}

/// The storage for the pauses and the state of one test's search.
pub(super) struct Search<'a> {
    verdicts: &'a Verdicts<'a>,
    key: Key,
    pauses: Mutex<Pauses>,
    /// The length of the stored state, if there is one.
    state: Mutex<Option<u64>>,
}

/// The pauses of a search so far. In the journal's file, they precede the state of the search.
#[derive(Clone, Default, Serialize, Deserialize)]
struct Pauses {
    /// The progress at each pause.
    looks: Vec<Look>,
    /// The verdict so far, at the last pause.
    last: Option<Kept>,
}

impl States for Search<'_> {
    fn earlier(&self) -> Option<File> {
        let length = (*lock(&self.state))?;
        let journal = self.verdicts.claimed.journal();
        journal.open(Part::Search, &self.key.test, length).ok()
    }

    fn keep(&self, state: &mut dyn Read) {
        let kept = serde_json::to_vec(&*lock(&self.pauses)).map_err(io::Error::from);
        let kept = kept.and_then(|mut front| {
            front.push(b'\n');
            let mut state = Counted {
                of: state,
                bytes: 0,
            };
            let mut body = (&*front).chain(&mut state);
            let journal = self.verdicts.claimed.journal();
            journal.keep(Part::Search, &self.key, &mut body)?;
            *lock(&self.state) = Some(state.bytes);
            Ok(())
        });
        self.verdicts.note(kept);
    }

    fn pause(&self, so_far: &Verdict, state: Option<&mut dyn Read>) {
        let mut pauses = lock(&self.pauses);
        pauses.looks.push(Look::of(&so_far.finished));
        pauses.last = Some(Kept::of(so_far, &pauses.looks));
        drop(pauses);
        if let Some(state) = state {
            self.keep(state);
        }
    }
}

/// A reader that counts the bytes that it reads.
struct Counted<'a> {
    of: &'a mut dyn Read,
    bytes: u64,
}

impl Read for Counted<'_> {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        let count = self.of.read(into)?;
        self.bytes += count as u64;
        Ok(count)
    }
}

impl Search<'_> {
    /// The progress at pause number `pause`, and the verdict at the last pause. `None` if the
    /// search has not reached that pause.
    pub(super) fn paused(&self, pause: usize) -> Option<(Look, Verdict)> {
        let pauses = lock(&self.pauses);
        let look = pauses.looks.get(pause)?;
        Some((*look, Verdict::from(pauses.last.clone()?)))
    }

    /// Stores the verdict of a search that has ended.
    pub(super) fn end(&self, verdict: &Verdict) {
        if !may_be_kept(&verdict.finished) {
            return;
        }
        let kept = Kept::of(verdict, &lock(&self.pauses).looks);
        match serde_json::to_vec(&kept) {
            Ok(body) => {
                self.keep_part(Part::Verdict, &mut &*body);
                let results = self.verdicts.results.as_ref();
                if let Some(results) = results.filter(|_| is_final(&verdict.finished)) {
                    let kept = results.keep(Part::Verdict, &self.key, &mut &*body);
                    self.verdicts.note(kept);
                }
            }
            Err(error) => self.verdicts.note(Err(error.into())),
        }
        // The verdict is stored before the state is removed: a kill in between loses nothing.
        let journal = self.verdicts.claimed.journal();
        self.verdicts
            .note(journal.remove(Part::Search, &self.key.test));
    }

    fn keep_part(&self, part: Part, body: &mut dyn Read) {
        let journal = self.verdicts.claimed.journal();
        self.verdicts.note(journal.keep(part, &self.key, body));
    }
}

/// A verdict in the form that the journal stores.
#[derive(Clone, Serialize, Deserialize)]
struct Kept {
    finished: Finished,
    stderr: String,
    duration_ms: u64,
    /// The progress at each pause of the search before the verdict.
    #[serde(default)]
    looks: Vec<Look>,
}

impl Kept {
    fn of(verdict: &Verdict, looks: &[Look]) -> Self {
        Self {
            finished: verdict.finished.clone(),
            stderr: verdict.stderr.clone(),
            duration_ms: millis(verdict.duration),
            looks: looks.to_vec(),
        }
    }
}

impl<'a> Verdicts<'a> {
    /// Creates the storage for `tests`. It has no findings yet.
    pub(super) fn new(
        claimed: &'a Claimed,
        binaries: &'a [TestBinary],
        tests: &'a [ListedTest],
        explorations: &[Exploration],
        parts: &[Option<Shard>],
        policies: &[String],
        binary_args: &[String],
    ) -> Self {
        let mut common = policies.to_vec();
        common.extend(binary_args.iter().map(|arg| format!("argument={arg}")));
        let options = explorations.iter().zip(parts);
        Self {
            claimed,
            results: None,
            tests,
            binaries,
            options: options
                .map(|(exploration, part)| {
                    request(exploration, Mode::Explore, &common) + &request::part(*part)
                })
                .collect(),
            digests: binaries.iter().map(|_| OnceLock::new()).collect(),
            earlier: tests.iter().map(|_| Earlier::Nothing).collect(),
            trouble: Mutex::default(),
        }
    }

    /// Makes this storage also use the stored verdicts of finished explorations of all runs, and
    /// store new verdicts of this kind.
    pub(super) fn with_results(mut self, plan: &Plan) -> Self {
        self.results = Some(Journal::of_results(&plan.chess_dir));
        self
    }

    /// The stored verdict of a finished exploration of this test with the same binary and options;
    /// `None` if there is none, or if stored verdicts are not used.
    pub(super) fn result(&self, index: usize) -> Option<Verdict> {
        let results = self.results.as_ref()?;
        let Found::Body(body) = results.find(Part::Verdict, &self.key(index)?) else {
            return None;
        };
        let mut verdict = Verdict::from(serde_json::from_slice::<Kept>(&body).ok()?);
        verdict.finished.cached = true;
        Some(verdict)
    }

    /// Removes the findings of an earlier run, because this run begins anew.
    pub(super) fn begin(&self) {
        for test in self.tests {
            self.note(self.claimed.journal().forget(&test.id));
        }
    }

    /// Loads the findings of the earlier run. Returns their number as text, and warnings. A
    /// warning says why the earlier findings about some tests are not used.
    pub(super) fn resume(&mut self) -> (String, Vec<String>) {
        let mut reasons = BTreeMap::<String, Vec<&TestId>>::new();
        for index in 0..self.tests.len() {
            let Some(key) = self.key(index) else {
                continue;
            };
            let found = match self.verdict_of(&key) {
                Ok(Some(kept)) => {
                    let looks = kept.looks.clone();
                    self.earlier[index] = Earlier::Verdict(looks, Box::new(kept.into()));
                    continue;
                }
                Ok(None) => self.search_of(&key),
                Err(why_not) => Err(why_not),
            };
            match found {
                Ok(None) => {}
                Ok(Some((pauses, length))) => {
                    self.earlier[index] = Earlier::Search(Box::new(pauses), length);
                }
                Err(why_not) => reasons
                    .entry(why_not)
                    .or_default()
                    .push(&self.tests[index].id),
            }
        }
        let count =
            |is_it: fn(&Earlier) -> bool| self.earlier.iter().filter(|it| is_it(it)).count();
        let verdicts = count(|it| matches!(it, Earlier::Verdict(..)));
        let searches = count(|it| matches!(it, Earlier::Search(..)));
        let warnings = reasons.iter().map(|(why, tests)| anew(why, tests));
        (taken(verdicts, searches), warnings.collect())
    }

    /// The stored verdict for `key`, if there is one. An error is the reason why the stored
    /// verdict is not valid.
    fn verdict_of(&self, key: &Key) -> Result<Option<Kept>, String> {
        let Some(body) = self.body(Part::Verdict, key)? else {
            return Ok(None);
        };
        let kept = serde_json::from_slice(&body);
        kept.map(Some).map_err(|_| not_understood())
    }

    /// The pauses of the stored search for `key`, and the length of its state, if there is such a
    /// search. An error has the same meaning as in [`Self::verdict_of`].
    fn search_of(&self, key: &Key) -> Result<Option<(Pauses, u64)>, String> {
        let Some(body) = self.body(Part::Search, key)? else {
            return Ok(None);
        };
        let mut parts = body.splitn(2, |byte| *byte == b'\n');
        let pauses = parts
            .next()
            .and_then(|front| serde_json::from_slice(front).ok());
        match (pauses, parts.next()) {
            (Some(pauses), Some(state)) => Ok(Some((pauses, state.len() as u64))),
            _ => Err(not_understood()),
        }
    }

    fn body(&self, part: Part, key: &Key) -> Result<Option<Vec<u8>>, String> {
        match self.claimed.journal().find(part, key) {
            Found::Nothing => Ok(None),
            Found::Damaged => Err("their files in the journal are damaged".to_owned()),
            Found::OfAnother(other) => Err(difference(&other, key)),
            Found::Body(body) => Ok(Some(body)),
        }
    }

    /// The verdict of the earlier run on a test, and the progress at each pause of its search.
    /// Returns `None` if the earlier run has stored no verdict on the test.
    pub(super) fn earlier(&self, index: usize) -> Option<(&[Look], &Verdict)> {
        match &self.earlier[index] {
            Earlier::Verdict(looks, verdict) => Some((looks, verdict)),
            Earlier::Nothing | Earlier::Search(..) => None,
        }
    }

    /// The storage for the search of a test. `None` if the binary of the test cannot be read. Call
    /// this before the binary runs, because it takes the digest of the binary. If the binary is
    /// rebuilt during the run, the verdict belongs to the old binary.
    pub(super) fn search(&self, index: usize) -> Option<Search<'_>> {
        let (pauses, state) = match &self.earlier[index] {
            Earlier::Search(pauses, length) => ((**pauses).clone(), Some(*length)),
            Earlier::Nothing | Earlier::Verdict(..) => (Pauses::default(), None),
        };
        Some(Search {
            verdicts: self,
            key: self.key(index)?,
            pauses: Mutex::new(pauses),
            state: Mutex::new(state),
        })
    }

    /// The key of a test's entries in the journal: the inputs of its verdict. `None` if the binary
    /// of the test cannot be read.
    fn key(&self, index: usize) -> Option<Key> {
        let test = &self.tests[index];
        let digest = self.digests[test.binary].get_or_init(|| {
            digest::file(&self.binaries[test.binary].path)
                .map_err(|error| self.note(Err(error)))
                .ok()
        });
        Some(Key {
            tool: env!("CARGO_PKG_VERSION").to_owned(),
            test: test.id.clone(),
            options: self.options[index].clone(),
            binary: digest.clone()?,
        })
    }

    /// A warning about a failed write to the journal. Such a failure does not end the run.
    pub(super) fn warning(&self) -> Option<String> {
        lock(&self.trouble)
            .as_ref()
            .map(|error| format!("some results could not be stored in the journal, and --resume will not find them: {error}"))
    }

    fn note(&self, result: io::Result<()>) {
        if let Err(error) = result {
            lock(&self.trouble).get_or_insert(error);
        }
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

fn not_understood() -> String {
    "their saved results could not be read".to_owned()
}

/// Removes the stored findings of a run that has ended.
pub(super) fn forget(claimed: &Claimed, tests: &[ListedTest]) {
    let journal = claimed.journal();
    for test in tests {
        // If a file cannot be removed, its content is still valid.
        let _ = journal.forget(&test.id);
    }
    journal.tidy();
}

impl From<Kept> for Verdict {
    fn from(kept: Kept) -> Self {
        Self {
            finished: kept.finished,
            stderr: kept.stderr,
            duration: Duration::from_millis(kept.duration_ms),
        }
    }
}

/// Whether a verdict may be stored. Crashes, nondeterminism and timeouts may not: the cause may
/// lie outside the test, such as a kill of its process.
fn may_be_kept(finished: &Finished) -> bool {
    let others = finished.others.iter().map(|other| other.failure.kind);
    let mut kinds = others.chain(finished.kind);
    finished.outcome != Outcome::Timeout
        && !kinds.any(|kind| matches!(kind, Kind::Crash | Kind::Nondeterminism))
}

/// Whether another run with the same options would pass again: the exploration passed with one
/// outcome for each schedule, and time did not end it. A failure is not final, because another run
/// should show it again.
fn is_final(finished: &Finished) -> bool {
    finished.outcome == Outcome::Passed && !finished.is_unstable() && !finished.time_ended
}

/// For example, `3 verdicts and 1 search`.
fn taken(verdicts: usize, searches: usize) -> String {
    let counted = |count: usize, one: &str, many: &str| match count {
        0 => format!("no {one}"),
        1 => format!("1 {one}"),
        n => format!("{} {many}", thousands(n as u64)),
    };
    let verdicts = counted(verdicts, "verdict", "verdicts");
    if searches == 0 {
        return verdicts;
    }
    let searches = counted(searches, "search", "searches");
    format!("{verdicts} and {searches}")
}

/// The reason why an entry that was stored for `then` is not valid for `now`.
fn difference(then: &Key, now: &Key) -> String {
    if then.tool != now.tool {
        return format!("another version of cargo chess ({}) ran them", then.tool);
    }
    if then.binary != now.binary {
        return "their binary has changed".to_owned();
    }
    let changed = changed_options(&then.options, &now.options);
    format!("their options have changed ({changed})")
}

/// The options that differ, for example `preemptions: 2 then, 3 now`.
fn changed_options(then: &str, now: &str) -> String {
    let values = |text: &'_ str| {
        let lines = text.lines().filter_map(|line| line.split_once('='));
        let named = lines.filter(|(name, _)| *name != "policy" && *name != "argument");
        named
            .map(|(name, value)| (name.to_owned(), value.to_owned()))
            .collect::<BTreeMap<_, _>>()
    };
    let (before, after) = (values(then), values(now));
    let mut changed = String::new();
    for name in before
        .keys()
        .chain(after.keys().filter(|name| !before.contains_key(*name)))
    {
        let (one, other) = (before.get(name), after.get(name));
        if one != other {
            let shown = |value: Option<&String>| value.map_or("none", String::as_str).to_owned();
            let separator = if changed.is_empty() { "" } else { ", " };
            let _ = write!(
                changed,
                "{separator}{name}: {} then, {} now",
                shown(one),
                shown(other)
            );
        }
    }
    if changed.is_empty() {
        "policies of packages, or arguments of the binary".to_owned()
    } else {
        changed
    }
}

/// A warning, for example
/// `these tests run again from the start, because their binary has changed: a, b, c`.
fn anew(why: &str, tests: &[&TestId]) -> String {
    let shown = tests.iter().take(NAMED);
    let shown: Vec<String> = shown.map(|test| format!("`{test}`")).collect();
    let mut names = shown.join(", ");
    if let Some(more) = tests.len().checked_sub(NAMED).filter(|more| *more > 0) {
        let _ = write!(names, " and {more} more");
    }
    format!("these tests run again from the start, because {why}: {names}")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::events::OtherFailure;
    use crate::protocol::Other;

    #[test]
    fn verdicts_that_may_have_causes_outside_are_not_kept() {
        let failed = |kind| Finished {
            kind: Some(kind),
            ..Finished::new(Outcome::Failed)
        };
        assert!(may_be_kept(&Finished::new(Outcome::Passed)));
        assert!(may_be_kept(&Finished::new(Outcome::Skipped)));
        assert!(may_be_kept(&failed(Kind::Panic)));
        assert!(!may_be_kept(&Finished::new(Outcome::Timeout)));
        assert!(!may_be_kept(&failed(Kind::Crash)));
        assert!(!may_be_kept(&failed(Kind::Nondeterminism)));
        let mut also = failed(Kind::Panic);
        also.others.push(Other {
            failure: OtherFailure::of_kind(Kind::Crash),
            timers: None,
            points: vec![],
            forgives_races: false,
            decisions: String::new(),
        });
        assert!(!may_be_kept(&also));
    }

    #[test]
    fn the_changes_are_named() {
        let then = "mode=explore\npreemptions=2\nseed=0\npolicy=src=preempt\n";
        let other = |from, to| changed_options(then, &then.replace(from, to));
        let printed = [
            other("=2", "=3"),
            other("=2\nseed=0", "=1\nseed=7"),
            other("seed=0\n", ""),
            other("mode=", "more=yes\nmode="),
            other("=preempt", "=atomic"),
        ];
        insta::assert_snapshot!(printed.join("\n"), @r"
        preemptions: 2 then, 3 now
        preemptions: 2 then, 1 now, seed: 0 then, 7 now
        seed: 0 then, none now
        more: none then, yes now
        policies of packages, or arguments of the binary
        ");
    }
}
