//! The journal, for `--resume`. It stores the findings of a run, so that they are not lost if the
//! run is killed.
//!
//! `target/chess/journal` has a file for each test with a verdict. A test with an unfinished
//! search may have a second file with the state of its search. Each file is replaced in one step,
//! and contains its full key and a digest. A file that does not match its digest is damaged.

mod entry;

use std::fs::{self, File, TryLockError};
use std::io::{self, ErrorKind, Read, Seek, SeekFrom};

use camino::{Utf8Path, Utf8PathBuf};
use tempfile::TempDir;

pub(crate) use entry::Key;

use crate::digest;
use crate::events::TestId;
use crate::schedule::directory::file_name;

/// The kind of a test's file.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Part {
    /// The verdict.
    Verdict,
    /// The state of the test's search, in the form of the test process.
    Search,
}

impl Part {
    const ALL: &[Self] = &[Self::Verdict, Self::Search];

    fn extension(self) -> &'static str {
        match self {
            Self::Verdict => "verdict",
            Self::Search => "search",
        }
    }
}

/// The result of a lookup in the journal.
#[derive(PartialEq, Eq, Debug)]
pub(crate) enum Found {
    /// The journal has no entry for the test.
    Nothing,
    /// The entry is damaged.
    Damaged,
    /// The entry was stored for another key.
    OfAnother(Box<Key>),
    /// The body of the entry.
    Body(Vec<u8>),
}

/// A directory of journal files.
#[derive(Clone, Debug)]
pub(crate) struct Journal {
    dir: Utf8PathBuf,
}

impl Journal {
    /// The journal in `target/chess`. Its directory is created when the first entry is stored.
    pub(crate) fn below(chess_dir: &Utf8Path) -> Self {
        Self {
            dir: chess_dir.join("journal"),
        }
    }

    /// The verdicts of finished explorations, for later runs of `gate`. They are in
    /// `target/chess/results`. A CI service may keep this directory between runs.
    pub(crate) fn of_results(chess_dir: &Utf8Path) -> Self {
        Self {
            dir: chess_dir.join("results"),
        }
    }

    /// Looks up the entry for `key`.
    pub(crate) fn find(&self, part: Part, key: &Key) -> Found {
        let bytes = match fs::read(self.path(part, &key.test)) {
            Ok(bytes) => bytes,
            Err(error) if error.kind() == ErrorKind::NotFound => return Found::Nothing,
            Err(_) => return Found::Damaged,
        };
        match entry::decode(&bytes) {
            None => Found::Damaged,
            Some((found, body)) if found == *key => Found::Body(body.to_vec()),
            Some((found, _)) if found.test == key.test => Found::OfAnother(Box::new(found)),
            Some(_) => Found::Nothing,
        }
    }

    /// Opens the file of an entry at the start of the last `length` bytes of its body.
    pub(crate) fn open(&self, part: Part, test: &TestId, length: u64) -> io::Result<File> {
        let mut file = File::open(self.path(part, test))?;
        let end = file.metadata()?.len();
        let start = end.checked_sub(length).unwrap_or(end);
        file.seek(SeekFrom::Start(start))?;
        Ok(file)
    }

    /// Stores `body` as the entry for `key`, in place of an earlier entry.
    pub(crate) fn keep(&self, part: Part, key: &Key, body: &mut dyn Read) -> io::Result<()> {
        let path = self.path(part, &key.test);
        let new = new_of(&path);
        let mut file = match File::create(&new) {
            Err(error) if error.kind() == ErrorKind::NotFound => {
                fs::create_dir_all(&self.dir)?;
                File::create(&new)?
            }
            created => created?,
        };
        // The file is written under another name and then renamed. So a kill does not damage the
        // old file.
        entry::write(key, body, &mut file)?;
        fs::rename(&new, &path)
    }

    /// Removes all entries of `test`.
    pub(crate) fn forget(&self, test: &TestId) -> io::Result<()> {
        let mut parts = Part::ALL.iter();
        parts.try_for_each(|part| self.remove(*part, test))
    }

    /// Removes one entry of `test`.
    pub(crate) fn remove(&self, part: Part, test: &TestId) -> io::Result<()> {
        let path = self.path(part, test);
        for path in [new_of(&path), path] {
            match fs::remove_file(path) {
                Err(error) if error.kind() != ErrorKind::NotFound => return Err(error),
                _ => {}
            }
        }
        Ok(())
    }

    /// Removes the journal's directory if it is empty.
    pub(crate) fn tidy(&self) {
        // This fails if another run has stored entries there.
        let _ = fs::remove_dir(&self.dir);
    }

    fn path(&self, part: Part, test: &TestId) -> Utf8PathBuf {
        let id = [&test.package, &test.binary, &test.test];
        let digest = digest::of_fields(id.map(String::as_str), 16);
        let name = file_name(&test.to_string());
        self.dir
            .join(format!("{name}-{digest}.{}", part.extension()))
    }
}

/// The journal of one run. No other run writes to it at the same time: otherwise, this run could
/// resume from the state of another run's search.
pub(crate) struct Claimed {
    journal: Journal,
    /// The lock. It is held until the run ends.
    _lock: Option<File>,
    /// The directory of a temporary journal, if another run has locked `target/chess`.
    own: Option<TempDir>,
}

impl Claimed {
    /// Locks the journal of `target/chess`. If another run has locked it, creates a temporary
    /// journal.
    pub(crate) fn of(chess_dir: &Utf8Path) -> io::Result<Self> {
        fs::create_dir_all(chess_dir)?;
        // The directory itself is locked, so no lock file is left in it.
        let lock = File::open(chess_dir)?;
        // If files cannot be locked, the user must not start two runs at the same time.
        if !matches!(lock.try_lock(), Err(TryLockError::WouldBlock)) {
            return Ok(Self {
                journal: Journal::below(chess_dir),
                _lock: Some(lock),
                own: None,
            });
        }
        let own = tempfile::tempdir()?;
        let path = Utf8Path::from_path(own.path());
        let path = path.ok_or(ErrorKind::InvalidFilename)?;
        Ok(Self {
            journal: Journal::below(path),
            _lock: None,
            own: Some(own),
        })
    }

    /// The journal.
    pub(crate) fn journal(&self) -> &Journal {
        &self.journal
    }

    /// Whether a later run will find the entries.
    pub(crate) fn lasts(&self) -> bool {
        self.own.is_none()
    }
}

fn new_of(path: &Utf8Path) -> Utf8PathBuf {
    Utf8PathBuf::from(format!("{path}.new"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn key(options: &str) -> Key {
        Key {
            tool: "0.1.0".into(),
            test: TestId {
                package: "bank".into(),
                binary: "bank::t".into(),
                test: "transfer::is_atomic".into(),
            },
            options: options.into(),
            binary: "9f86d081".into(),
        }
    }

    fn journal() -> (tempfile::TempDir, Journal) {
        let directory = tempfile::tempdir().expect("a directory");
        let path = Utf8Path::from_path(directory.path()).expect("a path in UTF-8");
        let journal = Journal::below(path);
        (directory, journal)
    }

    const BODY: &[u8] = b"{\"outcome\":\"passed\"}\n\0\xff";

    #[test]
    fn a_kept_result_is_found_again_by_its_key_alone() {
        let (_directory, journal) = journal();
        assert_eq!(journal.find(Part::Verdict, &key("a")), Found::Nothing);
        for body in [b"older", BODY] {
            journal
                .keep(Part::Verdict, &key("a"), &mut &body[..])
                .expect("a writable directory");
        }
        assert_eq!(
            journal.find(Part::Verdict, &key("a")),
            Found::Body(BODY.to_vec())
        );
        assert_eq!(
            journal.find(Part::Verdict, &key("b")),
            Found::OfAnother(Box::new(key("a")))
        );
        journal
            .forget(&key("a").test)
            .expect("a writable directory");
        assert_eq!(journal.find(Part::Verdict, &key("a")), Found::Nothing);
        journal.tidy();
        assert!(!journal.dir.exists());
    }

    #[test]
    fn two_runs_at_once_have_journals_of_their_own() {
        let directory = tempfile::tempdir().expect("a directory");
        let path = Utf8Path::from_path(directory.path()).expect("a path in UTF-8");
        let claim = || Claimed::of(path).expect("a journal");
        let (first, second) = (claim(), claim());
        assert!(first.lasts() && !second.lasts());
        let keep = |claimed: &Claimed, options| {
            let kept = claimed
                .journal()
                .keep(Part::Search, &key(options), &mut &BODY[..]);
            kept.expect("a writable directory");
        };
        keep(&first, "a");
        keep(&second, "b");
        let found = first.journal().find(Part::Search, &key("a"));
        assert_eq!(found, Found::Body(BODY.to_vec()));
        let of_second = second.journal().dir.clone();
        drop(second);
        assert!(!of_second.exists() && !claim().lasts());
        drop(first);
        let found = claim().journal().find(Part::Search, &key("a"));
        assert_eq!(found, Found::Body(BODY.to_vec()));
    }

    #[test]
    fn no_damaged_file_is_trusted() {
        let (_directory, journal) = journal();
        let put = |bytes: &[u8]| {
            let path = journal.path(Part::Verdict, &key("a").test);
            fs::write(path, bytes).expect("a writable directory");
            journal.find(Part::Verdict, &key("a"))
        };
        journal
            .keep(Part::Verdict, &key("a"), &mut &BODY[..])
            .expect("a writable directory");
        let path = journal.path(Part::Verdict, &key("a").test);
        let whole = fs::read(path).expect("a readable file");
        for length in 0..whole.len() {
            assert_eq!(put(&whole[..length]), Found::Damaged, "{length} bytes");
        }
        for index in 0..whole.len() {
            let mut other = whole.clone();
            other[index] ^= 1;
            assert_eq!(put(&other), Found::Damaged, "byte {index}");
        }
        assert_eq!(put(&[&whole[..], b"\n"].concat()), Found::Damaged);
        assert_eq!(put(&whole), Found::Body(BODY.to_vec()));
    }

    #[test]
    fn tests_whose_names_are_alike_have_files_of_their_own() {
        let (_directory, journal) = journal();
        let mut other = key("a");
        other.test.test = "transfer/is_atomic".into();
        journal
            .keep(Part::Verdict, &key("a"), &mut &BODY[..])
            .expect("a writable directory");
        assert_eq!(journal.find(Part::Verdict, &other), Found::Nothing);
    }
}
