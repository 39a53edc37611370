//! Prevents tests that use the same files or ports from running at the same time.
//!
//! Each test process has a directory for temporary files ([`super::scratch`]), and reports the
//! paths elsewhere that it uses ([`super::used_paths`]). Two tests that are known to conflict,
//! from this run or from an earlier one, do not run at the same time. A conflict that is not known
//! yet is found afterwards. So the verdict of a test that uses such paths is accepted only after
//! all tests that ran at the same time have reported their paths. If the test conflicts with one
//! of them, it runs again, alone. A test that had different outcomes under one schedule while
//! other tests ran also runs again. No verdict depends on the number of tests that run at once.

use std::collections::BTreeMap;
use std::mem;
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, SystemTime};

use camino::Utf8Path;

use super::test_process::Verdict;
use super::used_paths::{self, UsedPaths};
use crate::error::Result;
use crate::events::{Kind, TestId};
use crate::protocol::Finished;

/// The interval at which a waiting test checks whether it should stop.
const TICK: Duration = Duration::from_millis(50);

/// The highest number of groups of conflicting tests that have a warning of their own. Also the
/// highest number of tests that such a warning names.
const NAMED: usize = 3;

/// The tests that run, and the paths that each test uses.
pub(crate) struct Exclusion {
    names: Vec<String>,
    /// The time at which the run began.
    start: SystemTime,
    state: Mutex<State>,
    /// Signals the end of a test's run.
    changed: Condvar,
}

struct State {
    /// The paths that each test uses; `None` if they are not known.
    used: Vec<Option<UsedPaths>>,
    /// For each test, whether its entry in `used` is from this run, and not from an earlier one.
    is_new: Vec<bool>,
    /// The current runs, by their numbers.
    running: BTreeMap<u64, Running>,
    /// The number of runs that have begun.
    begun: u64,
    /// The number of tests that run alone, or wait until no other test runs.
    alone: usize,
}

/// A run of a test. `beside` has the runs that overlapped with this run: the number and the test
/// of each.
struct Running {
    test: usize,
    beside: BTreeMap<u64, usize>,
}

/// The guard of a run of a test. The run ends when the guard is dropped.
struct Turn<'a> {
    exclusion: &'a Exclusion,
    number: u64,
    is_alone: bool,
}

impl Exclusion {
    /// Creates the exclusion for `tests`, none of which runs yet. `dir` has the file with the
    /// paths that the tests used in earlier runs.
    pub(super) fn new<'t>(tests: impl Iterator<Item = &'t TestId>, dir: &Utf8Path) -> Self {
        let names: Vec<String> = tests.map(ToString::to_string).collect();
        let mut earlier = used_paths::read(dir);
        let used = names.iter().map(|name| earlier.remove(name)).collect();
        let is_new = vec![false; names.len()];
        Self {
            names,
            start: SystemTime::now(),
            state: Mutex::new(State {
                used,
                is_new,
                running: BTreeMap::new(),
                begun: 0,
                alone: 0,
            }),
            changed: Condvar::new(),
        }
    }

    /// Runs a test. Waits until no running test is known to conflict with it, then calls
    /// `run(false)`. If another test may have affected the verdict, waits until no test runs, then
    /// calls `run(true)`. Returns the last verdict, or `None` if a call returned `None` or `stop`
    /// returned true.
    pub(super) fn run(
        &self,
        test: usize,
        stop: &dyn Fn() -> bool,
        run: &mut dyn FnMut(bool) -> Result<Option<Verdict>>,
    ) -> Result<Option<Verdict>> {
        let Some(turn) = self.begin(test, false, stop) else {
            return Ok(None);
        };
        let Some(verdict) = run(false)? else {
            return Ok(None);
        };
        let used = UsedPaths::of(&verdict.finished, self.start);
        let is_free = used.is_empty();
        let beside = turn.end(used);
        let is_taken = if is_unsteady(&verdict.finished) {
            beside.is_empty()
        } else if is_free {
            true
        } else {
            let Some(is_conflict) = self.is_conflict(test, &beside, stop) else {
                return Ok(None);
            };
            !is_conflict
        };
        if is_taken {
            return Ok(Some(verdict));
        }
        let Some(turn) = self.begin(test, true, stop) else {
            return Ok(None);
        };
        let verdict = run(true)?;
        if let Some(verdict) = &verdict {
            turn.end(UsedPaths::of(&verdict.finished, self.start));
        }
        Ok(verdict)
    }

    /// Waits until the test may run. If `is_alone` is true, it may run when no other test runs.
    /// Returns `None` if `stop` returned true first.
    fn begin(&self, test: usize, is_alone: bool, stop: &dyn Fn() -> bool) -> Option<Turn<'_>> {
        let mut state = self.state();
        state.alone += usize::from(is_alone);
        let is_free = self.wait(state, stop, |state| {
            if is_alone {
                state.running.is_empty()
            } else {
                let mut running = state.running.values();
                state.alone == 0 && !running.any(|it| state.conflict(test, it.test))
            }
        });
        let (mut state, is_free) = is_free;
        if !is_free {
            state.alone -= usize::from(is_alone);
            return None;
        }
        let number = state.begun;
        state.begun += 1;
        let mut beside = BTreeMap::new();
        for (other, running) in &mut state.running {
            running.beside.insert(number, test);
            beside.insert(*other, running.test);
        }
        state.running.insert(number, Running { test, beside });
        Some(Turn {
            exclusion: self,
            number,
            is_alone,
        })
    }

    /// Waits until all runs that overlapped with the test have ended. Returns whether one of their
    /// tests conflicts with the test, or `None` if `stop` returned true first.
    fn is_conflict(
        &self,
        test: usize,
        beside: &BTreeMap<u64, usize>,
        stop: &dyn Fn() -> bool,
    ) -> Option<bool> {
        let (state, have_ended) = self.wait(self.state(), stop, |state| {
            !beside.keys().any(|it| state.running.contains_key(it))
        });
        let mut beside = beside.values();
        have_ended.then(|| beside.any(|&other| state.conflict(test, other)))
    }

    /// Waits until the condition holds or `stop` returns true, and returns whether the condition
    /// holds.
    fn wait<'a>(
        &'a self,
        mut state: MutexGuard<'a, State>,
        stop: &dyn Fn() -> bool,
        is_as_wished: impl Fn(&State) -> bool,
    ) -> (MutexGuard<'a, State>, bool) {
        loop {
            if is_as_wished(&state) {
                return (state, true);
            }
            if stop() {
                return (state, false);
            }
            let waited = self.changed.wait_timeout(state, TICK);
            state = waited.unwrap_or_else(PoisonError::into_inner).0;
        }
    }

    /// The warnings at the end of a run. Each of the first [`NAMED`] groups of conflicting tests
    /// has a warning, which names a path that the tests use. A last warning counts the other
    /// groups.
    pub(super) fn warnings(&self) -> Vec<String> {
        let state = self.state();
        let groups = used_paths::groups(self.with_names(&state));
        let more = groups.len().saturating_sub(NAMED);
        let sentences = groups.iter().take(NAMED).map(|(path, names)| {
            let (what, remedy) = match path.strip_prefix(used_paths::PORT) {
                Some(port) => (
                    format!("port {port}"),
                    "each test used port 0, for which the kernel chooses a free port",
                ),
                None => (
                    (*path).to_owned(),
                    "the path were in std::env::temp_dir(), which is another directory in each test \
                     process",
                ),
            };
            format!(
                "{} use {what}, so these tests do not run at the same time; they could if {remedy}",
                in_words(names),
            )
        });
        let rest = (more > 0).then(|| format!("{more} more groups of tests share such paths"));
        sentences.chain(rest).collect()
    }

    /// Saves the findings for later runs.
    pub(super) fn keep(&self, dir: &Utf8Path) {
        used_paths::keep(dir, self.with_names(&self.state()));
    }

    /// The names of the tests, and the paths that each test uses, if they are known.
    fn with_names<'a>(
        &'a self,
        state: &'a State,
    ) -> impl Iterator<Item = (&'a String, Option<&'a UsedPaths>)> {
        self.names.iter().zip(state.used.iter().map(Option::as_ref))
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Turn<'_> {
    /// Records the paths that the test used, and returns the runs that overlapped with it.
    fn end(self, used: UsedPaths) -> BTreeMap<u64, usize> {
        let mut state = self.exclusion.state();
        let Some(running) = state.running.get_mut(&self.number) else {
            return BTreeMap::new();
        };
        let (test, beside) = (running.test, mem::take(&mut running.beside));
        if !mem::replace(&mut state.is_new[test], true) {
            state.used[test] = None;
        }
        state.used[test].get_or_insert_default().extend(used);
        drop(state);
        beside
    }
}

impl Drop for Turn<'_> {
    fn drop(&mut self) {
        let mut state = self.exclusion.state();
        state.running.remove(&self.number);
        state.alone -= usize::from(self.is_alone);
        drop(state);
        self.exclusion.changed.notify_all();
    }
}

impl State {
    /// Whether two tests are known to conflict.
    fn conflict(&self, one: usize, other: usize) -> bool {
        matches!(
            (&self.used[one], &self.used[other]),
            (Some(one), Some(other)) if one.conflicts(other)
        )
    }
}

/// The names of some tests, as text. There are at least two.
fn in_words(names: &[&str]) -> String {
    let (first, last) = match names {
        [first @ .., last] if names.len() <= NAMED => (first, format!("`{last}`")),
        _ => (&names[..NAMED], format!("{} more", names.len() - NAMED)),
    };
    let first: Vec<String> = first.iter().map(|name| format!("`{name}`")).collect();
    format!("{} and {last}", first.join(", "))
}

/// Whether one schedule of the test had different outcomes.
fn is_unsteady(finished: &Finished) -> bool {
    let others = finished.others.iter().map(|other| Some(other.failure.kind));
    let mut kinds = others.chain([finished.kind]);
    finished.is_unstable() || kinds.any(|kind| kind == Some(Kind::Nondeterminism))
}

#[cfg(test)]
mod tests {
    use std::cell::Cell;
    use std::sync::mpsc::channel;
    use std::thread;

    use super::*;
    use crate::events::Outcome;

    /// Three tests, in a directory that stores the paths that they used in an earlier run.
    fn exclusion(dir: &Utf8Path, used: &str) -> Exclusion {
        std::fs::write(dir.join("used-paths.json"), used).expect("a file");
        let tests = ["a", "b", "c"].map(|test| TestId {
            package: "p".to_owned(),
            binary: "p".to_owned(),
            test: test.to_owned(),
        });
        Exclusion::new(tests.iter(), dir)
    }

    fn used(written: &[&str]) -> UsedPaths {
        UsedPaths::of(
            &verdict(Outcome::Passed, written).finished,
            SystemTime::now(),
        )
    }

    fn verdict(outcome: Outcome, written: &[&str]) -> Verdict {
        Verdict {
            finished: Finished {
                written: written.iter().map(ToString::to_string).collect(),
                ..Finished::new(outcome)
            },
            stderr: String::new(),
            duration: Duration::ZERO,
        }
    }

    /// The number of runs of the first test, which writes the given paths, while the second test
    /// runs at the same time and writes `/x`.
    fn runs(first: &Verdict) -> u32 {
        let dir = camino_tempfile();
        let exclusion = exclusion(&dir.1, "{}");
        let never = || false;
        let mut other = exclusion.begin(1, false, &never);
        let runs = Cell::new(0);
        let ended = exclusion.run(0, &never, &mut |is_alone| {
            runs.set(runs.get() + 1);
            if let Some(other) = other.take() {
                assert!(!is_alone);
                other.end(used(&["/x"]));
            }
            let begins = exclusion.begin(2, false, &|| true).is_some();
            assert_eq!(begins, !is_alone);
            Ok(Some(first.clone()))
        });
        assert!(ended.expect("no error").is_some());
        runs.get()
    }

    fn camino_tempfile() -> (tempfile::TempDir, camino::Utf8PathBuf) {
        let dir = tempfile::tempdir().expect("a directory");
        let path = camino::Utf8PathBuf::try_from(dir.path().to_owned()).expect("text");
        (dir, path)
    }

    #[test]
    fn a_failure_that_another_test_may_have_caused_is_checked_alone() {
        for outcome in [Outcome::Passed, Outcome::Failed] {
            assert_eq!(runs(&verdict(outcome, &["/x"])), 2);
            assert_eq!(runs(&verdict(outcome, &["/y"])), 1);
            assert_eq!(runs(&verdict(outcome, &[])), 1);
        }
        let mut reader = verdict(Outcome::Passed, &[]);
        reader.finished.read = vec!["/".to_owned()];
        assert_eq!(runs(&reader), 2);
        let mut unsteady = verdict(Outcome::Passed, &[]);
        unsteady.finished.unstable = true;
        assert_eq!(runs(&unsteady), 2);
    }

    #[test]
    fn a_test_that_writes_elsewhere_waits_until_the_paths_of_the_others_are_known() {
        let dir = camino_tempfile();
        let exclusion = exclusion(&dir.1, "{}");
        let _other = exclusion.begin(1, false, &|| false);
        let asked = Cell::new(0);
        let stop = || asked.replace(asked.get() + 1) == 3;
        let mut run = |_| Ok(Some(verdict(Outcome::Passed, &["/y"])));
        let ended = exclusion.run(0, &stop, &mut run).expect("no error");
        assert!(ended.is_none() && asked.get() == 4);
    }

    #[test]
    fn tests_that_are_known_to_conflict_wait_for_each_other() {
        let dir = camino_tempfile();
        let known = r#"{"p a":{"written":["/d/x","/e"]},"p b":{"written":[],"read":["/d/"]},
            "p c":{"written":["/d","/f"]},"p gone":{"written":["/g"]}}"#;
        let exclusion = exclusion(&dir.1, known);
        let state = exclusion.state();
        assert!(state.conflict(0, 1) && state.conflict(1, 2) && !state.conflict(0, 2));
        drop(state);
        let turn = exclusion.begin(0, false, &|| false).expect("nothing runs");
        let (sender, receiver) = channel();
        thread::scope(|scope| {
            scope.spawn(|| {
                let third = exclusion.begin(2, false, &|| false);
                sender.send("third").expect("the receiver exists");
                drop(third);
                let second = exclusion.begin(1, false, &|| false);
                sender.send("second").expect("the receiver exists");
                drop(second);
            });
            assert_eq!(receiver.recv(), Ok("third"));
            assert!(receiver.try_recv().is_err());
            drop(turn);
            assert_eq!(receiver.recv(), Ok("second"));
        });
        exclusion.keep(&dir.1);
        assert_eq!(used_paths::read(&dir.1).len(), 4);
    }

    #[test]
    fn paths_of_a_later_run_take_the_place_of_those_of_an_earlier_one() {
        let dir = camino_tempfile();
        let known = r#"{"p a":{"written":["/x"]},"p b":{"written":[],"read":["/x"]}}"#;
        let exclusion = exclusion(&dir.1, known);
        assert_eq!(
            exclusion.warnings(),
            [
                "`p a` and `p b` use /x, so these tests do not run at the same time; they could if the path were in std::env::temp_dir(), which is another directory in each test process"
            ]
        );
        for written in [&[][..], &["/y"]] {
            let turn = exclusion.begin(0, false, &|| false).expect("nothing runs");
            turn.end(used(written));
        }
        assert_eq!(exclusion.warnings(), [""; 0]);
        exclusion.keep(&dir.1);
        assert_eq!(used_paths::read(&dir.1)["p a"], used(&["/y"]));
    }
}
