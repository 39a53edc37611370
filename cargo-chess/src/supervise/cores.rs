//! Distributes the cores among the tests in progress. Each test gets one core. When fewer tests
//! than cores are left, these tests share the idle cores.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::{self, Read, Seek, Write};
use std::os::unix::fs::FileExt;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::thread::available_parallelism;

use rustix::fs::{MemfdFlags, memfd_create};

/// The highest number of processes that explore one test.
const MOST: usize = 64;

/// The cores, and their distribution among the tests.
pub(crate) struct Cores {
    jobs: usize,
    distribution: Mutex<Distribution>,
}

struct Distribution {
    /// The number of tests that can be explored at once from now on.
    tests: usize,
    /// For each test that is explored, the file from which it reads the number of its cores.
    running: BTreeMap<usize, File>,
}

/// The cores of a test in progress. After this value is dropped, later distributions give the test
/// no cores.
pub(super) struct Core<'a> {
    cores: &'a Cores,
    test: usize,
    stdin: File,
    resumes: bool,
}

impl Cores {
    /// Creates a distribution of `jobs` cores among `tests` tests. The default for `jobs` is the
    /// number of the processors that this process may use.
    pub(super) fn new(jobs: Option<usize>, tests: usize) -> Self {
        let all = || available_parallelism().map_or(1, usize::from);
        let jobs = jobs.unwrap_or_else(all);
        Self {
            jobs: jobs.max(1),
            distribution: Mutex::new(Distribution {
                tests: jobs.clamp(1, tests.max(1)),
                running: BTreeMap::new(),
            }),
        }
    }

    /// The number of tests that are explored at once.
    pub(super) fn at_once(&self) -> usize {
        self.distribution().tests
    }

    /// Distributes cores to a test whose exploration begins. If there is a `state` of an earlier
    /// search, the exploration resumes from this state.
    pub(super) fn begin(&self, test: usize, state: Option<File>) -> io::Result<Core<'_>> {
        let mut stdin = File::from(memfd_create("cores", MemfdFlags::CLOEXEC)?);
        stdin.write_all(line(1).as_bytes())?;
        let resumes = state.is_some();
        if let Some(mut state) = state {
            io::copy(&mut state, &mut stdin)?;
        }
        stdin.rewind()?;
        let mut distribution = self.distribution();
        distribution.running.insert(test, stdin.try_clone()?);
        distribution.distribute(self.jobs)?;
        drop(distribution);
        Ok(Core {
            cores: self,
            test,
            stdin,
            resumes,
        })
    }

    /// Lowers the number of tests that are explored at once by one, and distributes the cores
    /// anew. A worker calls this when no more tests are waiting.
    pub(super) fn leave(&self) {
        let mut distribution = self.distribution();
        distribution.tests = distribution.tests.saturating_sub(1);
        // A test whose file cannot be written continues with the cores that it has.
        let _ = distribution.distribute(self.jobs);
    }

    fn distribution(&self) -> MutexGuard<'_, Distribution> {
        self.distribution
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
    }
}

impl Distribution {
    /// Distributes the cores as evenly as possible. The remainder goes to the tests with the
    /// lowest indices.
    fn distribute(&self, jobs: usize) -> io::Result<()> {
        let tests = self.tests.max(self.running.len()).max(1);
        let mut running = self.running.values().enumerate();
        running.try_for_each(|(place, file)| {
            let share = jobs / tests + usize::from(place < jobs % tests);
            file.write_all_at(line(share).as_bytes(), 0)
        })
    }
}

impl Core<'_> {
    /// The file for the standard input of the test's process. It begins with a line of fixed
    /// length: the number of the test's cores, which changes during the run. After this line comes
    /// the state of an earlier search, if there is one. Later, the process writes the states of
    /// its own search there.
    pub(super) fn stdin(&self) -> io::Result<File> {
        self.stdin.try_clone()
    }

    /// Whether this exploration resumes from the state of an earlier search.
    pub(super) fn resumes(&self) -> bool {
        self.resumes
    }

    /// Reads the state that the process has left in its standard input.
    pub(super) fn state(&self) -> impl Read {
        State {
            file: &self.stdin,
            at: LINE,
        }
    }

    /// Whether the process has stored a state in its standard input.
    pub(super) fn has_state(&self) -> bool {
        let metadata = self.stdin.metadata();
        metadata.is_ok_and(|metadata| metadata.len() > LINE)
    }

    /// Removes the stored state, so that the process can write its next one.
    pub(super) fn clear_state(&self) -> io::Result<()> {
        self.stdin.set_len(LINE)
    }
}

impl Drop for Core<'_> {
    fn drop(&mut self) {
        self.cores.distribution().running.remove(&self.test);
    }
}

/// The length of the line with the number of cores.
const LINE: u64 = 3;

/// A reader of the part of a test's standard input that follows the line with the number of cores.
struct State<'a> {
    file: &'a File,
    at: u64,
}

impl Read for State<'_> {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        let count = self.file.read_at(into, self.at)?;
        self.at += count as u64;
        Ok(count)
    }
}

fn line(share: usize) -> String {
    format!("{:02}\n", share.clamp(1, MOST))
}

#[cfg(test)]
mod tests {
    use std::io::Read;

    use super::*;

    fn shares(cores: &[&Core<'_>]) -> Vec<String> {
        let share = |core: &&Core<'_>| {
            let mut text = [0; 2];
            core.stdin.read_exact_at(&mut text, 0).expect("a number");
            String::from_utf8(text.to_vec()).expect("digits")
        };
        cores.iter().map(share).collect()
    }

    #[test]
    fn a_test_alone_has_all() {
        let cores = Cores::new(Some(4), 1);
        let core = cores.begin(0, None).expect("a file");
        assert_eq!(shares(&[&core]), ["04"]);
    }

    #[test]
    fn idle_cores_go_to_the_remaining_tests() {
        let cores = Cores::new(Some(5), 9);
        let [first, second, third] = [5, 6, 7].map(|test| cores.begin(test, None).expect("a file"));
        assert_eq!(shares(&[&first, &second, &third]), ["01", "01", "01"]);
        cores.leave();
        cores.leave();
        assert_eq!(shares(&[&first, &second, &third]), ["02", "02", "01"]);
        drop(first);
        cores.leave();
        assert_eq!(shares(&[&second, &third]), ["03", "02"]);
        drop(third);
        cores.leave();
        assert_eq!(shares(&[&second]), ["05"]);
    }

    #[test]
    fn the_state_of_an_earlier_search_follows() {
        let cores = Cores::new(Some(1), 1);
        let mut state = File::from(memfd_create("state", MemfdFlags::CLOEXEC).expect("a file"));
        state.write_all(b"foobar").expect("it can be written");
        state.rewind().expect("it can be read");
        let core = cores.begin(0, Some(state)).expect("a file");
        let mut text = String::new();
        let mut stdin = core.stdin().expect("a file");
        stdin.read_to_string(&mut text).expect("text");
        assert_eq!(text, "01\nfoobar");
    }

    #[test]
    fn the_test_leaves_states_until_they_are_kept() {
        let cores = Cores::new(Some(1), 1);
        let core = cores.begin(0, None).expect("a file");
        let stdin = core.stdin().expect("a file");
        for state in ["foobar", "baz"] {
            let left = stdin.write_all_at(state.as_bytes(), LINE);
            left.expect("it can be written");
            let mut text = String::new();
            core.state().read_to_string(&mut text).expect("text");
            assert_eq!(text, state);
            core.clear_state().expect("it can be cut off");
            assert_eq!(shares(&[&core]), ["01"]);
        }
    }
}
